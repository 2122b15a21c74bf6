//! Queries pages of lists from a snapshot and from an SQLite file with the same columns, in turn.
//!
//! A result is the number of matches and the ids of a page; both engines must return equal results. Each engine
//! answers a query once before the timed runs, so its pages are warm. No engine renders records.

mod engine;
mod load;
mod queries;
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
use queries::ListQuery;
use sqlite::{Database, TIMEOUT};
use terms::PER_PAGE;

use crate::{Result, build};

/// A query is repeated until its runs took this many seconds in total …
const SECONDS_ENOUGH: f64 = 0.2;
/// … or this many times.
const RUNS_MAX: usize = 200;

/// The result of a query: the number of matches, and the ids of one page.
#[derive(Debug, PartialEq, Eq)]
struct ListPage {
    count: u64,
    ids: Vec<u64>,
}

/// Generates a dump, builds a snapshot, loads SQLite, runs all queries and prints the measurements.
pub fn run(outputs: u64, dir: &Path, memory: &str) -> Result<()> {
    let (snapshot, database) = prepare(outputs, dir, memory)?;
    let engine = Engine::open(&snapshot)?;
    sizes::print(&snapshot, outputs)?;
    let bytes = sizes::bytes_of(&database);
    println!("SQLite: {bytes} bytes, {:.1} an output", bytes as f64 / outputs as f64);
    let database = Database::open(&database)?;
    let mut counts = HashMap::new();
    let mut totals = Totals::default();
    let mut group = None;
    for query in queries::all(&database)? {
        if group.replace(query.group) != Some(query.group) {
            print_heading(&query);
        }
        let matches = match counts.get(&query.filter.text) {
            Some(&matches) => matches,
            None => database.number(&query.filter.count)?,
        };
        counts.insert(query.filter.text.clone(), matches);
        for page in query.positions.iter().filter_map(|position| position.page(matches)) {
            let timings = time_page(&engine, &database, &query, page)?;
            timings.print(&query, page, matches);
            totals.add(&timings, &query);
        }
    }
    totals.print();
    Ok(())
}

/// Builds the snapshot of a lean dump; generates the dump and loads the SQLite file unless they exist.
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

/// Durations of a query's runs in microseconds.
#[derive(Default)]
struct Runs {
    micros: Vec<f64>,
}

impl Runs {
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

/// Durations of both engines for one page; empty for an engine that reached its timeout.
struct Timings {
    pinakes: Runs,
    sqlite: Runs,
}

fn time_page(
    engine: &Engine,
    database: &Database,
    query: &ListQuery,
    page: u32,
) -> Result<Timings> {
    let (filter, sort) = (&query.filter, &query.sort);
    let run_pinakes = || engine.query(&filter.text, &sort.text, page, PER_PAGE);
    let mut prepared = database.prepare(filter, &sort.order)?;
    let (first, expected) = (run_pinakes()?, prepared.run(page)?);
    if let (Some(page_found), Some(expected)) = (&first, &expected)
        && page_found != expected
    {
        let what = format!("filter `{}`, sort `{}`, page {page}", filter.text, sort.text);
        return Err(format!("{what}: {page_found:?}, but SQLite returns {expected:?}").into());
    }
    let (mut pinakes, mut sqlite) = (Runs::default(), Runs::default());
    loop {
        let times_pinakes = first.is_some() && pinakes.wants_more();
        let times_sqlite = expected.is_some() && sqlite.wants_more();
        if times_pinakes {
            pinakes.time(run_pinakes)?;
        }
        if times_sqlite {
            sqlite.time(|| prepared.run(page))?;
        }
        if !times_pinakes && !times_sqlite {
            return Ok(Timings { pinakes, sqlite });
        }
    }
}

fn print_heading(query: &ListQuery) {
    let group = query.group;
    println!("\n{}", group.title());
    println!(
        "{:<72} {:>8} {:>10} {:>11} {:>11} {:>12} {:>9}  ceiling",
        "filter | sort", "page", "matches", "Pinakes µs", "worst µs", "SQLite µs", "ratio"
    );
}

impl Timings {
    /// SQLite's median; `None` if it reached the timeout.
    fn sqlite_median(&self) -> Option<f64> {
        self.sqlite.median().filter(|&micros| micros < TIMEOUT.as_micros() as f64)
    }

    /// SQLite's median divided by ours; a lower bound if SQLite reached its timeout.
    fn ratio(&self) -> Option<f64> {
        Some(self.sqlite_median().unwrap_or(TIMEOUT.as_micros() as f64) / self.pinakes.median()?)
    }

    fn is_over(&self, query: &ListQuery) -> bool {
        self.pinakes.median().is_some_and(|micros| micros > query.group.ceiling_millis() * 1e3)
    }

    fn print(&self, query: &ListQuery, page: u32, matches: u64) {
        let number =
            |number: Option<f64>| number.map_or("–".into(), |number| format!("{number:.1}"));
        let timeout = format!("> {} s", TIMEOUT.as_secs());
        let sqlite = self.sqlite_median().map_or(timeout, |micros| format!("{micros:.1}"));
        let mark = if self.sqlite_median().is_none() && self.ratio().is_some() { "> " } else { "" };
        println!(
            "{:<72} {page:>8} {matches:>10} {:>11} {:>11} {sqlite:>12} {:>9}  ≤ {} ms{}",
            shorten(&format!("{} | {}", query.filter.text, query.sort.text)),
            number(self.pinakes.median()),
            number(self.pinakes.worst()),
            format!("{mark}{}", number(self.ratio())),
            query.group.ceiling_millis(),
            if self.is_over(query) { " OVER" } else { "" }
        );
    }
}

/// Shortens a text to 72 characters by leaving out the middle.
fn shorten(text: &str) -> String {
    let characters: Vec<char> = text.chars().collect();
    if characters.len() <= 72 {
        return text.into();
    }
    let (start, end) = (&characters[..45], &characters[characters.len() - 26..]);
    start.iter().chain(&['…']).chain(end).collect()
}

/// Counts over all pages.
#[derive(Default)]
struct Totals {
    pages: usize,
    unanswered: usize,
    over: usize,
    slower: usize,
}

impl Totals {
    fn add(&mut self, timings: &Timings, query: &ListQuery) {
        self.pages += 1;
        self.unanswered += usize::from(timings.pinakes.median().is_none());
        self.over += usize::from(timings.is_over(query));
        self.slower += usize::from(timings.ratio().is_some_and(|ratio| ratio < 1.0));
    }

    fn print(&self) {
        let Totals { pages, unanswered, over, slower } = self;
        println!(
            "\n{pages} pages: {over} over their ceiling, {slower} slower than SQLite, {unanswered} without a result"
        );
    }
}
