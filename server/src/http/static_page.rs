//! Pages for people, whole in this binary, so that they work where there is no network.

use http::{HeaderMap, HeaderValue, header};

use crate::http::reply::Reply;
use crate::http::static_body::Fixed;

/// What a browser may load for a page: what lies beside it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
                      img-src 'self' data:; font-src 'self'; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// A script.
pub const SCRIPT: &str = "text/javascript; charset=utf-8";
/// How things look.
pub const STYLE: &str = "text/css; charset=utf-8";
/// The page itself.
pub const HTML: &str = "text/html; charset=utf-8";
/// What is meant to be read as it is.
pub const TEXT: &str = "text/plain; charset=utf-8";

/// A part of a page.
pub struct Part {
    name: &'static str,
    body: Fixed,
}

impl Part {
    /// A part that is kept as it is.
    pub fn plain(name: &'static str, media_type: &'static str, bytes: &'static [u8]) -> Part {
        Part { name, body: Fixed::plain(media_type, bytes) }
    }

    /// A part that is kept by gzip.
    pub fn packed(name: &'static str, media_type: &'static str, bytes: &'static [u8]) -> Part {
        Part { name, body: Fixed::packed(media_type, bytes) }
    }
}

/// A page with all that it loads.
pub struct Page {
    /// The page itself is the first.
    pub parts: Vec<Part>,
}

impl Page {
    /// The page, or the part of it with a name; `None` where there is none.
    pub fn reply(&self, name: Option<&str>, headers: &HeaderMap) -> Option<Reply> {
        let (page, parts) = self.parts.split_first()?;
        let part = match name {
            None => page,
            Some(name) => parts.iter().find(|part| part.name == name)?,
        };
        let own = vec![
            (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
            (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        ];
        Some(part.body.reply(headers, own))
    }

    /// Demands that every part unpacks, that the page names each but its licences, and nothing else.
    ///
    /// # Panics
    ///
    /// Where it is not so.
    #[cfg(test)]
    pub fn check(&self, route: &str) {
        let (page, parts) = self.parts.split_first().expect("a page is its own first part");
        let page = page.body.text();
        let page = String::from_utf8_lossy(&page);
        let below = format!("\"{route}/");
        for part in parts {
            assert!(!part.body.text().is_empty(), "{}", part.name);
            let is_named = page.contains(&format!("{below}{}\"", part.name));
            assert_eq!(is_named, part.name != "licences.txt", "{}", part.name);
        }
        assert_eq!(page.matches(&below).count(), parts.len() - 1);
    }
}
