//! The terms of the full-text index, as they are without the names of suppressed records.
//!
//! The index holds the names of suppressed authors, sources and topics in the postings of outputs. The first search for a term
//! of such a name computes the changed postings of the term, and later searches take these up:
//!
//! ```text
//! "Ada Smith" is suppressed    smith is a form of hers; her outputs are 7, 9 and 30
//! row 9     smith stands once among the authors: hers      removed, without a look at the record
//! row 7     twice: the record is read                      one occurrence stays
//! row 30    also in the title: the record is read          the title stays, with another impact
//! ```
//!
//! Cost of a term of no suppressed name: one probe of a table for each form. Cost of other terms, once: 0.2 µs for each output of the rows with the
//! name, and about 50 µs for each record that is read.

use std::{
    cell::Cell,
    collections::{BTreeMap, BTreeSet},
    ops::Range,
    sync::Arc,
};

use crate::entity::Entity;
use crate::index::bitset::CHUNK_ROWS;
use crate::index::doc_set::DocSet;
use crate::index::encoding::ReferenceLookup;
use crate::index::full_text::{
    Amended, AmendedPosting, FORMS_MAX, FormCursor, FormOf, FullText, NO_ROW, Place, Postings,
    Term, WordPlaces, each_text, impact,
};
use crate::index::kept_sets::CountedSet;
use crate::index::postings::Postings as RowPostings;
use crate::index::term_lists::Term as ListTerm;
use crate::query::rows::clause::Clause;
use crate::query::rows::deadline::{Deadline, QueryError};
use crate::query::rows::intersection::Intersection;
use crate::query::rows::union::Union;
use crate::schema::keys::{Index, keys_of};
use crate::schema::texts::{FIELDS, Field, NameTexts, TextPaths, text_paths};
use crate::snapshot::{Snapshot, SuppressedWords, language_of};
use crate::storage::error::ReadError;
use crate::text::analyzer::Stemmer;

/// A term, without what it has of suppressed records.
#[derive(Clone)]
pub(crate) struct TrueTerm<'s> {
    pub term: Term<'s>,
    /// The postings that change; `None` if none does.
    pub amended: Option<Arc<Amended>>,
    /// The records with the term.
    pub records: u64,
}

impl TrueTerm<'_> {
    /// Whether a row has the term only in suppressed names.
    pub fn is_removed(&self, row: u32) -> bool {
        matches!(self.amended.as_ref().and_then(|amended| amended.of(row)), Some(None))
    }
}

/// The terms of a snapshot.
#[derive(Clone, Copy)]
pub(crate) struct TrueTerms<'s> {
    pub index: &'s FullText,
    snapshot: &'s Snapshot,
    words: &'s SuppressedWords,
    deadline: Deadline<'s>,
}

/// Occurrences that are listed together: 16 MiB.
const EXPECTED_MAX: u64 = 1 << 20;

/// The occurrences of a form in the suppressed names of a row: row, field, number of the form, occurrences. Counts each name once.
type Expected = (u32, Field, u16, u32);

impl<'s> TrueTerms<'s> {
    pub fn new(
        snapshot: &'s Snapshot,
        index: &'s FullText,
        deadline: Deadline<'s>,
    ) -> TrueTerms<'s> {
        TrueTerms { index, snapshot, words: snapshot.suppressed().words(), deadline }
    }

    /// The terms that a word is a form of.
    pub fn forms(&self, word: &str) -> Result<Vec<FormOf>, QueryError> {
        self.live(word, self.index.form(word)?)
    }

    /// The terms of the form at a cursor.
    pub fn forms_at(&self, cursor: &FormCursor<'_>) -> Result<Vec<FormOf>, QueryError> {
        let Some(form) = cursor.form() else { return Ok(Vec::new()) };
        self.live(&form, cursor.terms()?)
    }

    /// Of the terms of a form, those that have the form in a record that is not suppressed.
    fn live(&self, form: &str, of: Vec<FormOf>) -> Result<Vec<FormOf>, QueryError> {
        if !self.words.has(form) {
            return Ok(of);
        }
        let with_form =
            |of: FormOf| self.has_form(form, &of).map(|has| has.then_some(of)).transpose();
        of.into_iter().filter_map(with_form).collect()
    }

    /// Whether a term has a form in a record that is not suppressed. Reads the postings up to the first such record, if a
    /// suppressed record has the form.
    pub fn has_form(
        &self,
        form: &str,
        FormOf { stem, number }: &FormOf,
    ) -> Result<bool, QueryError> {
        // No suppressed name has the form.
        if !self.words.has(form) {
            return Ok(true);
        }
        // Only suppressed names had the term.
        let Some(TrueTerm { term, amended, .. }) = self.term(stem)? else { return Ok(false) };
        // The remaining postings have one of the term's forms, and there is no other.
        if term.form_count() == 1 {
            return Ok(true);
        }
        let suppressed = self.snapshot.suppressed();
        let (mut postings, mut pace) = (term.postings()?, self.deadline.paced());
        while postings.row() != NO_ROW {
            pace.step()?;
            let row = postings.row();
            let mut has_form = false;
            // A posting with a suppressed name keeps the occurrences outside of the name.
            match amended.as_ref().and_then(|amended| amended.of(row)) {
                _ if suppressed.has(Entity::Output, row) => {}
                Some(left) => {
                    let mut places = left.iter().flat_map(|left| &left.places);
                    has_form = places.any(|(_, _, form)| form == number);
                }
                None => {
                    for field in Field::of_set(postings.fields()?) {
                        postings.each_occurrence(field, |_, form| has_form |= form == *number)?;
                    }
                }
            }
            if has_form {
                return Ok(true);
            }
            postings.advance()?;
        }
        Ok(false)
    }

    /// Whether names are suppressed.
    pub fn has_names(&self) -> bool {
        !self.words.has_no_names()
    }

    /// Finds a term; `None` if no record has it.
    pub fn term(&self, stem: &str) -> Result<Option<TrueTerm<'s>>, QueryError> {
        match self.index.term(stem)? {
            Some(term) => self.true_term(stem, term),
            None => Ok(None),
        }
    }

    fn true_term(&self, stem: &str, term: Term<'s>) -> Result<Option<TrueTerm<'s>>, QueryError> {
        let amended = self.amended(stem, term)?;
        let removed = amended.as_ref().map_or(0, |amended| amended.removed());
        let lost = u64::from(self.words.outputs(stem)) + u64::from(removed);
        let records = u64::from(term.count()).saturating_sub(lost);
        Ok((records > 0).then_some(TrueTerm { term, amended, records }))
    }

    /// Finds those of some terms, which ascend, that a record has.
    pub fn terms<'t>(
        &self,
        names: &'t [String],
    ) -> Result<Vec<(&'t str, TrueTerm<'s>)>, QueryError> {
        let found = self.index.terms_of(names)?.into_iter();
        let found = found.map(|(name, term)| Ok(self.true_term(name, term)?.map(|of| (name, of))));
        found.filter_map(Result::transpose).collect()
    }

    fn amended(&self, stem: &str, term: Term<'s>) -> Result<Option<Arc<Amended>>, QueryError> {
        if !self.has_names() {
            return Ok(None);
        }
        let forms = Forms::new(stem, term)?;
        if forms.numbers.keys().all(|form| self.words.named(form).is_empty()) {
            return Ok(None);
        }
        let amended =
            self.snapshot.kept().amended(stem, |amended| self.amend(&forms, term, amended))?;
        Ok((!amended.is_empty()).then_some(amended))
    }

    /// Computes the changed postings of a term from the first missing row on.
    fn amend(
        &self,
        forms: &Forms<'_>,
        term: Term<'s>,
        amended: &mut Amended,
    ) -> Result<(), QueryError> {
        let lists = self.lists(forms)?;
        let chunks = self.snapshot.count(Entity::Output).div_ceil(CHUNK_ROWS as u32);
        // Rows are taken in stretches, so that a topic of millions of outputs needs no more memory than others.
        let entries: u64 = lists.iter().map(|list| u64::from(list.rows.count())).sum();
        let stretches = u32::try_from(entries / EXPECTED_MAX).unwrap_or(u32::MAX).saturating_add(1);
        let stretch = chunks.div_ceil(stretches).max(1);
        let (mut postings, mut outcome) = (term.postings()?, Ok(()));
        for first in (0..chunks).step_by(stretch as usize) {
            let rows = first..first.saturating_add(stretch);
            for of_row in expected(&lists, rows)?.chunk_by(|one, other| one.0 == other.0) {
                let row = of_row[0].0;
                if row < amended.next() {
                    continue;
                }
                self.deadline.check()?;
                match self.posting(row, &mut postings, of_row, forms) {
                    // Goes on, so that one attempt notes all chunks that are not on this disk.
                    Err(error) if self.snapshot.is_collecting() => outcome = Err(error),
                    Err(error) => return Err(error.into()),
                    Ok(_) if outcome.is_err() => {}
                    Ok(posting) => {
                        posting.into_iter().for_each(|posting| amended.push(row, posting));
                        amended.advance(row + 1);
                    }
                }
            }
        }
        outcome?;
        amended.advance(NO_ROW);
        Ok(())
    }

    /// The rest of a row's posting: `Some(None)` without a rest, `None` of an unchanged posting.
    fn posting(
        &self,
        row: u32,
        postings: &mut Postings<'_>,
        expected: &[Expected],
        forms: &Forms<'_>,
    ) -> Result<Option<Option<AmendedPosting>>, ReadError> {
        postings.seek(row)?;
        if postings.row() != row || self.snapshot.suppressed().has(Entity::Output, row) {
            return Ok(None);
        }
        match has_exactly(postings, expected)? {
            true => Ok(Some(None)),
            false => self.read_posting(row, forms),
        }
    }

    /// The outputs that refer to the suppressed names with a term's forms.
    fn lists(&self, forms: &Forms<'_>) -> Result<Vec<NameList<'s>>, QueryError> {
        let file = self.snapshot.term_lists(Entity::Output)?;
        let mut found = Vec::new();
        for (form, number) in &forms.numbers {
            for (entity, target) in self.words.named(form) {
                self.deadline.check()?;
                let name = self.snapshot.name(*entity, *target)?.unwrap_or_default();
                let mut occurrences = 0;
                WordPlaces::default().each(Field::Authors, name, |word, _| {
                    occurrences += u32::from(word == form);
                });
                for (names, lists) in self.references(*entity)? {
                    let rows = file.find(lists, ListTerm::from(*target))?;
                    let (field, number) = (names.field, *number);
                    found.extend(rows.map(|rows| NameList { rows, field, number, occurrences }));
                }
            }
        }
        Ok(found)
    }

    /// The texts with names of an entity, and the number of the posting lists of each.
    fn references(&self, entity: Entity) -> Result<Vec<(&'static NameTexts, usize)>, ReadError> {
        let names = paths()?.names.iter().filter(|names| names.entity == entity);
        let lists = names.map(|names| match keys_of(Entity::Output).filter(&names.key) {
            Some((_, Index::Lists(lists))) => Ok((names, lists)),
            _ => Err(ReadError::Internal("searched names have no posting lists")),
        });
        lists.collect()
    }

    /// Reads a record for the rest of a posting: `Some(None)` without a rest, `None` of an unchanged posting.
    fn read_posting(
        &self,
        row: u32,
        forms: &Forms<'_>,
    ) -> Result<Option<Option<AmendedPosting>>, ReadError> {
        let stemmer = Stemmer::of_language(language_of(self.snapshot, paths()?, row)?);
        let (mut words, mut kept, mut removed) = (WordPlaces::default(), Vec::new(), 0);
        self.each_text(row, |field, text, is_suppressed| {
            words.each(field, text, |form, position| {
                let Some(number) = forms.number(form, stemmer) else { return };
                match is_suppressed {
                    true => removed += 1,
                    false => kept.push((field, position, number)),
                }
            });
        })?;
        if removed == 0 {
            return Ok(None);
        }
        if kept.is_empty() {
            return Ok(Some(None));
        }
        let mut counts = [0; FIELDS];
        kept.iter().for_each(|(field, ..): &Place| counts[*field as usize] += 1);
        kept.sort_unstable();
        let impact = impact(&counts, words.length()).into();
        Ok(Some(Some(AmendedPosting { impact, places: kept.into() })))
    }

    /// Calls `visit` with each text of a record that the index has, and whether it is a suppressed name.
    fn each_text(
        &self,
        row: u32,
        mut visit: impl FnMut(Field, &str, bool),
    ) -> Result<(), ReadError> {
        let record = self.snapshot.stored(Entity::Output, row)?;
        let names = AllNames { snapshot: self.snapshot, is_suppressed: Cell::new(false) };
        each_text(paths()?, record, &names, |field, text| {
            visit(field, text, names.is_suppressed.take());
        })
    }

    /// The outputs that refer to suppressed names.
    pub(super) fn referring(&self) -> Result<Referring<'s>, QueryError> {
        let rows = self.snapshot.count(Entity::Output);
        let make = || -> Result<DocSet, QueryError> {
            let mut union = Union::new(rows);
            let file = self.snapshot.term_lists(Entity::Output)?;
            let entities: BTreeSet<Entity> =
                paths()?.names.iter().map(|names| names.entity).collect();
            for entity in entities {
                let lists = self.references(entity)?;
                for row in self.snapshot.suppressed().all_rows(entity) {
                    self.deadline.check()?;
                    for (_, lists) in &lists {
                        if let Some(list) = file.find(*lists, ListTerm::from(*row))? {
                            union.add_list(list)?;
                        }
                    }
                }
            }
            let clause = Clause::internal(union.into_leaves());
            DocSet::from_intersection(&Intersection::new(vec![clause], rows), self.deadline)
        };
        // No filter has this byte, which UTF-8 lacks.
        let rows = self.snapshot.kept().set(&[u8::MAX], make)?;
        Ok(Referring { terms: *self, rows, row: NO_ROW, starts: Vec::new() })
    }
}

/// The outputs that refer to suppressed names, and where their words stand without these.
///
/// ```text
/// authors "Ada Smith" (suppressed), "Bo Wu"     bo 18, wu 19 in the index; bo 0, wu 1 without the first author
/// ```
pub(super) struct Referring<'s> {
    terms: TrueTerms<'s>,
    rows: Arc<CountedSet>,
    /// The row of `starts`.
    row: u32,
    /// Where each text begins: the field, the position in the index, and the position without suppressed names. Ascending.
    starts: Vec<(Field, u32, u32)>,
}

impl Referring<'_> {
    /// Moves positions in a field of a row to where they are without suppressed names. Reads the record of such a row.
    pub fn move_positions(
        &mut self,
        row: u32,
        field: Field,
        positions: &mut [u32],
    ) -> Result<(), ReadError> {
        if !self.rows.rows.contains(row) {
            return Ok(());
        }
        if self.row != row {
            self.read(row)?;
        }
        for position in positions {
            let at =
                self.starts.partition_point(|(of, from, _)| (*of, *from) <= (field, *position));
            if let Some((of, from, to)) = at.checked_sub(1).and_then(|at| self.starts.get(at))
                && *of == field
            {
                *position = *position - from + to;
            }
        }
        Ok(())
    }

    fn read(&mut self, row: u32) -> Result<(), ReadError> {
        let Referring { terms, starts, .. } = self;
        starts.clear();
        let (mut indexed, mut shown) = (WordPlaces::default(), WordPlaces::default());
        terms.each_text(row, |field, text, is_suppressed| {
            let first = |places: &mut WordPlaces, text| {
                let mut first = None;
                places.each(field, text, |_, position| _ = first.get_or_insert(position));
                first
            };
            let from = first(&mut indexed, text);
            let to = first(&mut shown, if is_suppressed { "" } else { text });
            starts.extend(from.zip(to).map(|(from, to)| (field, from, to)));
        })?;
        starts.sort_unstable();
        self.row = row;
        Ok(())
    }
}

/// The outputs that refer to a suppressed name, and the occurrences of a form in the name.
struct NameList<'s> {
    rows: RowPostings<'s>,
    field: Field,
    number: u16,
    occurrences: u32,
}

/// Lists the occurrences of a term's forms in suppressed names, in some chunks of rows, ascending by row.
fn expected(lists: &[NameList<'_>], chunks: Range<u32>) -> Result<Vec<Expected>, ReadError> {
    let mut expected = Vec::new();
    for NameList { rows, field, number, occurrences } in lists {
        let add = |row| expected.push((row, *field, *number, *occurrences));
        rows.each_in(chunks.clone(), add)?;
    }
    expected.sort_unstable();
    Ok(expected)
}

fn paths() -> Result<&'static TextPaths, ReadError> {
    text_paths(Entity::Output).ok_or(ReadError::Internal("outputs have no searched texts"))
}

/// The forms of a term, with their numbers.
struct Forms<'t> {
    stem: &'t str,
    numbers: BTreeMap<String, u16>,
}

impl<'t> Forms<'t> {
    fn new(stem: &'t str, term: Term<'_>) -> Result<Forms<'t>, ReadError> {
        let forms = term.forms(stem.as_bytes())?.into_iter().zip(0..);
        let numbers =
            forms.filter_map(|(form, number)| Some((String::from_utf8(form).ok()?, number)));
        Ok(Forms { stem, numbers: numbers.collect() })
    }

    /// The number of a word that is a form of the term in a language.
    fn number(&self, word: &str, stemmer: Stemmer) -> Option<u16> {
        let known = self.numbers.get(word).copied();
        // Forms past the limit count as the last one.
        let is_full = self.numbers.len() >= FORMS_MAX;
        let number = known.or(is_full.then_some(FORMS_MAX as u16 - 1))?;
        (stemmer.term(word) == self.stem).then_some(number)
    }
}

/// Whether a posting has what is expected of its row, and nothing else: then suppressed names have all of it.
fn has_exactly(postings: &mut Postings<'_>, expected: &[Expected]) -> Result<bool, ReadError> {
    let mut left: BTreeMap<(Field, u16), i64> = BTreeMap::new();
    for (_, field, number, occurrences) in expected {
        *left.entry((*field, *number)).or_default() += i64::from(*occurrences);
    }
    for field in Field::of_set(postings.fields()?) {
        postings
            .each_occurrence(field, |_, number| *left.entry((field, number)).or_default() -= 1)?;
    }
    Ok(left.values().all(|left| *left == 0))
}

/// Looks up names, those of suppressed records too.
struct AllNames<'s> {
    snapshot: &'s Snapshot,
    /// Whether the last name is suppressed.
    is_suppressed: Cell<bool>,
}

impl ReferenceLookup for AllNames<'_> {
    fn count(&self, entity: Entity) -> u32 {
        self.snapshot.count(entity)
    }

    fn row_id(&self, entity: Entity, row: u32) -> Result<u64, ReadError> {
        self.snapshot.row_id(entity, row)
    }

    fn row_name(&self, entity: Entity, row: u32) -> Result<Option<&str>, ReadError> {
        self.is_suppressed.set(self.snapshot.suppressed().has(entity, row));
        self.snapshot.name(entity, row)
    }

    fn code_text(&self, code: u32) -> Result<&str, ReadError> {
        self.snapshot.code(code)
    }

    fn code_term(&self, code: u32) -> Result<ListTerm, ReadError> {
        self.snapshot.code_term(code)
    }
}
