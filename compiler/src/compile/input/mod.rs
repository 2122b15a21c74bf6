//! Inputs: finds the parts of a dump and detects the kind of each.
//!
//! [`find`] walks directories and checks manifests; [`detect`] determines a part's kind. This folder
//! may import `error`, `report`, `read`, `object` and `frontend::detect`.

pub(crate) mod detect;
pub(crate) mod manifest;

use std::{
    ffi::OsStr,
    fs,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use pinakes_format::entity::Entity;

pub(crate) use crate::compile::input::detect::json_array_error;
use crate::compile::input::detect::{detect_file, detect_in_directory, is_text};
use crate::compile::input::manifest::check_manifest;
use crate::error::{Error, Result};
use crate::frontend::FrontEnd;
use crate::frontend::detect::{DetectedTable, detect_side_table};
use crate::object::side_table::SideTable;
use crate::object::warnings::Warnings;
use crate::terminal::escape::escape_path;

/// The kind of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PartKind {
    /// OpenAlex records, one JSON object per line.
    Records(Entity),
    /// Records as the interface serves them, one JSON object per line.
    Native(Entity),
    /// Merged ids: `merge_date,id,merge_into_id`.
    Merges(Entity),
    /// The taxonomy table, one topic per row.
    Taxonomy,
    Side(SideTable),
}

impl PartKind {
    /// The front end of a part of JSON records, and their entity; `None` for a table.
    pub(crate) fn front_end(self) -> Option<(FrontEnd, Entity)> {
        match self {
            PartKind::Records(entity) => Some((FrontEnd::OpenAlex, entity)),
            PartKind::Native(entity) => Some((FrontEnd::Native, entity)),
            PartKind::Merges(_) | PartKind::Taxonomy | PartKind::Side(_) => None,
        }
    }

    /// Replaces the detected kind by the kind that prefixes the input, where both hold records.
    fn or_prefixed(self, kind: Option<InputKind>) -> PartKind {
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
    pub path: PathBuf,
    pub kind: PartKind,
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
    Side(SideTable),
}

/// The prefixes other than the names of side tables.
const INPUT_KINDS: [(&str, InputKind); 3] = [
    ("openalex", InputKind::OpenAlex),
    ("native", InputKind::Native),
    ("taxonomy", InputKind::Taxonomy),
];

/// How strictly parts must match their manifest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ManifestPolicy {
    /// Whether the manifest must list exactly the parts that exist.
    pub strict_manifest: bool,
    /// Whether a part may be shorter than its manifest entry.
    pub allow_truncated: bool,
}

/// The inputs that the compiler reads, for error messages.
const EXPECTED: &str = "expected an OpenAlex dump (a directory or file of `<entity>` JSON lines, \
                        plain, .gz or .zst), the same of what `export` writes, a merged_ids CSV, a \
                        taxonomy CSV with a `topic_id` column, or a side table (DOAJ, SCImago, \
                        Scopus, JCR or ABDC as CSV; ROR schema 2 or ORCID as JSON)";

/// Finds the parts of all inputs. Reads manifests, and the beginning of each file to detect its kind.
///
/// # Errors
///
/// Where an input is missing, unreadable or unknown, or contradicts its manifest.
pub fn find<I: AsRef<OsStr>>(inputs: &[I], policy: ManifestPolicy) -> Result<Inputs> {
    let mut found = Inputs::default();
    for input in inputs {
        let (kind, path) = split_prefix(input.as_ref());
        let metadata = fs::metadata(path).map_err(Error::input(path))?;
        let before = found.parts.len();
        if metadata.is_dir() {
            let mut manifests = Vec::new();
            walk(path, path, &mut found, &mut manifests)?;
            for part in &mut found.parts[before..] {
                part.kind = part.kind.or_prefixed(kind);
            }
            for manifest in manifests {
                check_manifest(&manifest, policy, &mut found)?;
            }
            if found.parts.len() == before {
                return Err(Error::Input {
                    path: path.to_path_buf(),
                    reason: format!("holds nothing to compile; {EXPECTED}"),
                });
            }
        } else if metadata.is_file() {
            let part = detect_file(path, kind, metadata.len())?;
            found.parts.push(part);
        } else {
            let reason = format!("is neither a file nor a directory; {EXPECTED}");
            return Err(Error::Input { path: path.to_path_buf(), reason });
        }
    }
    found.parts.sort_by(|a, b| a.path.cmp(&b.path));
    found.parts.dedup_by(|a, b| a.path == b.path);
    Ok(found)
}

fn split_prefix(input: &OsStr) -> (Option<InputKind>, &Path) {
    let bytes = input.as_bytes();
    let sides = SideTable::all().map(|table| (table.name(), InputKind::Side(table)));
    let prefixed = INPUT_KINDS.into_iter().chain(sides).find_map(|(name, kind)| {
        let path = bytes.strip_prefix(name.as_bytes())?.strip_prefix(b":")?;
        Some((Some(kind), Path::new(OsStr::from_bytes(path))))
    });
    prefixed.unwrap_or((None, Path::new(input)))
}

/// Collects every file below `directory`, in the order of their names.
fn walk(
    root: &Path,
    directory: &Path,
    found: &mut Inputs,
    manifests: &mut Vec<PathBuf>,
) -> Result<()> {
    let entries = fs::read_dir(directory).map_err(Error::input(directory))?;
    let mut paths = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<std::io::Result<Vec<_>>>()
        .map_err(Error::input(directory))?;
    paths.sort();
    for path in paths {
        let metadata = fs::metadata(&path).map_err(Error::input(&path))?;
        if metadata.is_dir() {
            walk(root, &path, found, manifests)?;
            continue;
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name == "manifest" || name == "manifest.json" {
            manifests.push(path);
        } else if !metadata.is_file() {
            found.skipped.push(path);
        } else if let Some(kind) = detect_in_directory(root, &path) {
            let size_bytes = metadata.len();
            found.parts.push(Part { path, kind, size_bytes, listed_records: None });
        } else {
            if is_text(&name) && detect_side_table(&path).is_ok_and(DetectedTable::is_ror_schema_1)
            {
                found.warnings.add("ror_schema_1_skipped", 1, || escape_path(&path));
            }
            found.skipped.push(path);
        }
    }
    Ok(())
}
