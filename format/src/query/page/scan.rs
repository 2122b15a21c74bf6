//! Finds the rows whose records have a value that no index holds.
//!
//! ```text
//! filter    type:article,venues.landing_page_url:"https://…"    the second key has no index
//! rows      2, 5, 9                                             what the index of `type` leaves
//! scanned   5                                                   the record that has the address
//! ```
//!
//! Cost: one record read for each row that the other expressions leave. If the reads would take longer than the caller
//! allows, [`scan`] refuses them before the first.

use crate::index::bitset::CHUNK_ROWS;
use crate::index::doc_set::{DocSet, DocSetBuilder};
use crate::query::page::predicate::Predicate;
use crate::query::parse::filter::Expression;
use crate::query::parse::query::Query;
use crate::query::rows::deadline::{Deadline, QueryError};
use crate::query::rows::intersection::Intersection;
use crate::schema::{Index, ScannedValues};
use crate::snapshot::Snapshot;

/// The time to read a record and its values.
pub(in crate::query) const RECORD_NANOS: f64 = 3_000.0;
/// The same with the long texts of the record, which are decompressed together.
pub(in crate::query) const LONG_TEXTS_NANOS: f64 = 25_000.0;

/// Whether an expression is on values that no index holds.
pub(super) fn is_scanned(expression: &Expression) -> bool {
    matches!(expression.index, Index::Scanned { .. })
}

/// Keeps those of the matching rows whose records match the scanned expressions of a query.
pub(super) fn scan(
    query: &Query,
    matches: &Intersection<'_>,
    snapshot: &Snapshot,
    deadline: Deadline<'_>,
) -> Result<DocSet, QueryError> {
    let scanned: Vec<Expression> =
        query.filter.iter().filter(|expression| is_scanned(expression)).cloned().collect();
    let candidates = DocSet::from_intersection(matches, deadline)?;
    let has_long = |expression: &Expression| {
        matches!(expression.index, Index::Scanned { values: ScannedValues::LongTexts, .. })
    };
    let nanos = if scanned.iter().any(has_long) { LONG_TEXTS_NANOS } else { RECORD_NANOS };
    let needed = candidates.count() as f64 * nanos;
    let allowed = deadline.allowed().map_or(f64::INFINITY, |time| time.as_nanos() as f64);
    if needed > allowed {
        let text = scanned.first().map_or("", |expression| &expression.text);
        let reason = format!(
            "is in no index, so the {} records that the rest of `filter` leaves would be read; narrow them to at most {}",
            candidates.count(),
            (allowed / nanos) as u64
        );
        return Err(QueryError::refused("filter", text, reason));
    }
    let predicate = Predicate::new(&Query { filter: scanned, ..query.clone() }, snapshot)?;
    let rows = matches.rows();
    let chunks = rows.div_ceil(CHUNK_ROWS as u32);
    let mut builder = DocSetBuilder::new(chunks);
    for chunk in 0..chunks {
        let mut found = Vec::new();
        candidates.chunk_rows(chunk, rows, false).try_each(|low| {
            deadline.check()?;
            let row = chunk << 16 | u32::from(low);
            // On a mirror, the records of all rows are fetched together.
            if snapshot.or_noted(predicate.is_true_of(snapshot, row))? {
                found.push(low);
            }
            Ok(())
        })?;
        builder.push_rows(chunk, &found);
    }
    Ok(builder.finish())
}
