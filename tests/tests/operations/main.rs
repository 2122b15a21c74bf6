//! The server seen from outside: what it tells of itself, and what becomes of it when its files do not
//! stay what they were.

#![allow(clippy::unwrap_used, missing_docs)]

mod admin;
mod dashboard;
mod disk;
mod faults;
mod metrics;
mod troubles;
