//! Tests that `pull` does not publish a rolled-back snapshot again until the operator asks for it.

use std::{ffi::OsStr, fs, path::Path};

use serde_json::{Value, json};

use crate::mirror::setup::{Edition, Run, Setup, run};
use pinakes_tests::server::make_writable;
use pinakes_tests::static_host::Host;

/// Pulls and returns the run with its report.
fn pull(setup: &Setup, host: &Host) -> (Run, Value) {
    let report = setup.path().join("report.json");
    let pulled =
        setup.pull(&host.url(), &["--quiet", "--keep", "2", "--report", report.to_str().unwrap()]);
    (pulled, serde_json::from_slice(&fs::read(report).unwrap()).unwrap())
}

fn roll_back(setup: &Setup, more: &[&str]) -> Run {
    let out = setup.out();
    let mut args: Vec<&OsStr> = vec!["rollback".as_ref(), out.as_os_str()];
    args.extend(more.iter().map(OsStr::new));
    run(&args)
}

/// Asserts that a pull keeps the old snapshot current and warns with the reason and the remedy.
#[track_caller]
fn assert_held_back(setup: &Setup, host: &Host, again: &str) {
    let (pulled, report) = pull(setup, host);
    let (old, new) = (Edition::Old.id(), Edition::New.id());
    let warning = format!(
        "warning: nothing was published: {new} was rolled back from, and `current` still points at {old}; to \
         use it again: {again}\n"
    );
    let path = setup.out().join(&old);
    let stdout = format!("{}\n", path.display());
    assert_eq!((pulled.code, pulled.stdout, pulled.stderr), (Some(0), stdout, warning));
    let members =
        ["state", "exit_code", "snapshot", "held_back", "pruned"].map(|name| &report[name]);
    assert_eq!(members, [&json!("done"), &json!(0), &json!(path), &json!(new), &Value::Null]);
    assert_eq!(fs::read_link(setup.out().join("current")).unwrap(), Path::new(&old));
}

#[test]
fn a_pull_keeps_a_rollback_until_the_operator_undoes_it() {
    let setup = Setup::with(Edition::Old);
    let host = setup.host();
    setup.assert_current(Edition::Old, &pull(&setup, &host).0);
    setup.publish(Edition::New, &[]);
    setup.assert_current(Edition::New, &pull(&setup, &host).0);
    let (out, new) = (setup.out(), Edition::New.id());
    let rolled = roll_back(&setup, &[]);
    let again = format!("`rollback {} --to {new}`", out.display());
    assert!(
        rolled.stderr.contains(&format!(
            "no build or pull makes {new} current again; to do so, run {again}"
        ))
    );
    let again = format!("`pinakes-compiler rollback {} --to {new}`", out.display());
    assert_held_back(&setup, &host, &again);
    // A publication with a later expiry is still the rolled-back snapshot.
    setup.publish(Edition::New, &["--valid-days", "90"]);
    assert_held_back(&setup, &host, &again);
    assert_eq!(roll_back(&setup, &["--to", &new]).code, Some(0));
    setup.assert_current(Edition::New, &pull(&setup, &host).0);

    // A rolled-back snapshot is not fetched again after its removal.
    assert_eq!(roll_back(&setup, &[]).code, Some(0));
    make_writable(&out);
    fs::remove_dir_all(out.join(&new)).unwrap();
    host.take_sent_bytes();
    let list = out.join(".rolled-back");
    assert_held_back(
        &setup,
        &host,
        &format!("remove its id from `{}` and run again", list.display()),
    );
    assert_eq!(host.asked().len(), 2);
    fs::remove_file(list).unwrap();
    setup.assert_current(Edition::New, &pull(&setup, &host).0);
}

#[test]
fn a_pull_publishes_a_snapshot_newer_than_the_rolled_back_one() {
    let setup = Setup::with(Edition::Tiny);
    let host = setup.host();
    setup.assert_current(Edition::Tiny, &pull(&setup, &host).0);
    setup.publish(Edition::Old, &[]);
    setup.assert_current(Edition::Old, &pull(&setup, &host).0);
    assert_eq!(roll_back(&setup, &[]).code, Some(0));
    setup.publish(Edition::New, &[]);
    setup.assert_current(Edition::New, &pull(&setup, &host).0);
}
