//! Published trees on other hosts: the HTTP client of mirrors and buckets, and the check of publications.
//!
//! - [`address`], `resolver`, [`host`] and [`exchange`] send requests, with limits, timeouts and retries.
//! - [`signature`], [`trust`] and [`manifest`] fetch and check what a host publishes.
//! - [`escape`] makes text of a host safe for messages.
//!
//! Signing, and lists and files of buckets, are the compiler's. The crate has no async runtime: each request blocks
//! its thread.

#![forbid(unsafe_code)]

pub mod address;
pub mod error;
pub mod escape;
pub mod exchange;
pub mod host;
pub mod manifest;
mod resolver;
pub mod signature;
pub mod trust;
