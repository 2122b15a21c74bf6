//! Spark's `RDD.pipe` in local mode. `.ci/run` installs Spark into `target/tables`.

use std::{fs, process::Command};

use pinakes_tests::{JAVA_OPTIONS, files_below, spark_python};

use crate::clusters::setup::{Cluster, Flaky, example, root_hash};

#[test]
fn spark_tries_a_failed_unit_again_and_gives_the_snapshot_of_a_single_run() {
    let test = "spark_tries_a_failed_unit_again_and_gives_the_snapshot_of_a_single_run";
    let Some(python) = spark_python(test) else { return };
    let spark = |cluster: &Cluster, flaky: &Flaky, units: &str| {
        Command::new(&python)
            .arg(example("spark.py"))
            .arg(&cluster.plan)
            .arg(units)
            .args([cluster.host("objects"), cluster.workspace.out()])
            .env("PATH", flaky.path())
            // Two tasks at a time; each may run three times.
            .env(
                "PYSPARK_SUBMIT_ARGS",
                "--master local[2,3] --conf spark.ui.enabled=false pyspark-shell",
            )
            .env("PYSPARK_PYTHON", &python)
            .envs([JAVA_OPTIONS])
            .output()
            .unwrap()
    };
    let cluster = Cluster::of_sample(3);
    let flaky = Flaky::new(&cluster, 6);
    let output = spark(&cluster, &flaky, "3");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(flaky.tries(), ["compile 0", "compile 1", "compile 1", "compile 2", "link"]);
    let snapshot = cluster.workspace.out().join("current");
    assert!(files_below(&fs::canonicalize(&snapshot).unwrap()) == cluster.expected());
    assert_eq!(root_hash(&snapshot), root_hash(&cluster.host("single/current")));

    let cluster = Cluster::of_sample(2);
    let flaky = Flaky::new(&cluster, 4);
    let output = spark(&cluster, &flaky, "2");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("unit 1 ended with exit code 4"), "{errors}");
    assert_eq!(flaky.tries(), ["compile 0", "compile 1"], "a final code is not tried again");
}
