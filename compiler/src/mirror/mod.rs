//! Mirrors: `publish` writes a snapshot as a tree of static files, and `pull` fetches it from any host.
//!
//! ```text
//! publication.json                     the current publication; its hashes cover every file below
//! publication.json.minisig             its signature
//! publications/<id>.json               the kept publications, which pruning reads
//! snapshots/<id>/…                     the snapshot, file by file
//! index.html, worker.js, …             with `--site`, what answers from the tree in a browser
//! manifest.json                        with `--site`, a copy of the current snapshot's
//! objects/<blake3>.json                the list of objects that the snapshot is linked from
//! objects/<blake3>.hashes, .object     the levels of the objects' hash trees; the objects
//! ```
//!
//! Every file but the first two, and those of a site, has a hash of its content in its name and never changes. So a client that
//! has read `publication.json` finds one complete publication, whatever is published meanwhile.
//!
//! Imports `error`, `link`, `object`, `remote`, `report`, `store`, `terminal`.

pub(crate) mod levels;
pub(crate) mod list;
pub(crate) mod objects;
pub(crate) mod options;
pub(crate) mod publish;
pub(crate) mod pull;
pub(crate) mod run;
pub(crate) mod signature;
pub(crate) mod site;
pub(crate) mod snapshot;
pub(crate) mod transfer;
pub(crate) mod tree;

/// Directory of objects in a tree.
const OBJECTS: &str = "objects";

/// Returns the path of an object file in a tree. `kind` is `json`, `hashes` or `object`.
fn object_path(blake3: &str, kind: &str) -> String {
    format!("{OBJECTS}/{blake3}.{kind}")
}
