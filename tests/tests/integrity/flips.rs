//! Flipped bytes: opening fails, or the first access to the damaged chunk fails.

use std::{collections::BTreeSet, sync::Mutex};

use pinakes_format::autocomplete::Completion;
use pinakes_format::entity::Entity;
use pinakes_format::json::render::{JsonWriter, Shape};
use pinakes_format::query::{Deadline, Query};
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::HEADER_BYTES;
use pinakes_format::storage::integrity::CHUNK_BYTES;
use pinakes_tests::{SeededRng, times};

use crate::integrity::Copy;
use crate::integrity::Files;
use crate::integrity::THREADS;
use crate::integrity::baseline::Baseline;
use crate::integrity::files_of;
use crate::integrity::sample_files;
use crate::integrity::tiny_files;

const TINY_BYTES_MAX: usize = 64 << 10;
const SAMPLE_FLIPS: usize = 2_000;
/// One byte of this number is flipped in the tiny snapshot.
const TINY_STEP: usize = 27;
/// One byte of this number is flipped in each header: another one in the next file.
const HEADER_STEP: usize = 4;
/// The files of which [`Baseline::ask`] reads every chunk.
const ASKED_FILES: [&str; 5] = ["records", "ids", "redirects", "names", "strings"];

/// Counts of flips by their effect.
#[derive(Debug, Default)]
struct Outcome {
    refused_at_open: usize,
    refused_at_read: usize,
    /// In chunks of indexes, which records and ids do not need.
    unnoticed: usize,
}

/// Flips one byte at a time and compares every answer with the baseline.
fn check_flips(files: &Files, flips: &[(&str, usize, u8)], of_file: bool) -> Outcome {
    let baseline = Baseline::new(&Copy::new(files).open().unwrap());
    let outcome = Mutex::new(Outcome::default());
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (baseline, outcome) = (&baseline, &outcome);
            scope.spawn(move || {
                let copy = Copy::new(files);
                for (name, at, mask) in flips.iter().skip(thread).step_by(THREADS) {
                    copy.flip(name, *at, *mask);
                    let what = format!("`{name}` byte {at} xor {mask:#04x}");
                    check_flip(&copy, name, &what, baseline, of_file, outcome);
                    copy.flip(name, *at, 0);
                }
                copy.open().unwrap().verify().unwrap();
            });
        }
    });
    outcome.into_inner().unwrap()
}

fn check_flip(
    copy: &Copy<'_>,
    name: &str,
    what: &str,
    baseline: &Baseline,
    of_file: bool,
    outcome: &Mutex<Outcome>,
) {
    let snapshot = match copy.open() {
        Err(error) => {
            // An error for a damaged node of the hash tree names the file that the node covers.
            assert!(error.file == name || name == "hashes", "{what}: {error}");
            outcome.lock().unwrap().refused_at_open += 1;
            return;
        }
        Ok(snapshot) => snapshot,
    };
    let kind = name.rsplit('/').next().unwrap_or_default();
    // Records of other entities print the names.
    let of_file = of_file && kind != "names";
    let own = Entity::all().filter(|entity| name.starts_with(entity.facts().plural));
    let asked: BTreeSet<Entity> = if of_file { own.collect() } else { Entity::all().collect() };
    let asked = if asked.is_empty() { Entity::all().collect() } else { asked };
    let refused = baseline.ask(&snapshot, &asked, what);
    let error = snapshot.verify().expect_err(what);
    assert!(error.to_string().contains(&format!("`{name}`")), "{what}: {error}");
    let mut outcome = outcome.lock().unwrap();
    if refused > 0 {
        outcome.refused_at_read += 1;
    } else {
        assert!(!ASKED_FILES.contains(&kind), "{what}: the damage was never read");
        // Another test asks the full-text index.
        outcome.unnoticed += usize::from(kind != "full_text");
    }
}

#[test]
fn a_flip_of_any_byte_is_refused_or_never_served() {
    let files = tiny_files();
    let bytes: usize = files.values().map(Vec::len).sum();
    assert!(bytes <= TINY_BYTES_MAX, "{bytes} bytes");
    let mut rng = SeededRng(20_260_131);
    let [step, header_step] = [TINY_STEP, HEADER_STEP].map(|step| (step / times(1)).max(1));
    let is_flipped = |number: usize, at: usize| match at < HEADER_BYTES {
        true => (number + at).is_multiple_of(header_step),
        false => at.is_multiple_of(step),
    };
    let flips: Vec<_> = files
        .iter()
        .enumerate()
        .flat_map(|(number, (name, bytes))| {
            (0..bytes.len())
                .filter(move |at| is_flipped(number, *at))
                .map(move |at| (name.as_str(), at))
        })
        .map(|(name, at)| (name, at, 1u8 << rng.below(8)))
        .collect();
    assert!(flips.len() * step >= bytes, "{} of {bytes}", flips.len());
    let outcome = check_flips(&files, &flips, false);
    // Each file is one chunk, and opening verifies that chunk.
    assert_eq!(outcome.refused_at_open, flips.len(), "{outcome:?}");
}

#[test]
fn flips_in_the_sample_are_refused_or_never_served() {
    let files = sample_files();
    let total: usize = files.values().map(Vec::len).sum();
    let mut rng = SeededRng(20_260_201);
    let flips: Vec<_> = (0..SAMPLE_FLIPS)
        .map(|_| {
            let mut at = rng.below(total);
            let (name, _) = files
                .iter()
                .find(|(_, bytes)| {
                    let is_here = at < bytes.len();
                    at -= if is_here { 0 } else { bytes.len() };
                    is_here
                })
                .unwrap();
            (name.as_str(), at, 1 + rng.below(255) as u8)
        })
        .collect();
    let outcome = check_flips(&files, &flips, true);
    assert!(outcome.refused_at_open > 100, "{outcome:?}");
    assert!(outcome.refused_at_read > 100, "{outcome:?}");
    assert!(outcome.unnoticed < SAMPLE_FLIPS / 3, "{outcome:?}");
}

#[test]
fn the_first_access_after_damage_names_file_and_chunk() {
    let files = sample_files();
    let copy = Copy::new(&files);
    let baseline = Baseline::new(&copy.open().unwrap());
    let snapshot = copy.open().unwrap();
    copy.flip("outputs/records", CHUNK_BYTES + 1_000, 0xff);
    let asked = BTreeSet::from([Entity::Output]);
    assert!(baseline.ask(&snapshot, &asked, "flipped while open") > 0);
    let error = snapshot.verify().unwrap_err().to_string();
    assert!(error.contains("`outputs/records`"), "{error}");
    let mut page = JsonWriter::new(&snapshot, Shape::Single);
    let refused = (0..snapshot.count(Entity::Output))
        .find_map(|row| snapshot.render(Entity::Output, row, &mut page).err());
    let message = refused.unwrap().to_string();
    assert!(message.starts_with("`outputs/records` is damaged: chunk 1 "), "{message}");
}

#[test]
fn a_search_finds_damage_in_the_word_index() {
    let mut rng = SeededRng(77);
    let mut word = || (0..10).map(|_| char::from(b'a' + rng.below(26) as u8)).collect();
    let words: Vec<String> = (0..40_000).map(|_| word()).collect();
    let names = words.chunks(100).map(|names| format!("\"{}\"", names.join(" ")));
    let names = names.collect::<Vec<_>>().join(",");
    let source = format!(
        "{{\"id\":\"https://openalex.org/S1\",\"display_name\":\"J\",\"works_count\":1,\
         \"issn_l\":null,\"alternate_titles\":[{names}],\"updated_date\":\"2026-01-10\"}}\n"
    );
    let files = files_of(&[("sources.jsonl", &source)]);
    let name = "sources/words";
    // Opening verifies the first chunk, with the header, and the last, with the directory.
    assert!(files[name].len() > 4 * CHUNK_BYTES, "{} bytes", files[name].len());
    let copy = Copy::new(&files);
    let ask = |snapshot: &Snapshot, word: &str| {
        Completion::new(vec![Entity::Source], word).execute(snapshot, Deadline::NEVER)
    };
    let whole = copy.open().unwrap();
    assert!(words.iter().all(|word| ask(&whole, word).unwrap().count == 1));
    for at in [CHUNK_BYTES, 5 * CHUNK_BYTES / 2, 3 * CHUNK_BYTES] {
        copy.flip(name, at, 1);
        let snapshot = copy.open().unwrap();
        let mut refused = 0;
        for word in &words {
            match ask(&snapshot, word) {
                Ok(found) => assert_eq!(found.count, 1, "{word}"),
                Err(error) => {
                    let expected = format!("`{name}` is damaged: chunk {} ", at / CHUNK_BYTES);
                    assert!(error.to_string().starts_with(&expected), "{error}");
                    refused += 1;
                }
            }
        }
        assert!(refused > 300, "{refused} of {} words are in the chunk", words.len());
        copy.flip(name, at, 0);
    }
}

/// The first page of a search: the count, the rows and their scores; `None` of a damaged snapshot.
fn searched(snapshot: &Snapshot, text: &str) -> Option<(u64, Vec<(u32, u32)>)> {
    let mut query = Query::new(Entity::Output);
    query.add_search(text).unwrap();
    let page = query.execute(snapshot, Deadline::NEVER).ok()?;
    let scores = page.scores.unwrap();
    Some((page.count, scores.iter().map(|ranked| (ranked.row, ranked.score)).collect()))
}

#[test]
fn a_search_finds_damage_in_the_full_text_index() {
    let files = sample_files();
    let copy = Copy::new(&files);
    let name = "outputs/full_text";
    let whole = copy.open().unwrap();
    let index = whole.full_text(Entity::Output).unwrap().unwrap();
    let mut words = Vec::new();
    let mut forms = index.form_cursor();
    while forms.advance().unwrap() {
        words.push(forms.form().unwrap().into_owned());
    }
    let mut rng = SeededRng(20_260_301);
    let mut word = || words[rng.below(words.len())].clone();
    let searches = (0..200).flat_map(|_| {
        let (a, b, c) = (word(), word(), word());
        [
            format!("{a} {b} {c}"),
            format!("\"{a} {b}\"~5 OR {c}"),
            format!("{a}~1 OR {b}* OR title:{c}"),
        ]
    });
    let searches: Vec<String> = searches.collect();
    let searches: Vec<_> = searches
        .iter()
        .filter(|text| Query::new(Entity::Output).add_search(text).is_ok())
        .map(|text| (text, searched(&whole, text).unwrap()))
        .collect();
    let chunks = files[name].len() / CHUNK_BYTES;
    assert!(chunks > 2 && searches.len() > 300, "{chunks} chunks, {} searches", searches.len());
    for chunk in 1..chunks {
        let at = chunk * CHUNK_BYTES + rng.below(CHUNK_BYTES);
        copy.flip(name, at, 1 + rng.below(255) as u8);
        // Opening reads the first texts of the shards.
        let Ok(snapshot) = copy.open() else {
            copy.flip(name, at, 0);
            continue;
        };
        let mut refused = 0;
        for (text, expected) in &searches {
            match searched(&snapshot, text) {
                None => refused += 1,
                Some(found) => assert_eq!(found, *expected, "{text} with byte {at} flipped"),
            }
        }
        assert!(refused > 0, "no search reads byte {at}");
        assert!(snapshot.verify().unwrap_err().to_string().contains(&format!("`{name}`")));
        copy.flip(name, at, 0);
    }
}
