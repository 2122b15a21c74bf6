//! Texts: folding for comparison, JSON output, times, and invisible characters.
//!
//! This folder imports nothing of the crate.

pub mod fold;
pub mod json;
pub mod time;
pub mod unseen;
