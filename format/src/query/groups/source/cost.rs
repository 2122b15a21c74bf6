//! Estimates the time of counting the values of a key.

use crate::query::groups::source::Source;
use crate::query::page::scan::RECORD_NANOS;
use crate::storage::ReadError;

/// An estimate of the time that counting takes.
#[derive(Clone, Copy)]
pub(in crate::query::groups) struct Nanos {
    pub row: f64,
    pub chunk: f64,
    pub start: f64,
    /// The values of a row, on average.
    pub values: f64,
}

impl Nanos {
    pub(super) fn add(&mut self, other: Nanos) {
        self.row += other.row;
        self.chunk += other.chunk;
        self.start += other.start;
        self.values += other.values;
    }
}

impl Source<'_> {
    /// An estimate of the nanoseconds that counting takes: for rows that are looked at, in chunks, and
    /// once at the start.
    pub(in crate::query::groups) fn nanos(&self) -> Result<Nanos, ReadError> {
        let per = |total: u64, rows: u32| total as f64 / f64::from(rows.max(1));
        Ok(match self {
            Source::Lists(lists) => {
                let groups = lists.groups.len() as f64;
                let values = lists.groups.iter().flat_map(|(_, lists)| lists);
                let values = values.map(|list| u64::from(list.count())).sum();
                let rows = lists.snapshot.count(lists.entity);
                let values = per(values, rows);
                // Each list is intersected with each chunk, whether its rows match or not.
                Nanos { row: values, chunk: groups * 60.0, start: groups * 100.0, values }
            }
            Source::Presence(_) => Nanos { row: 0.5, chunk: 1_000.0, start: 0.0, values: 1.0 },
            Source::Order(order) => {
                // For totals, two binary searches find the ranks of each code; otherwise each code has a counter.
                let start = order.no_code() as f64 * if self.has_totals() { 2_000.0 } else { 0.5 };
                Nanos { row: 2.0, chunk: 0.0, start, values: 1.0 }
            }
            Source::Targets(targets) => {
                let records = targets.file.archive().header().published as u32;
                let values = per(targets.file_rows() as u64, records);
                let terms = targets.terms.terms(targets.lists)? as f64;
                let start = if self.has_totals() { terms * 100.0 } else { 0.0 };
                // Each chunk reads all its blocks of target rows.
                Nanos { row: 2.0 + 2.0 * values, chunk: 20_000.0, start, values }
            }
            Source::Links(links) => {
                let records = links.snapshot.count(links.entity);
                let values = per(links.citations.links(links.direction), records);
                // Each row reads its list of links.
                Nanos { row: 200.0 + 15.0 * values, chunk: 0.0, start: 0.0, values }
            }
            // Each row reads its record.
            Source::Texts(texts) => {
                Nanos { row: texts.nanos_per_row(), chunk: 0.0, start: 0.0, values: 2.0 }
            }
            Source::Records(_) => Nanos { row: RECORD_NANOS, chunk: 0.0, start: 0.0, values: 2.0 },
            Source::Own(..) => Nanos { row: 2.0, chunk: 0.0, start: 0.0, values: 1.0 },
            Source::Joined(joined) => joined.nanos()?,
            Source::Each(sources) => {
                let mut all = Nanos { row: 0.0, chunk: 0.0, start: 0.0, values: 0.0 };
                for source in sources {
                    all.add(source.nanos()?);
                }
                all
            }
            Source::Sets(sets) => sets.nanos(),
        })
    }
}
