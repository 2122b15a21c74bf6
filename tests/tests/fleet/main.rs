//! Servers that share their limits: one client at two servers, a store that stops or starts again, clocks that
//! differ.

#![allow(clippy::unwrap_used, missing_docs)]

mod clocks;
mod servers;
mod store;
