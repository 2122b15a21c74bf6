//! Web pages whose files are all in the binary, so that they work without other hosts.

use http::{HeaderMap, HeaderValue, header};

use crate::reply::Reply;
use crate::reply::static_body::StaticBody;

pub use crate::reply::HTML;

/// Content security policy: a page loads only its own files.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
                      img-src 'self' data:; font-src 'self'; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Media type of scripts.
pub const SCRIPT: &str = "text/javascript; charset=utf-8";
/// Media type of style sheets.
pub const STYLE: &str = "text/css; charset=utf-8";
/// Media type of plain text.
pub const TEXT: &str = "text/plain; charset=utf-8";

/// The gzip bytes of a file of a page. Without the feature `packed-parts` there are none: the host serves the file.
macro_rules! packed {
    ($path:literal) => {
        if cfg!(feature = "packed-parts") { include_bytes!($path) as &[u8] } else { &[] }
    };
}
pub(crate) use packed;

/// A file of a page.
pub struct Asset {
    name: &'static str,
    body: StaticBody,
}

impl Asset {
    /// Makes a file from its bytes.
    pub fn new(name: &'static str, media_type: &'static str, bytes: &'static [u8]) -> Asset {
        Asset { name, body: StaticBody::new(media_type, bytes) }
    }

    /// Makes a file from its gzip bytes.
    pub fn from_gzip(name: &'static str, media_type: &'static str, bytes: &'static [u8]) -> Asset {
        Asset { name, body: StaticBody::from_gzip(media_type, bytes) }
    }
}

/// A page and all files it loads.
pub struct StaticPage {
    /// The HTML of the page, then its other files.
    pub assets: Vec<Asset>,
}

impl StaticPage {
    /// The reply with the page, or with its file of this name; `None` if there is none.
    pub fn reply(&self, name: Option<&str>, headers: &HeaderMap) -> Option<Reply> {
        let (page, assets) = self.assets.split_first()?;
        let asset = match name {
            None => page,
            Some(name) => {
                assets.iter().find(|asset| asset.name == name && !asset.body.is_absent())?
            }
        };
        let own = vec![
            (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
            (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        ];
        Some(asset.body.reply(headers, own))
    }

    /// Asserts that every file decompresses, and that the page names exactly its files, except for `others`.
    #[cfg(test)]
    pub fn check(&self, route: &str, others: &[&str]) {
        let (page, assets) = self.assets.split_first().expect("the first asset is the page");
        let page = page.body.uncoded();
        let page = String::from_utf8_lossy(&page);
        let below = format!("\"{route}/");
        let named = |name: &str| page.contains(&format!("{below}{name}\""));
        for asset in assets {
            assert!(!asset.body.uncoded().is_empty(), "{}", asset.name);
            assert_eq!(named(asset.name), !others.contains(&asset.name), "{}", asset.name);
        }
    }
}
