//! A dump of 70,000 authors who share few names.
//!
//! Tens of thousands of names start with the same short text, and most of these authors rank equal.

use std::fmt::Write;

use crate::SeededRng;

/// Authors; more than one chunk of any table holds.
const AUTHORS: u64 = 70_000;
/// Works, which have no alternative names.
const WORKS: u64 = 6_000;

const FIRST: [&str; 24] = [
    "Ana",
    "Anna",
    "Anne",
    "Annika",
    "Wei",
    "Wen",
    "Wenjie",
    "Maria",
    "Mario",
    "Marius",
    "José",
    "Josef",
    "Li",
    "Lin",
    "Ling",
    "李",
    "Olga",
    "Ольга",
    "A.",
    "M.",
    "J.",
    "Q",
    "伟",
    "Øyvind",
];
const LAST: [&str; 20] = [
    "Zhang",
    "Zheng",
    "Zhou",
    "Smith",
    "Smithson",
    "Smythe",
    "García",
    "Garcia-Smith",
    "Müller",
    "Muller",
    "O’Brien",
    "Obrien",
    "Иванова",
    "王",
    "王伟",
    "Andersen",
    "Anderson",
    "Li",
    "Annan",
    "Mari",
];

/// Writes the dump to a temporary directory.
pub fn write_dump() -> tempfile::TempDir {
    let mut rng = SeededRng(99);
    let name = |rng: &mut SeededRng| {
        let first = pick(rng, &FIRST);
        let last = pick(rng, &LAST);
        match rng.below(12) {
            0 => last.to_owned(),
            1 => format!("{last}, {first}"),
            2 => format!("{first} {} {last}", pick(rng, &FIRST)),
            _ => format!("{first} {last}"),
        }
    };
    let mut authors = String::new();
    for number in 1..=AUTHORS {
        let _ = write!(authors, r#"{{"id":"A{number}","display_name":"{}""#, name(&mut rng));
        if rng.below(5) == 0 {
            let other = name(&mut rng);
            let _ = write!(authors, r#","display_name_alternatives":["{other}","Mx {other}"]"#);
        }
        end_record(&mut rng, &mut authors);
    }
    let mut works = String::new();
    for number in 1..=WORKS {
        let (one, another) = (name(&mut rng), name(&mut rng));
        let _ = write!(works, r#"{{"id":"W{number}","display_name":"{one} on {another}""#);
        let _ = write!(works, r#","doi":"https://doi.org/10.5555/{}""#, number / 2);
        end_record(&mut rng, &mut works);
    }
    let dump = tempfile::tempdir().unwrap();
    crate::write_files(dump.path(), [("authors.jsonl", authors), ("works.jsonl", works)]);
    dump
}

/// Ends a record with a citation count that most records share, or without a count.
fn end_record(rng: &mut SeededRng, out: &mut String) {
    let most = [1, 10, 1_000][rng.below(3)];
    match rng.below(8) {
        0 => {}
        _ => {
            let _ = write!(out, r#","cited_by_count":{}"#, rng.below(most));
        }
    }
    out.push_str("}\n");
}

/// Picks an item; earlier items are more likely.
fn pick<'t>(rng: &mut SeededRng, of: &[&'t str]) -> &'t str {
    let below = 1 + rng.below(of.len());
    of[rng.below(below)]
}
