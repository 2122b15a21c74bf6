//! Helpers that the end-to-end tests share: the two programs, inputs and snapshots.

#![allow(
    clippy::new_without_default,
    clippy::unwrap_used,
    missing_docs,
    reason = "test code panics by design"
)]

use std::{
    fmt::Display,
    fs::OpenOptions,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Output},
};

pub mod bucket_store;
pub mod certificates;
pub mod client;
pub mod compiler_run;
pub mod expect;
mod fixtures;
pub mod graphql;
pub mod query_generator;
pub mod reply_checker;
pub mod server;
pub mod serving;
pub mod similar_names;
pub mod site;
pub mod slow_link;
pub mod static_host;
pub mod values;

pub use fixtures::{
    autocomplete, library, lists, make_writable, publish, republish, shared_directory,
};

/// Returns the root directory of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Returns the path of a built program of this workspace, or of the directory `PINAKES_PROGRAMS`.
///
/// # Panics
///
/// If the program is not built; `make test` builds it first.
pub fn program(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its own path");
    let profile = test.ancestors().nth(2).expect("tests lie in target/<profile>/deps");
    let given = std::env::var_os("PINAKES_PROGRAMS").map(PathBuf::from);
    let program = given.as_deref().unwrap_or(profile).join(name);
    assert!(program.is_file(), "{} is not built; run `make test`", program.display());
    program
}

/// Returns the path of the repository's sample dump.
pub fn sample() -> PathBuf {
    root().join("data/sample")
}

/// Says that a test is skipped: on standard error, and in the file that `PINAKES_SKIPS` names, which `make test` prints at its
/// end.
///
/// # Panics
///
/// If the file cannot be written.
pub fn skip(test: &str, why: impl Display) {
    eprintln!("skipped: {test}: {why}");
    if let Some(file) = std::env::var_os("PINAKES_SKIPS") {
        let file = OpenOptions::new().create(true).append(true).open(file);
        let written = file.and_then(|mut file| writeln!(file, "{test}: {why}"));
        written.expect("the file of skipped tests can be written");
    }
}

/// The random cases of a test that makes `count` of them in `make test`: `PINAKES_TIMES` times as many.
///
/// # Panics
///
/// If `PINAKES_TIMES` is no number.
pub fn times(count: usize) -> usize {
    let times = std::env::var("PINAKES_TIMES").map_or(1, |times| times.parse().expect("a number"));
    count * times
}

/// Pauses between two looks at what another process does. A loop without a pause takes a core from that process.
pub fn pause() {
    std::thread::sleep(std::time::Duration::from_millis(1));
}

/// Returns the name of the test whose thread calls this.
pub fn running_test() -> String {
    std::thread::current().name().unwrap_or_default().to_owned()
}

/// Returns a path below the optional directory of real records, or prints that `test` is skipped.
pub fn real_data(path: &str, test: &str) -> Option<PathBuf> {
    let place = root().join("../shared/data").join(path);
    if place.exists() {
        return Some(place);
    }
    skip(test, format!("{} is not there", place.display()));
    None
}

/// Returns the real sample and its taxonomy, or prints that `test` is skipped.
pub fn real_sample(test: &str) -> Option<[PathBuf; 2]> {
    real_data("sample", test).map(|sample| ["openalex", "taxonomy"].map(|input| sample.join(input)))
}

/// The variable and the options that let Java begin soon: a small table is written before its second compiler pays.
pub const JAVA_OPTIONS: (&str, &str) =
    ("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC");

/// Returns the Python that has Spark, or prints that `test` is skipped.
pub fn spark_python(test: &str) -> Option<PathBuf> {
    let python = root().join("target/tables/bin/python");
    let imports = Command::new(&python).args(["-c", "import pyspark"]).output();
    let java = Command::new("java").arg("-version").output();
    if imports.is_ok_and(|imports| imports.status.success()) && java.is_ok() {
        return Some(python);
    }
    skip(test, "no pyspark or no Java; .ci/run installs both");
    None
}

/// Returns real records of the current dump and of the dump of 2023, or prints that `test` is
/// skipped.
pub fn current_and_2023_dumps(test: &str) -> Option<[PathBuf; 2]> {
    let inputs = ["openalex", "openalex-snapshot-2023"];
    real_data("large", test).map(|large| inputs.map(|input| large.join(input)))
}

/// Returns a command of the compiler that SIGHUP ends, even where the tests run with `nohup`.
pub fn compiler_with_hangups() -> Command {
    let mut command = Command::new("env");
    command.arg("--default-signal=HUP").arg(program("pinakes-compiler"));
    command
}

/// Runs the compiler.
///
/// # Panics
///
/// If the compiler cannot be started.
pub fn compiler(args: &[&std::ffi::OsStr]) -> Output {
    Command::new(program("pinakes-compiler"))
        .args(args)
        .output()
        .expect("the compiler can be started")
}

/// Builds a snapshot of inputs and returns its path.
///
/// # Panics
///
/// If the build fails; the message contains its standard error.
pub fn build(inputs: &[PathBuf], out: &Path, more: &[&str]) -> PathBuf {
    let mut args: Vec<&std::ffi::OsStr> = vec!["build".as_ref()];
    args.extend(inputs.iter().map(|input| input.as_os_str()));
    args.extend(["--out".as_ref(), out.as_os_str()]);
    args.extend(more.iter().map(|arg| std::ffi::OsStr::new(*arg)));
    let output = compiler(&args);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "build failed: {errors}");
    let printed = String::from_utf8_lossy(&output.stdout);
    PathBuf::from(printed.lines().last().expect("build prints the snapshot's path"))
}

/// Exports a snapshot into a directory.
///
/// # Panics
///
/// If the export fails; the message contains its standard error.
pub fn export(snapshot: &Path, out: &Path, more: &[&str]) {
    let mut args: Vec<&std::ffi::OsStr> = vec!["export".as_ref(), snapshot.as_os_str()];
    args.extend(["--out".as_ref(), out.as_os_str(), "--quiet".as_ref()]);
    args.extend(more.iter().map(|arg| std::ffi::OsStr::new(*arg)));
    let output = compiler(&args);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "export failed: {errors}");
}

/// Publishes a snapshot of inputs, exports it, and publishes a second snapshot of the export.
///
/// # Panics
///
/// If a build or the export fails; the message contains its standard error.
pub fn rebuild(inputs: &[PathBuf], out: &Path) {
    let exported = tempfile::tempdir().expect("a temporary directory can be created");
    export(&build(inputs, out, &["--quiet"]), exported.path(), &["--compress", "none"]);
    build(&[exported.path().to_path_buf()], out, &["--quiet"]);
}

/// Reads every regular file below a directory, by relative path; does not follow links.
///
/// # Panics
///
/// If a file or directory cannot be read.
pub fn files_below(directory: &Path) -> std::collections::BTreeMap<String, Vec<u8>> {
    let mut found = std::collections::BTreeMap::new();
    let mut folders = vec![directory.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("the directory is readable") {
            let entry = entry.expect("the directory is readable");
            let kind = entry.file_type().expect("the entry has a type");
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file() {
                let path = entry.path();
                let name = path.strip_prefix(directory).expect("the path lies below the directory");
                let bytes = std::fs::read(&path).expect("the file is readable");
                found.insert(name.to_string_lossy().into_owned(), bytes);
            }
        }
    }
    found
}

/// Writes files below a directory and makes the directories they need.
///
/// # Panics
///
/// If a file or directory cannot be written.
pub fn write_files<P: AsRef<Path>, B: AsRef<[u8]>>(
    directory: &Path,
    files: impl IntoIterator<Item = (P, B)>,
) {
    for (name, bytes) in files {
        let path = directory.join(name);
        let folder = path.parent().expect("a file lies in a directory");
        std::fs::create_dir_all(folder).expect("the directory can be created");
        std::fs::write(&path, bytes).expect("the file can be written");
    }
}

/// A dump of 11 files and 11 records with every kind of member.
///
/// One author is merged into another author, and one referenced author has no record.
pub const TINY_DUMP: [(&str, &str); 11] = [
    (
        "works.jsonl",
        concat!(
            r#"{"id":"https://openalex.org/W1","doi":"https://doi.org/10.5555/1","title":"On <i>testing</i>","display_name":"On testing","publication_year":2024,"publication_date":"2024-05-06","ids":{"openalex":"https://openalex.org/W1","mag":"77"},"language":"en","type":"article","primary_location":{"is_oa":true,"landing_page_url":"https://example.org/1","pdf_url":null,"source":{"id":"https://openalex.org/S1","display_name":"Journal of Tests","issn_l":"1234-5679","type":"journal","host_organization":"https://openalex.org/P1","host_organization_name":"Test Press"},"license":"cc-by","version":"publishedVersion"},"locations":[],"open_access":{"is_oa":true,"oa_status":"gold","oa_url":"https://example.org/1","any_repository_has_fulltext":false},"authorships":[{"author_position":"first","author":{"id":"https://openalex.org/A1","display_name":"Ada Example","orcid":"https://orcid.org/0000-0002-1825-0097"},"institutions":[{"id":"https://openalex.org/I1","display_name":"Example University","ror":"https://ror.org/013meh722","country_code":"GB","type":"education","lineage":["https://openalex.org/I1"]}],"countries":["GB"],"is_corresponding":true,"raw_author_name":"A. Example","raw_affiliation_strings":["Example University, Cambridge, United Kingdom"]},{"author_position":"last","author":{"id":"https://openalex.org/A404","display_name":"Nemo Missing","orcid":null},"institutions":[],"countries":[],"is_corresponding":false,"raw_author_name":"N. Missing","raw_affiliation_strings":[]}],"fwci":1.25,"has_fulltext":true,"cited_by_count":12,"citation_normalized_percentile":{"value":0.91,"is_in_top_1_percent":false,"is_in_top_10_percent":true},"cited_by_percentile_year":{"min":90,"max":92},"biblio":{"volume":"1","issue":"2","first_page":"3","last_page":"4"},"is_retracted":false,"is_paratext":false,"primary_topic":{"id":"https://openalex.org/T1","display_name":"Testing","score":0.9,"subfield":{"id":"https://openalex.org/subfields/1712","display_name":"Software"},"field":{"id":"https://openalex.org/fields/17","display_name":"Computer Science"},"domain":{"id":"https://openalex.org/domains/3","display_name":"Physical Sciences"}},"topics":[{"id":"https://openalex.org/T1","display_name":"Testing","score":0.9,"subfield":{"id":"https://openalex.org/subfields/1712","display_name":"Software"},"field":{"id":"https://openalex.org/fields/17","display_name":"Computer Science"},"domain":{"id":"https://openalex.org/domains/3","display_name":"Physical Sciences"}}],"keywords":[{"id":"https://openalex.org/keywords/testing","display_name":"Testing","score":0.5}],"sustainable_development_goals":[{"id":"https://metadata.un.org/sdg/4","display_name":"Quality Education","score":0.4}],"funders":[{"id":"https://openalex.org/F1","display_name":"Example Fund"}],"awards":[{"id":"https://openalex.org/G1","display_name":"Grant","funder_award_id":"7","funder_id":"https://openalex.org/F1","funder_display_name":"Example Fund"}],"referenced_works_count":1,"referenced_works":["https://openalex.org/W2"],"abstract_inverted_index":{"Every":[0],"byte":[1,4],"is":[2],"a":[3]},"counts_by_year":[{"year":2025,"cited_by_count":5}],"updated_date":"2026-01-10T08:15:30.123456","created_date":"2024-05-06"}"#,
            "\n",
            r#"{"id":"https://openalex.org/W2","title":null,"authorships":[{"author":{"id":"https://openalex.org/A2","display_name":"A. Older"}}],"cited_by_count":3,"updated_date":"2026-01-10"}"#,
            "\n",
        ),
    ),
    (
        "authors.jsonl",
        concat!(
            r#"{"id":"https://openalex.org/A1","orcid":"https://orcid.org/0000-0002-1825-0097","display_name":"Ada Example","display_name_alternatives":["A. Example"],"works_count":2,"cited_by_count":15,"summary_stats":{"2yr_mean_citedness":0.5,"h_index":1,"i10_index":1},"affiliations":[{"institution":{"id":"https://openalex.org/I1","display_name":"Example University","country_code":"GB","type":"education"},"years":[2024,2023]}],"last_known_institutions":[{"id":"https://openalex.org/I1","display_name":"Example University","country_code":"GB","type":"education"}],"counts_by_year":[{"year":2025,"works_count":1,"cited_by_count":5}],"updated_date":"2026-01-10T00:00:00","created_date":"2020-01-01"}"#,
            "\n",
        ),
    ),
    (
        "sources.jsonl",
        concat!(
            r#"{"id":"https://openalex.org/S1","issn_l":"1234-5679","issn":["1234-5679"],"display_name":"Journal of Tests","host_organization":"https://openalex.org/P1","host_organization_name":"Test Press","works_count":1,"cited_by_count":12,"is_oa":true,"is_in_doaj":true,"apc_prices":[{"price":100,"currency":"USD"}],"apc_usd":100,"country_code":"GB","alternate_titles":["J. Tests"],"type":"journal","updated_date":"2026-01-10"}"#,
            "\n",
        ),
    ),
    (
        "institutions.jsonl",
        concat!(
            r#"{"id":"https://openalex.org/I1","ror":"https://ror.org/013meh722","display_name":"Example University","country_code":"GB","type":"education","lineage":["https://openalex.org/I1"],"display_name_acronyms":["EU"],"works_count":1,"cited_by_count":12,"geo":{"city":"Cambridge","country_code":"GB","country":"United Kingdom","latitude":52.2,"longitude":0.12},"updated_date":"2026-01-10"}"#,
            "\n",
        ),
    ),
    (
        "publishers.jsonl",
        concat!(
            r#"{"id":"https://openalex.org/P1","display_name":"Test Press","hierarchy_level":0,"country_codes":["GB"],"works_count":1,"cited_by_count":12,"updated_date":"2026-01-10"}"#,
            "\n",
        ),
    ),
    (
        "funders.jsonl",
        concat!(
            r#"{"id":"https://openalex.org/F1","display_name":"Example Fund","country_code":"GB","description":"Funds examples","works_count":1,"cited_by_count":12,"updated_date":"2026-01-10"}"#,
            "\n",
        ),
    ),
    (
        "topics.jsonl",
        concat!(
            r#"{"id":"https://openalex.org/T1","display_name":"Testing","description":"Work on tests.","keywords":["Testing"],"subfield":{"id":"https://openalex.org/subfields/1712","display_name":"Software"},"field":{"id":"https://openalex.org/fields/17","display_name":"Computer Science"},"domain":{"id":"https://openalex.org/domains/3","display_name":"Physical Sciences"},"works_count":1,"cited_by_count":12,"updated_date":"2026-01-10"}"#,
            "\n",
        ),
    ),
    (
        "subfields.jsonl",
        concat!(
            r#"{"id":"https://openalex.org/subfields/1712","display_name":"Software","field":{"id":"https://openalex.org/fields/17","display_name":"Computer Science"},"domain":{"id":"https://openalex.org/domains/3","display_name":"Physical Sciences"},"works_count":1,"cited_by_count":12,"updated_date":"2026-01-10"}"#,
            "\n",
        ),
    ),
    (
        "fields.jsonl",
        concat!(
            r#"{"id":"https://openalex.org/fields/17","display_name":"Computer Science","domain":{"id":"https://openalex.org/domains/3","display_name":"Physical Sciences"},"works_count":1,"cited_by_count":12,"updated_date":"2026-01-10"}"#,
            "\n",
        ),
    ),
    (
        "domains.jsonl",
        concat!(
            r#"{"id":"https://openalex.org/domains/3","display_name":"Physical Sciences","works_count":1,"cited_by_count":12,"updated_date":"2026-01-10"}"#,
            "\n",
        ),
    ),
    ("merged_ids/authors/2026-01-15.csv", "merge_date,id,merge_into_id\n2026-01-15,A2,A1\n"),
];

/// A pseudo-random number generator (splitmix64) with a fixed seed.
#[derive(Clone, Debug)]
pub struct SeededRng(pub u64);

impl SeededRng {
    /// Returns a number below `bound`, which is at least 1.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        (mixed % bound as u64) as usize
    }
}
