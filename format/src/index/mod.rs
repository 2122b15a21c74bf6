//! `index`.

pub mod bitset;
pub mod check;
pub mod dictionary;
pub mod encoding;
pub mod fst_shards;
pub mod orders;
pub mod postings;
pub mod prefix_stats;
pub mod term_lists;
