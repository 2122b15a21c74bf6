//! `publication.json`: what a host publishes, and how long that is to be taken for the newest.
//!
//! It stands at the root of a published tree, is what a signature is over, and names the snapshot by its
//! root hash, so that every byte of the snapshot hangs on it. A mirror keeps it in `publications/<id>.json`
//! beside the snapshots; a snapshot that was built in its place has none.

use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::storage::manifest::ID_DIGITS;

/// The file's name at the root of a published tree.
pub const PUBLICATION: &str = "publication.json";
/// The directory beside snapshots in which those of pulled snapshots are kept.
pub const PUBLICATIONS: &str = "publications";
/// The largest that is read, in bytes.
pub const PUBLICATION_BYTES_MAX: u64 = 64 << 10;
/// The version of its members that this library writes, and the only one it reads.
pub const PUBLICATION_VERSION: u32 = 1;
/// The longest licence, in bytes.
const LICENCE_BYTES_MAX: usize = 256;

/// What is published.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Publication {
    /// [`PUBLICATION_VERSION`] of the writer.
    pub publication_version: u32,
    /// The snapshot.
    pub snapshot: PublishedSnapshot,
    /// The newest `updated_date` in it, UTC: what is newer has the later one.
    pub version: String,
    /// When it was published, UTC.
    pub created: String,
    /// When it is no longer to be taken for the newest, UTC.
    pub expires: String,
    /// The licence of what the snapshot holds; `null` where none is stated.
    pub licence: Option<String>,
    /// The objects the snapshot is linked from; `null` where they are not published.
    pub objects: Option<PublishedObjects>,
}

/// The snapshot of a publication.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedSnapshot {
    /// Its id.
    pub id: String,
    /// Its root hash, 64 hex digits.
    pub root: String,
    /// Bytes of its manifest.
    pub manifest_bytes: u64,
}

/// The objects of a publication.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedObjects {
    /// Bytes of the list of them.
    pub list_bytes: u64,
    /// BLAKE3 of that list, 64 hex digits.
    pub list_blake3: String,
}

/// Why a publication was refused.
#[derive(Debug, thiserror::Error)]
pub enum PublicationError {
    /// Not JSON, or not a publication's.
    #[error("no publication: {0}")]
    Json(serde_json::Error),
    /// Another version of its members.
    #[error("publication version {found}, this program reads {PUBLICATION_VERSION}; update it")]
    Version {
        /// The version found.
        found: u64,
    },
    /// A member that is not what it must be.
    #[error("`{member}` is `{found}`, expected {expected}")]
    Member {
        /// Its path.
        member: &'static str,
        /// What it is.
        found: String,
        /// What it must be, in words.
        expected: &'static str,
    },
}

impl Publication {
    /// The publication's text.
    pub fn text(&self) -> Vec<u8> {
        let mut text =
            serde_json::to_vec_pretty(self).expect("a publication has texts and numbers alone");
        text.push(b'\n');
        text
    }

    /// Reads a publication; the caller bounds the text by [`PUBLICATION_BYTES_MAX`].
    ///
    /// # Errors
    ///
    /// One variant a cause; see [`PublicationError`].
    pub fn read(text: &[u8]) -> Result<Publication, PublicationError> {
        #[derive(Deserialize)]
        struct Version {
            publication_version: u64,
        }
        let version: Version = serde_json::from_slice(text).map_err(PublicationError::Json)?;
        if version.publication_version != u64::from(PUBLICATION_VERSION) {
            return Err(PublicationError::Version { found: version.publication_version });
        }
        let publication: Publication =
            serde_json::from_slice(text).map_err(PublicationError::Json)?;
        publication.check()?;
        Ok(publication)
    }

    fn check(&self) -> Result<(), PublicationError> {
        let demand = |is_met: bool, member, found: &str, expected| {
            let found = || found.chars().take(80).collect();
            if is_met {
                Ok(())
            } else {
                Err(PublicationError::Member { member, found: found(), expected })
            }
        };
        let PublishedSnapshot { id, root, .. } = &self.snapshot;
        demand(is_hash(root), "snapshot.root", root, "64 lower-case hex digits")?;
        let is_its = *id == root[..ID_DIGITS];
        demand(is_its, "snapshot.id", id, "the first 16 digits of `snapshot.root`")?;
        let moments =
            [("version", &self.version), ("created", &self.created), ("expires", &self.expires)];
        for (member, text) in moments {
            demand(moment(text).is_some(), member, text, "a moment, as `2026-01-31T00:00:00Z`")?;
        }
        if let Some(licence) = &self.licence {
            let is_text = licence.len() <= LICENCE_BYTES_MAX && !licence.contains(char::is_control);
            demand(is_text, "licence", licence, "at most 256 bytes of text on one line")?;
        }
        if let Some(objects) = &self.objects {
            let hash = &objects.list_blake3;
            demand(is_hash(hash), "objects.list_blake3", hash, "64 lower-case hex digits")?;
        }
        Ok(())
    }

    /// When it expires.
    pub fn expires_at(&self) -> DateTime<Utc> {
        known(&self.expires)
    }

    /// When it was published.
    pub fn created_at(&self) -> DateTime<Utc> {
        known(&self.created)
    }

    /// Its version, as the moment it is.
    pub fn version_at(&self) -> DateTime<Utc> {
        known(&self.version)
    }
}

/// Whether a text is a BLAKE3 hash as it is written: 64 lower-case hex digits.
pub fn is_hash(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// The moment a text names: RFC 3339 in UTC, with `Z`.
pub fn moment(text: &str) -> Option<DateTime<Utc>> {
    let is_utc = text.ends_with('Z') && text.len() <= 40;
    is_utc.then(|| DateTime::parse_from_rfc3339(text).ok().map(|moment| moment.to_utc())).flatten()
}

/// The moment in a member that was checked; one that was not is long past.
fn known(text: &str) -> DateTime<Utc> {
    moment(text).unwrap_or(DateTime::UNIX_EPOCH)
}

/// Where the publication that a snapshot was pulled by is kept, beside the snapshot.
pub fn kept_path(snapshots: &Path, id: &str) -> PathBuf {
    snapshots.join(PUBLICATIONS).join(format!("{id}.json"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn publication() -> Publication {
        Publication {
            publication_version: PUBLICATION_VERSION,
            snapshot: PublishedSnapshot {
                id: "ab".repeat(8),
                root: "ab".repeat(32),
                manifest_bytes: 7,
            },
            version: "2026-01-10T15:13:35.381084Z".into(),
            created: "2026-01-11T00:00:00Z".into(),
            expires: "2026-03-12T00:00:00Z".into(),
            licence: Some("CC0-1.0".into()),
            objects: Some(PublishedObjects { list_bytes: 1, list_blake3: "0f".repeat(32) }),
        }
    }

    #[test]
    fn a_publication_comes_back() {
        let publication = publication();
        let read = Publication::read(&publication.text()).unwrap();
        assert_eq!(read, publication);
        assert_eq!(read.version_at().timestamp_micros(), 1_768_058_015_381_084);
    }

    #[test]
    fn what_a_member_must_be_is_said() {
        let check = |change: &dyn Fn(&mut Publication), expected: &str| {
            let mut changed = publication();
            change(&mut changed);
            let error = Publication::read(&changed.text()).unwrap_err();
            assert_eq!(error.to_string(), expected);
        };
        check(
            &|of| of.publication_version = 2,
            "publication version 2, this program reads 1; update it",
        );
        check(
            &|of| of.snapshot.id = "../../etc/passwd".into(),
            "`snapshot.id` is `../../etc/passwd`, expected the first 16 digits of `snapshot.root`",
        );
        check(
            &|of| of.snapshot.root = "AB".repeat(32),
            &format!("`snapshot.root` is `{}`, expected 64 lower-case hex digits", "AB".repeat(32)),
        );
        for (text, is_moment) in [
            ("2026-01-10", false),
            ("2026-01-10T00:00:00", false),
            ("2026-01-10T00:00:00+00:00", false),
            ("+292277026596-12-04T15:30:07Z", false),
            ("18446744073709551615", false),
            ("2026-01-10T00:00:00.5Z", true),
        ] {
            assert_eq!(moment(text).is_some(), is_moment, "{text}");
        }
        check(
            &|of| of.version = "18446744073709551615".into(),
            "`version` is `18446744073709551615`, expected a moment, as `2026-01-31T00:00:00Z`",
        );
        check(
            &|of| of.licence = Some("a\nb".into()),
            "`licence` is `a\nb`, expected at most 256 bytes of text on one line",
        );
    }

    #[test]
    fn texts_that_are_no_publication_are_refused() {
        let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
        let nested = format!("{{\"publication_version\":1,\"snapshot\":{deep}}}");
        let text = String::from_utf8(publication().text()).unwrap();
        let twice =
            text.replacen("\"version\"", "\"version\":\"2026-01-10T00:00:00Z\",\"version\"", 1);
        let more = text.replacen("\"version\"", "\"more\":1,\"version\"", 1);
        for text in ["", "{}", "null", &nested, &twice, &more, &text[1..]] {
            let error = Publication::read(text.as_bytes()).unwrap_err();
            assert!(matches!(error, PublicationError::Json(_)), "{error}");
        }
    }
}
