//! Finds the rows that refer to records, or to unresolved references, by the names of these.

use crate::entity::Entity;
use crate::index::bitset::CHUNK_ROWS;
use crate::index::doc_set::DocSet;
use crate::index::term_lists::Term;
use crate::query::page::predicate::Predicate;
use crate::query::page::resolve::operand::ExpressionResolver;
use crate::query::parse::filter::Expression;
use crate::query::parse::operand::Operand;
use crate::query::parse::query::Query;
use crate::query::rows::clause::Clause;
use crate::query::rows::deadline::QueryError;
use crate::query::rows::intersection::Intersection;
use crate::query::rows::union::Union;
use crate::query::rows::words::{rows_of_prefixes, rows_of_words};
use crate::schema::{Index, keys_of};

impl ExpressionResolver<'_, '_> {
    /// Adds the rows that refer to a record or an unresolved reference of `target` with this name.
    pub(super) fn add_references_by_name(
        &mut self,
        target: Entity,
        lists: usize,
        name: Term,
    ) -> Result<(), QueryError> {
        let keys = keys_of(target);
        let names = self.snapshot.term_lists(target)?;
        // Unresolved references have names too, in lists apart from those of the records.
        let record_names = match keys.filter("name") {
            Some((_, Index::Lists(lists))) => Some(lists),
            _ => None,
        };
        let file = self.snapshot.term_lists(self.entity)?;
        for name_lists in record_names.into_iter().chain(keys.unresolved_names) {
            let Some(with_name) = names.find(name_lists, name)? else { continue };
            let mut rows = Vec::with_capacity(with_name.count() as usize);
            let suppressed = self.snapshot.suppressed();
            with_name.each(|row| {
                // A suppressed record has no name, so no reference finds it by its name.
                if !suppressed.has(target, row) {
                    rows.push(row);
                }
                true
            })?;
            for (at, row) in (0..).zip(rows) {
                self.check_deadline(at)?;
                self.add_term(file, lists, Term::from(row))?;
            }
        }
        Ok(())
    }

    /// Adds the rows that refer to a record, or an unresolved reference, of `target` whose names have the
    /// words.
    ///
    /// Cost: that of a search of `target`, and one posting list for each row found there.
    pub(super) fn add_references_by_words(
        &mut self,
        target: Entity,
        lists: usize,
        words: &[String],
    ) -> Result<(), QueryError> {
        let file = self.snapshot.term_lists(self.entity)?;
        let records = rows_of_words(self.snapshot, target, words, self.deadline).map(Some);
        // The references without a record are looked up in the same attempt.
        let records = self.snapshot.or_noted(records)?.unwrap_or(DocSet::Sorted(Vec::new()));
        let mut rows = Vec::with_capacity(records.count() as usize);
        for chunk in 0..self.snapshot.count(target).div_ceil(CHUNK_ROWS as u32) {
            records.chunk_rows(chunk, self.snapshot.count(target), false).each(|low| {
                rows.push(chunk << 16 | u32::from(low));
                true
            });
        }
        if let Some(unresolved) = keys_of(target).unresolved_words {
            let of_target = self.snapshot.term_lists(target)?;
            let suppressed = self.snapshot.suppressed();
            let found = rows_of_prefixes(of_target, unresolved, words)?;
            rows.extend(found.into_iter().filter(|row| !suppressed.has(target, *row)));
        }
        for (at, row) in (0..).zip(rows) {
            self.check_deadline(at)?;
            self.add_term(file, lists, Term::from(row))?;
        }
        Ok(())
    }

    /// Adds the rows that have no name left among their references once suppressed names are gone.
    ///
    /// Cost: one record read for each row that refers to something suppressed.
    pub(super) fn add_rows_with_suppressed_names(
        &mut self,
        target: Entity,
        lists: usize,
    ) -> Result<(), QueryError> {
        let suppressed = self.snapshot.suppressed().all_rows(target);
        if suppressed.is_empty() {
            return Ok(());
        }
        let file = self.snapshot.term_lists(self.entity)?;
        // First the records that refer to something suppressed, by the lists of its rows.
        let mut referring = Union::new(self.union.rows());
        for (at, row) in (0..).zip(suppressed) {
            self.check_deadline(at)?;
            if let Some(list) = file.find(lists, Term::from(*row))? {
                referring.add_list(list)?;
            }
        }
        // Then the records without any other name: to a reader these records have no name.
        let is_null = Expression {
            is_negated: false,
            operands: vec![Operand::Null],
            ..self.expression.clone()
        };
        let query = Query { filter: vec![is_null], ..Query::new(self.entity) };
        let predicate = Predicate::new(&query, self.snapshot)?;
        let clause = Clause::internal(referring.into_leaves());
        let referring = Intersection::new(vec![clause], self.union.rows());
        for chunk in 0..referring.chunks() {
            let mut records_read = 0;
            referring.chunk(chunk)?.try_each(|low| {
                self.check_deadline(records_read)?;
                records_read += 1;
                let row = chunk << 16 | u32::from(low);
                if predicate.is_true_of(self.snapshot, row)? {
                    self.union.add_row(row);
                }
                Ok(())
            })?;
        }
        Ok(())
    }
}
