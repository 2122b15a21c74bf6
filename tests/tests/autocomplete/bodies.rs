//! Complete replies, byte for byte: every entity type, records with and without optional members.

use crate::autocomplete::ServerAndOracle;
use crate::autocomplete::dump;

const BODIES: &[(&str, &str)] = &[
    ("/autocomplete?query=zzz", r#"{"meta":{"count":0},"results":[]}"#),
    (
        "/autocomplete/institutions?query=nuclear",
        r#"{"meta":{"count":1},"results":[{"id":"HX_I1","name":"European Organization for Nuclear Research","cited_by_count":900,"entity_type":"institution","external_id":"https://ror.org/01ggx4157","outputs_count":80}]}"#,
    ),
    (
        "/autocomplete/institutions?query=giessen",
        r#"{"meta":{"count":1},"results":[{"id":"HX_I14","name":"Justus-Liebig-Universität Gießen","cited_by_count":null,"entity_type":"institution","external_id":null,"outputs_count":null}]}"#,
    ),
    (
        "/autocomplete/authors?query=john+smith",
        r#"{"meta":{"count":2},"results":[{"id":"HX_A1","name":"John Smith","cited_by_count":70,"entity_type":"author","external_id":"https://orcid.org/0000-0002-1825-0097","outputs_count":9},{"id":"HX_A2","name":"Smith Johnson","cited_by_count":300,"entity_type":"author","external_id":null,"outputs_count":null}]}"#,
    ),
    (
        "/autocomplete/outputs?query=attention+is",
        r#"{"meta":{"count":2},"results":[{"id":"HX_W1","name":"Attention Is All You Need","cited_by_count":1000,"entity_type":"output","external_id":"https://doi.org/10.48550/arXiv.1706.03762","outputs_count":null},{"id":"HX_W5","name":"Is attention all you need?","cited_by_count":3,"entity_type":"output","external_id":null,"outputs_count":null}]}"#,
    ),
    (
        "/autocomplete/outputs?query=drosophila",
        r#"{"meta":{"count":1},"results":[{"id":"HX_W8","name":"<i>Drosophila</i> α-amylase at 37°C","cited_by_count":4,"entity_type":"output","external_id":null,"outputs_count":null}]}"#,
    ),
    (
        "/autocomplete/outputs?query=10.5555/nameless",
        r#"{"meta":{"count":1},"results":[{"id":"HX_W10","name":null,"cited_by_count":null,"entity_type":"output","external_id":"https://doi.org/10.5555/nameless","outputs_count":null}]}"#,
    ),
    (
        "/autocomplete/sources?query=1476-4687",
        r#"{"meta":{"count":1},"results":[{"id":"HX_S1","name":"Nature","cited_by_count":9000,"entity_type":"source","external_id":"0028-0836","outputs_count":null}]}"#,
    ),
    (
        "/autocomplete/publishers?query=springer",
        r#"{"meta":{"count":1},"results":[{"id":"HX_P1","name":"Springer Nature","cited_by_count":9500,"entity_type":"publisher","external_id":"https://www.wikidata.org/entity/Q180419","outputs_count":null}]}"#,
    ),
    (
        "/autocomplete/publishers?query=elsevier",
        r#"{"meta":{"count":1},"results":[{"id":"HX_P2","name":"Elsevier BV","cited_by_count":null,"entity_type":"publisher","external_id":"https://ror.org/02scfj030","outputs_count":null}]}"#,
    ),
    (
        "/autocomplete/funders?query=conservancy",
        r#"{"meta":{"count":1},"results":[{"id":"HX_F1","name":"Nature Conservancy","cited_by_count":10,"entity_type":"funder","external_id":"https://doi.org/10.13039/100015540","outputs_count":null}]}"#,
    ),
    (
        "/autocomplete/funders?query=dfg",
        r#"{"meta":{"count":1},"results":[{"id":"HX_F2","name":"Deutsche Forschungsgemeinschaft","cited_by_count":6000,"entity_type":"funder","external_id":"https://ror.org/018mejw64","outputs_count":null}]}"#,
    ),
    (
        "/autocomplete/topics?query=solutions",
        r#"{"meta":{"count":1},"results":[{"id":"HX_T1","name":"Nature-Based Solutions","cited_by_count":500,"entity_type":"topic","external_id":"https://en.wikipedia.org/wiki/Nature-based_solutions","outputs_count":null}]}"#,
    ),
    // Domains, fields and subfields have no autocomplete route; their ids are strings.
    (
        "/autocomplete?query=feld",
        r#"{"meta":{"count":1},"results":[{"id":"99","name":"Equal Rank","cited_by_count":33,"entity_type":"field","external_id":"https://www.wikidata.org/entity/Q99","outputs_count":99}]}"#,
    ),
];

/// Last two of ten candidates with equal name and count, in a query over all entity types.
const LEVELS: &[&str] = &[
    r#"{"id":"9","name":"Equal Rank","cited_by_count":33,"entity_type":"domain","external_id":"https://www.wikidata.org/entity/Q9","outputs_count":9}"#,
    r#"{"id":"99","name":"Equal Rank","cited_by_count":33,"entity_type":"field","external_id":"https://www.wikidata.org/entity/Q99","outputs_count":99}"#,
];

#[test]
fn a_reply_has_exactly_these_bytes() {
    let dump = dump::write();
    let pair = ServerAndOracle::from_inputs(&[dump.path().to_path_buf()]);
    let mut connection = pair.server.connect();
    for (target, body) in BODIES {
        let response = connection.get(target);
        assert_eq!((response.status, response.text()), (200, *body), "{target}");
    }
    let response = connection.get("/autocomplete?query=equal");
    assert!(response.text().starts_with(r#"{"meta":{"count":11},"results":[{"id":"HX_I20","#));
    assert!(response.text().ends_with(&format!("{}]}}", LEVELS.join(","))), "{}", response.text());
    pair.server.end(&[]);
}
