//! Bodies that the binary contains or computes once, such as documentation pages and schemas.
//!
//! Their ETags come from a hash of the body, not from the snapshot: another version of the binary may serve
//! other bodies from the same snapshot.

use std::{io::Read, sync::OnceLock};

use bytes::Bytes;
use flate2::read::GzDecoder;
use http::{HeaderMap, HeaderName, HeaderValue};

use crate::reply::Reply;
use crate::reply::coding::encode::encode;
use crate::reply::coding::{AcceptedCodings, Coding};
use crate::reply::etag::Etags;

/// Hex digits of the hash in an ETag.
const TAG_DIGITS: usize = 16;

/// A body and its coded forms.
#[derive(Debug)]
pub struct StaticBody {
    media_type: &'static str,
    bytes: Bytes,
    etags: Etags,
    forms: Forms,
}

/// The other forms of a body, each computed at first use. All replies share them, so that no request costs
/// the work again.
#[derive(Debug)]
enum Forms {
    /// Coded forms of plain bytes; `None` where coding does not shrink them.
    Coded([OnceLock<Option<Bytes>>; Coding::COUNT]),
    /// The plain form of gzip bytes.
    Plain(OnceLock<Bytes>),
}

impl StaticBody {
    /// Makes a body that can be sent in any coding.
    pub fn new(media_type: &'static str, text: impl Into<Bytes>) -> StaticBody {
        let (bytes, forms) = (text.into(), Forms::Coded([const { OnceLock::new() }; _]));
        StaticBody { media_type, etags: etags_of(&bytes), bytes, forms }
    }

    /// Makes a body from gzip bytes, to be sent as gzip or decompressed.
    pub fn from_gzip(media_type: &'static str, gzip: &'static [u8]) -> StaticBody {
        StaticBody {
            media_type,
            bytes: Bytes::from_static(gzip),
            etags: etags_of(gzip),
            forms: Forms::Plain(OnceLock::new()),
        }
    }

    /// Whether the binary does not have the body.
    pub fn is_absent(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Makes the reply to a request, with additional headers.
    pub fn reply(&self, request: &HeaderMap, headers: Vec<(HeaderName, HeaderValue)>) -> Reply {
        let accepted = AcceptedCodings::from_headers(request);
        let coding = self.coding(accepted);
        if let Some(current) = self.etags.matching(request, accepted, coding) {
            return Reply::not_modified_tagged(&self.etags, current);
        }
        let body = self.in_coding(coding);
        Reply::fixed(self.media_type, body, &self.etags, coding).with_headers(headers)
    }

    /// The body without coding.
    pub fn uncoded(&self) -> Bytes {
        let Forms::Plain(plain) = &self.forms else { return self.bytes.clone() };
        let unpack = || {
            let mut text = Vec::new();
            let unpacked = GzDecoder::new(&*self.bytes).read_to_end(&mut text);
            unpacked.unwrap_or_else(|error| panic!("the binary contains valid gzip: {error}"));
            Bytes::from(text)
        };
        plain.get_or_init(unpack).clone()
    }

    /// The coding to send to a client that accepts these codings.
    fn coding(&self, accepted: AcceptedCodings) -> Coding {
        let (wanted, is_available) = match &self.forms {
            Forms::Coded(_) => {
                let wanted = accepted.preferred();
                (wanted, self.coded(wanted).is_some())
            }
            Forms::Plain(_) => (Coding::Gzip, accepted.accepts(Coding::Gzip)),
        };
        if is_available { wanted } else { Coding::Identity }
    }

    fn in_coding(&self, coding: Coding) -> Bytes {
        match &self.forms {
            Forms::Plain(_) if coding == Coding::Gzip => self.bytes.clone(),
            _ => self.coded(coding).unwrap_or_else(|| self.uncoded()),
        }
    }

    /// The body in a coding; `None` if coding does not shrink it, or if `bytes` are gzip already.
    fn coded(&self, coding: Coding) -> Option<Bytes> {
        let Forms::Coded(forms) = &self.forms else { return None };
        forms[coding as usize].get_or_init(|| encode(coding, &self.bytes)).clone()
    }
}

fn etags_of(bytes: &[u8]) -> Etags {
    Etags::new(&blake3::hash(bytes).to_hex()[..TAG_DIGITS])
}
