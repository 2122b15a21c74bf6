//! Manifests of a dump: its parts, with their sizes and record counts.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use serde::Deserialize;

use crate::compile::input::part::{Inputs, ManifestPolicy, Part, PartKind};
use crate::error::{Error, Result};
use crate::read::part_file;
use crate::remote::bucket::is_bucket;
use crate::terminal::escape::escape_path;

/// Names in the path of a part below the folder of its entity.
const PART_NAMES: usize = 2;

/// A manifest, in any of the shapes that OpenAlex has used.
#[derive(Deserialize)]
struct Manifest {
    #[serde(default, alias = "files")]
    entries: Vec<ManifestEntry>,
    #[serde(default)]
    entities: Vec<Manifest>,
}

#[derive(Deserialize)]
struct ManifestEntry {
    url: String,
    #[serde(default)]
    meta: ManifestMeta,
}

#[derive(Default, Deserialize)]
struct ManifestMeta {
    content_length: Option<u64>,
    record_count: Option<u64>,
}

/// Checks the parts below a manifest against its entries.
pub(crate) fn check_manifest(
    path: &Path,
    policy: ManifestPolicy,
    found: &mut Inputs,
) -> Result<()> {
    let damaged = |reason: String| Error::Damaged { path: path.to_path_buf(), reason };
    let text = part_file::read_whole(path).map_err(Error::input(path))?;
    let manifest: Manifest = serde_json::from_slice(&text)
        .map_err(|error| damaged(format!("it is not a manifest: {error}")))?;
    let directory = path.parent().unwrap_or(Path::new("."));
    let mut below: BTreeMap<PathBuf, &mut Part> = found
        .parts
        .iter_mut()
        .filter(|part| part.path.starts_with(directory))
        .map(|part| (part.path.clone(), part))
        .collect();
    let mut listed = BTreeSet::new();
    let (mut absent, mut first_absent) = (0, None);
    let entries =
        manifest.entries.iter().chain(manifest.entities.iter().flat_map(|inner| &inner.entries));
    for entry in entries {
        let path = path_below(directory, &entry.url).ok_or_else(|| {
            damaged(format!("its entry `{}` is not a path below its directory", entry.url))
        })?;
        refuse_links(directory, &path)?;
        let path = directory.join(path);
        match below.get_mut(&path) {
            // A part of a kind that is not compiled.
            None if part_file::is_file(&path) => {}
            None if policy.strict_manifest => {
                return Err(damaged(format!("it lists `{}`, which is missing", entry.url)));
            }
            None => {
                absent += 1;
                first_absent.get_or_insert_with(|| escape_path(&path));
            }
            Some(part) => check_size(part, &entry.meta, policy)?,
        }
        if !listed.insert(path) {
            return Err(damaged(format!("it lists `{}` twice", entry.url)));
        }
    }
    let is_unlisted = |part: &&&mut Part| {
        matches!(part.kind, PartKind::Records(_)) && !listed.contains(&part.path)
    };
    let first_unlisted = below.values().find(is_unlisted).map(|part| escape_path(&part.path));
    if let (true, Some(part)) = (policy.strict_manifest, &first_unlisted) {
        return Err(damaged(format!("it does not list `{part}`, which exists")));
    }
    let unlisted = below.values().filter(is_unlisted).count() as u64;
    let first_absent = || first_absent.unwrap_or_default();
    found.warnings.add("manifest_part_absent", absent, first_absent);
    found.warnings.add("manifest_part_unlisted", unlisted, || first_unlisted.unwrap_or_default());
    Ok(())
}

/// Checks the size of a part against its entry, and keeps the record count for later.
fn check_size(part: &mut Part, listed: &ManifestMeta, policy: ManifestPolicy) -> Result<()> {
    let is_truncated = |size: u64| policy.allow_truncated && part.size_bytes < size;
    if let Some(size) = listed.content_length.filter(|size| *size != part.size_bytes)
        && !is_truncated(size)
    {
        let reason =
            format!("{} bytes, expected {size} by its manifest; fetch it again", part.size_bytes);
        return Err(Error::Damaged { path: part.path.clone(), reason });
    }
    part.listed_records = part.listed_records.or(listed.record_count);
    Ok(())
}

/// Refuses a listed part whose path contains a symbolic link.
fn refuse_links(directory: &Path, listed: &Path) -> Result<()> {
    if is_bucket(directory) {
        return Ok(());
    }
    let mut path = directory.to_path_buf();
    for component in listed.components() {
        path.push(component);
        if fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_symlink()) {
            let reason = "a symbolic link where a manifest lists a part; put the file itself there";
            return Err(Error::Damaged { path, reason: reason.into() });
        }
    }
    Ok(())
}

/// The path of a listed part below the folder of its manifest; `None` where the URL is no path of
/// plain names.
///
/// A URL is relative to that folder, or absolute from the root of the dump. So the path is the longest
/// end of the URL that exists:
///
/// ```text
/// s3://openalex/data/jsonl/awards/updated_date=2026-08-01/part_0000.gz
///                                 updated_date=2026-08-01/part_0000.gz    in the manifest of awards
///                          awards/updated_date=2026-08-01/part_0000.gz    in the manifest above
/// ```
fn path_below(directory: &Path, url: &str) -> Option<PathBuf> {
    let absolute =
        url.split_once("://").map(|(_, rest)| rest.split_once('/').map_or("", |(_, path)| path));
    let names: Vec<&str> =
        absolute.unwrap_or(url.strip_prefix('/').unwrap_or(url)).split('/').collect();
    let is_plain = |name: &&str| {
        let mut components = Path::new(name).components();
        matches!((components.next(), components.next()), (Some(Component::Normal(_)), None))
    };
    if !names.iter().all(is_plain) {
        return None;
    }
    let end = |from: usize| names[from..].iter().collect::<PathBuf>();
    // A part is at least `updated_date=…/part_….gz`, so that no file beside the manifest is one.
    let shortest = names.len().checked_sub(PART_NAMES)?;
    let exists = |path: &PathBuf| match directory.join(path) {
        path if is_bucket(&path) => part_file::is_file(&path),
        path => fs::symlink_metadata(path).is_ok(),
    };
    let found = (0..=shortest).map(end).find(exists);
    found.or_else(|| {
        let above = shortest.checked_sub(1).filter(|above| !directory.ends_with(names[*above]));
        Some(end(above.unwrap_or(shortest)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_entry_must_be_below_the_manifest() {
        let directory = Path::new("/no-such-dump/works");
        let url = "s3://openalex/data/works/updated_date=2023-05-16/part_000.gz";
        let path = PathBuf::from("updated_date=2023-05-16/part_000.gz");
        assert_eq!(path_below(directory, url), Some(path));
        for bad in [
            "s3://x/../part_000.gz",
            "s3://x/works/../part_000.gz",
            "s3://x//part_000.gz",
            "s3://x",
            "part_000.gz",
            "works/./part_000.gz",
            "/",
        ] {
            assert_eq!(path_below(directory, bad), None, "{bad}");
        }
    }
}
