//! Tests of suppression lists: a server with a list replies like a server whose snapshot was linked with the
//! list, and changed or invalid lists are handled.

mod equal;
mod linking;
mod lists;
mod words;

use std::{
    fs,
    path::{Path, PathBuf},
};

use pinakes_format::entity::{CATALOG, Entity};
use pinakes_format::snapshot::Snapshot;

use pinakes_tests::server::{Server, Snapshots, command};

/// An id as a suppression list writes it; ids of taxonomy levels with the route.
fn listed_id(entity: Entity, id: u64) -> String {
    let mut text = Vec::new();
    entity.write_id(id, &mut text);
    let text = String::from_utf8(text).unwrap();
    match entity.facts().letter {
        Some(_) => text,
        None => format!("{}/{text}", entity.facts().plural),
    }
}

/// The ids of all records of an entity, in default list order.
fn ids_of(snapshot: &Snapshot, entity: Entity) -> Vec<u64> {
    (0..snapshot.count(entity)).map(|row| snapshot.row_id(entity, row).unwrap()).collect()
}

/// Writes a suppression list.
fn write_list(directory: &Path, ids: &[String]) -> PathBuf {
    let path = directory.join("suppressed.txt");
    fs::write(&path, ids.join("\n")).unwrap();
    path
}

/// Starts a server with a suppression list.
fn serve_with_list(snapshots: &Snapshots, list: &Path) -> Server {
    let (option, directory) = ("--snapshots".as_ref(), snapshots.path().as_os_str());
    Server::start(&mut command(&[option, directory, "--suppress".as_ref(), list.as_os_str()]))
}

/// Every entity with single records.
fn kinds() -> impl Iterator<Item = Entity> {
    CATALOG.iter().filter(|facts| facts.has_single).map(|facts| facts.entity)
}
