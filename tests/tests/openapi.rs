//! The description of the interface: reviewed as it is served, and true of what is answered.

#![allow(clippy::unwrap_used, missing_docs)]

#[allow(dead_code, reason = "shared with the tests of the protocol")]
#[path = "http/client.rs"]
mod client;
#[path = "openapi/document.rs"]
mod document;
#[path = "openapi/examples.rs"]
mod examples;
#[path = "openapi/official.rs"]
mod official;
#[path = "openapi/records.rs"]
mod records;
#[allow(dead_code, reason = "shared with the tests of the protocol")]
#[path = "http/server.rs"]
mod server;
