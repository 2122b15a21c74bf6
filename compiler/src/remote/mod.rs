//! Files on other hosts: the HTTP client of mirrors and buckets, and the files of a bucket as inputs.
//!
//! - [`address`], [`resolver`], [`host`] and [`exchange`] send requests, with limits, timeouts and retries.
//! - [`bucket`] lists, reads and writes the files under a prefix of an S3 bucket.
//! - [`file`] reads one version of such a file from begin to end, or at any place.
//!
//! The crate `object_store` does not replace this folder: 0.14 needs tokio and hyper even without its own HTTP client
//! (feature `aws-base`, 96 crates), and the compiler has no async runtime.
//!
//! Imports `error`, `terminal`.

pub(crate) mod address;
pub(crate) mod bucket;
pub(crate) mod exchange;
pub(crate) mod file;
pub(crate) mod host;
pub(crate) mod resolver;
