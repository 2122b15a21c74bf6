//! Merging: picks one copy of every record and gives each picked record a row.
//!
//! Takes the segments of the objects. Gives [`rows::Rows`] for every entity, the taxonomy's sums of
//! outputs and citations, and the newest `updated_date`. Reads keys and taxonomy records only.
//!
//! Imports `link/{atomic_bitset, column, context, tally, taxonomy}`.

pub(crate) mod copies;
pub(crate) mod deletions;
pub(crate) mod entity_rows;
pub(crate) mod levels;
pub(crate) mod orphans;
pub(crate) mod redirects;
