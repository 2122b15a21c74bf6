//! Renumbers orders.
//!
//! An order of the previous snapshot lists its rows by value, so it is read rank by rank and merged with the
//! sorted rows of changed records. A value follows from the code of its first row. Orders of texts store no
//! values: a changed text is searched among the others, which costs log2(rows) reads of records.

use std::{
    io::{self, BufReader, Read},
    iter::Peekable,
    path::Path,
};

use pinakes_format::index::orders::{
    FirstPass, Order, OrderParts, OrdersWriter, PassBuilder, RankedRow,
};
use pinakes_format::schema::keys::{self, Values};
use pinakes_format::storage::file_writer::Written;
use pinakes_format::storage::header::Header;

use crate::link::atomic_bitset::AtomicBitset;
use crate::link::column::IdRow;
use crate::link::index::extract::Extractor;
use crate::link::index::order_values::OrderValues;
use crate::link::index::rank::{
    Columns, NoneLast, OrderWriter, SortedOrder, TEXT_PARTS, ranked_value,
};
use crate::link::index::renumber::text_order::{KeptTextsBuilder, TextMerge};
use crate::link::index::renumber::{Unchanged, mismatch};
use crate::link::index::value::{Text, read_number, read_optional};

/// Ranks that are read together.
const RANKS: u32 = 1 << 12;
/// Rows of a value, on average, from which on the end of the value's rows is searched for.
const GROUP_ROWS: u64 = 256;

/// Renumbers the orders of an entity.
pub(crate) struct OrderRenumbering<'r> {
    pub unchanged: &'r Unchanged<'r>,
    /// Extracts from this snapshot.
    pub extractor: &'r Extractor<'r>,
    /// Extracts from the previous snapshot.
    pub old_extractor: &'r Extractor<'r>,
}

/// A row of the previous order that keeps its value: the row now, and the code of the value.
#[derive(Clone, Copy)]
pub(super) struct KeptRow {
    pub row: u32,
    pub code: u64,
}

impl Columns<'_> {
    /// Renumbers and writes every order. The columns are those of changed rows.
    pub fn write_renumbered(
        &mut self,
        writing: &OrderWriter<'_>,
        renumbering: &OrderRenumbering<'_>,
        path: &Path,
        header: Header,
    ) -> io::Result<Written> {
        let writer = OrdersWriter::create(path, header, writing.memory_bytes)?;
        self.write_each(
            writer,
            |number, same| renumbering.same(number, same),
            |order, column| renumbering.order(writing, order, column),
        )
    }
}

impl OrderRenumbering<'_> {
    /// Renumbers an order. `column` holds the values of the changed rows.
    fn order(
        &self,
        writing: &OrderWriter<'_>,
        (number, spec): (usize, &keys::Order),
        column: impl Read,
    ) -> io::Result<SortedOrder> {
        let (pass, parts) = match spec.values {
            Values::Ids => return writing.sort(spec, io::empty()),
            Values::Texts => (self.texts(writing, number, column)?, TEXT_PARTS),
            _ if spec.is_row_order => {
                (self.row_order(writing, number, column)?, OrderParts::RowOrder)
            }
            values => {
                let has_values = values != Values::Codes;
                (self.numbers(writing, (number, spec), column)?, OrderParts::All { has_values })
            }
        };
        Ok(SortedOrder { pass, parts })
    }

    /// The earlier order of texts that has the same rows and values as an order, if `earlier` has the same
    /// column of changed rows.
    fn same(&self, number: usize, earlier: Option<usize>) -> io::Result<Option<usize>> {
        let Some(of) = earlier else { return Ok(None) };
        Ok(self.is_same(of, number)?.then_some(of))
    }

    fn old_order(&self, number: usize) -> io::Result<Order<'_>> {
        let Unchanged { entity, .. } = self.unchanged;
        self.unchanged.old().order(*entity, number).map_err(io::Error::other)
    }

    /// Calls `visit` with each row that keeps its value, rank by rank.
    fn each_kept(
        &self,
        order: &Order<'_>,
        row_of: impl Fn(u32) -> Option<u32>,
        mut visit: impl FnMut(KeptRow) -> io::Result<()>,
    ) -> io::Result<()> {
        // A search for the last row with a value pays if the value has many rows.
        let is_coarse = order.no_code() < u64::from(order.rows()) / GROUP_ROWS;
        let (mut from, mut code, mut code_to) = (0, 0, 0);
        while from < order.rows() {
            let to = order.rows().min(from + RANKS);
            let (mut rank, mut outcome) = (from, Ok(()));
            let visited = order.each_row(from..to, |old| {
                if rank >= code_to {
                    outcome = order
                        .code_of(old)
                        .and_then(|of_row| {
                            code = of_row;
                            code_to = if is_coarse {
                                order.ranks_of(code..code + 1)?.end
                            } else {
                                rank + 1
                            };
                            Ok(())
                        })
                        .map_err(io::Error::other);
                }
                rank += 1;
                if outcome.is_ok()
                    && let Some(row) = row_of(old)
                {
                    outcome = visit(KeptRow { row, code });
                }
                outcome.is_ok()
            });
            visited.map_err(io::Error::other)?;
            outcome?;
            from = to;
        }
        Ok(())
    }

    /// Merges an order of numbers or codes with the column of changed rows.
    fn numbers(
        &self,
        writing: &OrderWriter<'_>,
        (number, spec): (usize, &keys::Order),
        column: impl Read,
    ) -> io::Result<FirstPass> {
        let order = self.old_order(number)?;
        let (valued, others) = writing.sorted::<u64>(column, self.unchanged.changed(), |_| true)?;
        let mut pass = PassBuilder::new(writing.scratch);
        let mut valued = valued.peekable();
        let mut others = others.peekable();
        let values = OrderValues::new(self.extractor, number);
        let (mut code, mut value, mut last) = (None, None, None);
        let mut push = |row: u32, value: Option<u64>, last: &mut Option<u64>| {
            let ranked = ranked_value(*last == value, value);
            *last = value;
            pass.push(RankedRow { row, value: ranked })
        };
        self.each_kept(
            &order,
            |old| self.unchanged.row(old),
            |kept| {
                if code != Some(kept.code) {
                    code = Some(kept.code);
                    value = match spec.values {
                        _ if kept.code == order.no_code() => None,
                        Values::Codes => values.number(kept.row)?,
                        _ => order.value(kept.code).map_err(io::Error::other)?,
                    };
                }
                let Some(value) = value else {
                    while let Some(new) = next_row(&mut valued)? {
                        push(new.row, Some(new.value), &mut last)?;
                    }
                    let id = writing.id(kept.row)?;
                    while let Some(new) = next_if(&mut others, |new: &IdRow| new.id < id)? {
                        push(new.row, None, &mut last)?;
                    }
                    return push(kept.row, None, &mut last);
                };
                let mut id = None;
                loop {
                    let is_before = match valued.peek() {
                        Some(Ok(new)) if new.value == value => {
                            let id = match id {
                                Some(id) => id,
                                None => *id.insert(writing.id(kept.row)?),
                            };
                            new.id < id
                        }
                        Some(Ok(new)) => new.value < value,
                        Some(Err(_)) => true,
                        None => false,
                    };
                    if !is_before {
                        break;
                    }
                    if let Some(new) = next_row(&mut valued)? {
                        push(new.row, Some(new.value), &mut last)?;
                    }
                }
                push(kept.row, Some(value), &mut last)
            },
        )?;
        while let Some(new) = next_row(&mut valued)? {
            push(new.row, Some(new.value), &mut last)?;
        }
        while let Some(new) = next_if(&mut others, |_| true)? {
            push(new.row, None, &mut last)?;
        }
        pass.finish()
    }

    /// Writes the order in which the rows are stored.
    fn row_order(
        &self,
        writing: &OrderWriter<'_>,
        number: usize,
        column: impl Read,
    ) -> io::Result<FirstPass> {
        let order = self.old_order(number)?;
        let mut column = BufReader::with_capacity(1 << 16, column);
        let mut changed = self.unchanged.changed().peekable();
        let mut pass = PassBuilder::new(writing.scratch);
        let mut last: Option<Option<u64>> = None;
        let mut push = |row: u32, value: Option<u64>| {
            if last.is_some_and(|last| NoneLast(value) < NoneLast(last)) {
                return Err(mismatch());
            }
            let ranked = ranked_value(last == Some(value), value);
            last = Some(value);
            pass.push(RankedRow { row, value: ranked })
        };
        self.each_kept(
            &order,
            |old| self.unchanged.row(old),
            |kept| {
                while let Some(row) = changed.next_if(|row| *row < kept.row) {
                    push(row, read_optional(&mut column, read_number)?)?;
                }
                push(kept.row, order.value(kept.code).map_err(io::Error::other)?)
            },
        )?;
        for row in changed {
            push(row, read_optional(&mut column, read_number)?)?;
        }
        pass.finish()
    }

    /// Whether two orders of texts list the same rows in the same groups.
    fn is_same(&self, a: usize, b: usize) -> io::Result<bool> {
        let (a, b) = (self.old_order(a)?, self.old_order(b)?);
        for rank in 0..a.rows() {
            let row = |order: &Order<'_>| -> io::Result<(u32, u64)> {
                let row = order.row_at(rank).map_err(io::Error::other)?;
                Ok((row, order.code_of(row).map_err(io::Error::other)?))
            };
            if row(&a)? != row(&b)? {
                return Ok(false);
            }
        }
        Ok(a.valued() == b.valued())
    }

    /// Merges an order of texts with the column of changed rows.
    fn texts(
        &self,
        writing: &OrderWriter<'_>,
        number: usize,
        column: impl Read,
    ) -> io::Result<FirstPass> {
        let order = self.old_order(number)?;
        let values = OrderValues::new(self.extractor, number);
        let same = self.same_texts(number, &values)?;
        let (valued, others) = writing
            .sorted::<Text>(column, self.unchanged.changed(), |row| !same.contains(row as usize))?;
        let row_of = |old: u32| {
            let moved = || self.unchanged.moved(self.unchanged.entity, old);
            self.unchanged.row(old).or_else(|| moved().filter(|row| same.contains(*row as usize)))
        };
        let mut kept = KeptTextsBuilder::new(writing.scratch)?;
        self.each_kept(&order, row_of, |row| kept.push(row, row.code != order.no_code()))?;
        let kept = kept.finish()?;
        let mut merge = TextMerge::new(&kept, &values, writing);
        for new in valued {
            merge.push(new?)?;
        }
        merge.finish(others)
    }

    /// The changed rows whose text is that of the previous snapshot.
    fn same_texts(&self, number: usize, values: &OrderValues<'_>) -> io::Result<AtomicBitset> {
        let same =
            AtomicBitset::new(self.extractor.snapshot().count(self.unchanged.entity) as usize);
        let old_values = OrderValues::new(self.old_extractor, number);
        for old in self.unchanged.dropped() {
            if let Some(row) = self.unchanged.moved(self.unchanged.entity, old)
                && old_values.text(old)? == values.text(row)?
            {
                same.insert(row as usize);
            }
        }
        Ok(same)
    }
}

fn next_row<T>(rows: &mut Peekable<impl Iterator<Item = io::Result<T>>>) -> io::Result<Option<T>> {
    rows.next().transpose()
}

pub(super) fn next_if<T>(
    rows: &mut Peekable<impl Iterator<Item = io::Result<T>>>,
    is_taken: impl Fn(&T) -> bool,
) -> io::Result<Option<T>> {
    rows.next_if(|row| row.as_ref().map_or(true, &is_taken)).transpose()
}
