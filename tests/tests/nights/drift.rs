//! Drift: a night whose members differ too much from those of the night before is refused, and honest nights are not.

use std::fs;

use pinakes_tests::SeededRng;
use pinakes_tests::compiler_run::*;
use serde_json::{Value, json};

use crate::nights::Nights;
use crate::nights::dump::{AUTHORS, Dump, SOURCES, WORKS};

/// Exit code of a run that refuses a snapshot for its drift.
pub const DRIFTED: i32 = 10;

/// A release that differs in its members, as after a fault of the producer.
struct Break {
    what: &'static str,
    folder: &'static str,
    break_records: fn(&mut [&mut Value]),
    /// The members that are past their limits, each with the way in which it differs.
    excesses: &'static [(&'static str, &'static str)],
}

const BREAKS: [Break; 16] = [
    Break {
        what: "scrambled titles",
        folder: WORKS,
        break_records: |works| {
            let mut rng = SeededRng(7);
            for at in (1..works.len()).rev() {
                let other = rng.below(at + 1);
                ["title", "display_name"]
                    .into_iter()
                    .for_each(|member| exchange(works, at, other, member));
            }
        },
        excesses: &[("outputs.name", "changed"), ("outputs.title", "changed")],
    },
    Break {
        what: "DOIs shifted by a record",
        folder: WORKS,
        break_records: |works| shift(works, "doi"),
        excesses: &[("outputs.doi", "changed"), ("outputs.doi", "moved")],
    },
    Break {
        what: "types shifted by a record",
        folder: WORKS,
        break_records: |works| shift(works, "type"),
        excesses: &[("outputs.type", "changed")],
    },
    Break {
        what: "citations shifted by a record",
        folder: WORKS,
        break_records: |works| shift(works, "cited_by_count"),
        excesses: &[("outputs.cited_by_count", "jumped")],
    },
    Break {
        what: "no languages",
        folder: WORKS,
        break_records: |works| works.iter_mut().for_each(|work| work["language"] = Value::Null),
        excesses: &[("outputs.language.code", "distribution"), ("outputs.language.code", "nulled")],
    },
    Break {
        what: "doubled citations",
        folder: WORKS,
        break_records: |works| {
            for work in works {
                work["cited_by_count"] = json!(work["cited_by_count"].as_u64().unwrap() * 2);
            }
        },
        excesses: &[("outputs.cited_by_count", "jumped")],
    },
    Break {
        what: "volume and first page swapped",
        folder: WORKS,
        break_records: |works| {
            for work in works {
                let biblio = work["biblio"].as_object_mut().unwrap();
                let volume = biblio["volume"].take();
                biblio["volume"] = std::mem::replace(&mut biblio["first_page"], volume);
            }
        },
        excesses: &[
            ("outputs.biblio.first_page", "changed"),
            ("outputs.biblio.volume", "changed"),
            ("outputs.biblio.volume", "nulled"),
        ],
    },
    Break {
        what: "references shifted by a record",
        folder: WORKS,
        break_records: |works| shift(works, "referenced_works"),
        excesses: &[("outputs.references", "changed")],
    },
    Break {
        what: "names of authors shifted by a record",
        folder: AUTHORS,
        break_records: |authors| shift(authors, "display_name"),
        excesses: &[("authors.name", "changed")],
    },
    Break {
        what: "half of the authors of each work",
        folder: WORKS,
        break_records: |works| halve(works, "authorships"),
        excesses: &[("outputs.authors", "fewer")],
    },
    Break {
        what: "no authors in half of the works",
        folder: WORKS,
        break_records: |works| empty_every(2, works, "authorships"),
        excesses: &[("outputs.authors", "fewer")],
    },
    Break {
        what: "no authors in one of seven works",
        folder: WORKS,
        break_records: |works| empty_every(7, works, "authorships"),
        excesses: &[("outputs.authors", "fewer")],
    },
    Break {
        what: "authors three times",
        folder: WORKS,
        break_records: |works| {
            for work in works {
                let authors = work["authorships"].as_array_mut().unwrap();
                *authors = [&authors[..], authors, authors].concat();
            }
        },
        excesses: &[("outputs.authors", "more")],
    },
    Break {
        what: "half of the references of each work",
        folder: WORKS,
        break_records: |works| halve(works, "referenced_works"),
        excesses: &[("outputs.references", "fewer")],
    },
    Break {
        what: "no second locations",
        folder: WORKS,
        break_records: |works| {
            for locations in works.iter_mut().filter_map(|work| work["locations"].as_array_mut()) {
                locations.truncate(1);
            }
        },
        excesses: &[("outputs.additional_venues", "fewer")],
    },
    Break {
        what: "half of the awards of each work",
        folder: WORKS,
        break_records: |works| halve(works, "awards"),
        excesses: &[("outputs.funders.awards", "fewer")],
    },
];

/// Drops every second item of a list.
fn halve(records: &mut [&mut Value], member: &str) {
    for items in records.iter_mut().filter_map(|record| record[member].as_array_mut()) {
        let mut is_kept = false;
        items.retain(|_| {
            is_kept = !is_kept;
            is_kept
        });
    }
}

/// Empties a list in one of `every` records.
fn empty_every(every: usize, records: &mut [&mut Value], member: &str) {
    records.iter_mut().step_by(every).for_each(|record| record[member] = json!([]));
}

/// Exchanges a member of two records.
fn exchange(records: &mut [&mut Value], one: usize, other: usize, member: &str) {
    let value = records[one][member].take();
    records[one][member] = std::mem::replace(&mut records[other][member], value);
}

/// Gives each record the value of the record before.
fn shift(records: &mut [&mut Value], member: &str) {
    for at in (1..records.len()).rev() {
        exchange(records, at, at - 1, member);
    }
}

/// The members past their limits, each with the way in which it differs, sorted.
fn excesses(run: &Run) -> Vec<(&str, &str)> {
    let all = run.report["drift"]["excesses"].as_array().unwrap().iter();
    let mut found: Vec<_> = all
        .map(|excess| (excess["member"].as_str().unwrap(), excess["kind"].as_str().unwrap()))
        .collect();
    found.sort_unstable();
    found
}

#[test]
fn a_broken_release_is_refused_and_names_its_members() {
    let nights = Nights::new(21);
    let out = nights.workspace.out();
    published_path(&nights.build(&out, &[]));
    let before = state(&out);
    let textfile = nights.workspace.0.path().join("drift.prom");
    for Break { what, folder, break_records, excesses: expected } in BREAKS {
        let mut dump = nights.dump.clone();
        break_records(&mut dump.all(folder));
        dump.write(&nights.workspace.input());
        let run = nights.build(&out, &["--textfile", textfile.to_str().unwrap()]);
        assert_eq!(run.code, DRIFTED, "{what}: {}", run.stderr);
        assert_nothing_published(&out, &before, &run, what);
        let found = excesses(&run);
        match expected {
            // The members of a list's items go with the items.
            [(list, "fewer" | "more")] => {
                assert!(found.contains(&expected[0]), "{what}: {found:?}");
                assert!(
                    found.iter().all(|(member, _)| member.starts_with(list)),
                    "{what}: {found:?}"
                );
            }
            _ => assert_eq!(found, expected, "{what}: {}", run.stderr),
        }
        let metrics = fs::read_to_string(&textfile).unwrap();
        for excess in run.report["drift"]["excesses"].as_array().unwrap() {
            let [member, kind] = ["member", "kind"].map(|name| excess[name].as_str().unwrap());
            assert!(run.stderr.contains(&format!("\n  {member}: ")), "{what}: {}", run.stderr);
            let sample = format!("pinakes_build_drift{{member=\"{member}\",kind=\"{kind}\"}} ");
            assert!(metrics.contains(&sample), "{what}: {metrics}");
            let examples = excess["examples"].as_array().unwrap();
            assert_eq!(examples.len(), 5, "{what}: {excess}");
            for example in examples {
                let [id, before, now] =
                    ["id", "before", "now"].map(|name| example[name].as_str().unwrap());
                assert_ne!(before, now, "{what}: {example}");
                assert!(run.stderr.contains(&format!("\n      {id}: ")), "{what}: {}", run.stderr);
            }
        }
    }
}

#[test]
fn an_operator_allows_drift_by_member() {
    let nights = Nights::new(22);
    let out = nights.workspace.out();
    published_path(&nights.build(&out, &[]));
    let mut dump = nights.dump.clone();
    dump.all(WORKS).iter_mut().for_each(|work| work["language"] = Value::Null);
    shift(&mut dump.all(WORKS), "doi");
    dump.write(&nights.workspace.input());
    let allowing = |names: &str| nights.build(&out, &["--allow-drift", names]);
    let refused = allowing("outputs.doi");
    assert_eq!(refused.code, DRIFTED, "{}", refused.stderr);
    assert!(
        refused.stderr.ends_with("pass `--allow-drift outputs.language.code`\n"),
        "{}",
        refused.stderr
    );
    assert_eq!(allowing("outputs.languages").code, 2);
    let published = allowing("outputs.doi,outputs.language");
    published_path(&published);
    let allowed = published.report["drift"]["excesses"].as_array().unwrap();
    assert!(allowed.iter().all(|excess| excess["is_allowed"] == true), "{allowed:?}");
    assert!(published.stderr.contains("\nallowed: outputs.doi: "), "{}", published.stderr);
    // The night after compares with the published snapshot.
    assert_eq!(nights.build(&out, &["--paranoid"]).report["drift"], Value::Null);
}

#[test]
fn a_handful_of_records_is_not_judged() {
    let workspace = Workspace::new();
    let mut dump = Dump::new(99, 23);
    let build = |dump: &Dump| {
        dump.write(&workspace.input());
        build(&[&workspace.input()], &workspace.out(), &[])
    };
    published_path(&build(&dump));
    dump.all(WORKS).iter_mut().for_each(|work| work["language"] = Value::Null);
    let run = build(&dump);
    published_path(&run);
    let nulled = &run.report["drift"]["members"]["outputs.language.code"]["nulled"];
    assert_eq!((&nulled["share"], &nulled["limit"]), (&json!(1.0), &Value::Null), "{nulled}");
}

#[test]
fn ten_honest_nights_and_a_later_release_are_published() {
    let mut nights = Nights::new(24);
    let out = nights.workspace.out();
    published_path(&nights.build(&out, &[]));
    for night in 1..=10 {
        let kinds = nights.change();
        let run = nights.build(&out, &[]);
        assert_eq!(run.code, 0, "night {night}, {kinds:?}: {}", run.stderr);
        assert_eq!(excesses(&run), [], "night {night}, {kinds:?}");
        assert_ne!(run.report["drift"]["members"], json!({}), "night {night}, {kinds:?}");
    }
    release(&mut nights.dump);
    nights.dump.write(&nights.workspace.input());
    let run = nights.build(&out, &[]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let updated = &run.report["drift"]["members"]["outputs.updated_date"]["changed"];
    assert_eq!(updated["share"], 1.0, "{updated}");
}

/// Changes what a release changes: all counts and dates, and a few records in a hundred of every other member.
fn release(dump: &mut Dump) {
    for folder in [WORKS, AUTHORS] {
        for (at, record) in dump.all(folder).into_iter().enumerate() {
            record["updated_date"] = json!("2026-09-01T00:00:00.123456");
            let count = record["cited_by_count"].as_u64().unwrap();
            record["cited_by_count"] = json!(count + count / 8 + (at as u64) % 3);
            if at % 40 == 0 {
                record["display_name"] = json!(format!("corrected {at}"));
            }
            if folder == WORKS {
                record["fwci"] = json!(record["fwci"].as_f64().map(|fwci| fwci * 1.07));
                if at % 50 == 0 {
                    record["type"] = json!("other");
                    record["language"] = Value::Null;
                    record["doi"] = Value::Null;
                }
            }
        }
    }
}

#[test]
fn merges_are_followed_however_many_records_refer_to_them() {
    let mut nights = Nights::new(25);
    let out = nights.workspace.out();
    // One source has more than a third of the works, and one author is in each work.
    let ids = |dump: &mut Dump, folder: &str, at: usize| dump.all(folder)[at]["id"].clone();
    let [source, other] = [0, 1].map(|at| ids(&mut nights.dump, SOURCES, at));
    let [author, same] = [3, 4].map(|at| ids(&mut nights.dump, AUTHORS, at));
    for (at, work) in nights.dump.all(WORKS).into_iter().enumerate() {
        let location = &mut work["primary_location"];
        if at % 100 < 60 && location.is_object() && location["source"].is_object() {
            location["source"]["id"] = source.clone();
        }
        if let Some(first) = work["authorships"].as_array_mut().and_then(|all| all.first_mut()) {
            first["author"]["id"] = author.clone();
        }
    }
    nights.dump.write(&nights.workspace.input());
    published_path(&nights.build(&out, &[]));
    for (folder, from, into) in [(SOURCES, &source, &other), (AUTHORS, &author, &same)] {
        let text = |id: &Value| id.as_str().unwrap().to_owned();
        nights.dump.merges.insert((folder, text(from)), text(into));
    }
    nights.dump.write(&nights.workspace.input());
    let run = nights.build(&out, &[]);
    assert_eq!(excesses(&run), [], "{}", run.stderr);
    published_path(&run);
}

#[test]
fn a_dump_without_a_part_is_refused() {
    let nights = Nights::new(26);
    let out = nights.workspace.out();
    let build = |options: &[&str]| build(&[&nights.workspace.input()], &out, options);
    published_path(&build(&[]));
    let mut dump = nights.dump.clone();
    let lost: Vec<String> =
        dump.all(WORKS).iter().step_by(7).map(|work| work["id"].to_string()).collect();
    dump.remove(WORKS, &lost);
    dump.write(&nights.workspace.input());
    let run = build(&[]);
    assert_eq!(run.code, DRIFTED, "{}", run.stderr);
    assert_eq!(excesses(&run), [("outputs.id", "gone")], "{}", run.stderr);
    published_path(&build(&["--allow-shrink"]));
}

#[test]
fn real_releases_years_apart_are_published() {
    let test = "real_releases_years_apart_are_published";
    let Some(records) = pinakes_tests::real_data("large/openalex", test) else { return };
    let workspace = Workspace::new();
    // Each folder of an entity has the newest copies of its records, and below it older copies of some.
    for (name, below) in [("older", "older-versions"), ("newer", "")] {
        for entity in ["works", "authors", "sources", "institutions"] {
            let from = records.join(entity).join(below);
            let to = workspace.input().join(name).join(entity);
            fs::create_dir_all(&to).unwrap();
            for file in fs::read_dir(from).unwrap().flatten() {
                if file.path().is_file() {
                    fs::copy(file.path(), to.join(file.file_name())).unwrap();
                }
            }
        }
    }
    let build =
        |name: &str| build(&[&workspace.input().join(name)], &workspace.out(), &["--allow-shrink"]);
    published_path(&build("older"));
    let run = build("newer");
    published_path(&run);
    assert_eq!(excesses(&run), []);
    let title = &run.report["drift"]["members"]["outputs.title"]["changed"];
    assert!(title["of"].as_u64() > Some(5_000) && title["share"].as_f64() < Some(0.02), "{title}");
}
