//! The manifests of a dump: which parts it has, how large, of how many records.

use std::{
    fs,
    path::{Component, Path, PathBuf},
};

use pinakes_format::entity::Entity;
use serde::Deserialize;

use super::{Inputs, Part, PartKind};
use crate::error::{Error, Result};

/// A manifest's list of parts, in any of its shapes.
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

/// Holds the parts below a manifest against it.
pub(super) fn check_manifest(path: &Path, found: &mut Inputs) -> Result<()> {
    let damaged = |reason: String| Error::Damaged { path: path.to_path_buf(), reason };
    let text = fs::read(path).map_err(Error::input(path))?;
    let manifest: Manifest = serde_json::from_slice(&text)
        .map_err(|error| damaged(format!("it is no manifest: {error}")))?;
    let directory = path.parent().unwrap_or(Path::new("."));
    let own_name = directory.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    // In an entity's folder a part is `updated_date=…/part_….gz`, above it the folder comes first.
    let depth = if Entity::from_dump_name(own_name).is_some() { 2 } else { 3 };
    let mut listed = Vec::new();
    let entries =
        manifest.entries.iter().chain(manifest.entities.iter().flat_map(|inner| &inner.entries));
    for entry in entries {
        let place = place_of(&entry.url, depth)
            .ok_or_else(|| damaged(format!("`{}` names no place below it", entry.url)))?;
        let place = directory.join(place);
        match found.parts.iter_mut().find(|part| part.path == place) {
            None => *found.warnings.entry("manifest_part_absent".into()).or_default() += 1,
            Some(part) => {
                if let Some(size) =
                    entry.meta.content_length.filter(|size| *size != part.size_bytes)
                {
                    return Err(Error::Damaged {
                        reason: format!(
                            "{} bytes, expected {size} by its manifest; fetch it again",
                            part.size_bytes
                        ),
                        path: place,
                    });
                }
                part.listed_records = part.listed_records.or(entry.meta.record_count);
            }
        }
        listed.push(place);
    }
    let is_unlisted = |part: &&Part| {
        matches!(part.kind, PartKind::Records(_))
            && part.path.starts_with(directory)
            && !listed.contains(&part.path)
    };
    let unlisted = found.parts.iter().filter(is_unlisted).count() as u64;
    if unlisted > 0 {
        *found.warnings.entry("manifest_part_unlisted".into()).or_default() += unlisted;
    }
    Ok(())
}

/// The last `depth` parts of a URL's path, if they lead nowhere but down.
fn place_of(url: &str, depth: usize) -> Option<PathBuf> {
    let parts: Vec<&str> = url.split('/').collect();
    let place: PathBuf = parts.get(parts.len().checked_sub(depth)?..)?.iter().collect();
    let goes_down = place.components().all(|part| matches!(part, Component::Normal(_)));
    (goes_down && place.components().count() == depth).then_some(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_may_only_name_places_below_it() {
        let url = "s3://openalex/data/works/updated_date=2023-05-16/part_000.gz";
        let place = PathBuf::from("updated_date=2023-05-16/part_000.gz");
        assert_eq!(place_of(url, 2), Some(place));
        assert_eq!(place_of("s3://x/../part_000.gz", 2), None);
        assert_eq!(place_of("part_000.gz", 2), None);
        assert_eq!(place_of("s3://x//part_000.gz", 2), None);
    }
}
