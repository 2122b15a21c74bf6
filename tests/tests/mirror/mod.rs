//! Tests of mirrors: `publish` writes a tree, and `pull` fetches it from honest, faulty and hostile hosts.

mod activation;
mod bucket;
mod chunks;
mod hostile;
mod manifests;
mod minisign;
mod nginx;
mod objects;
mod race;
mod rollback;
mod runs;
mod setup;
mod stale;
mod tree;
mod trust;
