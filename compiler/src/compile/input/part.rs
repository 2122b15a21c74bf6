//! The parts of an input, and the kinds a part may have.

use std::path::{Path, PathBuf};

use pinakes_format::entity::{CATALOG, Entity};
use serde::{Deserialize, Serialize};

use crate::frontend::FrontEnd;
use crate::frontend::side::SIDE_TABLES;
use crate::frontend::side::table::SideTable;
use crate::object::Warnings;
use crate::remote::file;
use crate::terminal::escape::escape_path;

/// The kind of a part. As text it is a prefix of inputs, and the entity where there are several:
/// `openalex:outputs`, `merged:authors`, `deleted`, `doaj`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum PartKind {
    /// OpenAlex records, one JSON object per line or Parquet row.
    Records(Entity),
    /// Records as the interface serves them, one JSON object per line or Parquet row.
    Native(Entity),
    /// Merged ids: `merge_date,id,merge_into_id`.
    Merges(Entity),
    /// Deleted ids: `work_id,deleted_date`; the entity whose folder holds the list.
    Deleted(Option<Entity>),
    /// The taxonomy table, one topic per row.
    Taxonomy,
    Side(&'static SideTable),
}

impl PartKind {
    /// The front end of a part of records, and their entity; `None` for a table.
    pub(crate) fn front_end(self) -> Option<(FrontEnd, Entity)> {
        match self {
            PartKind::Records(entity) => Some((FrontEnd::OpenAlex, entity)),
            PartKind::Native(entity) => Some((FrontEnd::Native, entity)),
            PartKind::Merges(_) | PartKind::Deleted(_) | PartKind::Taxonomy | PartKind::Side(_) => {
                None
            }
        }
    }

    /// Whether the part's rows change records of other parts, and become none themselves.
    pub(crate) fn is_side(self) -> bool {
        matches!(self, PartKind::Deleted(_) | PartKind::Side(_))
    }

    /// Replaces the detected kind by the kind that prefixes the input, where both hold records.
    pub(crate) fn or_prefixed(self, kind: Option<InputKind>) -> PartKind {
        match (kind, self) {
            (Some(InputKind::Native), PartKind::Records(entity)) => PartKind::Native(entity),
            (Some(InputKind::OpenAlex), PartKind::Native(entity)) => PartKind::Records(entity),
            _ => self,
        }
    }
}

impl From<PartKind> for String {
    fn from(kind: PartKind) -> String {
        let (name, entity) = match kind {
            PartKind::Records(entity) => ("openalex", Some(entity)),
            PartKind::Native(entity) => ("native", Some(entity)),
            PartKind::Merges(entity) => ("merged", Some(entity)),
            PartKind::Deleted(entity) => ("deleted", entity),
            PartKind::Taxonomy => ("taxonomy", None),
            PartKind::Side(table) => (table.name, None),
        };
        entity.map_or(name.to_owned(), |entity| format!("{name}:{}", entity.facts().plural))
    }
}

impl TryFrom<String> for PartKind {
    type Error = String;

    fn try_from(text: String) -> Result<PartKind, String> {
        let entity = |name| CATALOG.iter().find(|facts| facts.plural == name).map(|of| of.entity);
        let kind = match text.split_once(':') {
            Some(("openalex", name)) => entity(name).map(PartKind::Records),
            Some(("native", name)) => entity(name).map(PartKind::Native),
            Some(("merged", name)) => entity(name).map(PartKind::Merges),
            Some(("deleted", name)) => entity(name).map(|entity| PartKind::Deleted(Some(entity))),
            Some(_) => None,
            None if text == "deleted" => Some(PartKind::Deleted(None)),
            None if text == "taxonomy" => Some(PartKind::Taxonomy),
            None => SIDE_TABLES.into_iter().find(|table| table.name == text).map(PartKind::Side),
        };
        kind.ok_or_else(|| format!("`{text}` is no kind of a part"))
    }
}

/// One file of an input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// The file.
    pub path: PathBuf,
    /// What its lines or rows are.
    pub kind: PartKind,
    /// The size of the file.
    pub size_bytes: u64,
    /// The version of a file in a bucket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etag: Option<String>,
    /// The number of records in the manifest's entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listed_records: Option<u64>,
}

impl Part {
    pub(crate) fn new(path: &Path, kind: PartKind, size_bytes: u64) -> Part {
        let etag = file::find(path).map(|file| file.etag().to_owned());
        Part { path: path.to_path_buf(), kind, size_bytes, etag, listed_records: None }
    }
}

/// The result of [`find`].
#[derive(Debug, Default)]
pub struct Inputs {
    /// Sorted by path.
    pub parts: Vec<Part>,
    /// Files in directories whose kind is unknown.
    pub skipped: Vec<PathBuf>,
    pub warnings: Warnings,
}

impl Inputs {
    /// Returns the escaped paths of the skipped files.
    pub(crate) fn skipped_paths(&self) -> Vec<String> {
        self.skipped.iter().map(|path| escape_path(path)).collect()
    }
}

/// The kind that prefixes an input on the command line, as in `native:path`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InputKind {
    OpenAlex,
    Native,
    Taxonomy,
    Deleted,
    Side(&'static SideTable),
}

/// The prefixes other than the names of side tables.
pub(crate) const INPUT_KINDS: [(&str, InputKind); 4] = [
    ("openalex", InputKind::OpenAlex),
    ("native", InputKind::Native),
    ("taxonomy", InputKind::Taxonomy),
    ("deleted", InputKind::Deleted),
];

/// How strictly parts must match their manifest, and whether links may leave the input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ManifestPolicy {
    /// Whether the manifest must list exactly the parts that exist.
    pub strict_manifest: bool,
    /// Whether a part may be shorter than its manifest entry.
    pub allow_truncated: bool,
    /// Whether the parts of a directory may be symbolic links to files outside of it.
    pub follow_links: bool,
}

/// The inputs that the compiler reads, for error messages.
pub(crate) const EXPECTED: &str = "expected an OpenAlex dump (a directory or file of `<entity>` JSON lines, \
                        plain, .gz or .zst, or of Parquet), the same of what `export` writes, a merged_ids CSV, a \
                        deleted_ids CSV, a taxonomy CSV with a `topic_id` column, or a side table (DOAJ, SCImago, \
                        Scopus, JCR or ABDC as CSV; ROR schema 2 or ORCID as JSON)";
