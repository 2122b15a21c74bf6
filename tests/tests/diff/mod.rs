//! `diff`: the ids that differ between two snapshots, against a naive comparison of their exports.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::Output,
};

use serde_json::{Map, Value, json};

type Records = BTreeMap<String, Map<String, Value>>;

/// Two snapshots of dumps that differ, and their exports.
struct Pair {
    _directory: tempfile::TempDir,
    snapshots: [PathBuf; 2],
    exports: [PathBuf; 2],
    deleted: PathBuf,
}

fn lines(export: &Path, entity: &str) -> Vec<Map<String, Value>> {
    let text = fs::read_to_string(export.join(format!("{entity}.jsonl"))).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn write_lines(export: &Path, entity: &str, lines: &[Map<String, Value>]) {
    let text: String =
        lines.iter().map(|line| format!("{}\n", Value::Object(line.clone()))).collect();
    fs::write(export.join(format!("{entity}.jsonl")), text).unwrap();
}

/// The id of a record as paths spell it: taxonomy ids are numbers in records.
fn id(line: &Map<String, Value>) -> String {
    line["id"].as_str().map_or_else(|| line["id"].to_string(), str::to_owned)
}

/// The entities of an export.
fn entities(export: &Path) -> BTreeSet<String> {
    let names = fs::read_dir(export).unwrap().map(|entry| entry.unwrap().file_name());
    let names = names.filter_map(|name| Some(name.to_str()?.strip_suffix(".jsonl")?.to_owned()));
    names.collect()
}

impl Pair {
    /// Exports the sample twice, changes both exports, and builds them.
    fn new() -> Pair {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let sample = pinakes_tests::build(&[pinakes_tests::sample()], &at("sample"), &["--quiet"]);
        let dumps = [at("dump-a"), at("dump-b")];
        for dump in &dumps {
            pinakes_tests::export(&sample, dump, &["--compress", "none"]);
        }
        let deleted = at("deleted.csv");
        change(&dumps, &deleted);
        let snapshots = [0, 1].map(|number| {
            let out = at(["a", "b"][number]);
            pinakes_tests::build(&[dumps[number].clone()], &out, &["--quiet", "--allow-empty"])
        });
        let exports = [at("export-a"), at("export-b")];
        for (snapshot, export) in snapshots.iter().zip(&exports) {
            pinakes_tests::export(snapshot, export, &["--compress", "none"]);
        }
        Pair { _directory: directory, snapshots, exports, deleted }
    }

    fn run(&self, [before, after]: [usize; 2], more: &[&OsStr]) -> Output {
        let mut args: Vec<&OsStr> = vec!["diff".as_ref()];
        args.extend([self.snapshots[before].as_os_str(), self.snapshots[after].as_os_str()]);
        args.extend(more);
        pinakes_tests::compiler(&args)
    }

    /// The lines that the comparison of the exports expects.
    fn naive(&self, [before, after]: [usize; 2], deleted: &BTreeSet<String>) -> BTreeSet<String> {
        let (before, after) = (&self.exports[before], &self.exports[after]);
        let mut expected = BTreeSet::new();
        for entity in entities(before).union(&entities(after)) {
            let records = |export: &Path| -> Records {
                lines(export, entity).into_iter().map(|line| (id(&line), line)).collect()
            };
            let (old, new) = (records(before), records(after));
            let merged = merged(after, entity);
            for id in old.keys().chain(new.keys()).collect::<BTreeSet<_>>() {
                let mut line = json!({ "change": "", "entity": entity, "id": id });
                line["change"] = match (old.get(id), new.get(id)) {
                    (Some(old), Some(new)) if old == new => continue,
                    (Some(old), Some(new)) => {
                        let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
                        let differs = |name: &&&String| old.get(**name) != new.get(**name);
                        line["members"] = json!(names.iter().filter(differs).collect::<Vec<_>>());
                        "changed".into()
                    }
                    (None, _) => "added".into(),
                    (Some(_), None) => match merged.get(id) {
                        Some(target) => {
                            line["into"] = target.as_str().into();
                            "merged".into()
                        }
                        None if deleted.contains(id) => "deleted".into(),
                        None => "removed".into(),
                    },
                };
                expected.insert(line.to_string());
            }
        }
        expected
    }
}

/// Merged ids of an export, and the ids that they were merged into.
fn merged(export: &Path, entity: &str) -> BTreeMap<String, String> {
    let list =
        fs::read_to_string(export.join(format!("merged_ids/{entity}.csv"))).unwrap_or_default();
    let rows = list.lines().skip(1).map(|row| row.split(',').collect::<Vec<_>>());
    rows.map(|row| (row[1].to_owned(), row[2].to_owned())).collect()
}

/// Makes the two dumps differ in every way.
fn change(dumps: &[PathBuf; 2], deleted: &Path) {
    let [old, new] = dumps;
    let (mut names, mut gone) = (0, Vec::new());
    for entity in entities(new) {
        let mut all = lines(new, &entity);
        for (at, line) in all.iter_mut().enumerate().filter(|(at, _)| at % 5 == 1) {
            // A name that others refer to changes the records of those as well.
            if let Some(Value::String(name)) = line.get_mut("name") {
                name.push_str(&format!(" {at}"));
                names += 1;
            }
        }
        if ["outputs", "authors", "sources"].contains(&&*entity) {
            let kept = |at: usize| at % 7 != 3;
            gone = all
                .iter()
                .enumerate()
                .filter(|(at, _)| !kept(*at))
                .map(|(_, line)| id(line))
                .collect();
            let mut at = 0;
            all.retain(|_| {
                at += 1;
                kept(at - 1)
            });
            // The older dump lacks others.
            let mut before = lines(old, &entity);
            let mut at = 0;
            before.retain(|_| {
                at += 1;
                at % 11 != 6
            });
            write_lines(old, &entity, &before);
        }
        if entity == "outputs" {
            for line in all.iter_mut().step_by(4) {
                line.insert("year".into(), 1999.into());
            }
            let list = new.join("merged_ids/outputs.csv");
            fs::create_dir_all(list.parent().unwrap()).unwrap();
            let row = |from: &String| format!("2026-03-01,{from},{}\n", id(&all[0]));
            let rows: String = gone.iter().step_by(3).map(row).collect();
            let head = fs::read_to_string(&list)
                .unwrap_or_else(|_| "merge_date,id,merge_into_id\n".into());
            fs::write(list, head + &rows).unwrap();
            let row = |id: &String| format!("{id},2026-03-01\n");
            let rows: String = gone.iter().skip(1).step_by(3).map(row).collect();
            fs::write(deleted, "id,deleted_date\n".to_owned() + &rows).unwrap();
        }
        write_lines(new, &entity, &all);
    }
    assert!(names > 10, "{names}");
}

fn found(output: &Output) -> Vec<String> {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn diff_finds_what_a_comparison_of_the_exports_finds() {
    let pair = Pair::new();
    let deleted: BTreeSet<String> = fs::read_to_string(&pair.deleted)
        .unwrap()
        .lines()
        .skip(1)
        .map(|row| row.split(',').next().unwrap().to_owned())
        .collect();
    let mut changes = BTreeSet::new();
    for direction in [[0, 1], [1, 0]] {
        let args = ["--format", "ndjson", "--deleted", pair.deleted.to_str().unwrap()];
        let lines = found(&pair.run(direction, &args.map(OsStr::new)));
        let unique: BTreeSet<String> = lines.iter().cloned().collect();
        assert_eq!(unique.len(), lines.len(), "an id has one line");
        let expected = pair.naive(direction, &deleted);
        let (missing, surplus): (Vec<_>, Vec<_>) =
            (expected.difference(&unique).collect(), unique.difference(&expected).collect());
        assert!(
            missing.is_empty() && surplus.is_empty(),
            "missing {missing:#?}\nsurplus {surplus:#?}"
        );
        for line in &lines {
            let line: Value = serde_json::from_str(line).unwrap();
            changes
                .insert((line["change"].as_str().unwrap().to_owned(), line["entity"] == "outputs"));
        }
    }
    let of_outputs = |change: &str| changes.contains(&(change.to_owned(), true));
    for change in ["added", "changed", "merged", "deleted", "removed"] {
        assert!(of_outputs(change), "{change} is not tried: {changes:?}");
    }
}

#[test]
fn text_and_ndjson_say_the_same_and_entities_are_chosen() {
    let pair = Pair::new();
    let run = |format: &str| {
        let args = ["--entities", "outputs,authors", "--format", format];
        pair.run([0, 1], &args.map(OsStr::new))
    };
    let as_text = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap();
        let text = |name: &str| line[name].as_str().map(str::to_owned);
        let members = line["members"].as_array().map(|members| {
            members.iter().map(|member| member.as_str().unwrap()).collect::<Vec<_>>().join(",")
        });
        let words = [text("change"), text("entity"), text("id"), members, text("into")];
        words.into_iter().flatten().collect::<Vec<_>>().join(" ")
    };
    let expected: Vec<String> = found(&run("ndjson")).iter().map(|line| as_text(line)).collect();
    let output = run("text");
    assert_eq!(found(&output), expected);
    assert!(expected.iter().all(|line| line.contains(" outputs ") || line.contains(" authors ")));
    let summary = String::from_utf8(output.stderr).unwrap();
    let changed = expected.iter().filter(|line| line.starts_with("changed outputs ")).count();
    assert!(summary.contains(&format!("{changed} changed")), "{summary}");
}

#[test]
fn a_snapshot_does_not_differ_from_itself() {
    let pair = Pair::new();
    assert_eq!(found(&pair.run([1, 1], &[])), Vec::<String>::new());
}

#[test]
fn a_file_that_lists_no_deleted_ids_is_refused() {
    let pair = Pair::new();
    let wrong = pair.exports[0].join("outputs.jsonl");
    let output = pair.run([0, 1], &["--deleted".as_ref(), wrong.as_os_str()]);
    assert_eq!(output.status.code(), Some(3));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("is not a list of deleted ids"), "{error}");
    fs::write(&pair.deleted, "id,deleted_date\nnonsense,2026-01-01\n").unwrap();
    let output = pair.run([0, 1], &["--deleted".as_ref(), pair.deleted.as_os_str()]);
    assert_eq!(output.status.code(), Some(3));
    assert!(String::from_utf8(output.stderr).unwrap().contains("row 2 has no id or no date"));
}
