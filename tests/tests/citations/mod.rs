//! Compares the citation graph of random dumps with a naive evaluation of the lines: references given twice,
//! to the record itself, to merged, deleted and unknown ids; with subsets, suppression and exports.

mod versions;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use pinakes_format::entity::Entity;
use pinakes_format::query::{Deadline, Query};
use pinakes_format::schema::keys::Direction;
use pinakes_format::snapshot::Snapshot;
use pinakes_format::snapshot::suppression_list::SuppressionList;
use pinakes_tests::{SeededRng, build, export, write_files};
use serde_json::json;

type Ids = BTreeSet<u64>;

/// Ids of works: records, then merged ids, then ids without a record.
const RECORDS: u64 = 300;
const MERGED: u64 = 360;
const KNOWN: u64 = 400;

/// A dump, as its lines say it.
struct Dump {
    directory: tempfile::TempDir,
    years: BTreeMap<u64, i64>,
    references: BTreeMap<u64, Vec<u64>>,
    merged: BTreeMap<u64, u64>,
    deleted: Ids,
}

/// The records of a snapshot, and the ids that each refers to.
struct Graph(BTreeMap<u64, Ids>);

impl Dump {
    fn random(seed: u64) -> Dump {
        let mut rng = SeededRng(seed);
        let mut below = |bound: u64| rng.below(bound as usize) as u64;
        let (mut years, mut references) = (BTreeMap::new(), BTreeMap::new());
        for id in 1..=RECORDS {
            years.insert(id, 2000 + below(20) as i64);
            let count = [0, 1, below(5), below(40), 300][below(5).min(below(9)) as usize];
            // A few records are referred to by most.
            let mut listed: Vec<u64> = (0..count)
                .map(|_| 1 + below(KNOWN).min(below(KNOWN)).min(below(2 * KNOWN)))
                .collect();
            if let Some(first) = listed.first().copied() {
                listed.extend([first, id]);
            }
            references.insert(id, listed);
        }
        // Chains of merges, some of which end in an unknown id.
        let merged = (RECORDS + 1..=MERGED).map(|from| (from, 1 + below(from - 1))).collect();
        let deleted = (0..10).map(|_| 1 + below(RECORDS)).collect();
        let directory = tempfile::tempdir().unwrap();
        let dump = Dump { directory, years, references, merged, deleted };
        dump.write();
        dump
    }

    fn write(&self) {
        let line = |id: &u64| {
            let listed = self.references[id].iter();
            let listed: Vec<String> =
                listed.map(|id| format!("https://openalex.org/W{id}")).collect();
            let work = json!({
                "id": format!("https://openalex.org/W{id}"),
                "display_name": format!("Work {id}"),
                "publication_year": self.years[id],
                "cited_by_count": id % 50,
                "updated_date": "2026-01-10",
                "referenced_works": listed,
            });
            format!("{work}\n")
        };
        let merges = self.merged.iter().map(|(from, to)| format!("2026-01-01,W{from},W{to}\n"));
        let merges: String = merges.collect();
        let deleted = self.deleted.iter().map(|id| format!("W{id},2026-12-01\n"));
        let deleted: String = deleted.collect();
        let files = [
            ("works.jsonl", self.references.keys().map(line).collect()),
            ("merged_ids/works/1.csv", format!("merge_date,id,merge_into_id\n{merges}")),
            ("works/deleted_ids.csv", format!("work_id,deleted_date\n{deleted}")),
        ];
        write_files(self.directory.path(), files);
    }

    fn input(&self) -> PathBuf {
        self.directory.path().to_path_buf()
    }

    /// The id that a chain of merges ends in.
    fn end_of(&self, mut id: u64) -> u64 {
        while let Some(into) = self.merged.get(&id) {
            id = *into;
        }
        id
    }

    /// The graph of the records that are kept.
    fn graph(&self, is_kept: impl Fn(u64) -> bool) -> Graph {
        let kept = self.references.iter();
        let kept = kept.filter(|(id, _)| !self.deleted.contains(id) && is_kept(**id));
        let referred =
            kept.map(|(id, listed)| (*id, listed.iter().map(|id| self.end_of(*id)).collect()));
        Graph(referred.collect())
    }
}

impl Graph {
    fn where_references(&self, is_wanted: impl Fn(&Ids) -> bool) -> Ids {
        let wanted = self.0.iter().filter(|(_, listed)| is_wanted(listed));
        wanted.map(|(id, _)| *id).collect()
    }

    fn citing(&self, id: u64) -> Ids {
        self.where_references(|listed| listed.contains(&id))
    }

    fn referenced_by(&self, id: u64) -> Ids {
        let listed = self.0.get(&id).into_iter().flatten();
        listed.copied().filter(|id| self.0.contains_key(id)).collect()
    }

    fn records(&self) -> Ids {
        self.0.keys().copied().collect()
    }
}

/// The ids of the records that match a query; in pages, as long as they are few.
fn ids(snapshot: &Snapshot, query: &Query) -> Ids {
    let query = Query { per_page: RECORDS as u32, ..query.clone() };
    let answer = query.execute(snapshot, Deadline::NEVER).unwrap();
    let id = |row| snapshot.row_id(Entity::Output, row).unwrap();
    let ids: Ids = answer.rows.iter().map(|row| id(*row)).collect();
    assert_eq!((ids.len(), ids.len() as u64), (answer.rows.len(), answer.count));
    ids
}

fn filtered(snapshot: &Snapshot, filter: &str) -> Ids {
    let mut query = Query::new(Entity::Output);
    query.add_filter(filter).unwrap();
    ids(snapshot, &query)
}

/// Compares every list and filter key of the graph.
fn check(snapshot: &Snapshot, dump: &Dump, graph: &Graph) {
    let of = |filter: String| filtered(snapshot, &filter);
    let records = graph.records();
    for id in 1..=KNOWN + 5 {
        let end = dump.end_of(id);
        let (citing, referenced) = (graph.citing(end), graph.referenced_by(end));
        assert_eq!(of(format!("references:HX_W{id}")), citing, "{id}");
        assert_eq!(of(format!("referenced_by:HX_W{id}")), referenced, "{id}");
        let other = dump.end_of(1 + id * 7 % KNOWN);
        let either = &citing | &graph.citing(other);
        assert_eq!(of(format!("references:HX_W{id}|HX_W{other}")), either, "{id}");
        assert_eq!(of(format!("references:!HX_W{id}|HX_W{other}")), &records - &either, "{id}");
        let both = &referenced & &graph.citing(other);
        assert_eq!(of(format!("referenced_by:HX_W{id},references:HX_W{other}")), both, "{id}");
        let late: Ids = referenced.iter().copied().filter(|id| dump.years[id] > 2009).collect();
        assert_eq!(of(format!("year:>2009,referenced_by:HX_W{id}")), late, "{id}");
        for (direction, expected) in
            [(Direction::References, &referenced), (Direction::Citations, &citing)]
        {
            let mut query = Query::new(Entity::Output);
            query.follow(direction, end);
            assert_eq!(&ids(snapshot, &query), expected, "{} of {id}", direction.name());
        }
    }
    let cited: Ids =
        graph.0.values().flatten().copied().filter(|id| records.contains(id)).collect();
    assert_eq!(of("referenced_by:null".into()), &records - &cited);
    assert_eq!(of("referenced_by:!null".into()), cited);
    assert_eq!(of("references:null".into()), graph.where_references(Ids::is_empty));
    assert_eq!(of("references:!null".into()), graph.where_references(|listed| !listed.is_empty()));
    for count in [0, 1, 2, 3, 30, 200] {
        let longer = graph.where_references(|listed| listed.len() > count);
        assert_eq!(of(format!("references.count:>{count}")), longer);
        let equal = graph.where_references(|listed| listed.len() == count);
        assert_eq!(of(format!("references.count:{count}")), equal);
    }
}

fn publish(dump: &Dump, out: &Path, more: &[&str]) -> Snapshot {
    let options = [&["--quiet", "--memory", "256M"], more].concat();
    let snapshot = Snapshot::open(&build(&[dump.input()], out, &options)).unwrap();
    snapshot.verify().unwrap();
    snapshot
}

#[test]
fn the_graph_of_random_dumps_equals_a_naive_evaluation() {
    for seed in 1..=3 {
        let (dump, out) = (Dump::random(seed), tempfile::tempdir().unwrap());
        let snapshot = publish(&dump, out.path(), &[]);
        let graph = dump.graph(|_| true);
        check(&snapshot, &dump, &graph);
        let path = out.path().join("current");
        let report = fs::read_to_string(path.join("report.json")).unwrap();
        let report: serde_json::Value = serde_json::from_str(&report).unwrap();
        let records = graph.records();
        let unresolved = graph.0.values().map(|listed| (listed - &records).len()).sum::<usize>();
        assert_eq!(report["entities"]["outputs"]["unresolved_references"], unresolved);
        // An export compiles to the same graph. Merged ids are followed already.
        let exported = out.path().join("export");
        export(&path, &exported, &["--compress", "none"]);
        let again = build(&[exported], &out.path().join("again"), &["--quiet"]);
        check(&Snapshot::open(&again).unwrap(), &dump, &graph);
    }
}

#[test]
fn references_into_and_out_of_a_subset_are_unresolved() {
    let (dump, out) = (Dump::random(4), tempfile::tempdir().unwrap());
    let snapshot = publish(&dump, out.path(), &["--where", "outputs:year:>2006"]);
    check(&snapshot, &dump, &dump.graph(|id| dump.years[&id] > 2006));
    // Keys of the graph select subsets, as filters do.
    let all = dump.graph(|_| true);
    for (filter, kept) in [
        ("outputs:references:HX_W1|HX_W350", &all.citing(1) | &all.citing(dump.end_of(350))),
        ("outputs:referenced_by:!HX_W7", &all.records() - &all.referenced_by(7)),
        ("outputs:references.count:>10", all.where_references(|listed| listed.len() > 10)),
    ] {
        let out = tempfile::tempdir().unwrap();
        let snapshot = publish(&dump, out.path(), &["--where", filter]);
        check(&snapshot, &dump, &dump.graph(|id| kept.contains(&id)));
    }
}

#[test]
fn suppressed_records_refer_to_nothing_and_stay_referred_to() {
    let (dump, out) = (Dump::random(5), tempfile::tempdir().unwrap());
    let snapshot = publish(&dump, &out.path().join("whole"), &[]);
    let listed: Ids = (1..=RECORDS).filter(|id| id % 3 == 0).collect();
    let text: String = listed.iter().map(|id| format!("HX_W{id}\n")).collect();
    let list = out.path().join("suppressed.txt");
    fs::write(&list, &text).unwrap();
    let graph = dump.graph(|id| !listed.contains(&id));
    let linked =
        publish(&dump, &out.path().join("linked"), &["--suppress", list.to_str().unwrap()]);
    check(&linked, &dump, &graph);
    let list = SuppressionList::parse(text.as_bytes()).unwrap();
    check(&snapshot.without(&list).unwrap(), &dump, &graph);
}
