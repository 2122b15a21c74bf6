//! Which records and members an export has, compared with the lists of the interface.

use std::fs;

use pinakes_tests::client::Connection;
use pinakes_tests::server::Server;
use serde_json::Value;

use crate::export::Setup;

/// Gets the ids of a whole list.
fn listed(connection: &mut Connection, target: &str) -> Vec<Value> {
    let mut ids = Vec::new();
    for page in 1.. {
        let found = connection.get(&format!("{target}&per_page=100&page={page}")).json();
        let results = found["results"].as_array().unwrap();
        if results.is_empty() {
            break;
        }
        ids.extend(results.iter().map(|result| result["id"].clone()));
    }
    ids
}

#[test]
fn an_export_has_the_records_of_the_list_in_its_order() {
    let setup = Setup::from_sample();
    let server = Server::serve_one(&setup.snapshot);
    let mut connection = server.connect();
    let mut check = |options: &str, target: &str, limit: usize| {
        let mut expected = listed(&mut connection, target);
        expected.truncate(limit);
        assert!(!expected.is_empty(), "{target}");
        let lines = setup.lines(&format!("{options} --select id"));
        let found: Vec<Value> = lines.into_iter().map(|line| line["id"].clone()).collect();
        assert_eq!(found, expected, "{options}");
    };
    check("outputs", "/outputs?", usize::MAX);
    check("outputs --where is_oa:true", "/outputs?filter=is_oa:true", usize::MAX);
    check("outputs --where outputs:is_oa:true", "/outputs?filter=is_oa:true", usize::MAX);
    check(
        "outputs --where is_oa:true --where year:>2010",
        "/outputs?filter=is_oa:true,year:>2010",
        usize::MAX,
    );
    check("outputs --sort year:desc,name", "/outputs?sort=year:desc,name", usize::MAX);
    check(
        "outputs --where is_oa:true --sort year --limit 7",
        "/outputs?filter=is_oa:true&sort=year",
        7,
    );
    check("works --limit 3", "/outputs?", 3);
    check("fields", "/fields?", usize::MAX);
    check("outputs --sample 20 --seed 5", "/outputs?sample=20&seed=5", usize::MAX);
    check("outputs --one-of-versions", "/outputs?versions=one", usize::MAX);
    check(
        "outputs --one-of-versions --where type:article|preprint --sort year",
        "/outputs?versions=one&filter=type:article|preprint&sort=year",
        usize::MAX,
    );
    server.end(&[]);
}

#[test]
fn a_filter_of_an_entity_leaves_the_other_entities_whole() {
    let setup = Setup::from_sample();
    let directory = setup.export("all", "--where outputs:year:<0 --compress none");
    let count = |name: &str| fs::read_to_string(directory.join(name)).unwrap().lines().count();
    assert_eq!(count("outputs.jsonl"), 0);
    assert!(count("authors.jsonl") > 0);
    // A list of merged ids belongs to all records of an entity.
    assert!(directory.join("merged_ids/authors.csv").exists());
    assert!(!directory.join("merged_ids/outputs.csv").exists());
}

#[test]
fn selected_members_have_the_values_and_the_order_of_whole_records() {
    let setup = Setup::from_sample();
    let whole = setup.lines("outputs");
    let selected =
        setup.text("outputs --select year,ids.pmid,id,authors.affiliations.id,authors.id");
    assert_eq!(selected.lines().count(), whole.len());
    for (line, whole) in selected.lines().zip(whole) {
        let authors = whole["authors"].as_array().map(|authors| {
            let select = |author: &Value| {
                let ids = author["affiliations"].as_array().map(|list| {
                    list.iter().map(|at| serde_json::json!({"id": at["id"]})).collect::<Vec<_>>()
                });
                serde_json::json!({"id": author["id"], "affiliations": ids})
            };
            authors.iter().map(select).collect::<Vec<_>>()
        });
        let expected = serde_json::json!({
            "id": whole["id"], "year": whole["year"], "ids": {"pmid": whole["ids"]["pmid"]},
            "authors": authors,
        });
        assert_eq!(line, expected.to_string());
    }
}

#[test]
fn csv_has_a_header_and_joins_the_items_of_lists() {
    let setup = Setup::from_sample();
    let text = setup.text("outputs --select id,authors.id --format csv");
    let mut rows = text.split("\r\n");
    assert_eq!(rows.next(), Some("id,authors.id"));
    for line in setup.lines("outputs") {
        let ids = line["authors"].as_array().into_iter().flatten();
        let ids: Vec<&str> = ids.map(|author| author["id"].as_str().unwrap_or("")).collect();
        let expected = format!("{},{}", line["id"].as_str().unwrap(), ids.join("; "));
        assert_eq!(rows.next(), Some(expected.as_str()));
    }
    assert_eq!((rows.next(), rows.next()), (Some(""), None));
    let whole = setup.text("outputs --format csv");
    assert!(whole.starts_with("id,doi,title,name,year,date,ids.mag,ids.pmid,"), "{whole:.80}");
}

#[test]
fn options_that_do_not_parse_or_fit_are_refused_with_reasons() {
    let setup = Setup::from_sample();
    let missing = setup.beside("missing");
    let check = |options: &str, says: &str| {
        let output = setup.run(&missing, options);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{options}: {errors}");
        assert!(errors.contains(says), "{options}: {errors}");
        assert!(!missing.exists(), "{options}");
    };
    check("outputs --where year:abc", "--where year:abc\n    `year:abc`: ");
    check("outputs --sort colour", "--sort colour\n    `colour`: ");
    check("outputs --select id,colour", "--select id,colour\n    `colour`: ");
    check(
        "authors --where outputs:year:1",
        "filters an entity that is not among the exported ones",
    );
    check("--sort year", "`--sort` and `--select` need one ENTITY");
    check("outputs authors --select id", "`--sort` and `--select` need one ENTITY");
    check("grants", "expected one of outputs, authors,");
    check("outputs --seed 4", "--sample");
    check("outputs --sample 10001", "10001");
    check("outputs --edges", "`--edges` needs `--format parquet`");
    check("authors --edges --format parquet", "`--edges` are those of outputs");
    check("outputs --format parquet --compress zst", "`--compress` is for text");
    check("outputs --format xml", "possible values: ndjson, csv, parquet, xlsx");
    check("authors --format ris", "references are of outputs");
    check("outputs --format csv --columns references --select id", "`--select` is of members");
    check("outputs --format ndjson --max-cell 9", "`--max-cell` need `--format csv`");
    check("outputs --format xlsx --bom", "`--bom` needs `--format csv`");
    check("authors --one-of-versions", "`--one-of-versions` is of outputs");
}

#[test]
fn the_end_of_a_name_tells_the_format_and_files_equal_the_streams_of_the_server() {
    let setup = Setup::from_sample();
    let server = Server::serve_one(&setup.snapshot);
    let mut connection = server.connect();
    let mut check = |name: &str, options: &str, target: &str| {
        let out = setup.beside(name);
        let output = setup.run(&out, options);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{name} {options}: {errors}");
        let expected = connection.get(target);
        assert_eq!(expected.status, 200, "{target}: {}", expected.text());
        assert!(fs::read(&out).unwrap() == expected.body, "{name} {options} differs from {target}");
    };
    check("o.bib", "outputs", "/outputs?format=bibtex");
    check("o.ris", "outputs --where year:>2000", "/outputs?filter=year:>2000&format=ris");
    check("o.json", "outputs --format csl-json --limit 9999", "/outputs?format=csl-json");
    check("none.ris", "outputs --where year:>2999", "/outputs?filter=year:>2999&format=ris");
    check(
        "review.csv",
        "outputs --columns references --bom --max-cell 80",
        "/outputs?format=csv&columns=references&bom=true&max_cell=80",
    );
    check("review.xlsx", "outputs --columns references", "/outputs?format=xlsx&columns=references");
    check(
        "names.xlsx",
        "authors --select id,name,cited_by_count",
        "/authors?select=id,name,cited_by_count&format=xlsx",
    );
    server.end(&[]);
    let lines = setup.export("o.ndjson.gz", "outputs");
    assert_eq!(fs::read(lines).unwrap()[..2], [0x1f, 0x8b]);
}

#[test]
fn a_name_of_another_format_than_is_asked_for_is_refused() {
    let setup = Setup::from_sample();
    for (name, options, says) in [
        ("o.csv", "outputs --format ndjson", "is of another format than `--format ndjson`"),
        ("o.csv.gz", "outputs --format parquet", "is of another format than `--format parquet`"),
        ("o.json", "outputs", "does not tell the format"),
        ("o.txt", "outputs", "does not tell the format; give `--format` too"),
    ] {
        let out = setup.beside(name);
        let output = setup.run(&out, options);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{name} {options}: {errors}");
        assert!(errors.contains(says), "{name} {options}: {errors}");
        assert!(!out.exists(), "{name}");
    }
}
