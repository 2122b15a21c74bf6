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
    /// The names in the order of the dump.
    pub(crate) fn to_json(&self) -> Json {
        match &self.display_name.0 {
            Some(names) => {
                names_json(names.iter().map(|(language, name)| (&**language, name.as_str())))
            }
            None => Json("{\"display_name\":null}".to_owned()),
        }
    }
}

/// `{"display_name": {language: name}}`, in the order given.
pub(crate) fn names_json<'n>(names: impl Iterator<Item = (&'n str, Option<&'n str>)>) -> Json {
    let mut text = b"{\"display_name\":{".to_vec();
    for (at, (language, name)) in names.enumerate() {
        if at > 0 {
            text.push(b',');
        }
        json::string(&mut text, language);
        text.push(b':');
        json::string_or_null(&mut text, name);
    }
    text.extend_from_slice(b"}}");
    Json(String::from_utf8(text).expect("JSON made of strings is UTF-8"))
}
