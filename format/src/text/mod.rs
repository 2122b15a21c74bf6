//! Texts: folding for comparison, JSON output, and times.
//!
//! This folder imports nothing of the crate.

pub mod fold;
pub mod json;
pub mod time;
