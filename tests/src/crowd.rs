//! A crowd of people with few names between them, so that short texts are begun by tens of thousands
//! and most of those equal each other.

use std::fmt::Write;

use crate::Seeded;

/// More than any table of a snapshot holds in one piece.
const PEOPLE: u64 = 70_000;
/// Their papers, which have no alternative names.
const PAPERS: u64 = 6_000;

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

/// The dump, removed with the value.
pub fn written() -> tempfile::TempDir {
    let mut seeded = Seeded(99);
    let name = |seeded: &mut Seeded| {
        let first = pick(seeded, &FIRST);
        let last = pick(seeded, &LAST);
        match seeded.below(12) {
            0 => last.to_owned(),
            1 => format!("{last}, {first}"),
            2 => format!("{first} {} {last}", pick(seeded, &FIRST)),
            _ => format!("{first} {last}"),
        }
    };
    let mut authors = String::new();
    for number in 1..=PEOPLE {
        let _ = write!(authors, r#"{{"id":"A{number}","display_name":"{}""#, name(&mut seeded));
        if seeded.below(5) == 0 {
            let other = name(&mut seeded);
            let _ = write!(authors, r#","display_name_alternatives":["{other}","Mx {other}"]"#);
        }
        counted(&mut seeded, &mut authors);
    }
    let mut works = String::new();
    for number in 1..=PAPERS {
        let (one, another) = (name(&mut seeded), name(&mut seeded));
        let _ = write!(works, r#"{{"id":"W{number}","display_name":"{one} on {another}""#);
        let _ = write!(works, r#","doi":"https://doi.org/10.5555/{}""#, number / 2);
        counted(&mut seeded, &mut works);
    }
    let dump = tempfile::tempdir().unwrap();
    crate::write_files(dump.path(), [("authors.jsonl", authors), ("works.jsonl", works)]);
    dump
}

/// Ends a record with a count that few have alone, or with none.
fn counted(seeded: &mut Seeded, out: &mut String) {
    let most = [1, 10, 1_000][seeded.below(3)];
    match seeded.below(8) {
        0 => {}
        _ => {
            let _ = write!(out, r#","cited_by_count":{}"#, seeded.below(most));
        }
    }
    out.push_str("}\n");
}

/// The first more often than the last.
fn pick<'t>(seeded: &mut Seeded, of: &[&'t str]) -> &'t str {
    let below = 1 + seeded.below(of.len());
    of[seeded.below(below)]
}
