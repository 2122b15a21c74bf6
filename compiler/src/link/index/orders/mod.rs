//! Orders: the sort keys of each order are written as a column, sorted, and merged with the previous snapshot's order.
//!
//! ```text
//! four tasks      sort year, title, date, …   sort updated, …
//! another task                                write year, title, date, …
//! ```
//!
//! An order of the previous snapshot lists its rows by value, so that its unchanged rows are a sorted run (`old`). From
//! scratch there is no such run, and the columns hold the keys of all rows.

pub(super) mod old;
mod texts;
mod values;

use std::io;
use std::io::{BufReader, Read, Write};
use std::iter::Peekable;
use std::ops::Range;
use std::path::Path;

use pinakes_format::entity::Entity;
use pinakes_format::index::orders::{
    FirstPass, OrderParts, OrdersWriter, PassBuilder, RankedRow, RankedValue,
};
use pinakes_format::schema::{Keys, Order, Values};
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::{Header, Spool, Spooled, Written};

use crate::external_sort::{Sorted, Sorter, Spill, read_array};
use crate::link::column::IdRow;
use crate::link::index::extract::Extracted;
use crate::link::index::orders::old::OldOrders;
use crate::link::index::orders::texts::{KeptTextsBuilder, TextMerge};
use crate::link::index::orders::values::OrderValues;
use crate::link::index::sort_key::{SortKey, SortText, read_number, read_optional, read_row};
use crate::link::index::unchanged::Taken;
use crate::link::take_over::TakeOver;
use crate::parallel;

/// The sections of an order of texts, whose values are in the records.
const TEXT_PARTS: OrderParts = OrderParts::All { has_values: false };

/// The orders that are sorted at the same time.
pub(crate) const SORTED_TOGETHER: usize = 4;

/// The sort keys of every order, in row order: of all rows, or of the changed rows.
pub(crate) struct Columns<'a> {
    keys: &'a Keys,
    spools: Vec<Spool>,
    /// For each order of texts, an earlier order with the same column so far: the title of most outputs is
    /// the name.
    same: Vec<Option<usize>>,
}

/// Writes the orders of an entity.
pub(crate) struct OrderWriter<'a> {
    pub draft: &'a Snapshot,
    pub entity: Entity,
    pub scratch: &'a Path,
    /// Bytes for the sort of one order.
    pub memory_bytes: usize,
    /// The orders of unchanged rows; `None` from scratch.
    pub old: Option<OldOrders<'a>>,
}

/// An order whose first pass is done.
struct SortedOrder {
    pass: FirstPass,
    parts: OrderParts,
}

impl<'a> Columns<'a> {
    pub fn new(keys: &'a Keys, scratch: &Path) -> Columns<'a> {
        let is_text = |order: &usize| keys.orders[*order].values == Values::Texts;
        let same = |order: usize| (0..order).find(is_text).filter(|_| is_text(&order));
        Columns {
            keys,
            spools: keys.orders.iter().map(|_| Spool::new(scratch)).collect(),
            same: (0..keys.orders.len()).map(same).collect(),
        }
    }

    /// Adds the sort keys of the next rows.
    pub fn push(&mut self, extracted: &Extracted) -> io::Result<()> {
        let columns = &extracted.columns;
        for (same, column) in self.same.iter_mut().zip(columns) {
            *same = same.filter(|earlier| columns[*earlier] == *column);
        }
        let columns = self.spools.iter_mut().zip(columns).collect();
        parallel::try_map(columns, |(spool, column): (&mut Spool, &Vec<u8>)| {
            spool.write_all(column)
        })?;
        Ok(())
    }

    /// Sorts and writes every order. One thread writes some orders while others sort the next. Orders of texts with the same
    /// column are sorted once.
    pub fn write(
        &mut self,
        writing: &OrderWriter<'_>,
        path: &Path,
        header: Header,
    ) -> Taken<Written> {
        let Columns { keys, spools, same: candidates } = self;
        let count = keys.orders.len();
        // The changed rows have the same texts. The unchanged rows must have, too.
        let same = |number: usize| match &writing.old {
            Some(old) => old.same(number, candidates[number]),
            None => Ok(candidates[number]),
        };
        let same = (0..count).map(same).collect::<Taken<Vec<_>>>()?;
        let mut writer =
            OrdersWriter::create(path, header, writing.memory_bytes * SORTED_TOGETHER)?;
        let mut write = |numbers: Range<usize>, sorted: &mut [Option<SortedOrder>]| {
            parallel::step("write order", || {
                for number in numbers {
                    let of = same[number].unwrap_or(number);
                    let order = sorted[of].as_mut();
                    let order = order.ok_or_else(|| io::Error::other("an order was not sorted"))?;
                    writer.push_pass(&mut order.pass, order.parts)?;
                    if !same[number + 1..].contains(&Some(of)) {
                        sorted[of] = None;
                    }
                }
                Ok::<_, io::Error>(())
            })
        };
        let mut sorted: Vec<Option<SortedOrder>> = (0..count).map(|_| None).collect();
        for from in (0..count).step_by(SORTED_TOGETHER) {
            let numbers = (from..count.min(from + SORTED_TOGETHER)).zip(&mut spools[from..]);
            let columns = numbers.filter(|(number, _)| same[*number].is_none());
            let columns = columns.map(|(number, spool)| Ok((number, spool.take()?)));
            let columns = columns.collect::<io::Result<Vec<_>>>()?;
            let before = from.saturating_sub(SORTED_TOGETHER)..from;
            let (written, next) = parallel::join(
                || write(before, &mut sorted),
                || {
                    parallel::try_map(columns, |(number, column)| {
                        let column = BufReader::with_capacity(1 << 18, column);
                        let order = writing.sort(number, &keys.orders[number], column)?;
                        Ok::<_, TakeOver<io::Error>>((number, order))
                    })
                },
            );
            written?;
            next?.into_iter().for_each(|(number, order)| sorted[number] = Some(order));
        }
        let last = count.saturating_sub(1) / SORTED_TOGETHER * SORTED_TOGETHER;
        write(last..count, &mut sorted)?;
        Ok(writer.finish()?)
    }
}

impl OrderWriter<'_> {
    /// Sorts all rows by their values: those in a column, merged with those of unchanged rows.
    fn sort(&self, number: usize, order: &Order, column: BufReader<Spooled>) -> Taken<SortedOrder> {
        let (pass, parts) = match order.values {
            Values::Ids => (self.ids()?, OrderParts::Checkpoints),
            Values::Texts => (self.texts(number, column)?, TEXT_PARTS),
            _ if order.is_row_order => (self.row_order(number, column)?, OrderParts::RowOrder),
            values => {
                let has_values = values != Values::Codes;
                (self.numbers(number, order, column)?, OrderParts::All { has_values })
            }
        };
        Ok(SortedOrder { pass, parts })
    }

    /// The rows of the columns, ascending: the changed rows, or all.
    fn rows(&self) -> impl Iterator<Item = u32> + '_ {
        let changed = self.old.as_ref().map(|old| old.unchanged.changed());
        let all = if changed.is_some() { 0 } else { self.draft.count(self.entity) };
        changed.into_iter().flatten().chain(0..all)
    }

    fn id(&self, row: u32) -> io::Result<u64> {
        self.draft.row_id(self.entity, row).map_err(io::Error::other)
    }

    /// The order of ids. It is in the `ids` file, so that nothing is taken over.
    fn ids(&self) -> io::Result<FirstPass> {
        let by_id = self.draft.ids(self.entity);
        let ranked = (0..self.draft.count(self.entity)).map(|rank| {
            let (id, row) = by_id.pair(rank as usize).map_err(io::Error::other)?;
            Ok(RankedRow { row, value: RankedValue::Next(id) })
        });
        FirstPass::new(self.scratch, ranked)
    }

    /// The order in which the rows are stored, which needs no sort.
    fn row_order(&self, number: usize, mut column: impl Read) -> Taken<FirstPass> {
        let mut rows = self.rows().peekable();
        let mut pass = PassBuilder::new(self.scratch);
        let mut last: Option<Option<u64>> = None;
        let mut push = |row: u32, value: Option<u64>| {
            if last.is_some_and(|last| NoneLast(value) < NoneLast(last)) {
                return Err(io::Error::other("rows are not in their own order"));
            }
            let ranked = ranked_value(last == Some(value), value);
            last = Some(value);
            pass.push(RankedRow { row, value: ranked })
        };
        if let Some(old) = &self.old {
            let order = old.order(number)?;
            let row_of = |of: u32| old.unchanged.row(of);
            old.each_kept(&order, row_of, |kept| {
                while let Some(row) = rows.next_if(|row| *row < kept.row) {
                    push(row, read_optional(&mut column, read_number)?)?;
                }
                Ok(push(kept.row, order.value(kept.code).map_err(old.failure())?)?)
            })?;
        }
        for row in rows {
            push(row, read_optional(&mut column, read_number)?)?;
        }
        Ok(pass.finish()?)
    }

    /// Sorts an order of numbers or codes.
    fn numbers(&self, number: usize, spec: &Order, column: impl Read) -> Taken<FirstPass> {
        let ColumnRows { valued, others } = self.sorted::<u64>(column, |_| true)?;
        let mut merge = NumberMerge {
            writing: self,
            valued: valued.peekable(),
            others: others.peekable(),
            pass: PassBuilder::new(self.scratch),
            last: None,
        };
        if let Some(old) = &self.old {
            let order = old.order(number)?;
            let values = OrderValues::new(&old.extractor, number);
            let (mut code, mut value) = (None, None);
            let row_of = |of: u32| old.unchanged.row(of);
            old.each_kept(&order, row_of, |kept| {
                // A value follows from its code. Codes of texts have other numbers now, so that a record is read.
                if code != Some(kept.code) {
                    code = Some(kept.code);
                    value = match spec.values {
                        _ if kept.code == order.no_code() => None,
                        Values::Codes => values.number(kept.row)?,
                        _ => order.value(kept.code).map_err(old.failure())?,
                    };
                }
                Ok(merge.push_kept(kept.row, value)?)
            })?;
        }
        Ok(merge.finish()?)
    }

    /// Sorts an order of texts.
    fn texts(&self, number: usize, column: impl Read) -> Taken<FirstPass> {
        let Some(old) = &self.old else {
            let rows = self.sorted::<SortText>(column, |_| true)?;
            return self.merge_texts(TextMerge::new(None, self), rows);
        };
        let (order, values) = (old.order(number)?, OrderValues::new(&old.extractor, number));
        // A changed record with the same text keeps its rank, which saves the search for its place.
        let same = old.same_texts(number, &values)?;
        let rows = self.sorted::<SortText>(column, |row| !same.contains(row as usize))?;
        let row_of = |of: u32| {
            let moved = || old.unchanged.moved(self.entity, of);
            old.unchanged.row(of).or_else(|| moved().filter(|row| same.contains(*row as usize)))
        };
        let mut kept = KeptTextsBuilder::new(self.scratch)?;
        old.each_kept(&order, row_of, |row| Ok(kept.push(row, row.code != order.no_code())?))?;
        self.merge_texts(TextMerge::new(Some(kept.finish(values)?), self), rows)
    }

    fn merge_texts(
        &self,
        mut merge: TextMerge<'_>,
        rows: ColumnRows<SortText>,
    ) -> Taken<FirstPass> {
        for new in rows.valued {
            merge.push(new?)?;
        }
        merge.finish(rows.others)
    }

    /// Sorts the rows of a column. Passes over rows that are not taken.
    fn sorted<T: SortKey>(
        &self,
        mut column: impl Read,
        is_taken: impl Fn(u32) -> bool,
    ) -> io::Result<ColumnRows<T>> {
        let quarter = self.memory_bytes / 4;
        let mut valued = Sorter::new(self.scratch, self.memory_bytes - quarter);
        let mut others = Sorter::new(self.scratch, quarter);
        for row in self.rows() {
            let value = read_optional(&mut column, T::read)?;
            if is_taken(row) {
                let id = self.id(row)?;
                match value {
                    Some(value) => valued.push(KeyedRow { value, id, row })?,
                    None => others.push(IdRow { id, row })?,
                }
            }
        }
        Ok(ColumnRows { valued: valued.finish()?, others: others.finish()? })
    }
}

struct ColumnRows<T> {
    /// Rows with a value, by value, then by id.
    valued: Sorted<KeyedRow<T>>,
    /// Rows without a value, by id. Apart, which keeps the other rows small.
    others: Sorted<IdRow>,
}

/// Merges the rows of a column of numbers with rows that keep their value.
struct NumberMerge<'m> {
    writing: &'m OrderWriter<'m>,
    valued: Peekable<Sorted<KeyedRow<u64>>>,
    others: Peekable<Sorted<IdRow>>,
    pass: PassBuilder,
    /// The value of the last row.
    last: Option<u64>,
}

impl NumberMerge<'_> {
    fn push(&mut self, row: u32, value: Option<u64>) -> io::Result<()> {
        let ranked = ranked_value(self.last == value, value);
        self.last = value;
        self.pass.push(RankedRow { row, value: ranked })
    }

    /// Adds the next row that keeps its value, after the rows of the column before it.
    fn push_kept(&mut self, row: u32, value: Option<u64>) -> io::Result<()> {
        match value {
            Some(value) => self.push_valued(row, value)?,
            None => {
                self.push_other_valued()?;
                let id = self.writing.id(row)?;
                while let Some(new) = next_if(&mut self.others, |new| new.id < id)? {
                    self.push(new.row, None)?;
                }
            }
        }
        self.push(row, value)
    }

    /// Adds the rows of the column before a row with a value.
    fn push_valued(&mut self, row: u32, value: u64) -> io::Result<()> {
        // The id is read only if a value is the same, which is rare.
        let mut id = None;
        loop {
            let is_before = match self.valued.peek() {
                Some(Ok(new)) if new.value == value => {
                    let id = match id {
                        Some(id) => id,
                        None => *id.insert(self.writing.id(row)?),
                    };
                    new.id < id
                }
                Some(Ok(new)) => new.value < value,
                Some(Err(_)) => true,
                None => false,
            };
            if !is_before {
                return Ok(());
            }
            if let Some(new) = self.valued.next().transpose()? {
                self.push(new.row, Some(new.value))?;
            }
        }
    }

    /// Adds the remaining rows of the column that have a value.
    fn push_other_valued(&mut self) -> io::Result<()> {
        while let Some(new) = self.valued.next().transpose()? {
            self.push(new.row, Some(new.value))?;
        }
        Ok(())
    }

    fn finish(mut self) -> io::Result<FirstPass> {
        self.push_other_valued()?;
        while let Some(new) = self.others.next().transpose()? {
            self.push(new.row, None)?;
        }
        self.pass.finish()
    }
}

/// The next row, if it is taken. An error is taken.
fn next_if<T>(
    rows: &mut Peekable<impl Iterator<Item = io::Result<T>>>,
    is_taken: impl Fn(&T) -> bool,
) -> io::Result<Option<T>> {
    rows.next_if(|row| row.as_ref().map_or(true, &is_taken)).transpose()
}

fn ranked_value(is_same: bool, value: Option<u64>) -> RankedValue {
    match value {
        None => RankedValue::None,
        Some(_) if is_same => RankedValue::Same,
        Some(value) => RankedValue::Next(value),
    }
}

/// An optional value that sorts `None` last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct NoneLast<T>(Option<T>);

impl<T: Ord> PartialOrd for NoneLast<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T: Ord> Ord for NoneLast<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        match (&self.0, &other.0) {
            (Some(a), Some(b)) => a.cmp(b),
            (a, b) => a.is_none().cmp(&b.is_none()),
        }
    }
}

/// A row and its sort key. Rows with equal keys sort by id.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct KeyedRow<T> {
    value: T,
    id: u64,
    row: u32,
}

impl<T: SortKey> Spill for KeyedRow<T> {
    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(&self.id.to_le_bytes())?;
        out.write_all(&self.row.to_le_bytes())?;
        self.value.write(out)
    }

    fn read(input: &mut impl Read) -> io::Result<Option<Self>> {
        let Some(id) = read_array(input)? else { return Ok(None) };
        let row = read_row(input)?;
        Ok(Some(KeyedRow { value: T::read(input)?, id: u64::from_le_bytes(id), row }))
    }

    fn heap_bytes(&self) -> usize {
        self.value.heap_bytes()
    }
}
