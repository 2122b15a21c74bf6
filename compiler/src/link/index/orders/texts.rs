//! Merges changed texts into an order of texts.
//!
//! ```text
//! kept rows by text      4 "alpha"   9 "graph"   2 "zeta"
//! changed row 7 "beta"   searched among the kept rows: after row 4        4 7 9 2
//! ```
//!
//! An order stores no texts: those of kept rows are read from their records. Costs log2(distance) reads of records for
//! each changed text: the distance from the changed text before, in ranks. From scratch no row is kept.

use std::fs::File;
use std::io;
use std::io::{BufWriter, Write};
use std::path::Path;

use pinakes_format::index::orders::{FirstPass, PassBuilder, RankedRow, RankedValue};
use pinakes_format::storage::unnamed_file;

use crate::link::column::{Column, IdRow};
use crate::link::index::orders::old::KeptRow;
use crate::link::index::orders::values::OrderValues;
use crate::link::index::orders::{KeyedRow, OrderWriter, next_if};
use crate::link::index::sort_key::SortText;
use crate::link::index::unchanged::Taken;
use crate::link::take_over::TakeOver;

/// The rows that keep their text, by text.
pub(super) struct KeptTexts<'k> {
    values: OrderValues<'k>,
    rows: Column,
    /// One bit for each row, set where another text begins.
    starts: Vec<u64>,
    /// The number of rows with a text.
    valued: usize,
}

/// Collects the rows that keep their text, rank by rank.
pub(super) struct KeptTextsBuilder {
    file: BufWriter<File>,
    starts: Vec<u64>,
    valued: usize,
    count: usize,
    last: Option<u64>,
}

impl KeptTextsBuilder {
    pub(super) fn new(scratch: &Path) -> io::Result<KeptTextsBuilder> {
        let file = BufWriter::with_capacity(1 << 18, unnamed_file(scratch)?);
        Ok(KeptTextsBuilder { file, starts: Vec::new(), valued: 0, count: 0, last: None })
    }

    pub(super) fn push(&mut self, kept: KeptRow, has_text: bool) -> io::Result<()> {
        if self.count.is_multiple_of(64) {
            self.starts.push(0);
        }
        let starts_text = self.last.replace(kept.code) != Some(kept.code);
        if let Some(word) = self.starts.last_mut().filter(|_| starts_text) {
            *word |= 1 << (self.count % 64);
        }
        self.valued += usize::from(has_text);
        self.count += 1;
        self.file.write_all(&kept.row.to_le_bytes())
    }

    /// `values` reads the texts of the rows.
    pub(super) fn finish(self, values: OrderValues<'_>) -> io::Result<KeptTexts<'_>> {
        let rows = Column::map(self.file, size_of::<u32>())?;
        Ok(KeptTexts { values, rows, starts: self.starts, valued: self.valued })
    }
}

impl KeptTexts<'_> {
    fn row(&self, at: usize) -> Option<u32> {
        self.rows.u32(at)
    }

    /// The text and the id of a row.
    fn key(&self, at: usize, writing: &OrderWriter<'_>) -> Taken<(SortText, u64)> {
        let lost = || TakeOver::contradiction("a row with a text has no record");
        let row = self.row(at).ok_or_else(lost)?;
        let text = self.values.key(row)?.ok_or_else(lost)?;
        Ok((text, writing.id(row)?))
    }

    fn starts_text(&self, at: usize) -> bool {
        self.starts.get(at / 64).is_some_and(|word| word >> (at % 64) & 1 == 1)
    }
}

/// The last row of a merge.
enum Last {
    None,
    /// A row that keeps its text.
    Kept,
    Changed(SortText),
}

/// Merges rows that keep their text with rows of changed texts.
pub(super) struct TextMerge<'m> {
    kept: Option<KeptTexts<'m>>,
    writing: &'m OrderWriter<'m>,
    /// The next kept row.
    at: usize,
    pass: PassBuilder,
    last: Last,
}

impl<'m> TextMerge<'m> {
    pub(super) fn new(kept: Option<KeptTexts<'m>>, writing: &'m OrderWriter<'m>) -> TextMerge<'m> {
        let pass = PassBuilder::new(writing.scratch);
        TextMerge { kept, writing, at: 0, pass, last: Last::None }
    }

    /// Writes a changed row, after the kept rows before it.
    pub(super) fn push(&mut self, new: KeyedRow<SortText>) -> Taken<()> {
        let mut is_same = matches!(&self.last, Last::Changed(text) if *text == new.value);
        if let Some(kept) = self.kept.take() {
            let low = self.find(&kept, &new)?;
            self.push_kept(&kept, low)?;
            is_same = match &self.last {
                Last::None => false,
                Last::Kept => kept.key(low - 1, self.writing)?.0 == new.value,
                Last::Changed(text) => *text == new.value,
            };
            self.kept = Some(kept);
        }
        self.last = Last::Changed(new.value);
        self.push_row(new.row, is_same)
    }

    fn push_row(&mut self, row: u32, is_same: bool) -> Taken<()> {
        let value = if is_same { RankedValue::Same } else { RankedValue::Next(0) };
        Ok(self.pass.push(RankedRow { row, value })?)
    }

    /// Searches the first kept row that does not sort before a changed row. The distance of the rows that are
    /// compared doubles until one is found, because the next changed text is often close.
    fn find(&self, kept: &KeptTexts<'_>, new: &KeyedRow<SortText>) -> Taken<usize> {
        let is_before = |at: usize| -> Taken<bool> {
            let (text, id) = kept.key(at, self.writing)?;
            Ok((&text, id) < (&new.value, new.id))
        };
        let (mut low, mut high, mut step) = (self.at, kept.valued, 0);
        while low + step < high {
            if is_before(low + step)? {
                (low, step) = (low + step + 1, step * 2 + 1);
            } else {
                high = low + step;
            }
        }
        while low < high {
            let middle = low + (high - low) / 2;
            if is_before(middle)? { low = middle + 1 } else { high = middle }
        }
        Ok(low)
    }

    /// Writes the kept rows before the one at `end`.
    fn push_kept(&mut self, kept: &KeptTexts<'_>, end: usize) -> Taken<()> {
        while self.at < end {
            let is_same = match &self.last {
                Last::None => false,
                Last::Kept => !kept.starts_text(self.at),
                Last::Changed(text) => kept.key(self.at, self.writing)?.0 == *text,
            };
            let lost = TakeOver::contradiction("an order is cut");
            self.push_row(kept.row(self.at).ok_or(lost)?, is_same)?;
            self.last = Last::Kept;
            self.at += 1;
        }
        Ok(())
    }

    /// Writes the remaining kept rows, and the rows without a text, by id.
    pub(super) fn finish(
        mut self,
        others: impl Iterator<Item = io::Result<IdRow>>,
    ) -> Taken<FirstPass> {
        let mut others = others.peekable();
        if let Some(kept) = self.kept.take() {
            self.push_kept(&kept, kept.valued)?;
            while let Some(row) = kept.row(self.at) {
                let id = self.writing.id(row)?;
                while let Some(new) = next_if(&mut others, |new| new.id < id)? {
                    self.pass.push(RankedRow { row: new.row, value: RankedValue::None })?;
                }
                self.pass.push(RankedRow { row, value: RankedValue::None })?;
                self.at += 1;
            }
        }
        for new in others {
            self.pass.push(RankedRow { row: new?.row, value: RankedValue::None })?;
        }
        Ok(self.pass.finish()?)
    }
}
