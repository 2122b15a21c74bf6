//! Tests of journal lists: the member of each column, and precedence among several rows of a journal.

use pinakes_format::entity::Entity;
use pinakes_format::json::render::Shape;
use serde_json::{Value, json};

use super::{Run, Setup};

const DOAJ: &str = concat!(
    "Journal title,Journal URL,URL in DOAJ,When did the journal start to publish all content using an open license?,",
    "Journal ISSN (print version),Journal EISSN (online version),Languages in which the journal accepts manuscripts,",
    "Journal license,URL for license terms,URL for journal's aims & scope,URL for the Editorial Board page,",
    "URL for journal's instructions for authors,Average number of weeks between article submission and publication,",
    "APC,APC information URL,APC amount,Subjects,Added on Date,Last updated Date\n",
    "Journal of Tests,https://tests.example,https://doaj.org/toc/1234-5679,2015,12345679,2049-3630,\"English, Spanish\",",
    "\"CC BY, CC BY-NC\",https://tests.example/license,https://tests.example/aims,https://tests.example/board,",
    "https://tests.example/authors,12,Yes,https://tests.example/apc,1000 USD; 900 EUR,",
    "Medicine: Oncology | Science: Biology,2015-01-01T00:00:00Z,2024-02-03T04:05:06Z\n",
    "Elsewhere,https://elsewhere.example,,,9999-9999,,,,,,,,,No,,,,,\n",
);

/// DOAJ's list before 2020, with other headings and a separate column for the currency.
const DOAJ_2019: &str = concat!(
    "Journal title,Journal URL,Journal ISSN (print version),Journal EISSN (online version),APC amount,Currency,",
    "First calendar year journal provided online Open Access content,Full text language,",
    "Average number of weeks between submission and publication,Journal license,URL for license terms,Added on Date,Subjects\n",
    "Journal of Tests,https://old.example,1234-5679,,700,EUR - Euro,2009,English,20,CC BY-SA,,2015-03-04,Old subject\n",
);

const SCIMAGO: &str = concat!(
    "Rank;Sourceid;Title;Type;Issn;SJR;SJR Best Quartile;H index;Total Docs. (2023);Total Docs. (3years);Total Refs.;",
    "Total Citations (3years);Citable Docs. (3years);Citations / Doc. (2years);Ref. / Doc.;Country;Coverage;Categories;Areas\n",
    "77;12;\"Journal of Tests\";journal;\"12345679, 20493630\";12,345;Q1;168;47;119;3452;15499;80;126,34;73,45;",
    "United States;\"1950-2023\";\"Hematology (Q2); Oncology (Q1)\";\"Medicine\"\n",
    "78;13;\"Journal of Nothing\";book series;\"0000006X\";0,1;-;3;4;5;6;7;8;9,5;1,5;Spain;\"2001-2003\";\"Arts\";\"Arts\"\n",
    "79;14;\"No ISSN\";conference and proceedings;\"-\";0,1;-;3;4;5;6;7;8;9,5;1,5;Spain;\"2001\";\"Arts\";\"Arts\"\n",
);

const SCOPUS: &str = concat!(
    "Scopus SourceID\tTitle\tCitation Count\tScholarly Output\tPercent Cited\tCiteScore\tSNIP\tSJR\t",
    "Scopus Sub-Subject Area\tPercentile\tRANK\tRank Out Of\tPublisher\tType\tOpen Access\tQuartile\tPrint ISSN\tE-ISSN\t",
    "Active or Inactive\tCoverage\n",
    "12\tJournal of Tests\t1,234\t200\t84.5\t12.5\t2.25\t3.5\tEconomics\t60\t40\t100\tP\tj\tNO\t2\t12345679\t20493630\tActive\t1990-ongoing\n",
    "12\tJournal of Tests\t1,234\t200\t84.5\t12.5\t2.25\t3.5\tFinance\t99.9\t1\t250\tP\tj\tNO\tQuartile 1\t12345679\t20493630\tActive\t1990-ongoing\n",
);

const JCR: &str = concat!(
    "Journal Data Filtered By:  Selected JCR Year: 2023 Selected Editions: SCIE,SSCI\n\n",
    "Journal name,JCR Abbreviation,Publisher name,ISSN,eISSN,Category,Edition,JIF Quartile,Total Citations,2023 JIF,",
    "5 Year JIF,JIF Rank,Issues per year,Start year,Status,Open Access Status,% of OA Gold,\n",
    "JOURNAL OF TESTS,J TESTS,P,1234-5679,2049-3630,ECONOMICS,SSCI,Q2,\"12,345\",4.5,5.25,90/401,12,1987,Active,Hybrid,1.2%,\n",
    "JOURNAL OF TESTS,J TESTS,P,1234-5679,2049-3630,ONCOLOGY,SCIE,Q1,\"12,345\",4.5,5.25,17/322,12,1987,Active,Hybrid,1.2%,\n",
    "JOURNAL OF NOTHING,J NOTH,P,0000-006X,N/A,ARTS,AHCI,N/A,10,N/A,N/A,N/A,,,,,,\n",
    "\nCopyright (c) 2024 Clarivate\nBy exporting the selected data you agree to the terms\n",
);

const ABDC: &str = concat!(
    "Journal Title,Publisher,ISSN,ISSN Online,Year Inception,FoR,2019 rating,2022 rating\n",
    "Journal of Tests,P,1234-5679,,1987,3502,B,a*\n",
    "Journal of Nothing,P,,0000-006x,1987,3502,C,\n",
);

fn all_lists() -> Run {
    let setup = Setup::new();
    setup
        .write("1.csv", DOAJ)
        .write("2.csv", SCIMAGO)
        .write("3.tsv", SCOPUS)
        .write("4.csv", JCR)
        .write("5.csv", ABDC);
    setup.build(&["1.csv", "2.csv", "3.tsv", "4.csv", "5.csv"])
}

fn doaj() -> Value {
    json!({
        "issn": "1234-5679",
        "languages": ["English", "Spanish"],
        "licenses": [
            {"type": "CC BY", "url": "https://tests.example/license", "icon_urls": null},
            {"type": "CC BY-NC", "url": "https://tests.example/license", "icon_urls": null}
        ],
        "subjects": ["Medicine: Oncology", "Science: Biology"],
        "open_access_since": "2015",
        "ref": [
            {"name": "journal", "url": "https://tests.example"},
            {"name": "doaj", "url": "https://doaj.org/toc/1234-5679"},
            {"name": "aims_scope", "url": "https://tests.example/aims"},
            {"name": "editorial_board", "url": "https://tests.example/board"},
            {"name": "author_instructions", "url": "https://tests.example/authors"},
            {"name": "license_terms", "url": "https://tests.example/license"},
            {"name": "apc", "url": "https://tests.example/apc"}
        ],
        "publication_weeks": "12",
        "apc": [{"currency": "USD", "price": "1000"}, {"currency": "EUR", "price": "900"}]
    })
}

/// The members of the first journal from the dump and from the lists.
fn first_journal() -> Value {
    let mut journal = json!({
        "id": "HX_S1", "issn_l": "1234-5679", "issn": ["1234-5679", "2049-3630"],
        "name": "Journal of Tests", "outputs_count": 9, "type": "journal",
        "ids": {"mag": null, "openalex": "https://openalex.org/S1"},
    });
    for member in [
        "host_organization_name",
        "oa_outputs_count",
        "cited_by_count",
        "summary_stats",
        "is_oa",
        "is_in_doaj",
        "is_high_oa_rate",
        "is_in_scielo",
        "is_ojs",
        "is_preprint_repository",
        "is_core",
        "is_in_doaj_since_year",
        "is_high_oa_rate_since_year",
        "oa_flip_year",
        "first_publication_year",
        "last_publication_year",
        "homepage_url",
        "apc_prices",
        "apc_usd",
        "apc_usd_by_year",
        "country",
        "societies",
        "alternate_titles",
        "counts_by_year",
        "updated_date",
        "created_date",
        "topics",
    ] {
        journal[member] = Value::Null;
    }
    journal["metrics"] = json!({
        "scopus": {
            "active": true, "coverage": "1990-ongoing", "doc_count": 200, "percent": 99,
            "rank": "1/250", "citations": 1234, "snip": 2.25, "sjr": 3.5, "citescore": 12.5,
            "percent_cited": 85, "quartile": "Q1", "subject_category": "Finance", "type": "Journal"
        },
        "web_of_science": {
            "issn": "1234-5679", "eissn": "2049-3630", "issues_per_year": 12, "start_year": 1987,
            "jif": 4.5, "five_year_jif": 5.25, "best_ranking": 17, "active": true,
            "quartile": "Q1",
            "index": [
                {"code": "SCIE", "name": "Science Citation Index Expanded"},
                {"code": "SSCI", "name": "Social Sciences Citation Index"}
            ],
            "subject_category": "ONCOLOGY", "open_access_status": "Hybrid"
        },
        "abdc": {"rating": "A*"}
    });
    journal["doaj"] = doaj();
    journal
}

#[test]
fn every_column_of_every_journal_list_becomes_its_member() {
    let run = all_lists();
    assert_eq!(run.source(1), first_journal());
    for (table, expected) in [
        ("doaj", [2, 1, 1, 0]),
        ("scimago", [3, 2, 1, 0]),
        ("scopus", [2, 2, 0, 0]),
        ("jcr", [3, 3, 0, 0]),
        ("abdc", [2, 2, 0, 0]),
    ] {
        assert_eq!(run.tally(table), expected, "{table}");
    }
    assert_eq!(run.bad, [] as [Value; 0]);
    assert!(run.stderr.contains("side table"), "{}", run.stderr);
    let nothing = run.source(2);
    assert_eq!(nothing["doaj"], Value::Null);
    assert_eq!(
        nothing["metrics"],
        json!({
            "scopus": {
                "active": null, "coverage": "2001-2003", "doc_count": 4, "percent": null,
                "rank": "78", "citations": 7, "snip": null, "sjr": 0.1, "citescore": null,
                "percent_cited": null, "quartile": null, "subject_category": "Arts",
                "type": "Book Series"
            },
            "web_of_science": {
                "issn": "0000-006X", "eissn": null, "issues_per_year": null, "start_year": null,
                "jif": null, "five_year_jif": null, "best_ranking": null, "active": null,
                "quartile": null,
                "index": [{"code": "AHCI", "name": "Arts & Humanities Citation Index"}],
                "subject_category": "ARTS", "open_access_status": null
            },
            "abdc": null
        })
    );
    assert_eq!(run.source(3)["metrics"], Value::Null);
}

#[test]
fn an_output_shows_part_of_the_metrics_of_its_source() {
    let run = all_lists();
    let output = run.record(Entity::Output, 1, Shape::Single);
    assert_eq!(
        output["primary_venue"]["source"],
        json!({
            "id": "HX_S1", "name": "Journal of Tests", "type": "journal",
            "metrics": {
                "scopus": {"snip": 2.25, "sjr": 3.5, "citescore": 12.5, "quartile": "Q1"},
                "web_of_science": {
                    "jif": 4.5, "five_year_jif": 5.25, "quartile": "Q1",
                    "indexes": [
                        {"code": "SCIE", "name": "Science Citation Index Expanded"},
                        {"code": "SSCI", "name": "Social Sciences Citation Index"}
                    ]
                },
                "abdc": {"rating": "A*"}
            }
        })
    );
}

#[test]
fn old_column_names_are_accepted_and_newer_rows_win() {
    let setup = Setup::new();
    setup.write("old.csv", DOAJ_2019).write("new.csv", DOAJ);
    let old = setup.build(&["old.csv"]).source(1)["doaj"].clone();
    assert_eq!(
        old,
        json!({
            "issn": "1234-5679", "languages": ["English"],
            "licenses": [{"type": "CC BY-SA", "url": null, "icon_urls": null}],
            "subjects": ["Old subject"], "open_access_since": "2009",
            "ref": [{"name": "journal", "url": "https://old.example"}],
            "publication_weeks": "20", "apc": [{"currency": "EUR", "price": "700"}]
        })
    );
    for inputs in [["old.csv", "new.csv"], ["new.csv", "old.csv"]] {
        let run = setup.build(&inputs);
        assert_eq!(run.source(1)["doaj"], doaj());
        assert_eq!(run.tally("doaj"), [3, 2, 1, 0]);
    }
}

/// One row of a list in each published format, and the resulting members.
fn check_scopus(table: &str, expected: &Value) {
    let setup = Setup::new();
    setup.write("scopus.csv", table);
    let run = setup.build(&["scopus:scopus.csv"]);
    let mut all = json!({
        "active": null, "coverage": null, "doc_count": null, "percent": null, "rank": null,
        "citations": null, "snip": null, "sjr": null, "citescore": null, "percent_cited": null,
        "quartile": null, "subject_category": null, "type": null
    });
    for (member, value) in expected.as_object().unwrap() {
        all[member] = value.clone();
    }
    assert_eq!(run.source(1)["metrics"]["scopus"], all, "{table}\n{}", run.stderr);
}

#[test]
fn a_journal_list_is_read_in_every_published_format() {
    // The source list.
    check_scopus(
        "Sourcerecord ID,Source Title,ISSN,EISSN,Active or Inactive,Coverage,Source Type\n\
         1,T,12345679,,Inactive,\"1990-1995, 1999\",Journal\n",
        &json!({"active": false, "coverage": "1990-1995, 1999", "type": "Journal"}),
    );
    // The CiteScore table: a range of years in a heading, three lines in a cell.
    check_scopus(
        "Source title;CiteScore;Highest percentile;2020-23 Citations;2020-23 Documents;% Cited;SNIP;SJR;Print ISSN\n\
         T;12,5;\"99,0%\n1/404\nOncology\";1.234;100;84;1,5;2,5;1234-5679\n",
        &json!({
            "citescore": 12.5, "percent": 99, "rank": "1/404", "subject_category": "Oncology",
            "citations": 1234, "doc_count": 100, "percent_cited": 84, "snip": 1.5, "sjr": 2.5
        }),
    );
    // A header with one more trailing delimiter than its rows.
    check_scopus(
        "ISSN,CiteScore,SNIP,\n1234-5679,2.5,1.5\n",
        &json!({"citescore": 2.5, "snip": 1.5}),
    );
    // Other years, order, case and spaces; a byte order mark; no final line end.
    check_scopus(
        "\u{feff}SNIP\tsjr 2022\tSJR 2023\tE-issn\tcitescore\tscopus  SourceID\r\n1.5\t2\t3\t2049-3630\t4\t5",
        &json!({"snip": 1.5, "sjr": 3, "citescore": 4}),
    );
}

#[test]
fn a_cell_is_parsed_by_the_type_of_its_column() {
    let types = [("j", "Journal"), ("K", "Book Series"), ("p", "Conference Proceedings")];
    let others = [("d", "Trade Journal"), ("b", "Book"), ("x", "x"), ("journal", "Journal")];
    for (given, expected) in types.into_iter().chain(others) {
        check_scopus(
            &format!("ISSN,CiteScore,Type\n1234-5679,2.5,{given}\n"),
            &json!({"citescore": 2.5, "type": expected}),
        );
    }
    check_scopus(
        "ISSN;CiteScore;SJR;Citation Count;Scholarly Output\n1234-5679;19.000;1,5;19.000;1.019.000\n",
        &json!({"citescore": 19, "sjr": 1.5, "citations": 19_000, "doc_count": 1_019_000}),
    );
    for (given, expected) in [
        ("A*", json!({"rating": "A*"})),
        ("c", json!({"rating": "C"})),
        ("Not ranked", Value::Null),
        ("not-ranked", Value::Null),
        ("NR", Value::Null),
        ("N/A", Value::Null),
    ] {
        let setup = Setup::new();
        setup.write("abdc.csv", format!("ISSN,rating\n1234-5679,{given}\n"));
        let run = setup.build(&["abdc.csv"]);
        let metrics = run.source(1)["metrics"].clone();
        assert_eq!(metrics.get("abdc").unwrap_or(&Value::Null), &expected, "{given}");
    }
}

#[test]
fn the_best_row_wins_in_any_order_of_rows_and_files() {
    let header = "Journal name,ISSN,Category,Edition,JIF Quartile,2023 JIF,JIF Rank\n";
    let rows = [
        "T,1234-5679,C,ESCI,,1.5,\n",
        "T,2049-3630,B,SSCI,Q2,1.5,3/10\n",
        "T,1234-5679,A,SCIE,Q2,1.5,9/90\n",
        "T,1234-5679,A,SCIE,Q2,1.5,9/90\n",
    ];
    let older = "Journal name,ISSN,Category,Edition,JIF Quartile,2022 JIF,JIF Rank\nT,1234-5679,O,AHCI,Q1,9.5,1/2\n";
    let expected = json!({
        "issn": "2049-3630", "eissn": null, "issues_per_year": null, "start_year": null,
        "jif": 1.5, "five_year_jif": null, "best_ranking": 3, "active": null, "quartile": "Q2",
        "index": [
            {"code": "ESCI", "name": "Emerging Sources Citation Index"},
            {"code": "SCIE", "name": "Science Citation Index Expanded"},
            {"code": "SSCI", "name": "Social Sciences Citation Index"}
        ],
        "subject_category": "B", "open_access_status": null
    });
    let rows_in_order =
        |order: &[usize]| header.to_owned() + &order.iter().map(|at| rows[*at]).collect::<String>();
    for (first, second) in [
        (rows_in_order(&[0, 1, 2, 3]), older.to_owned()),
        (rows_in_order(&[3, 2, 1, 0]), older.to_owned()),
        (older.to_owned(), rows_in_order(&[1, 3, 0, 2])),
    ] {
        let setup = Setup::new();
        setup.write("a.csv", first).write("b.csv", second);
        let run = setup.build(&["a.csv", "b.csv"]);
        assert_eq!(run.source(1)["metrics"]["web_of_science"], expected);
        assert_eq!(run.tally("jcr"), [5, 5, 0, 0]);
    }
    // One list in two files, one per edition.
    let setup = Setup::new();
    setup.write("a.csv", rows_in_order(&[0, 2, 3])).write("b.csv", rows_in_order(&[1]));
    let run = setup.build(&["b.csv", "a.csv"]);
    assert_eq!(run.source(1)["metrics"]["web_of_science"], expected);
}

#[test]
fn scopus_takes_precedence_over_scimago_per_member() {
    let setup = Setup::new();
    setup
        .write("scimago.csv", SCIMAGO)
        .write("scopus.csv", "ISSN,CiteScore,SJR,Active or Inactive\n1234-5679,2.5,99,Active\n");
    let run = setup.build(&["scimago.csv", "scopus.csv"]);
    assert_eq!(
        run.source(1)["metrics"]["scopus"],
        json!({
            "active": true, "coverage": "1950-2023", "doc_count": 47, "percent": null,
            "rank": "77", "citations": 15499, "snip": null, "sjr": 99, "citescore": 2.5,
            "percent_cited": null, "quartile": "Q1", "subject_category": "Oncology",
            "type": "Journal"
        })
    );
}
