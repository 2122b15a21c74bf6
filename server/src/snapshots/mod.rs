//! `snapshots`.

pub(crate) mod fallback;
pub(crate) mod freshness;
pub(crate) mod health;
pub(crate) mod library;
pub(crate) mod suppression;
