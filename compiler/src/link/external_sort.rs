//! Sorting more than fits in memory: sorted runs in unnamed files, merged as they are read.

use std::{
    cmp::Reverse,
    collections::BinaryHeap,
    fs::File,
    io::{self, BufReader, BufWriter, Read, Seek, Write},
    path::{Path, PathBuf},
};

use pinakes_format::storage::blobs::unnamed_file;
use rayon::slice::ParallelSliceMut;

/// A value that can wait on disk.
pub trait Spill: Ord + Send + Sized {
    /// Appends the value.
    ///
    /// # Errors
    ///
    /// Where the system refuses.
    fn write(&self, out: &mut impl Write) -> io::Result<()>;

    /// Reads the next value; `None` at the end.
    ///
    /// # Errors
    ///
    /// Where the system refuses.
    fn read(input: &mut impl Read) -> io::Result<Option<Self>>;

    /// Bytes it takes beyond its own size.
    fn heap_bytes(&self) -> usize {
        0
    }
}

/// Reads exactly `N` bytes; `None` where there are none left.
///
/// # Errors
///
/// Where the system refuses, or the input ends within them.
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

/// Takes values in any order and gives them back in theirs.
pub struct Sorter<T> {
    directory: PathBuf,
    memory_bytes: usize,
    values: Vec<T>,
    heap_bytes: usize,
    /// Runs, those of each level merged from as many of the level before as may be.
    runs: Vec<Vec<File>>,
}

/// Runs of a level that become one of the next, so that few files are open and read at a time, however
/// much is sorted.
const RUNS_MAX: usize = 64;

impl<T: Spill> Sorter<T> {
    /// A sorter that keeps at most `memory_bytes` of values in memory and spills into `directory`.
    pub fn new(directory: &Path, memory_bytes: usize) -> Sorter<T> {
        Sorter {
            directory: directory.to_path_buf(),
            memory_bytes,
            values: Vec::new(),
            heap_bytes: 0,
            runs: Vec::new(),
        }
    }

    /// Takes a value.
    ///
    /// # Errors
    ///
    /// Where a run cannot be written.
    pub fn push(&mut self, value: T) -> io::Result<()> {
        self.heap_bytes += value.heap_bytes();
        self.values.push(value);
        // A growing vector holds its old and its new self for a moment.
        let bytes = self.values.len() * size_of::<T>() * 2 + self.heap_bytes;
        if bytes >= self.memory_bytes { self.spill() } else { Ok(()) }
    }

    fn spill(&mut self) -> io::Result<()> {
        self.values.par_sort_unstable();
        let mut run = BufWriter::with_capacity(1 << 18, unnamed_file(&self.directory)?);
        for value in self.values.drain(..) {
            value.write(&mut run)?;
        }
        self.heap_bytes = 0;
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
        for value in Sorted::<T>::of_runs(std::mem::take(&mut self.runs[level]))? {
            value?.write(&mut merged)?;
        }
        self.add_run(merged, level + 1)
    }

    /// The values in order, equal ones as often as they were pushed.
    ///
    /// # Errors
    ///
    /// Where a run cannot be written or read.
    pub fn finish(mut self) -> io::Result<Sorted<T>> {
        if self.runs.is_empty() {
            self.values.par_sort_unstable();
            return Ok(Sorted {
                memory: self.values.into_iter(),
                runs: Vec::new(),
                heap: BinaryHeap::new(),
            });
        }
        self.spill()?;
        self.values = Vec::new();
        Sorted::of_runs(self.runs.into_iter().flatten().collect())
    }
}

/// Values in order.
pub struct Sorted<T> {
    memory: std::vec::IntoIter<T>,
    runs: Vec<BufReader<File>>,
    heap: BinaryHeap<Reverse<(T, usize)>>,
}

impl<T: Spill> Sorted<T> {
    fn of_runs(runs: Vec<File>) -> io::Result<Sorted<T>> {
        let mut runs: Vec<BufReader<File>> =
            runs.into_iter().map(|run| BufReader::with_capacity(1 << 17, run)).collect();
        let mut heap = BinaryHeap::new();
        for (index, run) in runs.iter_mut().enumerate() {
            heap.extend(T::read(run)?.map(|value| Reverse((value, index))));
        }
        Ok(Sorted { memory: Vec::new().into_iter(), runs, heap })
    }
}

impl<T: Spill> Iterator for Sorted<T> {
    type Item = io::Result<T>;

    fn next(&mut self) -> Option<io::Result<T>> {
        if self.runs.is_empty() {
            return self.memory.next().map(Ok);
        }
        let Reverse((value, index)) = self.heap.pop()?;
        match T::read(&mut self.runs[index]) {
            Ok(next) => self.heap.extend(next.map(|value| Reverse((value, index)))),
            Err(error) => return Some(Err(error)),
        }
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
    fn values_come_back_in_order_with_and_without_runs() {
        let directory = tempfile::tempdir().unwrap();
        let values: Vec<u64> = (0..10_000u64).map(|at| at.wrapping_mul(7_919) % 4_001).collect();
        let mut expected = values.clone();
        expected.sort_unstable();
        // The last: a value a run, which makes three levels.
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
