//! Tests of headings as publishers and their readers write them, and of lists without the usual columns.

use serde_json::{Value, json};

use super::Setup;

/// The metrics of the first journal from one list.
fn metrics(table: &str) -> (Value, Value) {
    let setup = Setup::new();
    setup.write("list.csv", table);
    let run = setup.build(&["list.csv"]);
    let journal = run.source(1);
    (journal["metrics"].clone(), run.warnings().clone())
}

#[test]
fn the_impact_factor_is_read_under_every_heading() {
    for heading in [
        "JIF",
        "2024 JIF",
        "JIF 2024",
        "IF(2024)",
        " IF(2024)",
        "IF_2022",
        "IF",
        "Impact Factor",
        "Impact Factor 2023",
        "Impact Factor (2023)",
        "Impact Factor #",
        "Journal Impact Factor (IF)",
        "2021 Journal Impact Factor",
    ] {
        let (metrics, warnings) = metrics(&format!(
            "Journal,ISSN,eISSN,Category,{heading}\nJournal of Tests,1234-5679,N/A,LAW(SSCI),4.5\n"
        ));
        assert_eq!(metrics["web_of_science"]["jif"], json!(4.5), "{heading}");
        assert_eq!(warnings, json!({}), "{heading}");
    }
}

#[test]
fn quartile_rank_and_index_of_a_report_are_read_with_their_year() {
    for header in [
        "Journal,ISSN,EISSN,Web of Science,IF(2024),Category,IF Quartile(2024),IF Rank(2024)",
        "Journal,ISSN,EISSN,Web of Science,IF(2023),Category,IF Quartile(2023),Category Rank(2023)",
        "Journal Name,ISSN,eISSN,Edition,JIF 2024,Category,JIF Quartile,JIF Rank",
        "Journal Name,ISSN,eISSN,Edition,JIF,Category,IF Quartile,IF Rank (#)",
    ] {
        let (metrics, _) = metrics(&format!(
            "{header}\nJournal of Tests,1234-5679,,SCIE;SSCI,<0.1,ONCOLOGY,Q1,3/322\n"
        ));
        let report = &metrics["web_of_science"];
        assert_eq!(report["quartile"], json!("Q1"), "{header}");
        assert_eq!(report["best_ranking"], json!(3), "{header}");
        assert_eq!(report["index"][1]["code"], json!("SSCI"), "{header}");
    }
    let (metrics, warnings) = metrics(
        "Journal,ISSN,Edition,IF(2024),IF Quartile(2024),IF Rank(2024)\n\
         Journal of Tests,1234-5679,N/A,4.5,N/A,N/A\n",
    );
    assert_eq!(metrics["web_of_science"]["index"], Value::Null);
    assert_eq!(warnings, json!({}));
    // The year of a heading tells which list is newer.
    let setup = Setup::new();
    setup
        .write("old.csv", "Journal,ISSN,IF(2022)\nT,1234-5679,9\n")
        .write("new.csv", "Journal,ISSN,IF_2024\nT,1234-5679,1\n");
    let run = setup.build(&["old.csv", "new.csv"]);
    assert_eq!(run.source(1)["metrics"]["web_of_science"]["jif"], json!(1));
}

#[test]
fn the_rating_is_read_from_every_edition_of_the_quality_list() {
    for heading in ["ABDC Ranking", "ABDC List 2013", "2016 rating", "2019 Rating", "2025 rating"] {
        let header = "Journal Name,ISSN,ISSN Online,Start year,www,ABDC FoR code";
        let (metrics, warnings) =
            metrics(&format!("{header},{heading}\nJournal of Tests,1234-5679,,1987,,1401,A*\n"));
        assert_eq!(metrics["abdc"], json!({"rating": "A*"}), "{heading}");
        assert_eq!(warnings, json!({}), "{heading}");
    }
}

#[test]
fn a_list_without_metrics_says_for_which_table_it_was_taken() {
    for (table, code, says) in [
        (
            "Journal title,ISSN,eISSN,Publisher name,Languages,Web of Science Categories\n\
             Journal of Tests,1234-5679,,P,English,LAW\n",
            "jcr_without_jif",
            "taken for `jcr`",
        ),
        (
            "Journal name,ISSN,JIF Quartile,Impact\nJournal of Tests,1234-5679,Q1,4.5\n",
            "jcr_without_jif",
            "has no impact factor",
        ),
        (
            "Sourcerecord ID,Source Title,Print-ISSN,E-ISSN,Active or Inactive,Coverage\n\
             1,Journal of Tests,12345679,,Active,1990-ongoing\n",
            "scopus_without_metrics",
            "taken for `scopus`",
        ),
    ] {
        let setup = Setup::new();
        setup.write("list.csv", table);
        let run = setup.build(&["list.csv"]);
        assert_eq!(run.warnings(), &json!({ code: 1 }), "{table}");
        assert!(run.stderr.contains(says), "{}", run.stderr);
        let place = format!("first at {}:1:0", setup.path("list.csv").display());
        assert!(run.stderr.contains(&place), "{}", run.stderr);
    }
}

#[test]
fn notes_below_a_table_cost_nothing() {
    let notes = [
        "Copyright (c) 2024 Clarivate",
        "Copyright © 2024 Elsevier B.V., all rights reserved, worldwide",
        "\"© 2024 Elsevier, all rights reserved\"",
        "(c) 2024 SCImago",
        "By exporting the selected data, you agree to the data usage policy",
    ];
    for table in [
        "Journal name,ISSN,Edition,2023 JIF\nJournal of Tests,1234-5679,SCIE,4.5\n",
        "Journal Title,ISSN,ISSN Online,2022 rating\nJournal of Tests,1234-5679,,A\n",
        "Sourcerecord ID,Title,ISSN,CiteScore\n1,Journal of Tests,12345679,2.5\n",
        "Rank,Title,Issn,SJR,H index\n1,Journal of Tests,12345679,2.5,3\n",
    ] {
        let setup = Setup::new();
        setup.write("list.csv", format!("{table}\n{}\n", notes.join("\n")));
        let run = setup.build_with(&["list.csv"], &["--strict"]);
        assert_eq!(run.code, 0, "{table}: {}", run.stderr);
        assert_eq!((run.warnings(), &run.bad[..]), (&json!({}), &[][..]), "{table}");
        let tallies = run.report["side_tables"].as_object().unwrap();
        assert_eq!(tallies.values().next().unwrap()["read"], json!(1), "{table}");
    }
    // A journal with such a title is no note.
    let setup = Setup::new();
    setup.write("list.csv", "Journal name,ISSN,2023 JIF\nCopyright World,1234-5679,4.5\n");
    assert_eq!(setup.build(&["list.csv"]).tally("jcr"), [1, 1, 0, 0]);
}
