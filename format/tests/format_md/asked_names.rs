//! Tests of the reader of words, alternative names and prefix statistics.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use pinakes_format::entity::Entity;
use pinakes_format::index::prefix_stats::{BEST_MAX, PrefixStatsWriter, PrefixSummary, Tier};
use pinakes_format::schema::layout::schema_hash;
use pinakes_format::storage::header::{FileKind, Header};
use pinakes_format::text::fold::{fold, words};

use crate::{
    document::Document,
    files::Archive,
    index,
    indexes::Keys,
    names::{Dictionary, PrefixStatsReader, Shards},
    with_example,
};

/// Every text of a dictionary with its rows and their marks.
fn all_of(directory: &Path, path: &str) -> Vec<(String, Vec<(u32, u8)>)> {
    let archive = Archive::open(directory, path);
    let marked = |rows: Vec<u32>, marks: Vec<u8>| rows.into_iter().zip(marks).collect();
    let all = Dictionary::open(&archive).all().into_iter();
    all.map(|text| (text.text, marked(text.rows, text.marks))).collect()
}

#[test]
fn dictionaries_hold_the_names_of_the_records() {
    let check = |directory: &Path, path: &str, expected: &[(&str, &[(u32, u8)])]| {
        let expected: Vec<_> =
            expected.iter().map(|(text, rows)| (text.to_string(), rows.to_vec())).collect();
        assert_eq!(all_of(directory, path), expected, "{path}");
    };
    with_example(|directory| {
        // Row 0 has an empty name; the others are "Über <i>graphs</i> (東京大学)" and
        // "On Drawing (東京大学)".
        check(
            directory,
            "outputs/words",
            &[
                ("drawing", &[(2, 3)]),
                ("graphs", &[(1, 3)]),
                ("on", &[(2, 1)]),
                ("uber", &[(1, 1)]),
                ("京大学", &[(1, 3), (2, 3)]),
                ("大学", &[(1, 3), (2, 3)]),
                ("学", &[(1, 3), (2, 3)]),
                ("東京大学", &[(1, 3), (2, 3)]),
            ],
        );
        check(directory, "topics/words", &[("drawing", &[(0, 3)]), ("graph", &[(0, 1)])]);
        // "Physics", which an alternative name is too.
        let words: &[(&str, &[(u32, u8)])] =
            &[("physical", &[(0, 2)]), ("physics", &[(0, 0)]), ("sciences", &[(0, 3)])];
        check(directory, "domains/words", words);
        let alternatives: &[(&str, &[(u32, u8)])] =
            &[("physical sciences", &[(0, 0)]), ("physics", &[(0, 0)])];
        check(directory, "domains/alternatives", alternatives);
        for path in ["authors/words", "authors/alternatives", "fields/words"] {
            check(directory, path, &[]);
        }
    });
}

#[test]
fn entities_have_the_files_of_their_names() {
    let document = Document::read();
    with_example(|directory| {
        for entity in Entity::all() {
            let plural = entity.facts().plural;
            let names = Keys::parse(document.block("keys"), plural).names.len();
            let has = |file: &str| directory.join(plural).join(file).exists();
            assert_eq!((has("words"), has("prefix_stats")), (names > 0, names > 0), "{plural}");
            assert_eq!(has("alternatives"), names > 1, "{plural}");
        }
    });
}

#[test]
fn records_are_found_by_prefixes_of_words() {
    with_example(|directory| {
        let words = Archive::open(directory, "outputs/words");
        assert_eq!((words.published(), words.rows()), (3, 3));
        let words = Dictionary::open(&words);
        let prefixes = Archive::open(directory, "outputs/prefix_stats");
        let prefixes = PrefixStatsReader::open(&prefixes);
        let check = |prefix: &str, expected: &[u32]| {
            let (rows, _) = prefixes.rows_with_prefix(&words, prefix);
            assert_eq!(Vec::from_iter(rows), expected, "{prefix}");
        };
        check("u", &[1]);
        check("draw", &[2]);
        check("drawing", &[2]);
        check("rawing", &[]);
        // Han writes no words apart.
        check("東京", &[1, 2]);
        check("大学", &[1, 2]);
        check("", &[1, 2]);
    });
}

#[test]
fn texts_are_found_in_every_shard() {
    let directory = tempfile::tempdir().unwrap();
    let shards = [["graph", "graphic"].as_slice(), &["graphs", "planar"], &["東京"]];
    let header = Header {
        kind: FileKind::Words,
        entity: Some(Entity::Field),
        published: 1,
        rows: 1,
        schema_hash: schema_hash(),
    };
    let (mut bytes, mut table, mut next) = (header.encode().to_vec(), Vec::new(), 0..);
    let mut begins = Vec::new();
    for texts in shards {
        begins.push(bytes.len());
        let shard = fst::Map::from_iter(texts.iter().copied().zip(&mut next)).unwrap();
        bytes.extend_from_slice(shard.as_fst().as_bytes());
    }
    begins.push(bytes.len());
    for (begin, first) in begins.into_iter().zip(["graph", "graphs", "東京", ""]) {
        table.extend([begin, bytes.len()]);
        bytes.extend_from_slice(first.as_bytes());
    }
    let table_from = bytes.len() as u64;
    bytes.extend(table.iter().flat_map(|place| (*place as u64).to_le_bytes()));
    std::fs::write(directory.path().join("words"), bytes).unwrap();
    let archive = Archive::open(directory.path(), "words");
    let shards = Shards::open(&archive, table_from, 3);
    assert_eq!((shards.from(), shards.to()), (64, archive.0.len()));
    let numbers: Vec<u64> = shards.all().into_iter().map(|(_, number)| number).collect();
    assert_eq!(numbers, [0, 1, 2, 3, 4]);
    let check = |text: &str, number: Option<u64>, from: Option<u64>| {
        assert_eq!(shards.get(text.as_bytes()), number, "{text}");
        assert_eq!(shards.first_from(text.as_bytes()).map(|found| found.1), from, "{text}");
    };
    check("", None, Some(0));
    check("graph", Some(0), Some(0));
    check("graphics", None, Some(2));
    check("graphs", Some(2), Some(2));
    check("q", None, Some(4));
    check("東京", Some(4), Some(4));
    check("龍", None, None);
}

/// Folded names in the order of their rows: each its own name, then an alternative name.
fn many_names() -> Vec<[String; 2]> {
    let name = |row: u32| match row % 5 {
        0 => [format!("Graph {row}"), String::new()],
        1 if row.is_multiple_of(6) => ["Graph".to_string(), format!("drawing {row}")],
        1 => ["Graph".to_string(), "Graphs of trees".to_string()],
        2 => [format!("Theory of graphs {row}"), format!("Graphs, {}", row / 700)],
        3 => [format!("Tree {row}"), "Graphic".to_string()],
        _ => [format!("Theorem {row}"), format!("東京大学 {}", row % 2)],
    };
    (0..6_000).map(|row| name(row).map(|name| fold(&name))).collect()
}

/// The prefixes with a summary, and the number of postings of each.
fn frequent_prefixes(texts: &index::Texts) -> BTreeMap<&str, usize> {
    let mut postings = BTreeMap::new();
    for (text, rows) in texts {
        for (at, c) in text.char_indices() {
            *postings.entry(&text[..at + c.len_utf8()]).or_default() += rows.len();
        }
    }
    postings.retain(|_, count| *count > 256);
    postings
}

/// The rows with a word that begins with a prefix, and the top ten. Citations fall as rows ascend.
fn expected_rows(names: &[[String; 2]], prefix: &str) -> (BTreeSet<u32>, Vec<(usize, u32)>) {
    let mut found = Vec::new();
    for (row, [own, alternative]) in (0u32..).zip(names) {
        let holds = |name: &str| words(name).any(|word| word.starts_with(prefix));
        let tier = match () {
            () if own == prefix => 1,
            () if own.starts_with(prefix) => 2,
            () if alternative.starts_with(prefix) => 3,
            () if holds(own) || holds(alternative) => 4,
            () => continue,
        };
        found.push((tier, row));
    }
    let rows = found.iter().map(|(_, row)| *row).collect();
    found.sort_unstable();
    found.truncate(BEST_MAX);
    (rows, found)
}

#[test]
fn summaries_and_sets_follow_from_the_names() {
    let directory = tempfile::tempdir().unwrap();
    let names = many_names();
    let count = names.len() as u64;
    let (texts, _) = index::texts_of(&names);
    let place = directory.path().join("words");
    index::write_dictionary(&place, FileKind::Words, Entity::Field, count, &texts);
    let kind = FileKind::PrefixStats;
    let header = Header {
        kind,
        entity: Some(Entity::Field),
        published: count,
        rows: count,
        schema_hash: schema_hash(),
    };
    let place = directory.path().join("prefix_stats");
    let mut writer = PrefixStatsWriter::create(&place, header).unwrap();
    let frequent = frequent_prefixes(&texts);
    for prefix in frequent.keys() {
        let (rows, best) = expected_rows(&names, prefix);
        let best = best.into_iter().map(|(tier, row)| (Tier::ALL[tier - 1], row)).collect();
        let summary = PrefixSummary { count: rows.len() as u32, best };
        writer.push_summary(prefix.as_bytes(), &summary).unwrap();
    }
    // One within another, one of two words, one of a single character.
    let sets = ["graph", "graphic", "theor", "東"];
    for prefix in sets {
        let (rows, _) = expected_rows(&names, prefix);
        writer.push_set(prefix.as_bytes(), &mut index::list(&rows)).unwrap();
    }
    writer.finish().unwrap();

    let [words, prefixes] =
        ["words", "prefix_stats"].map(|file| Archive::open(directory.path(), file));
    let (words, prefixes) = (Dictionary::open(&words), PrefixStatsReader::open(&prefixes));
    assert!(
        words.shards.count == 1 && words.postings_from > 8_192,
        "{} bytes",
        words.postings_from
    );
    assert_eq!(words.all().len(), texts.len());
    for text in words.all() {
        let marked = &texts[&text.text];
        assert_eq!(text.rows, marked.keys().copied().collect::<Vec<_>>(), "{}", text.text);
        let marks: Vec<u8> = marked.values().copied().collect();
        assert_eq!(text.marks, if marks.len() > 256 { vec![] } else { marks }, "{}", text.text);
    }
    assert!(words.all().iter().any(|text| text.marks.is_empty()));

    // Every prefix there is, and some that none has.
    let prefix_of = |text: &str| {
        let ends = text.char_indices().map(|(at, c)| at + c.len_utf8());
        ends.map(|end| text[..end].to_string()).collect::<Vec<_>>()
    };
    let mut asked: BTreeSet<String> = texts.keys().flat_map(|text| prefix_of(text)).collect();
    asked.retain(|prefix| prefix.len() < 3 || !prefix.starts_with(|c: char| c.is_ascii_digit()));
    asked.extend(["a", "grapi", "龍"].map(str::to_string));
    assert!(
        ["g", "graph", "t", "theor", "東京大学"].iter().all(|text| frequent.contains_key(text))
    );
    assert!(!frequent.contains_key("drawing"));
    for prefix in &asked {
        let (rows, best) = expected_rows(&names, prefix);
        match prefixes.summary(prefix) {
            Some(found) => assert_eq!((found.count as usize, found.best), (rows.len(), best)),
            None => {
                let of_blocks: usize =
                    words.texts_with_prefix(prefix).iter().map(|text| text.marks.len()).sum();
                assert!(of_blocks <= 256, "{prefix}");
                let mut found: Vec<(usize, u32)> = best_of_marks(&words, prefix);
                found.truncate(BEST_MAX);
                assert_eq!(found, best, "{prefix}");
            }
        }
        assert_eq!(prefixes.summary(prefix).is_some(), frequent.contains_key(prefix.as_str()));
        let (found, read) = prefixes.rows_with_prefix(&words, prefix);
        assert_eq!(found, rows, "{prefix}");
        assert!(read == 0 || !sets.contains(&prefix.as_str()), "{prefix}");
    }
}

/// The rows of a prefix without a summary, by the tiers of their marks.
fn best_of_marks(words: &Dictionary<'_>, prefix: &str) -> Vec<(usize, u32)> {
    let mut tiers = BTreeMap::new();
    for text in words.texts_with_prefix(prefix) {
        for (row, mark) in text.rows.iter().zip(&text.marks) {
            let tier = match mark {
                0 if text.text == prefix => 1,
                0 | 1 => 2,
                mark => usize::from(mark + 1),
            };
            let best = tiers.entry(*row).or_insert(tier);
            *best = tier.min(*best);
        }
    }
    let mut found: Vec<(usize, u32)> = tiers.into_iter().map(|(row, tier)| (tier, row)).collect();
    found.sort_unstable();
    found
}

#[test]
fn letters_are_folded_as_the_text_says() {
    let document = Document::read();
    let from = document.text().find("Some letters become others: ").unwrap();
    let rule = document.text()[from..].split(": ").nth(1).unwrap().split('.').next().unwrap();
    let pairs: Vec<_> =
        rule.split(',').map(|pair| pair.trim().split_once(" → ").unwrap()).collect();
    assert_eq!(pairs.len(), 12);
    pairs.iter().for_each(|(letter, other)| assert_eq!(fold(letter), *other));
}

#[test]
fn words_are_made_as_the_text_says() {
    let document = Document::read();
    let from = document.text().find("`東京大学` has the words\n").unwrap();
    let listed = document.text()[from..].split_once('\n').unwrap().1.split_once('.').unwrap().0;
    let listed: Vec<&str> = listed.split(", ").map(|word| word.trim_matches('`')).collect();
    assert_eq!(words(&fold("東京大学")).collect::<Vec<_>>(), listed);
}
