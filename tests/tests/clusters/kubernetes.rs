//! The Indexed Job of Kubernetes: its manifest against the schema of Kubernetes, and its words against the
//! compiler. No cluster runs it. `.ci/run` installs the schema into `target/kubernetes`.

use std::{fs, path::Path, process::Command};

use pinakes_tests::skip;
use pinakes_tests::{compiler, root};

use crate::clusters::setup::{Cluster, example};

/// The versions of Kubernetes whose schema the manifest must match.
const VERSIONS: [&str; 2] = ["1.33", "1.37"];

fn is_valid(python: &Path, manifest: &Path) -> (bool, String) {
    let mut command = Command::new(python);
    command.args(["-m", "kubernetes_validate", "--strict"]);
    VERSIONS.iter().for_each(|version| _ = command.args(["-k", version]));
    let output = command.arg(manifest).output().unwrap();
    (output.status.success(), format!("{output:?}"))
}

#[test]
fn the_indexed_job_matches_the_schema_of_kubernetes() {
    let test = "the_indexed_job_matches_the_schema_of_kubernetes";
    let python = root().join("target/kubernetes/bin/python");
    if !python.is_file() {
        return skip(test, "no kubernetes-validate; .ci/run installs it");
    }
    let manifest = example("kubernetes.yaml");
    let (valid, output) = is_valid(&python, &manifest);
    assert!(valid, "{output}");
    // The check finds what is wrong.
    let text = fs::read_to_string(&manifest).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let changed = directory.path().join("changed.yaml");
    for (from, to) in [
        ("backoffLimitPerIndex", "backoffLimitPerIndexes"),
        ("completions: 16", "completions: many"),
        ("values: [2, 3, 4, 5]", "values: [\"2\"]"),
        ("containerName: unit", "container: unit"),
    ] {
        assert!(text.contains(from), "{from}");
        fs::write(&changed, text.replace(from, to)).unwrap();
        assert!(!is_valid(&python, &changed).0, "{to}");
    }
}

/// The environment variables of a container of the manifest, with the volumes in `place`.
fn variables(text: &str, container: &str, place: &Path) -> Vec<(String, String)> {
    let from = text.find(&format!("- name: {container}\n")).unwrap();
    let section = text[from..].split("resources:").next().unwrap();
    let lines: Vec<&str> = section.lines().map(str::trim).collect();
    let pairs = lines.windows(2).filter_map(|pair| {
        let name = pair[0].strip_prefix("- name: ")?;
        let value = pair[1].strip_prefix("value: ")?.trim_matches('"');
        let is_path = value.starts_with('/');
        let value = if is_path { format!("{}{value}", place.display()) } else { value.to_owned() };
        Some((name.to_owned(), value))
    });
    pairs.collect()
}

#[test]
fn the_commands_of_the_indexed_job_give_the_snapshot_of_a_single_run() {
    let text = fs::read_to_string(example("kubernetes.yaml")).unwrap();
    for (container, command) in
        [("unit", "[pinakes-compiler, compile, --quiet]"), ("link", "[pinakes-compiler, link]")]
    {
        let line = format!("command: {command}");
        assert!(text.split(&format!("- name: {container}\n")).nth(1).unwrap().contains(&line));
    }
    let cluster = Cluster::of_sample(16);
    let place = cluster.host("volumes");
    let objects = place.join("objects");
    fs::create_dir_all(&objects).unwrap();
    fs::create_dir_all(place.join("snapshots")).unwrap();
    fs::copy(&cluster.plan, objects.join("plan.jsonl")).unwrap();
    let run = |words: &[&str], container: &str, index: Option<u32>| {
        let mut command = Command::new(pinakes_tests::program("pinakes-compiler"));
        command.args(words).envs(variables(&text, container, &place));
        command.envs(index.map(|index| ("JOB_COMPLETION_INDEX", index.to_string())));
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
    };
    (0..16).for_each(|index| run(&["compile", "--quiet"], "unit", Some(index)));
    run(&["link"], "link", None);
    let snapshot = fs::canonicalize(place.join("snapshots/pinakes/current")).unwrap();
    assert!(pinakes_tests::files_below(&snapshot) == cluster.expected());
}

#[test]
fn the_retry_policies_name_the_final_exit_codes() {
    let help = compiler(&["--help".as_ref()]);
    let help = String::from_utf8(help.stdout).unwrap();
    for code in ["2 usage", "3 input", "4 too many", "5 damaged", "10 members differ"] {
        assert!(help.contains(code), "{code}: {help}");
    }
    let text = fs::read_to_string(example("kubernetes.yaml")).unwrap();
    // Only a link compares with the snapshot before.
    for codes in ["values: [2, 3, 4, 5]", "values: [2, 3, 4, 5, 10]"] {
        assert_eq!(text.matches(codes).count(), 1, "{codes}");
    }
    let text = fs::read_to_string(example("aws-batch.json")).unwrap();
    let definition: serde_json::Value = serde_json::from_str(&text).unwrap();
    let policy = &definition["retryStrategy"];
    let rules = policy["evaluateOnExit"].as_array().unwrap();
    // AWS Batch takes at most 5 rules, and 1 to 10 attempts.
    let rules = rules
        .iter()
        .map(|rule| (rule["onExitCode"].as_str().unwrap(), rule["action"].as_str().unwrap()));
    let expected = [("2", "EXIT"), ("3", "EXIT"), ("4", "EXIT"), ("5", "EXIT"), ("*", "RETRY")];
    assert_eq!(rules.collect::<Vec<_>>(), expected);
    assert!((1..=10).contains(&policy["attempts"].as_u64().unwrap()));
}
