//! Published trees on other hosts: the HTTP client of mirrors and buckets, and the check of publications.
//!
//! - [`address`], `resolver`, [`host`] and [`exchange`] send requests, with limits, timeouts and retries.
//! - [`signature`], [`trust`] and [`manifest`] fetch and check what a host publishes.
//! - [`partial`] is a directory with a snapshot whose chunks are fetched when they are read, and [`chunks`] fetches them.
//! - [`escape`] makes text of a host safe for messages.
//!
//! Signing, and lists and files of buckets, are the compiler's. The crate has no async runtime: each request blocks
//! its thread.

#![forbid(unsafe_code)]

pub mod address;
pub mod chunks;
pub mod error;
pub mod escape;
pub mod exchange;
pub mod host;
pub mod manifest;
pub mod partial;
mod resolver;
pub mod signature;
pub mod trust;
