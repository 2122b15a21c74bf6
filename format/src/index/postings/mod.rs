//! One posting list: ascending rows, in chunks of 65,536.
//!
//! A list has a short form and a long form; the writer takes the one with fewer bytes.
//!
//! ```text
//! short: row: u32, …
//! long:  chunks: u32 | entry of each chunk that has rows, and an end entry | containers…
//! entry: chunk: u32 | rows before the chunk: u32 | offset of the chunk's container: u32
//! ```
//!
//! A container holds the rows of one chunk, by their lower 16 bits:
//!
//! ```text
//! at most 4,096 rows   an array of u16     rows 65,537 and 65,539 → chunk 1, [1, 3]
//! 4,097 to 65,535      a bitmap of 8 KiB
//! 65,536               no bytes
//! ```
//!
//! The count costs one read. The rows of one chunk cost log2(chunks) reads, whatever the other chunks
//! hold.

mod verify;

use std::ops::Range;

use crate::index::bitset::{
    CHUNK_ROWS, ChunkBits, EMPTY_CHUNK, count_set_bits, each_bit, intersect,
};
use crate::storage::{Archive, CHUNK_BYTES, ReadError};

/// The most rows that an array container holds. A bitmap takes fewer bytes from there on.
pub const ARRAY_ROWS_MAX: usize = 4_096;
/// Size of a bitmap container, in bytes.
pub const BITSET_BYTES: usize = CHUNK_ROWS / 8;
/// Size of a chunk's entry in a long list, in bytes.
const ENTRY_BYTES: usize = 12;

/// Builds lists, one after another.
#[derive(Default)]
pub struct PostingsBuilder {
    /// The chunk and the row count of each finished container.
    entries: Vec<(u32, u32)>,
    containers: Vec<u8>,
    chunk: u32,
    /// The rows of the current chunk.
    rows: Vec<u16>,
    count: u32,
}

impl PostingsBuilder {
    /// Appends ascending rows of a chunk. Chunks ascend; several calls may add to the same chunk.
    pub fn push(&mut self, chunk: u32, rows: &[u16]) {
        if chunk != self.chunk {
            self.close_chunk();
            self.chunk = chunk;
        }
        self.rows.extend_from_slice(rows);
    }

    /// Appends ascending rows.
    pub fn push_rows(&mut self, rows: &[u32]) {
        for chunk in rows.chunk_by(|a, b| a >> 16 == b >> 16) {
            self.push(chunk[0] >> 16, &[]);
            self.rows.extend(chunk.iter().map(|row| *row as u16));
        }
    }

    /// Appends the rows of a view to a chunk.
    pub fn push_view(&mut self, chunk: u32, view: ChunkView<'_>) {
        self.push(chunk, &[]);
        if let ChunkView::Array(rows) = view {
            let rows = rows.as_chunks::<2>().0.iter();
            return self.rows.extend(rows.map(|row| u16::from_le_bytes(*row)));
        }
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

    /// The number of rows since the list began.
    pub fn count(&self) -> u32 {
        self.count + self.rows.len() as u32
    }

    /// Appends the rows to `rows`, and starts the next list.
    pub fn take_rows(&mut self, rows: &mut Vec<u32>) {
        self.each(|row| rows.push(row));
        rows.extend(self.rows.drain(..).map(|low| self.chunk << 16 | u32::from(low)));
        self.clear();
    }

    /// Appends the list to `out`, tells whether it is in the long form, and starts the next list.
    pub fn finish(&mut self, out: &mut Vec<u8>) -> bool {
        self.close_chunk();
        let long_bytes = 4 + (self.entries.len() + 1) * ENTRY_BYTES + self.containers.len();
        let is_long = long_bytes < self.count as usize * 4;
        if is_long {
            self.write_long(out);
        } else {
            self.write_short(out);
        }
        self.clear();
        is_long
    }

    fn clear(&mut self) {
        self.entries.clear();
        self.containers.clear();
        self.chunk = 0;
        self.count = 0;
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
        self.each(|row| out.extend_from_slice(&row.to_le_bytes()));
    }

    /// Calls `visit` with each row of the finished containers.
    fn each(&self, mut visit: impl FnMut(u32)) {
        let mut from = 0;
        for (chunk, count) in &self.entries {
            let bytes = container_bytes(*count);
            let container = ChunkView::new(&self.containers[from..from + bytes], *count);
            container.each(|low| {
                visit(chunk << 16 | u32::from(low));
                true
            });
            from += bytes;
        }
    }
}

/// Appends the container of ascending rows of one chunk.
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
        _ => {
            let from = out.len();
            out.resize(from + rows.len() * 2, 0);
            let places = out[from..].as_chunks_mut::<2>().0;
            places.iter_mut().zip(rows).for_each(|(place, row)| *place = row.to_le_bytes());
        }
    }
}

/// The size of a container with `count` rows, in bytes.
pub fn container_bytes(count: u32) -> usize {
    match count as usize {
        CHUNK_ROWS => 0,
        count if count > ARRAY_ROWS_MAX => BITSET_BYTES,
        count => count * 2,
    }
}

/// The rows of one chunk, borrowed from a file.
#[derive(Clone, Copy, Debug)]
pub enum ChunkView<'s> {
    /// Every row of the chunk.
    Full,
    /// Ascending rows, `u16` each.
    Array(&'s [u8]),
    /// A bitmap, and the number of its rows.
    Bitset(&'s [u8], u32),
    /// The part of a short list that lies in the chunk: ascending rows, `u32` each.
    Short(&'s [u8]),
}

impl<'s> ChunkView<'s> {
    /// A chunk without rows.
    pub const EMPTY: ChunkView<'static> = ChunkView::Array(&[]);

    /// Views the bytes of a container with `count` rows.
    pub fn new(bytes: &'s [u8], count: u32) -> ChunkView<'s> {
        match count as usize {
            CHUNK_ROWS => ChunkView::Full,
            set if set > ARRAY_ROWS_MAX => ChunkView::Bitset(bytes, count),
            _ => ChunkView::Array(bytes),
        }
    }

    /// The number of rows.
    pub fn count(&self) -> u32 {
        match self {
            ChunkView::Full => CHUNK_ROWS as u32,
            ChunkView::Array(bytes) => (bytes.len() / 2) as u32,
            ChunkView::Short(bytes) => (bytes.len() / 4) as u32,
            ChunkView::Bitset(_, count) => *count,
        }
    }

    /// Tells whether the rows are stored one by one and are at most 4,096.
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

    /// Calls `visit` with each row, ascending, until `visit` returns false.
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

    /// The rows, ascending.
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

    /// Keeps the rows that the chunk holds, or with `is_complement` the others. Reads a bitmap in place.
    pub fn filter(&self, lows: &mut Vec<u16>, is_complement: bool) {
        match self {
            ChunkView::Full if is_complement => lows.clear(),
            ChunkView::Full => {}
            ChunkView::Bitset(bytes, _) => {
                retain(lows, |low| has_low(bytes, low) != is_complement);
            }
            ChunkView::Array(_) | ChunkView::Short(_) => {
                let mut bits = EMPTY_CHUNK;
                self.add_to(&mut bits);
                let has = |low: u16| bits[usize::from(low / 64)] >> (low % 64) & 1 == 1;
                retain(lows, |low| has(low) != is_complement);
            }
        }
    }

    /// Counts the rows in both of two chunks; `None` if neither is a bitmap.
    pub fn count_common(&self, other: &ChunkView<'_>) -> Option<u32> {
        Some(match (self, other) {
            (ChunkView::Full, other) | (other, ChunkView::Full) => other.count(),
            (ChunkView::Bitset(one, _), ChunkView::Bitset(other, _)) => {
                let words = |bytes: &'_ [u8], at: usize| {
                    bytes.as_chunks::<8>().0.get(at).map_or(0, |word| u64::from_le_bytes(*word))
                };
                // A chunk has 65,536 rows.
                count_set_bits(BITSET_BYTES / 8, |at| words(one, at) & words(other, at)) as u32
            }
            (ChunkView::Bitset(bytes, _), ChunkView::Array(lows))
            | (ChunkView::Array(lows), ChunkView::Bitset(bytes, _)) => {
                let lows = lows.as_chunks::<2>().0.iter().map(|low| u16::from_le_bytes(*low));
                lows.map(|low| u32::from(has_low(bytes, low))).sum()
            }
            _ => return None,
        })
    }

    /// Tells whether the chunk holds a row. Cost: log2(rows) for an array, one read for a bitmap.
    pub fn contains(&self, low: u16) -> bool {
        match self {
            ChunkView::Full => true,
            ChunkView::Bitset(bytes, _) => has_low(bytes, low),
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

    /// Clears the bits of all other rows.
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

/// Whether a bitmap container has the bit of a row.
#[inline]
fn has_low(bitmap: &[u8], low: u16) -> bool {
    bitmap.get(usize::from(low / 8)).is_some_and(|byte| byte >> (low % 8) & 1 == 1)
}

/// Keeps the rows for which `is_kept` returns true.
///
/// The loop does not branch on the result, because the processor mispredicts such a branch: with a few
/// thousand rows a chunk, the branch took five times as long.
fn retain(lows: &mut Vec<u16>, is_kept: impl Fn(u16) -> bool) {
    let mut kept = 0;
    for at in 0..lows.len() {
        let low = lows[at];
        lows[kept] = low;
        kept += usize::from(is_kept(low));
    }
    lows.truncate(kept);
}

/// A list in a mapped file.
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
    /// The entries of `chunks` chunks and the end entry.
    Long {
        entries: &'s [u8],
        chunks: usize,
    },
}

/// An entry of a long list: where a chunk's container begins.
#[derive(Clone, Copy)]
struct ChunkEntry {
    chunk: u32,
    before: u32,
    from: u32,
}

impl<'s> Postings<'s> {
    /// Opens the list in the bytes `from..to` of an archive.
    ///
    /// # Errors
    ///
    /// Fails if the bytes are damaged or hold no list.
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
            // The number of chunks tells how many bytes to read next: few more than a chunk of the file.
            if archive.is_collecting() {
                archive.fetch(from, to.min(from + CHUNK_BYTES));
            }
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

    /// Asks for all bytes of the list at once, where chunks are fetched and `lookups` rows would touch as many bytes.
    pub(crate) fn fetch_for(&self, lookups: f64) {
        if self.archive.is_collecting()
            && lookups * CHUNK_BYTES as f64 >= (self.to - self.from) as f64
        {
            self.archive.fetch(self.from, self.to);
        }
    }

    /// The bytes of the list in the archive.
    pub(crate) fn byte_range(&self) -> Range<usize> {
        self.from..self.to
    }

    /// The number of rows. Cost: one read.
    pub fn count(&self) -> u32 {
        match self.form {
            Form::Short(bytes) => (bytes.len() / 4) as u32,
            Form::Long { entries, chunks, .. } => entry(entries, chunks).before,
        }
    }

    /// Finds the rows of a chunk. Cost: log2(chunks) reads of entries, none of rows. A short list costs
    /// log2(rows) reads.
    pub fn view(&self, chunk: u32) -> Result<ChunkView<'s>, ReadError> {
        match self.form {
            Form::Short(bytes) => {
                let rows = bytes.as_chunks::<4>().0;
                let from = rows.partition_point(|row| u32::from_le_bytes(*row) >> 16 < chunk);
                let to = rows.partition_point(|row| u32::from_le_bytes(*row) >> 16 <= chunk);
                Ok(ChunkView::Short(&bytes[from * 4..to * 4]))
            }
            Form::Long { entries, chunks } => match find_entry(entries, chunks, chunk) {
                Some(at) => self.container(entry(entries, at), entry(entries, at + 1)),
                None => Ok(ChunkView::EMPTY),
            },
        }
    }

    /// Tells whether the list has a row. Cost: as [`Postings::view`]; of a bitmap, one byte.
    pub fn contains(&self, row: u32) -> Result<bool, ReadError> {
        if let Form::Long { entries, chunks } = self.form
            && let Some(at) = find_entry(entries, chunks, row >> 16)
        {
            let (bytes, count) =
                self.container_place(entry(entries, at), entry(entries, at + 1))?;
            if bytes.len() == BITSET_BYTES && count as usize > ARRAY_ROWS_MAX {
                let byte = bytes.start + usize::from(row as u16 / 8);
                return Ok(self.archive.bytes(byte, byte + 1)?[0] >> (row % 8) & 1 == 1);
            }
        }
        Ok(self.view(row >> 16)?.contains(row as u16))
    }

    fn container(&self, this: ChunkEntry, next: ChunkEntry) -> Result<ChunkView<'s>, ReadError> {
        let (bytes, count) = self.container_place(this, next)?;
        Ok(ChunkView::new(self.archive.bytes(bytes.start, bytes.end)?, count))
    }

    /// The bytes of a container in the archive, and the number of its rows.
    fn container_place(
        &self,
        this: ChunkEntry,
        next: ChunkEntry,
    ) -> Result<(Range<usize>, u32), ReadError> {
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
        Ok((from..from + bytes, count))
    }

    /// Counts the rows of each of the first `chunks` chunks. Cost: the entries, no rows; all rows of a short list.
    pub fn chunk_counts(&self, chunks: u32) -> Result<Vec<u32>, ReadError> {
        let mut counts = vec![0; chunks as usize];
        let mut add = |chunk: u32, count: u32| match counts.get_mut(chunk as usize) {
            Some(known) => {
                *known += count;
                Ok(())
            }
            None => Err(ReadError::corrupt("postings", "a chunk lies beyond the last row")),
        };
        match self.form {
            Form::Short(bytes) => bytes
                .as_chunks::<4>()
                .0
                .iter()
                .try_for_each(|row| add(u32::from_le_bytes(*row) >> 16, 1))?,
            Form::Long { entries, chunks } => (0..chunks).try_for_each(|at| {
                let this = entry(entries, at);
                let (_, count) = self.container_place(this, entry(entries, at + 1))?;
                add(this.chunk, count)
            })?,
        }
        Ok(counts)
    }

    /// Calls `visit` with each row, ascending, until `visit` returns false.
    pub fn each(&self, mut visit: impl FnMut(u32) -> bool) -> Result<(), ReadError> {
        match self.form {
            Form::Short(bytes) => {
                let rows = bytes.as_chunks::<4>().0.iter().map(|row| u32::from_le_bytes(*row));
                let _ = rows.into_iter().try_for_each(|row| visit(row).then_some(()));
            }
            Form::Long { entries, chunks } => {
                let mut wants_more = true;
                for at in 0..chunks {
                    let this = entry(entries, at);
                    let view = self.container(this, entry(entries, at + 1))?;
                    view.each(|low| {
                        wants_more = visit(this.chunk << 16 | u32::from(low));
                        wants_more
                    });
                    if !wants_more {
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    /// All rows, ascending. The memory grows with the rows that are read: the count is not checked.
    pub fn to_vec(&self) -> Result<Vec<u32>, ReadError> {
        let mut rows = Vec::new();
        self.each(|row| {
            rows.push(row);
            true
        })?;
        Ok(rows)
    }

    /// Calls `visit` with each row of some chunks, ascending.
    pub fn each_in(&self, chunks: Range<u32>, mut visit: impl FnMut(u32)) -> Result<(), ReadError> {
        match self.form {
            Form::Short(bytes) => {
                let rows = bytes.as_chunks::<4>().0.iter().map(|row| u32::from_le_bytes(*row));
                rows.filter(|row| chunks.contains(&(row >> 16))).for_each(visit);
            }
            Form::Long { entries, chunks: count } => {
                for at in first_entry(entries, count, chunks.start)..count {
                    let this = entry(entries, at);
                    if this.chunk >= chunks.end {
                        break;
                    }
                    self.container(this, entry(entries, at + 1))?.each(|low| {
                        visit(this.chunk << 16 | u32::from(low));
                        true
                    });
                }
            }
        }
        Ok(())
    }
}

/// Binary-searches the first entry of a chunk or of a later one.
fn first_entry(entries: &[u8], chunks: usize, chunk: u32) -> usize {
    let (mut low, mut high) = (0, chunks);
    while low < high {
        let middle = low + (high - low) / 2;
        if entry(entries, middle).chunk < chunk { low = middle + 1 } else { high = middle }
    }
    low
}

/// Finds the entry of a chunk.
fn find_entry(entries: &[u8], chunks: usize, chunk: u32) -> Option<usize> {
    let at = first_entry(entries, chunks, chunk);
    (at < chunks && entry(entries, at).chunk == chunk).then_some(at)
}

/// Reads an entry. `open` checked the length of the entries, so `at` is in range.
fn entry(entries: &[u8], at: usize) -> ChunkEntry {
    let field = |number: usize| {
        let from = at * ENTRY_BYTES + number * 4;
        let bytes = entries.get(from..from + 4).and_then(|field| field.try_into().ok());
        u32::from_le_bytes(bytes.unwrap_or([0xff; 4]))
    };
    ChunkEntry { chunk: field(0), before: field(1), from: field(2) }
}
