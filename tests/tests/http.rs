//! The real server over HTTP, on snapshots of the project's own sample.
//!
//! Later work brings its own cases: tracing the files a request opens. Clients that take their time, TLS and
//! the PROXY protocol are in `connections`, under another clock.

#![allow(clippy::unwrap_used, missing_docs)]

#[path = "http/autocomplete.rs"]
mod autocomplete;
#[path = "http/autocomplete_replies.rs"]
mod autocomplete_replies;
#[path = "http/bounds.rs"]
mod bounds;
#[path = "http/client.rs"]
mod client;
#[path = "http/codings.rs"]
mod codings;
#[path = "http/damage.rs"]
mod damage;
#[path = "http/edge.rs"]
mod edge;
#[path = "http/filter.rs"]
mod filter;
#[path = "http/filter_refused.rs"]
mod filter_refused;
#[path = "http/filter_values.rs"]
mod filter_values;
#[path = "http/legacy.rs"]
mod legacy;
#[path = "http/limits.rs"]
mod limits;
#[path = "http/lists.rs"]
mod lists;
#[path = "http/names.rs"]
mod names;
#[path = "http/pages.rs"]
mod pages;
#[path = "http/paths.rs"]
mod paths;
#[path = "http/process.rs"]
mod process;
#[path = "http/protocol.rs"]
mod protocol;
#[path = "http/questions.rs"]
mod questions;
#[path = "http/records.rs"]
mod records;
#[path = "http/server.rs"]
mod server;
#[path = "http/sort.rs"]
mod sort;
#[path = "http/sort_refused.rs"]
mod sort_refused;
#[path = "http/swap.rs"]
mod swap;
