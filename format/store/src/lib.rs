//! The directory of snapshots: `SNAPSHOTS/<id>/`, the link `current`, and the files beside them. The compiler and
//! servers with `--from` write it by the same rules.
//!
//! ```text
//! .lock                    held by the process that writes here
//! current -> 4c…           the snapshot that servers answer from, renamed to another in one step
//! next -> 5d…              the snapshot that becomes current at a stated time
//! .history, .rolled-back   the order of publishing; the snapshots that do not come back
//! publications/            the publication of each fetched snapshot, and the newest that were seen
//! .suppressed/             the suppression list of each snapshot
//! 4c…/partial              marks a snapshot of which chunks may be absent
//! ```
//!
//! - [`lock`] admits one writer at a time and removes what killed writers left.
//! - [`publish`] moves a finished snapshot to its final name and points `current` at it.
//! - [`next`] makes a scheduled snapshot current when its time has come.
//! - [`history`] records the order of publishing.
//! - [`rollback`] points `current` at an earlier snapshot; [`rolled_back`] lists the snapshots left behind.
//! - [`suppressed`] keeps the suppression list of each snapshot.
//! - [`publications`] accepts and keeps publications of hosts.
//! - [`partial`] makes the files of a snapshot whose chunks are fetched when they are read; [`chunks`] fetches them,
//!   and [`fetched`] opens such a snapshot.
//! - [`download`] fetches files as a whole: those of a snapshot, or others with a hash tree.
//! - [`directory`] and [`files`] hold shared helpers.
//!
//! The compiler prunes snapshots, and keeps what the next link takes over.

#![forbid(unsafe_code)]

pub mod chunks;
pub mod directory;
pub mod download;
pub mod error;
pub mod fetched;
pub mod files;
pub mod history;
pub mod lock;
pub mod next;
pub mod partial;
pub mod publications;
pub mod publish;
pub mod rollback;
pub mod rolled_back;
pub mod suppressed;
