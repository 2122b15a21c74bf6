//! The names of an institution by language: the same member in OpenAlex and in native dumps.

use pinakes_format::record::value::Json;
use pinakes_format::text::json;

use crate::read::lenient::MaybePairs;
use crate::read::members;

members! {
    pub(crate) struct RawInternational<'a> {
        display_name: MaybePairs<'a>,
    }
}

impl RawInternational<'_> {
    /// `{"display_name": {language: name}}`, in the order of the dump.
    pub(crate) fn to_json(&self) -> Json {
        let mut text = b"{\"display_name\":".to_vec();
        match &self.display_name.0 {
            None => text.extend_from_slice(b"null"),
            Some(names) => {
                text.push(b'{');
                for (at, (language, name)) in names.iter().enumerate() {
                    if at > 0 {
                        text.push(b',');
                    }
                    json::string(&mut text, language);
                    text.push(b':');
                    match name.as_str() {
                        Some(name) => json::string(&mut text, name),
                        None => text.extend_from_slice(b"null"),
                    }
                }
                text.push(b'}');
            }
        }
        text.push(b'}');
        Json(String::from_utf8(text).expect("JSON made of strings is UTF-8"))
    }
}
