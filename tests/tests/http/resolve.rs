//! `/resolve/{identifier}`: every spelling of the identifiers of the sample, shared identifiers, and
//! identifiers that no record has.

use pinakes_tests::client::{Connection, error_body};
use pinakes_tests::expect::{check_accepted, check_head, ids};
use pinakes_tests::server::{Server, Snapshots};

/// Spellings of an identifier, and the path of the one record that has it.
const RESOLVED: &[(&[&str], &str)] = &[
    (
        &[
            "10.1038/171737a0",
            "10.1038%2F171737A0",
            "10.1038/171737a0/",
            "doi:10.1038/171737a0",
            "DOI:%2010.1038/171737A0",
            "doi.org/10.1038/171737a0",
            "https://doi.org/10.1038/171737a0",
            "http://dx.doi.org/10.1038/171737a0",
            "https:/doi.org/10.1038/171737a0",
            "https%3A%2F%2Fdoi.org%2F10.1038%2F171737a0",
            "pmid:13054692",
            "https://pubmed.ncbi.nlm.nih.gov/13054692/",
            "mag:1700280755",
            "HX_W2900000096",
            "hx_w2900000096?page=x",
            "W2900000096",
            "openalex:w2900000096",
            "https://openalex.org/W2900000096",
            "https:/openalex.org/works/w2900000096/",
            "https%3A%2F%2Fapi.openalex.org%2Fworks%2FW2900000096",
        ],
        "/outputs/HX_W2900000096",
    ),
    (
        &[
            "0018-9448",
            "00189448",
            "issn:1557-9654",
            "https://portal.issn.org/resource/ISSN/0018-9448",
        ],
        "/sources/HX_S4502562",
    ),
    (&["https://openalex.org/fields/17", "fields/17", "openalex:fields/17"], "/fields/17"),
];

/// Identifiers that no record of the sample has, and texts that are no identifier.
const NOT_FOUND: &[(&str, &str)] = &[
    ("10.1000/none", "10.1000/none"),
    ("https%3A%2F%2Fdoi.org%2F10.1000%2Fnone", "https://doi.org/10.1000/none"),
    ("HX_W1", "HX_W1"),
    ("HX_W2900000096x", "HX_W2900000096x"),
    ("1700280755", "1700280755"),
    ("pmid:x", "pmid:x"),
    ("17", "17"),
    ("%00", "%00"),
    ("%zz", "%zz"),
    ("..%2f..%2fetc", "../../etc"),
];

#[test]
fn an_identifier_leads_to_its_record() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    for (identifiers, expected) in RESOLVED {
        for identifier in *identifiers {
            let target = format!("/resolve/{identifier}");
            let response = connection.get(&target);
            let found = (response.status, response.header("location"));
            assert_eq!(found, (303, Some(*expected)), "{target}");
            let body = response.json();
            assert_eq!((&body["statusCode"], &body["error"]), (&303.into(), &"See Other".into()));
            check_head(&mut connection, &target, &response);
        }
        assert_eq!(connection.get(expected).status, 200);
    }
    for (identifier, echoed) in NOT_FOUND {
        let response = connection.get(&format!("/resolve/{identifier}"));
        let message = format!("Nothing with identifier {echoed} found");
        let found = (response.status, response.text().to_owned());
        assert_eq!(found, (404, error_body(404, &message)), "{identifier}");
    }
    for path in ["/resolve", "/resolve/"] {
        let found = connection.get(path);
        let message = format!("Cannot GET {path}");
        assert_eq!((found.status, found.text()), (404, error_body(404, &message).as_str()));
    }
    server.end(&[]);
}

#[test]
fn an_identifier_of_several_records_gets_300_with_candidates() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    for identifier in ["034t30j35", "ror:034t30j35", "https://ror.org/034t30j35"] {
        let response = connection.get(&format!("/resolve/{identifier}"));
        assert_eq!((response.status, response.header("location")), (300, None), "{identifier}");
        let suggested = connection.get("/autocomplete?query=ror.org/034t30j35");
        assert_eq!(response.json(), suggested.json(), "{identifier}");
        let ids = response.json();
        let ids: Vec<&str> = ids["results"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["id"].as_str().unwrap())
            .collect();
        assert_eq!(ids, ["HX_F4320321133", "HX_I19820366"]);
    }
    server.end(&[]);
}

#[test]
fn a_merged_id_leads_to_the_end_of_its_chain() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let snapshot = snapshots.open();
    let mut connection = server.connect();
    let redirects = snapshot.redirects(pinakes_format::entity::Entity::Author);
    let mut checked = 0;
    for at in 0..redirects.count() {
        let (from, _) = redirects.pair(at).unwrap();
        let single = connection.get(&format!("/authors/HX_A{from}"));
        let resolved = connection.get(&format!("/resolve/HX_A{from}"));
        match single.status {
            301 => {
                assert_eq!(resolved.status, 303, "{from}");
                assert_eq!(resolved.header("location"), single.header("location"), "{from}");
                checked += 1;
            }
            status => assert_eq!((status, resolved.status), (404, 404), "{from}"),
        }
    }
    assert!(checked > 0, "the sample merges authors");
    server.end(&[]);
}

#[test]
fn an_identifier_in_place_of_an_id_gets_400_that_names_the_way() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let check = |connection: &mut Connection, target: &str, named: Option<&str>| {
        let response = connection.get(target);
        let body = response.json();
        assert_eq!(response.status, 400, "{target}");
        assert_eq!(body["message"], "Only HX_ prefixed IDs are allowed", "{target}");
        let reason = body["details"][0]["reason"].as_str().unwrap_or_default();
        match named {
            Some(named) => assert!(reason.contains(named), "{target} {body}"),
            None => assert_eq!(reason, "", "{target} {body}"),
        }
    };
    for id in [
        "https://doi.org/10.1038/171737a0",
        "https:/doi.org/10.1038/171737a0",
        "https%3A%2F%2Fdoi.org%2F10.1038%2F171737a0",
        "doi.org/10.1038/171737a0",
        "10.1038/171737a0",
        "10.1038%2f171737a0",
        "doi:10.1038/171737a0",
        "0000-0002-1825-009X",
        "https://orcid.org/0000-0002-1825-009X",
        "0018-9448",
        "pmid:13054692",
    ] {
        check(&mut connection, &format!("/outputs/{id}"), Some("/resolve/"));
        check(&mut connection, &format!("/authors/{id}/"), Some("/resolve/"));
    }
    for id in ["W1", "hx_w1", "https://openalex.org/W1", "https:%2F%2Fopenalex.org%2FW1"] {
        check(&mut connection, &format!("/outputs/{id}"), Some("`/outputs/HX_W1`"));
        check(&mut connection, &format!("/authors/{id}"), Some("`/outputs/HX_W1`"));
    }
    check(&mut connection, "/outputs/x", None);
    for path in ["/outputs/https://example.org/x", "/outputs/x/y", "/nope/10.1038/171737a0"] {
        assert_eq!(connection.get(path).status, 404, "{path}");
    }
    server.end(&[]);
}

#[test]
fn a_search_for_the_id_of_a_record_of_the_list_finds_the_record() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let author = ids(&connection.get("/authors?per_page=10"))[0].clone();
    let bare = author.strip_prefix("HX_").unwrap().to_owned();
    for (target, expected) in [
        ("/outputs?search=W2900000096", "HX_W2900000096"),
        ("/outputs?search=%20hx_w2900000096", "HX_W2900000096"),
        ("/outputs?search=openalex:W2900000096&sort=relevance", "HX_W2900000096"),
        (
            "/outputs?search=https://openalex.org/works/W2900000096&filter=year:1953",
            "HX_W2900000096",
        ),
        (&format!("/authors?search={bare}"), &author),
        (&format!("/authors?search=https://openalex.org/{bare}"), &author),
    ] {
        check_accepted(&mut connection, (target, 1, &[expected]));
    }
    for nothing in [
        "/outputs?search=W2900000096&filter=year:1954",
        "/outputs?search.exact=W2900000096",
        // A phrase, a word and an id of another list.
        "/outputs?search=%22W2900000096%22",
        "/outputs?search=W3",
        &format!("/outputs?search={bare}"),
        "/authors?search=W2900000096",
    ] {
        check_accepted(&mut connection, (nothing, 0, &[]));
    }
    server.end(&[]);
}
