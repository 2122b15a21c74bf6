//! Counters of codes, the numbers that name the groups of a key.

use crate::storage::ReadError;

/// The code of rows without a value.
pub(super) const NULL: u64 = u64::MAX;
/// Codes up to which each has a counter; occurrences of more codes are listed and sorted.
pub(super) const COUNTERS_MAX: u64 = 1 << 22;
/// Occurrences of codes that may be listed, if there are too many codes for a counter each: 64 MiB.
pub(super) const LISTED_MAX: usize = 1 << 23;

/// A group before it has its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CodeGroup {
    /// The code of each key; of a single key, twice the same.
    pub codes: [u64; 2],
    pub count: u64,
}

/// The occurrences of one source's codes.
pub(in crate::query) struct Counted {
    /// Each code that occurs, ascending, and its number.
    pub codes: Vec<(u64, u64)>,
    /// Rows without a value.
    pub null: u64,
}

impl Counted {
    pub(super) fn into_groups(self) -> Vec<CodeGroup> {
        let null = (self.null > 0).then_some((NULL, self.null));
        let all = self.codes.into_iter().chain(null);
        all.map(|(code, count)| CodeGroup { codes: [code; 2], count }).collect()
    }
}

/// The occurrences of codes while they are counted.
pub(super) enum Counter {
    /// A counter for each code.
    Dense { counts: Vec<u32>, null: u64, has_unknown: bool },
    /// The occurrences of codes, in any order.
    Sparse(Vec<u64>),
}

impl Counter {
    /// Creates a counter of codes below `codes`.
    pub fn new(codes: u64) -> Counter {
        match codes <= COUNTERS_MAX {
            true => Counter::Dense { counts: vec![0; codes as usize], null: 0, has_unknown: false },
            false => Counter::Sparse(Vec::new()),
        }
    }

    #[inline]
    pub fn add(&mut self, code: u64) {
        match self {
            Counter::Dense { counts, null, has_unknown } => match counts.get_mut(code as usize) {
                Some(count) => *count += 1,
                None if code == NULL => *null += 1,
                None => *has_unknown = true,
            },
            Counter::Sparse(codes) => codes.push(code),
        }
    }

    pub fn add_many(&mut self, code: u64, number: u32) {
        match self {
            Counter::Dense { counts, .. } if code != NULL => match counts.get_mut(code as usize) {
                Some(count) => *count += number,
                None => (0..number).for_each(|_| self.add(code)),
            },
            Counter::Dense { null, .. } => *null += u64::from(number),
            Counter::Sparse(_) => (0..number).for_each(|_| self.add(code)),
        }
    }

    pub fn finish(self) -> Result<Counted, ReadError> {
        match self {
            Counter::Dense { has_unknown: true, .. } => {
                Err(ReadError::corrupt("targets", "a row is beyond its entity"))
            }
            Counter::Dense { counts, null, .. } => {
                let codes = (0..).zip(counts).filter(|(_, count)| *count > 0);
                let codes = codes.map(|(code, count)| (code, u64::from(count))).collect();
                Ok(Counted { codes, null })
            }
            Counter::Sparse(mut codes) => {
                codes.sort_unstable();
                let runs = codes.chunk_by(|one, other| one == other);
                let mut codes: Vec<(u64, u64)> =
                    runs.map(|run| (run[0], run.len() as u64)).collect();
                let last = codes.pop_if(|(code, _)| *code == NULL);
                Ok(Counted { codes, null: last.map_or(0, |(_, count)| count) })
            }
        }
    }
}
