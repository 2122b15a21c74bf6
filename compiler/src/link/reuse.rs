//! Finds the snapshot that an earlier run linked from the same objects and selection.
//!
//! A snapshot depends on nothing else, so linking again would give the same bytes. The files of that snapshot
//! are not read: their versions tell whether they have changed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use pinakes_format::schema::schema_hash;
use pinakes_format::snapshot::read_manifest;
use pinakes_format::storage::FORMAT_VERSION;
use pinakes_format::storage::manifest::REPORT;

use crate::error::{Error, Result};
use crate::link::merge::orphans::Orphans;
use crate::link::publish::Published;
use crate::link::selection::RecordSelection;
use crate::link::write::manifest::Accounting;
use crate::object::Object;
use crate::store::link_record::{LinkRecord, file_versions};

/// Identifies everything that the bytes of a snapshot depend on.
pub(crate) fn identify<'o>(
    objects: impl Iterator<Item = &'o Object>,
    selection: Option<&RecordSelection>,
) -> String {
    let mut hashes: Vec<_> = objects.map(Object::hash).collect();
    hashes.sort_unstable();
    let (program, schema) = (env!("CARGO_PKG_VERSION"), schema_hash());
    let selection =
        selection.map(|of| (of.filters(), of.suppression().digits().to_string(), of.has_search()));
    let mut hasher = blake3::Hasher::new();
    hasher.update(format!("{program} {FORMAT_VERSION} {schema:016x} {selection:?}").as_bytes());
    for hash in hashes {
        hasher.update(hash);
    }
    hasher.finalize().to_hex().to_string()
}

/// Returns the snapshot that was linked from `inputs`, if its files are as they were published.
pub(crate) fn find(snapshots: &Path, inputs: &str) -> Option<Published> {
    let (id, record) = LinkRecord::find(snapshots, inputs)?;
    let path = snapshots.join(&id);
    let manifest = read_manifest(&path).ok().filter(|manifest| manifest.id == id)?;
    if file_versions(&path, &manifest).ok()? != record.files {
        return None;
    }
    let text = fs::read(path.join(REPORT)).ok()?;
    let listed = manifest.files.iter().find(|file| file.path == REPORT)?;
    if blake3::hash(&text).to_hex().as_str() != listed.blake3 {
        return None;
    }
    let accounting: Accounting = serde_json::from_slice(&text).ok()?;
    let line_hashes: Option<BTreeSet<_>> = record.orphans.iter().map(|text| unhex(text)).collect();
    Some(Published {
        path,
        manifest,
        tallies: accounting.entities,
        side_tallies: accounting.side_tables,
        warnings: accounting.warnings,
        orphans: Orphans { line_hashes: line_hashes?, read: record.orphans_read },
        rows_reused: BTreeMap::new(),
        not_taken_over: Vec::new(),
        state: None,
    })
}

/// Remembers that a published snapshot was linked from `inputs`.
pub(crate) fn remember(published: &Published, snapshots: &Path, inputs: String) -> Result<()> {
    let Published { path, manifest, orphans, state, .. } = published;
    let record = LinkRecord {
        inputs,
        files: file_versions(path, manifest).map_err(Error::input(path))?,
        orphans: orphans.line_hashes.iter().map(|hash| hex(*hash)).collect(),
        orphans_read: orphans.read,
    };
    record.keep(snapshots, &manifest.id, state.as_deref())
}

fn hex(hash: [u8; 16]) -> String {
    format!("{:032x}", u128::from_be_bytes(hash))
}

fn unhex(text: &str) -> Option<[u8; 16]> {
    u128::from_str_radix(text, 16).ok().map(u128::to_be_bytes)
}
