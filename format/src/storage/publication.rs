//! `publication.json`: the snapshot that a host publishes, with an expiry date and a licence.
//!
//! The file is at the root of a published tree. The host signs it. It names the snapshot by its root
//! hash, so the signature covers every byte of the snapshot. A mirror keeps a copy in
//! `publications/<id>.json` beside the snapshots. A snapshot that was built locally has no
//! publication.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::storage::manifest::ID_DIGITS;

/// The file's name at the root of a published tree.
pub const PUBLICATION: &str = "publication.json";
/// The directory beside snapshots with the publications of pulled snapshots.
pub const PUBLICATIONS: &str = "publications";
/// The largest publication that is read, in bytes.
pub const PUBLICATION_BYTES_MAX: u64 = 64 << 10;
/// The version of a publication's members that this library writes, and the only one it reads.
pub const PUBLICATION_VERSION: u32 = 2;
/// The longest licence, in bytes.
const LICENCE_BYTES_MAX: usize = 256;

/// The content of `publication.json`, which a host signs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Publication {
    /// The [`PUBLICATION_VERSION`] of the writer.
    pub publication_version: u32,
    /// The snapshot of this publication, by its root hash.
    pub snapshot: PublishedSnapshot,
    /// The time of publication, UTC, to the microsecond. Of two publications, the one with the later
    /// version is newer.
    pub version: String,
    /// The time from which a reader must look for a newer publication, UTC.
    pub expires: String,
    /// The time from which servers answer from the snapshot, UTC; absent if they do so at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activate_at: Option<String>,
    /// The licence of the data; `null` where none is stated.
    pub licence: Option<String>,
    /// The objects that the snapshot was linked from; `null` where they are not published.
    pub objects: Option<PublishedObjects>,
}

/// The snapshot of a publication.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedSnapshot {
    /// The snapshot's id.
    pub id: String,
    /// The snapshot's root hash, 64 hex digits.
    pub root: String,
    /// The size of the manifest, in bytes.
    pub manifest_bytes: u64,
}

/// The objects of a publication.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedObjects {
    /// The size of the list of objects, in bytes.
    pub list_bytes: u64,
    /// The BLAKE3 hash of the list of objects, 64 hex digits.
    pub list_blake3: String,
}

/// Why a publication was refused.
#[derive(Debug, thiserror::Error)]
pub enum PublicationError {
    /// The text is not the JSON of a publication.
    #[error("no publication: {0}")]
    Json(serde_json::Error),
    /// Another version of the members.
    #[error("publication version {found}, this program reads {PUBLICATION_VERSION}; update it")]
    Version {
        /// The version in the publication.
        found: u64,
    },
    /// A member has an invalid value.
    #[error("`{member}` is `{found}`, expected {expected}")]
    Member {
        /// The member's path.
        member: &'static str,
        /// The member's value.
        found: String,
        /// The required form, in words.
        expected: &'static str,
    },
}

impl Publication {
    /// The publication's text.
    pub fn text(&self) -> Vec<u8> {
        let mut text = serde_json::to_vec_pretty(self)
            .expect("a publication has only texts and numbers, so it has a JSON form");
        text.push(b'\n');
        text
    }

    /// Parses a publication. The caller limits the text to [`PUBLICATION_BYTES_MAX`].
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
            // The text comes from a host, so an error shows only its beginning.
            let found = || found.chars().take(80).collect();
            if is_met {
                Ok(())
            } else {
                Err(PublicationError::Member { member, found: found(), expected })
            }
        };
        let PublishedSnapshot { id, root, .. } = &self.snapshot;
        demand(is_hash(root), "snapshot.root", root, "64 lower-case hex digits")?;
        // The root has enough digits, because it passed the check above.
        let is_its = *id == root[..ID_DIGITS];
        demand(is_its, "snapshot.id", id, "the first 16 digits of `snapshot.root`")?;
        for (member, text) in [("version", &self.version), ("expires", &self.expires)] {
            demand(moment(text).is_some(), member, text, "a moment, as `2026-01-31T00:00:00Z`")?;
        }
        if let Some(at) = &self.activate_at {
            let expected = "a moment before `expires`, as `2026-01-31T00:00:00Z`";
            let is_before = moment(at).is_some_and(|at| at < self.expires_at());
            demand(is_before, "activate_at", at, expected)?;
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

    /// `expires` as a time.
    pub fn expires_at(&self) -> DateTime<Utc> {
        known(&self.expires)
    }

    /// `activate_at` as a time.
    pub fn activates_at(&self) -> Option<DateTime<Utc>> {
        self.activate_at.as_deref().map(known)
    }

    /// `version` as a time.
    pub fn version_at(&self) -> DateTime<Utc> {
        known(&self.version)
    }
}

/// Whether a text is 64 lower-case hex digits, as a BLAKE3 hash is written.
pub fn is_hash(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Parses a time in RFC 3339, UTC, with `Z`.
pub fn moment(text: &str) -> Option<DateTime<Utc>> {
    let is_utc = text.ends_with('Z') && text.len() <= 40;
    is_utc.then(|| DateTime::parse_from_rfc3339(text).ok().map(|moment| moment.to_utc())).flatten()
}

/// Parses a checked member. An unchecked invalid member counts as 1970.
fn known(text: &str) -> DateTime<Utc> {
    moment(text).unwrap_or(DateTime::UNIX_EPOCH)
}

/// The path of the publication of a pulled snapshot.
pub fn kept_path(snapshots: &Path, id: &str) -> PathBuf {
    snapshots.join(PUBLICATIONS).join(format!("{id}.json"))
}

/// Reads the publication that a mirror keeps of a pulled snapshot.
///
/// Returns `None` if there is none, or if it is invalid or of another snapshot.
pub fn read_kept(snapshots: &Path, id: &str) -> Option<Publication> {
    let file = File::open(kept_path(snapshots, id)).ok()?;
    let mut text = Vec::new();
    file.take(PUBLICATION_BYTES_MAX).read_to_end(&mut text).ok()?;
    Publication::read(&text).ok().filter(|publication| publication.snapshot.id == id)
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
            expires: "2026-03-12T00:00:00Z".into(),
            activate_at: Some("2026-01-11T06:00:00Z".into()),
            licence: Some("CC0-1.0".into()),
            objects: Some(PublishedObjects { list_bytes: 1, list_blake3: "0f".repeat(32) }),
        }
    }

    #[test]
    fn a_publication_round_trips() {
        let publication = publication();
        let read = Publication::read(&publication.text()).unwrap();
        assert_eq!(read, publication);
        assert_eq!(read.version_at().timestamp_micros(), 1_768_058_015_381_084);
        assert_eq!(read.activates_at().unwrap().timestamp(), 1_768_111_200);
        // A publication without the member is as older programs wrote it.
        let at_once = Publication { activate_at: None, ..publication };
        assert!(!String::from_utf8(at_once.text()).unwrap().contains("activate_at"));
        assert_eq!(Publication::read(&at_once.text()).unwrap(), at_once);
    }

    #[test]
    fn an_activation_is_a_moment_before_the_expiry() {
        let text = String::from_utf8(publication().text()).unwrap();
        let with = |value: &str| text.replacen("\"2026-01-11T06:00:00Z\"", value, 1);
        for (value, is_accepted) in [
            ("\"2026-03-11T23:59:59.999Z\"", true),
            ("\"1970-01-01T00:00:00Z\"", true),
            ("null", true),
            ("\"2026-03-12T00:00:00Z\"", false),
            ("\"9999-12-31T23:59:59Z\"", false),
            ("\"+292277026596-12-04T15:30:07Z\"", false),
            ("\"2026-01-11T06:00:00+00:00\"", false),
            ("\"2026-01-11\"", false),
            ("\"18446744073709551615\"", false),
            ("\"\"", false),
        ] {
            let read = Publication::read(with(value).as_bytes());
            assert_eq!(read.is_ok(), is_accepted, "{value}: {read:?}");
            let is_named = |error: &PublicationError| error.to_string().contains("`activate_at`");
            assert!(read.as_ref().err().is_none_or(is_named), "{value}: {read:?}");
        }
        for value in ["0", "1768111200", "true", "[]", "{}", "[\"2026-01-11T06:00:00Z\"]"] {
            let error = Publication::read(with(value).as_bytes()).unwrap_err();
            assert!(matches!(error, PublicationError::Json(_)), "{value}: {error}");
        }
    }

    #[test]
    fn an_error_names_the_member_and_its_required_form() {
        let check = |change: &dyn Fn(&mut Publication), expected: &str| {
            let mut changed = publication();
            change(&mut changed);
            let error = Publication::read(&changed.text()).unwrap_err();
            assert_eq!(error.to_string(), expected);
        };
        check(
            &|of| of.publication_version = 1,
            "publication version 1, this program reads 2; update it",
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
    fn other_json_is_refused() {
        let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
        let nested = format!("{{\"publication_version\":2,\"snapshot\":{deep}}}");
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
