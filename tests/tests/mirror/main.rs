//! Mirrors: what `publish` writes and `pull` fetches, from hosts that are honest and from others.

#![allow(clippy::unwrap_used, missing_docs)]

mod bucket;
mod chunks;
mod held;
mod host;
mod hostile;
mod manifests;
mod minisign;
mod nginx;
mod objects;
mod place;
mod race;
mod runs;
mod stale;
mod tree;
mod trust;
