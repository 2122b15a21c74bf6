//! Fetches the files of a snapshot, or objects, and shows the progress.

use std::sync::atomic::{AtomicU64, Ordering};

use pinakes_remote::host::Host;
use pinakes_store::download::{Download, DownloadedFile};

use crate::error::Result;
use crate::terminal::progress::Progress;

/// Bytes that did not have to be fetched.
pub struct Transfer {
    /// Bytes that an earlier run had fetched.
    pub kept_bytes: u64,
    /// Bytes copied from local snapshots.
    pub copied_bytes: u64,
}

/// Fetches files over at most `connections` connections.
///
/// # Errors
///
/// The first failure. The chunks verified until then stay for the next run.
pub fn transfer(
    host: &Host,
    files: Vec<DownloadedFile>,
    connections: usize,
    progress: Progress,
) -> Result<Transfer> {
    let count = files.len() as u64;
    let download = Download::new(host, files);
    let bar = progress.begin("look", "files", count, download.size_bytes());
    let spans = download.find_absent(|bytes| bar.advance(bytes));
    bar.end();
    let sizes = spans.iter().map(|span| download.size_of(span));
    let (chunks, bytes) = sizes.fold((0, 0), |(chunks, bytes), of| (chunks + of.0, bytes + of.1));
    let bar = progress.begin("fetch", "chunks", chunks, bytes);
    download.fetch(spans, connections, |bytes| bar.advance(bytes))?;
    bar.end();
    let count = |bytes: AtomicU64| bytes.load(Ordering::Relaxed);
    let (kept_bytes, copied_bytes) = (count(download.kept_bytes), count(download.copied_bytes));
    Ok(Transfer { kept_bytes, copied_bytes })
}
