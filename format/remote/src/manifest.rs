//! Fetches the manifest of a publication. Its hashes cover all files of the snapshot.

use pinakes_format::snapshot::check_file_list;
use pinakes_format::storage::manifest::{
    FileEntry, HASHES, MANIFEST, MANIFEST_BYTES_MAX, Manifest, REPORT,
};
use pinakes_format::storage::publication::Publication;

use crate::error::{RemoteError, Result};
use crate::escape::escape_text;
use crate::host::{Extent, Host};

/// Directory of snapshots in a tree.
pub const SNAPSHOTS: &str = "snapshots";

/// Returns the path of a snapshot's file in a tree.
pub fn snapshot_path(id: &str, file: &str) -> String {
    format!("{SNAPSHOTS}/{id}/{file}")
}

/// The largest report. It is read into memory.
const REPORT_BYTES_MAX: u64 = MANIFEST_BYTES_MAX;

/// Fetches and verifies the manifest of a publication. `option` names the option that sets the limit, if one does.
///
/// # Errors
///
/// The host does not send the manifest, or it is not the published one.
pub fn fetch_manifest(
    host: &Host,
    publication: &Publication,
    bytes_max: u64,
    option: Option<&str>,
) -> Result<Manifest> {
    let published = &publication.snapshot;
    let path = snapshot_path(&published.id, MANIFEST);
    let damaged = |reason: String| RemoteError::Damaged { url: host.display(&path), reason };
    // The publication states the length, so a manifest that is too long is not fetched.
    if published.manifest_bytes > bytes_max {
        let bytes = published.manifest_bytes;
        return Err(damaged(match option {
            Some(option) => format!("{bytes} bytes, more than `{option}` allows ({bytes_max})"),
            None => format!("{bytes} bytes; a manifest has at most {bytes_max}"),
        }));
    }
    let text = host
        .read_file(&path, &Extent::Whole(published.manifest_bytes))
        .map_err(|failure| host.error(&path, failure))?;
    let manifest =
        Manifest::read(&text).map_err(|error| damaged(escape_text(&error.to_string())))?;
    if manifest.root != published.root {
        let (found, expected) = (&manifest.root, &published.root);
        return Err(damaged(format!("root hash {found}, expected the published {expected}")));
    }
    check_file_list(&manifest).map_err(|(file, cause)| {
        let file: String = file.chars().take(64).collect();
        damaged(format!("`{}` {cause}", file.escape_debug()))
    })?;
    // A report is read into memory as a whole.
    let is_long = |entry: &&FileEntry| entry.path == REPORT && entry.size_bytes > REPORT_BYTES_MAX;
    if let Some(report) = manifest.files.iter().find(is_long) {
        let bytes = report.size_bytes;
        return Err(damaged(format!(
            "`{REPORT}` has {bytes} bytes; it has at most {REPORT_BYTES_MAX}"
        )));
    }
    let is_empty = |entry: &&FileEntry| entry.path != HASHES && entry.size_bytes == 0;
    if let Some(entry) = manifest.files.iter().find(is_empty) {
        return Err(damaged(format!(
            "`{}` has size 0; no file of a snapshot is empty",
            entry.path
        )));
    }
    Ok(manifest)
}
