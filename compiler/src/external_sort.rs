//! Sorts more values than memory holds: sorted runs in unnamed files, merged by level.
//!
//! ```text
//! 64 runs of one level merge into 1 run of the next:
//! level 0: ▪▪▪…▪ (64) → level 1: ■      level 1: ■■■…■ (64) → level 2: █
//! ```
//!
//! Cost for n values: n·log2(n) comparisons, and one write and one read of every value per level.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, binary_heap::PeekMut},
    fs::File,
    io::{self, BufReader, BufWriter, Read, Seek, Write},
    path::{Path, PathBuf},
};

use pinakes_format::storage::unnamed_file;

use crate::parallel::{self, BLOCK_VALUES};

/// A value that a sorter can write to disk.
pub trait Spill: Ord + Send + Sync + Sized {
    /// Appends the value.
    fn write(&self, out: &mut impl Write) -> io::Result<()>;

    /// Reads the next value; `None` at the end of the input.
    fn read(input: &mut impl Read) -> io::Result<Option<Self>>;

    /// Bytes of heap memory that the value owns.
    fn heap_bytes(&self) -> usize {
        0
    }
}

/// Implements [`Spill`] for a type of unsigned numbers: each is written with its low byte first, in the order given here.
macro_rules! spill_numbers {
    ($of:ident { $first:tt: $first_number:ty $(, $field:tt: $number:ty)* }) => {
        impl $crate::external_sort::Spill for $of {
            fn write(&self, out: &mut impl std::io::Write) -> std::io::Result<()> {
                out.write_all(&self.$first.to_le_bytes())?;
                $(out.write_all(&self.$field.to_le_bytes())?;)*
                Ok(())
            }

            fn read(input: &mut impl std::io::Read) -> std::io::Result<Option<$of>> {
                use $crate::external_sort::read_array;
                let Some(first) = read_array(input)? else { return Ok(None) };
                Ok(Some($of {
                    $first: <$first_number>::from_le_bytes(first),
                    $($field: {
                        let bytes = read_array(input)?.ok_or(std::io::ErrorKind::UnexpectedEof)?;
                        <$number>::from_le_bytes(bytes)
                    },)*
                }))
            }
        }
    };
}

pub(crate) use spill_numbers;

/// Reads `N` bytes; `None` at the end of the input. Fails if the input ends within the bytes.
pub fn read_array<const N: usize>(input: &mut impl Read) -> io::Result<Option<[u8; N]>> {
    let mut bytes = [0; N];
    let first = loop {
        match input.read(&mut bytes) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => break other?,
        }
    };
    if first == 0 {
        return Ok(None);
    }
    input.read_exact(&mut bytes[first..])?;
    Ok(Some(bytes))
}

/// Sorts values in bounded memory.
pub struct Sorter<T> {
    directory: PathBuf,
    memory_bytes: usize,
    /// Blocks of [`BLOCK_VALUES`] values; the last may have fewer.
    values: Vec<Vec<T>>,
    count: usize,
    heap_bytes: usize,
    /// Runs by level.
    runs: Vec<Vec<File>>,
}

/// Runs of a level that are merged into one run of the next level. Bounds the number of open files.
const RUNS_MAX: usize = 64;

impl<T: Spill> Sorter<T> {
    /// A sorter that keeps at most `memory_bytes` of values in memory and spills into `directory`.
    pub fn new(directory: &Path, memory_bytes: usize) -> Sorter<T> {
        Sorter {
            directory: directory.to_path_buf(),
            memory_bytes,
            values: Vec::new(),
            count: 0,
            heap_bytes: 0,
            runs: Vec::new(),
        }
    }

    pub fn push(&mut self, value: T) -> io::Result<()> {
        self.heap_bytes += value.heap_bytes();
        match self.values.last_mut().filter(|block| block.len() < BLOCK_VALUES) {
            Some(block) => block.push(value),
            None => {
                // The first block grows, because many sorters have few values.
                let length = if self.values.is_empty() { 1 } else { BLOCK_VALUES };
                let mut block = Vec::with_capacity(length);
                block.push(value);
                self.values.push(block);
            }
        }
        self.count += 1;
        // Twice the size, because a sort copies the values.
        let bytes = self.count * size_of::<T>() * 2 + self.heap_bytes;
        if bytes >= self.memory_bytes { self.spill() } else { Ok(()) }
    }

    fn spill(&mut self) -> io::Result<()> {
        let sorted = parallel::sort_blocks(std::mem::take(&mut self.values), T::cmp);
        let mut run = BufWriter::with_capacity(1 << 18, unnamed_file(&self.directory)?);
        for value in sorted.into_iter().flatten() {
            value.write(&mut run)?;
        }
        (self.count, self.heap_bytes) = (0, 0);
        self.add_run(run, 0)
    }

    fn add_run(&mut self, run: BufWriter<File>, level: usize) -> io::Result<()> {
        let mut run = run.into_inner().map_err(|error| error.into_error())?;
        run.rewind()?;
        if self.runs.len() == level {
            self.runs.push(Vec::new());
        }
        self.runs[level].push(run);
        if self.runs[level].len() < RUNS_MAX {
            return Ok(());
        }
        let mut merged = BufWriter::with_capacity(1 << 18, unnamed_file(&self.directory)?);
        for value in Sorted::<T>::merge(std::mem::take(&mut self.runs[level]))? {
            value?.write(&mut merged)?;
        }
        self.add_run(merged, level + 1)
    }

    /// Returns the values in ascending order, with duplicates.
    pub fn finish(mut self) -> io::Result<Sorted<T>> {
        if self.runs.is_empty() {
            let sorted = parallel::sort_blocks(self.values, T::cmp);
            return Ok(Sorted {
                memory: sorted.into_iter().flatten(),
                runs: Vec::new(),
                heap: BinaryHeap::new(),
            });
        }
        self.spill()?;
        Sorted::merge(self.runs.into_iter().flatten().collect())
    }

    /// Writes the values in ascending order to an unnamed file.
    pub fn write_sorted(self) -> io::Result<BufWriter<File>> {
        let mut file = BufWriter::with_capacity(1 << 18, unnamed_file(&self.directory)?);
        for value in self.finish()? {
            value?.write(&mut file)?;
        }
        Ok(file)
    }
}

/// An iterator over sorted values, from memory or merged from runs.
pub struct Sorted<T> {
    memory: std::iter::Flatten<std::vec::IntoIter<Vec<T>>>,
    runs: Vec<BufReader<File>>,
    heap: BinaryHeap<Reverse<(T, usize)>>,
}

impl<T: Spill> Sorted<T> {
    fn merge(runs: Vec<File>) -> io::Result<Sorted<T>> {
        let mut runs: Vec<BufReader<File>> =
            runs.into_iter().map(|run| BufReader::with_capacity(1 << 17, run)).collect();
        let mut heap = BinaryHeap::new();
        for (index, run) in runs.iter_mut().enumerate() {
            heap.extend(T::read(run)?.map(|value| Reverse((value, index))));
        }
        Ok(Sorted { memory: Vec::new().into_iter().flatten(), runs, heap })
    }
}

impl<T: Spill> Iterator for Sorted<T> {
    type Item = io::Result<T>;

    fn next(&mut self) -> Option<io::Result<T>> {
        if self.runs.is_empty() {
            return self.memory.next().map(Ok);
        }
        // Replacing the top moves it once; popping it and pushing the next value would move twice.
        let mut top = self.heap.peek_mut()?;
        let Reverse((first, index)) = &mut *top;
        let value = match T::read(&mut self.runs[*index]) {
            Ok(Some(next)) => std::mem::replace(first, next),
            Ok(None) => PeekMut::pop(top).0.0,
            Err(error) => return Some(Err(error)),
        };
        Some(Ok(value))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    impl Spill for u64 {
        fn write(&self, out: &mut impl Write) -> io::Result<()> {
            out.write_all(&self.to_le_bytes())
        }

        fn read(input: &mut impl Read) -> io::Result<Option<u64>> {
            Ok(read_array(input)?.map(u64::from_le_bytes))
        }
    }

    #[test]
    fn a_sorter_returns_values_in_order_with_and_without_runs() {
        let directory = tempfile::tempdir().unwrap();
        let values: Vec<u64> = (0..10_000u64).map(|at| at.wrapping_mul(7_919) % 4_001).collect();
        let mut expected = values.clone();
        expected.sort_unstable();
        // With one byte of memory every value is a run, which makes three levels.
        for memory_bytes in [1 << 20, 4_096, 1] {
            let mut sorter = Sorter::new(directory.path(), memory_bytes);
            for value in &values {
                sorter.push(*value).unwrap();
                assert!(sorter.runs.iter().all(|level| level.len() < RUNS_MAX));
            }
            let sorted: Vec<u64> = sorter.finish().unwrap().map(Result::unwrap).collect();
            assert_eq!(sorted, expected);
        }
    }
}
