//! Nights: a build that takes records, references and index entries over from the previous snapshot equals a build from
//! scratch.
//!
//! | a night | test |
//! |---------|------|
//! | records change, come and go, are merged, deleted and renamed; filters and side tables change | `nights_of_random_changes_…` |
//! | most records change | `nights_of_random_changes_…` |
//! | the state of the last link is damaged, cut or missing | `a_damaged_state_…` |
//! | the previous snapshot is damaged or removed | `a_damaged_snapshot_…` |
//! | `--paranoid` | `a_damaged_state_…` |
//! | members are scrambled, shifted, emptied, doubled or swapped | `drift` |

mod drift;
mod dump;

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use pinakes_format::snapshot::Snapshot;
use pinakes_tests::compiler_run::*;
use pinakes_tests::values::pick;
use pinakes_tests::{SeededRng, files_below};

use crate::nights::drift::DRIFTED;
use crate::nights::dump::{CHANGES, Dump};

/// Outputs of a dump. Their words have more than 256 rows, so that prefixes have statistics.
const OUTPUTS: u64 = 600;
/// Nights after the first, for each seed.
const NIGHTS: u64 = 8;

/// A dump, the output directory of all nights, and objects that all builds share.
struct Nights {
    workspace: Workspace,
    dump: Dump,
    rng: SeededRng,
}

impl Nights {
    fn new(seed: u64) -> Nights {
        let nights = Nights {
            workspace: Workspace::new(),
            dump: Dump::new(OUTPUTS, seed),
            rng: SeededRng(seed),
        };
        nights.dump.write(&nights.workspace.input());
        nights
    }

    fn build(&self, out: &Path, options: &[&str]) -> Run {
        let objects = self.workspace.0.path().join("objects");
        let all = ["--allow-shrink", "--objects", objects.to_str().unwrap()];
        build(&[&self.workspace.input()], out, &[&all, options].concat())
    }

    /// Makes some changes of each of some kinds, and returns the names of the kinds.
    fn change(&mut self) -> Vec<&'static str> {
        let kinds = 1 + self.rng.below(5);
        let kinds: Vec<_> = (0..kinds).map(|_| *pick(&mut self.rng, &CHANGES)).collect();
        for (_, change) in &kinds {
            for _ in 0..1 + self.rng.below(8) {
                change(&mut self.dump, &mut self.rng);
            }
        }
        self.dump.touch();
        self.dump.write(&self.workspace.input());
        kinds.into_iter().map(|(name, _)| name).collect()
    }

    /// Changes two works: so few that the night takes over the records, references and indexes of all others.
    fn change_two_works(&mut self) {
        let (_, change_citations) = CHANGES[0];
        change_citations(&mut self.dump, &mut self.rng);
        self.dump.touch();
        self.dump.write(&self.workspace.input());
    }

    /// Builds into the output directory of all nights, and from scratch, and compares all bytes. Returns the number
    /// of records whose index entries were taken over.
    fn check(&self, what: &str, options: &[&str]) -> u64 {
        self.check_parts(what, options).0
    }

    /// As `check`. Also returns the parts that could not be taken over, because the previous snapshot is damaged.
    fn check_parts(&self, what: &str, options: &[&str]) -> (u64, Vec<NotTakenOver>) {
        let out = self.workspace.out();
        let mut night = self.build(&out, options);
        // A source that is merged into another may be named by a third of so few records.
        if night.code == DRIFTED {
            night = self.build(&out, &[options, &["--allow-drift", "all"]].concat());
        }
        let elsewhere = Workspace::new();
        let scratch = self.build(&elsewhere.out(), options);
        let (found, expected) = (published_path(&night), published_path(&scratch));
        let (found, expected) = (files_below(&found), files_below(&expected));
        let differ: Vec<&String> =
            expected.keys().filter(|name| found.get(*name) != expected.get(*name)).collect();
        assert!(found.len() == expected.len() && differ.is_empty(), "{what}: {differ:?} differ");
        assert_eq!(reused(&scratch), 0, "{what}");
        assert_eq!(not_taken_over(&scratch), [], "{what}");
        (reused(&night), not_taken_over(&night))
    }

    /// The files of the current snapshot's link.
    fn state(&self) -> PathBuf {
        let id = fs::read_link(self.workspace.out().join("current")).unwrap();
        self.workspace.out().join(".linked").join(id).with_extension("state")
    }
}

/// A part of the previous snapshot, its entity, and why it could not be taken over.
#[derive(Debug, PartialEq, Eq)]
struct NotTakenOver {
    part: String,
    entity: Option<String>,
    reason: String,
}

/// Reads the parts from a report, and checks that the log and the table name each.
fn not_taken_over(run: &Run) -> Vec<NotTakenOver> {
    let parts = run.report["not_taken_over"].as_array().unwrap().iter().map(|part| NotTakenOver {
        part: part["part"].as_str().unwrap().to_owned(),
        entity: part["entity"].as_str().map(str::to_owned),
        reason: part["reason"].as_str().unwrap().to_owned(),
    });
    let parts: Vec<NotTakenOver> = parts.collect();
    for NotTakenOver { part, entity, reason } in &parts {
        let of = entity.as_ref().map_or_else(String::new, |entity| format!(" of {entity}"));
        let line = format!("{part}{of}: {reason}\n");
        let logged = format!("warning: not taken over from the previous snapshot: {line}");
        assert!(run.stderr.contains(&logged), "{logged}: {}", run.stderr);
        assert!(run.stderr.contains(&format!("\n  {line}")), "{line}: {}", run.stderr);
    }
    parts
}

fn reused(run: &Run) -> u64 {
    run.report["rows_reused"].as_object().unwrap().values().filter_map(|rows| rows.as_u64()).sum()
}

#[test]
fn nights_of_random_changes_equal_builds_from_scratch() {
    let mut all_kinds = Vec::new();
    for seed in 1..=size_from_env("PINAKES_NIGHTS_SEEDS", 2) {
        let mut nights = Nights::new(seed);
        nights.check("the first night", &[]);
        let (mut was_full, mut taken_over) = (true, 0);
        for night in 1..=NIGHTS {
            let kinds = nights.change();
            let is_change_of_most = night == 4;
            if is_change_of_most {
                nights.dump.change_most();
                nights.dump.write(&nights.workspace.input());
            }
            if night == 3 || night == 6 {
                nights.dump.has_side_table = !nights.dump.has_side_table;
                nights.dump.write(&nights.workspace.input());
            }
            let is_subset = night == 7;
            let options: &[&str] = match night {
                7 => &["--where", "outputs:year:>2010"],
                5 => &["--keep", "1", "--threads", "1"],
                _ => &[],
            };
            let what = format!("seed {seed}, night {night}, {kinds:?}");
            let rows = nights.check(&what, options);
            let is_taken_over = was_full && !is_subset;
            assert_eq!(rows > 0, is_taken_over, "{what}: {rows} rows taken over");
            // More than one output in eight changes, so that outputs are indexed from scratch.
            assert!(!is_change_of_most || rows < OUTPUTS / 2, "{what}: {rows} rows taken over");
            was_full = !is_subset;
            taken_over += rows;
            all_kinds.extend(kinds);
        }
        assert!(taken_over > OUTPUTS * NIGHTS / 4, "seed {seed}: {taken_over} rows taken over");
    }
    all_kinds.sort_unstable();
    all_kinds.dedup();
    assert!(all_kinds.len() > CHANGES.len() / 2, "only {all_kinds:?}");
}

#[test]
fn a_damaged_state_or_paranoid_means_a_link_from_scratch() {
    let mut nights = Nights::new(11);
    nights.check("the first night", &[]);
    for what in ["unchanged", "damaged", "cut", "empty", "missing", "paranoid"] {
        nights.change();
        let state = nights.state();
        let bytes = fs::read(&state).unwrap();
        match what {
            "damaged" => {
                let mut damaged = bytes.clone();
                damaged[bytes.len() / 2] ^= 1;
                fs::write(&state, damaged).unwrap();
            }
            "cut" => fs::write(&state, &bytes[..bytes.len() - 7]).unwrap(),
            "empty" => fs::write(&state, b"").unwrap(),
            "missing" => fs::remove_file(&state).unwrap(),
            _ => {}
        }
        let options: &[&str] = if what == "paranoid" { &["--paranoid"] } else { &[] };
        let (rows, parts) = nights.check_parts(what, options);
        assert_eq!(rows > 0, what == "unchanged", "{what}: {rows} rows taken over");
        // A state that is not there, or not asked for, is no fault.
        let is_fault = ["damaged", "cut", "empty"].contains(&what);
        let fault = NotTakenOver {
            part: "snapshot".into(),
            entity: None,
            reason: "the state of its link is damaged".into(),
        };
        assert_eq!(parts, is_fault.then_some(fault).into_iter().collect::<Vec<_>>(), "{what}");
    }
    nights.change();
    assert!(nights.check("the night after", &[]) > 0);
}

#[test]
fn a_damaged_snapshot_costs_the_night_its_reuse_and_nothing_else() {
    let mut nights = Nights::new(12);
    nights.check("the first night", &[]);
    // Records and references come from the objects where the previous ones cannot be read; indexes are then taken over
    // all the same.
    let indexes = ["term_lists", "orders", "words", "targets", "full_text", "ids"];
    for file in indexes.into_iter().chain(["records", "citations"]) {
        nights.change_two_works();
        let current = nights.workspace.out().join("current").canonicalize().unwrap();
        let path = current.join("outputs").join(file);
        let mut bytes = fs::read(&path).unwrap();
        let half = bytes.len() / 2;
        bytes[half..half + 9].iter_mut().for_each(|byte| *byte ^= 0x55);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        fs::write(&path, bytes).unwrap();
        let verified = Snapshot::open(&current).and_then(|snapshot| snapshot.verify());
        assert!(verified.is_err(), "{file}");
        let run = nights.build(&nights.workspace.out(), &[]);
        published_path(&run);
        let parts = not_taken_over(&run);
        let names = |part: &NotTakenOver| part.reason.contains(&format!("`outputs/{file}`"));
        // Of the citation graph, a night may read other chunks than the damaged one.
        assert!(file == "citations" || parts.iter().any(names), "{file}: {parts:?}");
        if file == "records" {
            assert!(run.report["drift"]["not_compared"].is_string(), "{}", run.report["drift"]);
            assert!(run.stderr.contains("\nwarning: not compared with the current snapshot, "));
        }
        let outputs = run.report["rows_reused"]["outputs"].as_u64().unwrap_or_default();
        if indexes.contains(&file) {
            assert_eq!(outputs, 0, "{file}");
        }
        nights.check(file, &[]);
    }
    nights.change();
    let current = nights.workspace.out().join("current").canonicalize().unwrap();
    remove(&current);
    assert_eq!(nights.check("without the previous snapshot", &[]), 0);
}

/// Removes a snapshot, which nobody may write.
fn remove(snapshot: &Path) {
    for folder in fs::read_dir(snapshot).unwrap().flatten() {
        if folder.path().is_dir() {
            fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        }
    }
    fs::set_permissions(snapshot, fs::Permissions::from_mode(0o755)).unwrap();
    fs::remove_dir_all(snapshot).unwrap();
}
