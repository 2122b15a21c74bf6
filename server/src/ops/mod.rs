//! Interfaces for operators: the log, the metrics, and the admin address that serves them.
//!
//! Imports `admission`, `endpoint`, `event_counts`, `http`, `net`, `reply`, `serve`, `snapshots`, `upstream`.

pub(crate) mod admin;
pub(crate) mod log;
pub(crate) mod metrics;
