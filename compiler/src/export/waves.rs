//! Makes parts of an output in parallel, and writes them in order.

use pinakes_arrow::rows::ListedRows;
use rayon::prelude::*;

use crate::export::write_error::WriteError;

/// Units of a wave for each thread. While a wave is written, the next one is made.
const UNITS_PER_THREAD: usize = 2;

/// A unit of rows, and the part that was made of the first `taken` rows.
struct Made<T> {
    unit: Vec<u32>,
    part: T,
    taken: usize,
}

/// Makes a part of each unit of rows on all threads, and passes the parts to `write` in the order of the
/// rows. `make` returns a part and the number of rows in the part, at least 1. The rows that it leaves,
/// because the part is large, become parts of their own when the others before them are written.
///
/// Memory: two waves of parts. The parts depend on the rows alone, not on the number of threads.
///
/// # Errors
///
/// The first error of `make` or `write`, or if the snapshot is damaged.
pub(crate) fn in_order<T: Send>(
    rows: &mut ListedRows,
    make: impl Fn(&[u32]) -> Result<(T, usize), WriteError> + Sync,
    mut write: impl FnMut(Vec<T>) -> Result<(), WriteError> + Send,
) -> Result<(), WriteError> {
    let wave_units = rayon::current_num_threads() * UNITS_PER_THREAD;
    let make_first = |unit: Vec<u32>| -> Result<Made<T>, WriteError> {
        let (part, taken) = make(&unit)?;
        Ok(Made { unit, part, taken })
    };
    let mut write_wave = |wave: Vec<Made<T>>| -> Result<(), WriteError> {
        let mut parts = Vec::with_capacity(wave.len());
        for Made { unit, part, mut taken } in wave {
            parts.push(part);
            // The rest of a large unit is made after the parts before it were written, so one part of the unit is in
            // memory.
            while taken < unit.len() {
                write(std::mem::take(&mut parts))?;
                let (part, more) = make(&unit[taken..])?;
                parts.push(part);
                taken += more;
            }
        }
        write(parts)
    };
    let mut made = Vec::new();
    loop {
        let mut wave = Vec::with_capacity(wave_units);
        while wave.len() < wave_units
            && let Some(unit) = rows.next_unit()?
        {
            wave.push(unit);
        }
        if wave.is_empty() {
            return write_wave(made);
        }
        let (written, next) = rayon::join(
            || write_wave(std::mem::take(&mut made)),
            || wave.into_par_iter().map(&make_first).collect::<Result<Vec<_>, _>>(),
        );
        written?;
        made = next?;
    }
}
