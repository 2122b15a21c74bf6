//! Writing `orders`: each from its rows in order, out of core.

use std::{
    io::{self, BufReader, Read, Seek, Write},
    path::Path,
};

use crate::index::bitset::{CHUNK_ROWS, EMPTY_CHUNK, each_bit};
use crate::index::orders::{FIELDS, OrderLayout, STEP_ROWS_MIN, STEPS};
use crate::index::postings::write_container;
use crate::storage::blobs::{Spool, Spooled};
use crate::storage::header::{FileWriter, Header, Written};

/// A row as an order gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankedRow {
    /// The row.
    pub row: u32,
    /// What it is ordered by.
    pub value: RankedValue,
}

/// A row's value, beside that of the row before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RankedValue {
    /// A value that comes after the last one, as it is written.
    Next(u64),
    /// The same as the last.
    Same,
    /// None, as all that follow.
    None,
}

/// Which parts of an order are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderParts {
    /// Values, rows, codes and ladder.
    All {
        /// Whether the distinct values are kept; of texts they are not.
        has_values: bool,
    },
    /// Values and codes: it is the order of the rows.
    RowOrder,
    /// The ladder alone: rows and values stand with the ids.
    Checkpoints,
}

/// Writes an `orders` file.
pub struct OrdersWriter {
    file: FileWriter,
    scratch: std::path::PathBuf,
    directory: Vec<OrderLayout>,
    /// Rows whose codes are put in place at a time.
    window_rows: usize,
}

/// What the first pass over an order finds.
struct Pass {
    rows: Spooled,
    values: Spool,
    distinct: u64,
    valued: u64,
    /// A bit for each rank at which another value begins, or none any more.
    begins: Vec<u64>,
    count: usize,
}

impl OrdersWriter {
    /// Creates `path` with its header. Codes are put in place in windows of at most `memory_bytes`.
    ///
    /// # Errors
    ///
    /// Where the system refuses.
    pub fn create(path: &Path, header: Header, memory_bytes: usize) -> io::Result<OrdersWriter> {
        let mut file = FileWriter::create(path)?;
        file.write_all(&header.encode())?;
        let scratch = path.parent().unwrap_or(Path::new(".")).to_path_buf();
        let chunks = (memory_bytes / (CHUNK_ROWS * 6)).max(1);
        Ok(OrdersWriter { file, scratch, directory: Vec::new(), window_rows: chunks * CHUNK_ROWS })
    }

    /// Appends an order, given all rows in it.
    ///
    /// # Errors
    ///
    /// Where the rows cannot be had, or the system refuses.
    pub fn push(
        &mut self,
        ranked: impl Iterator<Item = io::Result<RankedRow>>,
        parts: OrderParts,
    ) -> io::Result<()> {
        let mut pass = self.first_pass(ranked)?;
        let mut place = OrderLayout {
            values_from: self.position(),
            distinct: pass.distinct as usize,
            valued: pass.valued as usize,
            ..OrderLayout::default()
        };
        if !matches!(parts, OrderParts::Checkpoints | OrderParts::All { has_values: false }) {
            pass.values.move_to(&mut self.file)?;
        }
        place.rows_from = self.position();
        if matches!(parts, OrderParts::All { .. }) {
            io::copy(&mut BufReader::with_capacity(1 << 18, &mut pass.rows), &mut self.file)?;
        }
        place.codes_from = self.position();
        place.width = match pass.distinct {
            _ if parts == OrderParts::Checkpoints => 0,
            0..=0xff => 1,
            0x100..=0xffff => 2,
            _ => 4,
        };
        let steps = if parts == OrderParts::RowOrder { Vec::new() } else { steps(&pass) };
        let mut ladder = Ladder::new(&self.scratch, steps.len());
        for first in (0..pass.count).step_by(self.window_rows) {
            self.window(&mut pass, first, &steps, place.width, &mut ladder)?;
        }
        let containers_from = self.position();
        ladder.containers.move_to(&mut self.file)?;
        place.places_from = self.position();
        for (from, count) in ladder.places {
            self.file.write_all(&(containers_from as u64 + from).to_le_bytes())?;
            self.file.write_all(&count.to_le_bytes())?;
        }
        place.steps_from = self.position();
        place.steps = steps.len();
        for step in &steps {
            self.file.write_all(&step.to_le_bytes())?;
        }
        place.to = self.position();
        self.directory.push(place);
        Ok(())
    }

    fn position(&self) -> usize {
        self.file.position_bytes() as usize
    }

    fn first_pass(&self, ranked: impl Iterator<Item = io::Result<RankedRow>>) -> io::Result<Pass> {
        let mut rows = Spool::new(&self.scratch);
        let mut values = Spool::new(&self.scratch);
        let (mut distinct, mut valued, mut count) = (0u64, 0u64, 0usize);
        let mut begins = Vec::new();
        for ranked in ranked {
            let RankedRow { row, value } = ranked?;
            rows.write_all(&row.to_le_bytes())?;
            if count.is_multiple_of(64) {
                begins.push(0u64);
            }
            let begins_here = match value {
                RankedValue::Next(value) => {
                    values.write_all(&value.to_le_bytes())?;
                    distinct += 1;
                    true
                }
                RankedValue::Same => false,
                RankedValue::None => valued == count as u64,
            };
            valued += u64::from(value != RankedValue::None);
            if let Some(word) = begins.last_mut().filter(|_| begins_here) {
                *word |= 1 << (count % 64);
            }
            count += 1;
        }
        Ok(Pass { rows: rows.take()?, values, distinct, valued, begins, count })
    }

    /// Puts the codes of the rows from `first` on in place, and their rungs of the ladder.
    fn window(
        &mut self,
        pass: &mut Pass,
        first: usize,
        steps: &[u32],
        width: usize,
        ladder: &mut Ladder,
    ) -> io::Result<()> {
        let length = (pass.count - first).min(self.window_rows);
        let mut codes = vec![0u32; if width == 0 { 0 } else { length }];
        let mut rungs = vec![0u16; if steps.is_empty() { 0 } else { length }];
        pass.rows.rewind()?;
        let mut input = BufReader::with_capacity(1 << 18, &mut pass.rows);
        let (mut code, mut rung) = (0u32, 0u16);
        for rank in 0..pass.count {
            let mut row = [0; 4];
            input.read_exact(&mut row)?;
            if rank > 0 && pass.begins[rank / 64] & (1 << (rank % 64)) != 0 {
                code += 1;
            }
            if steps.get(usize::from(rung)).is_some_and(|step| *step as usize == rank) {
                rung += 1;
            }
            let at = (u32::from_le_bytes(row) as usize).wrapping_sub(first);
            if let Some(slot) = codes.get_mut(at) {
                *slot = code;
            }
            if let Some(slot) = rungs.get_mut(at) {
                *slot = rung;
            }
        }
        for code in codes {
            self.file.write_all(&code.to_le_bytes()[..width])?;
        }
        rungs.chunks(CHUNK_ROWS).try_for_each(|chunk| ladder.push(chunk))
    }

    /// Ends the file.
    ///
    /// # Errors
    ///
    /// Where the system refuses.
    pub fn finish(mut self) -> io::Result<Written> {
        for place in &self.directory {
            let fields: [usize; FIELDS] = [
                place.values_from,
                place.distinct,
                place.valued,
                place.rows_from,
                place.codes_from,
                place.width,
                place.places_from,
                place.steps_from,
                place.steps,
                place.to,
            ];
            for field in fields {
                self.file.write_all(&(field as u64).to_le_bytes())?;
            }
        }
        self.file.finish()
    }
}

/// The ranks at which steps stand: around each value that many rows have, within it at even
/// distances, and between values so that no more rows lie between two steps.
///
/// The rows without a value are as one. Fewer rows than [`STEP_ROWS_MIN`] have no ladder.
fn steps(pass: &Pass) -> Vec<u32> {
    let apart = STEP_ROWS_MIN.max(pass.count.div_ceil(STEPS));
    let mut steps = Vec::new();
    if pass.count <= STEP_ROWS_MIN {
        return steps;
    }
    let mut last = 0;
    let mut step = |rank: usize| {
        if rank > last && rank < pass.count {
            steps.push(rank as u32);
            last = rank;
        }
        last
    };
    let mut from = 0;
    while from < pass.count {
        let to = next_begin(pass, from);
        if to - step(0) > apart {
            let mut at = step(from);
            while to - at > apart {
                at = step(at + apart);
            }
            if to - from > apart / 2 {
                step(to);
            }
        }
        from = to;
    }
    steps
}

/// The first rank after this one at which another value begins.
fn next_begin(pass: &Pass, rank: usize) -> usize {
    let mut at = rank + 1;
    while at < pass.count {
        let word = pass.begins[at / 64] >> (at % 64);
        if word != 0 {
            return (at + word.trailing_zeros() as usize).min(pass.count);
        }
        at = (at / 64 + 1) * 64;
    }
    pass.count
}

/// The containers of a ladder under way.
struct Ladder {
    containers: Spool,
    /// Where each container lies among them, and its rows.
    places: Vec<(u64, u32)>,
    position: u64,
    steps: usize,
}

impl Ladder {
    fn new(scratch: &Path, steps: usize) -> Ladder {
        Ladder { containers: Spool::new(scratch), places: Vec::new(), position: 0, steps }
    }

    /// Takes a chunk: of each of its rows, how many steps stand at its rank or before.
    fn push(&mut self, rungs: &[u16]) -> io::Result<()> {
        let mut order: Vec<u16> = (0..=u16::MAX).take(rungs.len()).collect();
        order.sort_by_key(|low| rungs[usize::from(*low)]);
        let mut bits = EMPTY_CHUNK;
        let mut done = 0;
        let mut lows = Vec::new();
        let mut container = Vec::new();
        for step in 0..self.steps {
            while let Some(low) = order.get(done).map(|low| usize::from(*low)) {
                if usize::from(rungs[low]) > step {
                    break;
                }
                bits[low / 64] |= 1 << (low % 64);
                done += 1;
            }
            lows.clear();
            each_bit(&bits, |low| {
                lows.push(low);
                true
            });
            container.clear();
            write_container(&lows, &mut container);
            self.places.push((self.position, lows.len() as u32));
            self.position += container.len() as u64;
            self.containers.write_all(&container)?;
        }
        Ok(())
    }
}
