//! Extracts the terms, order values and names of records, as the entity's keys declare them.

use std::sync::{Mutex, PoisonError};

use pinakes_format::entity::Entity;
use pinakes_format::index::encoding::{
    IndexEntry, ReferenceLookup, each_prefix_term, folded_term, index_entry, named_value,
    order_value,
};
use pinakes_format::index::full_text::each_text;
use pinakes_format::index::orders::sortable_integer;
use pinakes_format::index::term_lists::{Term, text_term};
use pinakes_format::json::record_reader::RecordReader;
use pinakes_format::json::render::RecordStore;
use pinakes_format::record::{Gather, Gathered, PathTarget};
use pinakes_format::schema::keys::PathUse;
use pinakes_format::schema::{Direction, Keys, Terms, TextPaths, Values, keys_of, text_paths};
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::ReadError;
use pinakes_format::text::fold::fold;
use pinakes_format::with_record;

use crate::error::Unreadable;
use crate::link::index::dictionary::names::RowNames;
use crate::link::index::full_text::batch::TextBatch;
use crate::link::index::full_text::vocabulary::SharedWords;
use crate::link::index::sort_key::{SortText, SortValue, push_value};
use crate::link::take_over::TakeOver;
use crate::parallel;

/// The terms, values and names of consecutive rows.
pub(crate) struct Extracted {
    /// For each key, the terms; the lowest 16 bits hold the low half of the row.
    pub postings: Vec<Vec<Term>>,
    /// For each key, the low halves of the rows that have a value.
    pub presence: Vec<Vec<u16>>,
    /// For each order, the value of each row, as a column of the order.
    pub columns: Vec<Vec<u8>>,
    /// For each path of target rows, the number of each record's rows, and the rows.
    pub targets: Vec<(Vec<u32>, Vec<u32>)>,
    pub names: RowNames,
    /// For each path of target rows, the index of the current row's first term.
    targets_from: Vec<usize>,
    /// For each order, the value of the current row.
    values: Vec<Option<SortValue>>,
    last_text: LastText,
}

/// The folded form of the last text, because most titles repeat the name of their output.
#[derive(Default)]
struct LastText {
    text: String,
    folded: String,
    /// The term of the folded text, once it is asked for; an empty text has none.
    term: Option<Option<Term>>,
}

impl LastText {
    fn fold(&mut self, text: &str) {
        if self.text != text {
            self.text.clear();
            self.text.push_str(text);
            self.folded = fold(text);
            self.term = None;
        }
    }

    fn entry(&mut self) -> IndexEntry {
        let term = *self.term.get_or_insert_with(|| folded_term(&self.folded));
        IndexEntry { is_present: true, term }
    }
}

impl Extracted {
    fn end_row(&mut self) {
        for (column, value) in self.columns.iter_mut().zip(&mut self.values) {
            push_value(value.take().as_ref(), column);
        }
        self.names.end_row();
    }

    /// Bytes of the values, about.
    fn bytes(&self) -> usize {
        let postings: usize = self.postings.iter().map(Vec::len).sum();
        let columns: usize = self.columns.iter().map(Vec::len).sum();
        let targets: usize = self.targets.iter().map(|(_, rows)| rows.len()).sum();
        postings * size_of::<Term>()
            + columns
            + targets * size_of::<u32>()
            + self.names.held_bytes()
    }

    fn clear(&mut self) {
        self.postings.iter_mut().for_each(Vec::clear);
        self.presence.iter_mut().for_each(Vec::clear);
        self.columns.iter_mut().for_each(Vec::clear);
        for (counts, rows) in &mut self.targets {
            counts.clear();
            rows.clear();
        }
        self.names.clear();
        self.targets_from.fill(0);
    }
}

/// The snapshot that an extractor reads. It decides whether an unreadable row ends the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reads {
    /// The snapshot that this link writes.
    New,
    /// The snapshot that index entries are taken over from.
    Previous,
}

/// Extracts the rows of an entity.
pub(crate) struct Extractor<'a> {
    snapshot: &'a Snapshot,
    reads: Reads,
    entity: Entity,
    keys: &'static Keys,
    /// By code, its term and its rank among all codes by text.
    codes: Vec<(Term, u64)>,
    /// For each path that follows a reference, the parent of each row referred to. Only the taxonomy
    /// has such paths, so the tables are small.
    parents: Vec<Vec<Option<(Entity, u32)>>>,
    /// Emptied values of earlier rows. Their memory is used again, instead of growing and being zeroed
    /// by the system for each batch.
    emptied: Mutex<Vec<Extracted>>,
    /// One for each thread that extracted texts: a batch keeps its memory for the next rows.
    batches: Mutex<Vec<TextBatch>>,
    /// The texts to extract for the full-text index.
    texts: Option<&'static TextPaths>,
    /// The words that batches share.
    words: SharedWords,
    /// The bytes of extracted values, or of texts, after which a batch ends.
    batch_bytes_max: usize,
}

impl<'a> Extractor<'a> {
    /// Prepares the codes, and the parents that paths follow.
    pub fn new(
        snapshot: &'a Snapshot,
        reads: Reads,
        entity: Entity,
    ) -> Result<Extractor<'a>, TakeOver> {
        let keys = keys_of(entity);
        let texts: Result<Vec<&str>, ReadError> =
            (0..snapshot.codes()).map(|code| snapshot.code(code)).collect();
        let texts = texts.map_err(reads.failure(None, None))?;
        let mut by_text: Vec<(String, &str, usize)> =
            texts.iter().enumerate().map(|(code, text)| (fold(text), *text, code)).collect();
        by_text.sort_unstable();
        let mut codes: Vec<(Term, u64)> =
            texts.iter().map(|text| (text_term(&text.to_ascii_lowercase()), 0)).collect();
        // Equal texts of two tables get the same rank.
        let mut rank = 0;
        for (at, (folded, text, code)) in by_text.iter().enumerate() {
            let is_other = at > 0 && (&by_text[at - 1].0, by_text[at - 1].1) != (folded, *text);
            rank += u64::from(is_other);
            codes[*code].1 = rank;
        }
        let parents = keys.ends.iter().map(|end| parents(snapshot, reads, end));
        let parents = parents.collect::<Result<_, TakeOver>>()?;
        let (emptied, batches) = (Mutex::default(), Mutex::default());
        Ok(Extractor {
            snapshot,
            reads,
            entity,
            keys,
            codes,
            parents,
            emptied,
            batches,
            texts: None,
            words: SharedWords::new(usize::MAX),
            batch_bytes_max: usize::MAX,
        })
    }

    /// Extracts texts for the full-text index, too, if the entity has one. Batches share a vocabulary of at most
    /// `words_bytes_max` bytes.
    pub fn with_texts(self, words_bytes_max: usize) -> Extractor<'a> {
        let words = SharedWords::new(words_bytes_max);
        Extractor { texts: text_paths(self.entity), words, ..self }
    }

    /// Ends batches after this many bytes of extracted values, or of texts.
    pub fn with_batches_of(self, batch_bytes_max: usize) -> Extractor<'a> {
        Extractor { batch_bytes_max, ..self }
    }

    /// Lets the next batches read the words of earlier batches without locks.
    pub fn freeze_words(&self) {
        self.words.freeze();
    }

    pub fn keys(&self) -> &'static Keys {
        self.keys
    }

    pub fn entity(&self) -> Entity {
        self.entity
    }

    fn empty(&self) -> Extracted {
        let (lists, orders) = (self.keys.lists.len(), self.keys.orders.len());
        Extracted {
            postings: vec![Vec::new(); lists],
            presence: vec![Vec::new(); lists],
            columns: vec![Vec::new(); orders],
            targets: vec![Default::default(); self.keys.targets.len()],
            names: RowNames::default(),
            targets_from: vec![0; self.keys.targets.len()],
            values: vec![None; orders],
            last_text: LastText::default(),
        }
    }

    /// The snapshot with the records.
    pub fn snapshot(&self) -> &'a Snapshot {
        self.snapshot
    }

    /// The error for a row that cannot be read.
    pub fn failure<E: From<Unreadable>>(
        &self,
        row: impl Into<Option<u32>>,
    ) -> impl FnOnce(ReadError) -> TakeOver<E> {
        self.reads.failure(Some(self.entity), row.into())
    }

    /// Whether the records have texts for the full-text index.
    pub fn has_texts(&self) -> bool {
        self.texts.is_some()
    }

    /// Extracts the values of ascending rows of one chunk, at least one, until the batch has enough bytes. The other rows are
    /// left.
    pub fn values(&self, rows: &mut impl Iterator<Item = u32>) -> Result<Extracted, TakeOver> {
        let emptied = self.emptied.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut extracted = emptied.unwrap_or_else(|| self.empty());
        for row in rows {
            self.row(row, &mut extracted).map_err(self.failure(row))?;
            extracted.end_row();
            if extracted.bytes() >= self.batch_bytes_max {
                break;
            }
        }
        Ok(extracted)
    }

    /// Extracts the texts of ascending rows as [`Extractor::values`] does the values, as a [`TextBatch`] encodes them.
    pub fn texts(&self, rows: &mut impl Iterator<Item = u32>) -> Result<[Vec<u8>; 2], TakeOver> {
        let batch = self.batches.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut batch = batch.unwrap_or_default();
        batch.begin(&self.words);
        for row in rows {
            self.add_texts(row, &mut batch).map_err(self.failure(row))?;
            if batch.bytes() >= self.batch_bytes_max {
                break;
            }
        }
        let mut encoded = Default::default();
        parallel::step("invert texts", || batch.encode(&mut encoded));
        self.batches.lock().unwrap_or_else(PoisonError::into_inner).push(batch);
        Ok(encoded)
    }

    /// Extracts one row: what its record says, then what follows from that.
    fn row(&self, row: u32, into: &mut Extracted) -> Result<(), ReadError> {
        let mut outcome = Ok(());
        with_record!(self.entity, R => {
            if let Some(mut from) = self.snapshot.reader(self.entity, row)? {
                R::gather(&mut from, &self.keys.tree, &mut |end, value| {
                    let mut row_extractor = RowExtractor { from: self, row, into: &mut *into };
                    // Most values have no error: storing each outcome would take as long as most values.
                    if outcome.is_ok()
                        && let Err(error) = row_extractor.add(end, value)
                    {
                        outcome = Err(error);
                    }
                })?;
            }
        });
        outcome?;
        self.count_references(row, into)?;
        self.add_targets(into)
    }

    /// Converts a value into a sort key that ascends with an order of numbers or codes.
    pub fn order_number(&self, order: usize, value: Gathered<'_>) -> Option<u64> {
        let spec = &self.keys.orders[order];
        let number = match (spec.values, value) {
            (Values::Codes, Gathered::Code(code)) => self.codes.get(code as usize)?.1,
            (values, value) => order_value(values, value)?,
        };
        Some(if spec.is_descending() { !number } else { number })
    }

    /// Takes values back whose memory later rows may use.
    pub fn reuse(&self, mut extracted: Extracted) {
        extracted.clear();
        self.emptied.lock().unwrap_or_else(PoisonError::into_inner).push(extracted);
    }

    /// Adds the target rows of the row just extracted: the terms that have an id, one for each id.
    fn add_targets(&self, into: &mut Extracted) -> Result<(), ReadError> {
        let targets = into.targets.iter_mut().zip(&mut into.targets_from);
        for (number, ((counts, rows), postings_from)) in self.keys.targets.iter().zip(targets) {
            let Terms::Rows(target) = self.keys.lists[*number].terms else { continue };
            let from = rows.len();
            let postings = &mut into.postings[*number];
            let first = std::mem::replace(postings_from, postings.len());
            let postings = &mut postings[first..];
            postings.sort_unstable();
            for posting in postings {
                // A term of these lists is a row.
                let row = self.snapshot.first_row_of_id(target, (*posting >> 16) as u32)?;
                rows.extend(row.filter(|row| rows[from..].last() != Some(row)));
            }
            counts.push((rows.len() - from) as u32);
        }
        Ok(())
    }

    /// Extracts the searched texts of a row.
    fn add_texts(&self, row: u32, into: &mut TextBatch) -> Result<(), ReadError> {
        let Some(paths) = self.texts else { return Ok(()) };
        let record = RecordStore::record(self.snapshot, self.entity, row)?;
        let mut language = None;
        with_record!(self.entity, R => {
            let mut from = RecordReader::new(record.packed)?;
            R::gather(&mut from, &paths.language, &mut |_, value| {
                if let Gathered::Code(code) = value {
                    language = Some(code);
                }
            })?;
        });
        let language = language.map(|code| self.snapshot.code(code)).transpose()?;
        into.begin_row(row as u16, language);
        each_text(paths, record, self, |field, text| into.text(field, text))?;
        into.end_row();
        Ok(())
    }

    /// Extracts the number of references, which the citation graph holds.
    fn count_references(&self, row: u32, into: &mut Extracted) -> Result<(), ReadError> {
        let orders = self.keys.orders.iter().zip(&mut into.values);
        for (order, value) in orders.filter(|(order, _)| order.counts_references) {
            let citations = self.snapshot.citations(self.entity)?;
            let count = citations.count(Direction::References, row)?;
            let number = sortable_integer(count.into());
            *value = Some(SortValue::Number(if order.is_descending() { !number } else { number }));
        }
        Ok(())
    }

    /// Extracts the name of an unresolved reference.
    pub fn unresolved_name(&self, row: u32) -> Result<Extracted, TakeOver> {
        let mut extracted = self.empty();
        let name = self.snapshot.row_name(self.entity, row).map_err(self.failure(row))?;
        if let Some(name) = name {
            let folded = fold(name);
            let mut row_extractor = RowExtractor { from: self, row, into: &mut extracted };
            if let (Some(lists), Some(term)) = (self.keys.unresolved_names, folded_term(&folded)) {
                row_extractor.push(lists, term);
            }
            if let Some(lists) = self.keys.unresolved_words {
                each_prefix_term(&folded, |term| row_extractor.push(lists, term));
            }
        }
        Ok(extracted)
    }
}

impl ReferenceLookup for Extractor<'_> {
    fn count(&self, entity: Entity) -> u32 {
        self.snapshot.count(entity)
    }

    fn row_id(&self, entity: Entity, row: u32) -> Result<u64, ReadError> {
        self.snapshot.row_id(entity, row)
    }

    fn row_name(&self, entity: Entity, row: u32) -> Result<Option<&str>, ReadError> {
        self.snapshot.row_name(entity, row)
    }

    fn code_text(&self, code: u32) -> Result<&str, ReadError> {
        self.snapshot.code(code)
    }

    fn code_term(&self, code: u32) -> Result<Term, ReadError> {
        let code = self
            .codes
            .get(code as usize)
            .ok_or(ReadError::corrupt("strings", "a code is in no table"))?;
        Ok(code.0)
    }
}

/// Reads the parent of each row that a path refers to; empty if the path does not follow the reference.
fn parents(
    snapshot: &Snapshot,
    reads: Reads,
    end: &PathUse,
) -> Result<Vec<Option<(Entity, u32)>>, TakeOver> {
    let Some((target, beyond)) = &end.beyond else { return Ok(Vec::new()) };
    let parent_of = |row| {
        let mut parent = None;
        with_record!(*target, R => {
            if let Some(mut from) = snapshot.reader(*target, row)? {
                R::gather(&mut from, beyond, &mut |_, value| {
                    if let Gathered::Reference(entity, row) = value {
                        parent = Some((entity, row));
                    }
                })?;
            }
        });
        Ok(parent)
    };
    let parent_of = |row| parent_of(row).map_err(reads.failure(Some(*target), Some(row)));
    (0..snapshot.count(*target)).map(parent_of).collect()
}

impl Reads {
    /// The error for a row that cannot be read.
    fn failure<E: From<Unreadable>>(
        self,
        entity: Option<Entity>,
        row: Option<u32>,
    ) -> impl FnOnce(ReadError) -> TakeOver<E> {
        move |source| match self {
            Reads::New => TakeOver::Failed(Unreadable { entity, row, source }.into()),
            Reads::Previous => TakeOver::unreadable(Unreadable { entity, row, source }),
        }
    }
}

/// Extracts one row.
struct RowExtractor<'a, 'e> {
    from: &'a Extractor<'a>,
    row: u32,
    into: &'e mut Extracted,
}

impl RowExtractor<'_, '_> {
    fn add(&mut self, number: usize, value: Gathered<'_>) -> Result<(), ReadError> {
        let end = &self.from.keys.ends[number];
        if let (Some(_), Gathered::Reference(_, row)) = (&end.beyond, value) {
            let parent = self.from.parents[number].get(row as usize).copied().flatten();
            return match (end.lists, parent) {
                (Some(lists), Some((entity, row))) => {
                    self.list(lists, &PathTarget::Id, Gathered::Reference(entity, row))
                }
                _ => Ok(()),
            };
        }
        let Some(value) = named_value(value, self.from)? else { return Ok(()) };
        if let Gathered::Text(text) = value
            && self.from.keys.is_folded(end)
        {
            return self.add_folded(end, text);
        }
        if let Some(lists) = end.lists {
            self.list(lists, &end.target, value)?;
        }
        if let Some(order) = end.order {
            self.into.values[order] = self.from.order_number(order, value).map(SortValue::Number);
        }
        Ok(())
    }

    /// Adds a text that is folded once for names, terms and orders.
    fn add_folded(&mut self, end: &PathUse, text: &str) -> Result<(), ReadError> {
        let Extracted { names, values, last_text, postings, .. } = &mut *self.into;
        last_text.fold(text);
        if let Some(kind) = end.names {
            names.name(kind, &last_text.folded, self.row as u16);
        }
        if let Some(order) = end.order {
            values[order] = Some(SortValue::Text(SortText::new(&last_text.folded, text)));
        }
        if let Some(lists) = end.prefixes {
            let low = Term::from(self.row as u16);
            each_prefix_term(&last_text.folded, |term| postings[lists].push(term << 16 | low));
            self.mark_present(lists);
        }
        let last_text = &mut self.into.last_text;
        match end.lists {
            Some(lists) if self.from.keys.lists[lists].terms == Terms::Texts => {
                let entry = last_text.entry();
                self.add_entry(lists, entry);
                Ok(())
            }
            Some(lists) => self.list(lists, &end.target, Gathered::Text(text)),
            None => Ok(()),
        }
    }

    fn list(
        &mut self,
        lists: usize,
        target: &PathTarget,
        value: Gathered<'_>,
    ) -> Result<(), ReadError> {
        let terms = self.from.keys.lists[lists].terms;
        let entry = index_entry(terms, target, value, self.from)?;
        self.add_entry(lists, entry);
        Ok(())
    }

    fn add_entry(&mut self, lists: usize, entry: IndexEntry) {
        if entry.is_present {
            self.mark_present(lists);
        }
        if let Some(term) = entry.term {
            self.push(lists, term);
        }
    }

    fn mark_present(&mut self, lists: usize) {
        let presence = &mut self.into.presence[lists];
        let low = self.row as u16;
        if presence.last() != Some(&low) {
            presence.push(low);
        }
    }

    fn push(&mut self, lists: usize, term: Term) {
        self.into.postings[lists].push(term << 16 | Term::from(self.row as u16));
    }
}
