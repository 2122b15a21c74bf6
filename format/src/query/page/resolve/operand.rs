//! Finds the rows of an operand in the index of its expression.

use std::ops::Range;

use crate::entity::Entity;
use crate::index::bitset::{Bitset, CHUNK_ROWS, EMPTY_CHUNK};
use crate::index::chunk_bits::set_all;
use crate::index::citations::RowList;
use crate::index::doc_set::DocSet;
use crate::index::term_lists::{Term, TermListsFile, any_row_term, text_term};
use crate::query::parse::filter::Expression;
use crate::query::parse::operand::Operand;
use crate::query::rows::clause::{Clause, Leaf};
use crate::query::rows::deadline::{Deadline, QueryError};
use crate::query::rows::intersection::Intersection;
use crate::query::rows::range::ValueRange;
use crate::query::rows::union::Union;
use crate::query::rows::versions::{NAMESAKES_MAX, VersionKey};
use crate::query::rows::words::{add_words, rows_of_prefixes};
use crate::query::search::SearchSummary;
use crate::record::Gathered;
use crate::schema::{Direction, Index, Terms, keys_of};
use crate::snapshot::{LookupResult, RecordLookup, Snapshot};
use crate::storage::ReadError;

/// Posting lists or records read between two checks of the deadline.
const READS_PER_CHECK: u64 = 4_096;

/// Adds the rows of an expression's operands to their union.
pub(super) struct ExpressionResolver<'s, 'e> {
    pub snapshot: &'s Snapshot,
    pub entity: Entity,
    pub expression: &'e Expression,
    pub deadline: Deadline<'s>,
    pub union: Union<'s>,
    /// The summary of the search, if an operand is one.
    pub searched: Option<SearchSummary>,
}

impl<'s> ExpressionResolver<'s, '_> {
    /// Adds the rows that an operand finds in the index of the expression, or in an index that this one follows from.
    pub(super) fn add_operand(
        &mut self,
        index: Index,
        operand: &Operand,
    ) -> Result<(), QueryError> {
        match (index, operand) {
            (Index::Read { present, .. }, Operand::Null) => {
                let present = self.snapshot.term_lists(self.entity)?.presence(present)?;
                self.union.add_leaf(Leaf::NotPostings(present));
            }
            // The posting lists also have references at other paths, so the records decide.
            (Index::Read { read, among, .. }, Operand::Record(entity, id)) => {
                for row in self.rows_with_id(*entity, *id)? {
                    self.add_read(read, among, row)?;
                }
            }
            // An index that follows from others has no list of the rows without a value.
            (_, Operand::Null) if index.is_follower() => {
                let mut without = self.present(index)?;
                let rows = self.union.rows();
                for (chunk, bits) in (0..).zip(without.chunks_mut()) {
                    let mut all = EMPTY_CHUNK;
                    set_all(&mut all, rows, chunk);
                    bits.iter_mut().zip(&all).for_each(|(bit, word)| *bit = word & !*bit);
                }
                self.union.add_bitmap(without);
            }
            (Index::Any(indexes), operand) => {
                for index in indexes {
                    self.add_operand(*index, operand)?;
                }
            }
            // The record itself has the id, so no record of the other entity is looked up by an index.
            (Index::Through { entity, rows, index: Index::Ids }, Operand::Record(of, _)) => {
                if *of == entity {
                    self.add_from_lists(rows, operand)?;
                }
            }
            (Index::Through { entity, rows, index }, operand) => {
                let found = self.beyond(entity, |beyond| beyond.add_operand(*index, operand))?;
                self.add_references(entity, rows, &found)?;
            }
            // `false` asks for the rows that have none of the codes, so their rows are found apart from the union.
            (Index::OneOf { index, codes }, Operand::Presence(is_one)) => {
                let found = self.within(|within| within.add_codes(*index, codes))?;
                let found = Clause { is_negated: !is_one, ..found };
                self.union.add_bitmap(found.to_bitset(self.union.rows(), self.deadline)?);
            }
            (Index::Classes { index, classes }, Operand::Term(term)) => {
                let class = classes.iter().find(|class| text_term(class.name) == *term);
                if let Some(class) = class {
                    self.add_codes(*index, class.codes)?;
                }
            }
            // Every record has an id.
            (_, Operand::Nothing) | (Index::Ids, Operand::Null) => {}
            (Index::Ids | Index::Words, Operand::Record(entity, id)) => {
                let records = self.snapshot.count(self.entity);
                let rows = self.rows_with_id(*entity, *id)?;
                // Rows after the records are of references without a record.
                rows.filter(|row| *row < records).for_each(|row| self.union.add_row(row));
            }
            (Index::Lists(lists), operand) => self.add_from_lists(lists, operand)?,
            (Index::Presence(lists), Operand::Presence(is_present)) => {
                let presence = self.snapshot.term_lists(self.entity)?.presence(lists)?;
                match is_present {
                    true => self.union.add_list(presence)?,
                    false => self.union.add_leaf(Leaf::NotPostings(presence)),
                }
            }
            (Index::Names { entity, rows, named }, Operand::Null) => {
                let presence = self.snapshot.term_lists(self.entity)?.presence(named)?;
                self.union.add_leaf(Leaf::NotPostings(presence));
                // The lists count suppressed records as named.
                self.add_rows_with_suppressed_names(entity, rows)?;
            }
            (Index::Names { entity, rows, .. }, Operand::Term(name)) => {
                self.add_references_by_name(entity, rows, *name)?;
            }
            (Index::Order(order), operand) => self.add_from_order(order, operand)?,
            (Index::Citations(direction), operand) => self.add_linked(direction, operand)?,
            (Index::Versions { titles }, Operand::Record(entity, id)) => {
                self.add_versions(titles, *entity, *id)?;
            }
            (Index::FullText(_), Operand::Search(search)) => {
                let (matching, summary) = search.rows(self.snapshot, self.entity, self.deadline)?;
                self.union.add_set(matching)?;
                self.searched = Some(summary);
            }
            (Index::Words, Operand::Words(words)) => {
                add_words(self.snapshot, self.entity, words, self.deadline, &mut self.union)?;
            }
            (Index::Prefixes(lists), Operand::Words(words)) => {
                let file = self.snapshot.term_lists(self.entity)?;
                let rows = rows_of_prefixes(file, lists, words)?;
                rows.into_iter().for_each(|row| self.union.add_row(row));
            }
            (Index::ReferenceWords { entity, rows, .. }, Operand::Words(words)) => {
                self.add_references_by_words(entity, rows, words)?;
            }
            // The parser makes no other operand for these indexes.
            _ => {
                return Err(
                    ReadError::Internal("the operand does not fit the index of its key").into()
                );
            }
        }
        Ok(())
    }

    /// Adds the rows with one of some codes.
    fn add_codes(&mut self, index: Index, codes: &[&str]) -> Result<(), QueryError> {
        for code in codes {
            let operand = Operand::Term(text_term(&code.to_ascii_lowercase()));
            self.add_operand(index, &operand)?;
        }
        Ok(())
    }

    /// The rows that `add` finds, apart from those found before.
    fn within(
        &mut self,
        add: impl FnOnce(&mut Self) -> Result<(), QueryError>,
    ) -> Result<Clause<'s>, QueryError> {
        let union = Union::new(self.union.rows());
        let mut within = ExpressionResolver { union, searched: None, ..*self };
        add(&mut within)?;
        Ok(Clause::internal(within.union.into_leaves()))
    }

    /// The rows of records of another entity that `add` finds, without suppressed records.
    fn beyond(
        &self,
        entity: Entity,
        add: impl FnOnce(&mut Self) -> Result<(), QueryError>,
    ) -> Result<DocSet, QueryError> {
        let rows = self.snapshot.count(entity);
        let union = Union::new(rows);
        let mut beyond = ExpressionResolver { entity, union, searched: None, ..*self };
        add(&mut beyond)?;
        let clause = Clause::internal(beyond.union.into_leaves());
        let suppressed = self.snapshot.suppressed().rows(entity);
        let found = Intersection::new(vec![clause], rows).without(suppressed);
        DocSet::from_intersection(&found, self.deadline)
    }

    /// Adds the rows that refer to records of another entity. Cost: one posting list for each of the records.
    fn add_references(
        &mut self,
        entity: Entity,
        lists: usize,
        records: &DocSet,
    ) -> Result<(), QueryError> {
        let file = self.snapshot.term_lists(self.entity)?;
        let terms = keys_of(self.entity).lists[lists].terms;
        let mut at = 0;
        let rows = self.snapshot.rows(entity);
        for chunk in 0..rows.div_ceil(CHUNK_ROWS as u32) {
            records.chunk_rows(chunk, rows, false).try_each(|low| {
                let row = chunk << 16 | u32::from(low);
                let term = match terms {
                    Terms::AnyRows => any_row_term(entity, row),
                    _ => Term::from(row),
                };
                self.check_deadline(at)?;
                at += 1;
                // A mirror fetches what all of them need together.
                let added = self.add_term(file, lists, term);
                Ok(self.snapshot.or_noted(added)?)
            })?;
        }
        Ok(())
    }

    /// Adds the rows whose records refer to a row at a path that is read, among those of its posting list.
    ///
    /// Cost: one record read for each row of the list.
    fn add_read(&mut self, read: usize, among: usize, referred: u32) -> Result<(), QueryError> {
        let (entity, snapshot) = (self.entity, self.snapshot);
        let Some(list) = snapshot.term_lists(entity)?.find(among, Term::from(referred))? else {
            return Ok(());
        };
        let rows = list.to_vec()?;
        let keys = keys_of(entity);
        let tree = keys.tree.pruned(&|end: &usize| keys.ends[*end].read == Some(read));
        for row in rows {
            self.deadline.check()?;
            let mut is_found = false;
            let gathered = snapshot.gather(entity, row, &tree, &mut |_, value| {
                is_found |= matches!(value, Gathered::Reference(_, row) if row == referred);
            });
            snapshot.or_noted(gathered)?;
            if is_found {
                self.union.add_row(row);
            }
        }
        Ok(())
    }

    /// The rows for which an index that follows from others has a value.
    fn present(&mut self, index: Index) -> Result<Bitset, QueryError> {
        let found = self.within(|within| within.add_present(index))?;
        found.to_bitset(self.union.rows(), self.deadline)
    }

    /// Adds the rows that have a value in an index.
    fn add_present(&mut self, index: Index) -> Result<(), QueryError> {
        match index {
            Index::Lists(lists) => {
                let file = self.snapshot.term_lists(self.entity)?;
                self.union.add_leaf(Leaf::Postings(file.presence(lists)?));
            }
            Index::Order(order) => {
                let order = self.snapshot.order(self.entity, order)?;
                let without = ValueRange::without_value(order)?;
                let without = Clause { is_negated: true, ..Clause::internal(vec![without.into()]) };
                self.union.add_bitmap(without.to_bitset(self.union.rows(), self.deadline)?);
            }
            Index::Any(indexes) => {
                indexes.iter().try_for_each(|index| self.add_present(*index))?;
            }
            // Also a reference without a record has an id.
            Index::Through { entity, rows, index: Index::Ids } => {
                let every = self.snapshot.rows(entity);
                self.add_references(entity, rows, &DocSet::All(every))?;
            }
            Index::Through { entity, rows, index } => {
                let found = self.beyond(entity, |beyond| beyond.add_present(*index))?;
                self.add_references(entity, rows, &found)?;
            }
            Index::Classes { index, classes } => {
                classes.iter().try_for_each(|class| self.add_codes(*index, class.codes))?;
            }
            // Every record has an answer.
            _ => self.union.add_leaf(Leaf::Interval(0..self.union.rows())),
        }
        Ok(())
    }

    /// The row of a record, or the rows of unresolved references with the id. A merged id stands for
    /// the id it was merged into, as in references. A suppressed record keeps its row here, because
    /// references to the record remain.
    fn rows_with_id(&self, entity: Entity, id: u64) -> Result<Range<u32>, ReadError> {
        let (id, found) = match self.snapshot.find_unfiltered(entity, id)? {
            LookupResult::Merged(into) => (into, self.snapshot.find_unfiltered(entity, into)?),
            found => (id, found),
        };
        match found {
            LookupResult::Row(row) => Ok(row..row + 1),
            _ => self.snapshot.unresolved_rows(entity, id),
        }
    }

    fn add_from_lists(&mut self, lists: usize, operand: &Operand) -> Result<(), QueryError> {
        let file = self.snapshot.term_lists(self.entity)?;
        let spec = keys_of(self.entity)
            .lists
            .get(lists)
            .ok_or(ReadError::Internal("the entity has no term list of this number"))?;
        match operand {
            Operand::Null => self.union.add_leaf(Leaf::NotPostings(file.presence(lists)?)),
            Operand::Term(term) => self.add_term(file, lists, *term)?,
            // The lists of another entity have no such record.
            Operand::Record(entity, _) if !spec.terms.are_rows_of(*entity) => {}
            Operand::Record(entity, id) => {
                for row in self.rows_with_id(*entity, *id)? {
                    let term = match spec.terms {
                        Terms::AnyRows => any_row_term(*entity, row),
                        _ => Term::from(row),
                    };
                    self.add_term(file, lists, term)?;
                }
            }
            Operand::Between(low, high) => {
                let from = file.lower_bound(lists, Term::from(*low))?;
                let to = file.lower_bound(lists, Term::from(*high) + 1)?;
                for at in from..to {
                    self.union.add_list(file.postings(lists, at)?)?;
                }
            }
            Operand::Presence(_)
            | Operand::Words(_)
            | Operand::Search(_)
            | Operand::Beginning(_)
            | Operand::Nothing => {
                return Err(ReadError::Internal("the operand does not fit a term list").into());
            }
        }
        Ok(())
    }

    /// Adds the records that the operand's records lead to in a direction of the citation graph.
    fn add_linked(&mut self, direction: Direction, operand: &Operand) -> Result<(), QueryError> {
        let citations = self.snapshot.citations(self.entity)?;
        let records = self.snapshot.count(self.entity);
        match operand {
            Operand::Null => {
                let linked = citations.present(direction.reversed())?;
                self.union.add_leaf(Leaf::NotPostings(linked));
                if direction == Direction::References {
                    self.add_rows_with_suppressed_citations()?;
                }
            }
            Operand::Record(entity, id) => {
                let suppressed = self.snapshot.suppressed();
                for row in self.rows_with_id(*entity, *id)? {
                    let has_references = row < records && !suppressed.has(*entity, row);
                    if direction == Direction::References && !has_references {
                        continue;
                    }
                    match citations.rows(direction, row)? {
                        RowList::Postings(list) if direction == Direction::Citations => {
                            self.union.add_list(list)?;
                        }
                        // References may lead to rows without a record.
                        list => list.each(|row| {
                            if row < records {
                                self.union.add_row(row);
                            }
                            true
                        })?,
                    }
                }
            }
            _ => return Err(ReadError::Internal("the operand is no record").into()),
        }
        Ok(())
    }

    /// Adds the other versions of a record. Cost: one record read for each record of the same title, unless these are more than
    /// [`NAMESAKES_MAX`].
    fn add_versions(&mut self, titles: usize, entity: Entity, id: u64) -> Result<(), QueryError> {
        let snapshot = self.snapshot;
        for named in self.rows_with_id(entity, id)?.filter(|row| *row < snapshot.count(entity)) {
            let Some(term) = VersionKey::term(snapshot, named)? else { continue };
            // The title is looked up before the name of the author is here: an attempt notes what both lack.
            let list = snapshot.term_lists(entity)?.find(titles, term);
            let key = VersionKey::read(snapshot, named);
            let list = list?.filter(|list| list.count() <= NAMESAKES_MAX);
            let (Some(list), Some(key)) = (list, key?) else { continue };
            for row in list.to_vec()?.into_iter().filter(|row| *row != named) {
                self.deadline.check()?;
                // On a mirror, the records of all rows are fetched together.
                let other = snapshot.or_noted(VersionKey::read(snapshot, row))?;
                if other.is_some_and(|other| key.is_version_of(&other)) {
                    self.union.add_row(row);
                }
            }
        }
        Ok(())
    }

    /// Adds the records that suppressed records alone refer to.
    ///
    /// Cost: the references of the suppressed records, and the citations of each up to the first one
    /// that counts.
    fn add_rows_with_suppressed_citations(&mut self) -> Result<(), QueryError> {
        let records = self.snapshot.count(self.entity);
        let citations = self.snapshot.citations(self.entity)?;
        for row in self.snapshot.suppressed().rows(self.entity) {
            self.deadline.check()?;
            let referenced = citations.rows(Direction::References, *row)?.into_vec()?;
            for row in referenced.into_iter().filter(|row| *row < records) {
                if !self.snapshot.is_cited(self.entity, row)? {
                    self.union.add_row(row);
                }
            }
        }
        Ok(())
    }

    pub(super) fn add_term(
        &mut self,
        file: &'s TermListsFile,
        lists: usize,
        term: Term,
    ) -> Result<(), ReadError> {
        match file.find(lists, term)? {
            Some(list) => self.union.add_list(list),
            None => Ok(()),
        }
    }

    pub(super) fn check_deadline(&self, reads: u64) -> Result<(), QueryError> {
        if reads.is_multiple_of(READS_PER_CHECK) { self.deadline.check() } else { Ok(()) }
    }

    fn add_from_order(&mut self, order: usize, operand: &Operand) -> Result<(), QueryError> {
        let lists = keys_of(self.entity).orders.get(order).and_then(|spec| spec.lists);
        if let (Some(lists), Operand::Between(low, high)) = (lists, operand)
            && low == high
        {
            let file = self.snapshot.term_lists(self.entity)?;
            return Ok(self.add_term(file, lists, Term::from(*low))?);
        }
        let order = self.snapshot.order(self.entity, order)?;
        let range = match operand {
            Operand::Null => ValueRange::without_value(order)?,
            Operand::Between(low, high) => {
                ValueRange::new(order, order.codes_between(*low, *high)?)?
            }
            _ => return Err(ReadError::Internal("the operand does not fit an order").into()),
        };
        Ok(self.union.add_range(range)?)
    }
}
