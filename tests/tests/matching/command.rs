//! `pinakes-compiler match`.

use std::{ffi::OsStr, fs, path::Path, process::Output};

use serde_json::Value;

use crate::matching::snapshots;

/// Runs the command on a file.
fn run(snapshots: &Path, input: &Path, out: &Path, more: &[&str]) -> Output {
    let mut args: Vec<&OsStr> = vec!["match".as_ref(), snapshots.as_os_str(), "outputs".as_ref()];
    args.extend(["--in".as_ref(), input.as_os_str(), "--out".as_ref(), out.as_os_str()]);
    args.extend(more.iter().map(OsStr::new));
    pinakes_tests::compiler(&args)
}

fn error(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

const TABLE: &str = "n,citation\r\n\
    1,\"Ajzen, I. (1991). The theory of planned behavior.\"\r\n\
    2\r\n\
    3,\"Cronbach LJ. Coefficient alpha and the\r\ninternal structure of tests. 1951\"\r\n\
    4,\r\n\
    5,Nobody. Nothing. 1800\r\n";

#[test]
fn a_table_keeps_its_rows_and_gets_columns() {
    let snapshots = snapshots();
    let directory = tempfile::tempdir().unwrap();
    let [input, out] = ["in.csv", "out.csv"].map(|name| directory.path().join(name));
    fs::write(&input, TABLE).unwrap();
    let output = run(snapshots.path(), &input, &out, &["--column", "citation", "--select", "doi"]);
    assert!(output.status.success(), "{}", error(&output));
    assert!(error(&output).contains("5 lines: 2 sure"), "{}", error(&output));
    assert!(error(&output).contains("2 bad"), "{}", error(&output));
    let text = fs::read_to_string(&out).unwrap();
    let mut reader = csv::ReaderBuilder::new().from_reader(text.as_bytes());
    let names = "n,citation,pinakes_id,pinakes_name,pinakes_score,pinakes_match,pinakes_doi";
    assert_eq!(reader.headers().unwrap().iter().collect::<Vec<_>>().join(","), names);
    let rows: Vec<csv::StringRecord> = reader.records().map(|row| row.unwrap()).collect();
    let cells = |at: usize| [0, 2, 5, 6].map(|cell| rows[at][cell].to_owned());
    assert_eq!(cells(0), ["1", "HX_W1", "true", "https://doi.org/10.1000/w1"]);
    assert_eq!(cells(1), ["2", "", "", ""]);
    assert_eq!(cells(2), ["3", "HX_W2", "true", "https://doi.org/10.1000/w2"]);
    assert_eq!(cells(3), ["4", "", "", ""]);
    assert_ne!(cells(4)[2], "true");
}

#[test]
fn a_run_that_ended_early_goes_on_after_its_last_whole_row() {
    let snapshots = snapshots();
    let directory = tempfile::tempdir().unwrap();
    let [input, whole, torn] =
        ["in.csv", "whole.csv", "torn.csv"].map(|n| directory.path().join(n));
    fs::write(&input, TABLE).unwrap();
    let column = ["--column", "citation"];
    assert!(run(snapshots.path(), &input, &whole, &column).status.success());
    let expected = fs::read(&whole).unwrap();
    let again = run(snapshots.path(), &input, &whole, &column);
    assert_eq!(again.status.code(), Some(2), "{}", error(&again));
    assert!(error(&again).contains("pass `--resume`"), "{}", error(&again));
    for bytes in 0..=expected.len() {
        fs::write(&torn, &expected[..bytes]).unwrap();
        let output = run(snapshots.path(), &input, &torn, &["--column", "citation", "--resume"]);
        assert!(output.status.success(), "{bytes}: {}", error(&output));
        assert_eq!(fs::read(&torn).unwrap(), expected, "{bytes}");
    }
    fs::write(&torn, "other,header\r\n1,2\r\n").unwrap();
    let other = run(snapshots.path(), &input, &torn, &["--column", "citation", "--resume"]);
    assert_eq!(other.status.code(), Some(2), "{}", error(&other));
}

#[test]
fn json_lines_keep_their_bytes_and_get_members() {
    let snapshots = snapshots();
    let directory = tempfile::tempdir().unwrap();
    let [input, out] = ["in.ndjson", "out.ndjson"].map(|name| directory.path().join(name));
    let known = r#"{"n": 1.0,  "c":"Ajzen 1991 The theory of planned behavior"}"#;
    fs::write(&input, format!("{known}\nnot JSON\n\n{{}}\n")).unwrap();
    let more = ["--column", "c", "--candidates", "2", "--select", "year"];
    let output = run(snapshots.path(), &input, &out, &more);
    assert!(output.status.success(), "{}", error(&output));
    let text = fs::read_to_string(&out).unwrap();
    assert!(text.starts_with(&known[..known.len() - 1]), "{text}");
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 3, "{text}");
    assert_eq!(
        (&lines[0]["pinakes_id"], &lines[0]["pinakes_year"]),
        (&"HX_W1".into(), &1991.into())
    );
    assert_ne!(lines[0].get("pinakes_id_2"), None);
    assert_eq!(
        (&lines[1]["pinakes_input"], &lines[1]["pinakes_id"]),
        (&"not JSON".into(), &Value::Null)
    );
    assert_eq!(lines[2]["pinakes_match"], Value::Null);
}

#[test]
fn options_that_fit_nothing_are_refused() {
    let snapshots = snapshots();
    let directory = tempfile::tempdir().unwrap();
    let [input, out] = ["in.csv", "out.csv"].map(|name| directory.path().join(name));
    fs::write(&input, TABLE).unwrap();
    let check = |more: &[&str], code: i32, message: &str| {
        let output = run(snapshots.path(), &input, &out, more);
        assert_eq!(output.status.code(), Some(code), "{}", error(&output));
        assert!(error(&output).contains(message), "{}", error(&output));
        assert!(!out.exists());
    };
    check(&["--column", "text"], 2, "its columns are n, citation");
    check(&["--column", "citation", "--select", "nothing"], 2, "nothing");
    check(&["--column", "citation", "--select", "doi,name"], 2, "as `pinakes_name`");
    check(&["--column", "citation", "--column", "text=n"], 2, "two columns for `text`");
    check(&[], 2, "--column");
    let missing = run(snapshots.path(), &directory.path().join("no.csv"), &out, &["--column", "a"]);
    assert_eq!(missing.status.code(), Some(3), "{}", error(&missing));
}
