//! `GET /match/institutions` and `/match/sources`: affiliations, and names of journals.

use pinakes_tests::client::Connection;
use pinakes_tests::server::{Server, Snapshots};
use serde_json::{Value, json};

use crate::matching::candidates;

/// An institution: number, name, acronym, alternative name, city, country, parent.
type Institution = (u64, &'static str, &'static str, &'static str, &'static str, &'static str, u64);

const INSTITUTIONS: [Institution; 24] = [
    (1, "University of Chicago", "", "UChicago", "Chicago", "US", 0),
    (2, "Argonne National Laboratory", "ANL", "", "Lemont", "US", 0),
    (
        3,
        "Karlsruhe Institute of Technology",
        "KIT",
        "Karlsruher Institut für Technologie",
        "Karlsruhe",
        "DE",
        0,
    ),
    (
        4,
        "Technical University of Munich",
        "TUM",
        "Technische Universität München",
        "Munich",
        "DE",
        0,
    ),
    (5, "Klinikum rechts der Isar", "", "", "Munich", "DE", 4),
    (6, "University of Warsaw", "UW", "Uniwersytet Warszawski", "Warsaw", "PL", 0),
    (7, "Emory University", "", "", "Atlanta", "US", 0),
    (8, "Ashgrove College", "", "", "Ashgrove", "US", 0),
    (9, "Ashgrove College", "", "", "Ashgrove", "AU", 0),
    (10, "Northern Lakes University", "", "", "Lakeside", "US", 0),
    (11, "Northumbria University", "", "", "Newcastle upon Tyne", "GB", 0),
    (
        12,
        "Newcastle University",
        "",
        "University of Newcastle upon Tyne",
        "Newcastle upon Tyne",
        "GB",
        0,
    ),
    (13, "Chongqing University", "", "", "Chongqing", "CN", 0),
    (14, "Université Paris Cité", "", "University of Paris", "Paris", "FR", 0),
    (15, "University of Education", "", "", "Lahore", "PK", 0),
    (16, "University of Okara", "", "University of Education, Lahore", "Okara", "PK", 0),
    (17, "University of Newcastle Australia", "", "", "Newcastle", "AU", 0),
    (
        18,
        "University Medical Center Ostheim",
        "",
        "Universitätsklinikum Ostheim",
        "Ostheim am Rhein",
        "DE",
        0,
    ),
    (19, "Emory University Medical College", "", "", "Atlanta", "US", 7),
    (20, "Post Graduate Institute of Medical Education", "", "", "Chandigarh", "IN", 0),
    (21, "Department of Health and Social Care", "", "", "London", "GB", 0),
    (22, "Università degli Studi di Torino", "", "", "Turin", "IT", 0),
    (23, "Grand Teton National Park", "", "", "Grand Teton National Park", "US", 0),
    (24, "Centre Hospitalier Sainte-Anne", "", "", "Paris", "FR", 0),
];

/// A source: number, name, alternate title, ISSN.
const SOURCES: [(u64, &str, &str, &str); 6] = [
    (1, "Journal of Biological Chemistry", "", "0021-9258"),
    (
        2,
        "Proceedings of the National Academy of Sciences of the United States of America",
        "PNAS",
        "0027-8424",
    ),
    (3, "Annalen der Physik", "", "0003-3804"),
    (4, "Annals of Physics", "", "0003-4916"),
    (5, "Nature", "", "0028-0836"),
    (6, "Nature Physics", "", "1745-2473"),
];

/// Publishes the institutions and sources, and others that share their common words.
fn snapshots() -> Snapshots {
    let institution = |(id, name, acronym, other, city, country, parent): Institution| {
        let given = |text: &str| if text.is_empty() { vec![] } else { vec![text.to_owned()] };
        let parents = if parent == 0 { vec![] } else { vec![parent] };
        let parent = |id: u64| json!({ "id": format!("https://openalex.org/I{id}"), "relationship": "parent" });
        json!({
            "id": format!("https://openalex.org/I{id}"),
            "display_name": name,
            "display_name_acronyms": given(acronym),
            "display_name_alternatives": given(other),
            "country_code": country,
            "geo": { "city": city, "country_code": country },
            "associated_institutions": parents.into_iter().map(parent).collect::<Vec<_>>(),
            "updated_date": "2026-01-10",
        })
    };
    let mut institutions: Vec<Value> = INSTITUTIONS.into_iter().map(institution).collect();
    let mut sources: Vec<Value> = Vec::new();
    for (id, name, other, issn) in SOURCES {
        let others = if other.is_empty() { vec![] } else { vec![other] };
        sources.push(json!({
            "id": format!("https://openalex.org/S{id}"),
            "display_name": name,
            "alternate_titles": others,
            "issn": [issn],
            "issn_l": issn,
            "type": "journal",
            "updated_date": "2026-01-10",
        }));
    }
    for id in 1_000..3_000 {
        let place = format!("Town{id}");
        let name = match id % 4 {
            0 => format!("University of {place}"),
            1 => format!("{place} National Laboratory"),
            2 => format!("{place} Institute of Technology"),
            _ => format!("{place} Hospital College"),
        };
        institutions.push(institution((id, &*name.leak(), "", "", place.leak(), "FR", 0)));
        sources.push(json!({
            "id": format!("https://openalex.org/S{id}"),
            "display_name": format!("Journal of National Sciences and Physics, series {id}"),
            "type": "journal",
            "updated_date": "2026-01-10",
        }));
    }
    let lines = |records: Vec<Value>| {
        records.iter().map(|record| format!("{record}\n")).collect::<String>()
    };
    let dump = tempfile::tempdir().unwrap();
    pinakes_tests::write_files(
        dump.path(),
        [("institutions.jsonl", lines(institutions)), ("sources.jsonl", lines(sources))],
    );
    Snapshots::from_inputs(&[dump.path().to_path_buf()])
}

/// Checks which records are sure, in order.
#[track_caller]
fn check(connection: &mut Connection, entity: &str, given: &[(&str, &str)], expected: &[u64]) {
    let found = candidates(connection, entity, given);
    let sure = found.as_array().unwrap().iter().filter(|of| of["match"] == true);
    let ids: Vec<u64> = sure.map(|of| of["id"].as_str().unwrap()[4..].parse().unwrap()).collect();
    assert_eq!(ids, expected, "{given:?}: {found:#}");
}

#[test]
fn an_affiliation_finds_the_institutions_that_it_names() {
    let snapshots = snapshots();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    for (text, expected) in [
        ("Department of Chemistry, University of Chicago, Chicago, IL 60637, USA", &[1][..]),
        ("Dept. of Chem., Univ. of Chicago, Chicago, Illinois", &[1]),
        // Alternative names, acronyms with their city, and a school of a university.
        ("Karlsruher Institut für Technologie, 76131 Karlsruhe, Germany", &[3]),
        ("Steinbuch Centre, KIT, Karlsruhe, Germany", &[3]),
        ("A first aid kit, Karlsruhe, Germany", &[]),
        ("KIT, Berlin, Germany", &[]),
        ("Emory School of Medicine, Atlanta, Georgia, USA", &[7]),
        // Several institutions, in the order of the text; a parent gives way to its child.
        (
            "Argonne National Laboratory, Lemont, IL, USA; University of Chicago, Chicago, IL, USA",
            &[2, 1],
        ),
        ("Klinikum rechts der Isar, Technische Universität München, Munich, Germany", &[5]),
        ("Lehrstuhl für Physik, Technische Universität München, Munich, Germany", &[4]),
        // A whole name beats a shorter name that the city completes, and a former name of another institution.
        ("Northumbria Univ, Newcastle Upon Tyne NE1 8ST, Tyne & Wear, England", &[11]),
        ("School of Engineering, Newcastle University, Newcastle upon Tyne, UK", &[12]),
        ("University of Education, Lahore, Pakistan", &[15]),
        // Names without their place, and other words for a hospital.
        ("University of Newcastle, Callaghan, NSW 2308, Australia", &[17]),
        ("Clinic of Surgery, Ostheim University Hospital, Ostheim, Germany", &[18]),
        ("Universitätsklinikum Ostheim, 79106 Ostheim, Germany", &[18]),
        ("hôpital Sainte-Anne, 100, rue de la Santé, 75674 Paris, France", &[24]),
        ("Postgraduate Institute of Medical Education, Chandigarh", &[20]),
        ("Università di Torino, Torino, Italy", &[22]),
        // A school that has a record beats its university. Without a record, the university is found, in another city too.
        ("Emory University Medical College, Atlanta, USA", &[19]),
        ("Emory Medical School, Chicago, USA", &[7]),
        // Departments and places that are records.
        ("Department of Health and Social Care, London, UK", &[21]),
        ("Department of Health, Paris, France", &[]),
        ("Grand Teton National Park, USA", &[23]),
        // A hospital is not its university.
        ("Chongqing University, Chongqing, China", &[13]),
        ("Chongqing University Cancer Hospital, Chongqing, China", &[]),
        // The country decides between equal names, or nothing does.
        ("Ashgrove College, Ashgrove, Australia", &[9]),
        ("Ashgrove College, Ashgrove", &[]),
        ("Ashgrove College, Ashgrove, New Zealand", &[]),
        // Names of other institutions that have the words of a name.
        ("Warsaw University of Technology, Warsaw, Poland", &[]),
        ("Catholic University of Warsaw, Warsaw, Poland", &[]),
        ("Southern Lakes University, Lakeside, USA", &[]),
        ("Faculty of Law, University of Warsaw, Warsaw, Poland", &[6]),
        ("Department of Surgery, General Hospital, Paris, France", &[]),
        ("Independent researcher", &[]),
        ("https://openalex.org/I6", &[6]),
    ] {
        check(&mut connection, "institutions", &[("text", text)], expected);
    }
    let paris = candidates(&mut connection, "institutions", &[("text", "University of Paris")]);
    assert_eq!(paris[0]["id"], "HX_I14", "{paris:#}");
    let college = ("text", "Ashgrove College, Ashgrove");
    for country in ["AU", "Australia"] {
        check(&mut connection, "institutions", &[college, ("country", country)], &[9]);
    }
    server.end(&[]);
}

#[test]
fn a_journal_is_found_by_its_name_its_abbreviation_and_its_issn() {
    let snapshots = snapshots();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    for (text, expected) in [
        ("Journal of Biological Chemistry", &[1][..]),
        ("The Journal of biological chemistry", &[1]),
        ("J. Biol. Chem.", &[1]),
        ("J Biol Chem", &[1]),
        ("0021-9258", &[1]),
        ("ISSN 0021-9258", &[1]),
        ("PNAS", &[2]),
        ("Proc. Natl. Acad. Sci. U.S.A.", &[2]),
        ("Annals of Physics", &[4]),
        // An abbreviation of two journals.
        ("Ann. Phys.", &[]),
        ("Nature", &[5]),
        ("Nat. Phys.", &[6]),
        ("Journal of Nothing", &[]),
        ("0000-0000", &[]),
    ] {
        check(&mut connection, "sources", &[("text", text)], expected);
    }
    server.end(&[]);
}

#[test]
fn a_journal_that_articles_alone_name_is_found_by_its_abbreviation() {
    let snapshots = super::snapshots();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    for (text, expected) in [
        ("Journal of Careful Studies", &[1][..]),
        ("J. Careful Stud.", &[1]),
        ("J Careful Studies", &[1]),
        ("Journal of Careful Study Designs", &[]),
        ("Studies", &[]),
    ] {
        check(&mut connection, "sources", &[("text", text)], expected);
    }
    let found = candidates(&mut connection, "sources", &[("text", "J. Careful Stud.")]);
    assert_eq!(found[0]["name"], "Journal of Careful Studies");
    assert_eq!(connection.get("/sources/HX_S1").status, 404);
    server.end(&[]);
}
