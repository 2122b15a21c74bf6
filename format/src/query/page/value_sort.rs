//! Sorts the rows of a list by values that no order holds.
//!
//! ```text
//! sort      authors.count:desc,year            no order has the numbers of authors
//! rows      2, 5, 9                            the rows of the filter
//! values    (3, 2020), (12, 2019), (3, 2011)   of each record
//! sorted    5, 9, 2
//! ```
//!
//! Cost: one record read for each row of the filter, and about 100 bytes of memory for each row up to the page. If the reads would take longer than the caller allows, the sort is refused
//! before the first.

use std::collections::BinaryHeap;

use crate::index::bitset::CHUNK_ROWS;
use crate::index::doc_set::DocSet;
use crate::query::page::execute::ListPart;
use crate::query::page::scan::RECORD_NANOS;
use crate::query::page::sorted_page::DirectedOrder;
use crate::query::parse::query::Query;
use crate::query::parse::sort::ValueSort;
use crate::query::rows::deadline::{Deadline, QueryError};
use crate::record::{Gathered, PathTree};
use crate::snapshot::{RecordLookup, Snapshot};
use crate::storage::ReadError;

impl Query {
    /// Collects the rows of a part of a set in the order of a sort by values.
    pub(super) fn rows_by_values(
        &self,
        by: ValueSort,
        set: &DocSet,
        part: ListPart,
        snapshot: &Snapshot,
        deadline: Deadline<'_>,
    ) -> Result<Vec<u32>, QueryError> {
        let needed = set.count() as f64 * RECORD_NANOS;
        let allowed = deadline.allowed().map_or(f64::INFINITY, |time| time.as_nanos() as f64);
        if needed > allowed {
            let reason = format!(
                "is in no order, so the {} records of the list would be read; narrow `filter` to at most {}",
                set.count(),
                (allowed / RECORD_NANOS) as u64
            );
            return Err(QueryError::refused("sort", by.key.name, reason));
        }
        let keys = self.directed_orders(snapshot)?;
        let (before, after) = keys.split_at(by.place.min(keys.len()));
        let tree = self.keys.tree.pruned(&|end: &usize| *end == by.end);
        let rows = snapshot.count(self.entity);
        // The rows up to the end of the page, the last of them on top.
        let rows_max = part.from.saturating_add(part.rows_max as u64);
        let mut first = BinaryHeap::new();
        for chunk in 0..rows.div_ceil(CHUNK_ROWS as u32) {
            set.chunk_rows(chunk, rows, false).try_each(|low| {
                deadline.check()?;
                let row = chunk << 16 | u32::from(low);
                let numbers = |keys: &[DirectedOrder<'_>]| -> Result<Vec<u64>, ReadError> {
                    let number =
                        |key: &DirectedOrder<'_>| Ok(key.sort_number(key.order.code_of(row)?));
                    keys.iter().map(number).collect()
                };
                // On a mirror, the records of all rows are fetched together.
                let value = snapshot.or_noted(self.first_value(by, row, &tree, snapshot))?;
                let place = (numbers(before)?, (value.is_none(), value), numbers(after)?);
                first.push((place, snapshot.row_id(self.entity, row)?, row));
                if first.len() as u64 > rows_max {
                    first.pop();
                }
                Ok(())
            })?;
        }
        let page = first.into_sorted_vec().into_iter().skip(part.from as usize);
        Ok(page.map(|(.., row)| row).collect())
    }

    /// The value of a record that comes first, as a number that ascends with the sort.
    fn first_value(
        &self,
        by: ValueSort,
        row: u32,
        tree: &PathTree,
        snapshot: &Snapshot,
    ) -> Result<Option<u64>, ReadError> {
        let mut first: Option<u64> = None;
        snapshot.gather(self.entity, row, tree, &mut |_, value| {
            let value = match value {
                // Counts and amounts are whole numbers below 2^53.
                Gathered::Integer(value) => value as f64,
                Gathered::Number(value) => value,
                _ => return,
            };
            let bits = value.to_bits();
            let ascending = if value.is_sign_negative() { !bits } else { bits | 1 << 63 };
            let number = if by.is_descending { !ascending } else { ascending };
            first = Some(first.map_or(number, |first| first.min(number)));
        })?;
        Ok(first)
    }
}
