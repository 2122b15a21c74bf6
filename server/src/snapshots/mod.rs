//! The served snapshot: which snapshot the server answers from, and when another replaces it.
//!
//! [`manager`] follows `current`, takes a damaged snapshot out of service and loads another.
//! [`activation`] switches to a scheduled snapshot at its time. [`fallback`] lists the snapshots that may replace a lost one. [`retained`] keeps earlier ones open for requests
//! that name them. [`suppression`] reloads the list of
//! suppressed ids. [`freshness`] reads expiry and licence, and [`health`] names issues for operators.
//!
//! Imports `http` and `event_counts` only.

pub(crate) mod activation;
pub(crate) mod disk_activity;
pub(crate) mod fallback;
pub(crate) mod freshness;
pub(crate) mod health;
pub(crate) mod manager;
pub(crate) mod retained;
pub(crate) mod served;
pub(crate) mod suppression;
