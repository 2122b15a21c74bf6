//! The previous snapshot of the output directory. This link takes its unchanged records, references and index entries
//! over.
//!
//! Takes the current snapshot, the state that its link kept, and a record linker. Gives the
//! [`Changes`](crate::link::resolve::changes::Changes) of every entity. A missing or damaged state means that
//! nothing is taken over; the bytes of a snapshot do not depend on it.
//! Imports `link/{atomic_bitset, column, context, merge, record, resolve}`.

pub(crate) mod compare;
pub(crate) mod state;

use std::{fs, path::Path};

use pinakes_format::snapshot::Snapshot;
use pinakes_format::snapshot::next::CURRENT;

use crate::link::previous::state::LinkState;
use crate::store::link_record::state_path;

/// Where a link takes unchanged records and their index entries from. The bytes of the snapshot are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnchangedSource {
    /// The current snapshot, if the state of its link is there.
    Current,
    /// The objects of this link.
    Objects,
}

/// The previous snapshot and the state that its link kept.
pub(crate) struct Previous {
    pub snapshot: Snapshot,
    pub state: LinkState,
}

impl Previous {
    /// Opens the current snapshot of a directory; `None` if there is none, or no whole state of its link.
    pub(crate) fn open(snapshots: &Path) -> Option<Previous> {
        let target = fs::read_link(snapshots.join(CURRENT)).ok()?;
        let id = target.file_name()?.to_str()?;
        let state = LinkState::open(&state_path(snapshots, id))?;
        let snapshot = Snapshot::open(&snapshots.join(id)).ok()?;
        let is_full =
            snapshot.manifest().selection.is_none() && snapshot.manifest().suppression.is_none();
        is_full.then_some(Previous { snapshot, state })
    }
}
