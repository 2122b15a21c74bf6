//! A small dump with difficult names: acronyms, apostrophes, many scripts and equal names.

use serde_json::{Value, json};

/// Authors with the same name.
const NAMESAKES: u64 = 12;

/// Writes the dump to a temporary directory.
pub fn write() -> tempfile::TempDir {
    let dump = tempfile::tempdir().unwrap();
    let merges =
        "merge_date,id,merge_into_id\n2026-01-15,I90,I91\n2026-01-15,I91,I1\n2026-01-15,I92,I93\n";
    let files = [
        ("works.jsonl", works()),
        ("authors.jsonl", authors()),
        ("sources.jsonl", sources()),
        ("institutions.jsonl", institutions()),
        ("publishers.jsonl", publishers()),
        ("funders.jsonl", funders()),
        ("topics.jsonl", topics()),
        ("domains.jsonl", level(9, "Q9", &[])),
        ("fields.jsonl", level(99, "Q99", &["Feld 99"])),
        ("subfields.jsonl", level(999, "Q999", &[])),
    ];
    let files = files.map(|(name, records)| {
        (name, records.iter().map(|record| format!("{record}\n")).collect::<String>())
    });
    pinakes_tests::write_files(dump.path(), files);
    pinakes_tests::write_files(dump.path(), [("merged_ids/institutions/2026-01-15.csv", merges)]);
    dump
}

/// Makes a record of the given members.
fn record(id: &str, name: &str, cited_by_count: Option<u64>, more: Value) -> Value {
    let mut record = json!({
        "id": format!("https://openalex.org/{id}"),
        "display_name": name,
        "updated_date": "2026-01-10",
    });
    if let Some(count) = cited_by_count {
        record["cited_by_count"] = count.into();
    }
    for (member, value) in more.as_object().into_iter().flatten() {
        record[member] = value.clone();
    }
    record
}

fn institutions() -> Vec<Value> {
    let institution = |id: &str, name: &str, cited, acronyms: &[&str], alternatives: &[&str]| {
        let names =
            json!({ "display_name_acronyms": acronyms, "display_name_alternatives": alternatives });
        record(id, name, cited, names)
    };
    let mut cern = institution(
        "I1",
        "European Organization for Nuclear Research",
        Some(900),
        &["CERN"],
        &["Organisation européenne pour la recherche nucléaire"],
    );
    cern["ror"] = "https://ror.org/01ggx4157".into();
    cern["works_count"] = 80.into();
    vec![
        cern,
        institution("I2", "Massachusetts Institute of Technology", Some(5_000), &["MIT"], &[]),
        institution("I3", "Mitsubishi Electric (Japan)", Some(50), &[], &[]),
        institution(
            "I4",
            "Centre Hospitalier Universitaire de Rennes",
            Some(300),
            &["CHU Rennes"],
            &[],
        ),
        institution("I5", "東京大学", Some(4_000), &[], &["The University of Tokyo"]),
        institution("I6", "京都大学", Some(3_500), &[], &["Kyoto University"]),
        institution("I7", "Université Jean Monnet, Saint-Étienne", Some(100), &[], &[]),
        institution(
            "I8",
            "Московский государственный университет имени М.В. Ломоносова",
            Some(800),
            &["МГУ", "MSU"],
            &["Lomonosov Moscow State University"],
        ),
        institution("I9", "جامعة الأزهر", Some(200), &[], &["Al-Azhar University"]),
        institution("I10", "จุฬาลงกรณ์มหาวิทยาลัย", Some(150), &[], &["Chulalongkorn University"]),
        institution("I11", "서울대학교", Some(700), &["SNU"], &["Seoul National University"]),
        institution("I12", "Københavns Universitet", Some(600), &[], &["University of Copenhagen"]),
        institution("I13", "Politechnika Łódzka", Some(90), &[], &[]),
        institution("I14", "Justus-Liebig-Universität Gießen", None, &[], &[]),
        institution("I15", "Ærø Museum", Some(1), &[], &[]),
        institution("I20", "Equal Rank", Some(33), &[], &[]),
    ]
}

fn authors() -> Vec<Value> {
    let author = |id: &str, name: &str, cited, alternatives: &[&str]| {
        record(id, name, cited, json!({ "display_name_alternatives": alternatives }))
    };
    let mut john = author("A1", "John Smith", Some(70), &["J. Smith", "Smith, J. A."]);
    john["orcid"] = "https://orcid.org/0000-0002-1825-0097".into();
    john["works_count"] = 9.into();
    let mut authors = vec![
        john,
        author("A2", "Smith Johnson", Some(300), &[]),
        author("A3", "Conan O’Brien", Some(40), &[]),
        author("A4", "Flann O'Brien", Some(60), &["Brian O'Nolan"]),
        author("A5", "Ana OBrien", None, &[]),
        author("A6", "José María Núñez", Some(5), &[]),
        author("A7", "Nguyễn Văn An", Some(8), &[]),
        author("A8", "Brien Oates", Some(2), &[]),
        author("A20", "Equal Rank", Some(33), &[]),
    ];
    // The third author of the name has no count; the counts of the others are 1 to 12.
    let namesake = |number: u64| {
        let cited = Some(number).filter(|number| *number != 3);
        author(&format!("A{}", 100 + number), "Zhang Wei", cited, &[])
    };
    authors.extend((1..=NAMESAKES).map(namesake));
    authors
}

fn works() -> Vec<Value> {
    let work = |id: &str, name: &str, cited| record(id, name, cited, json!({ "title": name }));
    let mut attention = work("W1", "Attention Is All You Need", Some(1_000));
    attention["doi"] = "https://doi.org/10.48550/arXiv.1706.03762".into();
    let nameless = json!({
        "id": "https://openalex.org/W10",
        "doi": "https://doi.org/10.5555/nameless",
        "updated_date": "2026-01-10",
    });
    vec![
        attention,
        work("W2", "Attention", Some(5)),
        work("W3", "Attention deficits", None),
        work("W4", "On attention", Some(2_000)),
        work("W5", "Is attention all you need?", Some(3)),
        work("W6", "Neural networks", Some(20)),
        work("W7", "A neural network", Some(25)),
        work("W8", "<i>Drosophila</i> α-amylase at 37°C", Some(4)),
        work("W9", "COVID-19 in 2020", Some(77)),
        nameless,
        work("W20", "Equal Rank", Some(33)),
        work("W100", "Equal rank", Some(33)),
    ]
}

fn sources() -> Vec<Value> {
    let source = |id: &str, name: &str, cited: u64, issns: &[&str], titles: &[&str]| {
        let more = json!({ "issn_l": issns.first(), "issn": issns, "alternate_titles": titles });
        record(id, name, Some(cited), more)
    };
    vec![
        source("S1", "Nature", 9_000, &["0028-0836", "1476-4687"], &[]),
        source("S2", "Nature Communications", 8_000, &["2041-1723"], &[]),
        source("S3", "Zeitschrift für Physik", 400, &[], &["Z. Phys."]),
        source("S20", "Equal Rank", 33, &[], &[]),
    ]
}

fn publishers() -> Vec<Value> {
    let publisher = |id: &str, name: &str, cited, titles: &[&str], ids: Value| {
        record(id, name, cited, json!({ "alternate_titles": titles, "ids": ids }))
    };
    let wikidata = "https://www.wikidata.org/entity/Q180419";
    let elsevier = json!({ "ror": "https://ror.org/02scfj030", "wikidata": "https://www.wikidata.org/entity/Q746413" });
    vec![
        publisher(
            "P1",
            "Springer Nature",
            Some(9_500),
            &["Nature Publishing Group"],
            json!({ "wikidata": wikidata }),
        ),
        publisher("P2", "Elsevier BV", None, &[], elsevier),
        publisher("P20", "Equal Rank", Some(33), &[], Value::Null),
    ]
}

fn funders() -> Vec<Value> {
    let funder = |id: &str, name: &str, cited, titles: &[&str], ids: Value| {
        record(id, name, cited, json!({ "alternate_titles": titles, "ids": ids }))
    };
    let conservancy = json!({ "doi": "https://doi.org/10.13039/100015540" });
    let dfg = json!({ "ror": "https://ror.org/018mejw64", "doi": "https://doi.org/10.13039/501100001659" });
    let cern = json!({ "ror": "https://ror.org/01ggx4157" });
    vec![
        funder("F1", "Nature Conservancy", Some(10), &[], conservancy),
        funder(
            "F2",
            "Deutsche Forschungsgemeinschaft",
            Some(6_000),
            &["DFG", "German Research Foundation"],
            dfg,
        ),
        funder("F3", "CERN", Some(30), &[], cern),
        funder("F20", "Equal Rank", Some(33), &[], Value::Null),
    ]
}

fn topics() -> Vec<Value> {
    let topic = |id: &str, name: &str, cited: u64, ids: Value| {
        let above = |id: u64| json!({ "id": id, "display_name": "Equal Rank" });
        let more = json!({
            "ids": ids, "subfield": above(999), "field": above(99), "domain": above(9),
        });
        record(id, name, Some(cited), more)
    };
    let wikipedia = json!({ "wikipedia": "https://en.wikipedia.org/wiki/Nature-based_solutions" });
    vec![
        topic("T1", "Nature-Based Solutions", 500, wikipedia),
        topic("T20", "Equal Rank", 33, Value::Null),
    ]
}

/// Makes the one record of a taxonomy level.
fn level(id: u64, wikidata: &str, alternatives: &[&str]) -> Vec<Value> {
    let mut record = json!({
        "id": id,
        "display_name": "Equal Rank",
        "display_name_alternatives": alternatives,
        "ids": { "wikidata": format!("https://www.wikidata.org/entity/{wikidata}") },
        "works_count": id,
        "cited_by_count": 33,
        "updated_date": "2026-01-10",
    });
    for (above, member) in [(9, "domain"), (99, "field")] {
        if above < id {
            record[member] = json!({ "id": above, "display_name": "Equal Rank" });
        }
    }
    vec![record]
}
