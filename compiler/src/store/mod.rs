//! The directory of snapshots: `SNAPSHOTS/<id>/`, the link `current`, and the files beside them.
//!
//! - `lock` admits one run at a time and removes what killed runs left.
//! - `publish` moves a finished snapshot to its final name and points `current` at it.
//! - `next` makes a scheduled snapshot current when its time has come.
//! - `history` records the order of publishing.
//! - `rollback` points `current` at an earlier snapshot; `rolled_back` lists the snapshots left behind.
//! - `suppressed` keeps the suppression list of each snapshot, `link_record` the inputs of its link.
//! - `prune` removes old snapshots and objects.
//! - `interrupt` handles signals; `directory` and `files` hold shared helpers.
//!
//! Imports `error`, `object`, `read`, `terminal`.

pub(crate) mod directory;
pub(crate) mod files;
pub(crate) mod history;
pub(crate) mod interrupt;
pub(crate) mod link_record;
pub(crate) mod lock;
pub(crate) mod next;
pub(crate) mod prune;
pub(crate) mod publish;
pub(crate) mod rollback;
pub(crate) mod rolled_back;
pub(crate) mod suppressed;
