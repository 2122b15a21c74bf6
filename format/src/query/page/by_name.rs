//! The order of a list whose records a search of names found: that of autocomplete.
//!
//! ```text
//! search "ma"   names equal to "ma" | that begin with it | with another name that begins so | with the words
//!               in each part the most cited first
//! ```

use std::ops::Range;

use crate::index::bitset::{ChunkBits, EMPTY_CHUNK};
use crate::index::chunk_bits::set_rows;
use crate::index::doc_set::{DocSet, DocSetBuilder};
use crate::index::kept_sets::CountedSet;
use crate::query::page::execute::ListPart;
use crate::query::page::sorted_page::{DirectedOrder, NamedSet, rows_with_codes};
use crate::query::parse::query::Query;
use crate::query::rows::deadline::{Deadline, QueryError};
use crate::query::rows::names::{NamesBegun, rows_of_alternatives};
use crate::schema::keys_of;
use crate::snapshot::Snapshot;
use crate::storage::ReadError;

impl Query {
    /// The folded text of a search whose list is in the order of names; `None` of other lists.
    pub(in crate::query) fn ordering_name(&self) -> Option<&str> {
        let is_ordered = !self.sort.is_empty() || self.by_values.is_some() || self.sample.is_some();
        self.searched_name
            .as_deref()
            .filter(|_| !is_ordered && self.entity.facts().autocomplete_order.is_some())
    }

    /// Finds the rows of a part of the matching rows in the order of names.
    ///
    /// Cost: one pass over the chunks of the set, and the order of citations for the part.
    pub(in crate::query) fn rows_by_name(
        &self,
        folded: &str,
        matching: &DocSet,
        mut part: ListPart,
        snapshot: &Snapshot,
        deadline: Deadline<'_>,
    ) -> Result<Vec<u32>, QueryError> {
        let no_order = ReadError::Internal("the entity has no order of its names");
        let order = snapshot.order(self.entity, keys_of(self.entity).ranking().ok_or(no_order)?)?;
        let cited = [DirectedOrder { order, is_reversed: false }];
        let mut rows = Vec::new();
        for tier in self.tiers(folded, matching, snapshot, deadline)? {
            let (set, left) = (CountedSet::new(tier), part.rows_max - rows.len());
            let count = set.rows.count();
            if left > 0 && part.from < count {
                let of_tier = ListPart { from: part.from, rows_max: left };
                let named = NamedSet { set: &set, name: None };
                rows.extend(self.sorted_rows(named, &cited, of_tier, snapshot, deadline)?);
            }
            part.from = part.from.saturating_sub(count);
        }
        Ok(rows)
    }

    /// Divides the matching rows by how their names agree with a text, the best first.
    fn tiers(
        &self,
        folded: &str,
        matching: &DocSet,
        snapshot: &Snapshot,
        deadline: Deadline<'_>,
    ) -> Result<[DocSet; 4], QueryError> {
        let (equals, begins, alternatives) = self.rows_of_names(folded, snapshot, deadline)?;
        let chunks = snapshot.count(self.entity).div_ceil(1 << 16);
        let mut tiers = [(); 4].map(|()| DocSetBuilder::new(chunks));
        for chunk in 0..chunks {
            deadline.check()?;
            let mut rest = matching.chunk_bits(chunk);
            let mut others = EMPTY_CHUNK;
            set_rows(&mut others, &alternatives, chunk);
            let better = [equals.chunk_bits(chunk), begins.chunk_bits(chunk), others];
            for (tier, wanted) in tiers.iter_mut().zip(&better) {
                tier.push_bits(chunk, &take(&mut rest, wanted));
            }
            tiers[better.len()].push_bits(chunk, &rest);
        }
        Ok(tiers.map(DocSetBuilder::finish))
    }

    /// The rows with names equal to a text, that begin with it, and with alternative names that begin with it.
    fn rows_of_names(
        &self,
        folded: &str,
        snapshot: &Snapshot,
        deadline: Deadline<'_>,
    ) -> Result<(DocSet, DocSet, Vec<u32>), QueryError> {
        let names = NamesBegun::find(snapshot, self.entity, folded);
        // One attempt notes the absent chunks of all.
        let alternatives = rows_of_alternatives(snapshot, self.entity, folded, deadline);
        let names = names?;
        let with = |codes: &Range<u64>| match codes.is_empty() {
            true => Ok(DocSet::Sorted(Vec::new())),
            false => rows_with_codes(names.by_name, codes.clone(), &[], deadline),
        };
        let (equals, begins) = (with(&names.equals.codes), with(&names.begins.codes));
        Ok((equals?, begins?, alternatives?))
    }

    /// Reads what an order of names reads first, so that an attempt notes its absent chunks.
    pub(in crate::query) fn note_names(&self, snapshot: &Snapshot, deadline: Deadline<'_>) {
        if let Some(folded) = self.ordering_name() {
            let _ = self.rows_of_names(folded, snapshot, deadline);
        }
    }
}

/// Takes the bits of a chunk that others have, too.
fn take(from: &mut ChunkBits, wanted: &ChunkBits) -> ChunkBits {
    let mut taken = EMPTY_CHUNK;
    for ((taken, from), wanted) in taken.iter_mut().zip(from.iter_mut()).zip(wanted) {
        *taken = *from & wanted;
        *from &= !wanted;
    }
    taken
}
