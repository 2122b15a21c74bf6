//! Texts: folding for comparison, JSON output, times, and invisible characters.
//!
//! Imports no other folder.

pub mod fold;
pub mod json;
pub mod time;
pub mod unseen;
