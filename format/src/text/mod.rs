//! Texts: folding for comparison, words for search, JSON output, times, and invisible characters.
//!
//! Imports no other folder.

pub mod abbreviations;
pub mod analyzer;
pub mod fold;
pub mod json;
pub mod tags;
pub mod time;
pub mod unseen;
