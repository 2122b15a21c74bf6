//! The real server over HTTP, on snapshots of the project's own sample.
//!
//! Later work brings its own cases: tracing the files a request opens. Clients that take their time, TLS and
//! the PROXY protocol are in `connections`, under another clock.

#![allow(clippy::unwrap_used, missing_docs)]

mod autocomplete;
mod autocomplete_replies;
mod bounds;
mod codings;
mod damage;
mod edge;
mod legacy;
mod limits;
mod lists;
mod names;
mod pages;
mod paths;
mod process;
mod protocol;
mod records;
mod swap;
