//! Inputs: finds the parts of a dump and detects the kind of each.
//!
//! [`find`] walks directories and checks manifests; [`detect`] determines a part's kind, or
//! explains why a file has none. [`remote`] lists buckets. This folder
//! may import `terminal`, `error`, `remote`, `read`, `object` and `frontend::detect`.

pub(crate) mod detect;
pub(crate) mod manifest;
pub(crate) mod part;
pub(crate) mod remote;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rayon::prelude::*;

pub(crate) use crate::compile::input::detect::json_array_error;
use crate::compile::input::detect::{detect_file, detect_in_directory, is_text};
use crate::compile::input::manifest::check_manifest;
use crate::compile::input::part::{EXPECTED, INPUT_KINDS, InputKind};
pub use crate::compile::input::part::{Inputs, ManifestPolicy, Part, PartKind};
use crate::error::{Error, Result};
use crate::frontend::detect::{DetectedTable, detect_side_table};
use crate::frontend::side::SIDE_TABLES;
use crate::remote::bucket::is_bucket;
use crate::terminal::escape::escape_path;

/// Finds the parts of all inputs. Reads manifests, and the beginning of each file to detect its kind.
///
/// # Errors
///
/// Where an input is missing, unreadable or unknown, or contradicts its manifest.
pub fn find<I: AsRef<OsStr>>(inputs: &[I], policy: ManifestPolicy) -> Result<Inputs> {
    let mut found = Inputs::default();
    for input in inputs {
        let (kind, path) = split_prefix(input.as_ref());
        if is_bucket(path) {
            remote::find(path, kind, policy, &mut found)?;
            continue;
        }
        let metadata = fs::metadata(path).map_err(Error::input(path))?;
        let before = found.parts.len();
        if metadata.is_dir() {
            let mut files = Vec::new();
            walk(&LinkBoundary::new(path, policy)?, path, &mut files, &mut found.skipped)?;
            let manifests = add_files(path, files, &mut found);
            finish_directory(path, kind, policy, before, &manifests, &mut found)?;
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
    found.skipped.sort();
    Ok(found)
}

/// Applies the kind that prefixes a directory to its parts, which begin at `before`, and checks its manifests.
fn finish_directory(
    path: &Path,
    kind: Option<InputKind>,
    policy: ManifestPolicy,
    before: usize,
    manifests: &[PathBuf],
    found: &mut Inputs,
) -> Result<()> {
    for part in &mut found.parts[before..] {
        part.kind = part.kind.or_prefixed(kind);
    }
    for manifest in manifests {
        check_manifest(manifest, policy, found)?;
    }
    if found.parts.len() > before {
        return Ok(());
    }
    let reason = format!("holds nothing to compile; {EXPECTED}");
    Err(Error::Input { path: path.to_path_buf(), reason })
}

fn split_prefix(input: &OsStr) -> (Option<InputKind>, &Path) {
    let bytes = input.as_bytes();
    let sides = SIDE_TABLES.into_iter().map(|table| (table.name, InputKind::Side(table)));
    let prefixed = INPUT_KINDS.into_iter().chain(sides).find_map(|(name, kind)| {
        let path = bytes.strip_prefix(name.as_bytes())?.strip_prefix(b":")?;
        Some((Some(kind), Path::new(OsStr::from_bytes(path))))
    });
    prefixed.unwrap_or((None, Path::new(input)))
}

/// Whether an output inside a directory that is an input would become part of the next build.
pub(crate) fn is_inside_inputs<I: AsRef<OsStr>>(inputs: &[I], output: &Path) -> Option<PathBuf> {
    if is_bucket(output) {
        let mut paths = inputs.iter().map(|input| split_prefix(input.as_ref()).1);
        return paths.find(|path| output.starts_with(path)).map(Path::to_path_buf);
    }
    // Of a path that is not there yet, the existing directory above it decides.
    let output = std::path::absolute(output).ok()?;
    let existing = output.ancestors().find_map(|above| fs::canonicalize(above).ok())?;
    let directories = inputs.iter().map(|input| split_prefix(input.as_ref()).1);
    directories.filter(|path| path.is_dir()).find_map(|path| {
        let input = fs::canonicalize(path).ok()?;
        existing.starts_with(input).then(|| path.to_path_buf())
    })
}

/// The directory that links of an input may not leave; `None` if they may lead anywhere.
struct LinkBoundary(Option<PathBuf>);

impl LinkBoundary {
    fn new(input: &Path, policy: ManifestPolicy) -> Result<LinkBoundary> {
        let boundary = (!policy.follow_links).then(|| fs::canonicalize(input)).transpose();
        Ok(LinkBoundary(boundary.map_err(Error::input(input))?))
    }

    /// Refuses a symbolic link to a file outside of the input: its lines could end in the quarantine.
    fn check_link(&self, path: &Path) -> Result<()> {
        let Some(boundary) = &self.0 else { return Ok(()) };
        let is_link = fs::symlink_metadata(path).map_err(Error::input(path))?.is_symlink();
        if !is_link || fs::canonicalize(path).map_err(Error::input(path))?.starts_with(boundary) {
            return Ok(());
        }
        let reason = "is a symbolic link that leaves the input; give its target as an input, or pass \
                      `--follow-links`";
        Err(Error::Input { path: path.to_path_buf(), reason: reason.into() })
    }
}

/// Collects every file below `directory` with its size, in the order of their names. Skips devices, sockets and
/// the like.
fn walk(
    boundary: &LinkBoundary,
    directory: &Path,
    files: &mut Vec<(PathBuf, u64)>,
    skipped: &mut Vec<PathBuf>,
) -> Result<()> {
    let entries = fs::read_dir(directory).map_err(Error::input(directory))?;
    let mut paths = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<std::io::Result<Vec<_>>>()
        .map_err(Error::input(directory))?;
    paths.sort();
    for path in paths {
        boundary.check_link(&path)?;
        let metadata = fs::metadata(&path).map_err(Error::input(&path))?;
        if metadata.is_dir() {
            walk(boundary, &path, files, skipped)?;
        } else if metadata.is_file() {
            files.push((path, metadata.len()));
        } else {
            skipped.push(path);
        }
    }
    Ok(())
}

/// The kind of a file below a directory.
enum FoundFile {
    Manifest,
    Part(PartKind),
    /// A file that is skipped.
    Unknown {
        is_ror_schema_1: bool,
    },
}

impl FoundFile {
    /// Detects the kind of a file below the directory `root`.
    fn detect(root: &Path, path: &Path) -> FoundFile {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name == "manifest" || name == "manifest.json" {
            return FoundFile::Manifest;
        }
        match detect_in_directory(root, path) {
            Some(kind) => FoundFile::Part(kind),
            None => FoundFile::Unknown {
                is_ror_schema_1: is_text(&name)
                    && detect_side_table(path).is_ok_and(DetectedTable::is_ror_schema_1),
            },
        }
    }
}

/// Adds files below the directory `root` to the parts or the skipped files. Returns the manifests among them.
///
/// The beginning of each file is read, mostly from the disk, so several files are detected at the same time.
fn add_files(root: &Path, files: Vec<(PathBuf, u64)>, found: &mut Inputs) -> Vec<PathBuf> {
    let kinds: Vec<FoundFile> =
        files.par_iter().map(|(path, _)| FoundFile::detect(root, path)).collect();
    let mut manifests = Vec::new();
    for ((path, size_bytes), kind) in files.into_iter().zip(kinds) {
        match kind {
            FoundFile::Manifest => manifests.push(path),
            FoundFile::Part(kind) => found.parts.push(Part::new(&path, kind, size_bytes)),
            FoundFile::Unknown { is_ror_schema_1 } => {
                if is_ror_schema_1 {
                    found.warnings.add("ror_schema_1_skipped", 1, || escape_path(&path));
                }
                found.skipped.push(path);
            }
        }
    }
    manifests
}
