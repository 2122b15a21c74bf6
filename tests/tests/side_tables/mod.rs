//! Tests of side tables beside a dump: formats of the publishers, and their effect on records.

mod encodings;
mod headings;
mod journals;
mod people;
mod places;
mod rows;

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

use pinakes_format::entity::Entity;
use pinakes_format::json::render::{JsonWriter, Shape};
use pinakes_format::snapshot::{LookupResult, Snapshot};
use pinakes_tests::{compiler, write_files};
use serde_json::{Value, json};

/// Journals (two records share an ISSN, one has none) with their outputs, authors and institutions.
const DUMP: [(&str, &str); 4] = [
    (
        "dump/works.jsonl",
        concat!(
            r#"{"id":"W1","title":"One","primary_location":{"source":{"id":"S1","display_name":"Journal of Tests","type":"journal"}},"#,
            r#""locations":[{"id":"x","source":{"id":"S1","display_name":"Journal of Tests","type":"journal"}}]}"#,
            "\n",
        ),
    ),
    (
        "dump/sources.jsonl",
        concat!(
            r#"{"id":"S1","issn_l":"1234-5679","issn":["1234-5679","2049-3630"],"display_name":"Journal of Tests","works_count":9,"type":"journal"}"#,
            "\n",
            r#"{"id":"S2","issn_l":"0000-006x","issn":null,"display_name":"Journal of Nothing","works_count":8}"#,
            "\n",
            r#"{"id":"S3","issn_l":null,"issn":[],"display_name":"Repository","works_count":7}"#,
            "\n",
        ),
    ),
    (
        "dump/authors.jsonl",
        concat!(
            r#"{"id":"A1","orcid":"https://orcid.org/0000-0002-1825-0097","display_name":"Ada Example","works_count":3}"#,
            "\n",
            r#"{"id":"A2","orcid":"https://orcid.org/0000-0002-1694-233X","display_name":"Ben Example","works_count":2}"#,
            "\n",
            r#"{"id":"A3","display_name":"Cy Example","works_count":1}"#,
            "\n",
        ),
    ),
    (
        "dump/institutions.jsonl",
        concat!(
            r#"{"id":"I1","ror":"https://ror.org/013meh722","display_name":"Silent University","works_count":3}"#,
            "\n",
            r#"{"id":"I2","ror":"https://ror.org/052gg0110","display_name":"Telling University","country_code":"GB","#,
            r#""display_name_acronyms":["TU"],"display_name_alternatives":[],"geo":{"city":"Oxford","latitude":51.75},"#,
            r#""associated_institutions":[{"id":"I9","display_name":"Gone","relationship":"child"}],"#,
            r#""international":{"display_name":{"en":"Telling University"}},"works_count":2}"#,
            "\n",
            r#"{"id":"I3","display_name":"No id","works_count":1}"#,
            "\n",
        ),
    ),
];

#[test]
fn the_side_tables_of_the_project_join_the_sample() {
    let out = tempfile::tempdir().unwrap();
    let side = pinakes_tests::root().join("data/side");
    let built = pinakes_tests::build(&[pinakes_tests::sample(), side], out.path(), &["--quiet"]);
    let report: Value =
        serde_json::from_slice(&fs::read(built.join("report.json")).unwrap()).unwrap();
    assert_eq!(
        report["side_tables"],
        json!({
            "doaj": {"read": 4, "joined": 3, "unmatched": 1, "quarantined": 0},
            "orcid": {"read": 3, "joined": 2, "unmatched": 1, "quarantined": 0}
        })
    );
}

/// A directory with the dump and side tables.
struct Setup(tempfile::TempDir);

/// A run of `build` with its snapshot and report.
struct Run {
    code: i32,
    stderr: String,
    report: Value,
    /// Each line of the list of bad records.
    bad: Vec<Value>,
    snapshot: Option<Snapshot>,
    out: tempfile::TempDir,
}

impl Setup {
    fn new() -> Setup {
        let setup = Setup(tempfile::tempdir().unwrap());
        write_files(setup.0.path(), DUMP);
        setup
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> &Setup {
        write_files(self.0.path(), [(name, bytes)]);
        self
    }

    /// Builds the dump with more inputs, each `[KIND:]NAME`.
    fn build(&self, inputs: &[&str]) -> Run {
        self.build_with(inputs, &["--max-bad-rows", "100%"])
    }

    fn build_with(&self, inputs: &[&str], options: &[&str]) -> Run {
        let out = tempfile::tempdir().unwrap();
        let report = out.path().join("report.json");
        let input = |input: &&str| match input.split_once(':') {
            Some((kind, name)) => format!("{kind}:{}", self.path(name).display()),
            None => self.path(input).display().to_string(),
        };
        let inputs: Vec<String> = ["dump"].iter().chain(inputs).map(input).collect();
        let mut args: Vec<&OsStr> = vec!["build".as_ref()];
        args.extend(inputs.iter().map(OsStr::new));
        args.extend(["--out".as_ref(), out.path().as_os_str()]);
        args.extend(["--report".as_ref(), report.as_os_str()]);
        args.extend(options.iter().map(OsStr::new));
        let output = compiler(&args);
        let code = output.status.code().unwrap();
        let read = |path: &Path| fs::read_to_string(path).unwrap_or_default();
        let bad = read(&out.path().join("quarantine/bad-records.jsonl"));
        Run {
            code,
            stderr: String::from_utf8(output.stderr).unwrap(),
            report: serde_json::from_str(&read(&report)).unwrap_or_default(),
            bad: bad.lines().map(|line| serde_json::from_str(line).unwrap()).collect(),
            snapshot: (code == 0).then(|| {
                let snapshot = Snapshot::open(&out.path().join("current")).unwrap();
                snapshot.verify().unwrap();
                snapshot
            }),
            out,
        }
    }
}

impl Run {
    /// Renders a single record as JSON.
    fn record(&self, entity: Entity, id: u64, shape: Shape) -> Value {
        let snapshot = self.snapshot.as_ref().unwrap_or_else(|| panic!("{}", self.stderr));
        let LookupResult::Row(row) = snapshot.find(entity, id).unwrap() else {
            panic!("no {entity} {id}")
        };
        let mut page = JsonWriter::new(snapshot, shape);
        snapshot.render(entity, row, &mut page).unwrap();
        serde_json::from_slice(&page.out).unwrap()
    }

    fn source(&self, id: u64) -> Value {
        self.record(Entity::Source, id, Shape::Single)
    }

    /// `[read, joined, unmatched, quarantined]` of a table, equal in the report and in the snapshot.
    fn tally(&self, table: &str) -> [u64; 4] {
        assert_eq!(self.code, 0, "{}", self.stderr);
        let path = self.out.path().join("current/report.json");
        let published: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
        let tally = &self.report["side_tables"][table];
        assert_eq!(published["side_tables"][table], *tally);
        ["read", "joined", "unmatched", "quarantined"].map(|part| tally[part].as_u64().unwrap())
    }

    fn warnings(&self) -> &Value {
        &self.report["warnings"]
    }
}
