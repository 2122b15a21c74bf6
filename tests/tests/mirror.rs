//! Mirrors: what `publish` writes and `pull` fetches, from hosts that are honest and from others.

#![allow(clippy::unwrap_used, missing_docs)]

#[path = "mirror/bucket.rs"]
mod bucket;
#[path = "mirror/chunks.rs"]
mod chunks;
#[path = "http/client.rs"]
#[allow(dead_code)]
mod client;
#[path = "mirror/held.rs"]
mod held;
#[path = "mirror/host.rs"]
mod host;
#[path = "mirror/hostile.rs"]
mod hostile;
#[path = "mirror/manifests.rs"]
mod manifests;
#[path = "mirror/minisign.rs"]
mod minisign;
#[path = "mirror/nginx.rs"]
mod nginx;
#[path = "mirror/objects.rs"]
mod objects;
#[path = "mirror/place.rs"]
mod place;
#[path = "mirror/race.rs"]
mod race;
#[path = "mirror/runs.rs"]
mod runs;
#[path = "http/server.rs"]
#[allow(dead_code)]
mod server;
#[path = "mirror/stale.rs"]
mod stale;
#[path = "mirror/tree.rs"]
mod tree;
#[path = "mirror/trust.rs"]
mod trust;
