//! The address of a published tree: an HTTP address, or a prefix in an S3 bucket.

use std::{path::Path, time::Duration};

use rusty_s3::{Bucket, Credentials, S3Action, UrlStyle};
use ureq::tls::{PemItem, RootCerts, parse_pem};

use crate::error::{RemoteError, Result};

/// Lifetime of a signed bucket URL.
pub const SIGNED_FOR: Duration = Duration::from_secs(3_600);

/// The address of a tree.
pub enum Address {
    /// An HTTP address without a trailing `/`.
    Http(String),
    /// A prefix in a bucket.
    Bucket {
        /// The bucket, with its endpoint.
        bucket: Box<Bucket>,
        /// Credentials from the environment; `None` sends unsigned requests.
        credentials: Option<Credentials>,
        /// Empty, or ends in `/`.
        prefix: String,
    },
}

impl Address {
    /// Parses `http://…`, `https://…` or `s3://BUCKET/PREFIX`.
    ///
    /// # Errors
    ///
    /// A usage error for any other text.
    pub fn parse(url: &str) -> Result<Address> {
        let refused = |reason: &str| RemoteError::Usage(format!("the address `{url}` {reason}"));
        if url.contains(|c: char| c.is_whitespace() || c.is_control() || "?#\\".contains(c)) {
            return Err(refused("contains white space, a control character, `?`, `#` or `\\`"));
        }
        let url = url.trim_end_matches('/');
        if let Some(rest) = url.strip_prefix("s3://") {
            let (name, prefix) = rest.split_once('/').unwrap_or((rest, ""));
            return Address::bucket(name, prefix).map_err(|reason| refused(&reason));
        }
        let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
        let authority = rest.and_then(|rest| rest.split('/').next()).unwrap_or_default();
        match authority {
            "" => Err(refused("is not a mirror's; expected `http://…`, `https://…` or `s3://…`")),
            _ if authority.contains('@') => {
                Err(refused("contains a user name, which would appear in logs; remove it"))
            }
            _ => Ok(Address::Http(url.to_owned())),
        }
    }

    /// Makes a bucket's address, with the standard `AWS_…` environment variables.
    fn bucket(name: &str, prefix: &str) -> std::result::Result<Address, String> {
        let given = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
        let region = given("AWS_REGION").or_else(|| given("AWS_DEFAULT_REGION"));
        let region = region.unwrap_or_else(|| "us-east-1".to_owned());
        let endpoint = given("AWS_ENDPOINT_URL_S3").or_else(|| given("AWS_ENDPOINT_URL"));
        let (endpoint, style) = match endpoint {
            Some(endpoint) => (endpoint, UrlStyle::Path),
            // A wildcard certificate does not cover a host name with a further dot.
            None if name.contains('.') => {
                (format!("https://s3.{region}.amazonaws.com"), UrlStyle::Path)
            }
            None => (format!("https://s3.{region}.amazonaws.com"), UrlStyle::VirtualHost),
        };
        let url = endpoint
            .parse()
            .map_err(|error| format!("has the invalid endpoint `{endpoint}`: {error}"))?;
        let bucket = Bucket::new(url, style, name.to_owned(), region)
            .map_err(|error| format!("is not a bucket's: {error}"))?;
        if prefix.split('/').any(|part| matches!(part, "." | "..")) {
            return Err("contains `.` or `..`".into());
        }
        let prefix = if prefix.is_empty() { String::new() } else { format!("{prefix}/") };
        Ok(Address::Bucket {
            bucket: Box::new(bucket),
            credentials: Credentials::from_env(),
            prefix,
        })
    }

    /// Returns the address of a path for messages, without the signature.
    pub fn display(&self, path: &str) -> String {
        match self {
            Address::Http(base) => format!("{base}/{path}"),
            Address::Bucket { bucket, prefix, .. } => {
                format!("s3://{}/{prefix}{path}", bucket.name())
            }
        }
    }

    /// Returns the URL to request for a path. A bucket's URL contains a signature: never print it.
    pub fn request_url(&self, path: &str) -> String {
        match self {
            Address::Http(base) => format!("{base}/{path}"),
            Address::Bucket { bucket, credentials, prefix } => {
                let key = format!("{prefix}{path}");
                bucket.get_object(credentials.as_ref(), &key).sign(SIGNED_FOR).into()
            }
        }
    }
}

/// Reads the certificates of a PEM file, which replace the usual root certificates.
pub(crate) fn read_roots(path: &Path) -> Result<RootCerts> {
    let text = std::fs::read(path).map_err(RemoteError::read(path))?;
    let mut roots = Vec::new();
    for item in parse_pem(&text) {
        match item {
            Ok(PemItem::Certificate(certificate)) => roots.push(certificate),
            Ok(_) => {}
            Err(error) => {
                return Err(RemoteError::Input { path: path.into(), reason: error.to_string() });
            }
        }
    }
    if roots.is_empty() {
        let reason = "contains no certificate; expected PEM".into();
        return Err(RemoteError::Input { path: path.into(), reason });
    }
    Ok(RootCerts::new_with_certs(&roots))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_no_mirror_has_are_refused() {
        let check = |url: &str, expected: &str| {
            let error = Address::parse(url).err().unwrap();
            assert!(matches!(error, RemoteError::Usage(_)), "{url}");
            assert_eq!(error.to_string(), format!("the address `{url}` {expected}"));
        };
        let none = "is not a mirror's; expected `http://…`, `https://…` or `s3://…`";
        for url in
            ["", "mirror", "ftp://a/b", "/srv/mirror", "file:///srv", "http://", "https:///a"]
        {
            check(url, none);
        }
        let more = "contains white space, a control character, `?`, `#` or `\\`";
        for url in
            ["http://a/b?c=d", "http://a/#b", "http://a /b", "http://a\r\nX: y", "http://a\\b"]
        {
            check(url, more);
        }
        check(
            "https://user:word@a/b",
            "contains a user name, which would appear in logs; remove it",
        );
        check("s3://bucket/../other", "contains `.` or `..`");
    }

    #[test]
    fn paths_are_requested_below_the_address() {
        let address = |url: &str| Address::parse(url).unwrap().request_url("publication.json");
        assert_eq!(address("http://a/b//"), "http://a/b/publication.json");
        assert_eq!(address("https://a:8443"), "https://a:8443/publication.json");
    }
}
