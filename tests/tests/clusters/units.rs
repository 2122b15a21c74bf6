//! Plans, units and links without a scheduler.

use std::{collections::BTreeSet, ffi::OsString, fs, path::Path, process::Child};

use pinakes_tests::compiler_run::*;
use pinakes_tests::{files_below, write_files};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::clusters::setup::{Cluster, copy_into, real_inputs, succeed};

fn units_of(cluster: &Cluster) -> Vec<Value> {
    cluster.lines().split_off(1)
}

#[test]
fn a_plan_divides_every_part_among_its_units() {
    let cluster = Cluster::of_sample(3);
    let report = cluster.build(&[]).report;
    let (facts, units) = (cluster.lines().remove(0), units_of(&cluster));
    assert_eq!((units.len(), &facts["units"], &facts["parts"]), (3, &json!(3), &report["parts"]));
    let parts: Vec<&Value> =
        units.iter().flat_map(|unit| unit["parts"].as_array().unwrap()).collect();
    assert_eq!(json!(parts.len()), facts["parts"]);
    let size_of = |part: &Value| fs::metadata(part["path"].as_str().unwrap()).unwrap().len();
    for part in &parts {
        assert_eq!(part["size_bytes"], json!(size_of(part)), "{part}");
    }
    let kind_of = |ending: &str| {
        let ends = |part: &&&Value| part["path"].as_str().unwrap().ends_with(ending);
        parts.iter().find(ends).unwrap()["kind"].as_str().unwrap()
    };
    assert_eq!(kind_of("works/updated_date=2026-02-01/part_0000.gz"), "openalex:outputs");
    assert_eq!(kind_of("doaj.csv"), "doaj");
    let bytes = |unit: &Value| unit["bytes"].as_u64().unwrap();
    let largest = parts.iter().map(|part| size_of(part)).max().unwrap();
    let (least, most) = (units.iter().map(bytes).min(), units.iter().map(bytes).max());
    assert!(most.unwrap() - least.unwrap() <= largest, "{units:?}");
    assert_eq!(units.iter().map(bytes).sum::<u64>(), facts["bytes"].as_u64().unwrap());
    // The same inputs give the same plan.
    let before = fs::read(&cluster.plan).unwrap();
    cluster.plan_again(3, &["--quiet"]);
    assert_eq!(fs::read(&cluster.plan).unwrap(), before);
}

#[test]
fn any_number_of_units_on_two_hosts_gives_the_snapshot_of_a_single_run() {
    let cluster = Cluster::of_sample(1);
    let expected = cluster.expected();
    for units in [1, 3, 40] {
        cluster.plan_again(units, &[]);
        let hosts = ["a", "b"].map(|host| cluster.host(&format!("{units}-{host}")));
        for unit in 0..units {
            cluster.compile(unit, &hosts[unit as usize % 2]);
        }
        // A unit that runs a second time, elsewhere.
        cluster.compile(0, &hosts[1]);
        copy_into(&hosts[0], &hosts[1]);
        cluster.assert_links_to(&expected, &hosts[1]);
    }
}

#[test]
fn real_records_in_units_give_the_snapshot_of_a_single_run() {
    let test = "real_records_in_units_give_the_snapshot_of_a_single_run";
    let Some(inputs) = real_inputs(test) else { return };
    let cluster = Cluster::new(inputs, 4);
    let [here, there] = ["here", "there"].map(|host| cluster.host(host));
    // Every unit runs twice at the same time in one directory, and one of them also elsewhere.
    let mut runs: Vec<Child> = Vec::new();
    for unit in [0, 1, 2, 3, 3, 2, 1, 0] {
        runs.push(cluster.command(unit, &here).spawn().unwrap());
    }
    runs.push(cluster.command(2, &there).spawn().unwrap());
    runs.into_iter().for_each(succeed);
    let files = |directory: &Path| files_below(directory);
    let (of_here, of_there) = (files(&here), files(&there));
    assert!(of_there.iter().all(|(name, bytes)| of_here.get(name) == Some(bytes)));
    let mut names = of_here.keys();
    let endings = [".object", ".unit", ".hash"];
    assert!(names.all(|name| endings.iter().any(|ending| name.ends_with(ending))));
    cluster.assert_links_to(&cluster.expected(), &here);
}

/// A plan of two units, one of which takes about a second.
fn long_cluster() -> Cluster {
    let text: String = (1..300_000).map(work).collect();
    let cluster = Cluster { ..Cluster::of_sample(1) };
    write_files(
        &cluster.workspace.input(),
        [("works.jsonl", &*text), ("works/more.jsonl", &*work(7))],
    );
    let cluster = Cluster { inputs: vec![cluster.workspace.input()], ..cluster };
    cluster.plan_again(2, &[]);
    cluster
}

fn unfinished(objects: &Path) -> BTreeSet<OsString> {
    let names = fs::read_dir(objects).into_iter().flatten().flatten();
    let names = names.map(|entry| entry.file_name());
    names.filter(|name| name.as_encoded_bytes().ends_with(b".tmp")).collect()
}

#[test]
fn a_killed_unit_is_missing_until_it_runs_again() {
    let cluster = long_cluster();
    let objects = cluster.host("objects");
    cluster.compile(1, &objects);
    for (signal, code) in
        [(Signal::TERM, Some(143)), (Signal::HUP, Some(129)), (Signal::KILL, None)]
    {
        let left = unfinished(&objects);
        let mut run = cluster.command(0, &objects).spawn().unwrap();
        while unfinished(&objects).is_subset(&left) {
            assert!(run.try_wait().unwrap().is_none(), "the unit ended before it was killed");
            pinakes_tests::pause();
        }
        kill_process(Pid::from_child(&run), signal).unwrap();
        assert_eq!(run.wait().unwrap().code(), code, "{signal:?}");
        let linked = cluster.link(&objects, &cluster.workspace.out(), &[]);
        assert_eq!(linked.code, 3, "{}", linked.stderr);
        assert!(linked.stderr.contains("1 of 2 units"), "{}", linked.stderr);
        assert!(linked.stderr.contains(": 0; run `compile --plan`"), "{}", linked.stderr);
    }
    cluster.compile(0, &objects);
    assert_eq!(unfinished(&objects), BTreeSet::new());
    cluster.assert_links_to(&cluster.expected(), &objects);
}

#[test]
fn a_link_names_every_unit_that_is_missing_or_damaged() {
    let cluster = Cluster::of_sample(6);
    let objects = cluster.host("objects");
    let (out, quiet) = (cluster.workspace.out(), &["--quiet"]);
    let check = |ranges: &str| {
        let run = cluster.link(&objects, &out, quiet);
        assert_eq!(run.code, 3, "{}", run.stderr);
        assert!(
            run.stderr.contains(&format!(": {ranges}; run `compile --plan`")),
            "{}",
            run.stderr
        );
        assert!(!out.exists(), "a link that lacks units writes nothing");
    };
    check("0-5");
    for unit in [0, 2, 3, 4] {
        cluster.compile(unit, &objects);
    }
    check("1,5");
    cluster.compile(1, &objects);
    cluster.compile(5, &objects);
    let object_of = |unit: u32| {
        let text = fs::read(cluster.unit_file(&objects, unit)).unwrap();
        let file: Value = serde_json::from_slice(&text).unwrap();
        objects.join(format!("{}.object", file["objects"][0].as_str().unwrap()))
    };
    fs::remove_file(object_of(3)).unwrap();
    fs::write(cluster.unit_file(&objects, 4), "{").unwrap();
    check("3-4");
    cluster.compile(3, &objects);
    cluster.compile(4, &objects);
    // An object with a flipped byte.
    let mut bytes = fs::read(object_of(2)).unwrap();
    bytes[0] ^= 1;
    fs::write(object_of(2), bytes).unwrap();
    check("2");
    cluster.compile(2, &objects);
    cluster.assert_links_to(&cluster.expected(), &objects);
}

#[test]
fn a_link_takes_nothing_but_the_objects_of_its_plan() {
    let cluster = Cluster::of_sample(2);
    let expected = cluster.expected();
    let objects = cluster.host("objects");
    let other = long_cluster();
    other.compile(1, &objects);
    cluster.compile(0, &objects);
    cluster.compile(1, &objects);
    fs::write(objects.join("0123.object"), "no object").unwrap();
    cluster.assert_links_to(&expected, &objects);
}

#[test]
fn parts_with_the_same_bytes_in_several_units_are_linked_once() {
    let cluster = Cluster::of_sample(1);
    let names = ["a", "b", "c"].map(|name| format!("works/{name}.jsonl"));
    let files = names.iter().map(|name| (name, work(1)));
    write_files(&cluster.workspace.input(), files.chain([(&"works/d.jsonl".to_owned(), work(2))]));
    let cluster = Cluster { inputs: vec![cluster.workspace.input()], ..cluster };
    let objects = cluster.host("objects");
    let single = cluster.build(&[]);
    for units in [2, 3] {
        cluster.plan_again(units, &[]);
        (0..units).for_each(|unit| cluster.compile(unit, &objects));
        cluster.assert_links_to(&files_below(&published_path(&single)), &objects);
        let linked = cluster.link(&objects, &cluster.host("counted"), &[]);
        assert_eq!(linked.report["warnings"], single.report["warnings"]);
        assert_eq!(linked.report["warnings"]["same_parts"], 2);
    }
}

/// A plan of two parts, each in a unit of its own. The smaller part has 3 bad lines of 10.
fn cluster_with_bad_lines() -> Cluster {
    let good: String = (1..=90).map(work).collect();
    let bad = (91..=97).map(work).collect::<String>() + "no JSON\nnor this\n{]\n";
    let cluster = Cluster::of_sample(1);
    write_files(&cluster.workspace.input(), [("works/good.jsonl", good), ("works/bad.jsonl", bad)]);
    let cluster = Cluster { inputs: vec![cluster.workspace.input()], ..cluster };
    cluster.plan_again(2, &[]);
    cluster
}

#[test]
fn bad_records_are_judged_over_the_whole_plan_at_the_link() {
    let cluster = cluster_with_bad_lines();
    let objects = cluster.host("objects");
    cluster.compile(0, &objects);
    // 30% of the unit's records are bad: it reports them and does not fail.
    let report = cluster.host("unit.json");
    let mut unit = cluster.command(1, &objects);
    let unit = read_outcome(&unit.arg("--report").arg(&report).output().unwrap(), &report);
    assert_eq!(unit.code, 0, "{}", unit.stderr);
    assert_eq!(unit.report["bad_records"], json!({ "not_json": 3 }));
    assert!(!objects.join("quarantine").exists(), "units share the directory of objects");

    let linked = cluster.link(&objects, &cluster.workspace.out(), &[]);
    assert_eq!(linked.code, 4, "{}", linked.stderr);
    let message = "3 of 100 records are bad, more than `--max-bad` allows (0.1%)";
    assert!(linked.stderr.contains(message), "{}", linked.stderr);
    let strict = cluster.link(&objects, &cluster.workspace.out(), &["--strict"]);
    assert_eq!(strict.code, 4, "{}", strict.stderr);

    // The report, the list of bad records and the snapshot are those of a single run.
    let options = ["--max-bad", "3%"];
    let linked = cluster.link(&objects, &cluster.workspace.out(), &options);
    let single = cluster.build(&options);
    assert!(files_below(&published_path(&linked)) == files_below(&published_path(&single)));
    for member in ["parts", "entities", "warnings", "bad_records", "side_tables"] {
        assert_eq!(linked.report[member], single.report[member], "{member}");
    }
    let quarantine = |out: &Path| files_below(&out.join("quarantine"));
    assert_eq!(quarantine(&cluster.workspace.out()), quarantine(&cluster.host("single")));
}

#[test]
fn an_entity_without_records_is_refused_at_the_link() {
    let cluster = Cluster::of_sample(1);
    let files = [("works/a.jsonl", work(1)), ("authors/a.jsonl", String::new())];
    write_files(&cluster.workspace.input(), files);
    let cluster = Cluster { inputs: vec![cluster.workspace.input()], ..cluster };
    cluster.plan_again(2, &[]);
    let objects = cluster.host("objects");
    (0..2).for_each(|unit| cluster.compile(unit, &objects));
    let linked = cluster.link(&objects, &cluster.workspace.out(), &[]);
    assert_eq!(linked.code, 4, "{}", linked.stderr);
    assert!(linked.stderr.contains("hold no record of authors"), "{}", linked.stderr);
    let linked = cluster.link(&objects, &cluster.workspace.out(), &["--allow-empty"]);
    assert_eq!(linked.code, 0, "{}", linked.stderr);
}

#[test]
fn the_options_that_concern_inputs_belong_to_the_plan() {
    let cluster = cluster_with_bad_lines();
    let long = work(1).replace("Title", &"long ".repeat(20_000));
    write_files(&cluster.workspace.input(), [("works/long.jsonl", long)]);
    let options = ["--max-line", "64K", "--max-bad", "10%"];
    cluster.plan_again(2, &options[..2]);
    let objects = cluster.host("objects");
    (0..2).for_each(|unit| cluster.compile(unit, &objects));
    let linked = cluster.link(&objects, &cluster.workspace.out(), &options[2..]);
    assert_eq!(linked.report["bad_records"]["line_too_long"], 1, "{}", linked.stderr);
    let single = cluster.build(&options);
    assert!(files_below(&published_path(&linked)) == files_below(&published_path(&single)));
}

#[test]
fn a_unit_that_cannot_succeed_says_so_with_a_final_exit_code() {
    let cluster = cluster_with_bad_lines();
    let objects = cluster.host("objects");
    let check = |unit: u32, more: &[&str], code: i32, phrase: &str| {
        let output = cluster.command(unit, &objects).args(more).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{stderr}");
        assert!(stderr.contains(phrase), "{stderr}");
    };
    check(2, &[], 2, "the plan has 2 units, 0 to 1, but no unit 2; give an array of `0-1`");
    check(0, &["--max-line", "64K"], 2, "cannot be used with");
    check(0, &["works.jsonl"], 2, "cannot be used with");
    let part = cluster.workspace.input().join("works/good.jsonl");
    let text = fs::read(&part).unwrap();
    fs::write(&part, &text[1..]).unwrap();
    check(0, &[], 5, "when it was planned; plan again");
    fs::remove_file(&part).unwrap();
    check(0, &[], 3, "works/good.jsonl");
    let plan = fs::read_to_string(&cluster.plan).unwrap();
    fs::write(&cluster.plan, plan.lines().next().unwrap()).unwrap();
    check(0, &[], 5, "copy it again, or plan again");
    fs::remove_file(&cluster.plan).unwrap();
    check(0, &[], 3, "plan.jsonl");
}

#[test]
fn a_unit_takes_its_number_from_the_scheduler() {
    let cluster = Cluster::of_sample(2);
    let objects = cluster.host("objects");
    let names = [
        "SLURM_ARRAY_TASK_ID",
        "JOB_COMPLETION_INDEX",
        "AWS_BATCH_JOB_ARRAY_INDEX",
        "PBS_ARRAY_INDEX",
    ];
    for (at, name) in names.into_iter().enumerate() {
        let unit = at % 2;
        let output = std::process::Command::new(pinakes_tests::program("pinakes-compiler"))
            .args(["compile", "--quiet", "--plan"])
            .arg(&cluster.plan)
            .arg("--objects")
            .arg(&objects)
            .env(name, unit.to_string())
            .output()
            .unwrap();
        assert!(output.status.success(), "{name}: {output:?}");
        let file = cluster.unit_file(&objects, unit as u32);
        fs::remove_file(file).unwrap();
    }
}
