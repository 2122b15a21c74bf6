//! Connections in process, over pipes of a few bytes and under a clock that stands still unless all
//! wait: what a client may take its time for, and what becomes of one that takes more.

#![allow(clippy::unwrap_used, missing_docs)]

#[path = "connections/bench.rs"]
mod bench;
#[path = "connections/proxies.rs"]
mod proxies;
#[path = "connections/times.rs"]
mod times;
#[path = "connections/tls.rs"]
mod tls;
