//! What every reply from one snapshot bears: its id, and a strong tag for each coding of the edition
//! that is shown of it.

use std::iter;

use http::{HeaderMap, HeaderValue, header};

use crate::http::coding::{Accepted, Coding};

/// Raised whenever the same snapshot would be answered with other bytes: rendered to others, or
/// coded to others by another encoder, another version of one, or at another level.
const RENDERER_VERSION: u32 = 1;

/// Strong tags of what one text is sent as, one a coding.
#[derive(Clone, Debug)]
pub struct Tags {
    /// By the codings' discriminants: `"<text>.<renderer>"`, and with `.<coding>` after it.
    tags: [HeaderValue; Coding::COUNT],
}

/// What every reply from one snapshot bears, made once.
#[derive(Clone, Debug)]
pub struct Stamp {
    snapshot_id: HeaderValue,
    tags: Tags,
}

impl Tags {
    /// The tags of what hex digits stand for.
    pub fn new(digits: &str) -> Tags {
        let tags = Coding::ALL.map(|coding| match coding {
            Coding::Identity => value(&format!("\"{digits}.{RENDERER_VERSION}\"")),
            coded => value(&format!("\"{digits}.{RENDERER_VERSION}.{}\"", coded.name())),
        });
        Tags { tags }
    }

    /// The tag of what is sent in a coding.
    pub fn of(&self, coding: Coding) -> &HeaderValue {
        &self.tags[coding as usize]
    }

    /// The coding in which a request has, by its `If-None-Match`, what it would get; `None` where it
    /// has none that it accepts.
    ///
    /// Of several that it has, the one it would be sent now, `wanted`, comes first; `*` is that one.
    /// Takes time linear in the header's length.
    pub fn held(&self, headers: &HeaderMap, accepted: Accepted, wanted: Coding) -> Option<Coding> {
        let mut held = [false; Coding::COUNT];
        for line in headers.get_all(header::IF_NONE_MATCH) {
            let line = line.as_bytes();
            if line.trim_ascii() == b"*" {
                return Some(wanted);
            }
            // No tag of ours has a comma, so that one within a tag parts nothing that matters.
            for item in line.split(|byte| *byte == b',') {
                let item = item.trim_ascii();
                // Compared weakly (RFC 9110, 13.1.2).
                let tag = item.strip_prefix(b"W/").unwrap_or(item);
                if let Some(at) = self.tags.iter().position(|known| known.as_bytes() == tag) {
                    held[at] = true;
                }
            }
        }
        iter::once(wanted)
            .chain(Coding::ALL)
            .find(|coding| held[*coding as usize] && accepted.takes(*coding))
    }
}

impl Stamp {
    /// The stamp of a snapshot all of whose records are shown.
    pub fn new(snapshot_id: &str) -> Stamp {
        Stamp::of(snapshot_id, snapshot_id)
    }

    /// The stamp of a snapshot in the edition that is shown of it: hex digits and hyphens.
    pub fn of(snapshot_id: &str, edition: &str) -> Stamp {
        Stamp { snapshot_id: value(snapshot_id), tags: Tags::new(edition) }
    }

    /// The snapshot's id.
    pub fn snapshot_id(&self) -> &HeaderValue {
        &self.snapshot_id
    }

    /// The strong tag of what is sent in a coding.
    pub fn tag(&self, coding: Coding) -> &HeaderValue {
        self.tags.of(coding)
    }

    /// The coding in which a request has, by its `If-None-Match`, what it would get; `None` where it
    /// has none that it accepts.
    ///
    /// `*` is whatever the answer would be, which is taken to be in the coding it likes best: whether
    /// the body is long enough for that, nobody has rendered.
    pub fn current(&self, headers: &HeaderMap) -> Option<Coding> {
        if !headers.contains_key(header::IF_NONE_MATCH) {
            return None;
        }
        let accepted = Accepted::of(headers);
        self.tags.held(headers, accepted, accepted.best())
    }
}

fn value(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).expect("hex digits, quotes and names, which a header may hold")
}

#[cfg(test)]
mod tests {
    use super::{Coding::*, *};

    #[test]
    fn a_tag_is_found_in_any_list_where_its_coding_is_accepted() {
        let check = |tags: &[&'static str], accepted: &'static str, expected: Option<Coding>| {
            let mut headers = HeaderMap::new();
            for line in tags {
                headers.append(header::IF_NONE_MATCH, HeaderValue::from_static(line));
            }
            headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static(accepted));
            assert_eq!(Stamp::new("0123").current(&headers), expected, "{tags:?} {accepted}");
        };
        check(&[], "zstd", None);
        check(&["*"], "", Some(Identity));
        check(&[" * "], "gzip, br", Some(Brotli));
        check(&["\"x\"", "*"], "gzip", Some(Gzip));
        check(&["\"0123.1\""], "", Some(Identity));
        check(&["\"0123.1\""], "zstd, identity;q=0", Some(Identity));
        check(&["\"x\", W/\"0123.1\""], "", Some(Identity));
        check(&["\"x\"", "\"0123.1\""], "", Some(Identity));
        check(&["\"0123.1.zstd\""], "gzip, zstd", Some(Zstd));
        check(&["\"0123.1.zstd\""], "gzip", None);
        check(&["\"0123.1.br\""], "br;q=0, *", None);
        check(&["W/\"0123.1.br\""], "*", Some(Brotli));
        check(&["\"0123.1.gzip\""], "zstd, x-gzip;q=0.1", Some(Gzip));
        check(&["\"0123.1.br\", \"0123.1.gzip\""], "br;q=0.5, gzip", Some(Gzip));
        check(&["\"0123.1\",\"0123.1.gzip\""], "gzip", Some(Gzip));
        check(&["\"0123.1.gzip\",\"0123.1\""], "br", Some(Identity));
        check(&["\"0123.2\""], "", None);
        check(&["\"0124.1\""], "", None);
        check(&["0123.1"], "", None);
        check(&["\"0123.1.identity\""], "*", None);
        check(&["w/\"0123.1\""], "", None);
        check(&["W/W/\"0123.1\""], "", None);
        check(&["\"0123.1\" *"], "", None);
        check(&["\"*\""], "", None);
    }
}
