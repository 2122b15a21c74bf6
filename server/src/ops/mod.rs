//! Interfaces for operators: the log, the metrics, and the admin address that serves them.
//!
//! Imports every other folder.

pub(crate) mod admin;
pub(crate) mod log;
pub(crate) mod metrics;
