//! `--where`: a part of a dump against the whole of it. What matches is what the whole's list gives
//! under the same filter, what is kept beside that is what it refers to, found by a naive reading of
//! JSON, and every record kept says what it says in the whole.

#![allow(clippy::unwrap_used, missing_docs)]

mod closure;
mod refused;

use pinakes_tests::values;
use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    path::{Path, PathBuf},
};

use pinakes_format::entity::Entity;
use pinakes_format::json::render::{Page, Shape};
use pinakes_format::query::{Deadline, Predicate, Query};
use pinakes_format::snapshot::{Lookup, Snapshot};
use pinakes_oracle::{Library, Lists};
use pinakes_tests::{
    SeededRng, TINY_DUMP, build, compiler, current_and_2023_dumps, files_below, publish,
    real_sample, sample, write_files,
};
use serde_json::Value;

use closure::{Places, closure};
use pinakes_tests::query_generator::{Coverage, QueryGenerator};

/// The rows of a list under filters, all on one page.
fn rows_of(snapshot: &Snapshot, query: &Query) -> BTreeSet<u32> {
    let query = Query { per_page: snapshot.count(query.entity).max(1), ..query.clone() };
    let answer = query.answer(snapshot, Deadline::NEVER).unwrap();
    assert_eq!(answer.rows.len() as u64, answer.count, "{:?}", query.filter);
    answer.rows.into_iter().collect()
}

fn query(entity: Entity, filter: &str) -> Query {
    let mut query = Query::new(entity);
    query.filter(filter).unwrap();
    query
}

/// Filters at random, which one record mostly matches, and each operation of each key.
fn random_filters(library: &Library, count: usize, seed: u64) -> Vec<(Entity, String)> {
    let lists = Lists::new(library);
    let generators = QueryGenerator::all(library, &lists);
    let (mut rng, mut coverage) = (SeededRng(seed), Coverage::default());
    let generators: Vec<&QueryGenerator> =
        generators.iter().filter(|generator| !generator.filters.is_empty()).collect();
    let mut filters = Vec::new();
    while filters.len() < count {
        let generator = values::pick(&mut rng, &generators);
        let filter = generator.expressions(&mut rng, &mut coverage);
        let entity = Entity::all().find(|entity| entity.facts().route == generator.route).unwrap();
        if Query::new(entity).filter(&filter).is_ok() {
            filters.push((entity, filter));
        }
    }
    filters
}

fn check_predicates(inputs: &[PathBuf], count: usize, seed: u64) {
    let out = tempfile::tempdir().unwrap();
    let snapshot = Snapshot::open(&publish(inputs, out.path(), &["--quiet"])).unwrap();
    let library = pinakes_tests::library(inputs);
    let mut matched = 0;
    for (entity, filter) in random_filters(library, count, seed) {
        let query = query(entity, &filter);
        let predicate = Predicate::new(&query, &snapshot).unwrap();
        let rows = 0..snapshot.count(entity);
        let found: BTreeSet<u32> =
            rows.filter(|row| predicate.holds(&snapshot, *row).unwrap()).collect();
        assert_eq!(found, rows_of(&snapshot, &query), "{entity} {filter}");
        matched += usize::from(!found.is_empty());
    }
    assert!(matched * 2 > count, "of {count} filters only {matched} match anything");
}

#[test]
fn a_record_matches_where_exactly_if_its_list_contains_it() {
    check_predicates(&[sample()], 5_000, 11);
}

#[test]
fn a_real_record_matches_where_exactly_if_its_list_contains_it() {
    let test = "a_real_record_matches_where_exactly_if_its_list_contains_it";
    let Some(every) = current_and_2023_dumps(test) else { return };
    check_predicates(&every, 1_500, 12);
}

/// A whole and the objects that parts of it are linked from.
struct Whole {
    place: tempfile::TempDir,
    snapshot: Snapshot,
    places: Places,
    report: Value,
}

/// A part and the report of the run that linked it.
struct Part {
    path: PathBuf,
    snapshot: Snapshot,
    report: Value,
}

fn read_json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

impl Whole {
    fn of(inputs: &[PathBuf]) -> Whole {
        let place = tempfile::tempdir().unwrap();
        let path = publish(inputs, place.path(), &["--quiet"]);
        let snapshot = Snapshot::open(&path).unwrap();
        let places = Places::of(&snapshot);
        Whole { place, snapshot, places, report: read_json(&path.join("report.json")) }
    }

    /// Links the part that these filters choose; its path.
    fn link(&self, wheres: &[String], more: &[&str]) -> PathBuf {
        let (objects, out) = (self.place.path().join("objects"), self.place.path().join("parts"));
        let mut args: Vec<&OsStr> = vec!["link".as_ref(), "--quiet".as_ref()];
        args.extend(["--objects".as_ref(), objects.as_os_str()]);
        args.extend(["--out".as_ref(), out.as_os_str()]);
        for given in wheres {
            args.extend(["--where".as_ref(), OsStr::new(given)]);
        }
        args.extend(more.iter().map(OsStr::new));
        let output = compiler(&args);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{wheres:?}: {errors}");
        PathBuf::from(String::from_utf8_lossy(&output.stdout).lines().last().unwrap())
    }

    fn part(&self, wheres: &[String]) -> Part {
        let path = self.link(wheres, &[]);
        let snapshot = Snapshot::open(&path).unwrap();
        snapshot.verify().unwrap();
        let report = read_json(&path.join("report.json"));
        Part { path, snapshot, report }
    }

    /// Holds the part that these filters choose to all that is promised of it.
    fn check(&self, filters: &[(Entity, String)]) {
        let wheres: Vec<String> = filters.iter().map(|(of, text)| format!("{of}:{text}")).collect();
        let part = self.part(&wheres);
        let mut queries: BTreeMap<Entity, Query> = BTreeMap::new();
        for (entity, filter) in filters {
            let query = queries.entry(*entity).or_insert_with(|| Query::new(*entity));
            query.filter(filter).unwrap();
        }
        let mut roots = BTreeSet::new();
        for query in queries.values() {
            let rows = rows_of(&self.snapshot, query).into_iter();
            roots.extend(
                rows.map(|row| (query.entity, self.snapshot.row_id(query.entity, row).unwrap())),
            );
        }
        let kept = closure(&self.places, roots.clone());
        let found = Places::of(&part.snapshot).ids();
        let lost: Vec<_> = kept.difference(&found).collect();
        let unasked: Vec<_> = found.difference(&kept).collect();
        assert!(lost.is_empty() && unasked.is_empty(), "{wheres:?}: {lost:?}; {unasked:?}");
        for (entity, query) in &queries {
            let rows = rows_of(&part.snapshot, query).into_iter();
            let ids: BTreeSet<(Entity, u64)> =
                rows.map(|row| (*entity, part.snapshot.row_id(*entity, row).unwrap())).collect();
            let asked = roots.iter().filter(|(of, _)| of == entity).copied();
            assert_eq!(ids, asked.collect(), "{wheres:?} asked of the part");
        }
        self.check_records(&part, &wheres);
        self.check_accounting(&part, &wheres);
        self.check_redirects(&part, &wheres);
    }

    /// Every record kept says what it says in the whole, in the same order.
    fn check_records(&self, part: &Part, wheres: &[String]) {
        for entity in Entity::all() {
            let mut last = None;
            for row in 0..part.snapshot.count(entity) {
                let id = part.snapshot.row_id(entity, row).unwrap();
                let Lookup::Row(whole) = self.snapshot.find(entity, id).unwrap() else {
                    panic!("{wheres:?}: {entity} {id} is not in the whole");
                };
                assert!(last.is_none_or(|last| last < whole), "{wheres:?}: {entity} {id} is moved");
                last = Some(whole);
                for shape in [Shape::Single, Shape::List] {
                    let expected = rendered(&self.snapshot, entity, whole, shape);
                    let found = rendered(&part.snapshot, entity, row, shape);
                    assert_eq!(found, expected, "{wheres:?}: {entity} {id}");
                }
            }
        }
    }

    fn check_accounting(&self, part: &Part, wheres: &[String]) {
        let manifest = part.snapshot.manifest();
        let selection = manifest.selection.as_ref().unwrap();
        for entity in Entity::all() {
            let name = entity.facts().plural;
            let number =
                |report: &Value, member: &str| report["entities"][name][member].as_u64().unwrap();
            let (whole, part) = (&self.report, &part.report);
            for member in ["read", "duplicates", "superseded", "conflicts", "merged", "quarantined"]
            {
                assert_eq!(
                    number(part, member),
                    number(whole, member),
                    "{wheres:?} {name} {member}"
                );
            }
            let published = number(part, "published_from_input");
            let excluded = number(part, "excluded");
            assert_eq!(
                published + excluded,
                number(whole, "published_from_input"),
                "{wheres:?} {name}"
            );
            assert_eq!(selection.excluded[name], excluded, "{wheres:?} {name}");
            let count = manifest.counts[name].published;
            assert_eq!(published + number(part, "derived"), count, "{wheres:?} {name}");
            assert!(number(part, "dangling") <= number(whole, "dangling"), "{wheres:?} {name}");
        }
    }

    /// A merged id leads to what is kept, or nowhere.
    fn check_redirects(&self, part: &Part, wheres: &[String]) {
        for (entity, from) in &self.places.merged {
            let Lookup::Merged(to) = self.snapshot.find(*entity, *from).unwrap() else {
                panic!("{entity} {from} is merged in the whole");
            };
            let is_stray =
                |snapshot: &Snapshot| !snapshot.unresolved_rows(*entity, to).unwrap().is_empty();
            let is_kept = matches!(part.snapshot.find(*entity, to).unwrap(), Lookup::Row(_));
            let expected = match is_kept || is_stray(&part.snapshot) {
                true => Lookup::Merged(to),
                false => Lookup::Absent,
            };
            let found = part.snapshot.find(*entity, *from).unwrap();
            assert_eq!(found, expected, "{wheres:?}: {entity} {from}");
        }
    }
}

fn rendered(snapshot: &Snapshot, entity: Entity, row: u32, shape: Shape) -> String {
    let mut page = Page::new(snapshot, shape);
    snapshot.render(entity, row, &mut page).unwrap();
    String::from_utf8(page.out).unwrap()
}

/// Links as many parts as that, of one filter or of two.
fn check_parts(inputs: &[PathBuf], count: usize, seed: u64) {
    let whole = Whole::of(inputs);
    let library = pinakes_tests::library(inputs);
    // A part of nothing is refused.
    let matching = random_filters(library, count * 3, seed)
        .into_iter()
        .filter(|(entity, filter)| !rows_of(&whole.snapshot, &query(*entity, filter)).is_empty());
    let filters: Vec<(Entity, String)> = matching.take(count).collect();
    assert_eq!(filters.len(), count);
    for (at, filter) in filters.iter().enumerate() {
        let other = &filters[(at + 1) % count];
        match at % 3 {
            0 if other.0 != filter.0 => whole.check(&[filter.clone(), other.clone()]),
            _ => whole.check(std::slice::from_ref(filter)),
        }
    }
}

#[test]
fn a_subset_holds_matching_and_referenced_records_only() {
    check_parts(&[sample()], 30, 21);
}

#[test]
fn a_subset_of_the_real_sample_holds_matching_and_referenced_records_only() {
    let test = "a_subset_of_the_real_sample_holds_matching_and_referenced_records_only";
    let Some(sample) = real_sample(test) else { return };
    check_parts(&sample, 9, 22);
}

#[test]
fn a_subset_of_every_vintage_holds_matching_and_referenced_records_only() {
    let test = "a_subset_of_every_vintage_holds_matching_and_referenced_records_only";
    let Some(every) = current_and_2023_dumps(test) else { return };
    check_parts(&every, 9, 23);
}

#[test]
fn a_subset_has_the_same_bytes_with_any_threads_order_and_memory() {
    let whole = Whole::of(&[sample()]);
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let given = texts(&["outputs:year:>2015,is_oa:true", "authors:name.search:a"]);
    let expected = files_below(&whole.link(&given, &["--threads", "1"]));
    let other = texts(&["authors:name.search:a", "outputs:is_oa:true", "outputs:year:>2015"]);
    assert_eq!(files_below(&whole.link(&other, &["--threads", "4", "--memory", "256M"])), expected);

    let out = tempfile::tempdir().unwrap();
    let folders = Entity::all()
        .map(|entity| sample().join("data/jsonl").join(entity.facts().dump_names[0]))
        .chain([sample().join("data/merged_ids")]);
    let backward: Vec<PathBuf> = folders.rev().collect();
    let more = ["--quiet", "--where", &given[0], "--where", &given[1]];
    assert_eq!(files_below(&build(&backward, out.path(), &more)), expected);

    // A line each in one text, as the environment has them.
    let lines = format!("\n{}\n\n {} \n", given[1], given[0]);
    assert_eq!(files_below(&whole.link(&[lines], &[])), expected);
}

#[test]
fn a_subset_of_a_tiny_dump_has_the_expected_records() {
    let dump = tempfile::tempdir().unwrap();
    write_files(dump.path(), TINY_DUMP);
    let whole = Whole::of(&[dump.path().to_path_buf()]);
    let check = |wheres: &[&str], expected: &str, excluded: u64, merged: Lookup| {
        let wheres: Vec<String> = wheres.iter().map(|text| (*text).to_owned()).collect();
        let part = whole.part(&wheres);
        let types = Entity::InstitutionType;
        let ids = Places::of(&part.snapshot).ids().into_iter().filter(|(of, _)| *of != types);
        let ids = ids.map(|(entity, id)| {
            let mut text = Vec::new();
            entity.write_id(id, &mut text);
            String::from_utf8(text).unwrap()
        });
        assert_eq!(ids.collect::<Vec<_>>().join(" "), expected, "{wheres:?}");
        assert_eq!(part.report["entities"]["outputs"]["excluded"], excluded, "{wheres:?}");
        let found = part.snapshot.find(Entity::Author, 2).unwrap();
        assert_eq!(found, merged, "{wheres:?}");
        assert_eq!(part.snapshot.count(types), 9, "{wheres:?}");
        assert!(part.path.ends_with(&part.snapshot.manifest().id));
    };
    let absent = Lookup::Absent;
    // The journal names its publisher in words, and so does not refer to it.
    let first = "HX_W1 HX_A1 HX_S1 HX_I1 HX_F1 HX_T1 3 17 1712";
    check(&["outputs:id:HX_W1"], first, 1, Lookup::Merged(1));
    // Its author was merged into one that is there, and is found by both ids.
    let second = "HX_W2 HX_A1 HX_I1";
    check(&["outputs:id:HX_W2"], second, 1, Lookup::Merged(1));
    check(&["outputs:authors.id:HX_A2", "outputs:year:null"], second, 1, Lookup::Merged(1));
    // By the name of the record, not by the one in the work.
    check(&["outputs:authors.name:ada example,year:null"], second, 1, Lookup::Merged(1));
    check(&["authors:name.search:ada"], "HX_A1 HX_I1", 2, Lookup::Merged(1));
    check(&["publishers:id:!null"], "HX_P1", 2, absent);
    check(&["sources:id:!null", "funders:id:!null"], "HX_S1 HX_F1", 2, absent);
    check(&["domains:id:3"], "HX_T1 3 17 1712", 2, absent);
}
