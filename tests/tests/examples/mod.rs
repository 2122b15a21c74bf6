//! The examples of `tests/examples`, run as a reader runs them, against a server of the sample.
//!
//! `.ci/run` installs what they need: Python packages into `target/examples`, npm packages into
//! `target/examples-node`, and R. An example whose tools are missing is skipped.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::OnceLock,
};

use pinakes_tests::server::{Server, Snapshots};
use pinakes_tests::skip;
use serde_json::Value;

fn example(name: &str) -> PathBuf {
    pinakes_tests::root().join("tests/examples").join(name).canonicalize().unwrap()
}

/// A server of the sample, and its address for the examples.
struct Served {
    server: Server,
    snapshots: Snapshots,
}

impl Served {
    fn new() -> Served {
        let snapshots = Snapshots::from_sample();
        Served { server: Server::serve(&snapshots), snapshots }
    }

    fn address(&self) -> String {
        format!("http://{}", self.server.address())
    }

    fn get(&self, target: &str) -> Value {
        let reply = self.server.get(target);
        assert_eq!(reply.status, 200, "{target}");
        serde_json::from_slice(&reply.body).unwrap()
    }
}

/// Finds a program in the directory of `.ci/run`, or on the path if that does what the example needs.
fn find(installed: &str, program: &str, check: &[&str], test: &str) -> Option<PathBuf> {
    let installed = pinakes_tests::root().join("target").join(installed).join(program);
    for program in [installed, PathBuf::from(program)] {
        let mut command = Command::new(&program);
        let outcome = command.args(check).stdout(Stdio::null()).stderr(Stdio::null()).status();
        if outcome.is_ok_and(|status| status.success()) {
            return Some(program);
        }
    }
    skip(test, format!("no {program} passes {check:?}; .ci/run installs it"));
    None
}

#[test]
fn the_library_answers_what_its_documentation_asks() {
    let snapshots = Snapshots::from_sample();
    let asked = Command::new(pinakes_tests::program("examples/ask"))
        .arg(snapshots.path().join("current"))
        .output()
        .unwrap();
    let (text, errors) = (String::from_utf8(asked.stdout).unwrap(), asked.stderr);
    assert!(asked.status.success(), "{}", String::from_utf8_lossy(&errors));
    let lines: Vec<&str> = text.lines().collect();
    let served = Served::new();
    let filtered = served.get("/outputs?filter=open_access.is_oa:true,year:>=2015");
    assert_eq!(lines[0], format!("{} outputs", filtered["meta"]["count"]));
    let found = served.get("/outputs?search=deep+learning");
    let found = found["results"].as_array().unwrap();
    assert!(!found.is_empty());
    for (line, record) in lines[1..].iter().zip(found.iter().take(3)) {
        let line: Value = serde_json::from_str(line).unwrap();
        assert_eq!(line["id"], record["id"]);
    }
    assert!(lines.last().unwrap().starts_with("in row "), "{text}");
    served.server.end(&[]);
}

#[test]
fn a_site_of_plain_files_answers_in_chromium() {
    let test = "a_site_of_plain_files_answers_in_chromium";
    let Some(files) = pinakes_tests::site::files(test) else { return };
    let modules = pinakes_tests::root().join("target/browser/node_modules");
    let chromium = Path::new("/usr/bin/chromium");
    if !modules.join("playwright-core").exists() || !chromium.exists() {
        return skip(test, "chromium or playwright-core is missing; .ci/run installs them");
    }
    let served = Served::new();
    let tree = tempfile::tempdir().unwrap();
    run(Command::new(pinakes_tests::program("pinakes-compiler"))
        .args(["publish", "--quiet", "--to"])
        .args([tree.path(), served.snapshots.path(), Path::new("--site"), &files]));
    let printed = run(Command::new("node")
        .arg(example("javascript_site.cjs"))
        .args([tree.path(), chromium])
        .env("NODE_PATH", modules));
    let found = served.get("/outputs?search=nucleic+acids");
    assert_line(&printed, &format!("record {}", found["results"][0]["name"].as_str().unwrap()));
    let articles = served.get("/outputs?filter=type:article")["meta"]["count"].clone();
    for name in ["articles", "counted", "offline"] {
        assert_line(&printed, &format!("{name} {articles}"));
    }
    assert!(printed.contains("\ncited @article{"), "{printed}");
    served.server.end(&[]);
}

fn python(test: &str) -> Option<PathBuf> {
    find(
        "examples/bin",
        "python",
        &["-c", "import duckdb, httpx, openapi_python_client, pandas"],
        test,
    )
}

/// Runs a command and returns what it prints.
#[track_caller]
fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let (printed, errors) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}\n{printed}{errors}");
    printed.into_owned()
}

/// Tests that an example printed this line.
#[track_caller]
fn assert_line(printed: &str, line: &str) {
    assert!(printed.lines().any(|printed| printed == line), "no line `{line}` in\n{printed}");
}

#[test]
fn the_python_example_reads_the_works_of_an_institution() {
    let Some(python) = python("the_python_example_…") else { return };
    let served = Served::new();
    let groups = served.get("/outputs?group_by=authors.affiliations.id")["group_by"].take();
    let named = |group: &&Value| !group["key"].is_null();
    let most = groups.as_array().unwrap().iter().find(named).unwrap();
    let found = served.get("/autocomplete/institutions?query=massachusetts+inst");
    for (given, [id, name]) in [
        (None, [&most["key"], &most["key_display_name"]]),
        (Some("massachusetts inst"), ["id", "name"].map(|of| &found["results"][0][of])),
    ] {
        let [id, name] = [id, name].map(|text| text.as_str().unwrap());
        let mut command = Command::new(&python);
        command.arg(example("python_httpx.py")).env("PINAKES", served.address());
        let printed = run(command.envs(given.map(|name| ("INSTITUTION", name))));
        let statistics =
            served.get(&format!("/statistics/outputs?filter=authors.affiliations.id:{id}"));
        assert_line(&printed, &format!("{id} {name}"));
        let (works, h_index) = (&statistics["count"], &statistics["h_index"]);
        assert_line(&printed, &format!("works {works} h-index {h_index}"));
    }
    served.server.end(&[]);
}

#[test]
fn the_pyalex_example_reads_a_mirror() {
    let test = "the_pyalex_example_reads_a_mirror";
    let Some(python) = find("openalex/bin", "python", &["-c", "import pyalex"], test) else {
        return;
    };
    let served = Served::new();
    let printed =
        run(Command::new(python).arg(example("python_pyalex.py")).env("PINAKES", served.address()));
    let works = served.get("/outputs?filter=year:2015,is_oa:true")["meta"]["count"].clone();
    for name in ["works", "read"] {
        assert_line(&printed, &format!("{name} {works}"));
    }
    let first =
        served.get("/outputs?filter=has_doi:true,has_abstract:true&sort=cited_by_count:desc");
    let id = first["results"][0]["id"].as_str().unwrap();
    let record = served.get(&format!("/outputs/{id}"));
    assert_line(&printed, &format!("title {}", record["title"].as_str().unwrap()));
    assert_line(&printed, &format!("abstract {}", record["abstract"].as_str().unwrap()));
    let citing = served.get(&format!("/outputs?filter=references:{id}"))["meta"]["count"].clone();
    assert_line(&printed, &format!("cited by {citing}"));
    let authors = served.get("/authors?filter=name.search:smith")["meta"]["count"].clone();
    assert_line(&printed, &format!("authors {authors}"));
    served.server.end(&[]);
}

#[test]
fn the_reconciler_example_finds_the_records_of_titles() {
    let test = "the_reconciler_example_finds_the_records_of_titles";
    let check = ["-c", "import pandas, numpy, reconciler; numpy.NaN"];
    let Some(python) = find("reconciler/bin", "python", &check, test) else { return };
    let served = Served::new();
    let mut command = Command::new(python);
    let printed =
        run(command.arg(example("python_reconciler.py")).env("PINAKES", served.address()));
    let record = served.get("/outputs/HX_W2900000096");
    assert_line(&printed, &format!("HX_W2900000096 | {}", record["name"].as_str().unwrap()));
    assert_line(&printed, "sure 2 of 3");
    let cited = record["cited_by_count"].to_string();
    let is_row = |line: &str| line.starts_with("HX_W2900000096 ") && line.contains(&cited);
    assert!(printed.lines().any(is_row), "no {cited} in\n{printed}");
    served.server.end(&[]);
}

#[test]
fn the_mcp_example_calls_the_tools_of_a_language_model() {
    let test = "the_mcp_example_calls_the_tools_of_a_language_model";
    let check = ["-c", "from mcp import Client"];
    let Some(python) = find("mcp/bin", "python", &check, test) else { return };
    let served = Served::new();
    let mut command = Command::new(python);
    let printed = run(command.arg(example("python_mcp.py")).env("PINAKES", served.address()));
    assert_line(&printed, "tools cite cited_by count get match references search statistics");
    let first = served.get("/outputs?per_page=10")["results"][0].clone();
    let [id, name] = ["id", "name"].map(|of| first[of].as_str().unwrap());
    let citing = served.get(&format!("/outputs?filter=references:{id}"))["meta"]["count"].clone();
    for line in [
        format!("{id} | {name}"),
        format!("cited by {citing}"),
        format!("year {}", first["year"]),
        format!("sure True {id}"),
        "refused True True".to_owned(),
    ] {
        assert_line(&printed, &line);
    }
    served.server.end(&[]);
}

#[test]
fn examples_run_on_a_snapshot_of_works_alone() {
    let test = "examples_run_on_a_snapshot_of_works_alone";
    let Some(httpx) = python(test) else { return };
    let check = ["-c", "from mcp import Client"];
    let Some(mcp) = find("mcp/bin", "python", &check, test) else { return };
    let dump = tempfile::tempdir().unwrap();
    let work = |id: u64, more: Value| {
        let mut work = serde_json::json!({ "id": format!("https://openalex.org/W{id}"), "publication_year": 2020 });
        work.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        work.to_string() + "\n"
    };
    let institution =
        serde_json::json!({ "id": "https://openalex.org/I1", "display_name": "A university" });
    let named = serde_json::json!({
        "title": "A work of one university", "authorships": [{ "institutions": [institution] }],
    });
    // The most cited work has no title, no author and no DOI.
    let lines = work(1, serde_json::json!({ "cited_by_count": 9 })) + &work(2, named);
    pinakes_tests::write_files(dump.path(), [("works/part_000.jsonl", lines)]);
    let snapshots = Snapshots::from_inputs(&[dump.path().join("works")]);
    let server = Server::serve(&snapshots);
    let address = format!("http://{}", server.address());
    for (python, name, line) in [
        (httpx, "python_httpx.py", "HX_I1 A university"),
        (mcp, "python_mcp.py", "refused True True"),
    ] {
        let printed = run(Command::new(python).arg(example(name)).env("PINAKES", &address));
        assert_line(&printed, line);
    }
    server.end(&[]);
}

#[test]
fn the_r_example_counts_open_access_by_year() {
    let check = ["-e", "library(httr2); library(jsonlite)"];
    let Some(r) = find("no", "Rscript", &check, "the_r_example_…") else { return };
    let served = Served::new();
    let mut command = Command::new(r);
    let printed = run(command.arg(example("r_httr2.R")).env("PINAKES", served.address()));
    let page = served.get("/outputs?filter=year:%3E2000&sort=cited_by_count:desc&per_page=10");
    assert_line(&printed, &format!("works {}", page["meta"]["count"]));
    assert!(printed.contains(page["results"][0]["id"].as_str().unwrap()), "{printed}");
    served.server.end(&[]);
}

#[test]
fn the_bibliometrix_example_has_the_columns_of_the_package() {
    let Some(r) = find("no", "Rscript", &["-e", "1"], "the_bibliometrix_example_…") else {
        return;
    };
    let served = Served::new();
    let mut command = Command::new(r);
    let printed = run(command.arg(example("r_bibliometrix.R")).env("PINAKES", served.address()));
    let sums = served.get("/statistics/outputs?filter=type:article,year:%3E2000");
    assert_line(&printed, &format!("works {} ", sums["count"]));
    assert_line(&printed, &format!("citations {} ", sums["of"]["cited_by_count"]["sum"]));
    assert_line(&printed, "columns AU TI SO DT DE ID AB CR PY TC DI UT DB ");
    served.server.end(&[]);
}

fn node(test: &str) -> Option<PathBuf> {
    find("no", "node", &["-e", "fetch"], test)
}

#[test]
fn the_javascript_example_lists_the_works_of_an_author() {
    let Some(node) = node("the_javascript_example_…") else { return };
    let served = Served::new();
    let mut command = Command::new(node);
    let printed =
        run(command.arg(example("javascript_fetch.mjs")).env("PINAKES", served.address()));
    let found = served.get("/autocomplete/authors?query=albert+ein");
    let author = found["results"][0]["id"].as_str().unwrap();
    let works = served.get(&format!("/outputs?filter=authors.id:{author}"));
    assert_line(&printed, &format!("works {}", works["meta"]["count"]));
    served.server.end(&[]);
}

/// Tests the most cited articles that the examples of generated clients print.
#[track_caller]
fn assert_articles(served: &Served, printed: &str) {
    let articles = "/outputs?filter=type:article,year:%3E2000&sort=cited_by_count:desc&per_page=10";
    let page = served.get(articles);
    for output in page["results"].as_array().unwrap() {
        let text = |member: &str| output[member].to_string().trim_matches('"').to_owned();
        let line = format!("{} {} {} ", text("id"), text("year"), text("cited_by_count"));
        assert!(printed.contains(&line), "no `{line}` in\n{printed}");
    }
    assert_line(printed, &format!("works {}", page["meta"]["count"]));
    assert_line(printed, "is no filter key of /outputs; did you mean `year`?");
}

#[test]
fn the_generated_python_client_reads_lists_records_and_errors() {
    let Some(python) = python("the_generated_python_client_…") else { return };
    let served = Served::new();
    let directory = tempfile::tempdir().unwrap();
    let client = directory.path().join("client");
    let url = format!("{}/openapi.json", served.address());
    let generate = ["-m", "openapi_python_client", "generate", "--url", &url, "--output-path"];
    run(Command::new(&python).args(generate).arg(&client));
    let mut command = Command::new(&python);
    command.arg(example("python_openapi.py")).env("PYTHONPATH", &client);
    let printed = run(command.env("PINAKES", served.address()));
    assert_articles(&served, &printed);
    served.server.end(&[]);
}

#[test]
fn the_generated_typescript_client_passes_the_compiler_and_reads_lists() {
    let test = "the_generated_typescript_client_passes_the_compiler_and_reads_lists";
    let Some(node) = node(test) else { return };
    let modules = pinakes_tests::root().join("target/examples-node/node_modules");
    if !["openapi-typescript", "openapi-fetch", "typescript"]
        .iter()
        .all(|name| modules.join(name).exists())
    {
        return skip(test, "no openapi-typescript; .ci/run installs it into target/examples-node");
    }
    let served = Served::new();
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path();
    std::os::unix::fs::symlink(modules.canonicalize().unwrap(), folder.join("node_modules"))
        .unwrap();
    fs::write(folder.join("package.json"), r#"{"type": "module"}"#).unwrap();
    fs::copy(example("typescript_openapi.ts"), folder.join("example.ts")).unwrap();
    let tool = |path: &str, args: &[&OsStr]| {
        let mut command = Command::new(&node);
        run(command.arg(modules.join(path).canonicalize().unwrap()).args(args).current_dir(folder))
    };
    let url = format!("{}/openapi.json", served.address());
    let words = |text: &'static str| text.split(' ').map(OsStr::new).collect::<Vec<_>>();
    let schema = [OsStr::new(&url), "--output".as_ref(), "schema.ts".as_ref()];
    tool("openapi-typescript/bin/cli.js", &schema);
    let options = "--module nodenext --target es2022 --strict --skipLibCheck example.ts";
    tool("typescript/bin/tsc", &words(options));
    let mut command = Command::new(&node);
    command.arg("example.js").current_dir(folder).env("PINAKES", served.address());
    assert_articles(&served, &run(&mut command));
    served.server.end(&[]);
}

/// The snapshot of the sample as Parquet tables; `None` if the compiler writes none.
fn tables() -> Option<&'static Path> {
    static TABLES: OnceLock<Option<(tempfile::TempDir, PathBuf)>> = OnceLock::new();
    let tables = TABLES.get_or_init(|| {
        let help = pinakes_tests::compiler(&["export".as_ref(), "--help".as_ref()]);
        if !String::from_utf8_lossy(&help.stdout).contains("parquet") {
            return None;
        }
        let snapshots = Snapshots::from_sample();
        let directory = tempfile::tempdir().unwrap();
        let tables = directory.path().join("tables");
        pinakes_tests::export(&snapshots.path().join("current"), &tables, &["--format", "parquet"]);
        Some((directory, tables))
    });
    tables.as_ref().map(|(_, tables)| tables.as_path())
}

#[test]
fn the_duckdb_example_asks_an_exported_table() {
    let test = "the_duckdb_example_asks_an_exported_table";
    let Some(python) = python(test) else { return };
    let Some(tables) = tables() else {
        return skip(test, "this compiler exports no Parquet");
    };
    let served = Served::new();
    let printed = run(Command::new(python).arg(example("python_duckdb.py")).env("TABLES", tables));
    let works = served.get("/outputs?filter=is_oa:true")["meta"]["count"].clone();
    assert_line(&printed, &format!("open works {works}"));
    served.server.end(&[]);
}
