//! Records that are copied from the objects of earlier runs, because their lines are in other parts now.

use std::{collections::BTreeMap, fs, path::Path};

use flate2::read::MultiGzDecoder;
use pinakes_tests::{SeededRng, export, files_below, sample, write_files};
use serde_json::json;

use pinakes_tests::compiler_run::*;

/// Members of a report that do not depend on earlier runs.
const REPORTED: [&str; 6] =
    ["entities", "warnings", "first_warnings", "bad_records", "newest_updated_date", "parts"];

/// Folders of the taxonomy.
const LEVELS: [&str; 4] = ["domains", "fields", "subfields", "topics"];

/// The lines of each folder of records of the sample, with some that warn or are bad.
fn openalex_lines() -> BTreeMap<String, Vec<String>> {
    let mut lines = BTreeMap::<String, Vec<String>>::new();
    for (path, bytes) in files_below(&sample().join("data/jsonl")) {
        if let Some(folder) = path.strip_suffix(".gz").and_then(|path| path.split('/').next()) {
            let text = std::io::read_to_string(MultiGzDecoder::new(&*bytes)).unwrap();
            lines.entry(folder.to_owned()).or_default().extend(text.lines().map(str::to_owned));
        }
    }
    let works = lines.get_mut("works").unwrap();
    works.push(work(900_001).replace("{", "{\"publication_year\":\"many\","));
    works.push(work(900_002).replace("{", "{\"id\":7,"));
    lines
}

/// The lines of a native export of the sample.
fn native_lines(workspace: &Workspace) -> BTreeMap<String, Vec<String>> {
    let directory = workspace.0.path();
    let snapshot = published_path(&build(&[&sample()], &directory.join("sample"), &[]));
    export(&snapshot, &directory.join("export"), &["--compress", "none"]);
    let files = files_below(&directory.join("export")).into_iter();
    let lines = files.filter(|(path, _)| path.ends_with(".jsonl")).map(|(path, bytes)| {
        let text = String::from_utf8(bytes).unwrap();
        let folder = path.split(['/', '.']).next().unwrap().to_owned();
        (folder, text.lines().map(str::to_owned).collect())
    });
    lines.collect()
}

/// Changes, removes, repeats and damages a few lines.
fn change(lines: &mut Vec<String>, rng: &mut SeededRng) {
    for _ in 0..=lines.len() / 20 {
        let at = rng.below(lines.len());
        match rng.below(5) {
            0 => drop(lines.remove(at)),
            1 => lines.push(lines[at].clone()),
            2 => lines[at].truncate(10),
            _ => {
                let cited = format!("\"cited_by_count\":{}", rng.below(900));
                lines[at] =
                    lines[at].replacen("\"cited_by_count\":", &format!("{cited},\"x\":"), 1);
            }
        }
    }
}

/// Writes the lines of each folder into a random number of parts.
fn write_parts(lines: &BTreeMap<String, Vec<String>>, input: &Path, rng: &mut SeededRng) {
    let _ = fs::remove_dir_all(input);
    for (folder, lines) in lines {
        let mut parts = vec![String::new(); 1 + rng.below(4)];
        for line in lines {
            let part = rng.below(parts.len());
            parts[part].push_str(line);
            parts[part].push('\n');
        }
        let files = parts.iter().enumerate().filter(|(_, part)| !part.is_empty());
        write_files(input, files.map(|(at, part)| (format!("{folder}/part_{at:04}.jsonl"), part)));
    }
}

/// Builds in a directory with the objects of earlier runs and in an empty one, and compares. Returns the number of
/// copied lines.
fn compare(workspace: &Workspace, what: &str) -> u64 {
    let (input, elsewhere) = (workspace.input(), Workspace::new());
    let options = ["--max-bad", "100%", "--allow-shrink"];
    let run = build(&[&input], &workspace.out(), &options);
    let fresh = build(&[&input], &elsewhere.out(), &options);
    assert_eq!(fresh.report["copied_lines"], json!(0), "{what}");
    assert_eq!(published_path(&run).file_name(), published_path(&fresh).file_name(), "{what}");
    for member in REPORTED {
        assert_eq!(run.report[member], fresh.report[member], "{what}: {member}");
    }
    let objects = files_below(&workspace.out().join("objects"));
    for (name, bytes) in files_below(&elsewhere.out().join("objects")) {
        let is_same = objects.get(&name).is_some_and(|object| *object == bytes);
        assert!(is_same || !name.ends_with(".object"), "{what}: {name} differs");
    }
    run.report["copied_lines"].as_u64().unwrap()
}

#[test]
fn records_of_rewritten_parts_are_copied_and_nothing_differs() {
    let workspace = Workspace::new();
    for (kind, lines) in [("openalex", openalex_lines()), ("native", native_lines(&workspace))] {
        for seed in 1..4 {
            let (mut lines, mut rng) = (lines.clone(), SeededRng(seed));
            let _ = fs::remove_dir_all(workspace.out());
            let count = lines.values().map(Vec::len).sum::<usize>() as u64;
            for night in 0..4 {
                write_parts(&lines, &workspace.input(), &mut rng);
                let what = format!("{kind}, seed {seed}, night {night}");
                let copied = compare(&workspace, &what);
                // Lines of the taxonomy are always parsed, and so are those that warned.
                let expected = if night == 0 { 0..1 } else { count / 3..count + 100 };
                assert!(expected.contains(&copied), "{what}: {copied} of {count} lines");
                // A topic without its parents would end the run.
                let is_level = |folder: &str| LEVELS.contains(&folder);
                let folders = lines.iter_mut().filter(|(folder, _)| !is_level(folder));
                folders.for_each(|(_, lines)| change(lines, &mut rng));
            }
        }
    }
}

#[test]
fn nothing_is_copied_from_a_damaged_object() {
    let workspace = Workspace::new();
    let (lines, mut rng) = (openalex_lines(), SeededRng(5));
    write_parts(&lines, &workspace.input(), &mut rng);
    compare(&workspace, "before");
    for (name, mut bytes) in files_below(&workspace.out().join("objects")) {
        // The directory at the end stays, so the object can still be opened.
        bytes[0] ^= 1;
        fs::write(workspace.out().join("objects").join(name), bytes).unwrap();
    }
    write_parts(&lines, &workspace.input(), &mut rng);
    let damaged = compare(&workspace, "damaged");
    assert_eq!(damaged, 0);
    write_parts(&lines, &workspace.input(), &mut rng);
    assert!(compare(&workspace, "after") > 0);
}
