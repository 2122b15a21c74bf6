//! ETags: one strong tag for each content coding of a text or of a snapshot's replies.
//!
//! All replies of a snapshot share their ETags, because equal requests to one snapshot get equal replies.

use std::{iter, sync::Arc};

use http::{HeaderMap, HeaderValue, header};

use crate::reply::coding::{AcceptedCodings, Coding};

/// Version of rendering and coding. Increment it whenever a reply's bytes change for the same snapshot:
/// by rendering, or by another encoder, encoder version or level.
const RENDERER_VERSION: u32 = 1;

/// Strong ETags of one text, one for each coding.
#[derive(Clone, Debug)]
pub struct Etags {
    /// `"<digits>.<version>"`, followed by `.<coding>` except for identity; indexed by [`Coding`].
    tags: [HeaderValue; Coding::COUNT],
}

/// Header values that all replies from one snapshot carry: `X-Snapshot-Id` and ETags.
#[derive(Clone, Debug)]
pub struct SnapshotHeaders {
    snapshot_id: HeaderValue,
    edition: Arc<str>,
    etags: Etags,
}

impl Etags {
    /// Makes the tags of a text from the hex digits of its hash.
    pub fn new(digits: &str) -> Etags {
        let tags = Coding::ALL.map(|coding| match coding {
            Coding::Identity => value(&format!("\"{digits}.{RENDERER_VERSION}\"")),
            coded => value(&format!("\"{digits}.{RENDERER_VERSION}.{}\"", coded.name())),
        });
        Etags { tags }
    }

    /// Returns the tag of the text in a coding.
    pub fn get(&self, coding: Coding) -> &HeaderValue {
        &self.tags[coding as usize]
    }

    /// Returns the coding of an ETag in `If-None-Match` that is current and accepted.
    ///
    /// Of several, `preferred` comes first; `*` matches `preferred`. Cost: linear in the header's length.
    pub fn matching(
        &self,
        headers: &HeaderMap,
        accepted: AcceptedCodings,
        preferred: Coding,
    ) -> Option<Coding> {
        let mut matches = [false; Coding::COUNT];
        for line in headers.get_all(header::IF_NONE_MATCH) {
            let line = line.as_bytes();
            if line.trim_ascii() == b"*" {
                return Some(preferred);
            }
            // No tag of the server contains a comma.
            for item in line.split(|byte| *byte == b',') {
                let item = item.trim_ascii();
                // Weak comparison (RFC 9110, section 13.1.2).
                let tag = item.strip_prefix(b"W/").unwrap_or(item);
                if let Some(at) = self.tags.iter().position(|known| known.as_bytes() == tag) {
                    matches[at] = true;
                }
            }
        }
        iter::once(preferred)
            .chain(Coding::ALL)
            .find(|coding| matches[*coding as usize] && accepted.accepts(*coding))
    }

    /// Returns the coding of an ETag in `If-None-Match` that is current and accepted.
    ///
    /// `*` matches the coding that the request prefers, although a short body would not be coded: the
    /// body is not rendered yet.
    pub fn matching_coding(&self, headers: &HeaderMap) -> Option<Coding> {
        if !headers.contains_key(header::IF_NONE_MATCH) {
            return None;
        }
        let accepted = AcceptedCodings::from_headers(headers);
        self.matching(headers, accepted, accepted.preferred())
    }
}

impl SnapshotHeaders {
    /// Makes the values of a snapshot without suppressed records.
    pub fn new(snapshot_id: &str) -> SnapshotHeaders {
        SnapshotHeaders::for_edition(snapshot_id, snapshot_id)
    }

    /// Makes the values of a snapshot in an edition, which the suppressed records determine; both
    /// are hex digits and hyphens.
    pub fn for_edition(snapshot_id: &str, edition: &str) -> SnapshotHeaders {
        SnapshotHeaders {
            snapshot_id: value(snapshot_id),
            edition: edition.into(),
            etags: Etags::new(edition),
        }
    }

    /// The ETags of replies that another version or other options of the server, which the hex digits
    /// stand for, make from the same snapshot differently.
    pub fn etags_of_version(&self, digits: &str) -> Etags {
        Etags::new(&format!("{}-{digits}", self.edition))
    }

    /// Value of `X-Snapshot-Id`.
    pub fn snapshot_id(&self) -> &HeaderValue {
        &self.snapshot_id
    }

    /// Returns the ETag of a reply in a coding.
    pub fn etag(&self, coding: Coding) -> &HeaderValue {
        self.etags.get(coding)
    }

    /// As [`Etags::matching_coding`], of the reply's tags.
    pub fn matching_coding(&self, headers: &HeaderMap) -> Option<Coding> {
        self.etags.matching_coding(headers)
    }
}

fn value(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).expect("hex digits, quotes and coding names are valid in a header")
}

#[cfg(test)]
mod tests {
    use super::{Coding::*, *};

    #[test]
    fn a_tag_matches_anywhere_in_the_list_if_its_coding_is_accepted() {
        let check = |tags: &[&'static str], accepted: &'static str, expected: Option<Coding>| {
            let mut headers = HeaderMap::new();
            for line in tags {
                headers.append(header::IF_NONE_MATCH, HeaderValue::from_static(line));
            }
            headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static(accepted));
            assert_eq!(
                SnapshotHeaders::new("0123").matching_coding(&headers),
                expected,
                "{tags:?} {accepted}"
            );
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
