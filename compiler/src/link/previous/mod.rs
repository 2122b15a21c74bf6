//! The previous snapshot of the output directory. This link takes its unchanged records, references and index entries
//! over.
//!
//! Takes the current snapshot, the state that its link kept, and a record linker. Gives the
//! [`Changes`](crate::link::resolve::changes::Changes) of every entity. Nothing is taken over without a state, or from
//! a damaged one; the bytes of a snapshot do not depend on that.
//!
//! Imports `link/{atomic_bitset, column, context, merge, record, resolve, take_over}`.

pub(crate) mod compare;
pub(crate) mod state;

use std::{fs, io, path::Path};

use pinakes_format::snapshot::Snapshot;
use pinakes_format::snapshot::next::CURRENT;

use crate::link::previous::state::LinkState;
use crate::link::take_over::{Reason, TakeOver};
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
    /// Opens the current snapshot of a directory; `None` if the directory has no current snapshot, or if the link of
    /// that snapshot kept no state. The link of a subset keeps none.
    pub(crate) fn open(snapshots: &Path) -> Result<Option<Previous>, TakeOver> {
        let target = match fs::read_link(snapshots.join(CURRENT)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            target => target.map_err(|error| TakeOver::Impossible(Reason::Current(error)))?,
        };
        let Some(id) = target.file_name().and_then(|id| id.to_str()) else { return Ok(None) };
        // The state first: without it, opening the snapshot would be in vain.
        let state = LinkState::open(&state_path(snapshots, id));
        let Some(state) = state.map_err(|fault| TakeOver::Impossible(Reason::State(fault)))? else {
            return Ok(None);
        };
        let snapshot = Snapshot::open(&snapshots.join(id));
        let snapshot = snapshot.map_err(|error| TakeOver::Impossible(Reason::Open(error)))?;
        let is_full =
            snapshot.manifest().selection.is_none() && snapshot.manifest().suppression.is_none();
        Ok(is_full.then_some(Previous { snapshot, state }))
    }
}
