//! Fetching the objects that a snapshot is linked from, and linking them.

use std::{
    fs::{self, File},
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};

use blake3::Hash;
use pinakes_format::storage::integrity::{Verifier, levels_bytes};
use pinakes_format::storage::manifest::{MANIFEST, Manifest};
use pinakes_format::storage::publication::PublishedObjects;
use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::link;
use crate::link::Published;
use crate::link::selection::Selection;
use crate::mirror::fetch::{Fetch, Gains, Wanted};
use crate::mirror::host::{Host, Part};
use crate::mirror::list::{ListedObject, ObjectList};
use crate::mirror::{levels, object_path};
use crate::object::Object;
use crate::store::files::{
    demand_room, make_directory, open_regular, refuse_open, refuse_open_inside,
};
use crate::store::lock::OutputLock;
use crate::terminal::escape::shown_text;
use crate::terminal::progress::Progress;

/// Where objects are fetched, in their directory; it outlasts the run.
const FETCHED: &str = ".pull";

/// The objects of a publication in their places.
pub struct Objects {
    /// Where they are.
    pub places: Vec<PathBuf>,
    /// What did not have to be fetched of those that were not there.
    pub gains: Gains,
    /// How many were not there.
    pub fetched: usize,
}

/// Refuses a directory of objects that others may write, and one where something else stands where
/// objects are fetched: a link there would lead what is fetched, and removed, elsewhere.
///
/// # Errors
///
/// A usage error naming what is refused.
pub fn refuse_place(directory: &Path) -> Result<()> {
    refuse_open(directory)?;
    refuse_open_inside(directory, &[FETCHED])
}

/// Fetches the objects of a publication that are not in a directory.
///
/// # Errors
///
/// Where one cannot be had or kept. What was verified until then stays for the next run.
pub fn fetch(
    host: &Host,
    published: &PublishedObjects,
    directory: &Path,
    bytes_max: u64,
    connections: usize,
    progress: Progress,
) -> Result<Objects> {
    let list = fetch_list(host, published, bytes_max)?;
    // Whatever the umask: a directory that others may write is refused by the next run.
    let mut made = fs::DirBuilder::new();
    made.recursive(true).mode(0o755).create(directory).map_err(Error::output(directory))?;
    let scratch = directory.join(FETCHED);
    make_directory(&scratch)?;
    let _alone = lock(&scratch)?;
    let place_of = |object: &ListedObject| directory.join(format!("{}.object", object.name));
    let is_there =
        |object: &ListedObject| hash_at(&place_of(object)).as_deref() == Some(&object.blake3);
    let is_missing: Vec<bool> = list.objects.par_iter().map(|object| !is_there(object)).collect();

    let total = list.objects.iter().zip(&is_missing).filter(|(_, missing)| **missing);
    let bytes: u64 = total.map(|(object, _)| object.size_bytes).sum();
    let begun: Vec<PathBuf> =
        list.objects.iter().map(|object| scratch.join(&object.name)).collect();
    demand_room(&scratch, bytes, &begun.iter().map(PathBuf::as_path).collect::<Vec<_>>())?;

    let hashes_path = object_path(&list.hashes_blake3, "hashes");
    let hashes_bytes = list.hashes_bytes().unwrap_or_default();
    let place = scratch.join("hashes");
    let hashes = levels::fetch(host, &hashes_path, &place, hashes_bytes, &list.hashes_blake3)?;
    let mut files = Vec::new();
    let mut from = 0;
    for (object, is_missing) in list.objects.iter().zip(&is_missing) {
        if *is_missing {
            let root = Hash::from_hex(&object.blake3)
                .map_err(|error| Error::Internal(format!("a hash that was checked: {error}")))?;
            let size_bytes = object.size_bytes;
            files.push(Wanted {
                path: object_path(&object.blake3, "object"),
                place: scratch.join(&object.name),
                size_bytes,
                verifier: Verifier::new(object.name.clone(), size_bytes, root, from),
                twins: Vec::new(),
            });
        }
        // The hashes are mapped, so that their size fits.
        from += levels_bytes(object.size_bytes) as usize;
    }
    let fetched = files.len();
    let fetch = Fetch::begin(host, &hashes, files)?;
    fetch.run(connections, progress)?;
    for (object, _) in list.objects.iter().zip(&is_missing).filter(|(_, missing)| **missing) {
        let place = place_of(object);
        fs::rename(scratch.join(&object.name), &place).map_err(Error::output(&place))?;
    }
    fs::remove_dir_all(&scratch).map_err(Error::output(&scratch))?;
    Ok(Objects { places: list.objects.iter().map(place_of).collect(), gains: fetch.gains, fetched })
}

fn fetch_list(host: &Host, published: &PublishedObjects, bytes_max: u64) -> Result<ObjectList> {
    let path = object_path(&published.list_blake3, "json");
    let damaged = |reason: String| Error::Damaged { path: host.shown(&path).into(), reason };
    if published.list_bytes > bytes_max {
        let bytes = published.list_bytes;
        let reason = format!("{bytes} bytes, at most {bytes_max} are taken (`--max-manifest`)");
        return Err(damaged(reason));
    }
    let text = host
        .whole(&path, &Part::Whole(published.list_bytes))
        .map_err(|fault| host.error(&path, fault))?;
    let found = blake3::hash(&text).to_hex().to_string();
    if found != published.list_blake3 {
        let expected = &published.list_blake3;
        return Err(damaged(format!("hash {found}, expected {expected} as it was published")));
    }
    ObjectList::read(&text).map_err(damaged)
}

/// Holds the directory against other runs, for as long as the file is open.
fn lock(directory: &Path) -> Result<File> {
    let file = File::open(directory).map_err(Error::output(directory))?;
    rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive)
        .map_err(|_| Error::Locked { path: directory.to_owned(), pid: "unknown".into() })?;
    Ok(file)
}

/// The hash of a file, in hex; `None` where there is none that can be read.
fn hash_at(path: &Path) -> Option<String> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(open_regular(path).ok()?).ok()?;
    Some(hasher.finalize().to_hex().to_string())
}

/// Opens objects, each of which must be whole.
///
/// # Errors
///
/// The first that is not.
pub fn open_all(places: &[PathBuf]) -> Result<Vec<Object>> {
    let open = |place: &PathBuf| {
        let object = Object::open(place).map_err(Error::input(place))?;
        object.ok_or_else(|| Error::Damaged {
            path: place.clone(),
            reason: "it is no object of this program's; compile its part again".into(),
        })
    };
    places.par_iter().map(open).collect()
}

/// Links objects into the snapshot that a manifest is of, which must come out with the same root hash.
///
/// # Errors
///
/// Where another comes out, or none.
pub fn link(
    objects: &[Object],
    manifest: &Manifest,
    lock: &OutputLock,
    memory_bytes: usize,
    progress: Progress,
) -> Result<Published> {
    let selection = match &manifest.selection {
        // Whose filters these are, a mirror's terminal is not theirs.
        Some(selection) => Some(Selection::from_filters(&selection.filters).map_err(|error| {
            let reason = format!("`selection`: {}", shown_text(error.to_string().trim()));
            Error::Damaged { path: MANIFEST.into(), reason }
        })?),
        None => None,
    };
    let linked: Vec<&Object> = objects.iter().collect();
    let finished = link::link(&linked, lock, selection.as_ref(), memory_bytes, progress)?;
    let (found, expected) = (&finished.manifest.root, &manifest.root);
    if found != expected {
        return Err(Error::SelfCheck(format!(
            "the objects link to root hash {found}, expected {expected}"
        )));
    }
    Ok(finished)
}
