//! Keys of members that only some dumps have, and keys without an index, each by the values of a small dump.

use pinakes_tests::client::Connection;
use pinakes_tests::server::{Server, Snapshots, command};
use pinakes_tests::write_files;
use serde_json::{Value, json};

const ADA: &str = "https://orcid.org/0000-0002-1825-0097";
const BO: &str = "https://orcid.org/0000-0002-1694-233X";

fn lines() -> [(&'static str, Vec<Value>); 4] {
    let location = |source: &str, kind: &str, url: &str| {
        json!({"landing_page_url": url, "is_oa": true, "raw_type": kind,
               "source": {"id": source, "display_name": source}})
    };
    let (first, second) = (location("S1", "journal-article", "https://a.example/1"), {
        location("S2", "Text", "https://b.example/1")
    });
    let works = vec![
        json!({
            "id": "W1", "title": "one", "doi": "https://doi.org/10.1234/A.1",
            "type_crossref": "journal-article", "fulltext_origin": "pdf",
            "has_content": {"pdf": true, "grobid_xml": false},
            "primary_location": first, "locations": [first, second], "best_oa_location": second,
            "authorships": [
                {"author": {"id": "A1", "display_name": "Ada", "orcid": ADA}, "raw_orcid": ADA,
                 "raw_affiliation_strings": ["Dept. of Physics, Paris", "CNRS"]},
                {"author": {"id": "A2", "display_name": "Bo"}, "raw_orcid": BO},
            ],
            "institution_assertions": [{"id": "I1", "display_name": "Institute"}],
            "datasets": ["https://openalex.org/W77"],
            "concepts": [{"id": "https://openalex.org/C1"}, {"id": "https://openalex.org/C2"}],
            "sustainable_development_goals": [
                {"id": "https://metadata.un.org/sdg/3", "display_name": "Health", "score": 0.75},
                {"id": "https://metadata.un.org/sdg/4", "display_name": "Education", "score": 0.25},
            ],
        }),
        json!({
            "id": "W2", "title": "two", "doi": "https://doi.org/10.12345/b",
            "has_content": {"pdf": false, "grobid_xml": false}, "fulltext_origin": "ngrams",
            "authorships": [
                {"author": {"id": "A2", "display_name": "Bo"},
                 "raw_affiliation_strings": ["dept of physics  paris"]},
            ],
            "institution_assertions": [], "datasets": [], "concepts": [],
        }),
        json!({"id": "W3", "title": "three", "biblio": {"volume": "7"}}),
    ];
    let authors = vec![
        json!({"id": "A1", "display_name": "Ada", "longest_name": "Ada Kíng Lovelace",
               "parsed_longest_name": {"first": "ada", "middle": "king", "last": "lovelace", "suffix": ""}}),
        json!({"id": "A2", "display_name": "Bo", "longest_name": "Bo van Dyke jr",
               "parsed_longest_name": {"first": "bo", "middle": "", "last": "van dyke", "suffix": "jr"}}),
        json!({"id": "A3", "display_name": "Cy", "longest_name": "Cy Lovelace"}),
    ];
    let concepts =
        json!([{"id": "https://openalex.org/C41008148"}, {"id": "https://openalex.org/C5"}]);
    let sources = vec![
        json!({"id": "S1", "display_name": "Journal", "type": "journal", "x_concepts": concepts}),
        json!({"id": "S2", "display_name": "Archive", "type": "repository"}),
    ];
    let institutions = vec![
        json!({"id": "I1", "display_name": "Institute", "ror": "https://ror.org/013meh722", "type": "education",
               "country_code": "FR", "lineage": ["I1", "I2"], "is_super_system": false, "x_concepts": concepts}),
        json!({"id": "I2", "display_name": "State", "is_super_system": true}),
    ];
    [("works", works), ("authors", authors), ("sources", sources), ("institutions", institutions)]
}

fn serve() -> (Snapshots, Server) {
    let dump = tempfile::tempdir().unwrap();
    let text = |lines: Vec<Value>| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    let files = lines().into_iter().map(|(list, of)| (format!("{list}.jsonl"), text(of)));
    write_files(dump.path(), files);
    let snapshots = Snapshots::from_inputs(&[dump.path().to_path_buf()]);
    let server = Server::serve(&snapshots);
    (snapshots, server)
}

/// The short ids of a list.
#[track_caller]
fn ids(connection: &mut Connection, target: &str) -> Vec<String> {
    let reply = connection.get(target);
    assert_eq!(reply.status, 200, "{target}: {}", reply.text());
    let page = reply.json();
    let results = page["results"].as_array().unwrap().iter();
    results
        .map(|record| record["id"].as_str().unwrap().rsplit('/').next().unwrap().to_owned())
        .collect()
}

#[test]
fn values_of_some_dumps_and_values_without_an_index_filter() {
    let (_snapshots, server) = serve();
    let mut connection = server.connect();
    let mut check = |list: &str, filter: &str, expected: &[&str]| {
        let filter = filter.replace(' ', "%20");
        let target = format!("/openalex/{list}?filter={filter}&select=id");
        assert_eq!(ids(&mut connection, &target), expected, "{target}");
    };
    for (filter, expected) in [
        ("has_content.pdf:true", &["W1"][..]),
        ("has_content.pdf:false", &["W2"]),
        ("has_content.grobid_xml:null", &["W3"]),
        ("type_crossref:Journal-Article", &["W1"]),
        ("fulltext_origin:pdf|ngrams", &["W1", "W2"]),
        ("concepts_count:2", &["W1"]),
        ("concepts_count:<1", &["W2"]),
        ("datasets:W77", &["W1"]),
        ("datasets:https://openalex.org/works/w77", &["W1"]),
        ("datasets:!null", &["W1"]),
        ("institution_assertions.id:I1", &["W1"]),
        ("institution_assertions.ror:013meh722", &["W1"]),
        ("institution_assertions.type:education", &["W1"]),
        ("institution_assertions.country_code:fr", &["W1"]),
        ("institution_assertions.lineage:I2", &["W1"]),
        ("authorships.raw_orcid:0000-0002-1825-0097", &["W1"]),
        ("authorships.raw_orcid:https://orcid.org/0000-0002-1694-233x", &["W1"]),
        ("authorships.raw_orcid:null", &["W2", "W3"]),
        ("primary_location.raw_type:journal-article", &["W1"]),
        ("locations.raw_type:text", &["W1"]),
        ("best_oa_location.raw_type:text", &["W1"]),
        ("primary_location.landing_page_url:https://a.example/1", &["W1"]),
        ("primary_location.landing_page_url:https://b.example/1", &[]),
        ("locations.landing_page_url:https://b.example/1", &["W1"]),
        ("best_oa_location.landing_page_url:https://b.example/1", &["W1"]),
        ("raw_affiliation_strings:Dept. of Physics, Paris", &["W1", "W2"]),
        ("raw_affiliation_strings:!CNRS", &["W2", "W3"]),
        ("sustainable_development_goals.score:>0.5", &["W1"]),
        ("sustainable_development_goals.score:0.25", &["W1"]),
        ("sustainable_development_goals.score:>0.75", &[]),
        ("doi_starts_with:10.1234", &["W1", "W2"]),
        ("doi_starts_with:10.1234/", &["W1"]),
        ("doi_starts_with:https://doi.org/10.1234/a", &["W1"]),
        ("doi_starts_with:null", &["W3"]),
        ("doi_starts_with:!10.1234/", &["W2", "W3"]),
        // A search and a filter without an index.
        ("doi_starts_with:10.1234,title.search:two", &["W2"]),
        ("doi_starts_with:10.1234,has_content.pdf:false", &["W2"]),
    ] {
        check("works", filter, expected);
    }
    for (filter, expected) in [
        ("parsed_longest_name.first:Ada", &["A1"][..]),
        ("parsed_longest_name.middle:King", &["A1"]),
        ("parsed_longest_name.last:lovelace", &["A1"]),
        ("parsed_longest_name.last:Van Dyke", &["A2"]),
        ("parsed_longest_name.suffix:jr", &["A2"]),
        ("parsed_longest_name.suffix:null", &["A1", "A3"]),
    ] {
        check("authors", filter, expected);
    }
    check("sources", "x_concepts.id:C41008148", &["S1"]);
    check("sources", "x_concepts.id:https://openalex.org/C5", &["S1"]);
    check("institutions", "x_concepts.id:!C5", &["I2"]);
    check("institutions", "is_super_system:true", &["I2"]);
    server.end(&[]);
}

#[test]
fn values_without_an_order_sort() {
    let (_snapshots, server) = serve();
    let mut connection = server.connect();
    for (sort, expected) in [
        ("concepts_count:desc", ["W1", "W2", "W3"]),
        ("concepts_count", ["W2", "W1", "W3"]),
        ("authors_count:asc,display_name:desc", ["W2", "W1", "W3"]),
        ("topics_count:desc,display_name", ["W1", "W3", "W2"]),
        ("sustainable_development_goals.score:desc", ["W1", "W2", "W3"]),
    ] {
        let target = format!("/openalex/works?sort={sort}&select=id");
        assert_eq!(ids(&mut connection, &target), expected, "{target}");
    }
    let pages = (1..=3).flat_map(|page| {
        ids(
            &mut connection,
            &format!("/openalex/works?sort=authors_count:desc&per_page=1&page={page}"),
        )
    });
    assert!(pages.eq(["W1", "W2", "W3"]));
    // The interface has no such sort, and so has no sort of two such keys, or of a sample.
    for target in [
        "/outputs?sort=authors.count",
        "/openalex/works?sort=authors_count,topics_count",
        "/openalex/works?sort=authors_count:desc,authors_count",
        "/openalex/works?sort=authors_count&sample=2",
        "/openalex/works?sort=authors_count,relevance_score:desc&search=one",
    ] {
        assert_eq!(server.connect().get(target).status, 400, "{target}");
    }
    server.end(&[]);
}

#[test]
fn texts_numbers_and_records_themselves_group() {
    let (_snapshots, server) = serve();
    let mut connection = server.connect();
    let mut check = |list: &str, key: &str, expected: &[(&str, u64)]| {
        let target = format!("/openalex/{list}?group_by={key}");
        let reply = connection.get(&target);
        assert_eq!(reply.status, 200, "{target}: {}", reply.text());
        let page = reply.json();
        let groups = page["group_by"].as_array().unwrap().iter();
        let groups: Vec<(&str, u64)> = groups
            .map(|group| (group["key"].as_str().unwrap(), group["count"].as_u64().unwrap()))
            .collect();
        assert_eq!(groups, expected, "{target}");
    };
    check("works", "biblio.volume", &[("7", 1)]);
    check("works", "raw_affiliation_strings", &[("Dept. of Physics, Paris", 2), ("CNRS", 1)]);
    check("works", "primary_location.landing_page_url", &[("https://a.example/1", 1)]);
    check("works", "datasets", &[("https://openalex.org/W77", 1)]);
    check("works", "authorships.raw_orcid", &[(BO, 1), (ADA, 1)]);
    check("works", "has_content.pdf", &[("false", 1), ("true", 1)]);
    check("works", "locations.raw_type", &[("Text", 1), ("journal-article", 1)]);
    check("works", "concepts_count", &[("0", 1), ("2", 1)]);
    let own = ["https://openalex.org/W1", "https://openalex.org/W2", "https://openalex.org/W3"];
    check("works", "ids.openalex", &own.map(|id| (id, 1)));
    check("authors", "parsed_longest_name.last", &[("Lovelace", 1), ("van dyke", 1)]);
    let concepts = [("https://openalex.org/C5", 1), ("https://openalex.org/C41008148", 1)];
    check("sources", "x_concepts.id", &concepts);
    check("institutions", "is_super_system", &[("false", 1), ("true", 1)]);
    server.end(&[]);
}

#[test]
fn members_of_some_dumps_are_shown_as_their_lines_have_them() {
    let (_snapshots, server) = serve();
    let mut connection = server.connect();
    let mut record = |target: &str| -> Value {
        let reply = connection.get(target);
        assert_eq!(reply.status, 200, "{target}: {}", reply.text());
        reply.json()
    };
    let [(_, works), (_, authors), _, (_, institutions)] = lines();
    let work = record("/openalex/works/W1");
    for member in ["type_crossref", "fulltext_origin", "has_content", "datasets"] {
        assert_eq!(work[member], works[0][member], "{member}");
    }
    assert_eq!(work["institution_assertions"][0]["ror"], "https://ror.org/013meh722");
    assert_eq!(work["authorships"][0]["raw_orcid"], ADA);
    assert_eq!(work["authorships"][1]["raw_orcid"], BO);
    assert_eq!(work["locations"][1]["raw_type"], "Text");
    assert_eq!(work["sustainable_development_goals"][0]["score"], 0.75);
    assert!(record("/openalex/works/W3").get("has_content").is_none());
    for author in &authors[..2] {
        let id = author["id"].as_str().unwrap();
        let shown = record(&format!("/openalex/authors/{id}"));
        assert_eq!(shown["parsed_longest_name"], author["parsed_longest_name"], "{id}");
    }
    assert!(record("/openalex/authors/A3").get("parsed_longest_name").is_none());
    let shown = record("/openalex/institutions/I2");
    assert_eq!(shown["is_super_system"], institutions[1]["is_super_system"]);
    server.end(&[]);
}

#[test]
fn a_filter_without_an_index_is_refused_where_too_many_records_would_be_read() {
    let dump = tempfile::tempdir().unwrap();
    let work = |number: u64| {
        let kind = if number.is_multiple_of(100) { "book" } else { "article" };
        format!(
            "{{\"id\":\"W{number}\",\"title\":\"t\",\"type\":\"{kind}\",\"doi\":\"10.1/{number}\"}}\n"
        )
    };
    write_files(dump.path(), [("works.jsonl", (1..=1_000).map(work).collect::<String>())]);
    let snapshots = Snapshots::from_inputs(&[dump.path().to_path_buf()]);
    let mut hurried = command(&["--snapshots".as_ref(), snapshots.path().as_os_str()]);
    // A record is read in 3 µs.
    let server = Server::start(hurried.env("PINAKES_LIST_CPU", "1"));
    let refused = server.connect().get("/outputs?filter=doi_starts_with:10.1/5");
    assert_eq!(refused.status, 400, "{}", refused.text());
    let reason = "is in no index, so the 1000 records that the rest of `filter` leaves would be read; narrow them to \
                  at most 333";
    assert!(refused.text().contains(reason), "{}", refused.text());
    let refused = server.connect().get("/openalex/works?sort=authors_count:desc");
    assert_eq!(refused.status, 400, "{}", refused.text());
    let reason = "is in no order, so the 1000 records of the list would be read; narrow `filter` to at most 333";
    assert!(refused.text().contains(reason), "{}", refused.text());
    let kept = "/openalex/works?filter=type:book&sort=authors_count:desc&select=id&per_page=200";
    assert_eq!(ids(&mut server.connect(), kept).len(), 10);
    server.end(&[]);
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let found = ids(&mut connection, "/outputs?filter=doi_starts_with:10.1/5,type:book&select=id");
    assert_eq!(found, ["HX_W500"]);
    // The next page of the same filter.
    let target = "/outputs?filter=doi_starts_with:10.1/9&select=id&per_page=10&sort=id";
    let pages: Vec<Vec<String>> =
        (1..=12).map(|page| ids(&mut connection, &format!("{target}&page={page}"))).collect();
    let expected = (1..=1_000u64).filter(|number| number.to_string().starts_with('9'));
    let expected: Vec<String> = expected.map(|number| format!("HX_W{number}")).collect();
    assert_eq!(pages.concat(), expected);
    server.end(&[]);
}
