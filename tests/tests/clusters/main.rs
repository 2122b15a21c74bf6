//! Compiling on many machines: plans, units and links.

#![allow(clippy::unwrap_used, missing_docs)]

mod setup;
mod units;
