//! Streams hold the whole list: the concatenated pages, as JSON lines and as CSV.

use std::io::Cursor;

use calamine::{Reader, Xlsx};
use pinakes_oracle::{Cells, value_paths};
use pinakes_tests::client::{Connection, Response, decode};
use pinakes_tests::server::{Server, Snapshots};
use pinakes_tests::{real_sample, sample};
use serde_json::Value;

use crate::tables::{FREE, ROUTES, all_records, generated};

const CSV_TYPE: &str = "text/csv; charset=utf-8; header=present";
const NDJSON_TYPE: &str = "application/x-ndjson";

/// The reply with a stream, whose headers it checks.
#[track_caller]
fn stream(connection: &mut Connection, target: &str) -> Response {
    let response = connection.get(target);
    assert_eq!(response.status, 200, "{target}: {}", response.text());
    let is_csv = target.contains("format=csv");
    let media_type = if is_csv { CSV_TYPE } else { NDJSON_TYPE };
    assert_eq!(response.header("content-type"), Some(media_type), "{target}");
    let disposition = response.header("content-disposition").unwrap();
    let extension = if is_csv { ".csv\"" } else { ".ndjson\"" };
    assert!(disposition.starts_with("attachment; filename=\""), "{disposition}");
    assert!(disposition.ends_with(extension), "{disposition}");
    assert_eq!(response.header("content-length"), None, "{target}");
    assert_eq!(response.header("cache-control"), Some("public, no-cache"), "{target}");
    response
}

/// Compares both streams of a list with its pages.
#[track_caller]
fn check_list(connection: &mut Connection, target: &str) -> usize {
    let records = all_records(connection, target);
    let and = if target.contains('?') { '&' } else { '?' };
    let lines: String = records.iter().map(|record| format!("{record}\n")).collect();
    let ndjson = stream(connection, &format!("{target}{and}format=ndjson"));
    assert!(ndjson.text() == lines, "{target}: the lines differ from the pages");
    let csv = stream(connection, &format!("{target}{and}format=csv"));
    let (header, _) = csv.text().split_once("\r\n").unwrap();
    let columns: Vec<&str> = header.split(',').collect();
    let expected = Cells(&columns).table(&records);
    let mut rows = csv.text().split("\r\n").zip(expected.split("\r\n"));
    if let Some((found, expected)) = rows.find(|(found, expected)| found != expected) {
        panic!("{target}:\n{found}\nexpected\n{expected}");
    }
    assert_eq!(csv.text().len(), expected.len(), "{target}");
    // Every value has a column.
    let paths = value_paths(&records, &FREE);
    let missing: Vec<&String> =
        paths.iter().filter(|path| !columns.contains(&path.as_str())).collect();
    assert!(missing.is_empty(), "{target}: no columns {missing:?}");
    records.len()
}

/// The cells of the first sheet of a workbook.
fn sheet(workbook: &[u8]) -> Vec<Vec<String>> {
    let mut workbook: Xlsx<_> = Xlsx::new(Cursor::new(workbook)).unwrap();
    let sheet = workbook.worksheet_range_at(0).unwrap().unwrap();
    sheet.rows().map(|row| row.iter().map(ToString::to_string).collect()).collect()
}

#[test]
fn a_workbook_has_the_cells_of_the_table() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    for target in [
        "/outputs?select=id,title,year,authors.name&max_cell=40",
        "/outputs?columns=references",
        "/authors?filter=outputs_count:>3",
        "/outputs?group_by=year&of=cited_by_count",
        "/outputs?filter=year:2999",
    ] {
        let workbook = connection.get(&format!("{target}&format=xlsx"));
        assert_eq!(workbook.status, 200, "{target}: {}", workbook.text());
        let csv = connection.get(&format!("{target}&format=csv"));
        let rows = csv::ReaderBuilder::new().has_headers(false).from_reader(csv.text().as_bytes());
        let rows: Vec<Vec<String>> = rows
            .into_records()
            .map(|row| row.unwrap().iter().map(str::to_owned).collect())
            .collect();
        let found = sheet(&workbook.body);
        assert_eq!(found.len(), rows.len(), "{target}");
        for (found, row) in found.iter().zip(&rows) {
            assert_eq!(found[..], row[..found.len()], "{target}");
            assert!(row[found.len()..].iter().all(String::is_empty), "{target}: {row:?}");
        }
    }
}

const QUERIES: [&str; 7] = [
    "",
    "sort=cited_by_count:desc",
    "sort=name,id:desc",
    "select=id,name",
    "select=name",
    "sample=40&seed=3",
    "sample=1000&sort=cited_by_count&select=cited_by_count,id",
];

fn compare(inputs: &[std::path::PathBuf]) {
    let snapshots = Snapshots::from_inputs(inputs);
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let mut records = 0;
    for route in ROUTES {
        for query in QUERIES {
            let is_sorted = query.contains("sort") && route == "references/institution-types";
            let has_name = query.contains("name") && route == "references/institution-types";
            if !is_sorted && !has_name {
                records += check_list(&mut connection, &format!("/{route}?{query}"));
            }
        }
    }
    for query in [
        "/outputs?filter=type:article,year:>1950",
        "/outputs?filter=year:null",
        "/outputs?filter=type:!article&sort=cited_by_count:desc,year",
        "/outputs?search=a&select=authors,title,primary_topic.name",
        "/sources?filter=type:journal&select=apc_usd_by_year,apc_prices,is_core,oa_flip_year,is_oa",
        "/authors?filter=outputs_count:>1&sort=name:desc",
    ] {
        records += check_list(&mut connection, query);
    }
    assert!(records > 3_000, "{records}");
    server.end(&[]);
}

#[test]
fn streams_of_the_sample_equal_its_pages() {
    compare(&[sample()]);
}

#[test]
fn streams_of_real_records_equal_their_pages() {
    let Some(inputs) = real_sample("streams_of_real_records_equal_their_pages") else { return };
    compare(&inputs);
}

#[test]
fn long_streams_equal_their_pages() {
    let snapshots = generated(4_000);
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    for target in [
        "/outputs",
        "/outputs?filter=year:>2010&sort=title:desc",
        "/outputs?sample=2000&seed=9",
        "/authors?filter=cited_by_count:!0",
    ] {
        assert!(check_list(&mut connection, target) > 900, "{target}");
    }
    server.end(&[]);
}

#[test]
fn streams_of_linked_lists_equal_their_pages() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let cited = "/outputs/HX_W2900000160/citations";
    assert!(check_list(&mut connection, cited) > 0);
    check_list(&mut connection, &format!("{cited}?sort=date:desc&select=id,date"));
    check_list(&mut connection, "/outputs/HX_W2900000160/references?sample=3");
    let response = connection.get(&format!("{cited}?format=csv"));
    let name = "attachment; filename=\"HX_W2900000160-citations.csv\"";
    assert_eq!(response.header("content-disposition"), Some(name));
    assert_eq!(connection.get("/outputs/HX_W1/citations?format=csv").status, 404);
    server.end(&[]);
}

#[test]
fn a_table_has_exact_bytes() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let mut check = |target: &str, expected: &str| {
        assert_eq!(stream(&mut connection, target).text(), expected, "{target}");
    };
    check(
        "/outputs?filter=id:HX_W2900000096&select=id,year,authors.name,language&format=csv",
        "id,year,language.code,language.name,authors.name\r\n\
         HX_W2900000096,1953,en,English,James D. Watson; Francis Crick\r\n",
    );
    check(
        "/domains?sort=id&select=name,id&format=csv",
        "id,name\r\n1,Life Sciences\r\n2,Social Sciences\r\n3,Physical Sciences\r\n4,Health Sciences\r\n",
    );
    check(
        "/domains?sort=id:desc&select=name&format=ndjson",
        "{\"name\":\"Health Sciences\"}\n{\"name\":\"Physical Sciences\"}\n\
         {\"name\":\"Social Sciences\"}\n{\"name\":\"Life Sciences\"}\n",
    );
    check("/domains?filter=id:0&select=id&format=csv", "id\r\n");
    check("/domains?filter=id:0&format=ndjson", "");
    server.end(&[]);
}

#[test]
fn a_stream_is_coded_and_cached_as_a_page_is() {
    let snapshots = generated(1_000);
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    for format in ["ndjson", "csv"] {
        let target = format!("/outputs?format={format}");
        let plain = stream(&mut connection, &target);
        for coding in ["zstd", "br", "gzip"] {
            let accepted = format!("Accept-Encoding: {coding}");
            let coded = connection.request("GET", &target, &[&accepted]);
            assert_eq!(coded.header("content-encoding"), Some(coding));
            assert_eq!(coded.header("vary"), Some("Accept-Encoding"));
            assert!(decode(Some(coding), &coded.body) == plain.body, "{coding}");
            let again = connection.request("GET", &target, &[&accepted]);
            assert!(again.body == coded.body, "{coding} gives other bytes");
            let tag = format!("If-None-Match: {}", coded.header("etag").unwrap());
            let current = connection.request("GET", &target, &[&accepted, &tag]);
            assert_eq!((current.status, current.text()), (304, ""));
        }
        let head = connection.request("HEAD", &target, &[]);
        assert_eq!(head.status, 200);
        // HTTP frames a body of unknown length, and a HEAD has no body.
        let framed = |response: &Response| -> Vec<(String, String)> {
            let headers = response.headers_without_date().into_iter();
            headers.filter(|(name, _)| name != "transfer-encoding").collect()
        };
        assert_eq!(framed(&head), framed(&plain));
    }
    server.end(&[]);
}

#[test]
fn a_list_without_keys_is_streamed_too() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let types = all_records(&mut connection, "/references/institution-types");
    let first: &Value = &types[0];
    assert!(first["id"].is_number(), "{first}");
    assert!(check_list(&mut connection, "/references/institution-types") > 5);
    server.end(&[]);
}
