//! Tests that the dashboard and the alerts use exactly the metrics that the server exports.

use std::{collections::BTreeSet, fs};

use pinakes_answer::HealthIssue;
use pinakes_tests::server::Snapshots;
use pinakes_tests::skip;
use serde_json::Value;

use crate::operations::metrics::{promtool, text, watched};

fn read(name: &str) -> String {
    fs::read_to_string(pinakes_tests::root().join("server/grafana").join(name)).unwrap()
}

/// Appends every text member with this name, at any depth.
fn texts<'v>(value: &'v Value, name: &str, found: &mut Vec<&'v str>) {
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                match value.as_str() {
                    Some(text) if key == name => found.push(text),
                    _ => texts(value, name, found),
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| texts(value, name, found)),
        _ => {}
    }
}

/// The names of metrics in a text.
fn names(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let is_name = |word: &&str| word.starts_with("pinakes_") || word.starts_with("process_");
    words.filter(is_name).map(str::to_owned).collect()
}

#[test]
fn dashboard_and_alerts_use_every_metric_and_no_unknown_one() {
    let snapshots = Snapshots::from_sample();
    let (server, admin) = watched(&snapshots, &[]);
    assert_eq!(server.get("/outputs").status, 200);
    // Metrics of limits exist only with limits, and those of a fleet only with a store, which may be away.
    let mut limited = watched_with_limits(&snapshots);
    let exported: BTreeSet<String> = [text(admin), text(limited.read_admin_address())]
        .iter()
        .flat_map(|text| exported(text))
        .collect();
    server.end(&[]);
    limited.await_log(&[STORE_AWAY]);
    limited.end(&[STORE_AWAY]);
    let dashboard: Value = serde_json::from_str(&read("pinakes-server.json")).unwrap();
    let mut used = Vec::new();
    texts(&dashboard, "expr", &mut used);
    texts(&dashboard, "definition", &mut used);
    assert!(used.len() > 30, "{used:?}");
    let used = names(&used.join(" "));
    let alerts = names(&read("alerts.yml"));
    let of_runs = metrics_of_runs();
    let unknown: Vec<&String> = used
        .union(&alerts)
        .filter(|name| !exported.contains(*name) && !of_runs.contains(*name))
        .collect();
    assert!(unknown.is_empty(), "neither program exports {unknown:?}");
    let unseen: Vec<&String> = exported
        .iter()
        .filter(|name| !used.contains(*name) && !NOT_SHOWN.contains(&name.as_str()))
        .collect();
    assert!(unseen.is_empty(), "no panel shows {unseen:?}");
}

/// The metrics of builds, and of pulls, which share those of every run.
fn metrics_of_runs() -> BTreeSet<String> {
    let out = tempfile::tempdir().unwrap();
    let textfile = out.path().join("build.prom");
    let more = ["--textfile", textfile.to_str().unwrap()];
    pinakes_tests::build(&[pinakes_tests::sample()], &out.path().join("out"), &more);
    let built = exported(&fs::read_to_string(&textfile).unwrap());
    let pulled = ["exit_code", "ended_timestamp_seconds"]
        .into_iter()
        .filter(|name| built.contains(&format!("pinakes_build_{name}")))
        .map(|name| format!("pinakes_pull_{name}"));
    built.iter().cloned().chain(pulled.collect::<Vec<_>>()).collect()
}

/// Exported metrics without a panel, since other metrics are more detailed.
const NOT_SHOWN: [&str; 6] = [
    "pinakes_connections_max",
    "pinakes_http_request_duration_seconds",
    "pinakes_limit_clients_forgotten_total",
    "process_resident_memory_bytes",
    "process_start_time_seconds",
    "process_virtual_memory_bytes",
];

const STORE_AWAY: &str = "cannot reach the store of counters";

fn watched_with_limits(snapshots: &Snapshots) -> pinakes_tests::server::Server {
    let path = snapshots.path().to_str().unwrap();
    let mut command =
        pinakes_tests::server::command(&["--snapshots", path, "--admin", "127.0.0.1:0"]);
    command.args(["--counters", "redis://127.0.0.1:1/0"]);
    command.env_remove("PINAKES_NO_LIMITS");
    pinakes_tests::server::Server::start(&mut command)
}

/// The names of families and samples in a text.
fn exported(text: &str) -> BTreeSet<String> {
    let families = text.lines().filter_map(|line| line.strip_prefix("# HELP "));
    let samples = text.lines().filter(|line| !line.starts_with('#'));
    let name = |line: &str| line.split([' ', '{']).next().unwrap().to_owned();
    families.chain(samples).map(name).collect()
}

#[test]
fn each_trouble_has_one_alert_and_one_line_of_the_guide() {
    let alerts = read("alerts.yml");
    let rules: Vec<&str> = alerts.split("- alert: ").skip(1).collect();
    let guide = fs::read_to_string(pinakes_tests::root().join("server/README.md")).unwrap();
    let (_, table) = guide.split_once("| trouble | meaning | remedy |\n").unwrap();
    let lines: Vec<&str> = table.lines().skip(1).take_while(|line| line.starts_with('|')).collect();
    let kinds = HealthIssue::ALL.map(HealthIssue::name);
    for kind in kinds {
        let words = kind.split('_').map(|word| word[..1].to_uppercase() + &word[1..]);
        let alert = format!("Pinakes{}", words.collect::<String>());
        let expr = format!("expr: pinakes_trouble{{kind=\"{kind}\"}} == 1\n");
        let of_kind: Vec<&&str> = rules.iter().filter(|rule| rule.contains(&expr)).collect();
        let [rule] = &of_kind[..] else { panic!("{kind}: {of_kind:?}") };
        assert!(rule.starts_with(&format!("{alert}\n")), "{kind}: {rule}");
        assert!(["page", "ticket"].iter().any(|of| rule.contains(&format!("severity: {of}"))));
        let line = format!("| `{kind}` |");
        assert_eq!(lines.iter().filter(|of| of.starts_with(&line)).count(), 1, "{kind}");
    }
    assert_eq!(lines.len(), kinds.len(), "{lines:?}");
    // No other rule fires for a trouble.
    assert_eq!(alerts.matches("pinakes_trouble").count(), kinds.len());
}

#[test]
fn prometheus_accepts_every_expression() {
    let dashboard: Value = serde_json::from_str(&read("pinakes-server.json")).unwrap();
    let mut used = Vec::new();
    texts(&dashboard, "expr", &mut used);
    let rules: Vec<Value> = used
        .iter()
        .enumerate()
        .map(|(at, expr)| {
            let expr = expr.replace("$__rate_interval", "5m").replace("$instance", ".*");
            serde_json::json!({ "record": format!("panel:{at}"), "expr": expr })
        })
        .collect();
    let count = rules.len();
    let rules = serde_json::json!({ "groups": [{ "name": "panels", "rules": rules }] }).to_string();
    // JSON is YAML.
    for (what, rules, count) in [("panels", rules, count), ("alerts", read("alerts.yml"), 22)] {
        let file = tempfile::Builder::new().suffix(".yml").tempfile().unwrap();
        fs::write(file.path(), rules).unwrap();
        let path = file.path().to_str().unwrap();
        let Some(checked) = promtool(&["check", "rules", path], "") else {
            skip("prometheus_accepts_every_expression", "promtool is not there");
            return;
        };
        let output = String::from_utf8_lossy(&checked.stdout);
        assert!(output.contains(&format!("SUCCESS: {count} rules found")), "{what}: {checked:?}");
    }
}
