//! Searches a snapshot and a tantivy index of the same texts, query by query in turn.
//!
//! Both engines run in this process on one thread. Times are processor times. Each query runs once before the timed runs.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{
    Generated,
    clock::{micros_of, thread_seconds},
    engine::{Engine, IndexBytes},
    peer::{Fields, Peer},
    queries::{Aim, Draw, Group, QueryPair, Wanted},
    texts::{Texts, id_of},
};
use crate::{
    Result, build,
    names::times::median,
    process::{Cost, measure, sibling_program},
};

/// Timed runs of a query by each engine …
const RUNS: usize = 5;
/// … that end early after this many microseconds.
const MICROS_ENOUGH: f64 = 400_000.0;

/// The snapshot of the generated texts.
pub struct Inputs {
    pub texts: Texts,
    pub dump: PathBuf,
    pub snapshots: PathBuf,
}

impl Inputs {
    /// Generates the dump unless it exists.
    pub fn generate(outputs: u32, dir: &Path) -> Result<Inputs> {
        let texts = Texts::new();
        let dump = dir.join(format!("search-dump-{outputs}"));
        std::fs::create_dir_all(dir)?;
        texts.write_dump(outputs, &dump)?;
        Ok(Inputs { texts, dump, snapshots: dir.join(format!("search-snapshots-{outputs}")) })
    }

    /// Opens the snapshot; builds it unless it exists.
    pub fn open(&self, outputs: u32, memory: &str) -> Result<Engine> {
        if !self.snapshots.join("current").exists() {
            compile(&self.dump, &self.snapshots, memory, &[])?;
        }
        let engine = Engine::open(&self.snapshots.join("current").canonicalize()?)?;
        for row in [0, outputs / 3, outputs - 1] {
            if engine.id(row)? != id_of(row) {
                return Err(format!("row {row} is not output {row}").into());
            }
        }
        Ok(engine)
    }
}

/// Builds both indexes, and prints the tables of bytes, of processor time and of searches.
pub fn run(generated: &Generated, fields: &[Fields]) -> Result<()> {
    let Generated { outputs, dir, memory } = generated;
    let outputs = *outputs;
    let inputs = Inputs::generate(outputs, dir)?;
    println!("\n{outputs} outputs, words of a dictionary of {}", inputs.texts.dictionary_words());
    build::remove(&inputs.snapshots);
    let with = compile(&inputs.dump, &inputs.snapshots, memory, &[])?;
    let bare = inputs.snapshots.with_extension("no-search");
    build::remove(&bare);
    let without = compile(&inputs.dump, &bare, memory, &["--no-search"])?;
    build::remove(&bare);
    build::print_cost("build with the index", &with);
    build::print_cost("build with --no-search", &without);
    println!("  {:.2} times the CPU-s", with.cpu_seconds / without.cpu_seconds);
    let engine = inputs.open(outputs, memory)?;
    println!("{} terms", engine.terms()?);
    let groups = Draw::new(&inputs.texts, &engine, outputs).groups(RARE_TYPE_FILTER)?;
    print_bytes_heading();
    print_bytes("Pinakes", engine.bytes()?, outputs);
    for fields in fields {
        let begun = thread_seconds();
        let peer = Peer::index(&inputs.texts, outputs, &engine, *fields)?;
        let seconds = thread_seconds() - begun;
        let begun = thread_seconds();
        analyze(&inputs.texts, outputs, &engine);
        let analyzed = thread_seconds() - begun;
        print_bytes(&format!("tantivy, {}", name_of(*fields)), peer.bytes()?, outputs);
        println!(
            "  indexed in {seconds:.1} CPU-s, {analyzed:.1} of them for making and analyzing the texts"
        );
        print_heading(*fields);
        let mut before = None;
        for group in &groups {
            let times = time_group(&engine, &peer, group)?;
            before = Some(times.print(group, before));
        }
    }
    Ok(())
}

/// The filter of the rare type.
const RARE_TYPE_FILTER: &str = "type:letter";

fn compile(dump: &Path, snapshots: &Path, memory: &str, options: &[&str]) -> Result<Cost> {
    measure(
        Command::new(sibling_program("pinakes-compiler")?)
            .args(["build", "--quiet", "--memory", memory])
            .args(options)
            .arg("--out")
            .args([snapshots, dump]),
    )
}

/// Makes and analyzes all texts, and drops them.
fn analyze(texts: &Texts, outputs: u32, engine: &Engine) {
    let mut stems = Vec::new();
    for ordinal in 0..outputs {
        let output = texts.output(ordinal);
        for ranks in [&output.title, &output.r#abstract] {
            engine.stems(&texts.text(ranks), &mut stems);
            std::hint::black_box(&stems);
            stems.clear();
        }
    }
}

fn name_of(fields: Fields) -> &'static str {
    match fields {
        Fields::Two => "two fields",
        Fields::One => "one field",
    }
}

fn print_bytes_heading() {
    println!(
        "\n{:<22} {:>8} {:>9} {:>10} {:>11} {:>8}",
        "bytes an output", "total", "postings", "positions", "dictionary", "lengths"
    );
}

fn print_bytes(engine: &str, bytes: IndexBytes, outputs: u32) {
    let each = |bytes: u64| bytes as f64 / f64::from(outputs);
    println!(
        "{engine:<22} {:>8.1} {:>9.1} {:>10.1} {:>11.1} {:>8.1}",
        each(bytes.total()),
        each(bytes.postings),
        each(bytes.positions),
        each(bytes.dictionary),
        each(bytes.lengths)
    );
}

/// Median microseconds of each query of a group.
struct Times {
    pinakes: Vec<f64>,
    tantivy: Vec<f64>,
    matches: Vec<f64>,
    /// Queries of which the engines count different numbers of records.
    unequal: usize,
}

fn time_group(engine: &Engine, peer: &Peer, group: &Group) -> Result<Times> {
    let mut times =
        Times { pinakes: Vec::new(), tantivy: Vec::new(), matches: Vec::new(), unequal: 0 };
    for QueryPair { search, filter, peer: query } in &group.queries {
        let run_pinakes = || engine.search(search, filter, 10);
        let run_tantivy = || match group.wanted {
            Wanted::CountAndBest => peer.search(query).map(|found| found.rows.len()),
            Wanted::BestOfMost => peer.best(query),
        };
        let found = run_pinakes()?;
        let expected = peer.search(query)?;
        run_tantivy()?;
        if found.count < expected.count && group.has_equal_counts {
            let (found, expected) = (found.count, expected.count);
            return Err(
                format!("`{search}`: {found} matches, but tantivy counts {expected}").into()
            );
        }
        times.unequal += usize::from(found.count != expected.count);
        times.matches.push(found.count as f64);
        let (mut pinakes, mut tantivy) = (Vec::new(), Vec::new());
        while pinakes.len() < RUNS && pinakes.iter().chain(&tantivy).sum::<f64>() < MICROS_ENOUGH {
            pinakes.push(micros_of(run_pinakes)?);
            tantivy.push(micros_of(run_tantivy)?);
        }
        times.pinakes.push(median(&mut pinakes));
        times.tantivy.push(median(&mut tantivy));
    }
    Ok(times)
}

fn print_heading(fields: Fields) {
    println!(
        "\n{:<30} {:>8} {:>10} {:>11} {:>11} {:>7} {:>7} {:>11} {:>8}  aim",
        format!("µs of CPU; tantivy: {}", name_of(fields)),
        "matches",
        "Pinakes",
        "worst",
        "tantivy",
        "ratio",
        "of sums",
        "least ratio",
        "unequal",
    );
}

impl Times {
    /// Prints the group; returns the median of Pinakes.
    fn print(mut self, group: &Group, before: Option<f64>) -> f64 {
        let ratios = self.tantivy.iter().zip(&self.pinakes).map(|(tantivy, own)| tantivy / own);
        let least = ratios.fold(f64::INFINITY, f64::min);
        let of_sums = self.tantivy.iter().sum::<f64>() / self.pinakes.iter().sum::<f64>();
        let worst = self.pinakes.iter().copied().fold(0.0, f64::max);
        let (own, tantivy) = (median(&mut self.pinakes), median(&mut self.tantivy));
        let ratio = tantivy / own;
        let (aim, is_reached) = match group.aim {
            Aim::Ratio(least) => (format!("≥ {least} ×"), ratio >= least),
            Aim::Milliseconds(most) => (format!("≤ {most} ms"), worst <= most * 1e3),
            Aim::AsBefore => {
                let before = before.unwrap_or(f64::INFINITY);
                (format!("≤ {before:.0} µs, as without"), own <= before)
            }
        };
        println!(
            "{:<30} {:>8} {own:>10.1} {worst:>11.1} {tantivy:>11.1} {ratio:>7.2} {of_sums:>7.2} {least:>11.2} {:>8}  {aim}{}",
            group.title,
            median(&mut self.matches),
            self.unequal,
            if is_reached { "" } else { " MISSED" }
        );
        own
    }
}
