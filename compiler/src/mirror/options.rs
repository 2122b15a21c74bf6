//! The options of `publish`, which its other files share.

use std::path::PathBuf;

use chrono::{DateTime, Utc};

use crate::terminal::progress::Progress;

/// The options of `publish`.
#[derive(Debug)]
pub struct PublishOptions {
    /// A directory of snapshots, whose current one is published, or a snapshot.
    pub snapshots: PathBuf,
    /// Directory of the tree.
    pub to: PathBuf,
    /// Secret key to sign with.
    pub key: Option<PathBuf>,
    /// Directory of the objects that the snapshot was linked from, if they are to be published.
    pub objects: Option<PathBuf>,
    /// Directory with the files of a site, if the tree is to answer in browsers.
    pub site: Option<PathBuf>,
    /// Days until the publication expires.
    pub valid_days: u32,
    /// When servers switch to the snapshot; `None` means at once.
    pub activate_at: Option<DateTime<Utc>>,
    /// Licence of the published data.
    pub licence: Option<String>,
    /// How many publications the tree keeps, including this one.
    pub keep: usize,
    /// Size in bytes above which a manifest or a list of objects causes a warning.
    pub manifest_bytes_max: u64,
    /// Memory for linking, in bytes.
    pub memory_bytes: usize,
    /// How to print progress.
    pub progress: Progress,
}
