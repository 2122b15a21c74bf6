//! What a question costs: the median of a few runs, after one that is not timed.

use std::time::Instant;

use crate::Result;

/// Runs of a question …
const RUNS: usize = 7;
/// … or fewer, once they took this many microseconds together.
const MICROS_ENOUGH: f64 = 500_000.0;

/// Microseconds of one run.
pub fn micros_of<T>(run: impl FnOnce() -> Result<T>) -> Result<f64> {
    let begun = Instant::now();
    let outcome = std::hint::black_box(run()?);
    let micros = begun.elapsed().as_nanos() as f64 / 1e3;
    drop(outcome);
    Ok(micros)
}

/// The medians of two ways to answer, run by turns; both were run before.
pub fn by_turns<A, B>(
    mut one: impl FnMut() -> Result<A>,
    mut other: impl FnMut() -> Result<B>,
) -> Result<(f64, f64)> {
    let (mut ones, mut others) = (Vec::new(), Vec::new());
    while wants_more(&ones) || wants_more(&others) {
        if wants_more(&ones) {
            ones.push(micros_of(&mut one)?);
        }
        if wants_more(&others) {
            others.push(micros_of(&mut other)?);
        }
    }
    Ok((median(&mut ones), median(&mut others)))
}

/// What a way to answer costs, in microseconds.
#[derive(Clone, Copy)]
pub struct Micros {
    pub median: f64,
    /// The quickest run, which other work on the machine disturbed least.
    pub least: f64,
}

/// One way to answer, which was run before.
pub fn alone<T>(mut run: impl FnMut() -> Result<T>) -> Result<Micros> {
    let mut micros = Vec::new();
    while wants_more(&micros) {
        micros.push(micros_of(&mut run)?);
    }
    let median = median(&mut micros);
    Ok(Micros { median, least: micros.first().copied().unwrap_or(0.0) })
}

fn wants_more(micros: &[f64]) -> bool {
    micros.len() < RUNS && micros.iter().sum::<f64>() < MICROS_ENOUGH
}

/// The median, the greater of two in the middle; 0 of none.
pub fn median(numbers: &mut [f64]) -> f64 {
    numbers.sort_unstable_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or(0.0)
}

/// The greatest; 0 of none.
pub fn worst(numbers: &[f64]) -> f64 {
    numbers.iter().copied().fold(0.0, f64::max)
}
