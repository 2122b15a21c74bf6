//! Times queries: the median of at most seven runs, after one run that is not timed.

use std::time::Instant;

use crate::Result;

/// Maximum of timed runs …
const RUNS: usize = 7;
/// … and of their total microseconds: no further run starts beyond this time.
const MICROS_ENOUGH: f64 = 500_000.0;

/// Runs once; the microseconds.
pub fn micros_of<T>(run: impl FnOnce() -> Result<T>) -> Result<f64> {
    let begun = Instant::now();
    let outcome = std::hint::black_box(run()?);
    let micros = begun.elapsed().as_nanos() as f64 / 1e3;
    drop(outcome);
    Ok(micros)
}

/// The medians of two engines, run in turn; the caller has run both once.
pub fn time_in_turn<A, B>(
    mut first: impl FnMut() -> Result<A>,
    mut second: impl FnMut() -> Result<B>,
) -> Result<(f64, f64)> {
    let (mut firsts, mut seconds) = (Vec::new(), Vec::new());
    while wants_more(&firsts) || wants_more(&seconds) {
        if wants_more(&firsts) {
            firsts.push(micros_of(&mut first)?);
        }
        if wants_more(&seconds) {
            seconds.push(micros_of(&mut second)?);
        }
    }
    Ok((median(&mut firsts), median(&mut seconds)))
}

/// Durations of a query in microseconds.
#[derive(Clone, Copy)]
pub struct Micros {
    pub median: f64,
    /// The fastest run, which other work on the machine disturbed least.
    pub least: f64,
}

/// Times one engine; the caller has run the query once.
pub fn time_alone<T>(mut run: impl FnMut() -> Result<T>) -> Result<Micros> {
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

/// The median, or the upper of two medians; 0 without numbers.
pub fn median(numbers: &mut [f64]) -> f64 {
    numbers.sort_unstable_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or(0.0)
}

/// The greatest number; 0 without numbers.
pub fn worst(numbers: &[f64]) -> f64 {
    numbers.iter().copied().fold(0.0, f64::max)
}
