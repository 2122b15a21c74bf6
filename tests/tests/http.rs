//! The real server over HTTP, on snapshots of the project's own sample.
//!
//! Later work brings its own cases: filters, sorting and searching, autocomplete, rate limits,
//! GraphQL, the older variant, compression, TLS; clients that send or read slowly or stay idle; a
//! cap on connections from one address; a handler that panics on demand; tracing the files a
//! request opens.

#![allow(clippy::unwrap_used, missing_docs)]

#[path = "http/client.rs"]
mod client;
#[path = "http/damage.rs"]
mod damage;
#[path = "http/lists.rs"]
mod lists;
#[path = "http/paths.rs"]
mod paths;
#[path = "http/process.rs"]
mod process;
#[path = "http/protocol.rs"]
mod protocol;
#[path = "http/records.rs"]
mod records;
#[path = "http/server.rs"]
mod server;
