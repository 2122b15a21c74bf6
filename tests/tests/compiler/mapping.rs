//! Members that the compiler derives from two places in a line.

use pinakes_format::entity::Entity;
use pinakes_format::record::members::View;
use pinakes_tests::write_files;
use serde_json::{Value, json};

use pinakes_tests::compiler_run::*;

#[test]
fn a_parent_publisher_gets_its_name_from_the_line_of_the_child() {
    let workspace = Workspace::new();
    let publishers = [
        r#"{"id":"P1","display_name":"Child","lineage":["P1","P9","P8"],
            "parent_publisher":{"id":"https://openalex.org/P9","display_name":"Parent"}}"#,
        r#"{"id":"P2","display_name":"By id","parent_publisher":"P9","lineage":["P9"]}"#,
        r#"{"id":"P3","display_name":"None","parent_publisher":[null]}"#,
        r#"{"id":"P4","display_name":"Bad","parent_publisher":"A5"}"#,
        r#"{"id":"P5","display_name":"Empty","parent_publisher":{}}"#,
        r#"{"id":"P6","display_name":"Blank","parent_publisher":" "}"#,
    ];
    let lines = publishers.map(|line| line.replace('\n', "") + "\n");
    write_files(&workspace.input(), [("publishers.jsonl", lines.concat())]);
    let run = build(&[&workspace.input()], &workspace.out(), &[]);
    let publishers = records(&published_path(&run), Entity::Publisher);
    let shown = |id: &str| [&publishers[id]["parent_publisher"], &publishers[id]["lineage"]];
    let reference = |id: &str, name: Value| json!({"id": id, "name": name});
    let parent = reference("HX_P9", json!("Parent"));
    let child = reference("HX_P1", json!("Child"));
    let nameless = |id| reference(id, Value::Null);
    assert_eq!(shown("HX_P1"), [&parent, &json!([child, parent, nameless("HX_P8")])]);
    assert_eq!(shown("HX_P2"), [&nameless("HX_P9"), &json!([nameless("HX_P9")])]);
    assert_eq!(shown("HX_P3"), [&Value::Null, &Value::Null]);
    assert_eq!(shown("HX_P4"), [&Value::Null, &Value::Null]);
    assert_eq!(shown("HX_P5"), [&json!({"id": null, "name": null}), &Value::Null]);
    assert_eq!(shown("HX_P6"), [&Value::Null, &Value::Null]);
    assert_eq!(run.report["warnings"], json!({"bad_reference": 1, "not_an_object": 1}));
}

#[test]
fn additional_venues_omit_the_primary_location_by_id_or_else_the_first_without_id() {
    let workspace = Workspace::new();
    let line = |id: usize, primary: &str, locations: &[&str]| {
        let location = |of: &&str| match *of {
            "" => json!({"landing_page_url": "none"}),
            id => json!({"id": id, "landing_page_url": id}),
        };
        let locations: Vec<Value> = locations.iter().map(location).collect();
        let primary = location(&primary);
        json!({"id": format!("W{id}"), "primary_location": primary, "locations": locations})
    };
    let cases: [(&str, &[&str], &[&str]); 5] = [
        ("b", &["a", "b", "c"], &["a", "c"]),
        ("z", &["a", "b"], &["a", "b"]),
        ("", &["a", "b"], &["b"]),
        ("z", &["", "a"], &["a"]),
        ("z", &["", "z"], &["none"]),
    ];
    let lines = cases.iter().enumerate();
    let lines = lines.map(|(at, (primary, locations, _))| line(at, primary, locations));
    let lines: String = lines.map(|line| format!("{line}\n")).collect();
    write_files(&workspace.input(), [("works.jsonl", lines)]);
    let run = build(&[&workspace.input()], &workspace.out(), &["--strict"]);
    let outputs = outputs(&published_path(&run));
    for (at, (primary, locations, expected)) in cases.iter().enumerate() {
        let venues = outputs[&format!("HX_W{at}")]["additional_venues"].as_array().unwrap();
        let urls: Vec<&str> =
            venues.iter().map(|venue| venue["landing_page_url"].as_str().unwrap()).collect();
        assert_eq!(urls, *expected, "{primary:?} of {locations:?}");
    }
}

#[test]
fn a_location_whose_members_are_all_null_counts_as_null() {
    let workspace = Workspace::new();
    let nulls = json!({
        "id": null, "is_oa": null, "landing_page_url": null, "pdf_url": null, "license": null,
        "version": null, "is_accepted": null, "is_published": null,
        "source": {"id": null, "display_name": null, "type": null},
    });
    let real = json!({"landing_page_url": "https://example.org/1"});
    let host = json!({"url": "https://example.org/2", "id": null});
    let lines = [
        json!({"id": "W1", "primary_location": nulls, "locations": [real]}),
        json!({"id": "W2", "primary_location": nulls, "locations": [nulls]}),
        json!({"id": "W3", "primary_location": nulls, "host_venue": host}),
        json!({"id": "W4", "host_venue": {"id": null, "url": null}}),
    ];
    let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
    write_files(&workspace.input(), [("works.jsonl", lines)]);
    let run = build(&[&workspace.input()], &workspace.out(), &["--strict"]);
    let outputs = outputs(&published_path(&run));
    let primary_url = |id: &str| &outputs[id]["primary_venue"]["landing_page_url"];
    assert_eq!(outputs["HX_W1"]["primary_venue"], Value::Null);
    let additional = &outputs["HX_W1"]["additional_venues"][0]["landing_page_url"];
    assert_eq!(additional, "https://example.org/1");
    assert_eq!(outputs["HX_W2"]["primary_venue"], Value::Null);
    assert_eq!(outputs["HX_W2"]["additional_venues"], json!([]));
    assert_eq!(primary_url("HX_W3"), "https://example.org/2");
    assert_eq!(outputs["HX_W4"]["primary_venue"], Value::Null);
}

#[test]
fn awards_of_grants_fill_funders_without_awards() {
    let workspace = Workspace::new();
    let funder = |id: &str| json!({"id": id, "display_name": id});
    let grant = |id: &str, award: Value| json!({"funder": id, "award_id": award});
    let line = json!({
        "id": "W1",
        "funders": [funder("F1"), funder("F2"), funder("F3")],
        "awards": [{"id": "G1", "funder_id": "F2", "funder_award_id": "own"}],
        "grants": [
            grant("F1", json!("18K13235, 20K20132")),
            grant("F2", json!("other")),
            grant("F3", Value::Null),
            grant("F4", json!("of no funder")),
        ],
    });
    let without_awards = json!({"id": "W2", "funders": [funder("F1")], "grants": [grant("F1", json!("JPMJCR19U1"))]});
    let lines = format!("{line}\n{without_awards}\n");
    write_files(&workspace.input(), [("works.jsonl", lines)]);
    let run = build(&[&workspace.input()], &workspace.out(), &["--strict"]);
    let outputs = outputs(&published_path(&run));
    let numbers = |id: &str| -> Vec<Vec<Value>> {
        let funders = outputs[id]["funders"].as_array().unwrap().iter();
        let awards = funders.map(|funder| funder["awards"].as_array().unwrap().iter());
        awards
            .map(|awards| awards.map(|award| award["funder_award_id"].clone()).collect())
            .collect()
    };
    let expected = [vec![json!("18K13235"), json!("20K20132")], vec![json!("own")], vec![]];
    assert_eq!(numbers("HX_W1"), expected);
    assert_eq!(numbers("HX_W2"), [[json!("JPMJCR19U1")]]);
}

#[test]
fn works_of_2021_have_venues_for_sources_and_a_title_for_a_name() {
    let workspace = Workspace::new();
    let venue = |id: Value, name: Value, url: &str| json!({"id": id, "display_name": name, "url": url, "type": "journal", "is_oa": true});
    let institution = |id: Value, name: Value| json!({"id": id, "display_name": name});
    let line = json!({
        "id": "https://openalex.org/W1",
        "title": "Only a title",
        "host_venue": venue(json!("https://openalex.org/V7"), json!("Journal"), "https://a.org/"),
        "alternate_host_venues": [
            venue(json!("V8"), Value::Null, "https://b.org/"),
            venue(Value::Null, Value::Null, "https://c.org/"),
            {"id": null},
        ],
        "authorships": [{"author": {"id": "A1"}, "institutions": [
            institution(Value::Null, Value::Null),
            institution(json!("I1"), Value::Null),
            institution(Value::Null, json!("Somewhere")),
        ]}],
    });
    write_files(&workspace.input(), [("works.jsonl", format!("{line}\n"))]);
    let run = build(&[&workspace.input()], &workspace.out(), &["--strict"]);
    let output = &outputs(&published_path(&run))["HX_W1"];
    assert_eq!(
        (&output["name"], &output["title"]),
        (&json!("Only a title"), &json!("Only a title"))
    );
    let source = &output["primary_venue"]["source"];
    assert_eq!((&source["id"], &source["name"]), (&json!("HX_S7"), &json!("Journal")));
    let additional = output["additional_venues"].as_array().unwrap();
    let shown = additional.iter().map(|venue| [&venue["landing_page_url"], &venue["source"]["id"]]);
    let expected =
        [["https://b.org/".into(), "HX_S8".into()], ["https://c.org/".into(), Value::Null]];
    assert_eq!(shown.collect::<Vec<_>>(), expected.each_ref().map(|venue| venue.each_ref()));
    let affiliations = json!([{"id": "HX_I1", "name": null}, {"id": null, "name": "Somewhere"}]);
    assert_eq!(output["authors"][0]["affiliations"], affiliations);
    assert_eq!(run.report["warnings"], json!({}));
}

#[test]
fn an_id_has_at_most_19_digits() {
    let workspace = Workspace::new();
    let lines = "{\"id\":\"W9999999999999999999\"}\n{\"id\":\"W10000000000000000000\"}\n";
    write_files(&workspace.input(), [("works.jsonl", lines.to_owned())]);
    let run = build(&[&workspace.input()], &workspace.out(), &["--max-bad", "50%"]);
    let ids: Vec<String> = outputs(&published_path(&run)).into_keys().collect();
    assert_eq!(ids, ["HX_W9999999999999999999"]);
    assert_eq!(run.report["bad_records"], json!({"bad_id": 1}));
}

#[test]
fn members_that_only_exports_have_come_from_the_line() {
    let workspace = Workspace::new();
    let charge = json!({"value": 1000, "currency": "EUR", "value_usd": 1100, "provenance": "doaj"});
    let ada = "https://orcid.org/0000-0002-1825-0097";
    let keyword = |id: &str, name: &str| match id {
        "" => json!({"keyword": name}),
        id => json!({"id": format!("https://openalex.org/keywords/{id}"), "display_name": name}),
    };
    let files = [
        (
            "works",
            json!({
                "id": "W1",
                "ids": {"pmcid": "https://www.ncbi.nlm.nih.gov/pmc/articles/4436856"},
                "authorships": [
                    {
                        "author": {"id": "A1", "display_name": "Ada", "orcid": ada},
                        "raw_author_name": "A. Example",
                        "raw_orcid": ada,
                    },
                    {"author": {"id": "A2", "display_name": "Bo"}, "raw_orcid": "0000-0002-1694-233X"},
                ],
                "type_crossref": "journal-article",
                "fulltext_origin": "pdf",
                "has_content": {"pdf": true, "grobid_xml": false},
                "institution_assertions": [{"id": "I1", "display_name": "Institute"}],
                "datasets": ["https://openalex.org/W7"],
                "concepts": [{"id": "C1"}, {"id": "C2"}],
                "apc_list": charge,
                "keywords": [
                    keyword("scheme", "Scheme (mathematics)"),
                    keyword("cutoff", "Cut-off"),
                    keyword("", "Cell, dead"),
                ],
            }),
            json!({
                "ids": {"mag": null, "pmcid": "4436856"},
                "authors": [{"raw_author_name": "A. Example"}, {}],
                "raw_orcids": [
                    {"author": 0, "orcid": null},
                    {"author": 1, "orcid": "https://orcid.org/0000-0002-1694-233X"},
                ],
                "type_crossref": "journal-article",
                "fulltext_origin": "pdf",
                "has_content": {"pdf": true, "grobid_xml": false},
                "institution_assertions": [{"id": "HX_I1", "name": "Institute"}],
                "datasets": ["HX_W7"],
                "concepts_count": 2,
                "apc_list": charge,
                "keyword_ids": ["scheme", "cutoff", "cell-dead"],
            }),
        ),
        (
            "authors",
            json!({
                "id": "A1", "display_name": "Ada", "longest_name": "Ada King Noel Lovelace",
                "parsed_longest_name": {"first": "ada", "middle": "king", "last": "noel lovelace", "suffix": ""},
                "ids": {"scopus": "http://www.scopus.com/inward/authorDetails.url?authorID=7005&partnerID=M"},
            }),
            json!({
                "ids": {"scopus": "7005"},
                "name_parts": {"first": "ada", "middle": "king", "last": "noel lovelace", "suffix": null},
            }),
        ),
        (
            "sources",
            json!({"id": "S1", "display_name": "Journal", "host_organization": "https://openalex.org/P9",
                   "host_organization_name": "Press", "ids": {"wikidata": "https://www.wikidata.org/entity/Q1"},
                   "x_concepts": [{"id": "https://openalex.org/C41008148"}, {"id": "C5"}, {"id": "x"}]}),
            json!({
                "concepts": [41008148, 5],
                "host_organization": "HX_P9",
                "ids": {"mag": null, "openalex": "https://openalex.org/S1", "wikidata": "https://www.wikidata.org/entity/Q1"},
            }),
        ),
        (
            "institutions",
            json!({
                "id": "I1", "display_name": "Institute", "lineage": ["I1", "https://openalex.org/I8", "I9"],
                "is_super_system": true, "x_concepts": [{"id": "https://openalex.org/C5"}],
                "associated_institutions": [{"id": "I8", "display_name": "Parent", "relationship": "parent"}],
                "ids": {"wikidata": "https://www.wikidata.org/wiki/Q2", "mag": 7},
            }),
            json!({
                "is_super_system": true,
                "concepts": [5],
                "lineage": [
                    {"id": "HX_I1", "name": "Institute"},
                    {"id": "HX_I8", "name": "Parent"},
                    {"id": "HX_I9", "name": null},
                ],
                "ids": {"grid": null, "wikipedia": null, "wikidata": "https://www.wikidata.org/wiki/Q2",
                        "mag": "7", "openalex": "https://openalex.org/I1"},
            }),
        ),
        (
            "funders",
            json!({"id": "F1", "display_name": "Fund", "ids": {"wikidata": "https://www.wikidata.org/entity/Q3"}}),
            json!({"ids": {"doi": null, "ror": null, "openalex": "https://openalex.org/F1", "crossref": null,
                           "wikidata": "https://www.wikidata.org/entity/Q3"}}),
        ),
    ];
    let lines = files.iter().map(|(name, line, _)| (format!("{name}.jsonl"), format!("{line}\n")));
    write_files(&workspace.input(), lines);
    let snapshot = published_path(&build(&[&workspace.input()], &workspace.out(), &["--strict"]));
    for (name, line, expected) in &files {
        let entity = Entity::from_dump_name(name).unwrap();
        let id = format!("HX_{}", line["id"].as_str().unwrap());
        let [exported, shown] = [View::Export, View::Single]
            .map(|view| records_in(&snapshot, entity, view)[&id].clone());
        for (member, expected) in expected.as_object().unwrap() {
            let hidden = |found: &Value, expected: &Value| match member.as_str() {
                // The authors have other members too.
                "authors" => (0..2).all(|at| {
                    found[at].get("raw_author_name") == expected[at].get("raw_author_name")
                }),
                _ => found == expected,
            };
            assert!(hidden(&exported[member], expected), "{name} {member}: {}", exported[member]);
            assert!(!hidden(&shown[member], expected), "{name} {member}");
        }
    }
}

#[test]
fn the_best_open_access_location_is_found_by_id_or_else_by_all_members() {
    let workspace = Workspace::new();
    let location = |id: &str, url: &str| match id {
        "" => json!({"landing_page_url": url, "source": {"id": "S1", "display_name": "J"}}),
        id => json!({"id": id, "landing_page_url": url}),
    };
    let (a, b) = (location("a", "1"), location("b", "2"));
    let (one, two) = (location("", "1"), location("", "2"));
    let nulls = json!({"id": null, "source": {"id": null}});
    let cases: [(&Value, &[&Value], &Value, Value); 9] = [
        (&a, &[&a, &b], &a, json!(0)),
        (&a, &[&a, &b], &location("b", "other"), json!(1)),
        (&b, &[&a, &nulls, &b, &one], &one, json!(2)),
        (&one, &[&one, &two], &one, json!(0)),
        (&one, &[&one, &two], &two, json!(1)),
        (&one, &[&one, &two], &location("", "3"), Value::Null),
        (&Value::Null, &[&one, &two], &one, json!(1)),
        (&a, &[&a], &nulls, Value::Null),
        (&a, &[&a], &Value::Null, Value::Null),
    ];
    let lines = cases.iter().enumerate().map(|(at, (primary, locations, best, _))| {
        let line = json!({"id": format!("W{at}"), "primary_location": primary,
                          "locations": locations, "best_oa_location": best});
        format!("{line}\n")
    });
    write_files(&workspace.input(), [("works.jsonl", lines.collect::<String>())]);
    let run = build(&[&workspace.input()], &workspace.out(), &["--strict"]);
    let outputs = records_in(&published_path(&run), Entity::Output, View::Export);
    for (at, (.., expected)) in cases.iter().enumerate() {
        assert_eq!(outputs[&format!("HX_W{at}")]["best_oa_venue"], *expected, "{at}");
    }
}
