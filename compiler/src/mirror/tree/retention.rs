//! Pruning of a tree: removes leftovers of killed runs and old publications.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use chrono::{DateTime, Utc};
use pinakes_format::storage::manifest::ID_DIGITS;
use pinakes_format::storage::publication::{PUBLICATION, PUBLICATIONS, Publication, is_hash};
use pinakes_remote::manifest::SNAPSHOTS;
use pinakes_remote::signature::SIGNATURE;
use pinakes_remote::trust::kept_signature;
use pinakes_store::directory::remove_tree;

use crate::error::{Error, Result};
use crate::mirror::list::ObjectList;
use crate::mirror::tree::Tree;
use crate::mirror::{OBJECTS, object_path};

impl Tree<'_> {
    /// Removes unfinished files of killed runs. The lock proves that no such run is alive.
    pub fn remove_leftovers(&self) {
        for (directory, is_ours) in [
            ("", (|name| [PUBLICATION, SIGNATURE].contains(&name)) as fn(&str) -> bool),
            (PUBLICATIONS, |name| id_of(name.trim_end_matches(".minisig")).is_some()),
            (OBJECTS, is_object_file),
        ] {
            for name in names_in(&self.path(directory)) {
                if final_name(&name).is_some_and(is_ours) {
                    let _ = fs::remove_file(self.path(directory).join(name));
                }
            }
        }
    }

    /// Removes all but the newest publications, and the snapshots and objects that only those needed. Keeps
    /// files whose names no tree uses.
    pub fn prune(&self) -> Result<()> {
        // Keeps the snapshot of an unreadable publication, which a newer program may have written.
        let mut kept: BTreeSet<String> = BTreeSet::new();
        let mut known: Vec<(DateTime<Utc>, PathBuf, Publication)> = Vec::new();
        for name in names_in(&self.path(PUBLICATIONS)) {
            let Some(id) = id_of(&name) else { continue };
            kept.insert(id.to_owned());
            let path = self.path(PUBLICATIONS).join(&name);
            let read = fs::read(&path).ok().and_then(|text| Publication::read(&text).ok());
            if let Some(publication) = read.filter(|publication| publication.snapshot.id == id) {
                known.push((publication.version_at(), path, publication));
            }
        }
        // The publication of this run stays, also if the clock went back.
        known.sort_by_key(|(version, _, of)| (of.snapshot.id == self.manifest.id, *version));
        let old = known.len().saturating_sub(self.options.keep);
        let mut kept_objects = BTreeSet::new();
        for (_, _, publication) in &known[old..] {
            self.collect_object_files(publication, &mut kept_objects);
        }
        for (_, path, publication) in &known[..old] {
            fs::remove_file(path).map_err(Error::output(path))?;
            let _ = fs::remove_file(self.path(&kept_signature(&publication.snapshot.id)));
            kept.remove(&publication.snapshot.id);
        }
        for id in names_in(&self.path(SNAPSHOTS)) {
            if is_id(&id) && !kept.contains(&id) {
                remove_tree(&self.path(SNAPSHOTS).join(&id));
                self.print_progress("removed", &format!("snapshot {id}"));
            }
        }
        for name in names_in(&self.path(OBJECTS)) {
            if is_object_file(&name) && !kept_objects.contains(&name) {
                let _ = fs::remove_file(self.path(OBJECTS).join(name));
            }
        }
        if kept.len() > 1 && self.manifest.suppressed.values().any(|records| *records > 0) {
            eprintln!(
                "warning: older publications in the tree may contain records that `--suppress` left out; \
                 `--keep 1` removes them"
            );
        }
        Ok(())
    }

    /// Adds the names of all object files of a publication.
    fn collect_object_files(&self, publication: &Publication, kept: &mut BTreeSet<String>) {
        let Some(objects) = &publication.objects else { return };
        let list = object_path(&objects.list_blake3, "json");
        let read = fs::read(self.path(&list)).ok().and_then(|text| ObjectList::parse(&text).ok());
        let mut keep = |path: String| {
            kept.extend(path.rsplit('/').next().map(str::to_owned));
        };
        keep(list);
        if let Some(list) = read {
            keep(object_path(&list.hashes_blake3, "hashes"));
            list.objects.iter().for_each(|object| keep(object_path(&object.blake3, "object")));
        }
    }
}

/// Lists the names in a directory; none if it cannot be read.
fn names_in(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

/// Returns the final name of a temporary file; `None` if the name is not temporary.
fn final_name(name: &str) -> Option<&str> {
    let (name, run) = name.rsplit_once(".tmp")?;
    let is_run = |id: &str| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit());
    (run.is_empty() || run.strip_prefix('-').is_some_and(is_run)).then_some(name)
}

fn is_id(text: &str) -> bool {
    text.len() == ID_DIGITS && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Returns the snapshot id in the name of a kept publication.
fn id_of(name: &str) -> Option<&str> {
    name.strip_suffix(".json").filter(|id| is_id(id))
}

/// Whether a name is that of an object file in a tree.
fn is_object_file(name: &str) -> bool {
    let kinds = ["json", "hashes", "object"];
    name.split_once('.').is_some_and(|(blake3, kind)| is_hash(blake3) && kinds.contains(&kind))
}
