//! Compares subsets made with `--where` with the full snapshot of the same dump:
//!
//! - the matching records are the records in the full list with the same filter;
//! - the other kept records are the records they refer to, found by a naive walk through JSON;
//! - every kept record equals the record in the full snapshot.

mod closure;
mod refused;

use pinakes_tests::values;
use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    path::{Path, PathBuf},
};

use pinakes_format::entity::Entity;
use pinakes_format::json::render::{JsonWriter, Shape};
use pinakes_format::query::{Deadline, Predicate, Query};
use pinakes_format::snapshot::{LookupResult, Snapshot};
use pinakes_tests::{
    SeededRng, TINY_DUMP, build, compiler, current_and_2023_dumps, files_below, publish,
    real_sample, sample, times, write_files,
};
use serde_json::Value;

use closure::{References, closure};
use pinakes_tests::query_generator::{Coverage, QueryGenerator};

/// The rows of a list that match a query, all on one page.
fn rows_of(snapshot: &Snapshot, query: &Query) -> BTreeSet<u32> {
    let query = Query { per_page: snapshot.count(query.entity).max(1), ..query.clone() };
    let answer = query.execute(snapshot, Deadline::NEVER).unwrap();
    assert_eq!(answer.rows.len() as u64, answer.count, "{:?}", query.filter);
    answer.rows.into_iter().collect()
}

fn query(entity: Entity, filter: &str) -> Query {
    let mut query = Query::new(entity);
    query.add_filter(filter).unwrap();
    query
}

/// Random valid filters, most of them with at least one matching record.
fn random_filters(inputs: &[PathBuf], count: usize, seed: u64) -> Vec<(Entity, String)> {
    let lists = pinakes_tests::lists(inputs);
    let generators = QueryGenerator::all(pinakes_tests::library(inputs), lists);
    let (mut rng, mut coverage) = (SeededRng(seed), Coverage::default());
    let generators: Vec<&QueryGenerator> =
        generators.iter().filter(|generator| !generator.filters.is_empty()).collect();
    let mut filters = Vec::new();
    while filters.len() < count {
        let generator = values::pick(&mut rng, &generators);
        let filter = generator.expressions(&mut rng, &mut coverage);
        let entity = Entity::all().find(|entity| entity.facts().route == generator.route).unwrap();
        if Query::new(entity).add_filter(&filter).is_ok() {
            filters.push((entity, filter));
        }
    }
    filters
}

fn check_predicates(inputs: &[PathBuf], count: usize, seed: u64) {
    let out = tempfile::tempdir().unwrap();
    let snapshot = Snapshot::open(&publish(inputs, out.path(), &["--quiet"])).unwrap();
    let mut matched = 0;
    for (entity, filter) in random_filters(inputs, count, seed) {
        let query = query(entity, &filter);
        let predicate = Predicate::new(&query, &snapshot).unwrap();
        let rows = 0..snapshot.count(entity);
        let found: BTreeSet<u32> =
            rows.filter(|row| predicate.is_true_of(&snapshot, *row).unwrap()).collect();
        assert_eq!(found, rows_of(&snapshot, &query), "{entity} {filter}");
        matched += usize::from(!found.is_empty());
    }
    assert!(matched * 2 > count, "of {count} filters only {matched} match anything");
}

#[test]
fn a_record_matches_where_exactly_if_its_list_contains_it() {
    check_predicates(&[sample()], times(800), 11);
}

#[test]
fn a_real_record_matches_where_exactly_if_its_list_contains_it() {
    let test = "a_real_record_matches_where_exactly_if_its_list_contains_it";
    let Some(every) = current_and_2023_dumps(test) else { return };
    check_predicates(&every, times(150), 12);
}

/// A full snapshot with the objects from which subsets are linked.
struct Full {
    directory: tempfile::TempDir,
    snapshot: Snapshot,
    references: References,
    report: Value,
}

/// A subset and the report of its linker run.
struct Subset {
    path: PathBuf,
    snapshot: Snapshot,
    report: Value,
}

fn read_json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

impl Full {
    fn new(inputs: &[PathBuf]) -> Full {
        let directory = tempfile::tempdir().unwrap();
        let path = publish(inputs, directory.path(), &["--quiet"]);
        let snapshot = Snapshot::open(&path).unwrap();
        let references = References::new(&snapshot);
        Full { directory, snapshot, references, report: read_json(&path.join("report.json")) }
    }

    /// Links the subset of these filters and returns its path.
    fn link(&self, wheres: &[String], more: &[&str]) -> PathBuf {
        let (objects, out) =
            (self.directory.path().join("objects"), self.directory.path().join("subsets"));
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

    fn subset(&self, wheres: &[String]) -> Subset {
        let path = self.link(wheres, &[]);
        let snapshot = Snapshot::open(&path).unwrap();
        snapshot.verify().unwrap();
        let report = read_json(&path.join("report.json"));
        Subset { path, snapshot, report }
    }

    /// Checks the subset of these filters: kept ids, queries, records, counts and merged ids.
    fn check(&self, filters: &[(Entity, String)]) {
        let wheres: Vec<String> = filters.iter().map(|(of, text)| format!("{of}:{text}")).collect();
        let subset = self.subset(&wheres);
        let mut queries: BTreeMap<Entity, Query> = BTreeMap::new();
        for (entity, filter) in filters {
            let query = queries.entry(*entity).or_insert_with(|| Query::new(*entity));
            query.add_filter(filter).unwrap();
        }
        let mut roots = BTreeSet::new();
        for query in queries.values() {
            let rows = rows_of(&self.snapshot, query).into_iter();
            roots.extend(
                rows.map(|row| (query.entity, self.snapshot.row_id(query.entity, row).unwrap())),
            );
        }
        let kept = closure(&self.references, roots.clone());
        let found = References::new(&subset.snapshot).ids();
        let lost: Vec<_> = kept.difference(&found).collect();
        let unasked: Vec<_> = found.difference(&kept).collect();
        assert!(lost.is_empty() && unasked.is_empty(), "{wheres:?}: {lost:?}; {unasked:?}");
        for (entity, query) in &queries {
            let rows = rows_of(&subset.snapshot, query).into_iter();
            let ids: BTreeSet<(Entity, u64)> =
                rows.map(|row| (*entity, subset.snapshot.row_id(*entity, row).unwrap())).collect();
            let asked = roots.iter().filter(|(of, _)| of == entity).copied();
            assert_eq!(ids, asked.collect(), "{wheres:?} as a query of the subset");
        }
        self.check_records(&subset, &wheres);
        self.check_accounting(&subset, &wheres);
        self.check_redirects(&subset, &wheres);
    }

    /// Every kept record equals the record in the full snapshot, and the order is the same.
    fn check_records(&self, subset: &Subset, wheres: &[String]) {
        for entity in Entity::all() {
            let mut last = None;
            for row in 0..subset.snapshot.count(entity) {
                let id = subset.snapshot.row_id(entity, row).unwrap();
                let LookupResult::Row(full) = self.snapshot.find(entity, id).unwrap() else {
                    panic!("{wheres:?}: {entity} {id} is not in the full snapshot");
                };
                assert!(
                    last.is_none_or(|last| last < full),
                    "{wheres:?}: {entity} {id} is out of order"
                );
                last = Some(full);
                for shape in [Shape::Single, Shape::List] {
                    let expected = rendered(&self.snapshot, entity, full, shape);
                    let found = rendered(&subset.snapshot, entity, row, shape);
                    assert_eq!(found, expected, "{wheres:?}: {entity} {id}");
                }
            }
        }
    }

    fn check_accounting(&self, subset: &Subset, wheres: &[String]) {
        let manifest = subset.snapshot.manifest();
        let selection = manifest.selection.as_ref().unwrap();
        for entity in Entity::all() {
            let name = entity.facts().plural;
            let number =
                |report: &Value, member: &str| report["entities"][name][member].as_u64().unwrap();
            let (full, subset) = (&self.report, &subset.report);
            for member in ["read", "duplicates", "superseded", "conflicts", "merged", "quarantined"]
            {
                assert_eq!(
                    number(subset, member),
                    number(full, member),
                    "{wheres:?} {name} {member}"
                );
            }
            let published = number(subset, "published_from_input");
            let excluded = number(subset, "excluded");
            assert_eq!(
                published + excluded,
                number(full, "published_from_input"),
                "{wheres:?} {name}"
            );
            assert_eq!(selection.excluded[name], excluded, "{wheres:?} {name}");
            let count = manifest.counts[name].published;
            assert_eq!(published + number(subset, "derived"), count, "{wheres:?} {name}");
            assert!(number(subset, "dangling") <= number(full, "dangling"), "{wheres:?} {name}");
        }
    }

    /// A merged id leads to a kept record or unresolved reference; otherwise it is absent.
    fn check_redirects(&self, subset: &Subset, wheres: &[String]) {
        for (entity, from) in &self.references.merged {
            let LookupResult::Merged(to) = self.snapshot.find(*entity, *from).unwrap() else {
                panic!("{entity} {from} is not merged in the full snapshot");
            };
            let is_unresolved =
                |snapshot: &Snapshot| !snapshot.unresolved_rows(*entity, to).unwrap().is_empty();
            let is_kept =
                matches!(subset.snapshot.find(*entity, to).unwrap(), LookupResult::Row(_));
            let expected = match is_kept || is_unresolved(&subset.snapshot) {
                true => LookupResult::Merged(to),
                false => LookupResult::Absent,
            };
            let found = subset.snapshot.find(*entity, *from).unwrap();
            assert_eq!(found, expected, "{wheres:?}: {entity} {from}");
        }
    }
}

fn rendered(snapshot: &Snapshot, entity: Entity, row: u32, shape: Shape) -> String {
    let mut page = JsonWriter::new(snapshot, shape);
    snapshot.render(entity, row, &mut page).unwrap();
    String::from_utf8(page.out).unwrap()
}

/// Links and checks this number of subsets, each with one or two filters.
fn check_subsets(inputs: &[PathBuf], count: usize, seed: u64) {
    let full = Full::new(inputs);
    // The linker rejects an empty subset, so every filter must match something.
    let matching = random_filters(inputs, count * 3, seed)
        .into_iter()
        .filter(|(entity, filter)| !rows_of(&full.snapshot, &query(*entity, filter)).is_empty());
    let filters: Vec<(Entity, String)> = matching.take(count).collect();
    assert_eq!(filters.len(), count);
    for (at, filter) in filters.iter().enumerate() {
        let other = &filters[(at + 1) % count];
        match at % 3 {
            0 if other.0 != filter.0 => full.check(&[filter.clone(), other.clone()]),
            _ => full.check(std::slice::from_ref(filter)),
        }
    }
}

#[test]
fn a_subset_holds_matching_and_referenced_records_only() {
    check_subsets(&[sample()], times(12), 21);
}

#[test]
fn a_subset_of_the_real_sample_holds_matching_and_referenced_records_only() {
    let test = "a_subset_of_the_real_sample_holds_matching_and_referenced_records_only";
    let Some(sample) = real_sample(test) else { return };
    check_subsets(&sample, times(3), 22);
}

#[test]
fn a_subset_of_every_vintage_holds_matching_and_referenced_records_only() {
    let test = "a_subset_of_every_vintage_holds_matching_and_referenced_records_only";
    let Some(every) = current_and_2023_dumps(test) else { return };
    check_subsets(&every, times(2), 23);
}

#[test]
fn a_subset_has_the_same_bytes_with_any_threads_order_and_memory() {
    let full = Full::new(&[sample()]);
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let given = texts(&["outputs:year:>2015,is_oa:true", "authors:name.search:a"]);
    let expected = files_below(&full.link(&given, &["--threads", "1"]));
    let other = texts(&["authors:name.search:a", "outputs:is_oa:true", "outputs:year:>2015"]);
    assert_eq!(files_below(&full.link(&other, &["--threads", "4", "--memory", "256M"])), expected);

    let out = tempfile::tempdir().unwrap();
    let folders = Entity::all()
        .map(|entity| sample().join("data/jsonl").join(entity.facts().dump_names[0]))
        .chain([sample().join("data/merged_ids")]);
    let backward: Vec<PathBuf> = folders.rev().collect();
    let more = ["--quiet", "--where", &given[0], "--where", &given[1]];
    assert_eq!(files_below(&build(&backward, out.path(), &more)), expected);

    // Several filters in one text, one per line, as in the environment variable.
    let lines = format!("\n{}\n\n {} \n", given[1], given[0]);
    assert_eq!(files_below(&full.link(&[lines], &[])), expected);
}

#[test]
fn a_subset_of_a_tiny_dump_has_the_expected_records() {
    let dump = tempfile::tempdir().unwrap();
    write_files(dump.path(), TINY_DUMP);
    let full = Full::new(&[dump.path().to_path_buf()]);
    let check = |wheres: &[&str], expected: &str, excluded: u64, merged: LookupResult| {
        let wheres: Vec<String> = wheres.iter().map(|text| (*text).to_owned()).collect();
        let subset = full.subset(&wheres);
        let types = Entity::InstitutionType;
        let ids =
            References::new(&subset.snapshot).ids().into_iter().filter(|(of, _)| *of != types);
        let ids = ids.map(|(entity, id)| {
            let mut text = Vec::new();
            entity.write_id(id, &mut text);
            String::from_utf8(text).unwrap()
        });
        assert_eq!(ids.collect::<Vec<_>>().join(" "), expected, "{wheres:?}");
        assert_eq!(subset.report["entities"]["outputs"]["excluded"], excluded, "{wheres:?}");
        let found = subset.snapshot.find(Entity::Author, 2).unwrap();
        assert_eq!(found, merged, "{wheres:?}");
        assert_eq!(subset.snapshot.count(types), 9, "{wheres:?}");
        assert!(subset.path.ends_with(&subset.snapshot.manifest().id));
    };
    let absent = LookupResult::Absent;
    // The journal refers to its publisher, in a member of exports.
    let first = "HX_W1 HX_A1 HX_S1 HX_I1 HX_P1 HX_F1 HX_T1 3 17 1712";
    check(&["outputs:id:HX_W1"], first, 1, LookupResult::Merged(1));
    // The author of the output was merged into a kept author, and is found by both ids.
    let second = "HX_W2 HX_A1 HX_I1";
    check(&["outputs:id:HX_W2"], second, 1, LookupResult::Merged(1));
    check(&["outputs:authors.id:HX_A2", "outputs:year:null"], second, 1, LookupResult::Merged(1));
    // The filter compares the name in the author's record, not the name in the work.
    check(&["outputs:authors.name:ada example,year:null"], second, 1, LookupResult::Merged(1));
    check(&["authors:name.search:ada"], "HX_A1 HX_I1", 2, LookupResult::Merged(1));
    check(&["publishers:id:!null"], "HX_P1", 2, absent);
    check(&["sources:id:!null", "funders:id:!null"], "HX_S1 HX_P1 HX_F1", 2, absent);
    check(&["domains:id:3"], "HX_T1 3 17 1712", 2, absent);
}
