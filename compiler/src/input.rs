//! The inputs: finding the parts of a dump, and knowing each for what it is.

use std::{
    collections::BTreeMap,
    fs,
    path::{Component, Path, PathBuf},
};

use pinakes_format::entity::Entity;
use serde::Deserialize;

use crate::{
    error::{Error, Result},
    identifier,
    lines::Lines,
};

/// What a part holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PartKind {
    /// OpenAlex records, one JSON object a line.
    Records(Entity),
    /// Ids merged into others: `merge_date,id,merge_into_id`.
    Merges(Entity),
    /// The taxonomy table, one topic a row.
    Taxonomy,
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
    /// What was odd but stops nothing, by code.
    pub warnings: BTreeMap<String, u64>,
}

/// The kinds an input may be given as, before its path and a colon.
const KINDS: [&str; 2] = ["openalex", "taxonomy"];

/// What the compiler can read, for error messages.
const EXPECTED: &str = "expected an OpenAlex dump (a directory or file of `<entity>` JSON lines, \
                        plain, .gz or .zst), a merged_ids CSV, or a taxonomy CSV with a `topic_id` \
                        column";

/// Finds the parts of all inputs. Nothing is parsed but manifests.
///
/// # Errors
///
/// Where an input is missing, unreadable or unknown, or contradicts its manifest.
pub fn find(inputs: &[String]) -> Result<Inputs> {
    let mut found = Inputs::default();
    for input in inputs {
        let (kind, path) = split_kind(input);
        let metadata = fs::metadata(path).map_err(Error::input(path))?;
        let before = found.parts.len();
        if metadata.is_dir() {
            let mut manifests = Vec::new();
            walk(path, path, &mut found, &mut manifests)?;
            for manifest in manifests {
                check_manifest(&manifest, &mut found)?;
            }
            if found.parts.len() == before {
                return Err(Error::Input {
                    path: path.to_path_buf(),
                    reason: format!("holds nothing to compile; {EXPECTED}"),
                });
            }
        } else if metadata.is_file() {
            let part = recognise_alone(path, kind, metadata.len())?;
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

fn split_kind(input: &str) -> (Option<&str>, &Path) {
    match input.split_once(':') {
        Some((kind, path)) if KINDS.contains(&kind) => (Some(kind), Path::new(path)),
        _ => (None, Path::new(input)),
    }
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
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if name == "manifest" || name == "manifest.json" {
            manifests.push(path);
        } else if !metadata.is_file() {
            found.skipped.push(path);
        } else if let Some(kind) = recognise(root, &path) {
            let size_bytes = metadata.len();
            found.parts.push(Part { path, kind, size_bytes, listed_records: None });
        } else {
            found.skipped.push(path);
        }
    }
    Ok(())
}

/// What a file in a directory is, by its name and place; `None` where it is nothing known.
fn recognise(root: &Path, path: &Path) -> Option<PartKind> {
    let name = path.file_name()?.to_str()?;
    let stem = name.split('.').next()?;
    let above = path.parent()?.strip_prefix(root).ok()?.components().rev();
    let above = above.filter_map(|component| component.as_os_str().to_str());
    // An input may be a folder within an entity's: `works/updated_date=…`.
    let roots = root.ancestors().take(2).filter_map(|root| root.file_name()?.to_str());
    let folders: Vec<&str> = above.chain(roots).collect();
    let entity = Entity::from_dump_name(stem)
        .or_else(|| folders.iter().find_map(|folder| Entity::from_dump_name(folder)));
    let is_csv = name.contains(".csv");
    if folders.contains(&"merged_ids") {
        return entity.filter(|_| is_csv).map(PartKind::Merges);
    }
    if is_csv {
        return is_taxonomy(path).then_some(PartKind::Taxonomy);
    }
    let is_lines = ["gz", "zst", "jsonl", "ndjson", "json"]
        .iter()
        .any(|extension| name.ends_with(&format!(".{extension}")));
    entity.filter(|_| is_lines).map(PartKind::Records)
}

/// What a file named on the command line is, by its content.
fn recognise_alone(path: &Path, kind: Option<&str>, size_bytes: u64) -> Result<Part> {
    let unknown = || Error::Input {
        path: path.to_path_buf(),
        reason: format!("is nothing the compiler knows; {EXPECTED}"),
    };
    let found = match kind {
        Some("taxonomy") => is_taxonomy(path).then_some(PartKind::Taxonomy),
        _ => recognise(path.parent().unwrap_or(path), path)
            .or_else(|| is_taxonomy(path).then_some(PartKind::Taxonomy))
            .or_else(|| entity_of_first_line(path).map(PartKind::Records)),
    };
    if first_line(path).is_some_and(|line| line.trim_start().starts_with('[')) {
        return Err(Error::Input {
            path: path.to_path_buf(),
            reason: "is a JSON array; give one object a line (`jq -c '.[]'` makes it so)".into(),
        });
    }
    Ok(Part {
        path: path.to_path_buf(),
        kind: found.ok_or_else(unknown)?,
        size_bytes,
        listed_records: None,
    })
}

fn first_line(path: &Path) -> Option<String> {
    let mut lines = Lines::open(path).ok()?;
    let line = lines.next_line().ok()??;
    line.bytes.and_then(|bytes| std::str::from_utf8(bytes).ok().map(str::to_owned))
}

fn is_taxonomy(path: &Path) -> bool {
    first_line(path).is_some_and(|line| crate::taxonomy_table::is_header(&line))
}

/// The entity whose letter the first line's id has.
fn entity_of_first_line(path: &Path) -> Option<Entity> {
    #[derive(Deserialize)]
    struct HasId {
        id: String,
    }
    let line = first_line(path)?;
    let record: HasId = serde_json::from_str(&line).ok()?;
    identifier::parse_any(&record.id).map(|(entity, _)| entity).or_else(|| {
        let mut parts = record.id.rsplit('/').skip(1);
        parts.next().and_then(Entity::from_dump_name)
    })
}

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
fn check_manifest(path: &Path, found: &mut Inputs) -> Result<()> {
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

    #[test]
    fn files_are_known_by_their_names_and_places() {
        let check = |path: &str, expected: Option<PartKind>| {
            assert_eq!(recognise(Path::new("/d"), Path::new(path)), expected, "{path}");
        };
        check("/d/works.jsonl.gz", Some(PartKind::Records(Entity::Output)));
        check("/d/works/older-versions/works.2024.jsonl", Some(PartKind::Records(Entity::Output)));
        check(
            "/d/data/authors/updated_date=1/part_000.gz",
            Some(PartKind::Records(Entity::Author)),
        );
        check("/d/merged_ids/authors/2022.csv.gz", Some(PartKind::Merges(Entity::Author)));
        let inside = recognise(
            Path::new("/d/works/updated_date=1"),
            Path::new("/d/works/updated_date=1/part_0.gz"),
        );
        assert_eq!(inside, Some(PartKind::Records(Entity::Output)));
        check("/d/ror/ror.jsonl", None);
        check("/d/works/README.md", None);
    }
}
