//! Compares sets, value ranges and sorted pages over several chunks with one flag for each row and plain sorting.

#![allow(clippy::unwrap_used)]

use std::{collections::BTreeMap, fs::File, io, ops::Range, path::Path, sync::Arc};

use crate::entity::Entity;
use crate::index::bitset::CHUNK_ROWS;
use crate::index::doc_set::DocSet;
use crate::index::kept_sets::{CountedSet, KeptSets, SnapshotSets};
use crate::index::orders::{OrderParts, OrdersFile, OrdersWriter, RankedRow, RankedValue};
use crate::index::postings::PostingsBuilder;
use crate::index::term_lists::{ListsSpool, Term, TermListsFile, TermListsWriter};
use crate::query::groups::count_common;
use crate::query::page::first_page::FirstPage;
use crate::query::page::set_key::SetKey;
use crate::query::page::sorted_page::{DirectedOrder, NamedSet, PageFinder};
use crate::query::parse::query::Query;
use crate::query::rows::clause::{Clause, Leaf};
use crate::query::rows::deadline::Deadline;
use crate::query::rows::intersection::Intersection;
use crate::query::rows::range::ValueRange;
use crate::query::rows::union::Union;
use crate::schema::keys;
use crate::schema::keys::{Terms, Values};
use crate::schema::layout::schema_hash;
use crate::storage::Chunks;
use crate::storage::archive::Archive;
use crate::storage::header::{FileKind, Header};
use crate::storage::ids::{ColumnsWriter, Ids};
use crate::storage::integrity::Verifier;
use crate::storage::mmap::Map;

fn open(path: &Path, kind: FileKind) -> Archive {
    let map = Map::open(&File::open(path).unwrap()).unwrap();
    let verifier = Verifier::trusting("test".into(), map.len() as u64);
    Archive::open(map, Arc::new(Map::empty()), verifier, kind, Some(Entity::Output), schema_hash())
        .unwrap()
}

fn header(kind: FileKind, count: u64) -> Header {
    Header {
        kind,
        entity: Some(Entity::Output),
        published: count,
        rows: count,
        schema_hash: schema_hash(),
    }
}

/// A set of rows as one flag for each row: the naive oracle.
#[derive(Clone)]
struct FlagSet(Vec<bool>);

impl FlagSet {
    fn new(rows: impl IntoIterator<Item = u32>) -> FlagSet {
        let mut flags = vec![false; ROWS as usize];
        rows.into_iter().for_each(|row| flags[row as usize] = true);
        FlagSet(flags)
    }

    /// Draws a set of any density: single rows, steps, intervals, chunks, nearly all rows.
    fn random(draws: &mut Draws) -> FlagSet {
        match draws.below(6) {
            0 => FlagSet::new((0..draws.below(200)).map(|_| draws.below(ROWS))),
            1 => {
                let (step, from) = (1 + draws.below(39), draws.below(40));
                FlagSet::new((from..ROWS).step_by(step as usize))
            }
            2 => {
                let (one, other) = (draws.below(ROWS), draws.below(ROWS));
                FlagSet::new(one.min(other)..one.max(other))
            }
            3 => {
                let chunk = draws.below(3);
                FlagSet::new(chunk << 16..(chunk + 1) << 16)
            }
            4 => {
                let absent = FlagSet::new((0..draws.below(50)).map(|_| draws.below(ROWS)));
                FlagSet::new(0..ROWS).combine(&absent, |all, absent| all && !absent)
            }
            _ => {
                let (from, step) = (draws.below(ROWS), 1 + draws.below(6));
                FlagSet::new((from..ROWS).step_by(step as usize).chain([0, ROWS - 1]))
            }
        }
    }

    /// Draws at least one set, and fewer than `end` sets.
    fn random_list(draws: &mut Draws, end: u32) -> Vec<FlagSet> {
        (0..1 + draws.below(end - 1)).map(|_| FlagSet::random(draws)).collect()
    }

    fn combine(&self, other: &FlagSet, keep: impl Fn(bool, bool) -> bool) -> FlagSet {
        FlagSet(self.0.iter().zip(&other.0).map(|(one, other)| keep(*one, *other)).collect())
    }

    fn union(sets: &[FlagSet]) -> FlagSet {
        let none = FlagSet::new([]);
        sets.iter().fold(none, |all, set| all.combine(set, |one, other| one || other))
    }

    /// The rows of the set that lie in the range, in ascending order.
    fn rows_in(&self, range: Range<u32>) -> impl Iterator<Item = u32> {
        range.filter(|row| self.contains(*row))
    }

    fn rows(&self) -> impl Iterator<Item = u32> {
        self.rows_in(0..ROWS)
    }

    /// Whether the set holds the row; rows from `ROWS` on are in no set.
    fn contains(&self, row: u32) -> bool {
        self.0.get(row as usize).copied().unwrap_or(false)
    }

    fn count(&self) -> u64 {
        self.rows().count() as u64
    }
}

/// Draws the numbers of one case, the same in every run.
struct Draws(u64);

impl Draws {
    fn new(case: u64) -> Draws {
        Draws(case << 32)
    }

    /// Draws a number below `end`.
    fn below(&mut self, end: u32) -> u32 {
        self.0 += 1;
        (mixed(self.0) % u64::from(end)) as u32
    }
}

/// Cases of each test with random sets.
const CASES: u64 = 64;

/// Writes sets as the posting lists of terms 0, 1, 2, and so on, and opens the file.
fn lists_of(sets: &[FlagSet]) -> TermListsFile {
    let directory = tempfile::tempdir().unwrap();
    let mut lists = ListsSpool::new(directory.path());
    let mut list = PostingsBuilder::default();
    let push = |list: &mut PostingsBuilder, set: &FlagSet| {
        for row in set.rows() {
            list.push(row >> 16, &[row as u16]);
        }
    };
    lists.begin(Terms::Values.bytes());
    for (term, set) in (0..).zip(sets) {
        push(&mut list, set);
        lists.push(term, &mut list).unwrap();
    }
    push(&mut list, &FlagSet::union(sets));
    lists.end(&mut list).unwrap();
    write_lists(&directory.path().join("lists"), lists, &[Terms::Values])
}

/// Writes and opens a file of lists.
fn write_lists(path: &Path, lists: ListsSpool, terms: &[Terms]) -> TermListsFile {
    let header = header(FileKind::TermLists, terms.len() as u64);
    let mut writer = TermListsWriter::create(path, header).unwrap();
    for lists in lists.finish().unwrap().paths() {
        writer.append(lists, Chunks::values_of_all).unwrap();
    }
    writer.finish().unwrap();
    TermListsFile::open(open(path, FileKind::TermLists), terms).unwrap()
}

/// Rows of about 3.5 chunks.
const ROWS: u32 = CHUNK_ROWS as u32 * 3 + 30_000;

#[test]
fn posting_lists_hold_the_rows_they_were_written_from() {
    for case in 0..CASES {
        let sets = FlagSet::random_list(&mut Draws::new(case), 4);
        let lists = lists_of(&sets);
        for (term, set) in (0..).zip(&sets) {
            let list = lists.find(0, term).unwrap().unwrap();
            assert_eq!(u64::from(list.count()), set.count(), "case {case}, term {term}");
            let mut rows = Vec::new();
            list.each(|row| {
                rows.push(row);
                true
            })
            .unwrap();
            assert!(rows.into_iter().eq(set.rows()), "case {case}, term {term}");
            let mut rows = Vec::new();
            for chunks in [0..1, 1..3, 3..4] {
                list.each_in(chunks, |row| rows.push(row)).unwrap();
            }
            assert!(rows.into_iter().eq(set.rows()), "case {case}, term {term}");
            let counts = list.chunk_counts(4).unwrap();
            for chunk in 0..4 {
                let view = list.view(chunk).unwrap();
                let range = chunk << 16..(chunk + 1) << 16;
                let expected = set.rows_in(range.clone()).count();
                assert_eq!(view.count() as usize, expected, "case {case}, chunk {chunk}");
                assert_eq!(counts[chunk as usize] as usize, expected, "case {case}, chunk {chunk}");
                for row in range.step_by(977) {
                    let is_in = view.contains(row as u16);
                    assert_eq!(is_in, set.contains(row), "case {case}, row {row}");
                }
            }
        }
        assert!(lists.find(0, sets.len() as Term).unwrap().is_none(), "case {case}");
    }
}

#[test]
fn filters_are_unions_intersections_and_complements() {
    for case in 0..CASES {
        let draws = &mut Draws::new(CASES + case);
        let sets = FlagSet::random_list(draws, 6);
        let suppressed = FlagSet::random(draws);
        let lists = lists_of(&sets);
        let mut expected = FlagSet::new(0..ROWS);
        let mut clauses = Vec::new();
        for _ in 0..1 + draws.below(3) {
            let is_negated = draws.below(2) == 0;
            let mut union = FlagSet::new([]);
            let mut clause = Clause { is_negated, ..Clause::internal(Vec::new()) };
            for _ in 0..1 + draws.below(3) {
                let number = draws.below(sets.len() as u32);
                let set = &sets[number as usize];
                let list = lists.find(0, Term::from(number)).unwrap().unwrap();
                let to = set.rows().last().map_or(0, |last| last / 2 + 1);
                let interval = set.rows().next().unwrap_or(0).min(to)..to;
                let (leaf, rows) = match draws.below(4) {
                    0 => (Leaf::Postings(list), set.clone()),
                    1 => (Leaf::NotPostings(list), FlagSet(set.0.iter().map(|is| !is).collect())),
                    2 => (Leaf::Sorted(set.rows().collect()), set.clone()),
                    _ => (Leaf::Interval(interval.clone()), FlagSet::new(interval)),
                };
                clause.leaves.push(leaf);
                union = union.combine(&rows, |one, other| one || other);
            }
            expected = expected.combine(&union, |is_in, is_named| is_in && is_named != is_negated);
            clauses.push(clause);
        }
        expected = expected.combine(&suppressed, |is_in, is_out| is_in && !is_out);
        let suppressed: Vec<u32> = suppressed.rows().collect();
        let matches = Intersection::new(clauses, ROWS).without(&suppressed);
        let counts = matches.chunk_counts(Deadline::NEVER).unwrap();
        for (chunk, count) in (0u32..).zip(&counts) {
            let mut rows = Vec::new();
            matches.chunk(chunk).unwrap().each(|low| {
                rows.push(chunk << 16 | u32::from(low));
                true
            });
            assert_eq!(rows.len(), *count as usize, "case {case}, chunk {chunk}");
            let range = chunk << 16..((chunk + 1) << 16).min(ROWS);
            assert!(rows.into_iter().eq(expected.rows_in(range)), "case {case}, chunk {chunk}");
        }
        let set = DocSet::from_intersection(&matches, Deadline::NEVER).unwrap();
        assert_eq!(set.count(), expected.count(), "case {case}");
    }
}

#[test]
fn groups_count_the_matches_in_any_of_their_lists() {
    for case in 0..CASES {
        let draws = &mut Draws::new(2 * CASES + case);
        let matching = FlagSet::random(draws);
        let sets = FlagSet::random_list(draws, 4);
        let (lists, matching_lists) = (lists_of(&sets), lists_of(std::slice::from_ref(&matching)));
        let leaves = vec![Leaf::Postings(matching_lists.find(0, 0).unwrap().unwrap())];
        let matches = Intersection::new(vec![Clause::internal(leaves)], ROWS);
        let lists: Vec<_> =
            (0..sets.len()).map(|at| lists.find(0, at as Term).unwrap().unwrap()).collect();
        // One group for each list, and one group for all lists.
        let alone = sets.iter().cloned().zip(lists.chunks(1));
        for (set, lists) in alone.chain([(FlagSet::union(&sets), lists.as_slice())]) {
            let count = |chunk| {
                u64::from(count_common(&matches.chunk(chunk).unwrap(), lists, chunk).unwrap())
            };
            let expected = set.combine(&matching, |one, other| one && other).count();
            assert_eq!((0..4).map(count).sum::<u64>(), expected, "case {case}");
        }
    }
}

/// Rows with ids and a column of values for each of several orders.
struct Table {
    ids: Vec<u64>,
    /// The value of each row, by order.
    columns: Vec<Vec<Option<u64>>>,
    specs: Vec<keys::Order>,
    ids_file: Ids,
    orders: OrdersFile,
    /// The rows of each value, of the columns in `LISTED`.
    lists: TermListsFile,
}

/// The columns with posting lists: one of frequent values, and one of rare ones.
const LISTED: [usize; 2] = [0, 3];

/// Hashes a number, the same way in every run.
fn mixed(number: u64) -> u64 {
    let mixed = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 17
}

impl Table {
    /// Creates columns of frequent values, rare values and no values, and the row order.
    fn new(rows: u32) -> Table {
        let ids: Vec<u64> = (0..u64::from(rows)).map(|row| mixed(row) << 20 | row).collect();
        let by = |value: &dyn Fn(u64) -> Option<u64>| (0..u64::from(rows)).map(value).collect();
        let columns: Vec<Vec<Option<u64>>> = vec![
            by(&|row| Some(1_950 + (mixed(row) % 75).max(mixed(row + 7) % 75))),
            by(&|row| {
                (!mixed(row).is_multiple_of(3)).then_some(u64::from(mixed(row).is_multiple_of(50)))
            }),
            by(&Some),
            by(&|row| mixed(row).is_multiple_of(1_000).then_some(mixed(row) % 7)),
            by(&|row| Some(mixed(row * 3))),
            // The row order: 35 distinct values, descending; rows without a value come last.
            by(&|row| {
                let group = row * 40 / u64::from(rows);
                (group < 35).then_some(100 - group)
            }),
        ];
        let spec = |values, is_row_order| keys::Order {
            counts_references: false,
            path: String::new(),
            values,
            is_row_order,
            lists: None,
        };
        let mut specs = vec![spec(Values::Integers, false); columns.len() - 2];
        specs.push(spec(Values::Texts, false));
        specs.push(spec(Values::Integers, true));
        specs.push(spec(Values::Ids, false));
        (0..).zip(LISTED).for_each(|(number, column)| specs[column].lists = Some(number));
        Table::write(ids, columns, specs)
    }

    fn write(mut ids: Vec<u64>, columns: Vec<Vec<Option<u64>>>, specs: Vec<keys::Order>) -> Table {
        // Within the row order, ids of equal values ascend.
        let own = columns.len() - 1;
        let mut sorted: Vec<(usize, u64)> = ids.iter().copied().enumerate().collect();
        sorted.sort_by_key(|(row, id)| (std::cmp::Reverse(columns[own][*row]), *id));
        ids = sorted.into_iter().map(|(_, id)| id).collect();

        let directory = tempfile::tempdir().unwrap();
        let count = ids.len() as u64;
        let path = directory.path().join("ids");
        let mut writer = ColumnsWriter::create(&path, header(FileKind::Ids, count)).unwrap();
        ids.iter().for_each(|id| writer.push(*id).unwrap());
        let mut by_id: Vec<u32> = (0..ids.len() as u32).collect();
        by_id.sort_by_key(|row| ids[*row as usize]);
        for row in &by_id {
            writer.push_pair(ids[*row as usize], &row.to_le_bytes()).unwrap();
        }
        writer.finish().unwrap();
        let ids_file = Ids::open(open(&path, FileKind::Ids)).unwrap();

        let path = directory.path().join("orders");
        let mut writer =
            OrdersWriter::create(&path, header(FileKind::Orders, count), 1 << 20).unwrap();
        for (spec, column) in specs.iter().zip(columns.iter().map(Some).chain([None])) {
            let mut rows = by_id.clone();
            let written = |row: u32| match column {
                None => Some(ids[row as usize]),
                Some(column) => {
                    let value = column[row as usize];
                    if spec.is_descending() { value.map(|value| !value) } else { value }
                }
            };
            rows.sort_by_key(|row| (written(*row).is_none(), written(*row), ids[*row as usize]));
            let mut last = None;
            let ranked: Vec<io::Result<RankedRow>> = rows
                .into_iter()
                .enumerate()
                .map(|(rank, row)| {
                    let value = match written(row) {
                        None => RankedValue::None,
                        Some(value) if rank > 0 && last == Some(value) => RankedValue::Same,
                        Some(value) => RankedValue::Next(value),
                    };
                    last = written(row);
                    Ok(RankedRow { row, value })
                })
                .collect();
            let parts = match spec.values {
                Values::Ids => OrderParts::Checkpoints,
                _ if spec.is_row_order => OrderParts::RowOrder,
                values => OrderParts::All { has_values: values != Values::Texts },
            };
            writer.push(ranked.into_iter(), parts).unwrap();
        }
        writer.finish().unwrap();
        let orders = OrdersFile::open(open(&path, FileKind::Orders), &specs, ids.len()).unwrap();
        let mut lists = ListsSpool::new(directory.path());
        for column in LISTED {
            let mut by_value: BTreeMap<u64, PostingsBuilder> = BTreeMap::new();
            for (row, value) in (0..).zip(&columns[column]) {
                value
                    .iter()
                    .for_each(|value| by_value.entry(*value).or_default().push_rows(&[row]));
            }
            lists.begin(Terms::Values.bytes());
            for (value, mut list) in by_value {
                lists.push(Term::from(value), &mut list).unwrap();
            }
            lists.end(&mut PostingsBuilder::default()).unwrap();
        }
        let path = directory.path().join("lists");
        let lists = write_lists(&path, lists, &[Terms::Values; LISTED.len()]);
        Table { ids, columns, specs, ids_file, orders, lists }
    }

    fn order(&self, number: usize) -> crate::index::orders::Order<'_> {
        self.orders.order(number, &self.specs[number], &self.ids_file).unwrap()
    }

    /// Directs an order, in whichever direction it is stored.
    fn directed(&self, number: usize, is_descending: bool) -> DirectedOrder<'_> {
        let order = self.order(number);
        DirectedOrder { order, is_reversed: self.specs[number].is_descending() != is_descending }
    }

    fn value(&self, number: usize, row: u32) -> Option<u64> {
        match self.columns.get(number) {
            Some(column) => column[row as usize],
            None => Some(self.ids[row as usize]),
        }
    }

    /// Sorts rows by comparing values and ids.
    fn sorted(&self, mut rows: Vec<u32>, keys: &[(usize, bool)]) -> Vec<u32> {
        rows.sort_by_cached_key(|row| {
            let sort_numbers: Vec<(bool, u64)> = keys
                .iter()
                .map(|(number, is_descending)| match self.value(*number, *row) {
                    None => (true, 0),
                    Some(value) => (false, if *is_descending { !value } else { value }),
                })
                .collect();
            (sort_numbers, self.ids[*row as usize])
        });
        rows
    }
}

#[test]
fn pages_of_every_set_and_sort_equal_those_of_plain_sorting() {
    let table = Table::new(ROWS);
    let dense = (0..ROWS).filter(|row| !mixed(u64::from(*row) + 9).is_multiple_of(3)).collect();
    let sparse = (0..ROWS).filter(|row| mixed(u64::from(*row)).is_multiple_of(11)).collect();
    let few = (0..ROWS).filter(|row| mixed(u64::from(*row)).is_multiple_of(499)).collect();
    let none = Vec::new();
    let sets: [Vec<u32>; 5] = [(0..ROWS).collect(), dense, sparse, few, none];
    let orders = table.specs.len();
    let mut sorts: Vec<Vec<(usize, bool)>> =
        (0..orders).flat_map(|order| [vec![(order, false)], vec![(order, true)]]).collect();
    for at in 0..12u64 {
        let pick = |salt: u64| (mixed(at * 31 + salt) % orders as u64) as usize;
        let is_descending = |salt: u64| mixed(at + salt).is_multiple_of(2);
        sorts.push(vec![
            (pick(1), is_descending(1)),
            (pick(2), is_descending(2)),
            (pick(3), is_descending(3)),
        ]);
        sorts.push(vec![(at as usize % 2, is_descending(4)), (pick(5), is_descending(5))]);
    }
    let suppressed: [Vec<u32>; 3] = [
        Vec::new(),
        [0, 1, 2, 70_000, ROWS - 2, ROWS - 1].to_vec(),
        (0..ROWS).filter(|row| mixed(u64::from(*row) + 3).is_multiple_of(97)).collect(),
    ];
    // Every sort of all rows, computed once. Sorting a set gives the same order without the rest.
    let plain: Vec<Vec<u32>> =
        sorts.iter().map(|keys| table.sorted((0..ROWS).collect(), keys)).collect();
    let mut first_pages = 0;
    let cases =
        suppressed.iter().flat_map(|out| (0..).zip(&sets).map(move |(at, set)| (at, set, out)));
    for (number, rows, suppressed) in cases {
        let lists = lists_of(&[FlagSet::new(rows.iter().copied())]);
        let list = lists.find(0, 0).unwrap().unwrap();
        let clause = Clause::internal(vec![Leaf::Postings(list)]);
        let clauses = if number == 0 { Vec::new() } else { vec![clause] };
        let matches = Intersection::new(clauses, ROWS).without(suppressed);
        let set = DocSet::from_intersection(&matches, Deadline::NEVER).unwrap();
        let rows: Vec<u32> =
            rows.iter().copied().filter(|row| suppressed.binary_search(row).is_err()).collect();
        assert_eq!(set.count(), rows.len() as u64);
        let mut is_in = vec![false; ROWS as usize];
        rows.iter().for_each(|row| is_in[*row as usize] = true);
        let by_id = table.order(orders - 1);
        // Later pages take up the runs and counts that earlier pages kept.
        let (set, kept) = (CountedSet::new(set), &SnapshotSets::new(&KeptSets::new(1 << 20)));
        let name = SetKey::of_filter(&Query::new(Entity::Output), false);
        let finder = PageFinder { ids: &table.ids_file, by_id, kept, deadline: Deadline::NEVER };
        for (keys, plain) in sorts.iter().zip(&plain) {
            let expected: Vec<u32> =
                plain.iter().copied().filter(|row| is_in[*row as usize]).collect();
            let sort: Vec<DirectedOrder<'_>> = keys
                .iter()
                .map(|(order, is_descending)| table.directed(*order, *is_descending))
                .collect();
            let count = rows.len() as u64;
            let valued = rows.iter().filter(|row| table.value(keys[0].0, **row).is_some()).count();
            let positions = [0, 25, count / 3, count / 2, valued.saturating_sub(60) as u64];
            for from in positions.into_iter().chain([count.saturating_sub(7), count, count + 100]) {
                let found = finder
                    .page(NamedSet { set: &set, name: Some(&name) }, &sort, from, 100)
                    .unwrap();
                let from = (from as usize).min(rows.len());
                let to = (from + 100).min(rows.len());
                let out = suppressed.len();
                let case = format!("set {number} without {out} rows, {keys:?}, from {from}");
                assert_eq!(found, expected[from..to], "{case}");
                let first = FirstPage { finder, matches: &matches, lists: Some(&table.lists) };
                if from < to
                    && let Some(found) = first.rows(&sort, from, to - from).unwrap()
                {
                    assert_eq!(found, expected[from..to], "{case}, as a first page");
                    first_pages += 1;
                }
            }
        }
    }
    assert!(first_pages > 500, "{first_pages}");
}

#[test]
fn a_value_range_finds_its_rows_at_and_between_rank_checkpoints() {
    let table = Table::new(ROWS);
    for number in [0, 1, 2, 3] {
        let order = table.order(number);
        let values: Vec<u64> = table.columns[number].iter().flatten().copied().collect();
        let (least, most) = (*values.iter().min().unwrap(), *values.iter().max().unwrap());
        for at in 0..24u64 {
            let span = most - least + 1;
            let ends = [least + mixed(at) % span, least + mixed(at + 50) % span];
            let (low, high) = (ends[0].min(ends[1]), ends[0].max(ends[1]));
            let high = if at.is_multiple_of(3) { low } else { high };
            let range = ValueRange::new(order, order.codes_between(low, high).unwrap()).unwrap();
            let clause = Clause::internal(vec![Leaf::from(range)]);
            let matches = Intersection::new(vec![clause], ROWS);
            let expected: Vec<u32> = (0..ROWS)
                .filter(|row| {
                    table.value(number, *row).is_some_and(|value| (low..=high).contains(&value))
                })
                .collect();
            let mut found = Vec::new();
            for chunk in 0..matches.chunks() {
                matches.chunk(chunk).unwrap().each(|low| {
                    found.push(chunk << 16 | u32::from(low));
                    true
                });
            }
            assert!(found == expected, "order {number}, {low} to {high}");
        }
    }
}

#[test]
fn a_union_of_value_ranges_holds_the_rows_of_each() {
    let table = Table::new(ROWS);
    for number in [0, 2, 5] {
        let order = table.order(number);
        let values: Vec<u64> = table.columns[number].iter().flatten().copied().collect();
        let (least, most) = (*values.iter().min().unwrap(), *values.iter().max().unwrap());
        let tenth = |part: u64| least + (most - least) / 10 * part;
        let ranges =
            [(tenth(1), tenth(3)), (tenth(4), tenth(4)), (tenth(2), tenth(6)), (most, most)];
        let is_in = |row: &u32| {
            let value = table.value(number, *row);
            value.is_some_and(|value| {
                ranges.iter().any(|(low, high)| (*low..=*high).contains(&value))
            })
        };
        for is_negated in [false, true] {
            let mut union = Union::new(ROWS);
            for (low, high) in ranges {
                let codes = order.codes_between(low, high).unwrap();
                union.add_range(ValueRange::new(order, codes).unwrap()).unwrap();
            }
            let clause = Clause { is_negated, ..Clause::internal(union.into_leaves()) };
            let bits = clause.to_bitset(ROWS, Deadline::NEVER).unwrap();
            assert!(
                (0..ROWS).all(|row| bits.contains(row) == (is_in(&row) != is_negated)),
                "order {number}"
            );
        }
    }
}
