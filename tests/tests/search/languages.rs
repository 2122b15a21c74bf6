//! Records of other languages: their stems change neither the records that a search finds nor the scores.

use pinakes_tests::server::Server;
use serde_json::Value;

use crate::search::{found, numbers, search, snapshots, titled};

/// English records, and one without a language.
fn english() -> Vec<Value> {
    let works = [
        (1, "An overview of planning"),
        (2, "Factor graphs and the sum-product algorithm"),
        (3, "Graphene sheets"),
        (4, "New methods for news"),
        (5, "Planting a plant in plants"),
        (6, "Anja and the whale"),
    ];
    let mut works: Vec<Value> =
        works.into_iter().map(|(id, title)| titled((id, "en", title))).collect();
    let mut unknown = titled((7, "en", "Networks of planned graphs"));
    unknown["language"] = Value::Null;
    works.push(unknown);
    works
}

/// Records whose words no search here has, in some languages: all are English in the first snapshot.
const OTHERS: [(u64, &str, &str); 8] = [
    (20, "hu", "Zöld könyvek"),
    (21, "it", "Quaderni verdi"),
    (22, "fi", "Kirjasto talossa"),
    (23, "fr", "Cahiers bleus"),
    (24, "de", "Grüne Bücher"),
    (25, "tr", "Kitaplar evde"),
    (26, "ru", "Зеленые книги"),
    (27, "ja", "Midori books"),
];

#[test]
fn records_of_other_languages_change_no_match_and_no_score() {
    let with = |is_english: bool| {
        let others = OTHERS.map(|(id, language, title)| {
            titled((id, if is_english { "en" } else { language }, title))
        });
        let works: Vec<Value> = english().into_iter().chain(others).collect();
        snapshots(&works)
    };
    let (alone_snapshots, beside_snapshots) = (with(true), with(false));
    let (alone, beside) = (Server::serve(&alone_snapshots), Server::serve(&beside_snapshots));
    let (mut alone_connection, mut beside_connection) = (alone.connect(), beside.connect());
    for text in [
        "graphene",
        "news",
        "anja",
        "plant",
        "plants",
        "planning",
        "graph",
        "networks",
        "new",
        "an overview",
        "\"sum product\"",
        "graph* AND factor",
        "plant~1 OR news",
        "whales",
    ] {
        let found = search(&mut beside_connection, text, "&select=id");
        assert_eq!(found, search(&mut alone_connection, text, "&select=id"), "{text}");
    }
    assert_eq!(found(&mut beside_connection, "anja"), [6]);
    assert_eq!(found(&mut beside_connection, "graphene"), [3]);
    assert_eq!(found(&mut beside_connection, "plant"), [5]);
    alone.end(&[]);
    beside.end(&[]);
}

#[test]
fn a_stem_finds_forms_in_the_language_of_the_record() {
    let works = [
        (1, "en", "Networks"),
        (2, "es", "Networks"),
        (3, "es", "Network"),
        (4, "ja", "Network"),
        (5, "fr", "Chevaux"),
        (6, "en", "Chevaux"),
        (7, "ru", "Network"),
        (8, "de", "Häuser"),
        (9, "en", "Hauser"),
    ];
    let works: Vec<Value> = works.into_iter().map(titled).collect();
    let snapshots = snapshots(&works);
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    for (text, expected) in [
        // No rule of Spanish, Japanese or Russian makes one word of both forms.
        ("network", &[1, 3, 4, 7][..]),
        ("networks", &[1, 2]),
        ("cheval", &[5]),
        ("haus", &[8]),
        ("network*", &[1, 2, 3, 4, 7]),
    ] {
        assert_eq!(found(&mut connection, text), expected, "{text}");
    }
    server.end(&[]);
}

/// Ids decide the order of rows that nobody cites: the form as typed comes first from either end.
#[test]
fn the_form_as_typed_stands_above_other_forms() {
    let mut works =
        vec![titled((1, "en", "Plants of Iberia")), titled((9, "en", "Plant of Iberia"))];
    works.extend((20..60).map(|id| titled((id, "en", "Filler about nothing"))));
    let snapshots = snapshots(&works);
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    for (text, expected) in [
        ("plant", [9, 1]),
        ("plants", [1, 9]),
        ("plant iberia", [9, 1]),
        ("plants AND iberia", [1, 9]),
        ("title:plant", [9, 1]),
    ] {
        assert_eq!(numbers(&search(&mut connection, text, ""))[..2], expected, "{text}");
    }
    server.end(&[]);
}
