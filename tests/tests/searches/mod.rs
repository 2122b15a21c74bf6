//! Compares full-text searches with the oracle: records, counts, order, scores, pages and corrections, by random searches
//! from a fixed seed.
//!
//! `PINAKES_TIMES=10 cargo test --release -p pinakes-tests --test answers searches::` asks more of them.

mod dump;
mod generator;

use std::{
    collections::{BTreeMap, BTreeSet},
    num::NonZeroU32,
    path::PathBuf,
};

use pinakes_format::entity::Entity;
use pinakes_format::query::{Deadline, Query, QueryError, RankedRow, SearchedWords};
use pinakes_format::snapshot::Snapshot;
use pinakes_generate::Plan;
use pinakes_oracle::{Lists, Search};
use pinakes_tests::server::Snapshots;
use pinakes_tests::{SeededRng, library, times};

use generator::{Asked, Generator};

const MISMATCHES_SHOWN: usize = 10;
/// Records of a page.
const PER_PAGE: u32 = 100;

/// A snapshot, and the oracle's reading of its dump.
struct Comparison<'l> {
    _snapshots: Snapshots,
    snapshot: Snapshot,
    lists: &'l Lists<'static>,
    search: &'l Search,
    /// The row of each id.
    rows: BTreeMap<&'l str, usize>,
    refused: usize,
    matched: usize,
    most: usize,
    corrected: usize,
}

/// What the program finds.
#[derive(Debug, PartialEq, Eq)]
struct Found {
    count: u64,
    rows: Vec<(usize, u64)>,
    all: Option<u64>,
    corrected: Vec<(String, Vec<String>)>,
}

impl<'l> Comparison<'l> {
    fn new(inputs: &[PathBuf]) -> Comparison<'l> {
        let library = library(inputs);
        let outputs = &library.entities["outputs"];
        let snapshots = Snapshots::from_inputs(inputs);
        Comparison {
            snapshot: snapshots.open(),
            _snapshots: snapshots,
            lists: pinakes_tests::lists(inputs),
            search: pinakes_tests::lists(inputs).searches(),
            rows: outputs.iter().map(|entry| entry.id.as_str()).zip(0..).collect(),
            refused: 0,
            matched: 0,
            most: 0,
            corrected: 0,
        }
    }

    /// The rows that the oracle finds with a filter, in the order of the list.
    fn rows_of(&self, parameters: &str) -> Vec<usize> {
        let ids = self.lists.all("outputs", parameters).unwrap();
        ids.iter().map(|id| self.rows[id.as_str()]).collect()
    }

    /// Compares the replies to a search. Returns the difference.
    fn check(&mut self, asked: &Asked) -> Result<(), String> {
        let Asked { text, is_exact, filter, sort } = asked;
        let filtered: Option<Vec<usize>> =
            filter.map(|filter| self.rows_of(&format!("filter={filter}")));
        let filtered: Option<BTreeSet<usize>> = filtered.map(|rows| rows.into_iter().collect());
        let selects = |row: usize| filtered.as_ref().is_none_or(|rows| rows.contains(&row));
        let expected = self.search.find(text, *is_exact, &Search::fields(&[]), selects);
        let mut query = Query::new(Entity::Output);
        query.per_page = PER_PAGE;
        let parsed = match is_exact {
            true => query.add_exact_search(text),
            false => query.add_search(text),
        };
        if let Some(filter) = filter {
            query.add_filter(filter).unwrap();
        }
        if let Some(sort) = sort {
            query.set_sort(sort).unwrap();
        }
        let found = match parsed {
            Err(errors) => Err(format!("{errors:?}")),
            Ok(()) => self.found(&mut query),
        };
        let (expected, found) = match (expected, found) {
            (Err(_), Err(_)) => {
                self.refused += 1;
                return Ok(());
            }
            (Err(refused), Ok(_)) => return Err(format!("is not refused: {}", refused.0)),
            (Ok(_), Err(error)) => return Err(format!("is refused: {error}")),
            (Ok(expected), Ok(found)) => (expected, found),
        };
        self.matched += usize::from(!expected.rows.is_empty());
        self.most += usize::from(expected.all.is_some());
        self.corrected += usize::from(!expected.corrected.is_empty());
        let rows = match sort {
            None => expected.rows,
            Some(sort) => {
                let mut rows = self.rows_of(&format!("sort={sort}"));
                let found: BTreeSet<usize> = expected.rows.iter().map(|(row, _)| *row).collect();
                rows.retain(|row| found.contains(row));
                rows.into_iter().map(|row| (row, 0)).collect()
            }
        };
        let count = rows.len() as u64;
        let corrected: Vec<(String, Vec<String>)> = expected.corrected.into_iter().collect();
        let is_same =
            found.count == count && (found.all, &found.corrected) == (expected.all, &corrected);
        let differs = found.rows.iter().zip(&rows).position(|(found, expected)| found != expected);
        match differs {
            None if is_same && found.rows.len() == rows.len() => Ok(()),
            _ => {
                let at = differs.unwrap_or(0);
                let shown = |rows: &[(usize, u64)]| {
                    format!("{:?}", rows.iter().skip(at).take(4).collect::<Vec<_>>())
                };
                Err(format!(
                    "expected {count} rows, {:?} {corrected:?}, from {at} on {}\n  found    {} rows, {:?} {:?}, from {at} on {}",
                    expected.all,
                    shown(&rows),
                    found.count,
                    found.all,
                    found.corrected,
                    shown(&found.rows),
                ))
            }
        }
    }

    /// Reads all pages.
    fn found(&self, query: &mut Query) -> Result<Found, String> {
        let describe = |error: QueryError| match error {
            QueryError::Refused { error, .. } => error.reason,
            error => panic!("{error}"),
        };
        let mut summary = None;
        let mut rows: Vec<(usize, u64)> = Vec::new();
        let mut count = None;
        for page in 1.. {
            query.page = NonZeroU32::new(page).unwrap();
            let found = query.execute(&self.snapshot, Deadline::NEVER).map_err(describe)?;
            assert_eq!(*count.get_or_insert(found.count), found.count, "page {page}");
            let score = |RankedRow { row, score }: &RankedRow| (*row as usize, u64::from(*score));
            match &found.scores {
                Some(scores) => rows.extend(scores.iter().map(score)),
                None => rows.extend(found.rows.iter().map(|row| (*row as usize, 0))),
            }
            summary = summary.or(found.search);
            if found.rows.is_empty() {
                break;
            }
        }
        let (count, summary) = (count.unwrap(), summary.unwrap());
        assert_eq!(query.count(&self.snapshot, Deadline::NEVER).map_err(describe)?, count);
        Ok(Found {
            count,
            rows,
            all: match summary.words {
                SearchedWords::All => None,
                SearchedWords::Most { all } => Some(all),
            },
            corrected: summary.corrected.into_iter().collect(),
        })
    }
}

/// Compares this number of searches of a snapshot of these inputs.
fn compare(inputs: &[PathBuf], searches: usize, seed: u64) {
    let mut comparison = Comparison::new(inputs);
    let generator = Generator::new(&library(inputs).entities["outputs"]);
    let mut rng = SeededRng(seed);
    let mut mismatches = Vec::new();
    let searches = times(searches);
    for _ in 0..searches {
        let asked = generator.search(&mut rng);
        if let Err(difference) = comparison.check(&asked) {
            mismatches.push(format!("{asked:?}\n  {difference}"));
        }
        if mismatches.len() == MISMATCHES_SHOWN {
            break;
        }
    }
    assert!(mismatches.is_empty(), "searches differ:\n{}", mismatches.join("\n"));
    let Comparison { refused, matched, most, corrected, .. } = comparison;
    println!(
        "{searches} searches: {refused} refused, {matched} matched, {most} by most words, {corrected} corrected"
    );
    assert!(
        matched * 2 > searches && refused * 100 > searches,
        "{matched} matched, {refused} refused"
    );
    assert!(
        most * 50 > searches && corrected * 200 > searches,
        "{most} most, {corrected} corrected"
    );
}

#[test]
fn random_searches_of_few_words_equal_the_oracle() {
    let directory = tempfile::tempdir().unwrap();
    dump::write(directory.path(), 1_350, 4);
    compare(&[directory.path().to_path_buf()], 350, 4);
}

/// Pages behind the records that memory keeps are found in three passes.
#[test]
fn late_pages_equal_the_oracle() {
    let directory = tempfile::tempdir().unwrap();
    let plan = Plan::lean(17_500, 5);
    pinakes_generate::write_dump(&plan, directory.path(), 1).unwrap();
    let inputs = [directory.path().to_path_buf()];
    let mut comparison = Comparison::new(&inputs);
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for entry in &library(&inputs).entities["outputs"] {
        let words = entry.single["title"].as_str().unwrap_or_default().split(' ');
        words.for_each(|word| *counts.entry(word).or_default() += 1);
    }
    let mut frequent: Vec<(usize, &str)> =
        counts.into_iter().map(|(word, count)| (count, word)).collect();
    frequent.sort_unstable_by(|a, b| b.cmp(a));
    let [(_, a), (_, b), (_, c), ..] = frequent.as_slice() else { panic!("few words") };
    for text in [
        "NOT zzzz".to_owned(),
        format!("{a} OR -({b} {c})"),
        format!("-{a} OR {b}"),
        format!("{a} AND NOT (-{b})"),
        format!("-(-{a} OR -({b} -{c}))"),
        format!("{a} {b} zzzz"),
    ] {
        let asked = Asked { text, is_exact: false, filter: None, sort: None };
        comparison.check(&asked).unwrap_or_else(|difference| panic!("{asked:?}: {difference}"));
    }
}

#[test]
fn random_searches_of_the_sample_equal_the_oracle() {
    compare(&[pinakes_tests::sample()], 1_000, 1);
}

#[test]
fn random_searches_of_the_real_sample_equal_the_oracle() {
    let test = "random_searches_of_the_real_sample_equal_the_oracle";
    let Some(sample) = pinakes_tests::real_sample(test) else { return };
    compare(&sample, 250, 2);
}

#[test]
fn random_searches_of_every_vintage_equal_the_oracle() {
    let test = "random_searches_of_every_vintage_equal_the_oracle";
    let Some(every) = pinakes_tests::current_and_2023_dumps(test) else { return };
    compare(&every, 75, 3);
}
