//! One posting list: ascending rows, in chunks of 65,536.
//!
//! A list is *short*, its rows as `u32`, or *long*: for each chunk that has rows, how many rows come
//! before it and where its container lies. A container is an array of `u16` where it holds at most
//! 4,096 rows, nothing where it holds all of the chunk's, and a bitset of 8 KiB otherwise. The shorter
//! of the two forms is written.

mod verify;

use std::ops::Range;

use crate::index::bitset::{CHUNK_ROWS, ChunkBits, EMPTY_CHUNK, each_bit, intersect};
use crate::storage::archive::Archive;
use crate::storage::error::ReadError;

/// The most rows an array holds; a bitset is smaller beyond.
pub const ARRAY_ROWS_MAX: usize = 4_096;
/// Bytes of a bitset.
pub const BITSET_BYTES: usize = CHUNK_ROWS / 8;
/// Bytes of a chunk's entry in a long list.
const ENTRY_BYTES: usize = 12;

/// A list being written.
#[derive(Default)]
pub struct PostingsBuilder {
    /// Chunk and rows in it of each container that is done.
    entries: Vec<(u32, u32)>,
    containers: Vec<u8>,
    chunk: u32,
    /// Rows of the chunk under way.
    rows: Vec<u16>,
    count: u32,
}

impl PostingsBuilder {
    /// Appends rows of a chunk, ascending; chunks come in ascending order and may come again.
    pub fn push(&mut self, chunk: u32, rows: &[u16]) {
        if chunk != self.chunk {
            self.close_chunk();
            self.chunk = chunk;
        }
        self.rows.extend_from_slice(rows);
    }

    /// The same from where the rows lie.
    pub fn push_view(&mut self, chunk: u32, view: ChunkView<'_>) {
        self.push(chunk, &[]);
        view.each(|low| {
            self.rows.push(low);
            true
        });
    }

    fn close_chunk(&mut self) {
        let count = self.rows.len() as u32;
        if count == 0 {
            return;
        }
        self.entries.push((self.chunk, count));
        self.count += count;
        write_container(&self.rows, &mut self.containers);
        self.rows.clear();
    }

    /// Appends the list to `out` and begins another; whether it is long.
    pub fn finish(&mut self, out: &mut Vec<u8>) -> bool {
        self.close_chunk();
        let long_bytes = 4 + (self.entries.len() + 1) * ENTRY_BYTES + self.containers.len();
        let is_long = long_bytes < self.count as usize * 4;
        if is_long {
            self.write_long(out);
        } else {
            self.write_short(out);
        }
        self.entries.clear();
        self.containers.clear();
        self.chunk = 0;
        self.count = 0;
        is_long
    }

    fn write_long(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&(self.entries.len() as u32).to_le_bytes());
        let head_bytes = 4 + (self.entries.len() + 1) * ENTRY_BYTES;
        let (mut before, mut from) = (0u32, head_bytes as u32);
        let mut entry = |chunk: u32, before: u32, from: u32| {
            for field in [chunk, before, from] {
                out.extend_from_slice(&field.to_le_bytes());
            }
        };
        for (chunk, count) in &self.entries {
            entry(*chunk, before, from);
            before += count;
            from += container_bytes(*count) as u32;
        }
        entry(u32::MAX, before, from);
        out.extend_from_slice(&self.containers);
    }

    fn write_short(&self, out: &mut Vec<u8>) {
        let mut from = 0;
        for (chunk, count) in &self.entries {
            let bytes = container_bytes(*count);
            let container = ChunkView::new(&self.containers[from..from + bytes], *count);
            container.each(|low| {
                out.extend_from_slice(&(chunk << 16 | u32::from(low)).to_le_bytes());
                true
            });
            from += bytes;
        }
    }
}

/// Appends the container of a chunk's rows.
pub fn write_container(rows: &[u16], out: &mut Vec<u8>) {
    match rows.len() {
        CHUNK_ROWS => {}
        count if count > ARRAY_ROWS_MAX => {
            let from = out.len();
            out.resize(from + BITSET_BYTES, 0);
            for row in rows {
                out[from + usize::from(row / 8)] |= 1 << (row % 8);
            }
        }
        _ => rows.iter().for_each(|row| out.extend_from_slice(&row.to_le_bytes())),
    }
}

/// Bytes of a container with so many rows.
pub fn container_bytes(count: u32) -> usize {
    match count as usize {
        CHUNK_ROWS => 0,
        count if count > ARRAY_ROWS_MAX => BITSET_BYTES,
        count => count * 2,
    }
}

/// The rows of one chunk, where they lie.
#[derive(Clone, Copy, Debug)]
pub enum ChunkView<'s> {
    /// Every row.
    Full,
    /// `u16` each, ascending.
    Array(&'s [u8]),
    /// A bit each, and how many are set.
    Bitset(&'s [u8], u32),
    /// `u32` each, ascending, all of this chunk.
    Short(&'s [u8]),
}

impl<'s> ChunkView<'s> {
    /// No row.
    pub const EMPTY: ChunkView<'static> = ChunkView::Array(&[]);

    /// The container of so many rows in its bytes.
    pub fn new(bytes: &'s [u8], count: u32) -> ChunkView<'s> {
        match count as usize {
            CHUNK_ROWS => ChunkView::Full,
            set if set > ARRAY_ROWS_MAX => ChunkView::Bitset(bytes, count),
            _ => ChunkView::Array(bytes),
        }
    }

    /// How many rows.
    pub fn count(&self) -> u32 {
        match self {
            ChunkView::Full => CHUNK_ROWS as u32,
            ChunkView::Array(bytes) => (bytes.len() / 2) as u32,
            ChunkView::Short(bytes) => (bytes.len() / 4) as u32,
            ChunkView::Bitset(_, count) => *count,
        }
    }

    /// Whether there are few enough rows to look at one by one.
    pub fn is_array(&self) -> bool {
        match self {
            ChunkView::Array(_) => true,
            ChunkView::Short(bytes) => bytes.len() / 4 <= ARRAY_ROWS_MAX,
            ChunkView::Full | ChunkView::Bitset(..) => false,
        }
    }

    fn words(&self) -> impl Iterator<Item = u64> + 's {
        let bytes = match self {
            ChunkView::Bitset(bytes, _) => bytes,
            _ => &[][..],
        };
        bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word))
    }

    fn lows(&self) -> impl Iterator<Item = u16> + 's {
        let (two, four): (&'s [u8], &'s [u8]) = match self {
            ChunkView::Array(bytes) => (bytes, &[]),
            ChunkView::Short(bytes) => (&[], bytes),
            _ => (&[], &[]),
        };
        let short = four.as_chunks::<4>().0.iter().map(|row| u32::from_le_bytes(*row) as u16);
        two.as_chunks::<2>().0.iter().map(|low| u16::from_le_bytes(*low)).chain(short)
    }

    /// Shows `visit` each row, ascending, until it returns false.
    pub fn each(&self, mut visit: impl FnMut(u16) -> bool) {
        match self {
            ChunkView::Full => {
                let _ = (0..=u16::MAX).try_for_each(|low| visit(low).then_some(()));
            }
            ChunkView::Array(_) | ChunkView::Short(_) => {
                let _ = self.lows().try_for_each(|low| visit(low).then_some(()));
            }
            ChunkView::Bitset(..) => {
                let mut bits = EMPTY_CHUNK;
                self.add_to(&mut bits);
                each_bit(&bits, visit);
            }
        }
    }

    /// Each row, ascending.
    pub fn to_vec(&self) -> Vec<u16> {
        let mut lows = Vec::with_capacity(self.count() as usize);
        match self {
            ChunkView::Array(_) | ChunkView::Short(_) => lows.extend(self.lows()),
            ChunkView::Full | ChunkView::Bitset(..) => self.each(|low| {
                lows.push(low);
                true
            }),
        }
        lows
    }

    /// Whether a row is among them. Cost: log2 of an array's length.
    pub fn contains(&self, low: u16) -> bool {
        match self {
            ChunkView::Full => true,
            ChunkView::Bitset(bytes, _) => {
                bytes.get(usize::from(low / 8)).is_some_and(|byte| byte & (1 << (low % 8)) != 0)
            }
            ChunkView::Array(bytes) => bytes
                .as_chunks::<2>()
                .0
                .binary_search_by_key(&low, |at| u16::from_le_bytes(*at))
                .is_ok(),
            ChunkView::Short(bytes) => bytes
                .as_chunks::<4>()
                .0
                .binary_search_by_key(&low, |at| u32::from_le_bytes(*at) as u16)
                .is_ok(),
        }
    }

    /// Sets the rows' bits.
    pub fn add_to(&self, bits: &mut ChunkBits) {
        match self {
            ChunkView::Full => bits.fill(u64::MAX),
            ChunkView::Bitset(..) => {
                bits.iter_mut().zip(self.words()).for_each(|(bit, word)| *bit |= word);
            }
            ChunkView::Array(_) | ChunkView::Short(_) => {
                self.lows().for_each(|low| bits[usize::from(low / 64)] |= 1 << (low % 64));
            }
        }
    }

    /// Clears the rows' bits.
    pub fn remove_from(&self, bits: &mut ChunkBits) {
        match self {
            ChunkView::Full => bits.fill(0),
            ChunkView::Bitset(..) => {
                bits.iter_mut().zip(self.words()).for_each(|(bit, word)| *bit &= !word);
            }
            ChunkView::Array(_) | ChunkView::Short(_) => {
                self.lows().for_each(|low| bits[usize::from(low / 64)] &= !(1 << (low % 64)));
            }
        }
    }

    /// Clears every bit but the rows'.
    pub fn retain_in(&self, bits: &mut ChunkBits) {
        match self {
            ChunkView::Full => {}
            ChunkView::Bitset(..) => {
                bits.iter_mut().zip(self.words()).for_each(|(bit, word)| *bit &= word);
            }
            ChunkView::Array(_) | ChunkView::Short(_) => {
                let mut kept = EMPTY_CHUNK;
                self.add_to(&mut kept);
                intersect(bits, &kept);
            }
        }
    }
}

/// A list, mapped.
#[derive(Clone, Copy)]
pub struct Postings<'s> {
    archive: &'s Archive,
    from: usize,
    to: usize,
    form: Form<'s>,
}

#[derive(Clone, Copy)]
enum Form<'s> {
    Short(&'s [u8]),
    /// Its entries, and how many chunks they are.
    Long {
        entries: &'s [u8],
        chunks: usize,
    },
}

/// A chunk's entry in a long list.
#[derive(Clone, Copy)]
struct ChunkEntry {
    chunk: u32,
    before: u32,
    from: u32,
}

impl<'s> Postings<'s> {
    /// A list in the bytes between two places.
    ///
    /// # Errors
    ///
    /// Where the bytes are damaged or no list.
    pub fn open(
        archive: &'s Archive,
        from: usize,
        to: usize,
        is_long: bool,
    ) -> Result<Postings<'s>, ReadError> {
        if from > to {
            return Err(ReadError::corrupt("postings", "a posting list ends before it begins"));
        }
        let form = if is_long {
            let chunks = archive.u32_at(from)? as usize;
            let bytes = chunks
                .checked_add(1)
                .and_then(|entries| entries.checked_mul(ENTRY_BYTES))
                .filter(|bytes| bytes.checked_add(4).is_some_and(|head| head <= to - from))
                .ok_or(ReadError::corrupt(
                    "postings",
                    "a posting list has more chunks than bytes",
                ))?;
            Form::Long { entries: archive.bytes(from + 4, from + 4 + bytes)?, chunks }
        } else {
            let bytes = archive.bytes(from, to)?;
            if !bytes.len().is_multiple_of(4) {
                return Err(ReadError::corrupt(
                    "postings",
                    "a short posting list is not a multiple of 4 bytes",
                ));
            }
            Form::Short(bytes)
        };
        Ok(Postings { archive, from, to, form })
    }

    /// Where in the archive it lies.
    pub(crate) fn byte_range(&self) -> Range<usize> {
        self.from..self.to
    }

    /// How many rows. Cost: constant.
    pub fn count(&self) -> u32 {
        match self.form {
            Form::Short(bytes) => (bytes.len() / 4) as u32,
            Form::Long { entries, chunks, .. } => entry(entries, chunks).before,
        }
    }

    /// The rows of a chunk. Cost: log2 of the list's chunks; no row is touched.
    ///
    /// # Errors
    ///
    /// Where the bytes are damaged or no list.
    pub fn view(&self, chunk: u32) -> Result<ChunkView<'s>, ReadError> {
        match self.form {
            Form::Short(bytes) => {
                let rows = bytes.as_chunks::<4>().0;
                let from = rows.partition_point(|row| u32::from_le_bytes(*row) >> 16 < chunk);
                let to = rows.partition_point(|row| u32::from_le_bytes(*row) >> 16 <= chunk);
                Ok(ChunkView::Short(&bytes[from * 4..to * 4]))
            }
            Form::Long { entries, chunks } => {
                let (mut low, mut high) = (0, chunks);
                while low < high {
                    let middle = low + (high - low) / 2;
                    if entry(entries, middle).chunk < chunk {
                        low = middle + 1
                    } else {
                        high = middle
                    }
                }
                let found = entry(entries, low);
                if low == chunks || found.chunk != chunk {
                    return Ok(ChunkView::EMPTY);
                }
                self.container(found, entry(entries, low + 1))
            }
        }
    }

    fn container(&self, this: ChunkEntry, next: ChunkEntry) -> Result<ChunkView<'s>, ReadError> {
        let count = next
            .before
            .checked_sub(this.before)
            .ok_or(ReadError::corrupt("postings", "the row counts of chunks do not ascend"))?;
        let bytes = next
            .from
            .checked_sub(this.from)
            .ok_or(ReadError::corrupt("postings", "the offsets of chunks do not ascend"))?
            as usize;
        if count == 0 || count as usize > CHUNK_ROWS || bytes != container_bytes(count) {
            return Err(ReadError::corrupt(
                "postings",
                "a chunk's length does not fit its row count",
            ));
        }
        let from = self.from + this.from as usize;
        Ok(ChunkView::new(self.archive.bytes(from, from + bytes)?, count))
    }

    /// Shows `visit` each row, ascending, until it returns false.
    ///
    /// # Errors
    ///
    /// As [`Postings::view`].
    pub fn each(&self, mut visit: impl FnMut(u32) -> bool) -> Result<(), ReadError> {
        match self.form {
            Form::Short(bytes) => {
                let rows = bytes.as_chunks::<4>().0.iter().map(|row| u32::from_le_bytes(*row));
                let _ = rows.into_iter().try_for_each(|row| visit(row).then_some(()));
            }
            Form::Long { entries, chunks } => {
                let mut goes_on = true;
                for at in 0..chunks {
                    let this = entry(entries, at);
                    let view = self.container(this, entry(entries, at + 1))?;
                    view.each(|low| {
                        goes_on = visit(this.chunk << 16 | u32::from(low));
                        goes_on
                    });
                    if !goes_on {
                        break;
                    }
                }
            }
        }
        Ok(())
    }
}

/// The entry at a place that is there: the entries' length was checked when the list was opened.
fn entry(entries: &[u8], at: usize) -> ChunkEntry {
    let field = |number: usize| {
        let from = at * ENTRY_BYTES + number * 4;
        let bytes = entries.get(from..from + 4).and_then(|field| field.try_into().ok());
        u32::from_le_bytes(bytes.unwrap_or([0xff; 4]))
    };
    ChunkEntry { chunk: field(0), before: field(1), from: field(2) }
}
