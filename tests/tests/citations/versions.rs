//! Versions of a work: filters and subsets by them, and suppressed versions.

use pinakes_format::query::RowCursor;
use serde_json::Value;

use super::*;

/// A work of a dump: number, title, first author, whether the author is linked, source, type.
type Work = (u64, &'static str, &'static str, bool, u64, &'static str);

const WORKS: [Work; 10] = [
    (1, "Attention is all you need", "Ashish Vaswani", true, 1, "preprint"),
    (2, "Attention Is <i>All</i> You Need.", "A. Vaswani", false, 2, "article"),
    (3, "Attention is all you need", "Noam Shazeer", true, 3, "article"),
    (4, "Editorial", "Jane Doe", true, 1, "article"),
    (5, "Editorial", "Jane Doe", true, 2, "article"),
    (6, "Annual report of the board", "Jane Doe", true, 3, "report"),
    (7, "Annual report of the board", "Jane Doe", true, 3, "report"),
    (8, "Annual Report of the Board", "Doe, Jane", false, 3, "dataset"),
    (9, "A title without an author", "", false, 1, "article"),
    (10, "A title without an author", "", false, 2, "article"),
];

/// The works and the versions of each.
const VERSIONS: [(u64, &[u64]); 10] = [
    (1, &[2]),
    (2, &[1]),
    (3, &[]),
    (4, &[]),
    (5, &[]),
    (6, &[8]),
    (7, &[8]),
    (8, &[6, 7]),
    (9, &[]),
    (10, &[]),
];

fn line((number, title, author, is_linked, source, kind): Work) -> String {
    // Each name is an author of its own, by the sum of its letters.
    let author_number: u64 = author.bytes().map(u64::from).sum();
    let linked = match is_linked {
        true => json!({
            "id": format!("https://openalex.org/A{author_number}"), "display_name": author,
        }),
        false => Value::Null,
    };
    let authorships = match author {
        "" => json!([]),
        author => json!([
            { "author": linked, "raw_author_name": author },
            { "author": { "id": "https://openalex.org/A7", "display_name": "Second Author" } },
        ]),
    };
    json!({
        "id": format!("https://openalex.org/W{number}"),
        "title": title,
        "display_name": title,
        "type": kind,
        "authorships": authorships,
        "primary_location": {
            "source": { "id": format!("https://openalex.org/S{source}"), "display_name": "Source" },
        },
    })
    .to_string()
}

fn publish_works(out: &Path, more: &[&str]) -> PathBuf {
    let text: String = WORKS.iter().map(|work| line(*work) + "\n").collect();
    write_files(out, [("dump/works/updated_date=2026-01-01/part_000.jsonl", text)]);
    build(&[out.join("dump")], &out.join("snapshots"), &[&["--quiet"], more].concat())
}

fn found(snapshot: &Snapshot, filter: &str) -> Ids {
    let mut query = Query::new(Entity::Output);
    query.add_filter(filter).unwrap();
    let rows = query.execute(snapshot, Deadline::NEVER).unwrap().rows;
    rows.into_iter().map(|row| snapshot.row_id(Entity::Output, row).unwrap()).collect()
}

#[test]
fn versions_of_a_work_have_its_title_and_first_author() {
    let out = tempfile::tempdir().unwrap();
    let snapshot = Snapshot::open(&publish_works(out.path(), &[])).unwrap();
    for (number, versions) in VERSIONS {
        let versions: Ids = versions.iter().copied().collect();
        assert_eq!(found(&snapshot, &format!("is_version_of:HX_W{number}")), versions, "{number}");
        let negated: Ids =
            WORKS.iter().map(|work| work.0).filter(|id| !versions.contains(id)).collect();
        assert_eq!(found(&snapshot, &format!("is_version_of:!W{number}")), negated, "{number}");
    }
    assert_eq!(found(&snapshot, "is_version_of:W1|W6,type:article"), Ids::from([2]));
    let mut query = Query::new(Entity::Output);
    for refused in ["is_version_of:null", "is_version_of:!null", "is_version_of:attention"] {
        assert!(query.add_filter(refused).is_err(), "{refused}");
    }
}

/// The rows of a list with one version of each work, as a page has them, and as batches of the whole list do.
fn one_of_each(snapshot: &Snapshot, change: impl FnOnce(&mut Query)) -> Vec<u64> {
    let mut query = Query { one_of_versions: true, ..Query::new(Entity::Output) };
    change(&mut query);
    let page = query.execute(snapshot, Deadline::NEVER).unwrap();
    let mut streamed = Vec::new();
    let mut cursor = RowCursor::default();
    loop {
        let rows = query.next_rows(&mut cursor, snapshot, Deadline::NEVER).unwrap();
        if rows.is_empty() {
            break;
        }
        streamed.extend(rows);
    }
    assert_eq!(page.rows, streamed);
    assert_eq!(page.count, streamed.len() as u64);
    assert_eq!(query.count(snapshot, Deadline::NEVER).unwrap(), page.count);
    streamed.into_iter().map(|row| snapshot.row_id(Entity::Output, row).unwrap()).collect()
}

#[test]
fn a_list_has_one_version_of_each_work_that_matches() {
    let out = tempfile::tempdir().unwrap();
    let snapshot = Snapshot::open(&publish_works(out.path(), &[])).unwrap();
    let in_order: Vec<u64> = (0..snapshot.count(Entity::Output))
        .map(|row| snapshot.row_id(Entity::Output, row).unwrap())
        .collect();
    // Of the matching ids in row order, those without an earlier version.
    let expected = |matching: &dyn Fn(u64) -> bool| {
        let mut kept: Vec<u64> = Vec::new();
        for id in in_order.iter().copied().filter(|id| matching(*id)) {
            let versions = VERSIONS[id as usize - 1].1;
            if kept.iter().all(|earlier| !versions.contains(earlier)) {
                kept.push(id);
            }
        }
        kept
    };
    let kind = |id: u64| WORKS[id as usize - 1].5;
    let all = one_of_each(&snapshot, |_| {});
    assert_eq!(all, expected(&|_| true));
    assert!(all.len() < WORKS.len());
    // A version that does not match takes no other's place.
    for kinds in [&["preprint"][..], &["article"], &["report", "dataset"], &["preprint", "article"]]
    {
        let filter = format!("type:{}", kinds.join("|"));
        let found = one_of_each(&snapshot, |query| query.add_filter(&filter).unwrap());
        assert_eq!(found, expected(&|id| kinds.contains(&kind(id))), "{kinds:?}");
    }
    let mut backwards = one_of_each(&snapshot, |query| query.set_sort("id:desc").unwrap());
    backwards.sort_unstable();
    let mut sorted = all;
    sorted.sort_unstable();
    assert_eq!(backwards, sorted);
    let searched = one_of_each(&snapshot, |query| query.add_search("attention").unwrap());
    let mut searched_sorted = searched;
    searched_sorted.sort_unstable();
    let mut expected = expected(&|id| id <= 3);
    expected.sort_unstable();
    assert_eq!(searched_sorted, expected);
    // An earlier query kept the rows of all versions, and a later one finds them.
    assert_eq!(found(&snapshot, "type:report|dataset"), Ids::from([6, 7, 8]));
    // A suppressed version takes no other's place.
    let list = SuppressionList::parse(b"HX_W8\n").unwrap();
    let without = snapshot.without(&list).unwrap();
    let left = one_of_each(&without, |query| query.add_filter("type:report|dataset").unwrap());
    assert_eq!(left.into_iter().collect::<Ids>(), Ids::from([6, 7]));
}

#[test]
fn titles_that_many_outputs_have_tell_nothing() {
    let numbers = |count: u64| 1..=count;
    for (count, expected) in [(200, numbers(200).skip(1).collect()), (201, Ids::new())] {
        let out = tempfile::tempdir().unwrap();
        let works = numbers(count).map(|number| {
            // A series of one source and type would be no versions.
            line((number, "Letter to the editor", "Jane Doe", true, number, "letter")) + "\n"
        });
        let file = ("dump/works/part_000.jsonl", works.collect::<String>());
        write_files(out.path(), [file]);
        let path = build(&[out.path().join("dump")], &out.path().join("snapshots"), &["--quiet"]);
        let snapshot = Snapshot::open(&path).unwrap();
        let mut query = Query::new(Entity::Output);
        query.add_filter("is_version_of:W1").unwrap();
        let found = query.execute(&snapshot, Deadline::NEVER).unwrap().count;
        assert_eq!(found, expected.len() as u64, "{count}");
    }
}

#[test]
fn versions_select_subsets() {
    for (filter, kept) in [
        ("outputs:is_version_of:HX_W8", Ids::from([6, 7])),
        ("outputs:is_version_of:!HX_W8", (1..=10).filter(|id| ![6, 7].contains(id)).collect()),
    ] {
        let out = tempfile::tempdir().unwrap();
        let snapshot = Snapshot::open(&publish_works(out.path(), &["--where", filter])).unwrap();
        let rows = 0..snapshot.count(Entity::Output);
        let ids: Ids = rows.map(|row| snapshot.row_id(Entity::Output, row).unwrap()).collect();
        assert_eq!(ids, kept, "{filter}");
    }
}

#[test]
fn suppressed_versions_are_not_found_and_find_none() {
    let out = tempfile::tempdir().unwrap();
    let path = publish_works(out.path(), &[]);
    let list = SuppressionList::parse(b"HX_W2\n").unwrap();
    let snapshot = Snapshot::open(&path).unwrap().without(&list).unwrap();
    assert_eq!(found(&snapshot, "is_version_of:W1"), Ids::new());
    assert_eq!(found(&snapshot, "is_version_of:W2"), Ids::new());
    assert_eq!(found(&snapshot, "is_version_of:W8"), Ids::from([6, 7]));
}
