//! Candidates for what begins with letters, asked of a snapshot of authors alone and of SQLite's FTS5 by turns.
//!
//! In process, on one thread, nothing rendered. Each question is asked once before it is timed; its time is the median
//! of seven runs.

mod authors;
mod engine;
mod fts;
mod questions;
mod served;
mod times;

use std::path::{Path, PathBuf};

use authors::Words;
use engine::Engine;
use fts::Fts;
use pinakes_generate::Plan;
use questions::{Group, sample};
use times::{alone, by_turns, median, worst};

use crate::{Result, build, lists::sizes};

/// Questions of each group put to the global form and its parts, and to FTS5.
const SAMPLE: usize = 200;
/// The worst questions of a group that are named.
const WORST: usize = 5;

/// Generates, builds, loads, asks, serves and prints.
pub fn run(names: u64, vocabulary: u32, dir: &Path, memory: &str) -> Result<()> {
    let made = prepare(names, vocabulary, dir, memory)?;
    let snapshot = made.snapshots.join("current").canonicalize()?;
    print_sizes(&snapshot, &made.database, names);
    let engine = Engine::open(&snapshot)?;
    let words = Words::of(&made.dump)?;
    println!("{} distinct words", words.all.len());
    let groups = questions::all(&words, &engine)?;
    let mut over = 0;
    for group in &groups {
        over += ask(&engine, group)?;
    }
    print_global(&engine, &groups)?;
    print_beside(&engine, &Fts::open(&made.database)?, &groups)?;
    println!("\n{over} questions over their ceiling");
    served::run(&made.snapshots, &groups, dir)
}

/// What the bench works on, each made anew if it is not there; the snapshot always is.
struct Made {
    dump: PathBuf,
    snapshots: PathBuf,
    database: PathBuf,
}

fn prepare(names: u64, vocabulary: u32, dir: &Path, memory: &str) -> Result<Made> {
    let of = |what: &str| dir.join(format!("names-{what}-{names}-{vocabulary}"));
    let (dump, snapshots) = (of("dump"), of("snapshots"));
    let database = dir.join(format!("names-{names}-{vocabulary}.sqlite"));
    build::generate(&Plan::names(names, vocabulary, 1), &dump)?;
    let (cost, _) = build::compile(&dump, &snapshots, memory, &dir.join("names.json"))?;
    println!("\n{names} authors, named with a vocabulary of {vocabulary} words");
    build::print_cost("build", &cost);
    if !database.exists() {
        fts::load(&dump, &database)?;
    }
    Ok(Made { dump, snapshots, database })
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
        "together {all} bytes, {:.1} an author; FTS5 {fts} bytes, {:.1} an author",
        per_author(all),
        per_author(fts)
    );
}

/// Asks a group, prints it and counts those over its ceiling.
fn ask(engine: &Engine, group: &Group) -> Result<usize> {
    let mut asked = Vec::with_capacity(group.queries.len());
    for query in &group.queries {
        let count = engine.authors(query)?.count;
        asked.push((alone(|| engine.authors(query))?, query, count));
    }
    let micros: Vec<f64> = asked.iter().map(|(micros, ..)| micros.median).collect();
    let over = |micros: f64| group.ceiling_micros.is_some_and(|ceiling| micros > ceiling);
    let all_over = micros.iter().filter(|&&micros| over(micros)).count();
    let always = asked.iter().filter(|(micros, ..)| over(micros.least)).count();
    let ceiling = group.ceiling_micros.map_or("none".into(), |ceiling| format!("{ceiling} µs"));
    println!(
        "\n{}: {} questions, worst {:.2} µs, median {:.2} µs; ceiling {ceiling}, {all_over} over, {always} of them in every run",
        group.title,
        asked.len(),
        worst(&micros),
        median(&mut micros.clone()),
    );
    asked.sort_unstable_by(|a, b| b.0.median.total_cmp(&a.0.median));
    for (micros, query, count) in asked.iter().take(WORST) {
        let mark = if over(micros.median) { " OVER" } else { "" };
        println!(
            "  {query:<40} {count:>10} matches {:>11.2} µs, quickest {:>11.2}{mark}",
            micros.median, micros.least
        );
    }
    Ok(all_over)
}

/// The global form beside the sum of its parts, by turns.
fn print_global(engine: &Engine, groups: &[Group]) -> Result<()> {
    println!("\nall ten entities at once, beside one by one: medians and worst in µs");
    for group in groups {
        let (mut all, mut parts) = (Vec::new(), Vec::new());
        for query in sample(&group.queries, SAMPLE) {
            let expected: u64 = engine.each(query)?.iter().map(|part| part.count).sum();
            let found = engine.all(query)?.count;
            if found != expected {
                return Err(format!("`{query}`: {found} of all, {expected} one by one").into());
            }
            let (one, other) = by_turns(|| engine.all(query), || engine.each(query))?;
            all.push(one);
            parts.push(other);
        }
        print_pair(group, "at once", &mut all, "one by one", &mut parts);
    }
    Ok(())
}

/// A sample of each group beside FTS5, by turns; both count the same.
fn print_beside(engine: &Engine, fts: &Fts, groups: &[Group]) -> Result<()> {
    println!("\ncount and ten best, beside FTS5 with prefix = '1 2 3': medians and worst in µs");
    let mut prepared = fts.prepare()?;
    for group in groups {
        let (mut own, mut peer) = (Vec::new(), Vec::new());
        for query in sample(&group.queries, SAMPLE) {
            let (count, (expected, _)) = (engine.authors(query)?.count, prepared.ask(query)?);
            if count != expected {
                return Err(format!("`{query}`: {count}, where FTS5 has {expected}").into());
            }
            let (one, other) = by_turns(|| engine.authors(query), || prepared.ask(query))?;
            own.push(one);
            peer.push(other);
        }
        print_pair(group, "ours", &mut own, "FTS5", &mut peer);
    }
    Ok(())
}

fn print_pair(group: &Group, one: &str, ones: &mut [f64], other: &str, others: &mut [f64]) {
    println!(
        "  {:<24} {:>5} questions: {one} {:>9.2} and {:>9.2}, {other} {:>11.2} and {:>11.2}; ratio of medians {:.2}",
        group.title,
        ones.len(),
        median(ones),
        worst(ones),
        median(others),
        worst(others),
        median(others) / median(ones)
    );
}
