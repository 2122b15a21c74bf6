//! Writes `orders` files: each order from its rows by rank, in bounded memory.
//!
//! The first pass spools the rows and values and marks in a bitmap the ranks at which a value begins.
//! The second pass reads the rows once per window of `memory_bytes` and places the codes of the
//! window's rows and their interval numbers by row. Cost: rows × (1 + rows / window) sequential reads.

use std::io;
use std::io::{BufReader, BufWriter, Read, Seek, Write};
use std::path::Path;

use crate::index::bitset::{CHUNK_ROWS, EMPTY_CHUNK};
use crate::index::orders::layout::{OrderLayout, interval_bits};
use crate::storage::{FileWriter, Header, Spool, Spooled, Written};

/// The number of checkpoints that an order of many rows aims at.
const CHECKPOINTS_AIM: usize = 128;
/// The smallest distance between evenly placed checkpoints, in ranks.
const DISTANCE_MIN: usize = 8_192;
/// Bytes that are read or written together.
const BUFFER_BYTES: usize = 1 << 18;

/// A row in the order of ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankedRow {
    /// The row.
    pub row: u32,
    /// The row's value.
    pub value: RankedValue,
}

/// The value of a row, relative to the row of the previous rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RankedValue {
    /// A greater value, as stored.
    Next(u64),
    /// The same value.
    Same,
    /// No value. No later row has one.
    None,
}

/// The sections of an order that are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderParts {
    /// Values, rows, codes and rank checkpoints.
    All {
        /// The distinct values are written. Texts have none.
        has_values: bool,
    },
    /// Values and codes: ranks equal rows.
    RowOrder,
    /// Rank checkpoints: the `ids` file holds rows and values.
    Checkpoints,
}

/// Writes an `orders` file.
pub struct OrdersWriter {
    file: FileWriter,
    scratch: std::path::PathBuf,
    directory: Vec<OrderLayout>,
    /// Rows of a window of the second pass; a multiple of a chunk.
    window_rows: usize,
}

/// Result of the first pass over an order. Holds the rows in a file.
pub struct FirstPass {
    rows: Spooled,
    values: Spool,
    distinct: u64,
    valued: u64,
    /// One bit per rank, set where another value begins, or where the rows without a value begin.
    starts: Vec<u64>,
    count: usize,
}

/// The first pass over an order, while it takes rows.
pub struct PassBuilder {
    rows: Spool,
    values: Spool,
    distinct: u64,
    valued: u64,
    starts: Vec<u64>,
    count: usize,
}

impl FirstPass {
    /// Makes the pass over all rows, given in the order of their ranks.
    ///
    /// # Errors
    ///
    /// Fails if `ranked` fails or the rows cannot be kept.
    pub fn new(
        directory: &Path,
        ranked: impl Iterator<Item = io::Result<RankedRow>>,
    ) -> io::Result<FirstPass> {
        let mut pass = PassBuilder::new(directory);
        for ranked in ranked {
            pass.push(ranked?)?;
        }
        pass.finish()
    }

    /// The first rank of each value, ascending.
    fn starts_of_values(&self) -> impl Iterator<Item = usize> {
        let in_word = |(at, word): (usize, &u64)| {
            let word = *word;
            (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| at * 64 + bit)
        };
        let starts = self.starts.iter().enumerate().flat_map(in_word);
        // Behind them begin the rows without a value.
        let valued = self.valued as usize;
        starts.take_while(move |start| *start < valued)
    }
}

impl PassBuilder {
    /// Begins a pass, which takes the rows in the order of their ranks and keeps them in `directory`.
    pub fn new(directory: &Path) -> PassBuilder {
        PassBuilder {
            rows: Spool::new(directory),
            values: Spool::new(directory),
            distinct: 0,
            valued: 0,
            starts: Vec::new(),
            count: 0,
        }
    }

    /// Takes the row of the next rank.
    ///
    /// # Errors
    ///
    /// Fails if the row cannot be kept.
    pub fn push(&mut self, ranked: RankedRow) -> io::Result<()> {
        let RankedRow { row, value } = ranked;
        self.rows.write_all(&row.to_le_bytes())?;
        if self.count.is_multiple_of(64) {
            self.starts.push(0u64);
        }
        let starts_value = match value {
            RankedValue::Next(value) => {
                self.values.write_all(&value.to_le_bytes())?;
                self.distinct += 1;
                true
            }
            RankedValue::Same => false,
            RankedValue::None => self.valued == self.count as u64,
        };
        self.valued += u64::from(value != RankedValue::None);
        if let Some(word) = self.starts.last_mut().filter(|_| starts_value) {
            *word |= 1 << (self.count % 64);
        }
        self.count += 1;
        Ok(())
    }

    /// Ends the pass.
    ///
    /// # Errors
    ///
    /// Fails if the rows cannot be kept.
    pub fn finish(mut self) -> io::Result<FirstPass> {
        let PassBuilder { distinct, valued, count, .. } = self;
        Ok(FirstPass {
            rows: self.rows.take()?,
            values: self.values,
            distinct,
            valued,
            starts: self.starts,
            count,
        })
    }
}

impl OrdersWriter {
    /// Creates `path` and writes the header. The second pass of an order uses windows of at most
    /// `memory_bytes`, or of one chunk.
    pub fn create(path: &Path, header: Header, memory_bytes: usize) -> io::Result<OrdersWriter> {
        let (file, directory) = FileWriter::create_archive(path, header)?;
        let scratch = directory.to_path_buf();
        let chunks = (memory_bytes / (CHUNK_ROWS * 6)).max(1);
        Ok(OrdersWriter { file, scratch, directory: Vec::new(), window_rows: chunks * CHUNK_ROWS })
    }

    /// Appends an order of all rows, given in the order of their ranks.
    pub fn push(
        &mut self,
        ranked: impl Iterator<Item = io::Result<RankedRow>>,
        parts: OrderParts,
    ) -> io::Result<()> {
        let mut pass = FirstPass::new(&self.scratch, ranked)?;
        self.push_pass(&mut pass, parts)
    }

    /// Appends an order that went through the first pass. An order may be appended again, for another path
    /// with the same values; [`OrderParts::Checkpoints`] and orders of texts have no values.
    pub fn push_pass(&mut self, pass: &mut FirstPass, parts: OrderParts) -> io::Result<()> {
        let mut layout = OrderLayout {
            values_from: self.position(),
            distinct: pass.distinct as usize,
            valued: pass.valued as usize,
            ..OrderLayout::default()
        };
        // Numbers alone are stored here: ids have a file, and texts are in the records.
        if !matches!(parts, OrderParts::Checkpoints | OrderParts::All { has_values: false }) {
            pass.values.move_to(&mut self.file)?;
        }
        // Codes begin with 0, and rows without a value have the number of distinct values as their code.
        layout.code_width = match pass.distinct {
            _ if parts == OrderParts::Checkpoints => 0,
            0..=0xff => 1,
            0x100..=0xffff => 2,
            _ => 4,
        };
        layout.starts_from = self.position();
        if layout.has_starts() {
            let mut out = BufWriter::with_capacity(BUFFER_BYTES, &mut self.file);
            for start in pass.starts_of_values() {
                out.write_all(&(start as u32).to_le_bytes())?;
            }
            out.flush()?;
        }
        layout.rows_from = self.position();
        if matches!(parts, OrderParts::All { .. }) {
            // An earlier `push_pass` of the same pass read the rows to their end.
            pass.rows.rewind()?;
            io::copy(&mut BufReader::with_capacity(BUFFER_BYTES, &mut pass.rows), &mut self.file)?;
        }
        layout.codes_from = self.position();
        // In row order a rank is a row, so counts by chunk find a page.
        let checkpoints =
            if parts == OrderParts::RowOrder { Vec::new() } else { checkpoint_ranks(pass) };
        // Slices follow the codes, which come from the same windows.
        let mut slices = Spool::new(&self.scratch);
        // Each window reads the rows of all ranks, and keeps the codes of its own rows: the memory of a window bounds
        // the cost.
        for first in (0..pass.count).step_by(self.window_rows) {
            self.window(pass, first, &checkpoints, layout.code_width, &mut slices)?;
        }
        layout.slices_from = self.position();
        slices.move_to(&mut self.file)?;
        layout.checkpoint_ranks_from = self.position();
        layout.checkpoints = checkpoints.len();
        for rank in &checkpoints {
            self.file.write_all(&rank.to_le_bytes())?;
        }
        layout.to = self.position();
        self.directory.push(layout);
        Ok(())
    }

    fn position(&self) -> usize {
        self.file.position_bytes() as usize
    }

    /// Writes the codes, and spools the interval numbers, of a window of rows, from `first` on.
    fn window(
        &mut self,
        pass: &mut FirstPass,
        first: usize,
        checkpoints: &[u32],
        code_width: usize,
        slices: &mut Spool,
    ) -> io::Result<()> {
        let length = (pass.count - first).min(self.window_rows);
        let mut codes = vec![0u32; if code_width == 0 { 0 } else { length }];
        // For each row, the number of checkpoints at or below the row's rank.
        let mut passed = vec![0u16; if checkpoints.is_empty() { 0 } else { length }];
        pass.rows.rewind()?;
        let mut bytes = vec![0; (pass.count * 4).min(BUFFER_BYTES)];
        let (mut code, mut reached) = (0u32, 0u16);
        for from in (0..pass.count).step_by(BUFFER_BYTES / 4) {
            bytes.truncate((pass.count - from) * 4);
            pass.rows.read_exact(&mut bytes)?;
            for (rank, row) in (from..).zip(bytes.as_chunks().0) {
                let starts_value = pass.starts[rank / 64] >> (rank % 64) & 1 == 1;
                code += u32::from(starts_value && rank > 0);
                if checkpoints.get(usize::from(reached)).is_some_and(|at| *at as usize == rank) {
                    reached += 1;
                }
                let at = (u32::from_le_bytes(*row) as usize).wrapping_sub(first);
                if let Some(slot) = codes.get_mut(at) {
                    *slot = code;
                }
                if let Some(slot) = passed.get_mut(at) {
                    *slot = reached;
                }
            }
        }
        let mut out = BufWriter::with_capacity(BUFFER_BYTES, &mut self.file);
        for code in codes {
            out.write_all(&code.to_le_bytes()[..code_width])?;
        }
        out.flush()?;
        let bits = interval_bits(checkpoints.len());
        passed.chunks(CHUNK_ROWS).try_for_each(|chunk| write_slices(chunk, bits, slices))
    }

    /// Writes the directory and closes the file.
    pub fn finish(mut self) -> io::Result<Written> {
        for layout in &self.directory {
            for field in layout.fields() {
                self.file.write_all(&(field as u64).to_le_bytes())?;
            }
        }
        self.file.finish()
    }
}

/// Chooses the ranks of the checkpoints.
///
/// Neighbouring checkpoints are at most max(8,192, rows / 128) ranks apart. A value that
/// would exceed this distance has checkpoints at its first rank and at even distances. A value with
/// more rows than half the distance also has a checkpoint at its end. Rows without a value count as
/// one value. An order of at most 65,536 rows has no checkpoints.
///
/// ```text
/// distance 8,192; values with 6,000, 5,000 and 20,000 rows
/// checkpoints: 6,000  11,000  19,192  27,384  31,000
/// ```
fn checkpoint_ranks(pass: &FirstPass) -> Vec<u32> {
    let distance = DISTANCE_MIN.max(pass.count.div_ceil(CHECKPOINTS_AIM));
    let mut ranks = Vec::new();
    if pass.count <= CHUNK_ROWS {
        return ranks;
    }
    let mut last = 0;
    let mut add = |rank: usize| {
        if rank > last && rank < pass.count {
            ranks.push(rank as u32);
            last = rank;
        }
        last
    };
    let mut from = 0;
    while from < pass.count {
        let to = next_value(pass, from);
        // `add(0)` returns the last checkpoint.
        if to - add(0) > distance {
            let mut at = add(from);
            while to - at > distance {
                at = add(at + distance);
            }
            if to - from > distance / 2 {
                add(to);
            }
        }
        from = to;
    }
    ranks
}

/// The first rank after `rank` at which another value begins, or the number of rows.
fn next_value(pass: &FirstPass, rank: usize) -> usize {
    let mut at = rank + 1;
    while at < pass.count {
        let word = pass.starts[at / 64] >> (at % 64);
        if word != 0 {
            return (at + word.trailing_zeros() as usize).min(pass.count);
        }
        at = (at / 64 + 1) * 64;
    }
    pass.count
}

/// Writes the bitmaps of a chunk: for each bit of the interval numbers, that bit of every row.
fn write_slices(numbers: &[u16], bits: usize, out: &mut impl Write) -> io::Result<()> {
    for bit in 0..bits {
        let mut slice = EMPTY_CHUNK;
        for (word, numbers) in slice.iter_mut().zip(numbers.chunks(64)) {
            let with = |word, number: &u16| word << 1 | u64::from(number >> bit & 1);
            *word = numbers.iter().rev().fold(0, with);
        }
        slice.iter().try_for_each(|word| out.write_all(&word.to_le_bytes()))?;
    }
    Ok(())
}
