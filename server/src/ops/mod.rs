//! `ops`.

pub(crate) mod admin;
pub(crate) mod log;
pub(crate) mod metrics;
