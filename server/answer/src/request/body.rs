//! The body of a request, and the media types that endpoints take.

use std::sync::atomic::AtomicBool;

use http::{HeaderMap, StatusCode, header};

use crate::reply::Reply;

/// Largest body of most routes.
pub const BODY_BYTES_MAX: usize = 65_536;
/// The media type of a form.
pub const FORM: &str = "application/x-www-form-urlencoded";

/// The body of a request, as its host read it.
#[derive(Clone, Copy, Debug)]
pub struct Posted<'a> {
    /// The bytes; empty until they are read.
    pub text: &'a [u8],
    /// Set when the client has closed its connection.
    pub is_client_gone: &'a AtomicBool,
}

/// The reply to a request whose body the server does not read: of another media type, or compressed.
pub fn refuse_headers(headers: &HeaderMap, media_types: &[&str]) -> Option<Reply> {
    let unsupported =
        |message: &str| Some(Reply::error(StatusCode::UNSUPPORTED_MEDIA_TYPE, message));
    let mut encodings = headers.get_all(header::CONTENT_ENCODING).iter();
    if encodings.any(|encoding| !encoding.as_bytes().eq_ignore_ascii_case(b"identity")) {
        return unsupported("Content-Encoding is not supported");
    }
    if !media_types.iter().any(|media_type| has_media_type(headers, media_type)) {
        return unsupported(&format!("Content-Type must be {}", media_types.join(" or ")));
    }
    None
}

/// Whether the request has exactly one `Content-Type`, which is this one in UTF-8.
fn has_media_type(headers: &HeaderMap, media_type: &str) -> bool {
    let mut types = headers.get_all(header::CONTENT_TYPE).iter();
    let (Some(one), None) = (types.next(), types.next()) else { return false };
    let Ok(text) = one.to_str() else { return false };
    let mut parts = text.split(';').map(str::trim);
    parts.next().is_some_and(|name| name.eq_ignore_ascii_case(media_type))
        && parts.all(|parameter| match parameter.split_once('=') {
            Some((name, value)) if name.eq_ignore_ascii_case("charset") => {
                value.trim_matches('"').eq_ignore_ascii_case("utf-8")
            }
            _ => true,
        })
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn the_server_reads_one_content_type() {
        let check = |values: &[&'static str], expected: bool| {
            let headers: HeaderMap = values
                .iter()
                .map(|value| (header::CONTENT_TYPE, HeaderValue::from_static(value)))
                .collect();
            let found = refuse_headers(&headers, &["application/json"]).is_none();
            assert_eq!(found, expected, "{values:?}");
        };
        check(&["application/json"], true);
        check(&["Application/JSON; charset=UTF-8"], true);
        check(&["application/json;charset=\"utf-8\"; x=y"], true);
        check(&[], false);
        check(&["application/json", "application/json"], false);
        check(&["application/json; charset=latin1"], false);
        check(&["text/plain"], false);
        check(&["application/graphql"], false);
        check(&["application/x-www-form-urlencoded"], false);
        check(&["multipart/form-data; boundary=a"], false);
    }
}
