//! Adds objects to a tree: those of the snapshot's parts, after a test link.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
};

use pinakes_format::storage::integrity::read_levels;
use pinakes_format::storage::publication::PublishedObjects;
use pinakes_store::files::{open_regular, write_atomically};
use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::link::UnchangedSource;
use crate::mirror::list::{ListedObject, ObjectList};
use crate::mirror::tree::{Tree, link_or_copy};
use crate::mirror::{object_path, objects};
use crate::object::directory::OBJECT_VERSION;
use crate::object::{Check, Object};

impl Tree<'_> {
    /// Adds the objects that the snapshot was linked from. Links them first and compares the root hash,
    /// because a mirror can only use objects that link to the published snapshot.
    pub fn add_objects(&self, directory: &Path) -> Result<PublishedObjects> {
        let chosen = self.select_objects(directory)?;
        let (places, opened): (Vec<PathBuf>, Vec<Object>) = chosen.into_iter().unzip();
        let progress = self.options.progress;
        let (records, memory_bytes) = (UnchangedSource::Objects, self.options.memory_bytes);
        objects::link(&opened, self.manifest, records, self.lock, memory_bytes, progress)?;
        drop(opened);

        let mut hashes = Vec::new();
        let mut listed = Vec::new();
        for place in &places {
            let file = open_regular(place).map_err(Error::input(place))?;
            let (root, size_bytes) =
                read_levels(&file, &mut hashes).map_err(Error::input(place))?;
            let blake3 = root.to_hex().to_string();
            let name = place.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let to = self.path(&object_path(&blake3, "object"));
            // The name is a hash of the content, so an earlier publication wrote the same object.
            if fs::symlink_metadata(&to).map(|found| found.len()).ok() != Some(size_bytes) {
                link_or_copy(file, &to, &blake3)?;
            }
            listed.push(ListedObject { name, size_bytes, blake3 });
        }
        let hashes_blake3 = blake3::hash(&hashes).to_hex().to_string();
        // The list names objects and hashes, so it follows them: a reader of the list finds all of them.
        write_atomically(&self.path(&object_path(&hashes_blake3, "hashes")), &hashes)?;
        let list = ObjectList { object_version: OBJECT_VERSION, hashes_blake3, objects: listed };
        let text = list.to_json();
        // A list that `pull` would refuse is not published.
        ObjectList::parse(&text)
            .map_err(|reason| Error::Input { path: directory.into(), reason })?;
        let list_blake3 = blake3::hash(&text).to_hex().to_string();
        write_atomically(&self.path(&object_path(&list_blake3, "json")), &text)?;
        self.print_progress(
            "objects",
            &format!("{} link to the same root hash", list.objects.len()),
        );
        let list_bytes = text.len() as u64;
        self.warn_if_large("the list of objects", list_bytes);
        Ok(PublishedObjects { list_bytes, list_blake3 })
    }

    /// Returns the objects of the snapshot's parts, ascending by name.
    fn select_objects(&self, directory: &Path) -> Result<Vec<(PathBuf, Object)>> {
        let refused = |reason: String| Error::Input { path: directory.to_owned(), reason };
        let mut places: Vec<PathBuf> = fs::read_dir(directory)
            .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>())
            .map_err(Error::input(directory))?;
        places.retain(|place| place.extension().is_some_and(|extension| extension == "object"));
        places.sort();
        let wanted: BTreeSet<&str> =
            self.manifest.source.parts.iter().map(String::as_str).collect();
        let opened: Vec<Option<Object>> = places
            .par_iter()
            .map(|place| Object::open(place, Check::Whole).map_err(Error::input(place)))
            .collect::<Result<_>>()?;
        let chosen: Vec<(PathBuf, Object)> = places
            .into_iter()
            .zip(opened)
            .filter_map(|(place, object)| Some((place, object?)))
            .filter(|(_, object)| wanted.contains(object.part()))
            .collect();
        // Two objects of a part would give each of its records twice.
        let mut found = BTreeSet::new();
        for (_, object) in &chosen {
            if !found.insert(object.part()) {
                return Err(refused(format!(
                    "contains two objects of part {}, compiled with different options; compile into an \
                     empty directory",
                    object.part()
                )));
            }
        }
        match wanted.iter().find(|part| !found.contains(*part)) {
            Some(part) => Err(refused(format!(
                "contains no object of part {part}, which the snapshot was linked from"
            ))),
            None => Ok(chosen),
        }
    }
}
