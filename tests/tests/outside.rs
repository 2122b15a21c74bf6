//! The server seen from outside: what it tells of itself, and what becomes of it when its files do not
//! stay what they were.

#![allow(clippy::unwrap_used, missing_docs)]

#[path = "outside/admin.rs"]
mod admin;
#[allow(dead_code, reason = "shared with the tests of the protocol")]
#[path = "http/client.rs"]
mod client;
#[path = "outside/dashboard.rs"]
mod dashboard;
#[path = "outside/disk.rs"]
mod disk;
#[path = "outside/faults.rs"]
mod faults;
#[path = "outside/metrics.rs"]
mod metrics;
#[allow(dead_code, reason = "shared with the tests of the protocol")]
#[path = "http/server.rs"]
mod server;
#[path = "outside/troubles.rs"]
mod troubles;
