//! The words of texts and of searches: inflected forms, apostrophes, hyphens, Greek letters, signs, scripts without
//! spaces, markup.

use pinakes_tests::client::Connection;
use pinakes_tests::server::Server;

use crate::search::{TitledWork, numbers, search, snapshots, titled};

const WORKS: [TitledWork; 21] = [
    (1, "en", "Learned machines"),
    (2, "en", "A machine that learns"),
    (3, "de", "Häuser der Städte"),
    (4, "fr", "L'État et la loi"),
    (5, "it", "Storia dell’arte"),
    (6, "en", "On Growth by d'Arcy Thompson"),
    (7, "en", "COVID-19 in children"),
    (8, "en", "Reading e-mail at work"),
    (9, "en", "GPT-4 explained"),
    (10, "en", "Folding of α-synuclein"),
    (11, "en", "Alpha-synuclein in mice"),
    (12, "en", "The C++ language"),
    (13, "en", "C# and .NET for R&D"),
    (14, "en", "Vitamin C in winter"),
    (15, "zh", "深度学习方法"),
    (16, "ja", "日本の歴史"),
    (17, "th", "ภาษาไทย"),
    (18, "en", "Rays of $\\alpha$ particles"),
    (19, "en", "The spectrum of H$_2$O"),
    (20, "en", "H<sub>2</sub>O again"),
    (22, "zh", "书"),
];

/// Searches, and the works that each finds.
const SEARCHES: &[(&str, &[u64])] = &[
    // Inflected forms find each other, in the language of the record.
    ("learning", &[1, 2]),
    ("machine learned", &[1, 2]),
    ("stadt", &[3]),
    ("hauser", &[3]),
    // Apostrophes.
    ("état", &[4]),
    ("l'etat", &[4]),
    ("arte", &[5]),
    ("darcy", &[6]),
    ("d'arcy", &[6]),
    // Hyphens.
    ("covid19", &[7]),
    ("covid 19", &[7]),
    ("covid-19", &[7]),
    ("email", &[8]),
    ("e-mail", &[8]),
    ("gpt4", &[9]),
    // Greek letters.
    ("alpha-synuclein", &[10, 11]),
    ("α-synuclein", &[10, 11]),
    // Words with signs.
    ("C++", &[12]),
    ("c#", &[13]),
    (".net", &[13]),
    ("R&D", &[13]),
    // Scripts without spaces.
    ("学习", &[15]),
    ("深度学习", &[15]),
    ("歴史", &[16]),
    ("ไทย", &[17]),
    ("书", &[22]),
    // Markup and LaTeX.
    ("alpha particles", &[18]),
    ("h2o", &[19, 20]),
];

/// The works that have all words of a search, ascending. Those with most words follow, in another test.
fn with_all(connection: &mut Connection, text: &str) -> Vec<u64> {
    let list = search(connection, text, "");
    let summary = &list["meta"]["search"];
    let mut found = numbers(&list);
    if let Some(all) = summary["all"].as_u64() {
        found.truncate(all as usize);
    }
    found.sort_unstable();
    found
}

#[test]
fn words_are_found_in_every_spelling() {
    let works: Vec<_> = WORKS.into_iter().map(titled).collect();
    let snapshots = snapshots(&works);
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    for (text, expected) in SEARCHES {
        assert_eq!(with_all(&mut connection, text), *expected, "{text}");
    }
    // `C++` does not find every `c`.
    assert_eq!(with_all(&mut connection, "vitamin c"), [14]);
    server.end(&[]);
}

#[test]
fn an_exact_search_stems_nothing() {
    let works: Vec<_> = WORKS.into_iter().map(titled).collect();
    let snapshots = snapshots(&works);
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    for (text, expected) in
        [("learned", 1), ("learns", 1), ("learning", 0), ("%22learned+machine%22", 0)]
    {
        let list = connection.get(&format!("/outputs?search.exact={text}")).json();
        assert_eq!(list["meta"]["count"], expected, "{text}: {list}");
        assert_eq!(list["meta"]["search"]["corrected"], serde_json::json!({}), "{text}");
    }
    server.end(&[]);
}
