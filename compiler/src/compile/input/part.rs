//! The parts of an input, and the kinds a part may have.

use std::path::PathBuf;

use pinakes_format::entity::Entity;

use crate::frontend::FrontEnd;
use crate::frontend::side::table::SideTable;
use crate::object::warnings::Warnings;

/// The kind of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

/// One file of an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The file.
    pub path: PathBuf,
    /// What its lines or rows are.
    pub kind: PartKind,
    /// The size of the file.
    pub size_bytes: u64,
    /// The number of records in the manifest's entry.
    pub listed_records: Option<u64>,
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
