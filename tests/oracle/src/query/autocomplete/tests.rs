//! Tests of `Autocomplete` on a small dump, with results computed by hand.

use super::*;
use crate::tests::library;

/// A dump with every entity, a merged author, and names in every tier.
fn handful(name: &str) -> Library {
    let files = [
        (
            "works.jsonl",
            r#"{"id":"W1","display_name":"Marine <i>Biology</i>","doi":"https://doi.org/10.1/AbC","cited_by_count":7,"title":"Title only"}
{"id":"W2","display_name":"Biology of the Sea","doi":"https://doi.org/10.1/b","cited_by_count":90}
{"id":"W3","display_name":"biology","cited_by_count":1}
{"id":"W10","display_name":"Biology!","doi":"https://doi.org/10.1/c"}
{"id":"W9","display_name":"BIOLOGY","cited_by_count":1}
{"id":"W4","doi":"https://doi.org/10.1/nameless","cited_by_count":5}
"#,
        ),
        (
            "authors.jsonl",
            r#"{"id":"A1","display_name":"Ada O’Brien","orcid":"https://orcid.org/0000-0001-0000-000X","display_name_alternatives":["A. M. O'Brien","Biology Ada"],"cited_by_count":7,"works_count":3}
{"id":"A3","display_name":"Bea","works_count":0}
"#,
        ),
        (
            "sources.jsonl",
            r#"{"id":"S1","display_name":"Journal of Biology","issn_l":"1234-567X","issn":["8765-4321","1234-567X"],"alternate_titles":["J Biol"],"cited_by_count":7,"works_count":9}
"#,
        ),
        (
            "institutions.jsonl",
            r#"{"id":"I1","display_name":"東京大学","display_name_acronyms":["UT"],"display_name_alternatives":["University of Tokyo"],"ror":"https://ror.org/013meh722","cited_by_count":7}
{"id":"I3","display_name":"Institute of Biology","cited_by_count":7,"international":{"display_name":{"de":"Nirgends"}}}
"#,
        ),
        (
            "publishers.jsonl",
            r#"{"id":"P1","display_name":"Biology Press","alternate_titles":["BP"],"ids":{"wikidata":"https://www.wikidata.org/entity/Q1","ror":"https://ror.org/013meh722"}}
{"id":"P2","display_name":"Other Press","ids":{"wikidata":"https://www.wikidata.org/entity/Q2"}}
"#,
        ),
        (
            "funders.jsonl",
            r#"{"id":"F1","display_name":"Fund","alternate_titles":["Biology Fund"],"ids":{"doi":"https://doi.org/10.1/b"},"cited_by_count":90}
{"id":"F2","display_name":"Trust","ids":{"doi":"https://doi.org/10.1/d","ror":"https://ror.org/00x"}}
"#,
        ),
        (
            "topics.jsonl",
            r#"{"id":"T1","display_name":"Cell Biology","keywords":["Nowhere"],"ids":{"wikipedia":"https://en.wikipedia.org/wiki/Cell"},"subfield":{"id":"10","display_name":"Biology, Ten"},"field":{"id":"100","display_name":"Hundred"},"domain":{"id":"1","display_name":"First"},"cited_by_count":7}
"#,
        ),
        (
            "fields.jsonl",
            r#"{"id":"100","display_name":"Hundred","display_name_alternatives":["Biology 100"],"domain":{"id":"1"},"ids":{"wikidata":"https://www.wikidata.org/entity/Q100"},"cited_by_count":7,"works_count":2}
"#,
        ),
        (
            "merged_ids/authors/2021-01-01.csv",
            "merge_date,id,merge_into_id\n2021-01-01,A2,A1\n2021-01-01,A8,A9\n",
        ),
    ];
    library(name, &files)
}

/// The count and the ids of an answer; `required` or `400` for a rejected query.
fn asked(autocomplete: &Autocomplete<'_>, entity_type: &str, raw: &str) -> String {
    let route = Some(entity_type).filter(|entity_type| !entity_type.is_empty());
    match autocomplete.answer(route, raw) {
        Ok(answer) => {
            let id = |shown: &Value| shown["id"].as_str().unwrap_or("?").replace("HX_", "");
            let ids: Vec<String> = answer.results.iter().map(id).collect();
            format!("{}: {}", answer.count, ids.join(" "))
        }
        Err(Unanswered::Required) => "required".to_owned(),
        Err(Unanswered::Invalid(_)) => "400".to_owned(),
    }
}

#[test]
fn a_record_is_found_by_prefixes_of_words_of_all_its_names() {
    let library = handful("beginnings");
    let autocomplete = Autocomplete::new(&library);
    let check = |entity_type: &str, query: &str, expected: &str| {
        let found = asked(&autocomplete, entity_type, &format!("query={query}"));
        assert_eq!(found, expected, "{entity_type} {query}");
    };
    check("authors", "obrien", "1: A1");
    check("authors", "O%27BRIEN+a", "1: A1");
    check("authors", "m+biology+ad", "1: A1");
    check("authors", "brien", "0: ");
    check("authors", "o+brien", "0: ");
    check("authors", "bea+ada", "0: ");
    check("authors", "obrien%F0%9F%98%80", "1: A1");
    check("outputs", "marine+bio", "1: W1");
    check("outputs", "title", "0: ");
    check("sources", "j+of", "1: S1");
    check("institutions", "%E4%BA%AC%E5%A4%A7", "1: I1");
    check("institutions", "ut+of+%E5%A4%A7%E5%AD%A6", "1: I1");
    check("institutions", "nirgends", "0: ");
    check("topics", "nowhere", "0: ");
    check("topics", "cell+biology", "1: T1");
    check("", "hundred", "1: 100");
    check("", "100", "1: 100");
    check("", "first", "1: 1");
    check("topics", "hundred", "0: ");
    check("", "%3F%21", "0: ");
    check("", "%3Ci%3E", "0: ");
}

#[test]
fn the_best_matching_names_are_first_then_the_most_cited() {
    let library = handful("tiers");
    let autocomplete = Autocomplete::new(&library);
    let check = |entity_type: &str, query: &str, expected: &str| {
        let found = asked(&autocomplete, entity_type, &format!("query={query}"));
        assert_eq!(found, expected, "{entity_type} {query}");
    };
    // Equal names, by citations and number, null last; then names with this prefix; then all others.
    check("outputs", "biology", "5: W3 W9 W10 W2 W1");
    check("outputs", "b", "5: W2 W3 W9 W10 W1");
    check("outputs", "biology+marine", "1: W1");
    check("sources", "j", "1: S1");
    // Equal: W3 and W9 (1), W10 (null). Prefix: W2 (90), the subfield (0, a sum), P1 (null). By an
    // alternative: F1 (90), then of 7 the author before the field. The rest, all of 7: institution, output,
    // source and topic, of which one is shown.
    check("", "biology", "13: W3 W9 W10 W2 10 P1 F1 A1 100 I3");
    // No name is equal: an output without a count precedes a publisher without a count.
    check("", "biol", "13: W2 W3 W9 10 W10 P1 F1 A1 100 I3");
}

#[test]
fn a_candidate_has_six_members_with_its_external_id() {
    let library = handful("shown");
    let autocomplete = Autocomplete::new(&library);
    let check = |query: &str, expected: &str| {
        let found = autocomplete.answer(None, &format!("query={query}")).map(|found| found.body());
        let body = found.expect("an answer").to_string();
        assert_eq!(body, format!(r#"{{"meta":{{"count":1}},"results":[{expected}]}}"#), "{query}");
    };
    check(
        "marine",
        r#"{"id":"HX_W1","name":"Marine <i>Biology</i>","cited_by_count":7,"entity_type":"output","external_id":"https://doi.org/10.1/AbC","outputs_count":null}"#,
    );
    check(
        "obrien",
        r#"{"id":"HX_A1","name":"Ada O’Brien","cited_by_count":7,"entity_type":"author","external_id":"https://orcid.org/0000-0001-0000-000X","outputs_count":3}"#,
    );
    check(
        "bea",
        r#"{"id":"HX_A3","name":"Bea","cited_by_count":null,"entity_type":"author","external_id":null,"outputs_count":0}"#,
    );
    check(
        "journal",
        r#"{"id":"HX_S1","name":"Journal of Biology","cited_by_count":7,"entity_type":"source","external_id":"1234-567X","outputs_count":9}"#,
    );
    check(
        "ut",
        r#"{"id":"HX_I1","name":"東京大学","cited_by_count":7,"entity_type":"institution","external_id":"https://ror.org/013meh722","outputs_count":null}"#,
    );
    check(
        "biology+press",
        r#"{"id":"HX_P1","name":"Biology Press","cited_by_count":null,"entity_type":"publisher","external_id":"https://ror.org/013meh722","outputs_count":null}"#,
    );
    check(
        "other",
        r#"{"id":"HX_P2","name":"Other Press","cited_by_count":null,"entity_type":"publisher","external_id":"https://www.wikidata.org/entity/Q2","outputs_count":null}"#,
    );
    check(
        "fund",
        r#"{"id":"HX_F1","name":"Fund","cited_by_count":90,"entity_type":"funder","external_id":"https://doi.org/10.1/b","outputs_count":null}"#,
    );
    check(
        "trust",
        r#"{"id":"HX_F2","name":"Trust","cited_by_count":null,"entity_type":"funder","external_id":"https://ror.org/00x","outputs_count":null}"#,
    );
    check(
        "cell",
        r#"{"id":"HX_T1","name":"Cell Biology","cited_by_count":7,"entity_type":"topic","external_id":"https://en.wikipedia.org/wiki/Cell","outputs_count":null}"#,
    );
    check(
        "hundred",
        r#"{"id":"100","name":"Hundred","cited_by_count":7,"entity_type":"field","external_id":"https://www.wikidata.org/entity/Q100","outputs_count":2}"#,
    );
}

#[test]
fn a_complete_id_finds_its_records_and_any_other_text_is_words() {
    let library = handful("ids");
    let autocomplete = Autocomplete::new(&library);
    let check = |entity_type: &str, query: &str, expected: &str| {
        let found = asked(&autocomplete, entity_type, &format!("query={query}"));
        assert_eq!(found, expected, "{entity_type} {query}");
    };
    check("", "hx_a1", "1: A1");
    check("authors", "HX_A1", "1: A1");
    check("outputs", "HX_A1", "0: ");
    check("authors", "HX_A01", "0: ");
    check("authors", "A1", "1: A1");
    check("", "https://openalex.org/authors/a1", "1: A1");
    check("authors", "A01", "0: ");
    check("authors", "+HX_A1%20", "1: A1");
    // A merged id, and an id merged into an id without a record.
    check("", "hx_a2", "1: A1");
    check("", "HX_A8", "0: ");
    // The output and the funder, by citations and then by entity.
    check("", "10.1/B", "2: W2 F1");
    check("outputs", "doi:10.1/b", "1: W2");
    check("funders", "https://doi.org/10.1/b", "1: F1");
    check("sources", "https://doi.org/10.1/b", "0: ");
    check("", "http://dx.doi.org/10.1/abc", "1: W1");
    check("", "10.1/nameless", "1: W4");
    check("", "0000-0001-0000-000x", "1: A1");
    check("", "HTTPS://ORCID.ORG/0000-0001-0000-000X", "1: A1");
    check("", "013MEH722", "2: I1 P1");
    check("publishers", "https://ror.org/013meh722", "1: P1");
    check("", "https://ror.org/", "0: ");
    check("sources", "8765-4321", "1: S1");
    check("", "https://portal.issn.org/resource/ISSN/1234-567x", "1: S1");
    // Not a complete id, and thus text: the words `10` and `1` both are prefixes of the field's `100`.
    check("", "10.1", "1: 100");
    check("", "013meh72", "0: ");
    check("", "https://www.wikidata.org/entity/Q2", "0: ");
    let nameless = autocomplete.answer(Some("outputs"), "query=10.1/nameless").expect("an answer");
    assert!(nameless.is_by_id && nameless.results[0]["name"].is_null());
}

#[test]
fn a_query_is_required_and_other_parameters_are_rejected() {
    let library = handful("refused");
    let autocomplete = Autocomplete::new(&library);
    let check = |entity_type: &str, raw: &str, expected: &str| {
        assert_eq!(asked(&autocomplete, entity_type, raw), expected, "{entity_type}?{raw}");
    };
    let refuse = |raw: &str| check("authors", raw, "400");
    for raw in ["", "query", "query=", "&&", "query=++%20", "query=%E3%80%80", "query=%09", "q=a"] {
        check("", raw, "required");
        check("topics", raw, "required");
    }
    for raw in [
        "query=a&query=a",
        "query=&query=a",
        "query=a&page=1",
        "query=a&Query=b",
        "query=a&=",
        "query=%ff",
        "query=%ED%A0%80",
        "query=%F5%80%80%80",
        "query=%C0%80",
        "query=%zz",
        "query=a%",
        "query=a&mailto=%ff",
        "query=%00",
        "query=a%7F",
        "query=%1B[31m",
        "query=a%0Ab",
    ] {
        refuse(raw);
    }
    refuse(&format!("query={}", "a".repeat(257)));
    refuse(&format!("query={}%C3%A9", "a".repeat(255)));
    check("authors", &format!("query={}%C3%A9", "a".repeat(254)), "0: ");
    check("authors", "&mailto=a&query=bea&api_key&mailto=b", "1: A3");
    for entity_type in ["foo", "domains", "fields", "subfields", "Authors", "author", "works"] {
        check(entity_type, "query=a", "400");
        check(entity_type, "", "400");
    }
}

#[test]
fn ten_suggestions_are_shown_and_all_are_counted() {
    let lines = |number: u32| format!(r#"{{"id":"F{number}","display_name":"Same"}}"#);
    let lines = (1..=12).rev().map(lines).collect::<Vec<_>>().join("\n");
    let library = library("ten", &[("funders.jsonl", &lines)]);
    let autocomplete = Autocomplete::new(&library);
    let first = (1..=10).map(|number| format!("F{number}")).collect::<Vec<_>>().join(" ");
    assert_eq!(asked(&autocomplete, "funders", "query=same"), format!("12: {first}"));
}
