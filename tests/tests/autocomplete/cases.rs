//! Queries as people type them, and the expected candidates.
//!
//! Server and oracle run the same table, so that neither is trusted alone.

use std::path::Path;

use pinakes_oracle::Autocomplete;
use pinakes_tests::SeededRng;
use serde_json::Value;

use crate::autocomplete::ServerAndOracle;
use crate::autocomplete::dump;
use crate::autocomplete::target;
use pinakes_tests::values::percent_encode;

/// An entity type (empty for all), a query, the expected count, and the first expected ids.
pub type Case<'a> = (&'a str, &'a str, usize, &'a str);

const CASES: &[Case<'_>] = &[
    // Acronyms are names; a name that starts with the query ranks before an acronym.
    ("institutions", "CERN", 1, "I1"),
    ("institutions", "cern", 1, "I1"),
    ("institutions", "MIT", 2, "I3 I2"),
    ("institutions", "mit.", 2, "I3 I2"),
    ("institutions", "mits", 1, "I3"),
    ("institutions", "M.I.T.", 1, "I2"),
    ("institutions", "CHU Rennes", 1, "I4"),
    ("institutions", "rennes chu", 1, "I4"),
    ("institutions", "chu hospitalier", 1, "I4"),
    ("institutions", "msu moscow", 1, "I8"),
    ("funders", "dfg", 1, "F2"),
    ("funders", "german research", 1, "F2"),
    ("", "cern", 2, "F3 I1"),
    ("", "cer", 2, "F3 I1"),
    ("", "sources: cern", 0, ""),
    // An apostrophe joins two parts to one word; a hyphen separates them.
    ("authors", "obrien", 3, "A4 A3 A5"),
    ("authors", "o'brien", 3, "A4 A3 A5"),
    ("authors", "O’Brien", 3, "A4 A3 A5"),
    ("authors", "oʼbrien", 3, "A4 A3 A5"),
    ("authors", "o‘brien", 3, "A4 A3 A5"),
    ("authors", "OBR", 3, "A4 A3 A5"),
    ("authors", "flann o'", 1, "A4"),
    ("authors", "o brien", 1, "A8"),
    ("authors", "o-brien", 1, "A8"),
    ("authors", "brien", 1, "A8"),
    ("authors", "onolan", 1, "A4"),
    ("authors", "onolan flann", 1, "A4"),
    ("institutions", "saint-étienne", 1, "I7"),
    ("institutions", "saint etienne", 1, "I7"),
    ("institutions", "Saint-E\u{301}tienne", 1, "I7"),
    ("institutions", "st etienne", 0, ""),
    ("institutions", "saintetienne", 0, ""),
    ("outputs", "covid-19", 1, "W9"),
    ("outputs", "covid 19", 1, "W9"),
    ("outputs", "covid19", 0, ""),
    ("outputs", "covid 2020 19 in", 1, "W9"),
    // Letters without a decomposition fold to the ASCII letters that people type.
    ("institutions", "kobenhavns", 1, "I12"),
    ("institutions", "KØBENHAVNS", 1, "I12"),
    ("institutions", "koebenhavns", 0, ""),
    ("institutions", "lodzka", 1, "I13"),
    ("institutions", "Łódzka", 1, "I13"),
    ("institutions", "giessen", 1, "I14"),
    ("institutions", "GIEẞEN", 1, "I14"),
    ("institutions", "gies", 1, "I14"),
    ("institutions", "giesen", 0, ""),
    ("institutions", "aero", 1, "I15"),
    ("institutions", "ærø mus", 1, "I15"),
    ("authors", "jose nunez", 1, "A6"),
    ("authors", "NÚÑEZ, JOSÉ", 1, "A6"),
    ("authors", "nguyen van an", 1, "A7"),
    ("authors", "nguyễn", 1, "A7"),
    ("sources", "zeitschrift fur physik", 1, "S3"),
    ("sources", "z phys", 1, "S3"),
    ("sources", "phys z", 1, "S3"),
    ("outputs", "drosophila α", 1, "W8"),
    ("outputs", "Α-ΑMYLASE", 0, ""),
    ("outputs", "37c", 0, ""),
    ("outputs", "37 c", 1, "W8"),
    ("outputs", "<i>drosophila</i>", 1, "W8"),
    // Order of words, and endings of words.
    ("authors", "smith john", 2, "A2 A1"),
    ("authors", "john smith", 2, "A1 A2"),
    ("authors", "smith, j", 2, "A2 A1"),
    ("authors", "smith j a", 1, "A1"),
    ("authors", "smith john john", 2, "A2 A1"),
    ("authors", "smiths", 0, ""),
    ("outputs", "neural network", 2, "W6 W7"),
    ("outputs", "neural networks", 1, "W6"),
    ("outputs", "network neural", 2, "W7 W6"),
    ("outputs", "newtork", 0, ""),
    ("outputs", "eural", 0, ""),
    // Scripts without spaces match anywhere in a word, other scripts at the start of a word.
    ("institutions", "京大", 1, "I5"),
    ("institutions", "東京", 1, "I5"),
    ("institutions", "大学", 2, "I5 I6"),
    ("institutions", "京", 2, "I6 I5"),
    ("institutions", "京大学", 1, "I5"),
    ("institutions", "東京 大学", 1, "I5"),
    ("institutions", "東大", 0, ""),
    ("institutions", "京都 university", 1, "I6"),
    ("institutions", "대학", 1, "I11"),
    ("institutions", "서울", 1, "I11"),
    ("institutions", "มหาวิทยาลัย", 1, "I10"),
    ("institutions", "จุฬา", 1, "I10"),
    ("institutions", "моск", 1, "I8"),
    ("institutions", "УНИВЕРСИТЕТ МОСКОВСКИЙ", 1, "I8"),
    ("institutions", "ломоносова м", 1, "I8"),
    ("institutions", "оносова", 0, ""),
    ("institutions", "мгу", 1, "I8"),
    ("institutions", "جامعة", 1, "I9"),
    ("institutions", "الازهر", 1, "I9"),
    ("institutions", "الأز", 1, "I9"),
    ("institutions", "أزهر", 0, ""),
    ("institutions", "al azhar", 1, "I9"),
    // The closest name first, then the most cited; records without a count last.
    ("outputs", "attention", 5, "W2 W1 W3 W4 W5"),
    ("outputs", "ATTENTION!", 5, "W2 W1 W3 W4 W5"),
    ("outputs", "attentio", 5, "W1 W2 W3 W4 W5"),
    ("outputs", "attention is", 2, "W1 W5"),
    ("outputs", "is attention", 2, "W5 W1"),
    ("outputs", "on attention", 1, "W4"),
    ("", "nature", 5, "S1 S2 T1 F1 P1"),
    ("", "nature ", 5, "S1 S2 T1 F1 P1"),
    ("", "natur", 5, "S1 S2 T1 F1 P1"),
    ("publishers", "nature", 1, "P1"),
    // A prefix of an alternative name ranks before a more cited record with the word elsewhere.
    ("institutions", "university", 7, "I12 I5 I6 I8 I11 I9 I10"),
    ("institutions", "univ copen", 1, "I12"),
    ("", "equal rank", 11, "I20 A20 W20 W100 S20 P20 F20 T20 9 99"),
    ("", "rank", 11, "I20 A20 W20 W100 S20 P20 F20 T20 9 99"),
    ("", "feld", 1, "99"),
    ("topics", "equal", 1, "T20"),
    // More matches than the reply shows.
    ("authors", "zhang", 12, "A112 A111 A110 A109 A108 A107 A106 A105 A104 A102"),
    ("authors", "wei zhang", 12, "A112 A111 A110 A109 A108 A107 A106 A105 A104 A102"),
    ("", "zhang wei", 12, "A112 A111 A110 A109 A108 A107 A106 A105 A104 A102"),
    // One letter.
    ("sources", "z", 1, "S3"),
    ("sources", "N", 2, "S1 S2"),
    ("outputs", "n", 4, "W6 W1 W7 W5"),
    ("authors", "b", 2, "A8 A4"),
    ("institutions", "大", 2, "I5 I6"),
    // Complete ids in every accepted form.
    ("outputs", "10.48550/arXiv.1706.03762", 1, "W1"),
    ("", "10.48550/ARXIV.1706.03762", 1, "W1"),
    ("", "https://doi.org/10.48550/arxiv.1706.03762", 1, "W1"),
    ("", "http://dx.doi.org/10.48550/arXiv.1706.03762", 1, "W1"),
    ("", "doi:10.48550/arXiv.1706.03762", 1, "W1"),
    ("", "10.48550/arXiv.1706.0376", 0, ""),
    ("sources", "10.48550/arXiv.1706.03762", 0, ""),
    ("", "10.13039/501100001659", 1, "F2"),
    ("outputs", "10.5555/nameless", 1, "W10"),
    ("", "0000-0002-1825-0097", 1, "A1"),
    ("authors", "https://orcid.org/0000-0002-1825-0097", 1, "A1"),
    ("", "HTTP://ORCID.ORG/0000-0002-1825-0097", 1, "A1"),
    ("", "0000-0002-1825-0098", 0, ""),
    ("", "01ggx4157", 2, "I1 F3"),
    ("", "https://ror.org/01GGX4157", 2, "I1 F3"),
    ("funders", "https://ror.org/01ggx4157", 1, "F3"),
    ("publishers", "https://ror.org/02scfj030", 1, "P2"),
    ("publishers", "https://www.wikidata.org/entity/Q746413", 0, ""),
    ("", "0028-0836", 1, "S1"),
    ("sources", "1476-4687", 1, "S1"),
    ("sources", "https://portal.issn.org/resource/ISSN/2041-1723", 1, "S2"),
    ("", "2041-1724", 0, ""),
    ("", "HX_I1", 1, "I1"),
    ("", "hx_i1", 1, "I1"),
    ("institutions", "Hx_i1", 1, "I1"),
    ("authors", "HX_I1", 0, ""),
    ("", "HX_I01", 0, ""),
    ("", "HX_I", 0, ""),
    ("", "I1", 1, "I1"),
    ("", "https://openalex.org/i1", 1, "I1"),
    ("", "HX_I999999", 0, ""),
    // An id merged twice, and an id merged into a missing record.
    ("", "HX_I90", 1, "I1"),
    ("institutions", "hx_i91", 1, "I1"),
    ("", "HX_I92", 0, ""),
    // Queries without a letter or digit.
    ("", "?!", 0, ""),
    ("", "*", 0, ""),
    ("", "😀", 0, ""),
    ("", "<b></b>", 0, ""),
    ("", "\u{301}", 0, ""),
];

/// Formats the count and the ids of a body; returns an error body unchanged.
fn summary(body: &Value) -> String {
    let Some(results) = body["results"].as_array() else { return body.to_string() };
    let ids = results.iter().map(|item| item["id"].as_str().unwrap().replace("HX_", ""));
    format!("{}: {}", body["meta"]["count"], ids.collect::<Vec<_>>().join(" "))
}

/// Runs all cases of a dump with the oracle.
#[track_caller]
pub fn check_oracle(cases: &[Case<'_>], dump: &Path) {
    let library = pinakes_oracle::read(&[dump.to_path_buf()]).unwrap();
    let autocomplete = Autocomplete::new(&library);
    check(cases, |entity_type, raw| autocomplete.answer(entity_type, raw).unwrap().body());
}

/// Runs all cases of a dump with the server.
#[track_caller]
pub fn check_server(cases: &[Case<'_>], dump: &Path) {
    let pair = ServerAndOracle::from_inputs(&[dump.to_path_buf()]);
    let mut connection = pair.server.connect();
    check(cases, |entity_type, raw| connection.get(&target(entity_type, raw)).json());
    pair.server.end(&[]);
}

#[track_caller]
fn check(cases: &[Case<'_>], mut ask: impl FnMut(Option<&str>, &str) -> Value) {
    let mut rng = SeededRng(5);
    let mut wrong = Vec::new();
    for (entity_type, query, count, first) in cases {
        let raw = format!("query={}", percent_encode(&mut rng, query));
        let found = summary(&ask(Some(*entity_type).filter(|of| !of.is_empty()), &raw));
        let expected = format!("{count}: {first}");
        if found != expected {
            wrong.push(format!("{entity_type} {query:?}: expected {expected}, found {found}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

#[test]
fn the_oracle_finds_the_records_that_people_mean() {
    check_oracle(CASES, dump::write().path());
}

#[test]
fn the_server_finds_the_records_that_people_mean() {
    check_server(CASES, dump::write().path());
}
