//! Connections in process, over pipes of a few bytes and under a clock that stands still unless all
//! wait: what a client may take its time for, and what becomes of one that takes more.

#![allow(clippy::unwrap_used, missing_docs)]

mod bench;
mod proxies;
mod times;
mod tls;
