//! What was rolled back from is not made current again, until somebody asks for it.

use std::{ffi::OsStr, fs, path::Path};

use serde_json::{Value, json};

use crate::host::Host;
use crate::place::{Edition, Place, Run, run};
use pinakes_tests::server::make_writable;

/// Pulls with a report; what it says beside.
fn pull(place: &Place, host: &Host) -> (Run, Value) {
    let report = place.path().join("report.json");
    let pulled =
        place.pull(&host.url(), &["--quiet", "--keep", "2", "--report", report.to_str().unwrap()]);
    (pulled, serde_json::from_slice(&fs::read(report).unwrap()).unwrap())
}

fn roll_back(place: &Place, more: &[&str]) -> Run {
    let out = place.out();
    let mut args: Vec<&OsStr> = vec!["rollback".as_ref(), out.as_os_str()];
    args.extend(more.iter().map(OsStr::new));
    run(&args)
}

/// Demands that a pull left the older snapshot current, and said why and what to do.
#[track_caller]
fn demand_held(place: &Place, host: &Host, again: &str) {
    let (pulled, report) = pull(place, host);
    let (old, new) = (Edition::Old.id(), Edition::New.id());
    let warning = format!(
        "warning: nothing was published: {new} was rolled back from, and `current` leads to {old} still; to \
         take it again: {again}\n"
    );
    let path = place.out().join(&old);
    let stdout = format!("{}\n", path.display());
    assert_eq!((pulled.code, pulled.stdout, pulled.stderr), (Some(0), stdout, warning));
    let said = ["state", "exit_code", "snapshot", "held_back", "pruned"].map(|name| &report[name]);
    assert_eq!(said, [&json!("done"), &json!(0), &json!(path), &json!(new), &Value::Null]);
    assert_eq!(fs::read_link(place.out().join("current")).unwrap(), Path::new(&old));
}

#[test]
fn a_pull_keeps_a_rollback_until_the_operator_undoes_it() {
    let place = Place::with(Edition::Old);
    let host = place.host();
    place.demand(Edition::Old, &pull(&place, &host).0);
    place.publish(Edition::New, &[]);
    place.demand(Edition::New, &pull(&place, &host).0);
    let (out, new) = (place.out(), Edition::New.id());
    let rolled = roll_back(&place, &[]);
    let again = format!("`rollback {} --to {new}`", out.display());
    assert!(
        rolled.stderr.contains(&format!("leads to {new} again unless it is asked for: {again}"))
    );
    let again = format!("`pinakes-compiler rollback {} --to {new}`", out.display());
    demand_held(&place, &host, &again);
    // The same published for longer is the same; what is newer is not.
    place.publish(Edition::New, &["--valid-days", "90"]);
    demand_held(&place, &host, &again);
    assert_eq!(roll_back(&place, &["--to", &new]).code, Some(0));
    place.demand(Edition::New, &pull(&place, &host).0);

    // Nor is it fetched again where it is gone.
    assert_eq!(roll_back(&place, &[]).code, Some(0));
    make_writable(&out);
    fs::remove_dir_all(out.join(&new)).unwrap();
    host.take_sent_bytes();
    let list = out.join(".rolled-back");
    demand_held(&place, &host, &format!("remove it from `{}` and run again", list.display()));
    assert_eq!(host.asked().len(), 2);
    fs::remove_file(list).unwrap();
    place.demand(Edition::New, &pull(&place, &host).0);
}

#[test]
fn a_pull_publishes_a_snapshot_newer_than_the_rolled_back_one() {
    let place = Place::with(Edition::Tiny);
    let host = place.host();
    place.demand(Edition::Tiny, &pull(&place, &host).0);
    place.publish(Edition::Old, &[]);
    place.demand(Edition::Old, &pull(&place, &host).0);
    assert_eq!(roll_back(&place, &[]).code, Some(0));
    place.publish(Edition::New, &[]);
    place.demand(Edition::New, &pull(&place, &host).0);
}
