//! Snapshots on other machines: what is published, pulled, fetched on demand, damaged and mended.

#![allow(clippy::unwrap_used, missing_docs)]

mod buckets;
mod fleet;
mod integrity;
mod mirror;
mod upstream;
