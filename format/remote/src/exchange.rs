//! Requests to a bucket other than downloads: lists and uploads. Their replies are small.

use std::sync::atomic::Ordering;

use ureq::http::{HeaderName, Method, Request, StatusCode, header};

use crate::escape::escape_text;
use crate::host::{Failure, Host, temporary_failure};

/// Largest reply to a request that is no download, in bytes. A page of a bucket's list has about 1 MB.
const REPLY_BYTES_MAX: u64 = 16 << 20;
const NAMESPACE: &str = "http://s3.amazonaws.com/doc/2006-03-01/";
const NAMESPACE_BEFORE: &str = "http://doc.s3.amazonaws.com/2006-03-01/";

/// Characters of a store's answer that a message repeats.
const ANSWER_CHARS_MAX: usize = 200;

/// A reply that was read as a whole.
pub struct WholeReply {
    /// The status of the reply.
    pub status: StatusCode,
    /// The version of the file that the reply names.
    pub etag: Option<String>,
    body: Vec<u8>,
}

impl WholeReply {
    /// The body as XML in the namespace that Amazon documents. Some stores send an earlier namespace, or none.
    /// Bytes that are not UTF-8 are replaced.
    pub fn xml(&self) -> String {
        let mut text = String::from_utf8_lossy(&self.body).replace(NAMESPACE_BEFORE, NAMESPACE);
        let mut roots = text.match_indices('<').map(|(at, _)| at + 1);
        let root = roots.find(|at| text[*at..].starts_with(char::is_alphabetic));
        if let Some(root) = root.filter(|_| !text.contains(NAMESPACE)) {
            let name_bytes = text[root..].find(|c: char| !c.is_alphanumeric()).unwrap_or(0);
            text.insert_str(root + name_bytes, &format!(" xmlns=\"{NAMESPACE}\""));
        }
        text
    }

    /// The text of the first element with a name in a body of XML.
    pub fn element(&self, name: &str) -> Option<String> {
        let text = String::from_utf8_lossy(&self.body);
        let (_, rest) = text.split_once(&format!("<{name}>"))?;
        Some(rest.split_once("</")?.0.to_owned())
    }

    /// Describes the answer of the store for messages: the status, then the code and message of an error in XML, or
    /// the beginning of another body.
    pub fn answer(&self) -> String {
        let status = self.status;
        match (self.element("Code"), self.element("Message")) {
            (Some(code), Some(message)) => {
                format!("{status}, `{}`: {}", shown(&code), shown(&message))
            }
            (Some(code), None) => format!("{status}, `{}`", shown(&code)),
            _ => match String::from_utf8_lossy(&self.body).trim() {
                "" => status.to_string(),
                text => format!("{status}: `{}`", shown(text)),
            },
        }
    }
}

/// The beginning of a text from another program, on one line.
fn shown(text: &str) -> String {
    let beginning: String = text.chars().take(ANSWER_CHARS_MAX).collect();
    escape_text(&beginning)
}

impl Host {
    /// Sends one request of another kind than a download, and reads the reply. A reply of any status but a
    /// temporary failure is returned.
    pub fn exchange(
        &self,
        method: &Method,
        url: &str,
        headers: &[(HeaderName, &str)],
        body: &[u8],
    ) -> Result<WholeReply, Failure> {
        self.requests.fetch_add(1, Ordering::Relaxed);
        let mut request = Request::builder().method(method).uri(url);
        for (name, value) in headers {
            request = request.header(name, *value);
        }
        let invalid = |error: ureq::http::Error| Failure::Permanent(error.to_string());
        let reply = match *method {
            Method::GET | Method::DELETE => self.agent.run(request.body(()).map_err(invalid)?),
            _ => self.agent.run(request.body(body).map_err(invalid)?),
        };
        let mut reply = reply.map_err(|error| self.transport_failure(error))?;
        let (status, headers) = (reply.status(), reply.headers());
        let temporary = temporary_failure(status, headers).filter(|_| status.as_u16() != 501);
        if let Some(failure) = temporary {
            return Err(failure);
        }
        let etag = headers.get(header::ETAG).and_then(|value| value.to_str().ok());
        let etag = etag.map(str::to_owned);
        let body = reply.body_mut().with_config().limit(REPLY_BYTES_MAX).read_to_vec();
        let body = body.map_err(|error| self.transport_failure(error))?;
        Ok(WholeReply { status, etag, body })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_of_all_stores_get_the_documented_namespace() {
        let check = |body: &str| {
            let status = StatusCode::OK;
            let reply = WholeReply { status, etag: None, body: body.as_bytes().to_vec() };
            let expected =
                format!("<?xml version=\"1.0\"?><List xmlns=\"{NAMESPACE}\"><A/></List>");
            assert_eq!(reply.xml(), expected, "{body}");
        };
        check(&format!("<?xml version=\"1.0\"?><List xmlns=\"{NAMESPACE}\"><A/></List>"));
        check(&format!("<?xml version=\"1.0\"?><List xmlns=\"{NAMESPACE_BEFORE}\"><A/></List>"));
        check("<?xml version=\"1.0\"?><List><A/></List>");
    }
}
