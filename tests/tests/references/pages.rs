//! Pages of outputs have what reference managers and crawlers read: tags, JSON-LD, links and a formatted reference.

use pinakes_tests::server::{Server, Snapshots};
use serde_json::{Value, json};

use crate::references::{FORMATS, HOSTILE_TEXTS, hostile_snapshots};

/// The text between two marks of a page.
#[track_caller]
fn between<'h>(html: &'h str, from: &str, to: &str) -> &'h str {
    let rest = html.split_once(from).unwrap_or_else(|| panic!("no {from} in {html}")).1;
    rest.split_once(to).unwrap().0
}

fn json_ld(html: &str) -> Value {
    let text = between(html, "<script type=\"application/ld+json\">", "</script>");
    assert!(!text.contains(['<', '>']), "{text}");
    serde_json::from_str(text).unwrap()
}

#[test]
fn a_page_has_tags_json_ld_and_the_formatted_reference() {
    let snapshots = hostile_snapshots();
    let server = Server::serve(&snapshots);
    let reply = server.get("/browse/outputs/HX_W1");
    let html = reply.text();
    for (name, content) in [
        ("title", "On testing"),
        ("author", "Example, Ada"),
        ("author_orcid", "https://orcid.org/0000-0002-1825-0097"),
        ("author", "Missing, Nemo"),
        ("publication_date", "2024/05/06"),
        ("journal_title", "Journal of Tests"),
        ("volume", "1"),
        ("issue", "2"),
        ("firstpage", "3"),
        ("lastpage", "4"),
        ("doi", "10.5555/1"),
        ("language", "en"),
        ("keywords", "Testing"),
    ] {
        let tag = format!("<meta name=\"citation_{name}\" content=\"{content}\">");
        assert!(html.contains(&tag), "no {tag} in {html}");
    }
    let journal = json!({ "@type": "Periodical", "name": "Journal of Tests" });
    let volume = json!({ "@type": "PublicationVolume", "volumeNumber": "1", "isPartOf": journal });
    let expected = json!({
        "@context": "https://schema.org", "@type": "ScholarlyArticle", "@id": "https://doi.org/10.5555/1",
        "name": "On testing", "datePublished": "2024-05-06",
        "author": [
            {
                "@type": "Person", "name": "Ada Example", "familyName": "Example", "givenName": "Ada",
                "@id": "https://orcid.org/0000-0002-1825-0097",
            },
            { "@type": "Person", "name": "Nemo Missing", "familyName": "Missing", "givenName": "Nemo" },
        ],
        "isPartOf": { "@type": "PublicationIssue", "issueNumber": "2", "isPartOf": volume },
        "pageStart": "3", "pageEnd": "4", "url": "https://doi.org/10.5555/1", "inLanguage": "en",
        "identifier": { "@type": "PropertyValue", "propertyID": "DOI", "value": "10.5555/1" },
        "abstract": "Every byte is a byte", "keywords": ["Testing"],
    });
    assert_eq!(json_ld(html), expected);
    let reference = between(html, "<p id=\"reference\">", "</p>");
    assert_eq!(
        reference,
        "Example, A., &amp; Missing, N. (2024). On <i>testing</i>. <i>Journal of Tests, 1</i>(2), 3–4. \
         https://doi.org/10.5555/1"
    );
    for (format, ..) in FORMATS {
        assert!(html.contains(&format!("<a href=\"/outputs/HX_W1?format={format}\">")));
    }
    server.end(&[]);
}

#[test]
fn the_header_links_to_identifiers_files_and_formats() {
    let snapshots = hostile_snapshots();
    let server = Server::serve(&snapshots);
    let id = snapshots.open().manifest().id.clone();
    for prefix in [String::new(), format!("/@{id}")] {
        let reply = server.get(&format!("{prefix}/browse/outputs/HX_W1"));
        let mut expected = vec![
            "<https://doi.org/10.5555/1>; rel=\"cite-as\"".to_owned(),
            "<https://schema.org/ScholarlyArticle>; rel=\"type\"".to_owned(),
            "<https://orcid.org/0000-0002-1825-0097>; rel=\"author\"".to_owned(),
            "<https://example.org/1>; rel=\"item\"".to_owned(),
            format!("<{prefix}/outputs/HX_W1>; rel=\"describedby\"; type=\"application/json\""),
        ];
        expected.extend(FORMATS.map(|(format, _, media_type)| {
            let path = format!("{prefix}/outputs/HX_W1?format={format}");
            format!("<{path}>; rel=\"describedby\"; type=\"{media_type}\"")
        }));
        let links = reply.header("link").unwrap();
        assert_eq!(links.split(", ").collect::<Vec<_>>(), expected);
        // Each link to this server answers in the type that the link names.
        for link in links.split(", ").filter(|link| link.starts_with("</")) {
            let path = between(link, "<", ">");
            let found = server.get(path);
            assert_eq!(
                found.header("content-type"),
                Some(between(link, "type=\"", "\"")),
                "{path}"
            );
        }
    }
    assert_eq!(server.get("/browse/authors/HX_A1").header("link"), None);
    server.end(&[]);
}

#[test]
fn hostile_texts_end_no_script_and_no_header() {
    let snapshots = hostile_snapshots();
    let server = Server::serve(&snapshots);
    for (at, text) in HOSTILE_TEXTS.iter().enumerate() {
        let reply = server.get(&format!("/browse/outputs/HX_W{}", 100 + at));
        assert_eq!(reply.status, 200);
        let html = reply.text();
        assert!(!html.contains("<script>"), "{html}");
        assert_eq!(html.matches("<script").count(), 2, "{html}");
        let found = json_ld(html)["name"].as_str().unwrap().to_owned();
        assert_eq!(found, crate::references::plain(text));
        let links = reply.header("link").unwrap();
        assert!(links.bytes().all(|byte| (0x20..0x7f).contains(&byte)), "{links}");
        assert!(links.starts_with("<https://doi.org/10.5555/a_b%"), "{links}");
    }
    let html = server.get("/browse/outputs/HX_W200").text().to_owned();
    assert_eq!(html.matches("\"citation_author\"").count(), 100);
    let reference = between(&html, "<p id=\"reference\">", "</p>");
    assert!(reference.starts_with("Berg0, A. 0., Berg1, A. 1., "), "{reference}");
    assert!(reference.contains("Berg18, A. 1., … Berg2999, A. 2. (2021). "), "{reference}");
    server.end(&[]);
}

#[test]
fn outputs_of_every_type_have_a_formatted_reference() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let groups = connection.get("/outputs?group_by=type&per_page=100").json();
    for group in groups["group_by"].as_array().unwrap().iter().filter_map(|of| of["key"].as_str()) {
        let list = connection.get(&format!("/outputs?filter=type:{group}&per_page=10")).json();
        let record = &list["results"][0];
        let page = connection.get(&format!("/browse/outputs/{}", record["id"].as_str().unwrap()));
        let reference = between(page.text(), "<p id=\"reference\">", "</p>");
        let year = record["year"].as_i64().map_or("n.d.".to_owned(), |year| year.to_string());
        assert!(reference.contains(&format!("({year}). ")), "{group}: {reference}");
        assert!(!reference.contains("  ") && !reference.contains(".."), "{group}: {reference}");
    }
    server.end(&[]);
}

#[test]
fn an_author_and_a_source_without_a_record_have_their_printed_names() {
    let dump = tempfile::tempdir().unwrap();
    let work = json!({
        "id": "https://openalex.org/W7", "title": "On <i>tests</i>", "type": "book-chapter",
        "is_retracted": true, "updated_date": "2026-01-10",
        "authorships": [{ "author": null, "raw_author_name": "Nobody Known" }],
        "primary_location": { "is_oa": false, "source": null, "raw_source_name": "The World Summit" },
    });
    std::fs::create_dir(dump.path().join("works")).unwrap();
    std::fs::write(dump.path().join("works/part.jsonl"), format!("{work}\n")).unwrap();
    let server = Server::serve(&Snapshots::from_inputs(&[dump.path().to_owned()]));
    let html = server.get("/browse/outputs/HX_W7").text().to_owned();
    for tag in [
        "<meta name=\"citation_author\" content=\"Known, Nobody\">",
        "<meta name=\"citation_inbook_title\" content=\"The World Summit\">",
    ] {
        assert!(html.contains(tag), "{html}");
    }
    let ris = server.get("/outputs/HX_W7?format=ris").text().to_owned();
    let lines = "AU  - Known, Nobody\r\nTI  - On tests\r\nT2  - The World Summit\r\n";
    assert!(ris.contains(lines) && ris.contains("N1  - Retracted\r\n"), "{ris}");
    let listed = server.get("/outputs?format=ris").text().to_owned();
    assert_eq!(listed, ris);
    let work = server.get("/openalex/works/W7").json();
    assert_eq!(work["primary_location"]["raw_source_name"], "The World Summit");
    server.end(&[]);
}
