//! Tests of bad rows, bad cells and bad files.

use std::fs;

use pinakes_format::entity::Entity;
use pinakes_tests::{compiler, files_below, write_files};
use serde_json::{Value, json};

use super::{DUMP, Setup};

#[test]
fn a_bad_row_is_quarantined_and_listed_and_the_next_row_is_read() {
    let setup = Setup::new();
    let table = b"Journal Title,ISSN,2022 rating\n\
        Ragged,1234-5679\n\
        Ragged,1234-5679,A,more\n\
        Bad \xff,1234-5679,A\n\
        No issn,not one,A\n\
        ,,\n\
        \n\
        Blank issn,,A\n\
        \"Quoted\nnewline\",1234-5679; nonsense,\"A*\",\n\
        =cmd()|' /C calc'!A0,0000-006X,=1+1\n\
        \"Unclosed,1234-5679,A\nnot lost,1234-5679,B\n";
    setup.write("abdc.csv", table);
    let run = setup.build(&["abdc.csv"]);
    assert_eq!(run.tally("abdc"), [9, 3, 1, 5]);
    assert_eq!(run.source(1)["metrics"]["abdc"], json!({"rating": "A*"}));
    assert_eq!(run.source(2)["metrics"]["abdc"], json!({"rating": "=1+1"}));
    assert_eq!(run.warnings(), &json!({"bad_issn": 1}));
    let file = setup.path("abdc.csv").display().to_string();
    let listed = |line: u64, start: &[u8], code: &str, excerpt: &str| {
        let byte_offset = find(table, start);
        json!({"file": file, "line": line, "byte_offset": byte_offset, "code": code, "excerpt": excerpt})
    };
    assert_eq!(
        run.bad,
        [
            listed(2, b"Ragged,1234-5679\n", "ragged_row", "Ragged,1234-5679"),
            listed(3, b"Ragged,1234-5679,A,more", "ragged_row", "Ragged,1234-5679,A,more"),
            listed(4, b"Bad \xff", "not_utf8", "Bad \u{fffd},1234-5679,A"),
            listed(5, b"No issn", "bad_issn", "No issn,not one,A"),
            listed(12, b"\"Unclosed", "unclosed_quote", "\"Unclosed,1234-5679,A"),
        ]
    );
    assert_eq!(
        run.report["bad_records"],
        json!({"bad_issn": 1, "not_utf8": 1, "ragged_row": 2, "unclosed_quote": 1})
    );
    let kept = fs::read(run.out.path().join("quarantine/bad-lines")).unwrap();
    let lines = ["Ragged,1234-5679", "Ragged,1234-5679,A,more", "Bad \u{fffd},1234-5679,A"];
    let rest = ["No issn,not one,A", "\"Unclosed,1234-5679,A", ""];
    assert_eq!(String::from_utf8_lossy(&kept), [&lines[..], &rest[..]].concat().join("\n"));
}

#[test]
fn each_table_has_a_budget_of_bad_rows_beside_that_of_the_dump() {
    let table = |good: usize, bad: usize| {
        let good = "Good,1234-5679,A\n".repeat(good);
        format!("Journal Title,ISSN,2022 rating\n{good}{}", "Bad,not one,A\n".repeat(bad))
    };
    let setup = Setup::new();
    setup.write("good.csv", table(1_000, 0)).write("bad.csv", table(94, 6));
    setup.write("fair.csv", table(95, 5));
    // No bad row counts towards `--max-bad`, and five in a hundred are within the budget.
    assert_eq!(setup.build_with(&["fair.csv"], &["--max-bad", "0"]).tally("abdc"), [100, 95, 0, 5]);
    let path = setup.path("bad.csv").display().to_string();
    for (inputs, options, code, says) in [
        (&["bad.csv", "good.csv"][..], &[][..], 4, "allows (5%)"),
        (&["bad.csv"], &["--max-bad", "50%"], 4, &*format!("6 of 100 rows of `{path}` are bad")),
        (&["bad.csv"], &["--max-bad-rows", "0.06"], 0, ""),
        (&["fair.csv"], &["--max-bad-rows", "4%"], 4, "than `--max-bad-rows` allows (4%)"),
        (&["fair.csv"], &["--strict"], 4, "allows (0%)"),
        (&["fair.csv"], &["--strict", "--max-bad-rows", "5%"], 2, "cannot be used with"),
    ] {
        let run = setup.build_with(inputs, options);
        assert_eq!(run.code, code, "{inputs:?} {options:?}: {}", run.stderr);
        assert!(run.stderr.contains(says), "{inputs:?} {options:?}: {}", run.stderr);
    }
    // Good rows of a table do not make up for bad records of the dump.
    setup.write("dump/authors.jsonl", "{\n");
    let run = setup.build_with(&["good.csv"], &[]);
    assert_eq!(run.code, 4, "{}", run.stderr);
    assert!(run.stderr.contains("records are bad, more than `--max-bad`"), "{}", run.stderr);
}

/// The offset of the first occurrence of `piece`.
fn find(bytes: &[u8], piece: &[u8]) -> usize {
    bytes.windows(piece.len()).position(|window| window == piece).unwrap()
}

#[test]
fn an_invalid_cell_is_null_and_counted() {
    let setup = Setup::new();
    setup.write(
        "scimago.csv",
        "Issn;SJR;SJR Best Quartile;H index;H index;Total Docs. (2023);Rank\n\
         1234-5679;NaN;Q9;1;2;-1;\n\
         0000-006X;-;-;1;2;;\n",
    );
    let run = setup.build(&["scimago.csv"]);
    assert_eq!(run.source(1)["metrics"], Value::Null);
    assert_eq!(
        run.warnings(),
        &json!({"negative_count": 1, "not_a_number": 1, "not_a_quartile": 1})
    );
    setup.write("scimago.csv", "Issn;SJR;SJR;H index\n1234-5679;1,5;2,5;1\n");
    let run = setup.build(&["scimago.csv"]);
    assert_eq!(run.source(1)["metrics"]["scopus"]["sjr"], json!(1.5));
    assert_eq!(run.warnings(), &json!({"duplicate_heading": 1}));
}

#[test]
fn an_incomplete_issn_joins_its_journal_or_costs_its_row() {
    let setup = Setup::new();
    let sources = [("S5", "0304-405X"), ("S6", "0028-0836"), ("S7", "1000-047X")];
    let sources = sources.map(|(id, issn)| {
        format!(r#"{{"id":"{id}","issn_l":"{issn}","issn":["{issn}"],"display_name":"{id}"}}"#)
    });
    setup.write("dump/sources.jsonl", sources.join("\n"));
    setup.write(
        "scimago.csv",
        "Issn;SJR;H index\n0304405;1,5;1\n\u{200e}280836\u{200e};2,5;1\n1000047;3,5;1\n1000047, -;4,5;1\n",
    );
    let run = setup.build(&["scimago.csv"]);
    assert_eq!(run.tally("scimago"), [4, 2, 0, 2]);
    for (id, sjr) in [(5, json!(1.5)), (6, json!(2.5)), (7, Value::Null)] {
        assert_eq!(run.source(id)["metrics"]["scopus"]["sjr"], sjr, "S{id}");
    }
    assert_eq!(run.warnings(), &json!({"completed_issn": 2}));
    assert_eq!(run.report["bad_records"], json!({"bad_issn": 2}));
}

#[test]
fn a_table_is_detected_by_content_or_rejected_with_a_hint() {
    let setup = Setup::new();
    setup
        .write("other.csv", "Name,Colour\na,b\n")
        .write("abdc.csv", "ISSN,rating\n1234-5679,A\n")
        .write("lines.jsonl", "{\"id\":\"https://ror.org/013meh722\",\"name\":\"a\"}\n");
    for (input, expected) in [
        ("other.csv", "is of an unknown kind; expected"),
        (
            "doaj:other.csv",
            "is not a side table of kind `doaj`; expected a CSV with the columns `Journal title`",
        ),
        ("jcr:abdc.csv", "is not a side table of kind `jcr`; expected"),
        (
            "orcid:abdc.csv",
            "is not a side table of kind `orcid`; expected ORCID records as JSON lines",
        ),
        ("lines.jsonl", "is ROR schema 1, which is not read; fetch the same release in schema 2"),
        ("ror:lines.jsonl", "is ROR schema 1, which is not read"),
        ("abdc:missing.csv", "No such file"),
    ] {
        let run = setup.build(&[input]);
        assert_eq!(run.code, 3, "{input}: {}", run.stderr);
        assert!(run.stderr.contains(expected), "{input}: {}", run.stderr);
    }
    assert_eq!(setup.build(&["abdc:abdc.csv"]).tally("abdc"), [1, 1, 0, 0]);
}

#[test]
fn a_directory_yields_its_tables_and_names_skipped_files() {
    let setup = Setup::new();
    setup
        .write("lists/ratings.csv", "ISSN,rating\n1234-5679,A\n")
        .write("lists/more.tsv", "Issn\tSJR\tH index\n12345679\t1.5\t1\n")
        .write("lists/ror/v1.json", "[{\"id\":\"https://ror.org/013meh722\",\"name\":\"a\"}]\n")
        .write("lists/ror/v2.json", "[\n{\"id\":\"https://ror.org/013meh722\",\"names\":[]}\n]\n")
        .write("lists/persons.jsonl", "{\"orcid\":\"0000-0002-1825-0097\"}\n")
        .write("lists/README.csv", "see elsewhere\n");
    let run = setup.build(&["lists"]);
    for table in ["abdc", "scimago", "ror", "orcid"] {
        assert_eq!(run.tally(table), [1, 1, 0, 0], "{table}");
    }
    assert_eq!(run.warnings(), &json!({"ror_schema_1_skipped": 1}));
    let skipped = |name: &str| setup.path(name).display().to_string();
    assert_eq!(
        run.report["skipped_files"],
        json!([skipped("lists/README.csv"), skipped("lists/ror/v1.json")])
    );
}

#[test]
fn compressed_tables_are_read_and_a_truncated_one_is_damaged() {
    use std::io::Write;
    let table = "ISSN,rating\n".to_owned() + &"1234-5679,A\n".repeat(9_999);
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(table.as_bytes()).unwrap();
    let gzip = encoder.finish().unwrap();
    let zstd = zstd::encode_all(table.as_bytes(), 1).unwrap();
    let setup = Setup::new();
    setup.write("a.csv.gz", &gzip).write("b.csv.zst", zstd).write("c.gz", &gzip[..gzip.len() - 9]);
    assert_eq!(setup.build(&["a.csv.gz"]).tally("abdc"), [9_999, 9_999, 0, 0]);
    assert_eq!(setup.build(&["b.csv.zst"]).tally("abdc"), [9_999, 9_999, 0, 0]);
    let run = setup.build(&["abdc:c.gz"]);
    assert_eq!(run.code, 5, "{}", run.stderr);
}

#[test]
fn tables_give_the_same_bytes_in_any_order_with_any_thread_count() {
    let setup = tempfile::tempdir().unwrap();
    write_files(setup.path(), DUMP);
    let people: String = (0..5_000)
        .map(|at| {
            format!("{{\"orcid\":\"0000-0002-{:04}-0097\",\"name\":\"P{at}\"}}\n", at % 10_000)
        })
        .collect();
    write_files(
        setup.path(),
        [
            ("a/1.csv", "ISSN,rating\n1234-5679,A\n2049-3630,C\n"),
            ("a/2.csv", "ISSN,rating\n1234-5679,B\n0000-006X,A\n"),
            ("b/3.jsonl", people.as_str()),
            (
                "b/4.jsonl",
                r#"{"id":"https://ror.org/013meh722","names":[{"value":"SU","types":["acronym"]}]}"#,
            ),
        ],
    );
    let build = |inputs: &[&str], options: &[&str]| {
        let out = tempfile::tempdir().unwrap();
        let inputs = inputs.iter().map(|input| setup.path().join(input).into_os_string());
        let mut args: Vec<std::ffi::OsString> = vec!["build".into()];
        args.extend(inputs);
        args.extend(["--out".into(), out.path().into()]);
        args.extend(options.iter().map(Into::into));
        let output = compiler(&args.iter().map(AsRef::as_ref).collect::<Vec<_>>());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        files_below(&fs::canonicalize(out.path().join("current")).unwrap())
    };
    let expected = build(&["dump", "a", "b"], &["--threads", "1"]);
    assert!(expected.contains_key("sources/records"));
    for (inputs, options) in [
        (&["b", "a", "dump"][..], &["--threads", "2", "--memory", "256M"][..]),
        (&["a/2.csv", "b/4.jsonl", "dump", "b/3.jsonl", "a/1.csv", "a"], &["--threads", "5"]),
    ] {
        assert!(build(inputs, options) == expected, "{inputs:?} {options:?}: other bytes");
    }
    let run = Setup(setup).build(&["a", "b"]);
    assert_eq!(run.source(1)["metrics"]["abdc"], json!({"rating": "A"}));
    assert_eq!(run.tally("orcid"), [5_000, 1, 4_999, 0]);
    let author = run.record(Entity::Author, 1, pinakes_format::json::render::Shape::Single);
    assert_eq!(author["orcid"]["name"], json!("P1825"));
}
