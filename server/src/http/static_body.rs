//! Texts that are in this binary, or made by it once: the same however often they are asked for.
//!
//! Each has strong tags of its own, made of its bytes and not of the snapshot: another binary may serve
//! other texts from the same one.

use std::{io::Read, sync::OnceLock};

use bytes::Bytes;
use flate2::read::GzDecoder;
use http::{HeaderMap, HeaderName, HeaderValue};

use crate::http::coding::encode::encode;
use crate::http::coding::{Accepted, Coding};
use crate::http::etag::Tags;
use crate::http::reply::Reply;

/// Hex digits of a text's hash that stand in its tags.
const TAG_DIGITS: usize = 16;

/// A text and the forms it is sent in.
#[derive(Debug)]
pub struct Fixed {
    media_type: &'static str,
    bytes: Bytes,
    tags: Tags,
    /// Each made when it is first asked for; `None` where the bytes are compressed already, by gzip.
    coded: Option<[OnceLock<Option<Bytes>>; Coding::COUNT]>,
}

impl Fixed {
    /// A text as it is, to be sent in any coding.
    pub fn plain(media_type: &'static str, text: impl Into<Bytes>) -> Fixed {
        let (bytes, coded) = (text.into(), Some([const { OnceLock::new() }; Coding::COUNT]));
        Fixed { media_type, tags: tags_of(&bytes), bytes, coded }
    }

    /// A text compressed by gzip, to be sent so or as it is.
    pub fn packed(media_type: &'static str, gzip: &'static [u8]) -> Fixed {
        Fixed { media_type, bytes: Bytes::from_static(gzip), tags: tags_of(gzip), coded: None }
    }

    /// The reply to a request for it, with headers besides those of every such reply.
    pub fn reply(&self, request: &HeaderMap, headers: Vec<(HeaderName, HeaderValue)>) -> Reply {
        let accepted = Accepted::of(request);
        let coding = self.coding(accepted);
        if let Some(held) = self.tags.held(request, accepted, coding) {
            return Reply::NotModifiedFixed { tag: self.tags.of(held).clone() };
        }
        let tag = self.tags.of(coding).clone();
        let (media_type, body) = (self.media_type, self.form(coding));
        Reply::Fixed { media_type, body, coding, tag, headers }
    }

    /// The text, as it is.
    pub fn text(&self) -> Bytes {
        if self.coded.is_some() {
            return self.bytes.clone();
        }
        let mut text = Vec::new();
        let unpacked = GzDecoder::new(&*self.bytes).read_to_end(&mut text);
        unpacked.unwrap_or_else(|error| panic!("what this binary holds is packed well: {error}"));
        Bytes::from(text)
    }

    /// What it is sent in to whoever accepts these.
    fn coding(&self, accepted: Accepted) -> Coding {
        let wanted = if self.coded.is_some() { accepted.best() } else { Coding::Gzip };
        let is_there = match &self.coded {
            Some(_) => self.coded(wanted).is_some(),
            None => accepted.takes(wanted),
        };
        if is_there { wanted } else { Coding::Identity }
    }

    fn form(&self, coding: Coding) -> Bytes {
        match &self.coded {
            None if coding == Coding::Gzip => self.bytes.clone(),
            _ => self.coded(coding).unwrap_or_else(|| self.text()),
        }
    }

    /// The text in a coding; `None` where it is better sent as it is, or packed already.
    fn coded(&self, coding: Coding) -> Option<Bytes> {
        let forms = self.coded.as_ref()?;
        forms[coding as usize].get_or_init(|| encode(coding, &self.bytes)).clone()
    }
}

fn tags_of(bytes: &[u8]) -> Tags {
    Tags::new(&blake3::hash(bytes).to_hex()[..TAG_DIGITS])
}
