//! Fetches the objects that a published snapshot is linked from, and links them.

use std::{
    fs::{self, File},
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use blake3::Hash;
use pinakes_format::storage::integrity::{Verifier, levels_bytes};
use pinakes_format::storage::manifest::{MANIFEST, Manifest};
use pinakes_format::storage::publication::PublishedObjects;
use pinakes_remote::host::{Extent, Host};
use pinakes_store::download::{DownloadedFile, make_target};
use pinakes_store::files::{
    check_free_space, hash_of, make_directory, open_regular, refuse_unsafe_subdirectories,
    refuse_writable_by_others, try_lock,
};
use pinakes_store::lock::LockedDirectory;
use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::link;
use crate::link::selection::RecordSelection;
use crate::link::{Published, UnchangedSource};
use crate::mirror::list::{ListedObject, ObjectList};
use crate::mirror::transfer::{Transfer, transfer};
use crate::mirror::{levels, object_path};
use crate::object::{Check, Object};
use crate::terminal::escape::escape_text;
use crate::terminal::progress::Progress;

/// Subdirectory for unfinished downloads. It survives a failed run, so that the next run continues.
const FETCHED: &str = ".pull";

/// The objects of a publication in a local directory.
pub struct FetchedObjects {
    /// Paths of the objects.
    pub paths: Vec<PathBuf>,
    /// Bytes of the fetched objects that did not have to be fetched.
    pub transfer: Transfer,
    /// Number of objects that were not in the directory before.
    pub fetched: usize,
}

/// Refuses a directory of objects that other users may write. Also refuses one in which the subdirectory
/// for downloads is a link, which would redirect writing and removing files.
pub fn refuse_unsafe_directory(directory: &Path) -> Result<()> {
    refuse_writable_by_others(directory)?;
    Ok(refuse_unsafe_subdirectories(directory, &[FETCHED])?)
}

/// Fetches those objects of a publication that `directory` does not hold.
///
/// # Errors
///
/// The first failure. The chunks verified until then stay for the next run.
pub fn fetch(
    host: &Host,
    published: &PublishedObjects,
    directory: &Path,
    bytes_max: u64,
    connections: usize,
    progress: Progress,
) -> Result<FetchedObjects> {
    let list = fetch_list(host, published, bytes_max)?;
    // Independent of the umask: the next run refuses a directory that other users may write.
    let mut made = fs::DirBuilder::new();
    made.recursive(true).mode(0o755).create(directory).map_err(Error::output(directory))?;
    let scratch = directory.join(FETCHED);
    make_directory(&scratch)?;
    let _lock = lock(&scratch)?;
    let path_of = |object: &ListedObject| directory.join(format!("{}.object", object.name));
    let is_there =
        |object: &ListedObject| hash_at(&path_of(object)).as_deref() == Some(&object.blake3);
    let is_missing: Vec<bool> = list.objects.par_iter().map(|object| !is_there(object)).collect();

    let total = list.objects.iter().zip(&is_missing).filter(|(_, missing)| **missing);
    let bytes: u64 = total.map(|(object, _)| object.size_bytes).sum();
    let begun: Vec<PathBuf> =
        list.objects.iter().map(|object| scratch.join(&object.name)).collect();
    check_free_space(&scratch, bytes, &begun.iter().map(PathBuf::as_path).collect::<Vec<_>>())?;

    let hashes_path = object_path(&list.hashes_blake3, "hashes");
    let hashes_bytes = list.hashes_bytes().unwrap_or_default();
    let place = scratch.join("hashes");
    let hashes = levels::fetch(host, &hashes_path, &place, hashes_bytes, &list.hashes_blake3)?;
    let (hashes, target) = (Arc::new(hashes), Arc::from(scratch.as_path()));
    let mut files = Vec::new();
    let mut from = 0;
    for (object, is_missing) in list.objects.iter().zip(&is_missing) {
        if *is_missing {
            let root = Hash::from_hex(&object.blake3)
                .map_err(|error| Error::Internal(format!("a hash that was checked: {error}")))?;
            let verifier = Verifier::new(object.name.clone(), object.size_bytes, root, from);
            files.push(DownloadedFile {
                host_path: object_path(&object.blake3, "object"),
                file: make_target(&target, verifier, &hashes)?,
                donors: Vec::new(),
            });
        }
        // The mapped hashes contain these levels, so that the cast is exact.
        from += levels_bytes(object.size_bytes) as usize;
    }
    let fetched = files.len();
    let transfer = transfer(host, files, connections, progress)?;
    for (object, _) in list.objects.iter().zip(&is_missing).filter(|(_, missing)| **missing) {
        let place = path_of(object);
        fs::rename(scratch.join(&object.name), &place).map_err(Error::output(&place))?;
    }
    fs::remove_dir_all(&scratch).map_err(Error::output(&scratch))?;
    Ok(FetchedObjects { paths: list.objects.iter().map(path_of).collect(), transfer, fetched })
}

fn fetch_list(host: &Host, published: &PublishedObjects, bytes_max: u64) -> Result<ObjectList> {
    let path = object_path(&published.list_blake3, "json");
    let damaged = |reason: String| Error::Damaged { path: host.display(&path).into(), reason };
    if published.list_bytes > bytes_max {
        let bytes = published.list_bytes;
        let reason = format!("{bytes} bytes, more than `--max-manifest` allows ({bytes_max})");
        return Err(damaged(reason));
    }
    let text = host
        .read_file(&path, &Extent::Whole(published.list_bytes))
        .map_err(|failure| host.error(&path, failure))?;
    let found = blake3::hash(&text).to_hex().to_string();
    if found != published.list_blake3 {
        let expected = &published.list_blake3;
        return Err(damaged(format!("hash {found}, expected the published {expected}")));
    }
    ObjectList::parse(&text).map_err(damaged)
}

/// Locks the directory against other runs while the returned file is open.
fn lock(directory: &Path) -> Result<File> {
    let file = File::open(directory).map_err(Error::output(directory))?;
    match try_lock(&file).map_err(Error::output(directory))? {
        true => Ok(file),
        false => Err(Error::Locked { path: directory.to_owned(), pid: "unknown".into() }),
    }
}

/// Computes the hash of a file in hex; `None` if the file cannot be read.
fn hash_at(path: &Path) -> Option<String> {
    hash_of(&open_regular(path).ok()?).ok()
}

/// Opens objects in parallel; fails if one is damaged or of another version.
pub fn open_all(places: &[PathBuf]) -> Result<Vec<Object>> {
    let open = |place: &PathBuf| {
        let object = Object::open(place, Check::Whole).map_err(Error::input(place))?;
        object.ok_or_else(|| Error::Damaged {
            path: place.clone(),
            reason: "it is not an object of this version; compile its part again".into(),
        })
    };
    places.par_iter().map(open).collect()
}

/// Links objects into a snapshot, which must have the root hash of `manifest`.
pub fn link(
    objects: &[Object],
    manifest: &Manifest,
    unchanged: UnchangedSource,
    lock: &LockedDirectory,
    memory_bytes: usize,
    progress: Progress,
) -> Result<Published> {
    let selection = match &manifest.selection {
        // The error quotes the host's filters, so that it is escaped.
        Some(selection) => {
            Some(RecordSelection::from_filters(&selection.filters).map_err(|error| {
                let reason = format!("`selection`: {}", escape_text(error.to_string().trim()));
                Error::Damaged { path: MANIFEST.into(), reason }
            })?)
        }
        None => None,
    };
    let linked: Vec<&Object> = objects.iter().collect();
    let finished =
        link::link(&linked, lock, selection.as_ref(), unchanged, memory_bytes, progress)?;
    let (found, expected) = (&finished.manifest.root, &manifest.root);
    if found != expected {
        return Err(Error::SelfCheck(format!(
            "the objects link to root hash {found}, expected {expected}"
        )));
    }
    Ok(finished)
}
