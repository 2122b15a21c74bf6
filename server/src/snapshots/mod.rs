//! The served snapshot: which snapshot the server answers from, and when another replaces it.
//!
//! - [`manager`] owns all open snapshots: follows `current`, takes a damaged snapshot out of service, applies the
//!   list of suppressed ids.
//! - [`open`] opens a snapshot for serving. [`fallback`] lists the snapshots that may replace a lost one, and
//!   those that stay open for requests that name them.
//! - [`activation`] switches to a scheduled snapshot at its time, and tells links apart.
//! - [`suppression`] reloads the list of suppressed ids, [`freshness`] reads expiry and licence.
//! - [`health`] knows the issues of the server, and [`disk_activity`] watches how much is read from disk.
//!
//! Imports `event_counts`, `upstream`.

pub(crate) mod activation;
pub(crate) mod disk_activity;
pub(crate) mod fallback;
pub(crate) mod freshness;
pub(crate) mod health;
pub(crate) mod manager;
pub(crate) mod open;
pub(crate) mod suppression;
