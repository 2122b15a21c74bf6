//! Single outputs in the formats of reference managers, by `Accept` and by `format`.

use pinakes_tests::client::Connection;
use pinakes_tests::server::{Server, Snapshots};

use crate::references::{FORMATS, hostile_snapshots};

const OUTPUT: &str = "/outputs/HX_W1";

#[test]
fn accept_and_format_choose_the_format_of_an_output() {
    let snapshots = hostile_snapshots();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let json = connection.get(OUTPUT);
    let mut tags = vec![json.header("etag").unwrap().to_owned()];
    assert_eq!(json.header("content-type"), Some("application/json"));
    assert_eq!(json.header("vary"), Some("Accept-Encoding, Accept"));
    assert_eq!(json.header("content-disposition"), None);
    for (format, extension, media_type) in FORMATS {
        let accept = format!("Accept: {media_type}, application/json;q=0.5");
        let reply = connection.request("GET", OUTPUT, &[&accept]);
        assert_eq!(reply.status, 200);
        assert_eq!(reply.header("content-type"), Some(media_type));
        assert_eq!(reply.header("vary"), Some("Accept-Encoding, Accept"));
        let disposition = format!("attachment; filename=\"HX_W1.{extension}\"");
        assert_eq!(reply.header("content-disposition"), Some(disposition.as_str()));
        let named = connection.get(&format!("{OUTPUT}?format={format}"));
        assert_eq!(named.headers_without_date(), reply.headers_without_date());
        assert_eq!(named.text(), reply.text());
        let tag = reply.header("etag").unwrap().to_owned();
        let head = connection.request("HEAD", OUTPUT, &[&accept]);
        assert_eq!(head.headers_without_date(), reply.headers_without_date());
        for known in &tags {
            let other = format!("If-None-Match: {known}");
            assert_eq!(connection.request("GET", OUTPUT, &[&accept, &other]).status, 200);
        }
        let own = format!("If-None-Match: {tag}");
        assert_eq!(connection.get(OUTPUT).status, 200);
        let current = connection.request("GET", OUTPUT, &[&accept, &own]);
        assert_eq!((current.status, current.header("vary")), (304, reply.header("vary")));
        assert_eq!(connection.request("GET", OUTPUT, &[&own]).status, 200, "JSON has another tag");
        tags.push(tag);
    }
    // The parameter counts before the header.
    let accept = [format!("Accept: {}", FORMATS[1].2)];
    let reply = connection.request("GET", "/outputs/HX_W1?format=bibtex", &[&accept[0]]);
    assert_eq!(reply.header("content-type"), Some(FORMATS[0].2));
    server.end(&[]);
}

#[track_caller]
fn body(connection: &mut Connection, target: &str) -> String {
    let reply = connection.get(target);
    assert_eq!(reply.status, 200, "{target}: {}", reply.text());
    reply.text().to_owned()
}

#[test]
fn an_output_is_the_reference_that_reference_managers_save() {
    let snapshots = hostile_snapshots();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let bibtex = "@article{example2024on,\n  author = {Example, Ada and Missing, Nemo},\n  \
        title = {On \\emph{testing}},\n  journal = {Journal of Tests},\n  year = {2024},\n  month = may,\n  \
        volume = {1},\n  number = {2},\n  pages = {3--4},\n  doi = {10.5555/1},\n  \
        url = {https://doi.org/10.5555/1},\n  language = {en},\n  abstract = {Every byte is a byte},\n  \
        keywords = {Testing},\n}\n\n";
    assert_eq!(body(&mut connection, "/outputs/HX_W1?format=bibtex"), bibtex);
    let ris = "TY  - JOUR\r\nID  - HX_W1\r\nAU  - Example, Ada\r\nAU  - Missing, Nemo\r\n\
        TI  - On testing\r\nT2  - Journal of Tests\r\nPY  - 2024\r\nDA  - 2024/05/06\r\nVL  - 1\r\n\
        IS  - 2\r\nSP  - 3\r\nEP  - 4\r\nDO  - 10.5555/1\r\nUR  - https://doi.org/10.5555/1\r\nLA  - en\r\n\
        AB  - Every byte is a byte\r\nKW  - Testing\r\nDB  - Pinakes snapshot {id}\r\nER  - \r\n\r\n";
    let id = connection.get("/ready").json()["snapshot_id"].as_str().unwrap().to_owned();
    let ris = ris.replace("{id}", &id);
    assert_eq!(body(&mut connection, "/outputs/HX_W1?format=ris"), ris);
    let csl = connection.get("/outputs/HX_W1?format=csl-json").json();
    let expected = serde_json::json!({
        "id": "HX_W1", "type": "article-journal", "title": "On <i>testing</i>",
        "container-title": "Journal of Tests", "volume": "1", "issue": "2", "page": "3-4", "DOI": "10.5555/1",
        "URL": "https://doi.org/10.5555/1", "language": "en", "abstract": "Every byte is a byte",
        "keyword": "Testing", "issued": { "date-parts": [[2024, 5, 6]] },
        "author": [{ "family": "Example", "given": "Ada" }, { "family": "Missing", "given": "Nemo" }],
    });
    assert_eq!(csl, expected);
    // Nothing but an identifier.
    let bare = body(&mut connection, "/outputs/HX_W400?format=bibtex");
    assert_eq!(bare, "@misc{anonymous,\n}\n\n");
    let many = body(&mut connection, "/outputs/HX_W200?format=ris");
    assert_eq!(many.matches("AU  - ").count(), 3_000);
    server.end(&[]);
}

#[test]
fn an_unknown_format_is_refused_and_other_entities_are_json() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let output = connection.get("/outputs?per_page=10").json()["results"][0]["id"].clone();
    let output = output.as_str().unwrap();
    for value in ["json", "", "csv", "BibTeX"] {
        let reply = connection.get(&format!("/outputs/{output}?format={value}"));
        assert_eq!(reply.status, 400, "{value}");
        let details = reply.json()["details"].clone();
        assert_eq!(details[0]["parameter"], "format");
        assert!(details[0]["reason"].as_str().unwrap().contains("`bibtex`, `ris` or `csl-json`"));
    }
    let author = connection.get("/authors?per_page=10").json()["results"][0]["id"].clone();
    let target = format!("/authors/{}", author.as_str().unwrap());
    let accept = format!("Accept: {}", FORMATS[0].2);
    let reply = connection.request("GET", &target, &[&accept]);
    assert_eq!(reply.header("content-type"), Some("application/json"));
    assert_eq!(reply.header("vary"), Some("Accept-Encoding"));
    // JSON weighs more.
    let accept = format!("Accept: application/json, {};q=0.5", FORMATS[0].2);
    let reply = connection.request("GET", &format!("/outputs/{output}"), &[&accept]);
    assert_eq!(reply.header("content-type"), Some("application/json"));
    server.end(&[]);
}
