//! New row and code numbers for a subset: kept rows keep their order, dropped rows leave no gap.
//!
//! ```text
//! full:    0 kept   1 dropped   2 kept   3 suppressed, referred to   4 kept
//! subset:  0                    1        3 (a placeholder)           2
//! ```

use std::{collections::BTreeMap, io};

use pinakes_format::entity::Entity;

use crate::link::atomic_bitset::RankBitset;
use crate::link::resolve::unresolved::UnresolvedSymbol;
use crate::object::Symbol;

/// The new numbers of kept rows and codes.
pub(crate) struct Renumbering {
    /// By entity: the kept rows, records first, then unresolved references.
    pub rows: Vec<RankBitset>,
    pub codes: RankBitset,
    /// By entity.
    pub placeholders: Vec<Placeholders>,
}

impl Renumbering {
    pub(crate) fn has_placeholders(&self) -> bool {
        self.placeholders.iter().any(|placeholders| !placeholders.ids.is_empty())
    }

    /// Counts the suppressed records of each entity that has any.
    pub(crate) fn count_suppressed(&self) -> BTreeMap<String, u64> {
        Entity::all()
            .zip(&self.placeholders)
            .map(|(entity, of)| (entity.facts().plural.to_owned(), of.records.len() as u64))
            .filter(|(_, count)| *count > 0)
            .collect()
    }

    /// The new number of a row; `None` if the subset has neither the row nor a placeholder for it.
    pub(crate) fn row(&self, entity: Entity, row: u32) -> Option<u32> {
        self.placeholders[entity as usize].new_row(row, &self.rows[entity as usize])
    }
}

/// The placeholders of one entity: unresolved references, each with the id of a suppressed record
/// and no name.
#[derive(Default)]
pub(crate) struct Placeholders {
    /// Their ids, ascending.
    ids: Vec<u64>,
    /// For each, the old row of the first unresolved reference with a greater id.
    next_rows: Vec<u32>,
    /// Old rows that a placeholder replaces, ascending, with the placeholder's new row.
    new_rows: Vec<(u32, u32)>,
    /// Old rows of suppressed records, ascending, with or without a placeholder.
    records: Vec<u32>,
}

impl Placeholders {
    /// Placeholders for the given records; none yet.
    pub(crate) fn new(records: Vec<u32>) -> Placeholders {
        Placeholders { records, ..Placeholders::default() }
    }

    /// Adds a placeholder that replaces `old_rows`. Placeholders come ascending by id.
    /// `next_row` is the old row of the first unresolved reference with the id or a greater one.
    pub(crate) fn push(
        &mut self,
        id: u64,
        old_rows: impl Iterator<Item = u32>,
        next_row: u32,
        kept: &RankBitset,
    ) {
        let new_row = kept.count_before(next_row) + self.ids.len() as u32;
        self.new_rows.extend(old_rows.map(|row| (row, new_row)));
        self.ids.push(id);
        self.next_rows.push(next_row);
    }

    /// Sorts the replaced rows. Call after the last `push`.
    pub(crate) fn finish(&mut self) {
        self.new_rows.sort_unstable();
    }

    /// The new number of a row: its placeholder's, or its rank among kept rows plus the number of
    /// placeholders before the row.
    fn new_row(&self, row: u32, kept: &RankBitset) -> Option<u32> {
        if let Ok(at) = self.new_rows.binary_search_by_key(&row, |(row, _)| *row) {
            return Some(self.new_rows[at].1);
        }
        let before = self.next_rows.partition_point(|next| *next <= row) as u32;
        kept.rank(row).map(|rank| rank + before)
    }

    /// The old rows of suppressed records, ascending.
    pub(crate) fn records(&self) -> &[u32] {
        &self.records
    }

    /// Merges the placeholders into the unresolved references of their entity, ascending by id.
    pub(crate) fn merge_into(
        &self,
        entity: Entity,
        symbols: impl Iterator<Item = io::Result<UnresolvedSymbol>>,
    ) -> impl Iterator<Item = io::Result<UnresolvedSymbol>> {
        let placeholder = move |id| Ok(Symbol { kind: entity as u8, id, name: None }.into());
        let (mut ids, mut symbols) = (self.ids.clone().into_iter().peekable(), symbols.peekable());
        std::iter::from_fn(move || match (symbols.peek(), ids.peek()) {
            (Some(Ok(symbol)), Some(id)) if *id < symbol.id => ids.next().map(placeholder),
            (None, Some(_)) => ids.next().map(placeholder),
            _ => symbols.next(),
        })
    }
}
