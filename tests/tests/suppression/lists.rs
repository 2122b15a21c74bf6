//! Tests of suppression lists of the server: effect on replies, changed lists, and invalid lists.

use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

use pinakes_tests::{TINY_DUMP, write_files};

use crate::suppression::serve_with_list;
use crate::suppression::write_list;
use pinakes_tests::client::{Connection, REPLY_TIMEOUT};
use pinakes_tests::graphql::data;
use pinakes_tests::server::{Server, Snapshots, command};

fn tiny() -> Snapshots {
    let dump = tempfile::tempdir().unwrap();
    write_files(dump.path(), TINY_DUMP);
    Snapshots::from_inputs(&[dump.path().to_path_buf()])
}

/// Waits until a target has a status.
#[track_caller]
fn await_status(connection: &mut Connection, target: &str, status: u16) {
    let begun = Instant::now();
    while connection.get(target).status != status {
        assert!(begun.elapsed() < REPLY_TIMEOUT, "{target} does not become {status}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_suppressed_record_is_found_on_no_route_and_named_by_no_record() {
    let (snapshots, own) = (tiny(), tempfile::tempdir().unwrap());
    // The list names an id merged into the record, and an unresolved reference.
    let ids = ["A2 # the letter of 2026-02-03", "HX_A404"].map(str::to_owned);
    let server = serve_with_list(&snapshots, &write_list(own.path(), &ids));
    let mut connection = server.connect();
    let mut check = |target: &str, status: u16, expected: &str| {
        let found = connection.get(target);
        assert_eq!((found.status, found.text()), (status, expected), "{target}");
    };
    let absent = |id: &str| {
        format!(
            r#"{{"statusCode":404,"error":"Not Found","message":"Author with ID {id} not found"}}"#
        )
    };
    check("/authors/HX_A5", 404, &absent("HX_A5"));
    // The ids remain in references; the reply is that to an id that nothing refers to.
    for id in ["HX_A1", "HX_A2", "HX_A404"] {
        check(&format!("/authors/{id}"), 404, &absent(id));
        let nothing = r#"{"statusCode":404,"error":"Not Found","message":"Nothing with identifier ID found"}"#;
        check(&format!("/resolve/{id}"), 404, &nothing.replace("ID", id));
        check(&format!("/autocomplete?query={id}"), 200, r#"{"meta":{"count":0},"results":[]}"#);
    }
    // A copy of an ORCID iD stays in outputs.
    let found = connection.get("/autocomplete?query=0000-0002-1825-0097");
    let lists = ["/outputs?filter=authors.orcid:0000-0002-1825-0097"];
    assert_eq!(found.json()["meta"]["lists"], serde_json::json!(lists));
    // The name as printed is shown with the name alone.
    let printed = connection.get("/openalex/works/W1").json();
    assert_eq!(printed["authorships"][0]["raw_author_name"], serde_json::Value::Null, "{printed}");
    let mut check = |target: &str, status: u16, expected: &str| {
        let found = connection.get(target);
        assert_eq!((found.status, found.text()), (status, expected), "{target}");
    };
    let empty = r#"{"meta":{"count":0,"page":1,"per_page":25},"results":[]}"#;
    for target in [
        "/authors",
        "/authors?sort=name:desc",
        "/authors?filter=id:HX_A1",
        "/authors?search=ada",
        "/outputs?filter=authors.name.search:ada",
        "/outputs?filter=authors.name.search:nemo",
    ] {
        check(target, 200, empty);
    }
    let hint = "`authors.name` compares the whole value; `authors.name.search` finds words of it";
    let with_hint = empty.replace("25}", &format!(r#"25,"hint":"{hint}"}}"#));
    for target in [
        "/outputs?filter=authors.name:ada%20example",
        "/outputs?filter=authors.name:nemo%20missing",
    ] {
        check(target, 200, &with_hint);
    }
    for target in ["/autocomplete?query=a", "/autocomplete/authors?query=ada%20ex"] {
        check(target, 200, r#"{"meta":{"count":0},"results":[]}"#);
    }
    let mut names = |target: &str| -> Vec<[String; 2]> {
        let output = connection.get(target).json();
        let output = output.get("results").map_or(&output, |results| &results[0]);
        let authors = output["authors"].as_array().unwrap();
        authors
            .iter()
            .map(|author| [author["id"].to_string(), author["name"].to_string()])
            .collect()
    };
    let placeholders = ["HX_A1", "HX_A404"].map(|id| [format!("\"{id}\""), "null".to_owned()]);
    assert_eq!(names("/outputs/HX_W1"), placeholders);
    assert_eq!(names("/outputs?filter=authors.id:HX_A2,authors.id:HX_A404"), placeholders);
    let question = "{ author(id: \"HX_A1\") { name } outputs(filter: \"id:HX_W1\") { results { \
                    authors { id name author { name } } } } }";
    let expected = serde_json::json!({
        "author": null,
        "outputs": { "results": [{ "authors": [
            { "id": "HX_A1", "name": null, "author": null },
            { "id": "HX_A404", "name": null, "author": null },
        ] }] },
    });
    assert_eq!(data(&mut connection, question), expected);
    let index = connection.get("/").json();
    assert_eq!((&index["counts"]["authors"], &index["suppressed"]), (&0.into(), &1.into()));
    let log = server.end(&[]);
    assert!(log.contains("records=1 unknown_ids=0"), "{log}");
    assert!(
        !log.contains("HX_A1 ") && !log.contains("Ada"),
        "the log names a suppressed record:\n{log}"
    );
}

#[test]
fn a_changed_suppression_list_applies_at_once_and_changes_every_etag() {
    let (snapshots, own) = (tiny(), tempfile::tempdir().unwrap());
    let list = write_list(own.path(), &[]);
    let server = serve_with_list(&snapshots, &list);
    let plain = Server::serve(&snapshots);
    let mut connection = server.connect();
    let tag = |connection: &mut Connection, target: &str| {
        connection.get(target).header("etag").unwrap().to_owned()
    };
    // An empty list changes no ETag.
    let before = tag(&mut connection, "/outputs");
    assert_eq!(before, tag(&mut plain.connect(), "/outputs"));
    let put = |text: &str| {
        let fresh = own.path().join("fresh");
        fs::write(&fresh, text).unwrap();
        fs::rename(&fresh, &list).unwrap();
    };
    put("HX_A1\n");
    await_status(&mut connection, "/authors/HX_A1", 404);
    let if_before = format!("If-None-Match: {before}");
    let fresh = connection.request("GET", "/outputs", &[&if_before]);
    assert_eq!(fresh.status, 200, "{fresh:?}");
    let after = fresh.header("etag").unwrap();
    assert_ne!(after, before);
    let if_after = format!("If-None-Match: {after}");
    assert_eq!(connection.request("GET", "/outputs", &[&if_after]).status, 304);
    assert_eq!(fresh.header("x-snapshot-id"), connection.get("/").header("x-snapshot-id"));
    // Overwrite the file in place, as an editor does.
    fs::write(&list, "HX_W1\n").unwrap();
    server.send_hangup();
    await_status(&mut connection, "/outputs/HX_W1", 404);
    assert_eq!(connection.get("/authors/HX_A1").status, 200);
    for bad in ["HX_W1\nAda Example\n", ""] {
        if bad.is_empty() {
            fs::remove_file(&list).unwrap();
        } else {
            put(bad);
        }
        let reason = if bad.is_empty() { "No such file" } else { "line 2: `Ada Example` is no id" };
        server.await_log(&["ERROR", reason, "keeping the previous list", "ids=1"]);
        assert_eq!(connection.get("/outputs/HX_W1").status, 404);
    }
    // The list also applies to the next snapshot.
    let dump = tempfile::tempdir().unwrap();
    let without_topics = TINY_DUMP.into_iter().filter(|(name, _)| !name.starts_with("funders"));
    write_files(dump.path(), without_topics);
    snapshots.add(&[dump.path().to_path_buf()]);
    await_status(&mut connection, "/funders/HX_F1", 404);
    assert_eq!(connection.get("/outputs/HX_W1").status, 404);
    put("\n");
    await_status(&mut connection, "/outputs/HX_W1", 200);
    server.end(&["keeping the previous list"]);
}

#[test]
fn the_server_rejects_a_bad_suppression_list_at_start() {
    let (snapshots, own) = (tiny(), tempfile::tempdir().unwrap());
    let check = |list: &Path, expected: &str| {
        let [option, suppress] = ["--snapshots", "--suppress"].map(std::ffi::OsStr::new);
        let args = [option, snapshots.path().as_os_str(), suppress, list.as_os_str()];
        let output = command(&args).output().unwrap();
        let errors =
            String::from_utf8_lossy(&output.stderr).replace(list.to_str().unwrap(), "LIST");
        assert_eq!((output.status.code(), errors.as_str()), (Some(2), expected));
        assert!(output.stdout.is_empty());
    };
    let list = write_list(own.path(), &["HX_A1".to_owned(), "HX_A".to_owned()]);
    check(
        &list,
        "error: suppression list `LIST`, line 2: `HX_A` is no id; write one a line, as `HX_W12`, `W12`, \
         `https://openalex.org/W12` or `fields/17`, and what else there is to say after a `#`\n",
    );
    check(
        &own.path().join("none"),
        "error: suppression list `LIST`: No such file or directory (os error 2)\n",
    );
    check(own.path(), "error: suppression list `LIST` is no regular file\n");
}

#[test]
fn a_code_that_only_suppressed_records_have_in_one_list_is_read_from_another() {
    let location = |license: &str| serde_json::json!({ "license": license, "landing_page_url": "https://example.org" });
    let work = |id: u32, primary: &str, further: &[&str]| {
        let locations: Vec<_> =
            [&primary].into_iter().chain(further).map(|license| location(license)).collect();
        serde_json::json!({
            "id": (format!("https://openalex.org/W{id}")), "title": "A title", "display_name": "A title",
            "primary_location": (location(primary)), "locations": locations,
        })
    };
    // The suppressed work alone has the licence among its further places.
    let works = [work(1, "cc-by", &["mit"]), work(2, "mit", &["cc-by"])];
    let lines: String = works.iter().map(|work| format!("{work}\n")).collect();
    let dump = tempfile::tempdir().unwrap();
    write_files(dump.path(), [("works.jsonl", lines)]);
    let snapshots = Snapshots::from_inputs(&[dump.path().to_path_buf()]);
    let own = tempfile::tempdir().unwrap();
    let server = serve_with_list(&snapshots, &write_list(own.path(), &["W2".to_owned()]));
    let found = server.get("/outputs?group_by=venues.license");
    assert_eq!(found.status, 200, "{}", found.text());
    let groups = found.json()["group_by"].clone();
    let counted: Vec<_> = groups.as_array().unwrap().iter().collect();
    assert_eq!(counted.len(), 2, "{groups}");
    assert!(counted.iter().all(|group| group["count"] == 1), "{groups}");
    server.end(&[]);
}
