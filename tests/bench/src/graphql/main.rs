//! Searches for the most expensive GraphQL queries at random, and compares their costs with ceilings.
//!
//! The measured costs are processor time, bytes of the reply and heap of accepted queries, and processor
//! time of refused queries.
//!
//! 1. Half of the queries are random. The other half are a kept accepted query with a root field added,
//!    removed or replaced.
//! 2. Each query runs once to verify the touched chunks, and once measured.
//! 3. The search keeps the 16 most expensive queries by each kind of cost.
//!
//! The program counts allocations with its own allocator, so it is separate from `pinakes-bench`. The
//! same seed gives the same queries on every run.

mod hostile;
mod queries;

use std::{
    path::PathBuf,
    process::ExitCode,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use clap::Parser;
use peak_alloc::PeakAlloc;
use pinakes_answer::GraphqlSettings;
use pinakes_answer::parts::{GraphqlRequest, Outcome, respond};
use pinakes_format::snapshot::Snapshot;
use pinakes_generate::Random;
use pinakes_server::parts::PROCESS_CLOCK;
use queries::QueryGenerator;
use rustix::time::{ClockId, clock_gettime};

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

/// The result of a step that may fail with any error; the benchmark prints the error and exits.
type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Ceilings of the processor time of an accepted and of a refused query.
const ACCEPTED_MILLIS_MAX: f64 = 100.0;
const REFUSED_MILLIS_MAX: f64 = 2.0;
/// Ceiling of the time from the client's disconnect to the end of the work.
const DISCONNECT_MILLIS_MAX: f64 = 10.0;
/// Timeout of a query; long, because the first query reads from disk.
const TIMEOUT: Duration = Duration::from_secs(600);
const BYTES_MAX: f64 = 4e6;
const HEAP_BYTES_MAX: f64 = 32.0 * 1_048_576.0;
/// Most expensive queries of each kind that the search keeps and mutates.
const KEPT_MAX: usize = 16;
/// Runs of a kept query; the fastest run counts, because other programs use the machine.
const RUNS: usize = 5;

/// Searches for the most expensive GraphQL queries of a snapshot.
#[derive(Parser)]
struct Options {
    /// Directory of the snapshot.
    snapshot: PathBuf,
    /// Number of queries.
    #[arg(long = "questions", default_value_t = 20_000)]
    queries: usize,
    /// Seed of the random queries.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Cost of a query.
#[derive(Clone, Copy, Debug, Default)]
struct Cost {
    millis: f64,
    bytes: f64,
    heap_bytes: f64,
}

/// A kind of cost, and its ceiling.
struct CostKind {
    name: &'static str,
    unit: &'static str,
    ceiling: f64,
    measure: fn(&Cost) -> f64,
}

const KINDS: [CostKind; 4] = [
    CostKind {
        name: "time",
        unit: "ms",
        ceiling: ACCEPTED_MILLIS_MAX,
        measure: |cost| cost.millis,
    },
    CostKind { name: "reply", unit: "bytes", ceiling: BYTES_MAX, measure: |cost| cost.bytes },
    CostKind {
        name: "heap",
        unit: "bytes",
        ceiling: HEAP_BYTES_MAX,
        measure: |cost| cost.heap_bytes,
    },
    CostKind {
        name: "time refused",
        unit: "ms",
        ceiling: REFUSED_MILLIS_MAX,
        measure: |cost| cost.millis,
    },
];

/// How a query ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    Answered,
    Stopped,
    Refused,
}

/// A kept query: its root fields and its cost.
#[derive(Clone)]
struct CostlyQuery {
    roots: Vec<String>,
    cost: Cost,
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<bool> {
    let snapshot = Snapshot::open(&options.snapshot)?;
    let mut random = Random::new(options.seed);
    let generator = QueryGenerator::new(&snapshot);
    let mut search = Search { snapshot: &snapshot, counts: [0; 3], costliest: Default::default() };
    measure_query(&snapshot, "{__typename}")?;
    for at in 0..options.queries {
        let roots = match random.below(2) {
            0 if at > KEPT_MAX => search.mutate(&generator, &mut random)?,
            _ => generator.random_roots(&mut random)?,
        };
        search.add(roots)?;
    }
    let [answered, stopped, refused] = search.counts;
    println!(
        "graphql: {} queries: {answered} answered, {stopped} stopped while running, {refused} refused",
        options.queries
    );
    let mut is_within = search.print()?;
    is_within &= measure_disconnect(&snapshot, &search.costliest[0])?;
    for (name, query) in hostile::queries() {
        let (ending, cost) = best_of(&snapshot, &query)?;
        let ceiling =
            if ending == Ending::Refused { REFUSED_MILLIS_MAX } else { ACCEPTED_MILLIS_MAX };
        is_within &= cost.millis <= ceiling;
        println!("  {name}: {ending:?}, {:.2} ms, ceiling {ceiling:.0}", cost.millis);
    }
    Ok(is_within)
}

struct Search<'s> {
    snapshot: &'s Snapshot,
    /// Number of queries by [`Ending`].
    counts: [usize; 3],
    /// The most expensive queries of each of [`KINDS`], most expensive first.
    costliest: [Vec<CostlyQuery>; 4],
}

impl Search<'_> {
    fn add(&mut self, roots: Vec<String>) -> Result<()> {
        let query = queries::text(&roots);
        // The first run verifies the touched chunks; the measured run does not.
        measure_query(self.snapshot, &query)?;
        let (ending, cost) = measure_query(self.snapshot, &query)?;
        self.counts[ending as usize] += 1;
        // The last kind counts refused queries.
        let kinds = if ending == Ending::Refused { 3..4 } else { 0..3 };
        for kind in kinds {
            let CostKind { measure, .. } = &KINDS[kind];
            let kept = &mut self.costliest[kind];
            kept.push(CostlyQuery { roots: roots.clone(), cost });
            kept.sort_by(|a, b| measure(&b.cost).total_cmp(&measure(&a.cost)));
            kept.truncate(KEPT_MAX);
        }
        Ok(())
    }

    /// Copies a kept accepted query, and adds, removes, replaces or repeats a root field.
    fn mutate(&self, generator: &QueryGenerator<'_>, random: &mut Random) -> Result<Vec<String>> {
        let kept = &self.costliest[random.below(3) as usize];
        if kept.is_empty() {
            return Ok(generator.random_roots(random)?);
        }
        let mut roots = kept[random.below(kept.len() as u64) as usize].roots.clone();
        let at = random.below(roots.len() as u64) as usize;
        match random.below(4) {
            0 if roots.len() > 1 => drop(roots.remove(at)),
            1 => roots[at] = generator.random_root(random)?,
            2 => roots.push(roots[at].clone()),
            _ => roots.push(generator.random_root(random)?),
        }
        Ok(roots)
    }

    /// Prints the most expensive query of each kind; whether all are within their ceilings.
    fn print(&self) -> Result<bool> {
        let mut is_within = true;
        for (CostKind { name, unit, ceiling, measure }, kept) in KINDS.iter().zip(&self.costliest) {
            let Some(first) = kept.first() else { continue };
            let query = queries::text(&first.roots);
            let (ending, cost) = best_of(self.snapshot, &query)?;
            let found = measure(&cost);
            is_within &= found <= *ceiling;
            let shown: String = query.chars().take(160).collect();
            println!(
                "  most {name}: {found:.2} {unit}, ceiling {ceiling:.0}, {ending:?}: {shown}…"
            );
        }
        Ok(is_within)
    }
}

/// Disconnects in the middle of the most expensive query; whether its work ends within the ceiling.
fn measure_disconnect(snapshot: &Snapshot, costliest: &[CostlyQuery]) -> Result<bool> {
    let Some(first) = costliest.first() else { return Ok(true) };
    let query = queries::text(&first.roots);
    let is_gone = AtomicBool::new(false);
    let half = Duration::from_secs_f64(first.cost.millis / 2e3);
    let (outcome, delay) = std::thread::scope(|scope| {
        let running = scope.spawn(|| {
            let outcome = respond(
                graphql_request(&query),
                snapshot,
                &settings(),
                TIMEOUT,
                &is_gone,
                &PROCESS_CLOCK,
            );
            (outcome, Instant::now())
        });
        std::thread::sleep(half);
        is_gone.store(true, Ordering::Relaxed);
        let left = Instant::now();
        let joined = running.join().map_err(|_| "the query panicked");
        joined.map(|(outcome, ended)| (outcome, ended.saturating_duration_since(left)))
    })?;
    let is_gone = matches!(outcome?, Outcome::Gone);
    let millis = delay.as_secs_f64() * 1e3;
    println!(
        "  client left half-way: work ended {millis:.2} ms later, ceiling {DISCONNECT_MILLIS_MAX:.0}; stopped early: {is_gone}"
    );
    Ok(millis <= DISCONNECT_MILLIS_MAX)
}

fn graphql_request(query: &str) -> GraphqlRequest {
    GraphqlRequest { query: query.to_owned(), variables: Default::default(), operation_name: None }
}

fn settings() -> GraphqlSettings {
    GraphqlSettings {
        has_page: false,
        records: 2_000,
        bytes: 4_000_000,
        cpu: Duration::from_millis(100),
    }
}

/// Runs a query [`RUNS`] times; the ending and cost of the fastest run.
fn best_of(snapshot: &Snapshot, query: &str) -> Result<(Ending, Cost)> {
    let (mut ending, mut best) = measure_query(snapshot, query)?;
    for _ in 1..RUNS {
        let (again, cost) = measure_query(snapshot, query)?;
        if cost.millis < best.millis {
            (ending, best) = (again, cost);
        }
    }
    Ok((ending, best))
}

fn measure_query(snapshot: &Snapshot, query: &str) -> Result<(Ending, Cost)> {
    let (request, is_gone) = (graphql_request(query), AtomicBool::new(false));
    HEAP.reset_peak_usage();
    let before = HEAP.current_usage();
    let begun = thread_cpu();
    let outcome = respond(request, snapshot, &settings(), TIMEOUT, &is_gone, &PROCESS_CLOCK)?;
    let millis = (thread_cpu() - begun).as_secs_f64() * 1e3;
    let heap_bytes = HEAP.peak_usage().saturating_sub(before) as f64;
    let (ending, body) = match outcome {
        Outcome::Answered(body) => (Ending::Answered, body),
        Outcome::Stopped(body) => (Ending::Stopped, body),
        Outcome::Refused(body) | Outcome::Costly(body) => (Ending::Refused, body),
        other => return Err(format!("{other:?}: {query}").into()),
    };
    Ok((ending, Cost { millis, bytes: body.len() as f64, heap_bytes }))
}

/// Processor time of this thread.
fn thread_cpu() -> Duration {
    let spent = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(spent.tv_sec.unsigned_abs(), spent.tv_nsec.unsigned_abs() as u32)
}
