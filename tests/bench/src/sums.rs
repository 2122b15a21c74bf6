//! Citations, groups and statistics of lean outputs, in this process, each beside its ceiling.

use std::{
    collections::BTreeSet,
    hint::black_box,
    num::NonZeroU32,
    path::Path,
    time::{Duration, Instant},
};

use pinakes_format::entity::Entity;
use pinakes_format::index::citations::CitationsFile;
use pinakes_format::query::{Deadline, Query, ResultKind};
use pinakes_format::schema::keys::Direction;
use pinakes_format::snapshot::{Snapshot, archive_path};
use pinakes_format::storage::header::FileKind;
use pinakes_generate::Plan;

use crate::{Result, build};

/// Runs of each measurement; the median is printed.
const RUNS: usize = 11;
/// Time that queries may take; none of those here is refused.
const TIME: Duration = Duration::from_secs(3600);
/// Outputs that a walk of the citation graph begins with.
const SEEDS: u32 = 100;

/// Queries whose groups have a few thousand values, and their filters.
const FEW: [(&str, &str); 8] = [
    ("primary_topic.id", ""),
    ("primary_topic.id", "year:>2015"),
    ("primary_topic.id", "type:article"),
    ("primary_topic.id", "type:article,year:>2019"),
    ("topics.id", ""),
    ("topics.id", "year:>2015"),
    ("topics.id", "type:article"),
    ("topics.id", "authors.countries.code:us"),
];
/// Keys with hundreds of thousands of values.
const MANY: [&str; 3] = ["authors.id", "authors.affiliations.id", "references"];

/// Builds the snapshot of a lean dump unless it exists, and prints the measurements.
pub fn run(outputs: u64, dir: &Path, memory: &str) -> Result<()> {
    let dump = dir.join(format!("lists-dump-{outputs}"));
    build::generate(&Plan::lean(outputs, 1), &dump)?;
    let snapshots = dir.join(format!("lists-snapshots-{outputs}"));
    if !snapshots.join("current").exists() {
        let (cost, _) = build::compile(&dump, &snapshots, memory, &dir.join("sums.json"))?;
        build::print_cost("build", &cost);
    }
    let snapshot = Snapshot::open(&snapshots.join("current").canonicalize()?)?;
    println!("\n{outputs} lean outputs");
    print_sizes(&snapshot)?;
    println!("{:<64} {:>10} {:>11}  ceiling", "what", "records", "median ms");
    print_citations(&snapshot)?;
    for (key, filter) in FEW {
        print_groups(&snapshot, key, filter, 25.0)?;
    }
    let hundred_thousand = filter_of(&snapshot, 100_000)?;
    for key in MANY {
        print_groups(&snapshot, key, &hundred_thousand, 100.0)?;
    }
    print_groups(&snapshot, "type,year", "is_oa:true", 100.0)?;
    for filter in ["", "year:>2015", "type:article", &hundred_thousand] {
        print_statistics(&snapshot, filter)?;
    }
    Ok(())
}

fn print_sizes(snapshot: &Snapshot) -> Result<()> {
    let records = f64::from(snapshot.count(Entity::Output));
    let citations = snapshot.citations(Entity::Output)?;
    let links = citations.links(Direction::References) as f64 / records;
    for (kind, of) in [(FileKind::Citations, "both directions"), (FileKind::Targets, "targets")] {
        let path = snapshot.path().join(archive_path(kind, Some(Entity::Output)));
        let bytes = path.metadata()?.len() as f64;
        println!("{of}: {:.1} bytes an output, of {links:.1} references", bytes / records);
    }
    Ok(())
}

/// Runs `measured` several times and prints the median.
fn print<T>(
    (what, ceiling_millis): (&str, f64),
    measured: impl Fn() -> Result<(u64, T)>,
) -> Result<()> {
    let mut millis = Vec::with_capacity(RUNS);
    let mut records = 0;
    for _ in 0..RUNS {
        let begun = Instant::now();
        let (found, outcome) = black_box(measured()?);
        millis.push(begun.elapsed().as_secs_f64() * 1e3);
        drop(outcome);
        records = found;
    }
    millis.sort_by(f64::total_cmp);
    let median = millis[RUNS / 2];
    let over = if median > ceiling_millis { " OVER" } else { "" };
    println!("{what:<64} {records:>10} {median:>11.3}  ≤ {ceiling_millis} ms{over}");
    Ok(())
}

/// A filter that matches about so many outputs.
fn filter_of(snapshot: &Snapshot, outputs: u64) -> Result<String> {
    let count = |filter: &str| -> Result<u64> {
        Ok(query(filter)?.execute(snapshot, Deadline::NEVER)?.count)
    };
    let (mut low, mut high) = (0, 1_000_000);
    while low < high {
        let middle = (low + high) / 2;
        let is_few = count(&format!("year:2015,fwci:>{}", f64::from(middle) / 1e3))? <= outputs;
        if is_few { high = middle } else { low = middle + 1 }
    }
    Ok(format!("year:2015,fwci:>{}", f64::from(low) / 1e3))
}

fn query(filter: &str) -> Result<Query> {
    let mut query = Query::new(Entity::Output);
    if !filter.is_empty() {
        query.add_filter(filter).map_err(|refusals| format!("{filter}: {refusals:?}"))?;
    }
    Ok(query)
}

fn print_groups(snapshot: &Snapshot, key: &str, filter: &str, ceiling: f64) -> Result<()> {
    let mut grouped = query(filter)?;
    grouped.set_group_by(key).map_err(|refusals| format!("{key}: {refusals:?}"))?;
    let ResultKind::Groups(grouping) = &grouped.result_kind else { return Err("no groups".into()) };
    print((&format!("groups by {key} of {filter}"), ceiling), || {
        let groups = grouped.groups(grouping, snapshot, Deadline::NEVER, TIME)?;
        Ok((groups.count, groups))
    })
}

fn print_statistics(snapshot: &Snapshot, filter: &str) -> Result<()> {
    let mut summed = query(filter)?;
    summed.sum_up();
    let ResultKind::Statistics(keys) = &summed.result_kind else {
        return Err("no statistics".into());
    };
    print((&format!("statistics of {filter}"), 50.0), || {
        let statistics = summed.statistics(keys, snapshot, Deadline::NEVER, TIME)?;
        Ok((statistics.count, statistics))
    })?;
    print((&format!("h-index and g-index of {filter}"), 1.0), || {
        Ok((0, summed.citation_indexes(snapshot)?))
    })
}

fn print_citations(snapshot: &Snapshot) -> Result<()> {
    let citations = snapshot.citations(Entity::Output)?;
    let most = (0..snapshot.count(Entity::Output))
        .map(|row| (citations.count(Direction::Citations, row).unwrap_or_default(), row))
        .max();
    let (count, row) = most.ok_or("there are no outputs")?;
    let id = snapshot.row_id(Entity::Output, row)?;
    for page in [1, count / 50, count / 25] {
        let mut citing = Query::new(Entity::Output);
        citing.follow(Direction::Citations, id);
        citing.page = NonZeroU32::new(page.max(1)).ok_or("pages begin at 1")?;
        print((&format!("page {page} of the citations of the most cited output"), 1.0), || {
            let found = citing.execute(snapshot, Deadline::NEVER)?;
            Ok((found.count, found))
        })?;
    }
    print((&format!("two steps of references and citations from {SEEDS} outputs"), 100.0), || {
        let step = snapshot.count(Entity::Output) / SEEDS;
        let mut reached: BTreeSet<u32> = (0..SEEDS).map(|at| at * step).collect();
        for _ in 0..2 {
            reached = step_from(citations, &reached, snapshot.count(Entity::Output))?;
        }
        Ok((reached.len() as u64, reached))
    })
}

/// The outputs that some outputs refer to, and that refer to them.
fn step_from(
    citations: &CitationsFile,
    from: &BTreeSet<u32>,
    records: u32,
) -> Result<BTreeSet<u32>> {
    let mut reached = Vec::new();
    for row in from {
        for direction in Direction::ALL {
            citations.rows(direction, *row)?.each(|row| {
                if row < records {
                    reached.push(row);
                }
                true
            })?;
        }
    }
    Ok(reached.into_iter().collect())
}
