//! Files in buckets, as inputs and as objects. The crate `pinakes-remote` sends the requests.
//!
//! - [`bucket`] lists, reads and writes the files under a prefix of an S3 bucket.
//! - [`from`] are options for readers of a snapshot that is not here.
//! - [`file`] reads one version of such a file from begin to end, or at any place.
//!
//! The crate `object_store` does not replace this folder: 0.14 needs tokio and hyper even without its own HTTP client
//! (feature `aws-base`, 96 crates), and the compiler has no async runtime.
//!
//! Imports `error`.

pub(crate) mod bucket;
pub(crate) mod file;
pub(crate) mod from;

/// The name of this program in requests.
pub(crate) const USER_AGENT: &str = concat!("pinakes-compiler/", env!("CARGO_PKG_VERSION"));
