//! Answers of the interface, compared with an independent evaluation of the same records.

#![allow(clippy::unwrap_used, missing_docs)]

mod autocomplete;
mod citations;
mod matching;
mod oracle;
mod queries;
mod references;
mod search;
mod searches;
mod sums;
