//! Consecutive builds: `--keep` and `rollback`.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use pinakes_format::snapshot::Snapshot;
use pinakes_tests::{TINY_DUMP, compiler, write_files};
use serde_json::json;

use pinakes_tests::compiler_run::*;

/// Builds the tiny dump with the funder's name changed for each night, and returns the snapshot.
fn build_night(workspace: &Workspace, night: u32, options: &[&str]) -> (Run, PathBuf) {
    write_files(&workspace.input(), TINY_DUMP);
    let funder = TINY_DUMP[5].1.replace("Example Fund", &format!("Fund of night {night}"));
    write_files(&workspace.input(), [("funders.jsonl", funder)]);
    let run = build(&[&workspace.input()], &workspace.out(), options);
    let snapshot = published_path(&run);
    (run, snapshot)
}

/// Returns the id of a snapshot, the name of its directory.
fn id(snapshot: &Path) -> String {
    snapshot.file_name().unwrap().to_str().unwrap().to_owned()
}

/// Lists the ids of the published snapshots.
fn snapshot_ids(workspace: &Workspace) -> BTreeSet<String> {
    let entries = fs::read_dir(workspace.out()).unwrap().map(|entry| entry.unwrap());
    let names = entries.filter(|entry| entry.path().join("manifest.json").is_file());
    let names = names.filter(|entry| entry.file_type().unwrap().is_dir());
    names.map(|entry| entry.file_name().into_string().unwrap()).collect()
}

fn object_count(workspace: &Workspace) -> usize {
    fs::read_dir(workspace.out().join("objects")).unwrap().count()
}

/// Returns the id that `current` links to.
fn current_id(workspace: &Workspace) -> String {
    fs::read_link(workspace.out().join("current")).unwrap().into_os_string().into_string().unwrap()
}

/// Runs `rollback` and returns exit code, standard output and standard error.
fn roll_back(workspace: &Workspace, more: &[&str]) -> (i32, String, String) {
    let out = workspace.out();
    let mut args = vec!["rollback".as_ref(), out.as_os_str()];
    args.extend(more.iter().map(std::ffi::OsStr::new));
    let output = compiler(&args);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn keep_leaves_this_many_snapshots_and_their_objects() {
    let workspace = Workspace::new();
    let parts = TINY_DUMP.len();
    let (run, first) = build_night(&workspace, 1, &["--keep", "2"]);
    let nothing = json!({
        "snapshots": [], "in_use": [], "objects": 0, "object_bytes": 0, "failed": []
    });
    assert_eq!(run.report["pruned"], nothing);
    let (run, second) = build_night(&workspace, 2, &[]);
    assert_eq!(run.report["pruned"], json!(null));
    let (run, third) = build_night(&workspace, 3, &["--keep", "2"]);
    assert_eq!(run.report["pruned"]["snapshots"], json!([id(&first)]));
    assert_eq!(run.report["pruned"]["objects"], json!(1));
    assert_eq!(snapshot_ids(&workspace), BTreeSet::from([id(&second), id(&third)]));
    assert_eq!(object_count(&workspace), parts + 1);
    assert_no_leftovers(&workspace.out(), "keeping two");

    // A snapshot in use is kept with its objects until it is closed.
    let open = Snapshot::open(&second).unwrap();
    let (run, fourth) = build_night(&workspace, 4, &["--keep", "1"]);
    assert_eq!(run.report["pruned"]["snapshots"], json!([id(&third)]));
    assert_eq!(run.report["pruned"]["in_use"], json!([id(&second)]));
    assert_eq!(snapshot_ids(&workspace), BTreeSet::from([id(&second), id(&fourth)]));
    assert_eq!(object_count(&workspace), parts + 1);
    open.verify().unwrap();
    drop(open);
    // The inputs of the kept snapshot: the build parses and publishes nothing.
    let (run, again) = build_night(&workspace, 4, &["--keep", "1"]);
    assert_eq!((run.report["parts_parsed"].clone(), again), (json!(0), fourth.clone()));
    assert_eq!(run.report["pruned"]["snapshots"], json!([id(&second)]));
    assert_eq!(snapshot_ids(&workspace), BTreeSet::from([id(&fourth)]));
    assert_eq!(object_count(&workspace), parts);
    Snapshot::open(&fourth).unwrap().verify().unwrap();
}

#[test]
fn link_removes_snapshots_but_no_object() {
    let workspace = Workspace::new();
    build_night(&workspace, 1, &[]);
    let (_, second) = build_night(&workspace, 2, &[]);
    let (objects, out) = (workspace.out().join("objects"), workspace.out());
    let args = ["link".as_ref(), "--objects".as_ref(), objects.as_os_str(), "--out".as_ref()];
    let linked = run(&[&args[..], &[out.as_os_str(), "--keep".as_ref(), "2".as_ref()]].concat());
    let linked = published_path(&linked);
    assert_eq!(snapshot_ids(&workspace), BTreeSet::from([id(&second), id(&linked)]));
    assert_eq!(object_count(&workspace), TINY_DUMP.len() + 1);
}

#[test]
fn rollback_makes_the_previous_snapshot_current_and_changes_none() {
    let workspace = Workspace::new();
    let (_, first) = build_night(&workspace, 1, &[]);
    let (code, stdout, stderr) = roll_back(&workspace, &[]);
    assert_eq!((code, stdout), (3, String::new()), "{stderr}");
    assert!(stderr.contains("no snapshot older than"), "{stderr}");
    let (_, second) = build_night(&workspace, 2, &[]);
    let (_, third) = build_night(&workspace, 3, &[]);
    let before = state(&workspace.out());
    let history = || fs::read_to_string(workspace.out().join(".history")).unwrap();
    let listed = history();
    let expected = [(&second, &third), (&first, &second)];
    for (to, from) in expected {
        let (code, stdout, stderr) = roll_back(&workspace, &[]);
        assert_eq!((code, stdout), (0, format!("{}\n", to.display())), "{stderr}");
        let says = format!("`current` points at {} (before: {})", id(to), id(from));
        assert!(stderr.contains(&says), "{stderr}");
        let again = format!("no build or pull makes {} current again; to do so, run ", id(from));
        assert!(stderr.contains(&again), "{stderr}");
        assert_eq!((current_id(&workspace), history()), (id(to), listed.clone()));
        assert!(state(&workspace.out()).1 == before.1, "a snapshot changed");
    }
    assert_eq!(roll_back(&workspace, &[]).0, 3);
    // Forward again by id; an unknown id lists the known ids.
    let (code, _, stderr) = roll_back(&workspace, &["--to", &id(&third)]);
    assert!(code == 0 && stderr.lines().count() == 1, "{code}: {stderr}");
    assert_eq!(current_id(&workspace), id(&third));
    let (code, _, stderr) = roll_back(&workspace, &["--to", "0123456789abcdef"]);
    let all = [&first, &second, &third].map(|snapshot| id(snapshot)).join(", ");
    assert!(code == 3 && stderr.contains(&all), "{code}: {stderr}");
    assert_no_leftovers(&workspace.out(), "rollback");
    assert_eq!(current_id(&workspace), id(&third));
}

#[test]
fn prune_removes_a_rolled_back_snapshot_first_and_a_build_does_not_publish_it_again() {
    let workspace = Workspace::new();
    let (_, first) = build_night(&workspace, 1, &[]);
    let (_, second) = build_night(&workspace, 2, &[]);
    assert_eq!(roll_back(&workspace, &[]).0, 0);
    let (run, third) = build_night(&workspace, 3, &["--keep", "2"]);
    assert_eq!(run.report["pruned"]["snapshots"], json!([id(&second)]));
    assert_eq!(snapshot_ids(&workspace), BTreeSet::from([id(&first), id(&third)]));
    assert_eq!(roll_back(&workspace, &[]).0, 0);
    assert_eq!(current_id(&workspace), id(&first));
    // A build of the same inputs does not make a rolled-back snapshot current again.
    let before = state(&workspace.out());
    let (run, kept) = build_night(&workspace, 3, &["--keep", "1"]);
    assert_eq!(kept, first);
    let warning = format!(
        "warning: nothing was published: {} was rolled back from, and `current` still points at {}; to use it \
         again: `pinakes-compiler rollback {} --to {0}`\n",
        id(&third),
        id(&first),
        workspace.out().display()
    );
    assert!(run.stderr.ends_with(&warning), "{}", run.stderr);
    let members =
        ["exit_code", "held_back", "snapshot", "snapshot_id", "newest_updated_date", "pruned"];
    let members = members.map(|name| &run.report[name]);
    let null = json!(null);
    let (made, used, used_id) = (json!(id(&third)), json!(first), json!(id(&first)));
    assert_eq!(members, [&json!(0), &made, &used, &used_id, &null, &null]);
    assert!(state(&workspace.out()) == before, "something was published");
    // `rollback --to` makes it current again.
    assert_eq!(roll_back(&workspace, &["--to", &id(&third)]).0, 0);
    let (_, again) = build_night(&workspace, 3, &["--keep", "1"]);
    assert_eq!((again, current_id(&workspace)), (third.clone(), id(&third)));
    assert_eq!(snapshot_ids(&workspace), BTreeSet::from([id(&third)]));
}

#[test]
fn rollback_skips_rolled_back_snapshots_and_prune_removes_them_first() {
    let workspace = Workspace::new();
    let [first, second, third] = [1, 2, 3].map(|night| id(&build_night(&workspace, night, &[]).1));
    let back = || {
        assert_eq!(roll_back(&workspace, &[]).0, 0);
        current_id(&workspace)
    };
    assert_eq!(back(), second);
    let fourth = id(&build_night(&workspace, 4, &[]).1);
    assert_eq!(current_id(&workspace), fourth);
    assert_eq!(back(), second);
    assert_eq!(back(), first, "rollback skips the third snapshot, which was rolled back");
    assert_eq!(roll_back(&workspace, &["--to", &second]).0, 0);
    let (run, again) = build_night(&workspace, 2, &["--keep", "2"]);
    assert_eq!(id(&again), second);
    let pruned = run.report["pruned"]["snapshots"].as_array().unwrap().iter();
    let pruned: BTreeSet<&str> = pruned.map(|id| id.as_str().unwrap()).collect();
    assert_eq!(pruned, BTreeSet::from([third.as_str(), fourth.as_str()]));
    assert_eq!(snapshot_ids(&workspace), BTreeSet::from([first.clone(), second]));
    assert_eq!(back(), first);
}

#[test]
fn rollback_warns_about_records_that_were_suppressed_since() {
    let workspace = Workspace::new();
    build_night(&workspace, 1, &[]);
    let list = workspace.input().with_extension("takedowns");
    fs::write(&list, "HX_W1\nHX_A1\n").unwrap();
    let (run, _) = build_night(&workspace, 1, &["--suppress", list.to_str().unwrap()]);
    let suppressed = run.report["entities"].as_object().unwrap().values();
    let suppressed: u64 = suppressed.map(|of| of["suppressed"].as_u64().unwrap()).sum();
    assert!(suppressed > 0, "{}", run.report);
    let (code, _, stderr) = roll_back(&workspace, &[]);
    let warning = "warning: it shows what the previous one left out: HX_";
    assert!(code == 0 && stderr.contains(warning), "{code}: {stderr}");
}

#[test]
fn rollback_refuses_a_damaged_snapshot_and_a_directory_without_snapshots() {
    let workspace = Workspace::new();
    let (code, _, stderr) = roll_back(&workspace, &[]);
    assert_eq!(code, 3, "{stderr}");
    let (_, first) = build_night(&workspace, 1, &[]);
    build_night(&workspace, 2, &[]);
    let manifest = first.join("manifest.json");
    let text = fs::read_to_string(&manifest).unwrap();
    fs::remove_file(&manifest).unwrap();
    fs::write(&manifest, text.replace("\"rows\": 1", "\"rows\": 2")).unwrap();
    let before = state(&workspace.out());
    let (code, stdout, stderr) = roll_back(&workspace, &[]);
    assert_eq!((code, stdout), (8, String::new()), "{stderr}");
    assert!(stderr.contains("root hash"), "{stderr}");
    assert!(state(&workspace.out()) == before);
    // Without `current` there is no previous snapshot, but `--to` can name one.
    fs::remove_file(workspace.out().join("current")).unwrap();
    let (code, _, stderr) = roll_back(&workspace, &[]);
    assert!(code == 3 && stderr.contains("name one with `--to`"), "{code}: {stderr}");
}
