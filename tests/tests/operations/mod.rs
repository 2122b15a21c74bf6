//! Tests of the server in operation: metrics, health, the admin address, and damaged or failing files.

mod admin;
mod dashboard;
mod disk;
mod faults;
mod health;
mod metrics;
