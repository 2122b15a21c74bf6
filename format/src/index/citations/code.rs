//! Binary interpolative coding of ascending rows.
//!
//! The middle row is written first, as a number between the least and the greatest row it can be; then
//! the rows below it, and the rows above it, with the bounds that it gives them. Rows that follow
//! necessarily take no bits.
//!
//! ```text
//! rows [3, 4, 6] of 0..8      the middle row is 4, one of 1..7 → 3 bits
//! below it [3] of 0..4        one of 0..4 → 2 bits
//! above it [6] of 5..8        one of 5..8 → 2 bits
//! ```
//!
//! The code needs no parameter and follows the data: n rows spread evenly over u take about
//! n × (1.5 + log2(u ÷ n)) bits, and rows that crowd anywhere take fewer.

use std::ops::Range;

/// Appends the code of ascending `rows`, all of which lie in `bounds`.
pub(super) fn encode(rows: &[u32], bounds: Range<u32>, out: &mut Vec<u8>) {
    let mut writer = BitWriter { out, bits: 0, held: 0 };
    writer.rows(rows, u64::from(bounds.start)..u64::from(bounds.end));
    writer.flush();
}

/// Decodes `count` rows that lie in `bounds`; `None` if the bytes are not their code.
pub(super) fn decode(bytes: &[u8], count: usize, bounds: Range<u32>) -> Option<Vec<u32>> {
    if count > bounds.len() {
        return None;
    }
    let mut rows = vec![0; count];
    let mut reader = BitReader { bytes, next: 0, bits: 0, held: 0 };
    reader.rows(&mut rows, u64::from(bounds.start)..u64::from(bounds.end))?;
    reader.is_spent().then_some(rows)
}

/// The values that the middle one of `count` rows in `bounds` can have.
fn middle_values(count: usize, bounds: &Range<u64>) -> Range<u64> {
    let below = (count / 2) as u64;
    bounds.start + below..bounds.end - (count as u64 - 1 - below)
}

/// A number below `values` takes the lower or the higher of two lengths: the first `short` numbers
/// take `bits`, the others one more.
fn lengths(values: u64) -> (u32, u64) {
    let bits = values.ilog2();
    (bits, (2 << bits) - values)
}

struct BitWriter<'o> {
    out: &'o mut Vec<u8>,
    /// Bits not yet written, fewer than 32, the first in the lowest place.
    bits: u64,
    held: u32,
}

impl BitWriter<'_> {
    fn rows(&mut self, rows: &[u32], bounds: Range<u64>) {
        let Some(row) = rows.get(rows.len() / 2).map(|row| u64::from(*row)) else { return };
        let values = middle_values(rows.len(), &bounds);
        self.number(row - values.start, values.end - values.start);
        let (below, above) = (&rows[..rows.len() / 2], &rows[rows.len() / 2 + 1..]);
        self.rows(below, bounds.start..row);
        self.rows(above, row + 1..bounds.end);
    }

    fn number(&mut self, number: u64, values: u64) {
        let (bits, short) = lengths(values);
        if number < short {
            self.push(number, bits);
        } else {
            // The additional bit comes last, so that a reader can tell the length from the others.
            let number = number - short;
            self.push(short + number / 2, bits);
            self.push(number % 2, 1);
        }
    }

    fn push(&mut self, bits: u64, count: u32) {
        // At most 31 bits are held and at most 32 are added, because rows are below 2^32.
        self.bits |= bits << self.held;
        self.held += count;
        if self.held >= u32::BITS {
            self.out.extend_from_slice(&(self.bits as u32).to_le_bytes());
            self.bits >>= u32::BITS;
            self.held -= u32::BITS;
        }
    }

    fn flush(&mut self) {
        let bytes = self.held.div_ceil(8) as usize;
        self.out.extend_from_slice(&self.bits.to_le_bytes()[..bytes]);
    }
}

struct BitReader<'b> {
    bytes: &'b [u8],
    /// Index of the next byte.
    next: usize,
    bits: u64,
    held: u32,
}

impl BitReader<'_> {
    fn rows(&mut self, rows: &mut [u32], bounds: Range<u64>) -> Option<()> {
        if rows.is_empty() {
            return Some(());
        }
        let values = middle_values(rows.len(), &bounds);
        let row = values.start + self.number(values.end - values.start)?;
        let (below, rest) = rows.split_at_mut(rows.len() / 2);
        let (middle, above) = rest.split_first_mut()?;
        // The row is below the end of the bounds, a u32.
        *middle = row as u32;
        self.rows(below, bounds.start..row)?;
        self.rows(above, row + 1..bounds.end)
    }

    fn number(&mut self, values: u64) -> Option<u64> {
        let (bits, short) = lengths(values);
        let number = self.take(bits)?;
        if number < short {
            return Some(number);
        }
        Some(short + (number - short) * 2 + self.take(1)?)
    }

    fn take(&mut self, count: u32) -> Option<u64> {
        while self.held < count {
            self.bits |= u64::from(*self.bytes.get(self.next)?) << self.held;
            self.next += 1;
            self.held += 8;
        }
        let taken = self.bits & ((1 << count) - 1);
        self.bits >>= count;
        self.held -= count;
        Some(taken)
    }

    /// Whether every byte was read, and the bits left in the last one are zeros.
    fn is_spent(&self) -> bool {
        self.next == self.bytes.len() && self.held < 8 && self.bits == 0
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn check(rows: &[u32], bounds: Range<u32>) -> usize {
        let mut bytes = Vec::new();
        encode(rows, bounds.clone(), &mut bytes);
        assert_eq!(decode(&bytes, rows.len(), bounds.clone()).as_deref(), Some(rows));
        // A longer and a shorter text are not the code.
        bytes.push(0);
        assert_eq!(decode(&bytes, rows.len(), bounds.clone()), None, "{rows:?}");
        bytes.pop();
        if bytes.pop().is_some() {
            assert_eq!(decode(&bytes, rows.len(), bounds), None, "{rows:?}");
        }
        bytes.len() + 1
    }

    #[test]
    fn every_set_of_small_rows_is_decoded() {
        for set in 0..1u32 << 10 {
            let rows: Vec<u32> = (0..10).filter(|row| set >> row & 1 == 1).collect();
            check(&rows, 0..10);
            check(&rows, 0..11);
            let high: Vec<u32> = rows.iter().map(|row| u32::MAX - 10 + row).collect();
            check(&high, u32::MAX - 10..u32::MAX);
            check(&high, 0..u32::MAX);
        }
    }

    #[test]
    fn rows_take_about_the_bits_that_they_must() {
        // 30 rows spread evenly over 2^20, and 30 rows of which each is half of the next.
        let even: Vec<u32> = (0..30).map(|at| at * 34_952 + at * at * 7 % 900).collect();
        assert!(check(&even, 0..1 << 20) <= 30 * 17 / 8 + 1);
        let crowded: Vec<u32> = (0..19).map(|at| 1 << at).collect();
        assert!(check(&crowded, 0..1 << 20) <= 28, "{}", check(&crowded, 0..1 << 20));
        assert_eq!(decode(&[], 3, 0..2), None, "more rows than values");
        let all: Vec<u32> = (0..4_096).collect();
        let mut bytes = Vec::new();
        encode(&all, 0..4_096, &mut bytes);
        assert!(bytes.is_empty(), "rows that follow necessarily take no bits");
    }

    #[test]
    fn bytes_that_are_no_code_are_refused_or_give_ascending_rows() {
        let mut seed = 1u64;
        for _ in 0..20_000 {
            let mut next = |limit: u64| {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (seed >> 33) % limit
            };
            let bytes: Vec<u8> = (0..next(12)).map(|_| next(256) as u8).collect();
            let bounds = 0..next(3_000) as u32;
            if let Some(rows) = decode(&bytes, next(20) as usize, bounds.clone()) {
                assert!(rows.is_sorted_by(|one, two| one < two));
                assert!(rows.iter().all(|row| bounds.contains(row)));
            }
        }
    }
}
