//! Checks of a request's head that HTTP demands before routing.

use http::{
    HeaderMap, HeaderValue, Method, StatusCode, Version, header, request::Parts, uri::Authority,
};
use pinakes_answer::{Detail, READ_METHODS, Reply};

/// Most headers of a request.
pub const HEADERS_MAX: usize = 64;
/// Most bytes of a request's headers.
pub const HEADER_BYTES_MAX: usize = 16 << 10;
/// Longest method; the longest registered method has 17 bytes.
const METHOD_BYTES_MAX: usize = 64;

/// Extension of a head with two content lengths, or with a content length and a transfer coding. hyper
/// shows only one of the two.
#[derive(Clone, Copy, Debug)]
pub struct TwoLengths;

/// The reply to a malformed or oversized head, after which the connection closes.
pub fn refuse(head: &Parts) -> Option<Reply> {
    if is_too_large(&head.headers) {
        let status = StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE;
        return Some(Reply::error(status, "Request header fields too large").closing());
    }
    let bad = |part: &str, value: &[u8], reason: &str| {
        let detail = Detail::new(part, &String::from_utf8_lossy(value), reason);
        Some(Reply::bad_query(vec![detail]).closing())
    };
    let method = head.method.as_str();
    if method.len() > METHOD_BYTES_MAX {
        return bad("method", method.as_bytes(), "is longer than any method");
    }
    let is_asterisk_form = head.method == Method::OPTIONS && head.uri.path() == "*";
    if head.uri.path().is_empty() || head.method == Method::CONNECT || is_asterisk_form {
        return Some(Reply::method_not_allowed(READ_METHODS).closing());
    }
    if head.version == Version::HTTP_11 && !has_one_host(&head.headers) {
        let sent = head.headers.get(header::HOST).map_or(&[][..], HeaderValue::as_bytes);
        return bad("Host", sent, "has to be sent once, as a host or a host and a port");
    }
    // hyper checks and removes only the last coding.
    let mut codings = head.headers.get_all(header::TRANSFER_ENCODING).iter();
    if let Some(coding) = codings.find(|coding| !coding.as_bytes().eq_ignore_ascii_case(b"chunked"))
    {
        return bad("Transfer-Encoding", coding.as_bytes(), "is none but chunked");
    }
    if head.headers.get_all(header::TRANSFER_ENCODING).iter().count() > 1 {
        return bad("Transfer-Encoding", b"chunked", "has to be sent once");
    }
    if head.extensions.get::<TwoLengths>().is_some() {
        let sent = head.headers.get(header::TRANSFER_ENCODING);
        return match sent {
            Some(sent) => bad("Transfer-Encoding", sent.as_bytes(), "excludes a Content-Length"),
            None => bad("Content-Length", b"", "has to be sent once"),
        };
    }
    None
}

fn is_too_large(headers: &HeaderMap) -> bool {
    let bytes: usize =
        headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
    headers.len() > HEADERS_MAX || bytes > HEADER_BYTES_MAX
}

/// Whether there is one `Host`, an authority or empty (RFC 9112, section 3.2).
fn has_one_host(headers: &HeaderMap) -> bool {
    let mut hosts = headers.get_all(header::HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else { return false };
    host.is_empty() || host.as_bytes().try_into().is_ok_and(|host| is_host(&host))
}

/// Whether an authority is a host with an optional port, without user information.
fn is_host(authority: &Authority) -> bool {
    let Some(rest) = authority.as_str().strip_prefix(authority.host()) else { return false };
    match rest.strip_prefix(':') {
        Some(_) if authority.host().is_empty() => false,
        Some(port) => port.is_empty() || authority.port_u16().is_some(),
        None => rest.is_empty(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use pinakes_answer::SnapshotHeaders;

    fn status(method: &str, uri: &str, headers: &[(&str, &str)]) -> Option<u16> {
        let mut request = http::Request::builder().method(method).uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (head, ()) = request.body(()).unwrap().into_parts();
        let reply = refuse(&head)?;
        let response = reply.into_response(&Method::GET, &SnapshotHeaders::new("0123"));
        assert_eq!(response.headers()[header::CONNECTION], "close");
        Some(response.status().as_u16())
    }

    #[test]
    fn only_heads_that_http_forbids_are_refused() {
        let host = ("host", "a");
        assert_eq!(status("GET", "/authors", &[host]), None);
        assert_eq!(status("GET", "http://evil/authors", &[host]), None);
        assert_eq!(status("FOO", "/authors", &[host]), None);
        assert_eq!(status("GET", "/", &[]), Some(400));
        assert_eq!(status("GET", "/", &[host, host]), Some(400));
        for wrong in ["a b", "a/b", "a:b", "a:65536", "u@a", "u@a:80", ":80"] {
            assert_eq!(status("GET", "/", &[("host", wrong)]), Some(400), "{wrong}");
        }
        for right in ["", "a:80", "a:", "[::1]", "[::1]:80", "A.example"] {
            assert_eq!(status("GET", "/", &[("host", right)]), None, "{right}");
        }
        let coding = "transfer-encoding";
        assert_eq!(status("GET", "/", &[host, (coding, "Chunked")]), None);
        for wrong in ["gzip, chunked", "chunked, chunked", "gzip"] {
            assert_eq!(status("GET", "/", &[host, (coding, wrong)]), Some(400), "{wrong}");
        }
        assert_eq!(
            status("GET", "/", &[host, (coding, "chunked"), (coding, "chunked")]),
            Some(400)
        );
        assert_eq!(status("CONNECT", "evil:443", &[host]), Some(405));
        assert_eq!(status("GET", "evil:443", &[host]), Some(405));
        assert_eq!(status("OPTIONS", "*", &[host]), Some(405));
        assert_eq!(status(&"A".repeat(1_000), "/", &[host]), Some(400));
        let many: Vec<_> = (0..65).map(|_| ("x-a", "1")).collect();
        assert_eq!(status("GET", "/", &many), Some(431));
        assert_eq!(status("GET", "/", &[host, ("x-a", &"a".repeat(16 << 10))]), Some(431));
    }
}
