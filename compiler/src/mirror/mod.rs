//! Mirrors: a snapshot as a tree of static files that any host serves, and fetching it from there.
//!
//! ```text
//! publication.json                     what is published; all below hangs on it by hashes
//! publication.json.minisig             its signature
//! publications/<id>.json               those that are kept, for pruning
//! snapshots/<id>/…                     the snapshot, file by file
//! objects/<blake3>.json                the list of objects it is linked from
//! objects/<blake3>.hashes, .object     the levels of their hash trees; they themselves
//! ```
//!
//! Everything but the first two has the hash of what it holds in its name and never changes, so that
//! whoever has read `publication.json` finds one publication, whole, whatever is published meanwhile.

pub(crate) mod address;
pub(crate) mod fetch;
pub(crate) mod host;
pub(crate) mod last_seen;
pub(crate) mod levels;
pub(crate) mod list;
pub(crate) mod objects;
pub(crate) mod publish;
pub(crate) mod pull;
pub(crate) mod run;
pub(crate) mod signature;
pub(crate) mod snapshot;
pub(crate) mod tree;
pub(crate) mod trust;

/// The signature's file name at the root of a tree.
pub const SIGNATURE: &str = "publication.json.minisig";
/// The directory of snapshots.
const SNAPSHOTS: &str = "snapshots";
/// The directory of objects.
const OBJECTS: &str = "objects";

/// Where a file of a snapshot stands in a tree.
fn snapshot_path(id: &str, file: &str) -> String {
    format!("{SNAPSHOTS}/{id}/{file}")
}

/// Where what belongs to objects stands in a tree, by its hash: `json`, `hashes` or `object`.
fn object_path(blake3: &str, kind: &str) -> String {
    format!("{OBJECTS}/{blake3}.{kind}")
}
