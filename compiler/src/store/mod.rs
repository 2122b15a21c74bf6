//! Records of links, and pruning. The crate `pinakes-store` has the directory of snapshots.
//!
//! - `directory` finds snapshots, and locks the output directory.
//! - `link_record` keeps the inputs of the link of each snapshot.
//! - `prune` removes old snapshots and objects.
//! - `interrupt` handles signals.
//!
//! Imports `error`, `object`, `read`, `terminal`.

pub(crate) mod directory;
pub(crate) mod interrupt;
pub(crate) mod link_record;
pub(crate) mod prune;
