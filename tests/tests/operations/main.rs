//! Tests of the server in operation: metrics, health, the admin address, and damaged or failing files.

#![allow(clippy::unwrap_used, missing_docs)]

mod admin;
mod dashboard;
mod disk;
mod faults;
mod health;
mod metrics;
