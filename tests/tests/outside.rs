//! The server seen from outside: what it tells of itself, and what becomes of it when its files do not
//! stay what they were.

#![allow(clippy::unwrap_used, missing_docs)]

#[path = "http/client.rs"]
#[allow(dead_code)]
mod client;
#[path = "outside/faults.rs"]
mod faults;
#[path = "http/server.rs"]
#[allow(dead_code)]
mod server;
