//! Records withheld by a list of ids: a server with the list answers as one whose snapshot was linked
//! with it, whatever is asked; and what becomes of lists that change, or are none.

#![allow(clippy::unwrap_used, missing_docs)]

mod equal;
mod linking;
mod lists;

use std::{
    fs,
    path::{Path, PathBuf},
};

use pinakes_format::entity::{CATALOG, Entity};
use pinakes_format::snapshot::Snapshot;

use pinakes_tests::server::{Server, Snapshots, command};

/// An id as the interface writes it; those of the taxonomy's levels with their list.
fn listed_id(entity: Entity, id: u64) -> String {
    let mut text = Vec::new();
    entity.write_id(id, &mut text);
    let text = String::from_utf8(text).unwrap();
    match entity.facts().letter {
        Some(_) => text,
        None => format!("{}/{text}", entity.facts().plural),
    }
}

/// The ids of every record of an entity, in the order of its list.
fn ids_of(snapshot: &Snapshot, entity: Entity) -> Vec<u64> {
    (0..snapshot.count(entity)).map(|row| snapshot.row_id(entity, row).unwrap()).collect()
}

/// Writes a list.
fn write_list(directory: &Path, ids: &[String]) -> PathBuf {
    let path = directory.join("takedowns.txt");
    fs::write(&path, ids.join("\n")).unwrap();
    path
}

/// A server that withholds what a list names.
fn serve_but(snapshots: &Snapshots, list: &Path) -> Server {
    let (option, place) = ("--snapshots".as_ref(), snapshots.path().as_os_str());
    Server::start(&mut command(&[option, place, "--suppress".as_ref(), list.as_os_str()]))
}

/// Every kind of record that an id leads to.
fn kinds() -> impl Iterator<Item = Entity> {
    CATALOG.iter().filter(|facts| facts.has_single).map(|facts| facts.entity)
}
