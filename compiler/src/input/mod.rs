//! The inputs: finding the parts of a dump, and knowing each for what it is.

pub(crate) mod detect;
pub(crate) mod manifest;

use std::{
    ffi::OsStr,
    fs,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use pinakes_format::entity::Entity;

use crate::error::{Error, Result};
use crate::frontend::FrontEnd;
use crate::frontend::detect::{DetectedTable, detect_side_table};
pub(crate) use crate::input::detect::refused_array;
use crate::input::detect::{detect_file, detect_in_directory, is_text};
use crate::input::manifest::check_manifest;
use crate::object::side_table::SideTable;
use crate::report::Warnings;
use crate::report::escape::shown;

/// What a part holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PartKind {
    /// OpenAlex records, one JSON object a line.
    Records(Entity),
    /// Records as the interface serves them, one JSON object a line.
    Native(Entity),
    /// Ids merged into others: `merge_date,id,merge_into_id`.
    Merges(Entity),
    /// The taxonomy table, one topic a row.
    Taxonomy,
    /// A side table, joined to records.
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

    /// What a part found is, where its input was given as a kind.
    fn given_as(self, kind: Option<InputKind>) -> PartKind {
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
    /// Where it is.
    pub path: PathBuf,
    /// What it holds.
    pub kind: PartKind,
    /// Its size in bytes.
    pub size_bytes: u64,
    /// How many records its manifest says it has.
    pub listed_records: Option<u64>,
}

/// What the inputs consist of.
#[derive(Debug, Default)]
pub struct Inputs {
    /// The parts, by path.
    pub parts: Vec<Part>,
    /// Files in directories that are nothing the compiler knows.
    pub skipped: Vec<PathBuf>,
    /// What was odd but stops nothing.
    pub warnings: Warnings,
}

/// What an input may be given as, before its path and a colon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InputKind {
    OpenAlex,
    Native,
    Taxonomy,
    Side(SideTable),
}

/// Those that are no side table's name.
const INPUT_KINDS: [(&str, InputKind); 3] = [
    ("openalex", InputKind::OpenAlex),
    ("native", InputKind::Native),
    ("taxonomy", InputKind::Taxonomy),
];

/// What is forgiven of the inputs, and what is not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ManifestPolicy {
    /// Whether parts that a manifest lists must be there, and it must list those that are.
    pub strict_manifest: bool,
    /// Whether a part may be shorter than its manifest says.
    pub allow_truncated: bool,
}

/// What the compiler can read, for error messages.
const EXPECTED: &str = "expected an OpenAlex dump (a directory or file of `<entity>` JSON lines, \
                        plain, .gz or .zst), the same of what `export` writes, a merged_ids CSV, a \
                        taxonomy CSV with a `topic_id` column, or a side table (DOAJ, SCImago, \
                        Scopus, JCR or ABDC as CSV; ROR schema 2 or ORCID as JSON)";

/// Finds the parts of all inputs. Nothing is parsed but manifests.
///
/// # Errors
///
/// Where an input is missing, unreadable or unknown, or contradicts its manifest.
pub fn find<I: AsRef<OsStr>>(inputs: &[I], policy: ManifestPolicy) -> Result<Inputs> {
    let mut found = Inputs::default();
    for input in inputs {
        let (kind, path) = split_kind(input.as_ref());
        let metadata = fs::metadata(path).map_err(Error::input(path))?;
        let before = found.parts.len();
        if metadata.is_dir() {
            let mut manifests = Vec::new();
            walk(path, path, &mut found, &mut manifests)?;
            for part in &mut found.parts[before..] {
                part.kind = part.kind.given_as(kind);
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

fn split_kind(input: &OsStr) -> (Option<InputKind>, &Path) {
    let bytes = input.as_bytes();
    let sides = SideTable::all().map(|table| (table.name(), InputKind::Side(table)));
    let given = INPUT_KINDS.into_iter().chain(sides).find_map(|(name, kind)| {
        let path = bytes.strip_prefix(name.as_bytes())?.strip_prefix(b":")?;
        Some((Some(kind), Path::new(OsStr::from_bytes(path))))
    });
    given.unwrap_or((None, Path::new(input)))
}

/// Takes every file below `directory`, in the order of their names.
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
                found.warnings.add("ror_schema_1_skipped", 1, || shown(&path));
            }
            found.skipped.push(path);
        }
    }
    Ok(())
}
