//! The address of a published tree: below an address of the web, or below a prefix in a bucket.

use std::{path::Path, time::Duration};

use rusty_s3::{Bucket, Credentials, S3Action, UrlStyle};
use ureq::tls::{PemItem, RootCerts, parse_pem};

use crate::error::{Error, Result};

/// How long a signed address of a bucket is good for.
const SIGNED_FOR: Duration = Duration::from_secs(3_600);

/// Where a tree is.
pub enum Address {
    /// Below an address.
    Below(String),
    /// Below a prefix in a bucket, which ends in `/` where it is not empty.
    Bucket {
        /// The bucket, at its endpoint.
        bucket: Box<Bucket>,
        /// What requests are signed by; `None` where the environment has none.
        credentials: Option<Credentials>,
        /// Empty, or ends in `/`.
        prefix: String,
    },
}

impl Address {
    /// What a text names: `http://…`, `https://…` or `s3://BUCKET/PREFIX`.
    ///
    /// # Errors
    ///
    /// A usage error, where it names none.
    pub fn of(url: &str) -> Result<Address> {
        let refused = |reason: &str| Error::Usage(format!("the address `{url}` {reason}"));
        if url.contains(|c: char| c.is_whitespace() || c.is_control() || "?#\\".contains(c)) {
            return Err(refused("holds what the address of a directory has none of"));
        }
        let url = url.trim_end_matches('/');
        if let Some(rest) = url.strip_prefix("s3://") {
            let (name, prefix) = rest.split_once('/').unwrap_or((rest, ""));
            return Address::bucket(name, prefix).map_err(|reason| refused(&reason));
        }
        let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
        let authority = rest.and_then(|rest| rest.split('/').next()).unwrap_or_default();
        match authority {
            "" => Err(refused("is none of a mirror; expected `http://…`, `https://…` or `s3://…`")),
            _ if authority.contains('@') => {
                Err(refused("holds a user name, which would stand in logs; ask without one"))
            }
            _ => Ok(Address::Below(url.to_owned())),
        }
    }

    /// A bucket, by the environment variables that other clients of buckets go by.
    fn bucket(name: &str, prefix: &str) -> std::result::Result<Address, String> {
        let given = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
        let region = given("AWS_REGION").or_else(|| given("AWS_DEFAULT_REGION"));
        let region = region.unwrap_or_else(|| "us-east-1".to_owned());
        let endpoint = given("AWS_ENDPOINT_URL_S3").or_else(|| given("AWS_ENDPOINT_URL"));
        let (endpoint, style) = match endpoint {
            Some(endpoint) => (endpoint, UrlStyle::Path),
            // A dot in its name fits no certificate of a host named by it.
            None if name.contains('.') => {
                (format!("https://s3.{region}.amazonaws.com"), UrlStyle::Path)
            }
            None => (format!("https://s3.{region}.amazonaws.com"), UrlStyle::VirtualHost),
        };
        let url = endpoint.parse().map_err(|error| format!("asks `{endpoint}`: {error}"))?;
        let bucket = Bucket::new(url, style, name.to_owned(), region)
            .map_err(|error| format!("is none of a bucket: {error}"))?;
        if prefix.split('/').any(|part| matches!(part, "." | "..")) {
            return Err("leads out of itself".into());
        }
        let prefix = if prefix.is_empty() { String::new() } else { format!("{prefix}/") };
        Ok(Address::Bucket {
            bucket: Box::new(bucket),
            credentials: Credentials::from_env(),
            prefix,
        })
    }

    /// A path below it as it is shown: never with what signs it.
    pub fn shown(&self, path: &str) -> String {
        match self {
            Address::Below(base) => format!("{base}/{path}"),
            Address::Bucket { bucket, prefix, .. } => {
                format!("s3://{}/{prefix}{path}", bucket.name())
            }
        }
    }

    /// What is asked for a path below it; signed, of a bucket, so that it is never shown.
    pub fn to_ask(&self, path: &str) -> String {
        match self {
            Address::Below(base) => format!("{base}/{path}"),
            Address::Bucket { bucket, credentials, prefix } => {
                let key = format!("{prefix}{path}");
                bucket.get_object(credentials.as_ref(), &key).sign(SIGNED_FOR).into()
            }
        }
    }
}

/// The certificates in a file, to trust a host by.
///
/// # Errors
///
/// Where it cannot be read, or holds none.
pub fn read_roots(path: &Path) -> Result<RootCerts> {
    let text = std::fs::read(path).map_err(Error::input(path))?;
    let mut roots = Vec::new();
    for item in parse_pem(&text) {
        match item {
            Ok(PemItem::Certificate(certificate)) => roots.push(certificate),
            Ok(_) => {}
            Err(error) => {
                return Err(Error::Input { path: path.into(), reason: error.to_string() });
            }
        }
    }
    if roots.is_empty() {
        let reason = "holds no certificate; expected PEM".into();
        return Err(Error::Input { path: path.into(), reason });
    }
    Ok(RootCerts::new_with_certs(&roots))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_are_none_of_a_mirror_are_refused() {
        let check = |url: &str, expected: &str| {
            let error = Address::of(url).err().unwrap();
            assert_eq!(error.exit_code(), 2, "{url}");
            assert_eq!(error.to_string(), format!("the address `{url}` {expected}"));
        };
        let none = "is none of a mirror; expected `http://…`, `https://…` or `s3://…`";
        for url in
            ["", "mirror", "ftp://a/b", "/srv/mirror", "file:///srv", "http://", "https:///a"]
        {
            check(url, none);
        }
        let more = "holds what the address of a directory has none of";
        for url in
            ["http://a/b?c=d", "http://a/#b", "http://a /b", "http://a\r\nX: y", "http://a\\b"]
        {
            check(url, more);
        }
        check(
            "https://user:word@a/b",
            "holds a user name, which would stand in logs; ask without one",
        );
        check("s3://bucket/../other", "leads out of itself");
    }

    #[test]
    fn paths_are_asked_for_below_the_address() {
        let address = |url: &str| Address::of(url).unwrap().to_ask("publication.json");
        assert_eq!(address("http://a/b//"), "http://a/b/publication.json");
        assert_eq!(address("https://a:8443"), "https://a:8443/publication.json");
    }
}
