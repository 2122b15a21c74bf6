//! `ops`.

pub(crate) mod access_log;
pub(crate) mod admin;
pub(crate) mod log;
pub(crate) mod metrics;
