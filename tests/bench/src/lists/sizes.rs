//! Prints the size of the list indexes next to the size of the records.

use std::path::Path;

use pinakes_format::entity::Entity;
use pinakes_format::schema::keys::keys_of;
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::header::FileKind;

use crate::Result;

/// Keys whose indexes hold texts; a second figure leaves out these keys.
const TEXTS: [&str; 4] = ["doi", "name", "title", "words of names"];

/// The bytes of a file, or of all files below a directory; 0 if the path does not exist.
pub fn bytes_of(path: &Path) -> u64 {
    let below = |path: &Path| {
        let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
        entries.map(|entry| bytes_of(&entry.path())).sum()
    };
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => metadata.len(),
        Ok(_) => below(path),
        Err(_) => 0,
    }
}

/// Prints the sizes of the outputs' indexes.
pub fn print(snapshot: &Path, outputs: u64) -> Result<()> {
    let opened = Snapshot::open(snapshot)?;
    let keys = keys_of(Entity::Output);
    let (lists, orders) = (opened.term_lists(Entity::Output)?, opened.orders(Entity::Output)?);
    let (mut all, mut without_texts) = (0, 0);
    let mut add = |path: &str, bytes: u64| {
        all += bytes;
        without_texts += if TEXTS.contains(&path) { 0 } else { bytes };
    };
    for (number, spec) in keys.lists.iter().enumerate() {
        add(&spec.path, lists.bytes(number)?);
    }
    for (number, spec) in keys.orders.iter().enumerate() {
        add(&spec.path, orders.bytes(number)?);
    }
    let file_bytes = |kind: FileKind| bytes_of(&snapshot.join("outputs").join(kind.file_name()));
    let (records, words) = (file_bytes(FileKind::Records), file_bytes(FileKind::Words));
    println!(
        "indexes of outputs: {all} bytes, word index {words} bytes; without doi, title, name and words \
         {without_texts} bytes, {:.1} per output, {:.3} of the records ({records} bytes)",
        without_texts as f64 / outputs as f64,
        without_texts as f64 / records as f64
    );
    Ok(())
}
