//! The page to ask from: GraphiQL, whole in this binary, so that it works where there is no network.

use std::io::Read;

use bytes::Bytes;
use flate2::read::GzDecoder;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};

use crate::reply::Reply;

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
    media_type: &'static str,
    bytes: &'static [u8],
    /// Whether the bytes are compressed, by gzip.
    is_packed: bool,
}

macro_rules! part {
    ($name:literal, $media_type:ident) => {
        Part {
            name: $name,
            media_type: $media_type,
            bytes: include_bytes!(concat!("../../graphiql/", $name)),
            is_packed: false,
        }
    };
    ($name:literal, $media_type:ident, packed) => {
        Part {
            name: $name,
            media_type: $media_type,
            bytes: include_bytes!(concat!("../../graphiql/", $name, ".gz")),
            is_packed: true,
        }
    };
}

/// The page itself is the first.
static PARTS: [Part; 7] = [
    part!("index.html", HTML),
    part!("page.js", SCRIPT),
    part!("graphiql.js", SCRIPT, packed),
    part!("graphiql.css", STYLE, packed),
    part!("react.js", SCRIPT, packed),
    part!("react-dom.js", SCRIPT, packed),
    part!("licences.txt", TEXT, packed),
];

/// The page, or the part of it with a name; `None` where there is none.
pub fn reply(name: Option<&str>, headers: &HeaderMap) -> Option<Reply> {
    let part = match name {
        None => &PARTS[0],
        Some(name) => PARTS[1..].iter().find(|part| part.name == name)?,
    };
    let fixed = |name: HeaderName, value: &'static str| (name, HeaderValue::from_static(value));
    let mut sent = vec![
        fixed(header::CONTENT_SECURITY_POLICY, POLICY),
        fixed(header::REFERRER_POLICY, "no-referrer"),
        fixed(header::VARY, "Accept-Encoding"),
        fixed(header::CACHE_CONTROL, "public, max-age=3600"),
    ];
    let body = if part.is_packed && takes_gzip(headers) {
        sent.push(fixed(header::CONTENT_ENCODING, "gzip"));
        Bytes::from_static(part.bytes)
    } else {
        part.whole()
    };
    Some(Reply::Body { status: StatusCode::OK, media_type: part.media_type, body, headers: sent })
}

impl Part {
    fn whole(&self) -> Bytes {
        if !self.is_packed {
            return Bytes::from_static(self.bytes);
        }
        let mut whole = Vec::new();
        let unpacked = GzDecoder::new(self.bytes).read_to_end(&mut whole);
        unpacked.unwrap_or_else(|error| panic!("`{}` is packed well: {error}", self.name));
        Bytes::from(whole)
    }
}

/// Whether a client takes gzip, as every browser does.
fn takes_gzip(headers: &HeaderMap) -> bool {
    let values =
        headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|item| {
        let mut parts = item.split(';').map(str::trim);
        let is_named = parts.next().is_some_and(|name| name.eq_ignore_ascii_case("gzip"));
        let is_refused =
            |part: &str| part.strip_prefix("q=").is_some_and(|weight| weight.parse() == Ok(0.0));
        is_named && !parts.any(is_refused)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_unpacks_and_the_page_names_no_other() {
        let page = String::from_utf8_lossy(PARTS[0].bytes);
        for part in &PARTS[1..] {
            assert!(!part.whole().is_empty(), "{}", part.name);
            let is_named = page.contains(&format!("\"/graphiql/{}\"", part.name));
            assert_eq!(is_named, part.name != "licences.txt", "{}", part.name);
        }
        assert_eq!(page.matches("\"/graphiql/").count(), PARTS.len() - 2);
    }
}
