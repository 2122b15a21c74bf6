//! Gathers the lists, orders, words and alternative names of the example's records, as the compiler does.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use pinakes_format::autocomplete::NamePart;
use pinakes_format::entity::{Entity, NO_ID};
use pinakes_format::index::citations::CitationsWriter;
use pinakes_format::index::crossings::{CountedRows, CrossingsWriter, FrequentTerms};
use pinakes_format::index::dictionary::{DictionaryWriter, RowsBuilder};
use pinakes_format::index::orders::{
    OrderParts, OrdersFile, OrdersWriter, RankedRow, RankedValue, sortable_integer, sortable_number,
};
use pinakes_format::index::postings::PostingsBuilder;
use pinakes_format::index::prefix_stats::PrefixStatsWriter;
use pinakes_format::index::targets::TargetsWriter;
use pinakes_format::index::term_lists::{
    ListsSpool, Term, TermListsFile, TermListsWriter, any_row_term, integer_term, text_term,
};
use pinakes_format::record::gather::{Gather, Gathered, PathTarget, PathTree};
use pinakes_format::schema::keys;
use pinakes_format::schema::keys::{Direction, Terms, Values, keys_of};
use pinakes_format::schema::layout::schema_hash;
use pinakes_format::snapshot::{Snapshot, open_draft_archive};
use pinakes_format::storage::file_writer::Written;
use pinakes_format::storage::header::{FileKind, Header};
use pinakes_format::storage::ids::ColumnsWriter;
use pinakes_format::storage::{Chunks, Ids};
use pinakes_format::text::fold::{fold, words};
use pinakes_format::with_record;

use crate::example::REFERENCES;

/// The sort key of a row: a number, or a text's folded form and its bytes.
pub type Value = (u64, String, String);

/// The terms and values of an entity's records.
struct Index {
    terms: Vec<BTreeMap<Term, BTreeSet<u32>>>,
    presence: Vec<BTreeSet<u32>>,
    values: Vec<Vec<Option<Value>>>,
    names: Names,
}

/// The words of names and the alternative names.
#[derive(Default)]
struct Names {
    words: Texts,
    alternatives: Texts,
}

/// Texts, each with its rows and their marks.
pub type Texts = BTreeMap<String, BTreeMap<u32, u8>>;

/// Writes one of an entity's indexes; its other files lie in the draft.
pub fn write(draft: &Snapshot, kind: FileKind, entity: Entity, path: &Path) -> Written {
    let (keys, index) = (keys_of(entity), Index::of(draft, entity));
    let count = u64::from(draft.count(entity));
    match kind {
        FileKind::TermLists => {
            let mut writer = lists_writer(path, entity, keys.lists.len());
            let lists = keys.lists.iter().zip(&index.terms).zip(&index.presence);
            for ((lists, terms), presence) in lists {
                push_lists(&mut writer, lists.terms.bytes(), terms, presence);
            }
            return writer.finish().unwrap();
        }
        FileKind::Targets => {
            let of_path = |number: &usize| index.targets(draft, keys.lists[*number].terms, *number);
            let paths: Vec<(u32, Vec<Vec<u32>>)> = keys.targets.iter().map(of_path).collect();
            return write_targets(path, entity, count, &paths);
        }
        FileKind::Crossings => return write_crossings(path, entity, draft.ids(entity)),
        FileKind::Words => return write_dictionary(path, kind, entity, count, &index.names.words),
        FileKind::Alternatives => {
            return write_dictionary(path, kind, entity, count, &index.names.alternatives);
        }
        FileKind::PrefixStats => {
            // The records are too few for a summary, or for a set to be of use.
            let header = Header {
                kind,
                entity: Some(entity),
                published: count,
                rows: count,
                schema_hash: schema_hash(),
            };
            return PrefixStatsWriter::create(path, header).unwrap().finish().unwrap();
        }
        _ => assert_eq!(kind, FileKind::Orders),
    }
    let ids: Vec<u64> =
        (0..draft.count(entity)).map(|row| draft.row_id(entity, row).unwrap()).collect();
    let mut writer = orders_writer(path, entity, ids.len());
    for (order, values) in keys.orders.iter().zip(&index.values) {
        push_order(&mut writer, order, &ids, values);
    }
    writer.finish().unwrap()
}

pub fn write_dictionary(
    path: &Path,
    kind: FileKind,
    entity: Entity,
    count: u64,
    texts: &Texts,
) -> Written {
    let header = Header {
        kind,
        entity: Some(entity),
        published: count,
        rows: count,
        schema_hash: schema_hash(),
    };
    let mut writer = DictionaryWriter::create(path, header).unwrap();
    for (text, marked) in texts {
        let mut rows = RowsBuilder::default();
        marked.iter().for_each(|(row, mark)| rows.push(*row, *mark));
        writer.push(text.as_bytes(), &mut rows).unwrap();
    }
    writer.finish().unwrap()
}

pub fn lists_writer(path: &Path, entity: Entity, lists: usize) -> TermListsWriter {
    let (count, entity) = (lists as u64, Some(entity));
    let header = Header {
        kind: FileKind::TermLists,
        entity,
        published: count,
        rows: count,
        schema_hash: schema_hash(),
    };
    TermListsWriter::create(path, header).unwrap()
}

/// Writes the rows of each record; each path with the number of rows of its entity.
pub fn write_targets(
    path: &Path,
    entity: Entity,
    count: u64,
    paths: &[(u32, Vec<Vec<u32>>)],
) -> Written {
    let header = Header {
        kind: FileKind::Targets,
        entity: Some(entity),
        published: count,
        rows: count,
        schema_hash: schema_hash(),
    };
    let rows = paths.iter().map(|(rows, _)| *rows);
    let mut writer = TargetsWriter::create(path, header, rows).unwrap();
    for (number, (_, records)) in paths.iter().enumerate() {
        records.iter().for_each(|rows| writer.push(number, rows).unwrap());
    }
    writer.finish().unwrap()
}

/// Writes the ids of rows.
pub fn write_ids(path: &Path, entity: Entity, ids: &[u64]) {
    let count = ids.len() as u64;
    let header = Header {
        kind: FileKind::Ids,
        entity: Some(entity),
        published: count,
        rows: count,
        schema_hash: schema_hash(),
    };
    let mut writer = ColumnsWriter::create(path, header).unwrap();
    ids.iter().for_each(|id| writer.push(*id).unwrap());
    let mut pairs: Vec<(u64, u32)> = ids.iter().copied().zip(0..).collect();
    pairs.sort_unstable();
    pairs.iter().for_each(|(id, row)| writer.push_pair(*id, &row.to_le_bytes()).unwrap());
    writer.finish().unwrap();
}

/// Writes the counts of the frequent terms in the lists and orders beside `path`.
pub fn write_crossings(path: &Path, entity: Entity, ids: &Ids) -> Written {
    let keys = keys_of(entity);
    let beside = |kind: FileKind| {
        open_draft_archive(&path.with_file_name(kind.file_name()), kind, Some(entity)).unwrap()
    };
    let terms: Vec<Terms> = keys.lists.iter().map(|lists| lists.terms).collect();
    let lists = TermListsFile::open(beside(FileKind::TermLists), &terms).unwrap();
    let archive = beside(FileKind::Orders);
    let count = archive.header().rows;
    let orders = OrdersFile::open(archive, &keys.orders, count as usize).unwrap();
    let order = |number: usize| orders.order(number, &keys.orders[number], ids).unwrap();
    let header = Header {
        kind: FileKind::Crossings,
        entity: Some(entity),
        published: count,
        rows: count,
        schema_hash: schema_hash(),
    };
    let frequent = FrequentTerms::find(&lists, keys, count as usize).unwrap();
    let terms = frequent.terms().len();
    let mut writer = CrossingsWriter::create(path, header, &frequent).unwrap();
    writer.push_pairs(&frequent.pairs_of(0..terms).unwrap()).unwrap();
    for counted in &keys.counted {
        let (first, by) = (counted.first.map(order), order(counted.order));
        let rows = CountedRows::new(first, by, 1, path.parent().unwrap()).unwrap();
        writer.begin_order(&rows).unwrap();
        let mut counts = (0..terms).map(|term| frequent.count_along(term, &rows).unwrap());
        counts.try_for_each(|counts| writer.push_counts(counts)).unwrap();
        writer.end_order().unwrap();
    }
    writer.finish().unwrap()
}

/// Writes the lists of references of each record, and the lists of citations that follow from them.
pub fn write_citations(path: &Path, header: Header, references: &[BTreeSet<u32>]) -> Written {
    let mut writer = CitationsWriter::create(path, header).unwrap();
    let mut citations = vec![BTreeSet::new(); header.rows as usize];
    for (row, rows) in (0..).zip(references) {
        rows.iter().for_each(|cited| _ = citations[*cited as usize].insert(row));
    }
    for (direction, of_rows) in
        [(Direction::References, references), (Direction::Citations, citations.as_slice())]
    {
        let mut lists = writer.lists(direction);
        of_rows.iter().for_each(|rows| lists.push(&rows.iter().copied().collect::<Vec<_>>()));
        writer.push_lists(&lists).unwrap();
    }
    writer.finish().unwrap()
}

pub fn orders_writer(path: &Path, entity: Entity, rows: usize) -> OrdersWriter {
    let (count, entity) = (rows as u64, Some(entity));
    let header = Header {
        kind: FileKind::Orders,
        entity,
        published: count,
        rows: count,
        schema_hash: schema_hash(),
    };
    OrdersWriter::create(path, header, 1).unwrap()
}

pub fn push_lists(
    writer: &mut TermListsWriter,
    width: usize,
    terms: &BTreeMap<Term, BTreeSet<u32>>,
    presence: &BTreeSet<u32>,
) {
    let mut lists = ListsSpool::new(&std::env::temp_dir());
    lists.begin(width);
    terms.iter().for_each(|(term, rows)| lists.push(*term, &mut list(rows)).unwrap());
    lists.end(&mut list(presence)).unwrap();
    let lists = lists.finish().unwrap();
    lists.paths().for_each(|lists| writer.append(lists, Chunks::values_of_all).unwrap());
}

pub fn list(rows: &BTreeSet<u32>) -> PostingsBuilder {
    let mut list = PostingsBuilder::default();
    rows.iter().for_each(|row| list.push(row >> 16, &[*row as u16]));
    list
}

/// Appends the order of rows with these ids and values.
pub fn push_order(
    writer: &mut OrdersWriter,
    order: &keys::Order,
    ids: &[u64],
    values: &[Option<Value>],
) {
    let is_ids = order.values == Values::Ids;
    let value_of = |row: usize| if is_ids { Some(<_>::default()) } else { values[row].clone() };
    let mut rows: Vec<usize> = (0..ids.len()).collect();
    rows.sort_by_key(|row| (value_of(*row).is_none(), value_of(*row), ids[*row]));
    assert!(!order.is_row_order || rows.is_sorted(), "{}", order.path);
    let ranked = rows.iter().enumerate().map(|(rank, row)| {
        let last = rank.checked_sub(1).map(|before| value_of(rows[before]));
        let value = match value_of(*row) {
            _ if is_ids => RankedValue::Next(ids[*row]),
            None => RankedValue::None,
            value if last.as_ref() == Some(&value) => RankedValue::Same,
            Some((number, ..)) => RankedValue::Next(number),
        };
        Ok(RankedRow { row: *row as u32, value })
    });
    let parts = match order.values {
        Values::Ids => OrderParts::Checkpoints,
        _ if order.is_row_order => OrderParts::RowOrder,
        Values::Texts | Values::Codes => OrderParts::All { has_values: false },
        _ => OrderParts::All { has_values: true },
    };
    writer.push(ranked, parts).unwrap();
}

fn gathered<'d>(
    draft: &'d Snapshot,
    entity: Entity,
    row: u32,
    tree: &PathTree,
) -> Vec<(usize, Gathered<'d>)> {
    let mut found = Vec::new();
    with_record!(entity, R => {
        if let Some(mut from) = draft.reader(entity, row).unwrap() {
            R::gather(&mut from, tree, &mut |end, value| found.push((end, value))).unwrap();
        }
    });
    found
}

/// The words and the alternative names of rows with these names: their own, then an alternative.
pub fn texts_of(rows: &[[String; 2]]) -> (Texts, Texts) {
    let mut names = Names::default();
    for (row, [own, alternative]) in (0..).zip(rows) {
        names.add(keys::NameRole::Own, &fold(own), row);
        names.add(keys::NameRole::Alternative, &fold(alternative), row);
    }
    (names.words, names.alternatives)
}

impl Names {
    fn add(&mut self, names: keys::NameRole, folded: &str, row: u32) {
        let is_own = names == keys::NameRole::Own;
        for (at, word) in words(folded).enumerate() {
            let part = match (at, is_own) {
                (0, true) if word == folded => NamePart::Whole,
                (0, true) => NamePart::First,
                (0, false) => NamePart::FirstOfAlternative,
                _ => NamePart::Other,
            };
            let mark = self.words.entry(word.to_string()).or_default().entry(row);
            let mark = mark.or_insert(part as u8);
            *mark = (*mark).min(part as u8);
        }
        if !is_own && !folded.is_empty() {
            self.alternatives.entry(folded.to_string()).or_default().insert(row, 0);
        }
    }
}

impl Index {
    /// The rows of `target` that each record has terms of, and the number of its rows.
    fn targets(&self, draft: &Snapshot, terms: Terms, number: usize) -> (u32, Vec<Vec<u32>>) {
        let Terms::Rows(target) = terms else { panic!("{terms:?}") };
        let first_row = |row: u32| {
            let id = draft.row_id(target, row).unwrap();
            (id != NO_ID).then(|| (0..=row).find(|at| draft.row_id(target, *at).unwrap() == id))
        };
        let mut records = vec![BTreeSet::new(); self.values.first().map_or(0, Vec::len)];
        for (term, rows) in &self.terms[number] {
            if let Some(first) = first_row(*term as u32).flatten() {
                rows.iter().for_each(|row| _ = records[*row as usize].insert(first));
            }
        }
        let records = records.into_iter().map(|rows| rows.into_iter().collect()).collect();
        (draft.rows(target), records)
    }

    fn of(draft: &Snapshot, entity: Entity) -> Index {
        let (keys, count) = (keys_of(entity), draft.count(entity));
        let mut index = Index {
            terms: vec![BTreeMap::new(); keys.lists.len()],
            presence: vec![BTreeSet::new(); keys.lists.len()],
            values: vec![vec![None; count as usize]; keys.orders.len()],
            names: Names::default(),
        };
        let counted = keys.orders.iter().position(|order| order.counts_references);
        for row in 0..count {
            if let Some(order) = counted {
                let references = REFERENCES[row as usize].len() as i64;
                let number = !sortable_integer(references);
                index.values[order][row as usize] = Some((number, String::new(), String::new()));
            }
            for (end, value) in gathered(draft, entity, row, &keys.tree) {
                let end = &keys.ends[end];
                let values = match (&end.beyond, value) {
                    (Some((_, beyond)), Gathered::Reference(to, at)) => {
                        gathered(draft, to, at, beyond)
                            .into_iter()
                            .map(|(_, value)| value)
                            .collect()
                    }
                    _ => vec![value],
                };
                for value in values {
                    if let (Some(names), Gathered::Text(text)) = (end.names, value) {
                        index.names.add(names, &fold(text), row);
                    }
                    if let (Some(at), Gathered::Text(text)) = (end.prefixes, value) {
                        index.presence[at].insert(row);
                        index.add_prefixes(at, text, row);
                    }
                    if let Some(at) = end.lists {
                        index.list(draft, at, keys.lists[at].terms, row, (&end.target, value));
                    }
                    if let Some(at) = end.order {
                        let value = value_of(draft, &keys.orders[at], value);
                        index.values[at][row as usize] = Some(value);
                    }
                }
            }
        }
        for row in count..draft.rows(entity) {
            if let (Some(at), Some(name)) =
                (keys.unresolved_names, draft.row_name(entity, row).unwrap_or(None))
            {
                let term = text_term(&fold(name));
                index.terms[at].entry(term).or_default().insert(row);
            }
            if let (Some(at), Some(name)) =
                (keys.unresolved_words, draft.row_name(entity, row).unwrap_or(None))
            {
                index.add_prefixes(at, name, row);
            }
        }
        index
    }

    fn add_prefixes(&mut self, at: usize, text: &str, row: u32) {
        for word in words(&fold(text)) {
            for (end, _) in word.char_indices().skip(1).chain([(word.len(), ' ')]) {
                self.terms[at].entry(text_term(&word[..end])).or_default().insert(row);
            }
        }
    }

    fn list(
        &mut self,
        draft: &Snapshot,
        at: usize,
        terms: Terms,
        row: u32,
        (part, value): (&PathTarget, Gathered<'_>),
    ) {
        let is_present = match (part, value) {
            (_, Gathered::Reference(entity, to)) if to < draft.count(entity) => true,
            (PathTarget::Name, Gathered::Reference(entity, to)) => {
                draft.row_name(entity, to).unwrap().is_some()
            }
            (_, Gathered::Reference(entity, to)) => draft.row_id(entity, to).unwrap() != NO_ID,
            _ => true,
        };
        if is_present {
            self.presence[at].insert(row);
        }
        let term = match (terms, value) {
            (Terms::Rows(_), Gathered::Reference(_, to)) => Term::from(to),
            (Terms::AnyRows, Gathered::Reference(entity, to)) => any_row_term(entity, to),
            (Terms::Values, Gathered::Integer(value)) => integer_term(value),
            (Terms::Values, Gathered::Boolean(value)) => Term::from(value),
            (Terms::Identifiers(scheme), Gathered::Text(text)) => text_term(&scheme.normal(text)),
            (Terms::Codes, Gathered::Code(code)) => {
                text_term(&draft.code(code).unwrap().to_ascii_lowercase())
            }
            (Terms::Texts, Gathered::Text(text)) if !fold(text).is_empty() => {
                text_term(&fold(text))
            }
            (Terms::Texts, Gathered::Text(_)) | (Terms::Presence, _) => return,
            (terms, value) => panic!("{terms:?} of {value:?}"),
        };
        self.terms[at].entry(term).or_default().insert(row);
    }
}

fn value_of(draft: &Snapshot, order: &keys::Order, value: Gathered<'_>) -> Value {
    let number = match value {
        Gathered::Integer(value) | Gathered::Moment(value) => sortable_integer(value),
        Gathered::Day(value) => sortable_integer(i64::from(value)),
        Gathered::Number(value) => sortable_number(value),
        Gathered::Text(text) => return (0, fold(text), text.to_string()),
        Gathered::Code(code) => {
            let text = draft.code(code).unwrap();
            return (0, fold(text), text.to_string());
        }
        other => panic!("{} of {other:?}", order.path),
    };
    (if order.is_descending() { !number } else { number }, String::new(), String::new())
}
