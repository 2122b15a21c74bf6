//! Autocompletes authors' names from a snapshot and from SQLite's FTS5, in turn.
//!
//! Both engines run in this process on one thread, and render nothing. Each query runs once before the timed runs;
//! its time is the median of at most seven runs.

mod authors;
mod engine;
mod fts;
mod queries;
mod served;
pub mod times;

use std::path::{Path, PathBuf};

use authors::Words;
use engine::Engine;
use fts::Fts;
use pinakes_generate::Plan;
use queries::{Group, sample};
use times::{median, time_alone, time_in_turn, worst};

use crate::{Result, build, lists::sizes};

/// Queries of each group that are compared with FTS5, and that are run on all entities.
const SAMPLE: usize = 200;
/// Slowest queries of a group that are printed.
const PRINTED_MAX: usize = 5;

/// Generates a dump, builds a snapshot, loads FTS5, measures all groups, and measures them over HTTP.
pub fn run(names: u64, vocabulary: u32, dir: &Path, memory: &str) -> Result<()> {
    let inputs = prepare(names, vocabulary, dir, memory)?;
    let snapshot = inputs.snapshots.join("current").canonicalize()?;
    print_sizes(&snapshot, &inputs.database, names);
    let engine = Engine::open(&snapshot)?;
    let words = Words::read(&inputs.dump)?;
    println!("{} distinct words", words.all.len());
    let groups = queries::all(&words, &engine)?;
    let mut over = 0;
    for group in &groups {
        over += time_group(&engine, group)?;
    }
    print_all_entities(&engine, &groups)?;
    print_fts5_comparison(&engine, &Fts::open(&inputs.database)?, &groups)?;
    println!("\n{over} queries over their ceiling");
    served::run(&inputs.snapshots, &groups, dir)
}

/// The dump, the snapshots and the FTS5 file of the benchmark.
struct Inputs {
    dump: PathBuf,
    snapshots: PathBuf,
    database: PathBuf,
}

/// Builds the snapshot; generates the dump and loads the FTS5 file unless they exist.
fn prepare(names: u64, vocabulary: u32, dir: &Path, memory: &str) -> Result<Inputs> {
    let directory = |what: &str| dir.join(format!("names-{what}-{names}-{vocabulary}"));
    let (dump, snapshots) = (directory("dump"), directory("snapshots"));
    let database = dir.join(format!("names-{names}-{vocabulary}.sqlite"));
    build::generate(&Plan::names(names, vocabulary, 1), &dump)?;
    let (cost, _) = build::compile(&dump, &snapshots, memory, &dir.join("names.json"))?;
    println!("\n{names} authors, names of {vocabulary} distinct words");
    build::print_cost("build", &cost);
    if !database.exists() {
        fts::load(&dump, &database)?;
    }
    Ok(Inputs { dump, snapshots, database })
}

fn print_sizes(snapshot: &Path, database: &Path, names: u64) {
    let per_author = |bytes: u64| bytes as f64 / names as f64;
    let authors = snapshot.join("authors");
    let mut all = 0;
    for file in engine::FILES {
        let path = authors.join(file);
        if !path.exists() {
            println!("authors/{file}: absent");
            continue;
        }
        let bytes = sizes::bytes_of(&path);
        all += bytes;
        println!("authors/{file}: {bytes} bytes, {:.1} an author", per_author(bytes));
    }
    let fts = sizes::bytes_of(database);
    println!(
        "total {all} bytes, {:.1} an author; FTS5 {fts} bytes, {:.1} an author",
        per_author(all),
        per_author(fts)
    );
}

/// Times the queries of a group and prints them; returns the number of queries over the group's ceiling.
fn time_group(engine: &Engine, group: &Group) -> Result<usize> {
    let mut timed = Vec::with_capacity(group.queries.len());
    for query in &group.queries {
        let count = engine.authors(query)?.count;
        timed.push((time_alone(|| engine.authors(query))?, query, count));
    }
    let micros: Vec<f64> = timed.iter().map(|(micros, ..)| micros.median).collect();
    let is_over = |micros: f64| group.ceiling_micros.is_some_and(|ceiling| micros > ceiling);
    let over_median = micros.iter().filter(|&&micros| is_over(micros)).count();
    let over_always = timed.iter().filter(|(micros, ..)| is_over(micros.least)).count();
    let ceiling = group.ceiling_micros.map_or("none".into(), |ceiling| format!("{ceiling} µs"));
    println!(
        "\n{}: {} queries, worst {:.2} µs, median {:.2} µs; ceiling {ceiling}, {over_median} over, {over_always} over in every run",
        group.title,
        timed.len(),
        worst(&micros),
        median(&mut micros.clone()),
    );
    timed.sort_unstable_by(|a, b| b.0.median.total_cmp(&a.0.median));
    for (micros, query, count) in timed.iter().take(PRINTED_MAX) {
        let mark = if is_over(micros.median) { " OVER" } else { "" };
        println!(
            "  {query:<40} {count:>10} matches {:>11.2} µs, fastest {:>11.2}{mark}",
            micros.median, micros.least
        );
    }
    Ok(over_median)
}

/// Compares a query of all ten entities at once with ten queries of one entity, in turn.
fn print_all_entities(engine: &Engine, groups: &[Group]) -> Result<()> {
    println!("\nall ten entities at once, and one after another: median and worst in µs");
    for group in groups {
        let (mut at_once, mut separate) = (Vec::new(), Vec::new());
        for query in sample(&group.queries, SAMPLE) {
            let expected: u64 = engine.each(query)?.iter().map(|candidates| candidates.count).sum();
            let found = engine.all(query)?.count;
            if found != expected {
                return Err(format!(
                    "`{query}`: {found} matches at once, {expected} one after another"
                )
                .into());
            }
            let (first, second) = time_in_turn(|| engine.all(query), || engine.each(query))?;
            at_once.push(first);
            separate.push(second);
        }
        print_pair(group, "at once", &mut at_once, "one after another", &mut separate);
    }
    Ok(())
}

/// Compares a sample of each group with FTS5, in turn; fails if the counts differ.
fn print_fts5_comparison(engine: &Engine, fts: &Fts, groups: &[Group]) -> Result<()> {
    println!("\ncount and ten best, and FTS5 with prefix = '1 2 3': median and worst in µs");
    let mut prepared = fts.prepare()?;
    for group in groups {
        let (mut pinakes, mut fts5) = (Vec::new(), Vec::new());
        for query in sample(&group.queries, SAMPLE) {
            let (count, (expected, _)) = (engine.authors(query)?.count, prepared.run(query)?);
            if count != expected {
                return Err(
                    format!("`{query}`: {count} matches, but FTS5 returns {expected}").into()
                );
            }
            let (first, second) = time_in_turn(|| engine.authors(query), || prepared.run(query))?;
            pinakes.push(first);
            fts5.push(second);
        }
        print_pair(group, "Pinakes", &mut pinakes, "FTS5", &mut fts5);
    }
    Ok(())
}

fn print_pair(group: &Group, first: &str, firsts: &mut [f64], second: &str, seconds: &mut [f64]) {
    println!(
        "  {:<24} {:>5} queries: {first} {:>9.2} and {:>9.2}, {second} {:>11.2} and {:>11.2}; ratio of medians {:.2}",
        group.title,
        firsts.len(),
        median(firsts),
        worst(firsts),
        median(seconds),
        worst(seconds),
        median(seconds) / median(firsts)
    );
}
