//! Tests of the reader of lists and orders.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use pinakes_format::entity::Entity;
use pinakes_format::index::orders::{sortable_integer, sortable_number};
use pinakes_format::schema::keys::keys_of;
use pinakes_format::schema::layout::schema_hash;
use pinakes_format::snapshot::open_draft_archive;
use pinakes_format::storage::Ids;
use pinakes_format::storage::header::{FileKind, Header};

use crate::{
    document::Document,
    example::REFERENCES,
    files::Archive,
    index,
    indexes::{Citations, Crossings, Keys, Lists, Order, integer_term, targets, text_term},
    with_example,
};

/// Rows of two chunks.
const MANY: u32 = 70_000;

fn keys(entity: &str) -> Keys {
    Keys::parse(Document::read().block("keys"), entity)
}

#[test]
fn records_are_found_by_terms() {
    with_example(|directory| {
        let keys = keys("outputs");
        let archive = Archive::open(directory, "outputs/term_lists");
        assert_eq!(archive.rows(), keys.lists.len());
        let lists = |path: &str| Lists::open(&archive, Keys::number(&keys.lists, path));
        // A DOI is sought in its normal form, a text folded, a code in lower case.
        assert_eq!(lists("doi").find(&text_term("10.5555/13a")), [1]);
        assert!(lists("doi").find(&text_term("10.5555/13A")).is_empty());
        assert_eq!(lists("doi").presence(), [1, 2]);
        assert_eq!(lists("title").find(&text_term("uber graphs")), [1]);
        assert_eq!(lists("title").find(&text_term("on drawing")), [2]);
        assert_eq!(lists("type").find(&text_term("article")), [0]);
        assert_eq!(lists("is_retracted").find(&[0, 0, 0, 0, 0, 0, 0, 1]), [0]);
        // The first name is empty, and so found by nothing; it is there.
        assert_eq!((lists("name").terms, lists("name").presence()), (2, vec![0, 1, 2]));
        assert_eq!((lists("abstract").terms, lists("abstract").presence()), (0, vec![0]));
        // Row 2 of topics is an unresolved reference without an id.
        assert_eq!(lists("topics.id").find(&2u32.to_be_bytes()), [0]);
        assert_eq!(lists("topics.id").presence(), [0]);
        // One author has two spellings, which are two rows.
        let authors = Archive::open(directory, "authors/term_lists");
        let named = crate::asked::keys("authors");
        let unresolved =
            Lists::open(&authors, Keys::number(&named.lists, "names of unresolved references"));
        assert_eq!(unresolved.find(&text_term("j swift")), [0]);
        assert_eq!(unresolved.find(&text_term("jonathan swift")), [1]);
        assert!(unresolved.presence().is_empty());
        assert_eq!(lists("authors.id").find(&1u32.to_be_bytes()), [0]);
    });
}

#[test]
fn orders_are_walked() {
    with_example(|directory| {
        let keys = keys("outputs");
        let archive = Archive::open(directory, "outputs/orders");
        let order = |path| Order::open(&archive, &keys, path);
        let year = order("year");
        assert_eq!((year.rows(), year.distinct, year.valued), (vec![1, 0, 2], 2, 2));
        assert_eq!([0, 1, 2].map(|row| year.code_of(row)), [1, 0, 2]);
        assert_eq!([!year.value(0), !year.value(1)], [2_020, -44].map(sortable_integer));
        assert_eq!(!order("fwci").value(0), sortable_number(0.5));
        assert_eq!(!order("date").value(0), sortable_integer(19_991_231));
        // "7 bytes…", "on drawing", "uber graphs".
        assert_eq!(order("title").rows(), [0, 2, 1]);
        assert_eq!(order("cited_by_count").rows(), [0, 1, 2]);
        assert_eq!(order("cited_by_count").code_of(2), 0);
        assert_eq!(year.steps, 0);
    });
}

#[test]
fn long_lists_are_read_in_each_of_their_forms() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("term_lists");
    let every = |step: usize| (0..MANY).step_by(step).collect::<BTreeSet<u32>>();
    // Short; arrays; bitset and array; full and bitset.
    let lists = [every(40_000), every(100), every(15), every(1)];
    let terms: BTreeMap<u128, BTreeSet<u32>> = (7u128..).zip(lists.clone()).collect();
    let mut writer = index::lists_writer(&place, Entity::Field, 2);
    index::push_lists(&mut writer, 0, &BTreeMap::new(), &BTreeSet::new());
    index::push_lists(&mut writer, 8, &terms, &lists[3]);
    writer.finish().unwrap();
    let archive = Archive::open(directory.path(), "term_lists");
    let nothing = Lists::open(&archive, 0);
    assert_eq!((nothing.terms, nothing.presence()), (0, vec![]));
    let read = Lists::open(&archive, 1);
    assert_eq!(read.terms, 4);
    for (at, expected) in lists.iter().enumerate() {
        let term = (7 + at as u64).to_be_bytes();
        assert_eq!(read.find(&term), expected.iter().copied().collect::<Vec<_>>());
        assert_eq!(read.count(at), expected.len());
        assert_eq!(read.place(at).2, at > 0, "list {at}");
    }
    assert_eq!(read.presence().len(), MANY as usize);
    assert_eq!(integer_term(-1), 0x7fff_ffff_ffff_ffff_u64.to_be_bytes());
}

#[test]
fn references_and_citations_are_read() {
    with_example(|directory| {
        let archive = Archive::open(directory, "outputs/citations");
        let [references, citations] = [false, true].map(|way| Citations::open(&archive, way));
        assert_eq!([0, 1, 2].map(|row| references.rows(row)), REFERENCES.map(<[u32]>::to_vec));
        let cited: [&[u32]; 4] = [&[1], &[0], &[], &[0]];
        assert_eq!([0, 1, 2, 3].map(|row| citations.rows(row)), cited.map(<[u32]>::to_vec));
        assert_eq!((references.present(), citations.present()), (vec![0, 1], vec![0, 1]));
        assert_eq!((references.links, citations.links), (3, 3));
        let keys = keys("outputs");
        let orders = Archive::open(directory, "outputs/orders");
        let counts = Order::open(&orders, &keys, "references.count");
        assert_eq!(counts.rows(), [0, 1, 2]);
        assert_eq!([0, 1, 2].map(|code| !counts.value(code)), [2, 1, 0].map(sortable_integer));
    });
}

#[test]
fn target_rows_are_read() {
    with_example(|directory| {
        let archive = Archive::open(directory, "outputs/targets");
        let keys = keys("outputs");
        // Two spellings of an id are its first row; the topic without an id is left out.
        assert_eq!(targets(&archive, &keys, "authors.id", 0), [0]);
        assert_eq!(targets(&archive, &keys, "topics.id", 0), [0]);
        assert!(targets(&archive, &keys, "topics.id", 1).is_empty());
    });
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("targets");
    let keys = keys("sources");
    // Records with none, a few and hundreds of rows, in as many bytes as 70,000 rows take.
    let records: Vec<Vec<u32>> = (0..1_000u32)
        .map(|row| (0..row % 5 * row % 300).map(|at| at * 200 + row).collect())
        .collect();
    index::write_targets(&place, Entity::Source, 1_000, &[(MANY, records.clone())]);
    let archive = Archive::open(directory.path(), "targets");
    for (record, expected) in records.iter().enumerate() {
        assert_eq!(targets(&archive, &keys, "topics.id", record), *expected, "record {record}");
    }
}

#[test]
fn counts_of_frequent_terms_are_read() {
    const ROWS: u32 = 70_000;
    let directory = tempfile::tempdir().unwrap();
    let place = |kind: FileKind| directory.path().join(kind.file_name());
    let (keys, declared) = (keys("outputs"), keys_of(Entity::Output));
    let number = |path: &str| Keys::number(&keys.lists, path);
    // Three types; years of which one is rare; rows without a year, and many rows with one date.
    let type_of = |row: u32| row % 7 % 3;
    let year_of = |row: u32| match row % 1_000 {
        999 => None,
        500 => Some(1_900 + row / 1_000 % 2),
        rest => Some(2_000 + rest % 5),
    };
    let mut lists = vec![BTreeMap::<u128, BTreeSet<u32>>::new(); declared.lists.len()];
    for row in 0..ROWS {
        let terms = &mut lists[number("type")];
        terms.entry(type_of(row).into()).or_default().insert(row);
        if let Some(year) = year_of(row) {
            lists[number("year")].entry(year.into()).or_default().insert(row);
        }
    }
    let mut writer = index::lists_writer(&place(FileKind::TermLists), Entity::Output, lists.len());
    for (spec, terms) in declared.lists.iter().zip(&lists) {
        let presence = terms.values().flatten().copied().collect();
        index::push_lists(&mut writer, spec.terms.bytes(), terms, &presence);
    }
    writer.finish().unwrap();
    let ids: Vec<u64> = (0..u64::from(ROWS)).map(|row| row * 7 % u64::from(ROWS)).collect();
    let value = |number: u64| Some((number, String::new(), String::new()));
    let mut writer = index::orders_writer(&place(FileKind::Orders), Entity::Output, ids.len());
    let value_of = |path: &str, row: u32| match path {
        "cited_by_count" => value(u64::from(row)),
        "year" => year_of(row).and_then(|year| value(!u64::from(year))),
        "date" => value(u64::from(row % 40)),
        "fwci" => value(u64::from(row % 977)),
        _ => None,
    };
    for order in &declared.orders {
        let values: Vec<_> = (0..ROWS).map(|row| value_of(&order.path, row)).collect();
        index::push_order(&mut writer, order, &ids, &values);
    }
    writer.finish().unwrap();
    index::write_ids(&place(FileKind::Ids), Entity::Output, &ids);
    let read = open_draft_archive(&place(FileKind::Ids), FileKind::Ids, Some(Entity::Output));
    let opened = Ids::open(read.unwrap()).unwrap();
    index::write_crossings(&place(FileKind::Crossings), Entity::Output, &opened);

    let archive = Archive::open(directory.path(), "crossings");
    let crossings = Crossings::open(&archive);
    let frequent = |path: &str| {
        let terms = lists[number(path)].values();
        terms.filter(|rows| rows.len() >= 274).cloned().collect::<Vec<BTreeSet<u32>>>()
    };
    let terms = [frequent("year"), frequent("type")].concat();
    assert_eq!(terms.len(), 8);
    let numbers = [vec![number("year"); 5], vec![number("type"); 3]].concat();
    assert!(crossings.terms.iter().map(|(_, lists)| *lists as usize).eq(numbers));
    assert!(crossings.terms.is_sorted());
    for (one, other) in [(0, 1), (0, 7), (2, 6), (6, 7)] {
        let common: Vec<u32> = terms[one].intersection(&terms[other]).copied().collect();
        let first = common.iter().filter(|row| **row < 65_536).count() as u32;
        assert_eq!(crossings.common(one, other), [first, common.len() as u32 - first]);
    }
    let orders = Archive::open(directory.path(), "orders");
    assert_eq!(keys.counted.len(), 5);
    for (at, paths) in keys.counted.iter().enumerate() {
        let order = |path: &String| Order::open(&orders, &keys, path);
        let mut rows = order(paths.last().unwrap()).rows();
        let (stored, sums, counts) = crossings.counted(&keys, at);
        if paths.len() == 2 {
            // A stable sort keeps the order of the second key.
            let first = order(&paths[0]);
            rows.sort_by_key(|row| first.code_of(*row));
            assert_eq!(stored, rows, "{paths:?}");
        }
        for (term, members) in terms.iter().enumerate() {
            let is_member: Vec<bool> = rows.iter().map(|row| members.contains(row)).collect();
            let before = |rank: usize| is_member[..rank].iter().filter(|is| **is).count() as u32;
            let stretches = (0..9).map(|at| before(at * 8_192));
            assert!(sums[term].iter().copied().eq(stretches), "{paths:?}, term {term}");
            let blocks = is_member.chunks(64).map(|block| block.iter().filter(|is| **is).count());
            assert!(counts[term].iter().map(|count| usize::from(*count)).eq(blocks));
        }
    }
}

#[test]
fn lists_of_every_length_are_read() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("citations");
    let every = |step: usize| (0..MANY).step_by(step).collect::<BTreeSet<u32>>();
    let mut references = vec![BTreeSet::new(); MANY as usize];
    // None, one, interpolated in many ways, the longest coded list, and postings of both forms.
    references[..8].clone_from_slice(&[
        BTreeSet::new(),
        BTreeSet::from([MANY - 1]),
        (0..30).map(|at| at * at * 77).collect(),
        (100..4_196).collect(),
        every(18),
        every(17),
        every(2),
        every(1),
    ]);
    // Citations of row 1 by all rows but the first.
    references[8..].iter_mut().for_each(|rows| _ = rows.insert(1));
    let rows = u64::from(MANY);
    let header = Header {
        kind: FileKind::Citations,
        entity: Some(Entity::Output),
        published: rows,
        rows,
        schema_hash: schema_hash(),
    };
    index::write_citations(&place, header, &references);
    let archive = Archive::open(directory.path(), "citations");
    let [read, cited] = [false, true].map(|way| Citations::open(&archive, way));
    assert_eq!(read.links, references.iter().map(BTreeSet::len).sum::<usize>());
    for (row, expected) in references.iter().enumerate().take(200) {
        assert_eq!(read.rows(row), expected.iter().copied().collect::<Vec<_>>(), "row {row}");
    }
    for row in (0..MANY).step_by(997).chain([0, 1, 17, MANY - 1]) {
        let citing = (0..).zip(&references).filter(|(_, rows)| rows.contains(&row));
        let citing: Vec<u32> = citing.map(|(citing, _)| citing).collect();
        assert_eq!(cited.rows(row as usize), citing, "row {row}");
    }
    assert_eq!(read.present().len(), MANY as usize - 1);
}

/// Writes the orders of fields with many rows, sorted by their counts.
fn write_orders(directory: &Path) -> (Vec<u64>, Vec<Option<u64>>) {
    // A few values of many rows, many of one, and rows without.
    let count_of = |row: u32| match row {
        0..500 => Some(u64::from(9_000 - row)),
        500..45_000 => Some(3),
        45_000..69_990 => Some(2),
        _ => None,
    };
    let ids: Vec<u64> = (0..MANY).map(|row| u64::from(row) * 3 % 70_001 + 1).collect();
    let mut counts: Vec<(Option<u64>, u64)> =
        (0..MANY).map(count_of).zip(ids.iter().copied()).collect();
    counts.sort_by_key(|(count, id)| (count.is_none(), count.map(|count| !count), *id));
    let (counts, ids): (Vec<Option<u64>>, Vec<u64>) = counts.into_iter().unzip();
    let ordered = |number: u64| (!sortable_integer(number as i64), String::new(), String::new());
    let mut writer = index::orders_writer(&directory.join("orders"), Entity::Field, ids.len());
    for order in &keys_of(Entity::Field).orders {
        let values: Vec<Option<index::Value>> = match order.path.as_str() {
            "outputs_count" => counts.iter().map(|count| count.map(ordered)).collect(),
            "cited_by_count" => ids.iter().map(|id| count_of(*id as u32).map(ordered)).collect(),
            _ => vec![None; ids.len()],
        };
        index::push_order(&mut writer, order, &ids, &values);
    }
    writer.finish().unwrap();
    (ids, counts)
}

#[test]
fn intervals_hold_the_rows_between_rank_checkpoints() {
    let directory = tempfile::tempdir().unwrap();
    let (ids, counts) = write_orders(directory.path());
    let keys = keys("fields");
    let archive = Archive::open(directory.path(), "orders");
    let own = Order::open(&archive, &keys, "outputs_count");
    assert_eq!((own.steps, own.valued, own.distinct), (0, 69_990, 502));
    assert_eq!(own.row_at(7), 7);
    let values = (0..own.distinct).map(|code| Some(!own.value(code)));
    let values: Vec<Option<u64>> = values.chain([None]).collect();
    for (row, count) in (0u32..).zip(&counts) {
        let expected = count.map(|count| sortable_integer(count as i64));
        assert_eq!(values[own.code_of(row)], expected, "row {row}");
    }
    let order = Order::open(&archive, &keys, "cited_by_count");
    let rows = order.rows();
    let mut sorted = rows.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, (0..MANY).collect::<Vec<_>>());
    let placed = |row: &u32| (order.code_of(*row), ids[*row as usize]);
    assert!(rows.is_sorted_by_key(placed));
    for (rank, row) in rows.iter().enumerate().take(order.valued) {
        let code = order.code_of(*row);
        let begins = rank == 0 || order.code_of(rows[rank - 1]) != code;
        assert_eq!(begins, order.start(code) == rank, "rank {rank}");
    }
    assert!(order.steps > 0, "no steps");
    let ends: Vec<usize> = (0..order.steps).map(|step| order.step(step)).collect();
    for (rank, row) in rows.iter().enumerate() {
        let interval = ends.iter().filter(|end| **end <= rank).count();
        assert_eq!(order.interval(*row), interval, "rank {rank}");
    }
}
