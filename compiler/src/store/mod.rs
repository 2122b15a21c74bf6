//! The directory of snapshots: `SNAPSHOTS/<id>/`, the link `current`, and the notes beside them.
//!
//! `lock` admits one run at a time and removes the remains of killed runs. `publish` moves a finished
//! snapshot into its place and `current` onto it. `history` records the order of publishing, `rollback` and
//! `rolled_back` undo a publication, and `prune` removes old snapshots.

pub(crate) mod directory;
pub(crate) mod files;
pub(crate) mod history;
pub(crate) mod interrupt;
pub(crate) mod lock;
pub(crate) mod prune;
pub(crate) mod publish;
pub(crate) mod rollback;
pub(crate) mod rolled_back;
