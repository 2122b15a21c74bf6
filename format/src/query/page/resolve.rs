//! Resolves the expressions of a query against the indexes of a snapshot.

use std::ops::Range;

use crate::entity::Entity;
use crate::index::bitset::{Bitset, CHUNK_ROWS, EMPTY_CHUNK};
use crate::index::chunk_bits::set_all;
use crate::index::citations::RowList;
use crate::index::doc_set::DocSet;
use crate::index::term_lists::{Term, TermListsFile, any_row_term, text_term};
use crate::query::page::predicate::Predicate;
use crate::query::page::scan::{is_scanned, scan};
use crate::query::page::set_key::SetKey;
use crate::query::parse::filter::Expression;
use crate::query::parse::operand::Operand;
use crate::query::parse::query::Query;
use crate::query::rows::clause::{Clause, Leaf};
use crate::query::rows::deadline::{Deadline, QueryError};
use crate::query::rows::intersection::Intersection;
use crate::query::rows::name_scan;
use crate::query::rows::range::ValueRange;
use crate::query::rows::union::Union;
use crate::query::rows::versions;
use crate::query::rows::versions::{NAMESAKES_MAX, VersionKey};
use crate::query::rows::words::{add_words, rows_of_prefixes, rows_of_words};
use crate::query::search::SearchSummary;
use crate::record::Gathered;
use crate::schema::{Direction, Index, Terms, keys_of};
use crate::snapshot::{LookupResult, RecordLookup, Snapshot};
use crate::storage::ReadError;

/// Posting lists or records read between two checks of the deadline.
const READS_PER_CHECK: u64 = 4_096;
/// The most bitmaps over all rows that the clauses of one query hold.
const BITMAPS_MAX: usize = 4;

impl Query {
    /// Resolves the filter to the intersection of its clauses, without suppressed rows.
    pub(in crate::query) fn resolve<'s>(
        &self,
        snapshot: &'s Snapshot,
        deadline: Deadline<'s>,
    ) -> Result<Intersection<'s>, QueryError> {
        Ok(self.resolve_search(snapshot, deadline)?.0)
    }

    /// Resolves the filter as [`resolve`](Self::resolve) does. Also returns the summary of the list's search; `None` for
    /// lists without one.
    pub(super) fn resolve_search<'s>(
        &self,
        snapshot: &'s Snapshot,
        deadline: Deadline<'s>,
    ) -> Result<(Intersection<'s>, Option<SearchSummary>), QueryError> {
        let rows = snapshot.count(self.entity);
        let (matches, searched) = match self.filter.iter().any(is_scanned) {
            true => self.resolve_scanned(snapshot, deadline)?,
            false => {
                let (clauses, searched) = self.clauses(snapshot, deadline)?;
                let suppressed = snapshot.suppressed().rows(self.entity);
                (Intersection::new(clauses, rows).without(suppressed), searched)
            }
        };
        if !self.one_of_versions {
            return Ok((matches, searched));
        }
        let name = SetKey::of_filter(self, false);
        let one_of_each = || versions::one_of_each(&matches, self.entity, snapshot, deadline);
        let set = snapshot.kept().set(name.bytes(), one_of_each)?;
        Ok((Intersection::new(vec![set.rows.clone().into_clause()], rows), searched))
    }

    /// Resolves the expressions that indexes answer, and reads the records that these leave.
    fn resolve_scanned<'s>(
        &self,
        snapshot: &'s Snapshot,
        deadline: Deadline<'s>,
    ) -> Result<(Intersection<'s>, Option<SearchSummary>), QueryError> {
        let (rows, suppressed) =
            (snapshot.count(self.entity), snapshot.suppressed().rows(self.entity));
        let name = SetKey::of_filter(&Query { one_of_versions: false, ..self.clone() }, false);
        // The next page of the same filter reads no records again.
        let set = snapshot.kept().set(name.bytes(), || {
            let (clauses, _) = self.clauses(snapshot, deadline)?;
            scan(self, &Intersection::new(clauses, rows).without(suppressed), snapshot, deadline)
        })?;
        let texts: Vec<&str> = self.filter.iter().map(|of| of.text.as_str()).collect();
        let clause = Clause { text: texts.join(","), ..set.rows.clone().into_clause() };
        let mut searched = None;
        for expression in self.filter.iter().filter(|of| of.searched().is_some()) {
            searched = resolve_expression(snapshot, self.entity, expression, deadline)?.1;
        }
        Ok((Intersection::new(vec![clause], rows), searched))
    }

    /// Resolves each expression that an index answers. Clauses beyond the first four bitmaps are intersected into a single
    /// bitmap right away, so memory does not grow with the number of expressions.
    fn clauses<'s>(
        &self,
        snapshot: &'s Snapshot,
        deadline: Deadline<'s>,
    ) -> Result<(Vec<Clause<'s>>, Option<SearchSummary>), QueryError> {
        let rows = snapshot.count(self.entity);
        let (mut clauses, mut bitmaps) = (Vec::with_capacity(self.filter.len()), 0);
        let mut searched = None;
        let mut folded: Option<(Bitset, String)> = None;
        for expression in self.filter.iter().filter(|expression| !is_scanned(expression)) {
            let (clause, summary) =
                resolve_expression(snapshot, self.entity, expression, deadline)?;
            searched = searched.or(summary);
            bitmaps += clause.bitmaps();
            // Other clauses take no memory for the rows of the snapshot.
            if clause.bitmaps() == 0 || bitmaps <= BITMAPS_MAX {
                clauses.push(clause);
                continue;
            }
            let bitmap = clause.to_bitset(rows, deadline)?;
            folded = Some(match folded {
                None => (bitmap, clause.text),
                Some((mut all, text)) => {
                    all.intersect_with(&bitmap);
                    // The plan of the query shows the text of each clause.
                    (all, format!("{text},{}", clause.text))
                }
            });
        }
        let folded =
            folded.map(|(all, text)| Clause { text, ..Clause::internal(vec![Leaf::Bitmap(all)]) });
        clauses.extend(folded);
        Ok((clauses, searched))
    }
}

/// Resolves one expression to the union of its operands' rows. Also returns the summary of the list's search, if the
/// expression is that search.
fn resolve_expression<'s>(
    snapshot: &'s Snapshot,
    entity: Entity,
    expression: &Expression,
    deadline: Deadline<'s>,
) -> Result<(Clause<'s>, Option<SearchSummary>), QueryError> {
    let mut union = Union::new(snapshot.count(entity));
    let mut searched = None;
    if let Index::NamesScanned { entity: target, rows } = expression.index {
        let file = snapshot.term_lists(entity)?;
        let operands = &expression.operands;
        name_scan::add_rows(snapshot, file, rows, target, operands, deadline, &mut union)?;
    } else {
        let mut resolver =
            ExpressionResolver { snapshot, entity, expression, deadline, union, searched };
        for operand in &expression.operands {
            deadline.check()?;
            resolver.add_operand(expression.index, operand)?;
        }
        union = resolver.union;
        searched = resolver.searched.filter(|_| expression.searched().is_some());
    }
    let (leaves, text) = (union.into_leaves(), expression.text.clone());
    Ok((Clause { is_negated: expression.is_negated, leaves, text }, searched))
}

/// Resolves an operand of an index alone, for groups.
pub(in crate::query) fn resolve_operand<'s>(
    snapshot: &'s Snapshot,
    entity: Entity,
    index: Index,
    operand: &Operand,
    deadline: Deadline<'s>,
) -> Result<Clause<'s>, QueryError> {
    let operands = vec![operand.clone()];
    let key = keys_of(entity).keys.first();
    let key = key.ok_or(ReadError::Internal("the entity has no keys"))?;
    let (is_negated, text) = (false, String::new());
    let expression = Expression { key, index, is_negated, operands, text };
    Ok(resolve_expression(snapshot, entity, &expression, deadline)?.0)
}

struct ExpressionResolver<'s, 'e> {
    snapshot: &'s Snapshot,
    entity: Entity,
    expression: &'e Expression,
    deadline: Deadline<'s>,
    union: Union<'s>,
    /// The summary of the search, if an operand is one.
    searched: Option<SearchSummary>,
}

impl<'s> ExpressionResolver<'s, '_> {
    /// Adds the rows that an operand finds in the index of the expression, or in an index that this one follows from.
    fn add_operand(&mut self, index: Index, operand: &Operand) -> Result<(), QueryError> {
        match (index, operand) {
            (Index::Read { present, .. }, Operand::Null) => {
                let present = self.snapshot.term_lists(self.entity)?.presence(present)?;
                self.union.add_leaf(Leaf::NotPostings(present));
            }
            (Index::Read { read, among, .. }, Operand::Record(entity, id)) => {
                for row in self.rows_with_id(*entity, *id)? {
                    self.add_read(read, among, row)?;
                }
            }
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
            (Index::Through { entity, rows, index: Index::Ids }, Operand::Record(of, _)) => {
                if *of == entity {
                    self.add_from_lists(rows, operand)?;
                }
            }
            (Index::Through { entity, rows, index }, operand) => {
                let found = self.beyond(entity, |beyond| beyond.add_operand(*index, operand))?;
                self.add_references(entity, rows, &found)?;
            }
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
            (_, Operand::Nothing) | (Index::Ids, Operand::Null) => {}
            (Index::Ids | Index::Words, Operand::Record(entity, id)) => {
                let records = self.snapshot.count(self.entity);
                let rows = self.rows_with_id(*entity, *id)?;
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

    fn add_term(
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

    /// Adds the rows that refer to a record or an unresolved reference of `target` with this name.
    fn add_references_by_name(
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
    fn add_references_by_words(
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
    fn add_rows_with_suppressed_names(
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

    fn check_deadline(&self, reads: u64) -> Result<(), QueryError> {
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
