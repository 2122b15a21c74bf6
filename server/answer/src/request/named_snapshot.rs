//! The snapshot that a path names in its first segment, as `/@0123456789abcdef/outputs`.
//!
//! Every route exists below such a segment, and is answered from the snapshot named there. The reply keeps the
//! name: its links lead to paths below the same segment, and caches may keep it without asking again.

use http::{HeaderMap, HeaderName, HeaderValue, header};
use pinakes_format::storage::ID_DIGITS;

use crate::reply::{Body, HTML, Reply};

/// The characters before the snapshot's id; some clients escape the sign.
const SIGNS: [&str; 2] = ["/@", "/%40"];
/// Names the snapshot to a content delivery network, which forgets all replies of a key at once.
pub const SURROGATE_KEY: HeaderName = HeaderName::from_static("surrogate-key");
/// A client keeps a reply for a day, because a record may be suppressed meanwhile.
const KEPT_BY_CLIENTS: &str = "public, max-age=86400, immutable";
/// A network that the operator can tell to forget keeps a reply for a year.
const KEPT_BY_NETWORK: &str = "public, max-age=86400, s-maxage=31536000, immutable";

/// The snapshot that a path names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamedSnapshot<'a> {
    /// The first segment with the slash before it, as sent.
    prefix: &'a str,
    /// The snapshot's id.
    pub id: &'a str,
}

impl<'a> NamedSnapshot<'a> {
    /// Splits a path into the snapshot that the path names, if any, and the path of the route.
    pub fn split(path: &'a str) -> (Option<NamedSnapshot<'a>>, &'a str) {
        NamedSnapshot::parse(path).map_or((None, path), |(named, rest)| (Some(named), rest))
    }

    fn parse(path: &'a str) -> Option<(NamedSnapshot<'a>, &'a str)> {
        let sign = SIGNS.into_iter().find(|sign| path.starts_with(sign))?;
        let (prefix, rest) = path.split_at_checked(sign.len() + ID_DIGITS)?;
        let id = &prefix[sign.len()..];
        let rest = if rest.is_empty() { "/" } else { rest };
        (is_snapshot_id(id) && rest.starts_with('/'))
            .then_some((NamedSnapshot { prefix, id }, rest))
    }

    /// The first segment with the slash before it, as sent.
    pub fn prefix(self) -> &'a str {
        self.prefix
    }

    /// Lets caches keep a cacheable reply without asking again.
    ///
    /// `is_behind_network` also lets a content delivery network keep it, under the snapshot's id as its key.
    pub fn make_immutable(self, headers: &mut HeaderMap, is_behind_network: bool) {
        if !headers.contains_key(header::ETAG) {
            return;
        }
        let kept = if is_behind_network { KEPT_BY_NETWORK } else { KEPT_BY_CLIENTS };
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(kept));
        if is_behind_network && let Ok(key) = HeaderValue::from_str(self.id) {
            headers.insert(SURROGATE_KEY, key);
        }
    }
}

/// The reply with the links of its headers and of its page below a prefix.
pub fn keep_below(prefix: &str, mut reply: Reply) -> Reply {
    for (name, value) in &mut reply.headers {
        let kept = match *name {
            header::LOCATION => [prefix.as_bytes(), value.as_bytes()].concat(),
            header::LINK => {
                let links = String::from_utf8_lossy(value.as_bytes());
                links.replace("</", &format!("<{prefix}/")).into_bytes()
            }
            _ => continue,
        };
        // A prefix of a request line is as valid as the header that follows it.
        if let Ok(kept) = HeaderValue::from_bytes(&kept) {
            *value = kept;
        }
    }
    let is_shared = reply.is_shared();
    if let Body::Text { media_type: HTML, bytes } = &mut reply.body
        && !is_shared
    {
        *bytes = keep_page_below(prefix, bytes).into();
    }
    reply
}

/// Prefixes each path in an attribute. Pages escape the quotes of all other text.
fn keep_page_below(prefix: &str, html: &[u8]) -> Vec<u8> {
    let mut page = String::from_utf8_lossy(html).into_owned();
    for attribute in ["href", "src", "action"] {
        page = page.replace(&format!(" {attribute}=\"/"), &format!(" {attribute}=\"{prefix}/"));
    }
    page.into_bytes()
}

/// Whether a text is written as the id of a snapshot.
pub fn is_snapshot_id(text: &str) -> bool {
    let is_digit = |byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    text.len() == ID_DIGITS && text.bytes().all(is_digit)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_path_names_a_snapshot_by_sixteen_digits() {
        let check = |path: &str, expected: Option<(&str, &str)>| {
            let (named, rest) = NamedSnapshot::split(path);
            assert_eq!(named.map(|named| (named.id, rest)), expected, "{path}");
            if expected.is_none() {
                assert_eq!(rest, path);
            }
        };
        let id = "0123456789abcdef";
        check("/@0123456789abcdef", Some((id, "/")));
        check("/@0123456789abcdef/", Some((id, "/")));
        check("/%400123456789abcdef/outputs/HX_W1", Some((id, "/outputs/HX_W1")));
        check("/@0123456789abcdef//outputs", Some((id, "//outputs")));
        for other in [
            "/",
            "/@",
            "/@/outputs",
            "/@0123456789abcde/outputs",
            "/@0123456789abcdef0/outputs",
            "/@0123456789ABCDEF/outputs",
            "/@0123456789abcde/é",
            "/@0123456789abcdeé",
            "/outputs/@0123456789abcdef",
            "/@current/outputs",
        ] {
            check(other, None);
        }
    }

    #[test]
    fn links_of_a_reply_keep_the_snapshot() {
        let (named, _) = NamedSnapshot::split("/@0123456789abcdef/x");
        let body =
            br#"<a href="/browse/x">A &quot; href=&quot;/y</a> <a href="https://example.org/">"#;
        let reply = Reply::text(http::StatusCode::OK, HTML, body.as_slice().into());
        let Body::Text { bytes, .. } = keep_below(named.unwrap().prefix(), reply).body else {
            panic!()
        };
        let expected = "<a href=\"/@0123456789abcdef/browse/x\">A &quot; href=&quot;/y</a> \
                        <a href=\"https://example.org/\">";
        assert_eq!(std::str::from_utf8(&bytes).unwrap(), expected);
    }
}
