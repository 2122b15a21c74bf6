//! Inputs: finds the parts of a dump and detects the kind of each.
//!
//! [`find`] walks directories and checks manifests; [`detect`] determines a part's kind, and [`foreign`]
//! explains why a file has none. [`remote`] lists buckets. This folder
//! may import `terminal`, `error`, `remote`, `read`, `object` and `frontend::detect`.

pub(crate) mod detect;
pub(crate) mod foreign;
pub(crate) mod manifest;
pub(crate) mod part;
pub(crate) mod remote;

use std::{
    ffi::OsStr,
    fs,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

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
            let mut manifests = Vec::new();
            let walk_root = WalkRoot::new(path, policy)?;
            walk(&walk_root, path, &mut found, &mut manifests)?;
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

/// The directory that is an input.
struct WalkRoot<'p> {
    path: &'p Path,
    /// Where links may lead; `None` if anywhere.
    boundary: Option<PathBuf>,
}

impl<'p> WalkRoot<'p> {
    fn new(path: &'p Path, policy: ManifestPolicy) -> Result<WalkRoot<'p>> {
        let boundary = match policy.follow_links {
            true => None,
            false => Some(fs::canonicalize(path).map_err(Error::input(path))?),
        };
        Ok(WalkRoot { path, boundary })
    }

    /// Refuses a symbolic link to a file outside of the input: its lines could end in the quarantine.
    fn check_link(&self, path: &Path) -> Result<()> {
        let Some(boundary) = &self.boundary else { return Ok(()) };
        let is_link = fs::symlink_metadata(path).map_err(Error::input(path))?.is_symlink();
        if !is_link || fs::canonicalize(path).map_err(Error::input(path))?.starts_with(boundary) {
            return Ok(());
        }
        let reason = "is a symbolic link that leaves the input; give its target as an input, or pass \
                      `--follow-links`";
        Err(Error::Input { path: path.to_path_buf(), reason: reason.into() })
    }
}

/// Collects every file below `directory`, in the order of their names.
fn walk(
    root: &WalkRoot<'_>,
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
        root.check_link(&path)?;
        let metadata = fs::metadata(&path).map_err(Error::input(&path))?;
        if metadata.is_dir() {
            walk(root, &path, found, manifests)?;
            continue;
        }
        if metadata.is_file() {
            add_file(root.path, path, metadata.len(), found, manifests);
        } else {
            found.skipped.push(path);
        }
    }
    Ok(())
}

/// Adds a file below the directory `root` as a manifest, a part or a skipped file.
fn add_file(
    root: &Path,
    path: PathBuf,
    size_bytes: u64,
    found: &mut Inputs,
    manifests: &mut Vec<PathBuf>,
) {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if name == "manifest" || name == "manifest.json" {
        manifests.push(path);
    } else if let Some(kind) = detect_in_directory(root, &path) {
        found.parts.push(Part::new(&path, kind, size_bytes));
    } else {
        if is_text(&name) && detect_side_table(&path).is_ok_and(DetectedTable::is_ror_schema_1) {
            found.warnings.add("ror_schema_1_skipped", 1, || escape_path(&path));
        }
        found.skipped.push(path);
    }
}
