//! What the costliest questions of GraphQL cost, looked for at random: processor time, bytes of the
//! answer and heap of those that are accepted, processor time of those that are refused.
//!
//! A program of its own, as it counts what is allocated. The questions are the same on every run.

mod hostile;
mod questions;

use std::{
    path::PathBuf,
    process::ExitCode,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use clap::Parser;
use peak_alloc::PeakAlloc;
use pinakes_format::snapshot::Snapshot;
use pinakes_generate::Random;
use pinakes_server::parts::{GraphqlRequest, Outcome, Settings, respond};
use rustix::time::{ClockId, clock_gettime};

use questions::Questions;

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

/// An error of any kind; a benchmark has no use for telling them apart.
type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// What an accepted question may cost, and what a refused one.
const ACCEPTED_MILLIS_MAX: f64 = 100.0;
const REFUSED_MILLIS_MAX: f64 = 2.0;
/// How long work may go on once its client is gone.
const LEFT_MILLIS_MAX: f64 = 10.0;
/// Long enough for the first reads from disk, which are no cost of a question.
const TIMEOUT: Duration = Duration::from_secs(600);
const BYTES_MAX: f64 = 4e6;
const HEAP_BYTES_MAX: f64 = 32.0 * 1_048_576.0;
/// The costliest questions of each kind that are kept and made into others.
const KEPT: usize = 16;
/// A costliest question is asked this often; its least time stands, as others use the machine.
const RUNS: usize = 5;

/// Looks for the costliest questions to a snapshot.
#[derive(Parser)]
struct Options {
    /// The snapshot's directory.
    snapshot: PathBuf,
    /// Questions that are asked.
    #[arg(long, default_value_t = 20_000)]
    questions: usize,
    /// Seed of all questions.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// What a question cost.
#[derive(Clone, Copy, Debug, Default)]
struct Cost {
    millis: f64,
    bytes: f64,
    heap_bytes: f64,
}

/// A kind of cost, and how far it may go.
struct Kind {
    name: &'static str,
    unit: &'static str,
    ceiling: f64,
    measure: fn(&Cost) -> f64,
}

const KINDS: [Kind; 4] = [
    Kind { name: "time", unit: "ms", ceiling: ACCEPTED_MILLIS_MAX, measure: |cost| cost.millis },
    Kind { name: "answer", unit: "bytes", ceiling: BYTES_MAX, measure: |cost| cost.bytes },
    Kind { name: "heap", unit: "bytes", ceiling: HEAP_BYTES_MAX, measure: |cost| cost.heap_bytes },
    Kind {
        name: "time refused",
        unit: "ms",
        ceiling: REFUSED_MILLIS_MAX,
        measure: |cost| cost.millis,
    },
];

/// What became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Answered,
    Stopped,
    Refused,
}

/// A question that is kept: its roots, and what it cost.
#[derive(Clone)]
struct Kept {
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
    let questions = Questions::new(&snapshot);
    let mut search = Search { snapshot: &snapshot, counts: [0; 3], kept: Default::default() };
    ask(&snapshot, "{__typename}")?;
    for at in 0..options.questions {
        let roots = match random.below(2) {
            0 if at > KEPT => search.mutated(&questions, &mut random)?,
            _ => questions.some(&mut random)?,
        };
        search.ask(roots)?;
    }
    let [answered, stopped, refused] = search.counts;
    println!(
        "graphql: {} questions: {answered} answered, {stopped} stopped on the way, {refused} refused",
        options.questions
    );
    let mut is_held = search.print()?;
    is_held &= leave(&snapshot, &search.kept[0])?;
    for (name, question) in hostile::questions() {
        let (fate, cost) = best_of(&snapshot, &question)?;
        let ceiling = if fate == Fate::Refused { REFUSED_MILLIS_MAX } else { ACCEPTED_MILLIS_MAX };
        is_held &= cost.millis <= ceiling;
        println!("  {name}: {fate:?}, {:.2} ms of {ceiling:.0}", cost.millis);
    }
    Ok(is_held)
}

struct Search<'s> {
    snapshot: &'s Snapshot,
    /// By fate.
    counts: [usize; 3],
    /// The costliest by time, bytes and heap, and the costliest refused.
    kept: [Vec<Kept>; 4],
}

impl Search<'_> {
    fn ask(&mut self, roots: Vec<String>) -> Result<()> {
        let question = questions::text(&roots);
        // What is touched for the first time is hashed, and that is no cost of the question's.
        ask(self.snapshot, &question)?;
        let (fate, cost) = ask(self.snapshot, &question)?;
        self.counts[fate as usize] += 1;
        // The last kind is of those that are refused.
        let kinds = if fate == Fate::Refused { 3..4 } else { 0..3 };
        for kind in kinds {
            let Kind { measure, .. } = &KINDS[kind];
            let kept = &mut self.kept[kind];
            kept.push(Kept { roots: roots.clone(), cost });
            kept.sort_by(|a, b| measure(&b.cost).total_cmp(&measure(&a.cost)));
            kept.truncate(KEPT);
        }
        Ok(())
    }

    /// One of the costliest with a root more, fewer or another.
    fn mutated(&self, questions: &Questions<'_>, random: &mut Random) -> Result<Vec<String>> {
        let kept = &self.kept[random.below(3) as usize];
        if kept.is_empty() {
            return Ok(questions.some(random)?);
        }
        let mut roots = kept[random.below(kept.len() as u64) as usize].roots.clone();
        let at = random.below(roots.len() as u64) as usize;
        match random.below(4) {
            0 if roots.len() > 1 => drop(roots.remove(at)),
            1 => roots[at] = questions.root(random)?,
            2 => roots.push(roots[at].clone()),
            _ => roots.push(questions.root(random)?),
        }
        Ok(roots)
    }

    /// Prints the costliest; whether each is within its bound.
    fn print(&self) -> Result<bool> {
        let mut is_held = true;
        for (Kind { name, unit, ceiling, measure }, kept) in KINDS.iter().zip(&self.kept) {
            let Some(first) = kept.first() else { continue };
            let question = questions::text(&first.roots);
            let (fate, cost) = best_of(self.snapshot, &question)?;
            let found = measure(&cost);
            is_held &= found <= *ceiling;
            let shown: String = question.chars().take(160).collect();
            println!("  most {name}: {found:.2} {unit} of {ceiling:.0}, {fate:?}: {shown}…");
        }
        Ok(is_held)
    }
}

/// Leaves in the middle of the costliest; whether work ends soon after.
fn leave(snapshot: &Snapshot, costliest: &[Kept]) -> Result<bool> {
    let Some(first) = costliest.first() else { return Ok(true) };
    let question = questions::text(&first.roots);
    let is_gone = AtomicBool::new(false);
    let half = Duration::from_secs_f64(first.cost.millis / 2e3);
    let (outcome, late) = std::thread::scope(|scope| {
        let answering = scope.spawn(|| {
            let outcome = respond(asking(&question), snapshot, &settings(), TIMEOUT, &is_gone);
            (outcome, Instant::now())
        });
        std::thread::sleep(half);
        is_gone.store(true, Ordering::Relaxed);
        let left = Instant::now();
        let joined = answering.join().map_err(|_| "answering panicked");
        joined.map(|(outcome, ended)| (outcome, ended.saturating_duration_since(left)))
    })?;
    let is_gone = matches!(outcome?, Outcome::Gone);
    let millis = late.as_secs_f64() * 1e3;
    println!(
        "  left half-way: ended {millis:.2} ms later of {LEFT_MILLIS_MAX:.0}, gone: {is_gone}"
    );
    Ok(millis <= LEFT_MILLIS_MAX)
}

fn asking(question: &str) -> GraphqlRequest {
    GraphqlRequest {
        query: question.to_owned(),
        variables: Default::default(),
        operation_name: None,
    }
}

fn settings() -> Settings {
    Settings { has_page: false, records: 2_000, bytes: 4_000_000, cpu: Duration::from_millis(100) }
}

/// Asks until the least time is known.
fn best_of(snapshot: &Snapshot, question: &str) -> Result<(Fate, Cost)> {
    let (mut fate, mut best) = ask(snapshot, question)?;
    for _ in 1..RUNS {
        let (again, cost) = ask(snapshot, question)?;
        if cost.millis < best.millis {
            (fate, best) = (again, cost);
        }
    }
    Ok((fate, best))
}

fn ask(snapshot: &Snapshot, question: &str) -> Result<(Fate, Cost)> {
    let (asking, is_gone) = (asking(question), AtomicBool::new(false));
    HEAP.reset_peak_usage();
    let before = HEAP.current_usage();
    let begun = thread_cpu();
    let outcome = respond(asking, snapshot, &settings(), TIMEOUT, &is_gone)?;
    let millis = (thread_cpu() - begun).as_secs_f64() * 1e3;
    let heap_bytes = HEAP.peak_usage().saturating_sub(before) as f64;
    let (fate, body) = match outcome {
        Outcome::Answered(body) => (Fate::Answered, body),
        Outcome::Stopped(body) => (Fate::Stopped, body),
        Outcome::Refused(body) | Outcome::Costly(body) => (Fate::Refused, body),
        other => return Err(format!("{other:?}: {question}").into()),
    };
    Ok((fate, Cost { millis, bytes: body.len() as f64, heap_bytes }))
}

/// Processor time this thread has used.
fn thread_cpu() -> Duration {
    let spent = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(spent.tv_sec.unsigned_abs(), spent.tv_nsec.unsigned_abs() as u32)
}
