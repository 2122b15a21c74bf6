//! Manifests of a dump: its parts, with their sizes and record counts.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Component, Path, PathBuf},
};

use pinakes_format::entity::Entity;
use serde::Deserialize;

use crate::compile::input::part::{Inputs, ManifestPolicy, Part, PartKind};
use crate::error::{Error, Result};
use crate::terminal::escape::escape_path;

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
    let text = fs::read(path).map_err(Error::input(path))?;
    let manifest: Manifest = serde_json::from_slice(&text)
        .map_err(|error| damaged(format!("it is not a manifest: {error}")))?;
    let directory = path.parent().unwrap_or(Path::new("."));
    let own_name = directory.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    // A part is `updated_date=…/part_….gz` in the folder of an entity. In the manifest of several
    // entities, the folder comes first.
    let depth = if Entity::from_dump_name(own_name).is_some() { 2 } else { 3 };
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
        let path = relative_path(&entry.url, depth).ok_or_else(|| {
            damaged(format!("its entry `{}` is not a path below its directory", entry.url))
        })?;
        refuse_links(directory, &path)?;
        let path = directory.join(path);
        match below.get_mut(&path) {
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

/// The last `depth` components of a URL's path; `None` where a component is not a plain name.
fn relative_path(url: &str, depth: usize) -> Option<PathBuf> {
    let parts: Vec<&str> = url.split('/').collect();
    let path: PathBuf = parts.get(parts.len().checked_sub(depth)?..)?.iter().collect();
    let goes_down = path.components().all(|part| matches!(part, Component::Normal(_)));
    (goes_down && path.components().count() == depth).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_entry_must_be_below_the_manifest() {
        let url = "s3://openalex/data/works/updated_date=2023-05-16/part_000.gz";
        let path = PathBuf::from("updated_date=2023-05-16/part_000.gz");
        assert_eq!(relative_path(url, 2), Some(path));
        assert_eq!(relative_path("s3://x/../part_000.gz", 2), None);
        assert_eq!(relative_path("part_000.gz", 2), None);
        assert_eq!(relative_path("s3://x//part_000.gz", 2), None);
    }
}
