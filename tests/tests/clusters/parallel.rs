//! GNU parallel over two directories that stand for hosts.

use std::{fs, process::Command};

use pinakes_tests::files_below;

use crate::clusters::setup::{Cluster, Flaky, example, has_program, root_hash};

#[test]
fn gnu_parallel_over_two_directories_gives_the_snapshot_of_a_single_run() {
    let test = "gnu_parallel_over_two_directories_gives_the_snapshot_of_a_single_run";
    if !has_program("parallel", test) {
        return;
    }
    let cluster = Cluster::of_sample(5);
    let flaky = Flaky::new(&cluster, 6);
    let (objects, out) = (cluster.host("objects"), cluster.workspace.out());
    let output = Command::new(example("parallel.sh"))
        .arg(&cluster.plan)
        .args(["5", "2"])
        .args([&objects, &out])
        .env("PATH", flaky.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    for slot in 1..=2 {
        let of_slot = cluster.host(&format!("objects-{slot}"));
        assert!(fs::read_dir(of_slot).unwrap().count() > 0, "no unit ran in slot {slot}");
    }
    let units =
        ["compile 0", "compile 1", "compile 1", "compile 2", "compile 3", "compile 4", "link"];
    assert_eq!(flaky.tries(), units);
    let snapshot = out.join("current");
    assert!(files_below(&fs::canonicalize(&snapshot).unwrap()) == cluster.expected());
    assert_eq!(root_hash(&snapshot), root_hash(&cluster.host("single/current")));
}

#[test]
fn a_final_exit_code_ends_gnu_parallel_at_the_first_try() {
    let test = "a_final_exit_code_ends_gnu_parallel_at_the_first_try";
    if !has_program("parallel", test) {
        return;
    }
    let cluster = Cluster::of_sample(2);
    let flaky = Flaky::new(&cluster, 5);
    let output = Command::new(example("parallel.sh"))
        .arg(&cluster.plan)
        .args(["2", "1"])
        .args([cluster.host("objects"), cluster.workspace.out()])
        .env("PATH", flaky.path())
        .output()
        .unwrap();
    assert!(!output.status.success(), "{output:?}");
    assert_eq!(flaky.tries(), ["compile 0", "compile 1"]);
}
