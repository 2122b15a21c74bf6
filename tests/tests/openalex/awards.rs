//! Awards: their records, lists and groups, against the lines that they were compiled from.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use pinakes_tests::client::Connection;
use pinakes_tests::server::{Server, Snapshots, command};
use pinakes_tests::{build, write_files};
use serde_json::{Value, json};

const COUNT: u64 = 60;

fn person(given: &str, family: &str, orcid: Value) -> Value {
    json!({"given_name": given, "family_name": family, "orcid": orcid, "role_start": "2020-01-01",
           "affiliation": {"name": "Example University", "country": "GB", "ids": [
               {"id": "https://ror.org/013meh722", "type": "ROR", "asserted_by": "publisher"}]}})
}

/// An award in all members that OpenAlex documents. Members differ by the number.
fn award(number: u64) -> Value {
    let id = format!("https://openalex.org/G{number}");
    let funder = 1 + number % 3;
    let institution = 1 + number % 2;
    let start = 2000 + number % 7;
    let topic = json!({"id": "https://openalex.org/T1", "display_name": "Testing",
        "subfield": {"id": "https://openalex.org/subfields/1712", "display_name": "Software"},
        "field": {"id": "https://openalex.org/fields/17", "display_name": "Computer Science"},
        "domain": {"id": "https://openalex.org/domains/3", "display_name": "Physical Sciences"}});
    let mut line = json!({
        "id": id,
        "display_name": format!("A study of {} and probes", ["moss", "ferns", "algae", "lichen"][number as usize % 4]),
        "description": format!("The project number {number} looks at plants."),
        "funder_award_id": format!("EP/X{number:04}/1"),
        "funder": {"id": format!("https://openalex.org/F{funder}"), "display_name": format!("Fund {funder}"),
                   "ror": format!("https://ror.org/0{funder}abcde01"), "doi": format!("https://doi.org/10.13039/{funder}")},
        "funded_outputs_count": number % 5,
        "amount": 1000.0 * number as f64 + 0.5,
        "currency": if number.is_multiple_of(4) { "EUR" } else { "GBP" },
        "funding_type": if number.is_multiple_of(3) { "fellowship" } else { "grant" },
        "funder_scheme": format!("Scheme {}", number % 6),
        "start_date": format!("{start}-10-01"),
        "end_date": format!("{}-09-30", start + 3),
        "start_year": start,
        "end_year": start + 3,
        "landing_page_url": format!("https://grants.example/{number}"),
        "doi": format!("https://doi.org/10.35802/{number}"),
        "provenance": if number.is_multiple_of(2) { "gtr" } else { "crossref_grant" },
        "lead_investigator": person("Ada", "Lovelace", json!("https://orcid.org/0000-0002-1825-0097")),
        "co_lead_investigator": null,
        "investigators": [person("Bo", "Dyke", Value::Null)],
        "institution_awarded": [{"id": format!("https://openalex.org/I{institution}"), "display_name": "Institute"}],
        "primary_topic": topic,
        "topics": [topic],
        "works_api_url": format!("https://api.openalex.org/works?filter=awards.id:G{number}"),
        "updated_date": "2026-01-10T08:15:30.123456",
        "created_date": "2025-12-02T00:36:59.534947",
    });
    if number == 7 {
        // Most awards have few members.
        line = json!({"id": id, "funder_award_id": 633_053, "updated_date": "2026-01-10"});
    }
    line
}

fn files() -> Vec<(&'static str, Vec<Value>)> {
    let works = vec![
        json!({"id": "https://openalex.org/W1", "title": "one", "funders": [{"id": "https://openalex.org/F1", "display_name": "Fund 1"}],
               "awards": [{"id": "https://openalex.org/G3", "funder_id": "https://openalex.org/F1", "funder_award_id": "EP/X0003/1"}]}),
        json!({"id": "https://openalex.org/W2", "title": "two", "funders": [{"id": "https://openalex.org/F1", "display_name": "Fund 1"}],
               "awards": [{"id": "https://openalex.org/G3", "funder_id": "https://openalex.org/F1"},
                          {"id": "https://openalex.org/G900", "funder_id": "https://openalex.org/F1"}]}),
        json!({"id": "https://openalex.org/W3", "title": "three"}),
    ];
    let funders = (1..=3).map(|number| {
        json!({"id": format!("https://openalex.org/F{number}"), "display_name": format!("Fund {number}"),
               "ids": {"ror": format!("https://ror.org/0{number}abcde01"), "doi": format!("https://doi.org/10.13039/{number}")}})
    });
    let institutions = (1..=2).map(|number| {
        json!({"id": format!("https://openalex.org/I{number}"), "display_name": "Institute", "type": "education",
               "ror": format!("https://ror.org/0{number}xyzab02"), "country_code": if number == 1 { "FR" } else { "US" },
               "lineage": [format!("https://openalex.org/I{number}"), "https://openalex.org/I9"]})
    });
    let topics = json!({"id": "https://openalex.org/T1", "display_name": "Testing",
        "subfield": {"id": "https://openalex.org/subfields/1712", "display_name": "Software"},
        "field": {"id": "https://openalex.org/fields/17", "display_name": "Computer Science"},
        "domain": {"id": "https://openalex.org/domains/3", "display_name": "Physical Sciences"}});
    vec![
        ("works", works),
        ("awards", (1..=COUNT).map(award).collect()),
        ("funders", funders.collect()),
        ("institutions", institutions.collect()),
        ("topics", vec![topics]),
    ]
}

fn dump() -> tempfile::TempDir {
    let dump = tempfile::tempdir().unwrap();
    let text = |lines: Vec<Value>| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    write_files(
        dump.path(),
        files().into_iter().map(|(list, of)| (format!("{list}.jsonl"), text(of))),
    );
    dump
}

fn serve() -> (Snapshots, Server) {
    let snapshots = Snapshots::from_inputs(&[dump().path().to_path_buf()]);
    let server = Server::serve(&snapshots);
    (snapshots, server)
}

#[track_caller]
fn get(connection: &mut Connection, target: &str) -> Value {
    let reply = connection.get(target);
    assert_eq!(reply.status, 200, "{target}: {}", reply.text());
    reply.json()
}

/// The numbers of the awards on all pages of a list, by cursor.
#[track_caller]
fn all(connection: &mut Connection, query: &str) -> Vec<u64> {
    let (mut cursor, mut numbers) = ("*".to_owned(), Vec::new());
    loop {
        let page = get(
            connection,
            &format!(
                "/openalex/awards?{}&select=id&per_page=7&cursor={cursor}",
                query.replace(' ', "%20")
            ),
        );
        let results = page["results"].as_array().unwrap();
        numbers.extend(results.iter().map(|award| {
            award["id"]
                .as_str()
                .unwrap()
                .strip_prefix("https://openalex.org/G")
                .unwrap()
                .parse::<u64>()
                .unwrap()
        }));
        assert!(numbers.len() as u64 <= page["meta"]["count"].as_u64().unwrap());
        match page["meta"]["next_cursor"].as_str() {
            Some(next) => cursor = next.to_owned(),
            None => return numbers,
        }
    }
}

#[test]
fn an_award_has_the_members_of_its_line() {
    let (_snapshots, server) = serve();
    let mut connection = server.connect();
    for number in 1..=COUNT {
        let line = award(number);
        let mut record = get(&mut connection, &format!("/openalex/awards/G{number}"));
        if number == 7 {
            assert_eq!(record["funder_award_id"], "633053");
            assert_eq!(record["funder"], Value::Null);
            continue;
        }
        // An institution is shown as its own record has it.
        let institution = 1 + number % 2;
        assert_eq!(
            record["institution_awarded"],
            json!([{"id": format!("https://openalex.org/I{institution}"), "display_name": "Institute",
                    "ror": format!("https://ror.org/0{institution}xyzab02"), "country_code": if institution == 1 { "FR" } else { "US" },
                    "type": "education",
                    "lineage": [format!("https://openalex.org/I{institution}"), "https://openalex.org/I9"]}])
        );
        record["institution_awarded"] = line["institution_awarded"].clone();
        assert_eq!(record, line);
    }
    for target in [
        "/openalex/G12",
        "/openalex/awards/https://openalex.org/G12",
        "/openalex/awards/doi:10.35802/12",
    ] {
        assert_eq!(get(&mut connection, target)["funder_award_id"], "EP/X0012/1", "{target}");
    }
    assert_eq!(connection.get("/openalex/awards/G61").status, 404);
    assert_eq!(get(&mut connection, "/awards/HX_G12")["funder"]["name"], "Fund 1");
    assert_eq!(connection.get("/awards/HX_G61").status, 404);
    server.end(&[]);
}

#[test]
fn filters_sorts_and_groups_of_awards_are_those_of_the_lines() {
    let (_snapshots, server) = serve();
    let mut connection = server.connect();
    let lines: BTreeMap<u64, Value> = (1..=COUNT).map(|number| (number, award(number))).collect();
    let mut check = |filter: &str, matches: &dyn Fn(u64, &Value) -> bool| {
        let found: BTreeSet<u64> =
            all(&mut connection, &format!("filter={filter}")).into_iter().collect();
        let expected: BTreeSet<u64> = lines
            .iter()
            .filter(|(number, line)| matches(**number, line))
            .map(|(number, _)| *number)
            .collect();
        assert!(!expected.is_empty(), "{filter}");
        assert_eq!(found, expected, "{filter}");
    };
    check("funder.id:F2", &|_, line| line["funder"]["id"] == "https://openalex.org/F2");
    check("funder.id:https://ror.org/02abcde01", &|_, line| {
        line["funder"]["id"] == "https://openalex.org/F2"
    });
    check("funder.ror:02abcde01", &|_, line| line["funder"]["id"] == "https://openalex.org/F2");
    check("funder.doi:10.13039/2", &|_, line| line["funder"]["id"] == "https://openalex.org/F2");
    check("funder_name:Fund 2", &|_, line| line["funder"]["id"] == "https://openalex.org/F2");
    check("funder_award_id:EP/X0012/1", &|number, _| number == 12);
    check("doi:https://doi.org/10.35802/12", &|number, _| number == 12);
    check("id:G12|https://openalex.org/G13", &|number, _| number == 12 || number == 13);
    check("amount:>30000", &|_, line| {
        line["amount"].as_f64().is_some_and(|amount| amount > 30_000.0)
    });
    check("start_year:2001-2003,currency:eur", &|_, line| {
        line["currency"] == "EUR"
            && line["start_year"].as_u64().is_some_and(|year| (2001..=2003).contains(&year))
    });
    check("funding_type:!grant", &|_, line| line["funding_type"] != "grant");
    check("funder_scheme:scheme 3", &|_, line| line["funder_scheme"] == "Scheme 3");
    check("provenance:gtr", &|_, line| line["provenance"] == "gtr");
    check("funded_outputs_count:4", &|_, line| line["funded_outputs_count"] == 4);
    check("institution_awarded.country_code:fr", &|number, _| number != 7 && number % 2 == 0);
    check("institution_awarded.continent:europe", &|number, _| number != 7 && number % 2 == 0);
    check("institution_awarded.lineage:I9", &|number, _| number != 7);
    check("institution_awarded.id:I2", &|number, _| number != 7 && number % 2 == 1);
    check("lead_investigator.orcid:0000-0002-1825-0097", &|number, _| number != 7);
    check("lead_investigator.family_name:lovelace", &|number, _| number != 7);
    check("lead_investigator.affiliation.country:gb", &|number, _| number != 7);
    check("primary_topic.field.id:17,topics.domain.id:3,topics.id:T1", &|number, _| number != 7);
    check("display_name.search:lichen prob", &|number, _| number != 7 && number % 4 == 3);
    check("default.search:ferns", &|number, _| number % 4 == 1);

    for (sort, member) in [
        ("amount", "amount"),
        ("start_year", "start_year"),
        ("funded_outputs_count", "funded_outputs_count"),
    ] {
        let found = all(&mut connection, &format!("sort={sort}:desc"));
        assert_eq!(found.len() as u64, COUNT);
        let values: Vec<f64> =
            found.iter().map(|number| lines[number][member].as_f64().unwrap_or(f64::MIN)).collect();
        assert!(values.is_sorted_by(|one, next| one >= next), "{sort}: {values:?}");
    }
    let searched = all(&mut connection, "search=moss");
    assert_eq!(searched.len(), 15);

    for (key, value_of) in [
        ("funder.id", &(|line: &Value| line["funder"]["id"].clone()) as &dyn Fn(&Value) -> Value),
        ("currency", &|line| line["currency"].clone()),
        ("start_year", &|line| line["start_year"].clone()),
        ("funding_type", &|line| line["funding_type"].clone()),
        ("provenance", &|line| line["provenance"].clone()),
    ] {
        let mut expected: BTreeMap<String, u64> = BTreeMap::new();
        for value in lines.values().map(value_of).filter(|value| !value.is_null()) {
            let key = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            *expected.entry(key).or_default() += 1;
        }
        let page = get(&mut connection, &format!("/openalex/awards?group_by={key}"));
        let groups = page["group_by"].as_array().unwrap().iter();
        let found: BTreeMap<String, u64> = groups
            .map(|group| {
                (group["key"].as_str().unwrap().to_owned(), group["count"].as_u64().unwrap())
            })
            .collect();
        assert_eq!(found, expected, "{key}");
    }
    server.end(&[]);
}

#[test]
fn suppressed_awards_and_funders_are_not_shown() {
    let (snapshots, server) = serve();
    server.end(&[]);
    let list = snapshots.path().join("suppressed.txt");
    fs::write(&list, "HX_G3\nHX_F3\n").unwrap();
    let mut command = command(&["--snapshots".as_ref(), snapshots.path().as_os_str()]);
    command.arg("--suppress").arg(&list);
    let server = Server::start(&mut command);
    let mut connection = server.connect();
    assert_eq!(connection.get("/openalex/awards/G3").status, 404);
    assert_eq!(all(&mut connection, "").len() as u64, COUNT - 1);
    assert!(!all(&mut connection, "filter=funder_award_id:EP/X0003/1").contains(&3));
    let page = get(&mut connection, "/openalex/awards?group_by=funder.id");
    // Award 3 is of the first fund. The third fund is suppressed, and has no name.
    assert_eq!(
        page["group_by"],
        json!([
            {"key": "https://openalex.org/F3", "key_display_name": "https://openalex.org/F3", "count": 20},
            {"key": "https://openalex.org/F1", "key_display_name": "Fund 1", "count": 19},
            {"key": "https://openalex.org/F2", "key_display_name": "Fund 2", "count": 19},
        ])
    );
    server.end(&[]);
}

#[test]
fn a_subset_has_the_awards_that_its_works_name() {
    let (dump, out) = (dump(), tempfile::tempdir().unwrap());
    let path = build(
        &[dump.path().to_path_buf()],
        out.path(),
        &["--quiet", "--where", "outputs:title:one"],
    );
    let server = Server::serve_one(&path);
    let mut connection = server.connect();
    assert_eq!(all(&mut connection, ""), [3]);
    assert_eq!(get(&mut connection, "/openalex/works?filter=awards.id:G3")["meta"]["count"], 1);
    assert_eq!(
        get(&mut connection, "/openalex/awards/G3")["funder"]["ror"],
        "https://ror.org/01abcde01"
    );
    server.end(&[]);
}

#[test]
fn a_snapshot_without_awards_lists_none() {
    let dump = tempfile::tempdir().unwrap();
    write_files(dump.path(), [("works.jsonl", files()[0].1[0].to_string())]);
    let snapshots = Snapshots::from_inputs(&[dump.path().to_path_buf()]);
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let page = get(&mut connection, "/openalex/awards?group_by=funder.id");
    assert_eq!((&page["meta"]["count"], &page["group_by"]), (&json!(0), &json!([])));
    assert_eq!(get(&mut connection, "/openalex/awards")["results"], json!([]));
    assert_eq!(get(&mut connection, "/awards")["results"], json!([]));
    assert_eq!(connection.get("/openalex/awards/G1").status, 404);
    server.end(&[]);
}
