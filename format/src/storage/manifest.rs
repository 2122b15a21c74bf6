//! `manifest.json`: the list of a snapshot's files, and the root hash that names the snapshot.

use std::collections::BTreeMap;

use blake3::Hash;
use serde::{Deserialize, Serialize};

use crate::storage::header::{FORMAT_VERSION, Header, next_step};
use crate::storage::integrity::levels_bytes;

pub use crate::storage::integrity::HASHES;

/// The manifest's file name.
pub const MANIFEST: &str = "manifest.json";
/// The file with the accounting of the build, by code.
pub const REPORT: &str = "report.json";
/// The largest manifest that is read, in bytes: enough for 200,000 parts.
pub const MANIFEST_BYTES_MAX: u64 = 16 << 20;
/// The number of hex digits in a snapshot's id.
pub const ID_DIGITS: usize = 16;

/// A snapshot's manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The [`FORMAT_VERSION`] of the writer.
    pub format_version: u32,
    /// The first [`ID_DIGITS`] hex digits of `root`.
    pub id: String,
    /// The BLAKE3 hash of this manifest's text with `id` and `root` empty.
    pub root: String,
    /// The hash of the declarations and keys that the writer was built with, 16 hex digits: the same in
    /// every archive's header.
    pub schema: String,
    /// The input of the compiler.
    pub source: SourceParts,
    /// The filters of a subset; absent in a full snapshot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selection: Option<SubsetFilters>,
    /// The number of suppressed records, by entity; entities without any are absent.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub suppressed: BTreeMap<String, u64>,
    /// Hex digits that identify the set of ids of the suppression list; absent without a list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suppression: Option<String>,
    /// The numbers of rows, by entity.
    pub counts: BTreeMap<String, Counts>,
    /// Every file but the manifest, ascending by path.
    pub files: Vec<FileEntry>,
}

/// The input that a snapshot was compiled from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceParts {
    /// The newest `updated_date` of any record; `null` where no record has one.
    pub newest_updated_date: Option<String>,
    /// The BLAKE3 hashes of the input parts, ascending.
    pub parts: Vec<String>,
}

/// Filter expressions that must all hold, by the plural of their entity; ascending, without
/// repetitions.
pub type Filters = BTreeMap<String, Vec<String>>;

/// The selection of a subset.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SubsetFilters {
    /// The filters of the selected records. The subset also holds the records that they refer to.
    pub filters: Filters,
    /// The number of records that were read and not selected, by entity.
    pub excluded: BTreeMap<String, u64>,
}

/// The numbers of rows of one entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counts {
    /// Rows with a record.
    pub published: u64,
    /// Rows with a record and rows of unresolved references.
    pub rows: u64,
    /// Merged ids.
    pub redirects: u64,
}

/// A file of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileEntry {
    /// The path in the snapshot, with `/` between directory and name.
    pub path: String,
    /// The size in bytes.
    pub size_bytes: u64,
    /// The BLAKE3 hash, 64 hex digits.
    pub blake3: String,
    /// The number of rows with a record in an archive's header; absent for other files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<u64>,
    /// The number of rows in an archive's header; absent for other files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
}

impl FileEntry {
    /// A file without a header, or an archive whose header has these counts.
    pub fn new(path: &str, size_bytes: u64, root: Hash, header: Option<Header>) -> FileEntry {
        FileEntry {
            path: path.to_owned(),
            size_bytes,
            blake3: root.to_hex().to_string(),
            published: header.map(|header| header.published),
            rows: header.map(|header| header.rows),
        }
    }
}

/// Why a manifest was refused.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// The text is not the JSON of a manifest.
    #[error("no manifest: {0}; restore the snapshot or rebuild it")]
    Json(serde_json::Error),
    /// Another version of the format wrote the manifest.
    #[error("format version {found}, this program reads {FORMAT_VERSION}; {}", next_step(*found))]
    Version {
        /// The version in the manifest.
        found: u64,
    },
    /// The root or the id is not that of the text.
    #[error("root hash {found}, expected {expected}; restore the snapshot or rebuild it")]
    Root {
        /// The hash of the text.
        expected: String,
        /// The root in the manifest.
        found: String,
    },
    /// The text is not in canonical form.
    #[error("not in canonical form; restore the snapshot or rebuild it")]
    Form,
}

impl Manifest {
    /// The text that the root is the hash of.
    fn unsigned_text(&self) -> Vec<u8> {
        Manifest { id: String::new(), root: String::new(), ..self.clone() }.text()
    }

    /// The manifest's canonical text.
    pub fn text(&self) -> Vec<u8> {
        let mut text = serde_json::to_vec_pretty(self)
            .expect("a manifest has only string keys, so it has a JSON form");
        text.push(b'\n');
        text
    }

    /// The offset of each file's levels in the hashes, and the size of the hashes; `None` where an
    /// offset overflows.
    pub fn levels_from(&self) -> Option<(BTreeMap<&str, usize>, usize)> {
        let mut begins = BTreeMap::new();
        let mut from = 0usize;
        for entry in self.files.iter().filter(|entry| entry.path != HASHES) {
            begins.insert(entry.path.as_str(), from);
            from = from.checked_add(usize::try_from(levels_bytes(entry.size_bytes)).ok()?)?;
        }
        Some((begins, from))
    }

    /// Computes `root` and `id` from the other members.
    pub fn set_root(&mut self) {
        self.root = blake3::hash(&self.unsigned_text()).to_hex().to_string();
        self.id = self.root[..ID_DIGITS].to_string();
    }

    /// Parses a manifest. Accepts only the text that [`Manifest::text`] writes.
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
        let mut correct = manifest.clone();
        correct.set_root();
        if correct != manifest {
            let (expected, found) = (correct.root, manifest.root);
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
            schema: "0123456789abcdef".into(),
            source: SourceParts {
                newest_updated_date: Some("2026-01-31T00:00:00".into()),
                parts: vec!["ab".into()],
            },
            selection: None,
            suppressed: BTreeMap::new(),
            suppression: None,
            counts: BTreeMap::from([(
                "outputs".into(),
                Counts { published: 1, rows: 2, redirects: 0 },
            )]),
            files: vec![FileEntry::new("strings", 64, Hash::from_bytes([7; 32]), None)],
        };
        manifest.set_root();
        manifest
    }

    fn subset_manifest() -> Manifest {
        let filters = vec!["is_oa:true".into(), "name:\"Étude, 2\"".into()];
        let selection = SubsetFilters {
            filters: BTreeMap::from([("outputs".into(), filters)]),
            excluded: BTreeMap::from([("outputs".into(), 7)]),
        };
        let mut manifest = Manifest { selection: Some(selection), ..manifest() };
        manifest.set_root();
        manifest
    }

    #[test]
    fn a_manifest_round_trips_and_every_flip_or_truncation_is_refused() {
        for manifest in [manifest(), subset_manifest()] {
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
    fn an_error_names_the_other_version() {
        let mut other = manifest();
        let version = FORMAT_VERSION + 1;
        other.format_version = version;
        let error = Manifest::read(&other.text()).unwrap_err().to_string();
        let expected = format!("format version {version}, this program reads {FORMAT_VERSION};");
        assert!(error.starts_with(&expected), "{error}");
    }
}
