//! Searches that are one identifier, and the syntax of other databases.

use pinakes_tests::server::Server;
use serde_json::{Value, json};

use crate::search::{encoded, numbers, search, snapshots, titled};

fn works() -> Vec<Value> {
    let mut works: Vec<Value> = (1..30)
        .map(|id| titled((id, "en", "10 wines, PMC and https from doi.org in 2017")))
        .collect();
    works[0]["doi"] = "https://doi.org/10.1000/wine.1".into();
    works[1]["doi"] = "https://doi.org/10.48550/arxiv.1706.03762".into();
    works[2]["ids"] = json!({
        "pmid": "https://pubmed.ncbi.nlm.nih.gov/11565961",
        "pmcid": "https://www.ncbi.nlm.nih.gov/pmc/articles/3531190",
    });
    works
}

#[test]
fn a_search_that_is_an_identifier_finds_its_record_or_nothing() {
    let snapshots = snapshots(&works());
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    for (text, kind, expected) in [
        ("10.1000/WINE.1", "doi", &[1][..]),
        ("https://doi.org/https://doi.org/10.1000/wine.1.", "doi", &[1]),
        ("10.1000/wine.2", "doi", &[]),
        ("arXiv:1706.03762v5", "arxiv", &[2]),
        ("PMID 11565961", "pmid", &[3]),
        ("PMC3531190", "pmcid", &[3]),
        ("https://openalex.org/W12", "openalex", &[12]),
        ("hx_w12", "id", &[12]),
        ("HX_A12", "id", &[]),
        ("0000-0002-1825-0097", "orcid", &[]),
        ("https://ror.org/05dxps055", "ror", &[]),
        ("0028-0836", "issn", &[]),
    ] {
        let list = search(&mut connection, text, "");
        assert_eq!(numbers(&list), expected, "{text}");
        let summary = json!({ "words": "all", "corrected": {}, "identifier": kind });
        assert_eq!(list["meta"]["search"], summary, "{text}");
        assert_eq!(list["meta"]["count"], expected.len(), "{text}");
        // The dialect of OpenAlex finds the same.
        let target = format!("/openalex/works?per_page=100&search={}", encoded(text));
        let count = connection.get(&target).json()["meta"]["count"].clone();
        assert_eq!(count, expected.len(), "{text}");
    }
    // A filter removes the record; exact words, ranges and short ids are words.
    let list = search(&mut connection, "10.1000/wine.1", "&filter=id:HX_W2");
    assert_eq!(numbers(&list), Vec::<u64>::new());
    for text in ["/outputs?search.exact=10.1000/wine.1", "/outputs?search=1990-2000"] {
        let list = connection.get(text).json();
        assert_eq!(list["meta"]["search"].get("identifier"), None, "{text}");
    }
    // The page says what the text is, and leads to its system.
    let page = connection.get("/browse/outputs?search=10.1000/wine.2").text().to_owned();
    assert!(page.contains("No output here has this DOI."), "{page}");
    assert!(page.contains("<a href=\"https://doi.org/10.1000/wine.2\""), "{page}");
    server.end(&[]);
}

#[test]
fn syntax_of_other_databases_has_a_hint() {
    let snapshots = snapshots(&works());
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    for (text, hint) in [
        ("TITLE-ABS-KEY(wines)", "title_and_abstract.search"),
        ("wines ADJ3 https", "`\"a b\"~5`"),
        ("wines[ti]", "`title:…`"),
        ("nothing.ti,ab.", "title_and_abstract.search"),
    ] {
        let list = search(&mut connection, text, "");
        let found = list["meta"]["hint"].as_str().unwrap_or_default();
        assert!(found.contains(hint), "{text}: {list}");
        let query = format!("{{ outputs(search: {}) {{ meta {{ hint }} }} }}", json!(text));
        let data = pinakes_tests::graphql::data(&mut connection, &query);
        assert_eq!(data["outputs"]["meta"]["hint"], found, "{text}");
    }
    let list = search(&mut connection, "wines", "");
    assert_eq!(list["meta"].get("hint"), None);
    let page = connection.get("/browse/outputs?search=wines+ADJ3+https").text().to_owned();
    assert!(page.contains("<code>ADJ3</code>") || page.contains("`ADJ3`"), "{page}");
    server.end(&[]);
}
