//! The page to ask from: GraphiQL, whole in this binary, so that it works where there is no network.

use std::sync::LazyLock;

use http::{HeaderMap, HeaderValue, header};

use crate::{fixed::Fixed, reply::Reply};

/// What a browser may load for the page: what lies beside it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
                      img-src 'self' data:; font-src 'self'; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const HTML: &str = "text/html; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";

/// A part of the page.
struct Part {
    name: &'static str,
    text: Fixed,
}

macro_rules! part {
    ($name:literal, $media_type:ident) => {
        part!($name, plain, $media_type, $name)
    };
    ($name:literal, $media_type:ident, packed) => {
        part!($name, packed, $media_type, concat!($name, ".gz"))
    };
    ($name:literal, $how:ident, $media_type:ident, $file:expr) => {
        Part {
            name: $name,
            text: Fixed::$how($media_type, include_bytes!(concat!("../../graphiql/", $file))),
        }
    };
}

/// The page itself is the first.
static PARTS: LazyLock<[Part; 7]> = LazyLock::new(|| {
    [
        part!("index.html", HTML),
        part!("page.js", SCRIPT),
        part!("graphiql.js", SCRIPT, packed),
        part!("graphiql.css", STYLE, packed),
        part!("react.js", SCRIPT, packed),
        part!("react-dom.js", SCRIPT, packed),
        part!("licences.txt", TEXT, packed),
    ]
});

/// The page, or the part of it with a name; `None` where there is none.
pub fn reply(name: Option<&str>, headers: &HeaderMap) -> Option<Reply> {
    let part = match name {
        None => &PARTS[0],
        Some(name) => PARTS[1..].iter().find(|part| part.name == name)?,
    };
    let sent = vec![
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
        (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    ];
    Some(part.text.reply(headers, sent))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_unpacks_and_the_page_names_no_other() {
        let page = PARTS[0].text.text();
        let page = String::from_utf8_lossy(&page);
        for part in &PARTS[1..] {
            assert!(!part.text.text().is_empty(), "{}", part.name);
            let is_named = page.contains(&format!("\"/graphiql/{}\"", part.name));
            assert_eq!(is_named, part.name != "licences.txt", "{}", part.name);
        }
        assert_eq!(page.matches("\"/graphiql/").count(), PARTS.len() - 2);
    }
}
