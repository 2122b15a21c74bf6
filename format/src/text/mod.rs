//! Texts: folding for comparison, words for search, JSON output, inverted indexes, times, and invisible characters.
//!
//! Imports no other folder.

pub mod abbreviations;
pub mod analyzer;
pub mod fold;
pub mod inverted_index;
pub mod json;
pub mod tags;
pub mod time;
pub mod unseen;
