//! Estimates the work of counting groups, so that too much is refused before it is begun.

use std::time::Duration;

use crate::index::bitset::CHUNK_ROWS;
use crate::index::doc_set::DocSet;
use crate::query::groups::counter::{COUNTERS_MAX, LISTED_MAX};
use crate::query::groups::source::Source;

/// The time to sort one of these occurrences.
const NANOS_PER_LISTED: f64 = 60.0;
/// The time to count a pair of codes.
const NANOS_PER_PAIR: f64 = 40.0;

/// Refuses to count the groups of a set if it would take longer than `time`, or too much memory; the
/// error says what would narrow the set.
pub(in crate::query) fn check(
    sources: &[Source<'_>],
    set: &DocSet,
    rows: u32,
    time: Duration,
) -> Result<(), String> {
    check_sources(&sources.iter().collect::<Vec<_>>(), set, rows, time)
}

/// As [`check`], for the pairs of a group and a number.
pub(in crate::query) fn check_pair(
    pair: [&Source<'_>; 2],
    set: &DocSet,
    rows: u32,
    time: Duration,
) -> Result<(), String> {
    check_sources(&pair, set, rows, time)
}

fn check_sources(
    sources: &[&Source<'_>],
    set: &DocSet,
    rows: u32,
    time: Duration,
) -> Result<(), String> {
    let listed_max = LISTED_MAX as f64;
    let matching = set.count() as f64;
    let is_pair = sources.len() > 1;
    let codes = sources.iter().map(|source| source.codes()).fold(1, u64::saturating_mul);
    let is_listed = codes > COUNTERS_MAX;
    let (mut row, mut start, mut values) = (0.0, 0.0, 1.0);
    for source in sources {
        let Ok(nanos) = source.nanos() else { continue };
        let looked_at = match source.has_totals() && !is_pair {
            true => 0.5,
            false => 1.0,
        };
        row += nanos.row * looked_at;
        // Rows may lie in every chunk.
        start += nanos.start + nanos.chunk * f64::from(rows) / CHUNK_ROWS as f64;
        values *= nanos.values.max(1.0);
    }
    if is_pair {
        row += values * NANOS_PER_PAIR;
    }
    if is_listed {
        row += values * NANOS_PER_LISTED;
    }
    let allowed = time.as_nanos() as f64;
    let needed = start + row * matching;
    let by_time = (needed > allowed).then(|| (allowed - start).max(0.0) / row);
    let by_memory = (is_listed && values * matching > listed_max).then(|| listed_max / values);
    let most = match (by_time, by_memory) {
        (None, None) => return Ok(()),
        (one, other) => one.unwrap_or(f64::INFINITY).min(other.unwrap_or(f64::INFINITY)) as u64,
    };
    let route = if most == 0 {
        "the key has too many values".to_owned()
    } else {
        format!("narrow `filter` to at most {most} records")
    };
    Err(format!(
        "counts too many values, about {:.1} s of work where {:.1} s are allowed; {route}",
        needed / 1e9,
        allowed / 1e9,
    ))
}
