//! Interfaces for operators: the log, the metrics, and the admin address that serves them.
//!
//! Imports `admission`, `event_counts`, `http`, `net`, `serve`, `snapshots`, `upstream`.

pub(crate) mod admin;
pub(crate) mod log;
pub(crate) mod metrics;
