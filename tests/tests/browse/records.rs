//! Pages of records: members, references, counts by year, and values that look like HTML.

use pinakes_format::entity::{CATALOG, Entity};
use pinakes_tests::server::{Server, Snapshots};
use serde_json::Value;

use crate::browse::hostile_snapshots;
use crate::browse::html::{between, escaped, links, page, rows, unescaped};

/// Collects the references of a record: objects with `id` and `name`.
fn references(value: &Value, found: &mut Vec<(String, String)>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        Value::Object(members) => {
            if let (Some(Value::String(id)), Some(Value::String(name))) =
                (members.get("id"), members.get("name"))
                && id.starts_with("HX_")
                && !id.starts_with("HX_G")
            {
                found.push((id.clone(), name.clone()));
            }
            members.values().for_each(|member| references(member, found));
        }
        _ => {}
    }
}

#[test]
fn a_page_of_every_entity_names_its_members_and_links_its_references() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    for facts in CATALOG.iter().filter(|facts| facts.has_single) {
        let list = connection.get(&format!("/{}?per_page=10", facts.route)).json();
        for item in list["results"].as_array().unwrap() {
            let id = item["id"].to_string().replace('"', "");
            let record = connection.get(&format!("/{}/{id}", facts.route)).json();
            let html = page(&mut connection, &format!("/browse/{}/{id}", facts.route), 200);
            let shown = between(&html, "<p class=\"kicker\">", "</p>");
            assert_eq!(shown, format!("{} <code>{id}</code>", facts.label));
            let json = format!("/{}/{id}", facts.route);
            assert!(links(&html).contains(&json), "{id}");
            assert!(html.contains(&format!("$SERVER</span>{json}\"</code>")), "{id}");
            let main = between(&html, "<main", "</main>");
            let hrefs = links(main);
            let mut expected = Vec::new();
            // The record itself is not a reference.
            record.as_object().unwrap().values().for_each(|of| references(of, &mut expected));
            for (id, name) in expected.iter().take(10) {
                let letter = id.as_bytes()[3];
                let of = CATALOG.iter().find(|facts| facts.letter == Some(letter)).unwrap();
                let href = format!("/browse/{}/{id}", of.route);
                // A name without a record leads to lists at most.
                let has_record = connection.get(&format!("/{}/{id}", of.route)).status == 200;
                assert_eq!(hrefs.contains(&href), has_record, "{json}: {name} {href}");
            }
            for member in ["outputs_count", "cited_by_count"] {
                if let Some(count) = record[member].as_u64().filter(|count| *count < 1_000) {
                    assert!(
                        main.contains(&format!("<strong>{count}</strong>")),
                        "{json}: {member}"
                    );
                }
            }
            if record["counts_by_year"].as_array().is_some_and(|years| !years.is_empty()) {
                assert!(main.contains("role=\"img\"") && main.contains("<rect x="), "{json}");
                let year = record["counts_by_year"][0]["year"].as_i64().unwrap();
                assert!(main.contains(&format!("<th scope=\"row\">{year}</th>")), "{json}");
            }
        }
    }
    server.end(&[]);
}

#[test]
fn the_beginnings_of_lists_are_those_of_the_lists() {
    let snapshots = hostile_snapshots();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let html = page(&mut connection, "/browse/outputs/HX_W3", 200);
    let references =
        between(&html, "<section class=\"beginning\" aria-label=\"References\">", "</section>");
    assert_eq!(rows(references), ["/browse/outputs/HX_W1", "/browse/outputs/HX_W2"]);
    let html = page(&mut connection, "/browse/outputs/HX_W2", 200);
    let citing =
        between(&html, "<section class=\"beginning\" aria-label=\"Cited by\">", "</section>");
    assert_eq!(rows(citing), ["/browse/outputs/HX_W1", "/browse/outputs/HX_W3"]);
    let list = "/browse/outputs?filter=references:HX_W2";
    assert!(links(&html).contains(&list.to_owned()), "{html}");
    assert_eq!(rows(&page(&mut connection, list, 200)), rows(citing));
    let html = page(&mut connection, "/browse/authors/HX_A1", 200);
    assert!(html.contains("aria-label=\"Outputs\""), "{html}");
    assert!(!html.contains("<dd>no</dd>"), "what a record is not says nothing");
    server.end(&[]);
}

#[test]
fn texts_that_look_like_html_stay_texts() {
    let snapshots = hostile_snapshots();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    for path in [
        "/browse/outputs/HX_W3",
        "/browse/outputs",
        "/browse/outputs?search=alert",
        "/browse/search?query=alert",
        "/browse/search?query=%3Cscript%3Ealert(1)%3C/script%3E",
        "/browse/outputs?search=%22%3E%3Cscript%3E",
        "/browse/outputs?filter=keywords:%22%22%22%3E%3Csvg%20onload%3Dalert(5)%3E%22",
        "/browse/outputs?filter=authors.id:HX_A3",
        "/browse/outputs?with.authors.id=%22%3E%3Cscript%3E&with.year.from=1",
        "/browse/outputs?with.funders.id=%3Cimg%20src=x%3E",
        "/browse/outputs?filter=type:%22%3Cscript%3E,nothing:1%22",
        "/browse/search?query=zzqq%20%22%3Cscript%3E%22",
    ] {
        page(&mut connection, path, 200);
    }
    for path in [
        "/browse/outputs?%3Cscript%3E=%3Cscript%3E",
        "/browse/outputs?filter=%3Cscript%3E:1",
        "/browse/outputs?sort=%22%3E%3Cimg%20src=x%3E",
        "/browse/outputs?groups=%3Cscript%3E",
        "/browse/outputs?with.authors.id=a&with.authors.id=b",
        "/browse/outputs/%3Cscript%3E",
    ] {
        page(&mut connection, path, 400);
    }
    page(&mut connection, "/browse/outputs/HX_W%3Cscript%3E", 404);
    page(&mut connection, "/browse/%3Cscript%3Ealert(1)%3C/script%3E", 404);
    let html = page(&mut connection, "/browse/outputs/HX_W3", 200);
    // Emphasis without attributes is the one markup of names that is kept.
    let name = between(&html, "<h1>", "</h1>");
    assert!(
        name.starts_with("&lt;script&gt;alert(1)&lt;/script&gt; of <i>E. coli</i> &quot;&#39;"),
        "{name}"
    );
    let author = escaped("<img src=x onerror=alert(2)>");
    // The author has no record, and a list.
    let list = "href=\"/browse/outputs?filter=authors.id:HX_A3\"";
    assert!(html.contains(&author) && html.contains(list), "{html}");
    assert!(!html.contains("/browse/authors/HX_A3"), "{html}");
    let shown = unescaped(&html);
    for text in
        ["javascript:alert(4)", "</dd><script>alert(3)</script>", "\"><svg onload=alert(5)>"]
    {
        assert!(shown.contains(text), "{text}");
    }
    server.end(&[]);
}

#[test]
fn a_merged_id_leads_to_its_page_and_an_unknown_one_to_none() {
    let snapshots = hostile_snapshots();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let merged = connection.get("/browse/authors/HX_A2?x=1");
    assert_eq!(
        (merged.status, merged.header("location")),
        (301, Some("/browse/authors/HX_A1?x=1"))
    );
    for (path, message) in [
        ("/browse/authors/HX_A99", "Author with ID HX_A99 not found"),
        ("/browse/authors/HX_W1", "Author with ID HX_W1 not found"),
        ("/browse/fields/zz", "Field with ID zz not found"),
        ("/browse/nothing", "Cannot GET /browse/nothing"),
        ("/browse/nothing.css", "Cannot GET /browse/nothing.css"),
        ("/browse/outputs/HX_W1/x/y/z", "Cannot GET /browse/outputs/HX_W1/x/y/z"),
    ] {
        let html = page(&mut connection, path, 404);
        assert!(html.contains(message) && html.contains("<h1>Not Found</h1>"), "{path}: {html}");
    }
    let html = page(&mut connection, "/browse/authors/A1", 400);
    assert!(html.contains("Only HX_ prefixed IDs are allowed"), "{html}");
    let html = page(&mut connection, "/browse/outputs?filter=yaer:2020", 400);
    assert!(html.contains("did you mean <code>year</code>?"), "{html}");
    // Programs that write get the error of the interface.
    let refused = connection.request("POST", "/browse/outputs", &["Content-Length: 0"]);
    assert_eq!((refused.status, refused.header("content-type")), (405, Some("application/json")));
    server.end(&[]);
}

#[test]
fn the_taxonomy_has_every_domain_field_and_subfield() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let html = page(&mut connection, "/browse/taxonomy", 200);
    let hrefs = links(between(&html, "<main", "</main>"));
    for entity in [Entity::Domain, Entity::Field, Entity::Subfield] {
        let route = entity.facts().route;
        let list = connection.get(&format!("/{route}?per_page=100")).json();
        let records = list["results"].as_array().unwrap();
        assert!(!records.is_empty());
        for record in records {
            let href = format!("/browse/{route}/{}", record["id"]);
            let is_below = entity == Entity::Domain || !record["domain"].is_null();
            assert!(!is_below || hrefs.contains(&href), "{href}");
        }
    }
    server.end(&[]);
}
