//! `manifest.json`: what a snapshot consists of, and the root hash that names it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::storage::header::FORMAT_VERSION;
use crate::storage::integrity::levels_bytes;

pub use crate::storage::integrity::HASHES;

/// The manifest's file name.
pub const MANIFEST: &str = "manifest.json";
/// The accounting by code.
pub const REPORT: &str = "report.json";
/// The largest manifest that is read, in bytes: room for 200,000 parts.
pub const MANIFEST_BYTES_MAX: u64 = 16 << 20;
/// Hex digits of a snapshot's id.
pub const ID_DIGITS: usize = 16;

/// A snapshot's manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// [`FORMAT_VERSION`] of the writer.
    pub format_version: u32,
    /// The first [`ID_DIGITS`] hex digits of `root`.
    pub id: String,
    /// BLAKE3 of this manifest's text with `id` and `root` empty.
    pub root: String,
    /// What it was compiled from.
    pub source: SourceParts,
    /// What was chosen of that; not there where everything was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selection: Option<Selection>,
    /// Records left out by a list of ids, of every entity that had any.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub suppressed: BTreeMap<String, u64>,
    /// Rows by entity.
    pub counts: BTreeMap<String, Counts>,
    /// Every other file, ascending by path.
    pub files: Vec<FileEntry>,
}

/// What a snapshot was compiled from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceParts {
    /// The newest `updated_date` of any record; `null` where none has one.
    pub newest_updated_date: Option<String>,
    /// BLAKE3 of every input part, ascending.
    pub parts: Vec<String>,
}

/// Expressions that must all hold, by the plural of their entity: each once, ascending.
pub type Filters = BTreeMap<String, Vec<String>>;

/// A part of what was compiled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Selection {
    /// What the chosen records match; what they refer to was chosen with them.
    pub filters: Filters,
    /// Records read and not chosen, of every entity.
    pub excluded: BTreeMap<String, u64>,
}

/// Rows of one entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counts {
    /// Records.
    pub published: u64,
    /// Records and strays.
    pub rows: u64,
    /// Ids that were merged into others.
    pub redirects: u64,
}

/// One file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileEntry {
    /// Its path in the snapshot, `/` between directory and name.
    pub path: String,
    /// Its size in bytes.
    pub size_bytes: u64,
    /// Its BLAKE3 hash, 64 hex digits.
    pub blake3: String,
}

/// Why a manifest was refused.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// Not JSON, or not a manifest's.
    #[error("no manifest: {0}; restore the snapshot or rebuild it")]
    Json(serde_json::Error),
    /// Another version of the format.
    #[error("format version {found}, this program reads {FORMAT_VERSION}; recompile the snapshot")]
    Version {
        /// The version found.
        found: u64,
    },
    /// Its text is not the one its contents have, or its root not that of the text.
    #[error("root hash {found}, expected {expected}; restore the snapshot or rebuild it")]
    Root {
        /// What the text hashes to.
        expected: String,
        /// What it says.
        found: String,
    },
    /// Its text differs from the canonical one.
    #[error("not in canonical form; restore the snapshot or rebuild it")]
    Form,
}

impl Manifest {
    /// The text whose hash is the root.
    fn unsigned_text(&self) -> Vec<u8> {
        Manifest { id: String::new(), root: String::new(), ..self.clone() }.text()
    }

    /// The manifest's canonical text.
    pub fn text(&self) -> Vec<u8> {
        let mut text = serde_json::to_vec_pretty(self)
            .expect("a manifest has string keys alone, so it is always JSON");
        text.push(b'\n');
        text
    }

    /// Where the levels of each file begin in the hashes, and where the last of them end; `None` where
    /// that is more than there can be.
    pub fn levels_from(&self) -> Option<(BTreeMap<&str, usize>, usize)> {
        let mut begins = BTreeMap::new();
        let mut from = 0usize;
        for entry in self.files.iter().filter(|entry| entry.path != HASHES) {
            begins.insert(entry.path.as_str(), from);
            from = from.checked_add(usize::try_from(levels_bytes(entry.size_bytes)).ok()?)?;
        }
        Some((begins, from))
    }

    /// Sets `root` and `id` from the rest.
    pub fn seal(&mut self) {
        self.root = blake3::hash(&self.unsigned_text()).to_hex().to_string();
        self.id = self.root[..ID_DIGITS].to_string();
    }

    /// Reads a manifest, refusing every text but the one [`Manifest::text`] writes.
    ///
    /// # Errors
    ///
    /// One variant a cause; see [`ManifestError`].
    pub fn read(text: &[u8]) -> Result<Manifest, ManifestError> {
        #[derive(Deserialize)]
        struct Version {
            format_version: u64,
        }
        let version: Version = serde_json::from_slice(text).map_err(ManifestError::Json)?;
        if version.format_version != u64::from(FORMAT_VERSION) {
            return Err(ManifestError::Version { found: version.format_version });
        }
        let manifest: Manifest = serde_json::from_slice(text).map_err(ManifestError::Json)?;
        let mut sealed = manifest.clone();
        sealed.seal();
        if sealed != manifest {
            let (expected, found) = (sealed.root, manifest.root);
            return Err(ManifestError::Root { expected, found });
        }
        if manifest.text() != text {
            return Err(ManifestError::Form);
        }
        Ok(manifest)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn manifest() -> Manifest {
        let mut manifest = Manifest {
            format_version: FORMAT_VERSION,
            id: String::new(),
            root: String::new(),
            source: SourceParts {
                newest_updated_date: Some("2026-01-31T00:00:00".into()),
                parts: vec!["ab".into()],
            },
            selection: None,
            suppressed: BTreeMap::new(),
            counts: BTreeMap::from([(
                "outputs".into(),
                Counts { published: 1, rows: 2, redirects: 0 },
            )]),
            files: vec![FileEntry { path: "strings".into(), size_bytes: 64, blake3: "cd".into() }],
        };
        manifest.seal();
        manifest
    }

    fn of_a_part() -> Manifest {
        let filters = vec!["is_oa:true".into(), "name:\"Étude, 2\"".into()];
        let selection = Selection {
            filters: BTreeMap::from([("outputs".into(), filters)]),
            excluded: BTreeMap::from([("outputs".into(), 7)]),
        };
        let mut manifest = Manifest { selection: Some(selection), ..manifest() };
        manifest.seal();
        manifest
    }

    #[test]
    fn a_manifest_comes_back_and_no_flip_or_truncation_of_it_does() {
        for manifest in [manifest(), of_a_part()] {
            let text = manifest.text();
            assert_eq!(Manifest::read(&text).unwrap(), manifest);
            for at in 0..text.len() {
                assert!(Manifest::read(&text[..at]).is_err(), "cut at {at}");
                for bit in 0..8 {
                    let mut damaged = text.clone();
                    damaged[at] ^= 1 << bit;
                    assert!(Manifest::read(&damaged).is_err(), "byte {at} bit {bit}");
                }
            }
        }
    }

    #[test]
    fn another_version_is_named() {
        let mut other = manifest();
        let version = FORMAT_VERSION + 1;
        other.format_version = version;
        let error = Manifest::read(&other.text()).unwrap_err().to_string();
        let expected = format!("format version {version}, this program reads {FORMAT_VERSION};");
        assert!(error.starts_with(&expected), "{error}");
    }
}
