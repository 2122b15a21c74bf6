//! Which files a snapshot has, and how one is opened.

use std::{fs::File, io, path::Path};

use crate::entity::Entity;
use crate::schema::{keys_of, text_paths};
use crate::snapshot::error::Cause;
use crate::storage::manifest::{HASHES, REPORT};
use crate::storage::mmap::Map;
use crate::storage::{FileKind, LoadMode, Manifest};

/// The kinds of archive an entity may have, in the order in which a snapshot is opened.
const ENTITY_FILES: [FileKind; 13] = [
    FileKind::Records,
    FileKind::Ids,
    FileKind::Redirects,
    FileKind::Names,
    FileKind::TermLists,
    FileKind::Orders,
    FileKind::Words,
    FileKind::Alternatives,
    FileKind::PrefixStats,
    FileKind::Citations,
    FileKind::Targets,
    FileKind::FullText,
    FileKind::Crossings,
];

/// Whether an entity has an archive of this kind.
pub(super) fn has_archive(kind: FileKind, entity: Entity) -> bool {
    let keys = keys_of(entity);
    match kind {
        FileKind::Records | FileKind::Ids | FileKind::Redirects => true,
        FileKind::Names => entity.facts().is_referenced,
        FileKind::TermLists => !keys.lists.is_empty(),
        FileKind::Orders => !keys.orders.is_empty(),
        FileKind::Words | FileKind::PrefixStats => keys.has_names(),
        FileKind::Alternatives => keys.has_alternatives(),
        FileKind::Citations => keys.has_citations(),
        FileKind::Targets => !keys.targets.is_empty(),
        FileKind::FullText => text_paths(entity).is_some(),
        FileKind::Crossings => !keys.counted.is_empty(),
        FileKind::Strings => false,
    }
}

/// Whether a snapshot may lack the archives of a kind.
pub(super) fn is_optional(kind: FileKind) -> bool {
    kind == FileKind::FullText
}

/// The path of an archive within a snapshot: `outputs/records`, or `strings` without an entity.
pub fn archive_path(kind: FileKind, entity: Option<Entity>) -> String {
    match entity {
        Some(entity) => format!("{}/{}", entity.facts().plural, kind.file_name()),
        None => kind.file_name().to_string(),
    }
}

/// Every archive of a snapshot. The other files are the manifest, the hashes and the report.
pub fn archives() -> impl Iterator<Item = (FileKind, Option<Entity>)> {
    let of_entity = |entity: Entity| {
        let kinds = ENTITY_FILES.into_iter().filter(move |kind| has_archive(*kind, entity));
        kinds.map(move |kind| (kind, Some(entity)))
    };
    Entity::all().flat_map(of_entity).chain([(FileKind::Strings, None)])
}

/// Checks that the manifest lists exactly the files a snapshot has, in ascending order.
///
/// # Errors
///
/// The first file that is missing from the list, or does not belong there.
pub fn check_file_list(manifest: &Manifest) -> Result<(), (String, Cause)> {
    let is_listed = |path: &String| manifest.files.iter().any(|entry| entry.path == *path);
    let mut expected: Vec<String> = archives()
        .map(|(kind, entity)| (kind, archive_path(kind, entity)))
        .filter(|(kind, path)| !is_optional(*kind) || is_listed(path))
        .map(|(_, path)| path)
        .collect();
    expected.extend([HASHES.to_string(), REPORT.to_string()]);
    expected.sort();
    let mut listed = manifest.files.iter().map(|entry| &entry.path);
    for path in &expected {
        match listed.next() {
            Some(found) if found == path => {}
            Some(found) if !expected.contains(found) => {
                return Err((found.clone(), Cause::Unexpected));
            }
            _ => return Err((path.clone(), Cause::Unlisted)),
        }
    }
    match listed.next() {
        Some(found) => Err((found.clone(), Cause::Unexpected)),
        None => Ok(()),
    }
}

/// Opens a regular file. Does not follow a symbolic link, and does not wait for the writer of a
/// pipe.
pub(super) fn open_regular(path: &Path) -> Result<File, Cause> {
    let file = open_at_once(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(Cause::NotAFile) }
}

#[cfg(not(target_family = "wasm"))]
fn open_at_once(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;

    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let flags = i32::try_from(flags.bits()).map_err(io::Error::other)?;
    File::options().read(true).custom_flags(flags).open(path)
}

#[cfg(target_family = "wasm")]
fn open_at_once(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// Loads a file that has a size.
#[cfg(not(target_family = "wasm"))]
pub(super) fn load(path: &Path, size_bytes: u64, mode: LoadMode) -> Result<Map, Cause> {
    let file = open_regular(path)?;
    let found = file.metadata()?.len();
    if found != size_bytes {
        return Err(Cause::Size { expected: size_bytes, found });
    }
    Ok(Map::load(file, mode)?)
}

/// A file of which no byte is here.
#[cfg(target_family = "wasm")]
pub(super) fn load(_: &Path, size_bytes: u64, _: LoadMode) -> Result<Map, Cause> {
    Ok(Map::absent(usize::try_from(size_bytes).map_err(io::Error::other)?))
}
