//! Pages of lists, asked of a snapshot and of an SQLite file with the same columns, by turns.
//!
//! Both answers are the number of matches and the ids of a page, and must be equal. Nothing is rendered, and every
//! page was touched once before it is timed.

mod engine;
mod load;
mod questions;
pub mod sizes;
mod sqlite;
mod terms;
mod works;

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    time::Instant,
};

use engine::Engine;
use pinakes_generate::Plan;
use questions::Question;
use sqlite::{Database, PATIENCE};
use terms::PER_PAGE;

use crate::{Result, build};

/// A question is asked again until this many seconds are spent on it …
const SECONDS_ENOUGH: f64 = 0.2;
/// … or this many times.
const RUNS_MAX: usize = 200;

/// A page of a list.
#[derive(Debug, PartialEq, Eq)]
struct Answer {
    count: u64,
    ids: Vec<u64>,
}

/// Generates, builds, loads, asks and prints.
pub fn run(outputs: u64, dir: &Path, memory: &str) -> Result<()> {
    let (snapshot, database) = prepare(outputs, dir, memory)?;
    let engine = Engine::open(&snapshot)?;
    sizes::print(&snapshot, outputs)?;
    let bytes = sizes::bytes_of(&database);
    println!("SQLite: {bytes} bytes, {:.1} an output", bytes as f64 / outputs as f64);
    let database = Database::open(&database)?;
    let mut counts = HashMap::new();
    let mut tally = Tally::default();
    let mut group = None;
    for question in questions::all(&database)? {
        if group.replace(question.group) != Some(question.group) {
            print_head(&question);
        }
        let matches = match counts.get(&question.filter.text) {
            Some(&matches) => matches,
            None => database.number(&question.filter.count)?,
        };
        counts.insert(question.filter.text.clone(), matches);
        for page in question.places.iter().filter_map(|place| place.page(matches)) {
            let asked = ask(&engine, &database, &question, page)?;
            asked.print(&question, page, matches);
            tally.add(&asked, &question);
        }
    }
    tally.print();
    Ok(())
}

/// The snapshot and the SQLite file of a lean dump, each made anew if it is not there.
fn prepare(outputs: u64, dir: &Path, memory: &str) -> Result<(PathBuf, PathBuf)> {
    let dump = dir.join(format!("lists-dump-{outputs}"));
    build::generate(&Plan::lean(outputs, 1), &dump)?;
    let snapshots = dir.join(format!("lists-snapshots-{outputs}"));
    let (cost, _) = build::compile(&dump, &snapshots, memory, &dir.join("lists.json"))?;
    println!("\n{outputs} lean outputs");
    build::print_cost("build", &cost);
    let database = dir.join(format!("lists-{outputs}.sqlite"));
    if !database.exists() {
        load::load(&dump, &database)?;
    }
    Ok((snapshots.join("current").canonicalize()?, database))
}

/// Microseconds of a question's runs.
#[derive(Default)]
struct Times {
    micros: Vec<f64>,
}

impl Times {
    fn wants_more(&self) -> bool {
        let seconds = self.micros.iter().sum::<f64>() / 1e6;
        self.micros.len() < RUNS_MAX && seconds < SECONDS_ENOUGH
    }

    fn time<T>(&mut self, run: impl FnOnce() -> Result<T>) -> Result<()> {
        let begun = Instant::now();
        let outcome = std::hint::black_box(run()?);
        self.micros.push(begun.elapsed().as_nanos() as f64 / 1e3);
        drop(outcome);
        Ok(())
    }

    fn median(&self) -> Option<f64> {
        let mut sorted = self.micros.clone();
        sorted.sort_by(f64::total_cmp);
        sorted.get(sorted.len() / 2).copied()
    }

    fn worst(&self) -> Option<f64> {
        self.micros.iter().copied().max_by(f64::total_cmp)
    }
}

/// What one page cost both; no times where one gave up or cannot answer.
struct Asked {
    ours: Times,
    sqlite: Times,
}

fn ask(engine: &Engine, database: &Database, question: &Question, page: u32) -> Result<Asked> {
    let (filter, sort) = (&question.filter, &question.sort);
    let own = || engine.ask(&filter.text, &sort.text, page, PER_PAGE);
    let mut prepared = database.prepare(filter, &sort.order)?;
    let (first, expected) = (own()?, prepared.ask(page)?);
    if let (Some(answer), Some(expected)) = (&first, &expected)
        && answer != expected
    {
        let what = format!("filter `{}`, sort `{}`, page {page}", filter.text, sort.text);
        return Err(format!("{what}: {answer:?}, where SQLite has {expected:?}").into());
    }
    let (mut ours, mut sqlite) = (Times::default(), Times::default());
    loop {
        let asks_own = first.is_some() && ours.wants_more();
        let asks_sqlite = expected.is_some() && sqlite.wants_more();
        if asks_own {
            ours.time(own)?;
        }
        if asks_sqlite {
            sqlite.time(|| prepared.ask(page))?;
        }
        if !asks_own && !asks_sqlite {
            return Ok(Asked { ours, sqlite });
        }
    }
}

fn print_head(question: &Question) {
    let group = question.group;
    println!("\n{}", group.title());
    println!(
        "{:<72} {:>8} {:>10} {:>11} {:>11} {:>12} {:>9}  ceiling",
        "filter | sort", "page", "matches", "ours µs", "worst µs", "SQLite µs", "ratio"
    );
}

impl Asked {
    /// What SQLite takes, unless it gave up on the first run or the next.
    fn sqlite_median(&self) -> Option<f64> {
        self.sqlite.median().filter(|&micros| micros < PATIENCE.as_micros() as f64)
    }

    /// How many times as long SQLite takes, at least.
    fn ratio(&self) -> Option<f64> {
        Some(self.sqlite_median().unwrap_or(PATIENCE.as_micros() as f64) / self.ours.median()?)
    }

    fn is_over(&self, question: &Question) -> bool {
        self.ours.median().is_some_and(|micros| micros > question.group.ceiling_millis() * 1e3)
    }

    fn print(&self, question: &Question, page: u32, matches: u64) {
        let number =
            |number: Option<f64>| number.map_or("–".into(), |number| format!("{number:.1}"));
        let patience = format!("> {} s", PATIENCE.as_secs());
        let sqlite = self.sqlite_median().map_or(patience, |micros| format!("{micros:.1}"));
        let mark = if self.sqlite_median().is_none() && self.ratio().is_some() { "> " } else { "" };
        println!(
            "{:<72} {page:>8} {matches:>10} {:>11} {:>11} {sqlite:>12} {:>9}  ≤ {} ms{}",
            short(&format!("{} | {}", question.filter.text, question.sort.text)),
            number(self.ours.median()),
            number(self.ours.worst()),
            format!("{mark}{}", number(self.ratio())),
            question.group.ceiling_millis(),
            if self.is_over(question) { " OVER" } else { "" }
        );
    }
}

/// A text of at most 72 characters, the middle left out.
fn short(text: &str) -> String {
    let characters: Vec<char> = text.chars().collect();
    if characters.len() <= 72 {
        return text.into();
    }
    let (start, end) = (&characters[..45], &characters[characters.len() - 26..]);
    start.iter().chain(&['…']).chain(end).collect()
}

/// Sums over all questions.
#[derive(Default)]
struct Tally {
    asked: usize,
    unanswered: usize,
    over: usize,
    slower: usize,
}

impl Tally {
    fn add(&mut self, asked: &Asked, question: &Question) {
        self.asked += 1;
        self.unanswered += usize::from(asked.ours.median().is_none());
        self.over += usize::from(asked.is_over(question));
        self.slower += usize::from(asked.ratio().is_some_and(|ratio| ratio < 1.0));
    }

    fn print(&self) {
        let Tally { asked, unanswered, over, slower } = self;
        println!(
            "\n{asked} pages: {over} over their ceiling, {slower} slower than SQLite, {unanswered} not answered"
        );
    }
}
