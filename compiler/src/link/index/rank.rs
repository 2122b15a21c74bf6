//! Ranks rows: writes the sort keys of each order as a column, sorts them and writes the order.
//!
//! ```text
//! one thread      sort year   sort title    sort updated   …
//! another thread              write year    write title    write updated
//! ```

use std::{
    io::{self, BufReader, Read, Write},
    path::Path,
};

use pinakes_format::entity::Entity;
use pinakes_format::index::orders::{FirstPass, OrderParts, OrdersWriter, RankedRow, RankedValue};
use pinakes_format::schema::keys::{Keys, Order, Values};
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::blobs::{Spool, Spooled};
use pinakes_format::storage::file_writer::Written;
use pinakes_format::storage::header::Header;

use crate::external_sort::{Sorted, Sorter, Spill, read_array};
use crate::link::column::IdRow;
use crate::link::index::extract::Extracted;
use crate::link::index::value::{SortKey, Text, read_number, read_optional, read_row};

/// The sections of an order of texts, whose values are in the records.
pub(super) const TEXT_PARTS: OrderParts = OrderParts::All { has_values: false };

/// The sort keys of every order, in row order.
pub(crate) struct Columns<'a> {
    pub(super) keys: &'a Keys,
    pub(super) spools: Vec<Spool>,
    /// For each order of texts, an earlier order with the same column so far: the title of most outputs is
    /// the name.
    pub(super) same: Vec<Option<usize>>,
}

/// Writes the orders of an entity.
pub(crate) struct OrderWriter<'a> {
    pub draft: &'a Snapshot,
    pub entity: Entity,
    pub scratch: &'a Path,
    pub memory_bytes: usize,
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
        let mut columns = self.spools.iter_mut().zip(columns);
        columns.try_for_each(|(spool, column)| spool.write_all(column))
    }

    /// Sorts and writes every order. Orders with the same column are sorted once.
    pub fn write(
        &mut self,
        writing: &OrderWriter<'_>,
        path: &Path,
        header: Header,
    ) -> io::Result<Written> {
        let writer = OrdersWriter::create(path, header, writing.memory_bytes)?;
        let sort = |(_, order): (usize, &Order), column| writing.sort(order, column);
        self.write_each(writer, |_, same| Ok(same), sort)
    }

    /// Writes every order, of which `sort` makes the first pass from the order's column. One thread writes an order
    /// while another sorts the next. Of an order whose column so far is that of an earlier one, `same` decides.
    pub(super) fn write_each(
        &mut self,
        mut writer: OrdersWriter,
        same: impl Fn(usize, Option<usize>) -> io::Result<Option<usize>>,
        sort: impl Fn((usize, &Order), BufReader<Spooled>) -> io::Result<SortedOrder> + Sync,
    ) -> io::Result<Written> {
        let Columns { keys, spools, same: candidates } = self;
        // The passes that a later order may have in common.
        let mut passes: Vec<Option<FirstPass>> = spools.iter().map(|_| None).collect();
        let mut ready: Option<(usize, SortedOrder)> = None;
        for (number, (order, spool)) in keys.orders.iter().zip(spools).enumerate() {
            let same = same(number, candidates[number])?;
            let write = || match &mut ready {
                Some((_, sorted)) => writer.push_pass(&mut sorted.pass, sorted.parts),
                None => Ok(()),
            };
            let sort_next = || {
                let column = BufReader::with_capacity(1 << 18, spool.take()?);
                sort((number, order), column)
            };
            let (written, sorted) =
                rayon::join(write, || same.is_none().then(sort_next).transpose());
            written?;
            if let Some((number, sorted)) = ready.take() {
                passes[number] = candidates.contains(&Some(number)).then_some(sorted.pass);
            }
            ready = sorted?.map(|sorted| (number, sorted));
            if let Some(earlier) = same {
                let pass = passes[earlier].as_mut();
                let pass = pass.ok_or_else(|| io::Error::other("an order was not sorted"))?;
                writer.push_pass(pass, TEXT_PARTS)?;
            }
        }
        if let Some((_, sorted)) = &mut ready {
            writer.push_pass(&mut sorted.pass, sorted.parts)?;
        }
        writer.finish()
    }
}

/// An order whose first pass is done.
pub(super) struct SortedOrder {
    pub pass: FirstPass,
    pub parts: OrderParts,
}

impl OrderWriter<'_> {
    /// Sorts all rows by their values in a column.
    pub(super) fn sort(&self, order: &Order, mut column: impl Read) -> io::Result<SortedOrder> {
        let rows = 0..self.draft.count(self.entity);
        let (pass, parts) = match order.values {
            Values::Ids => {
                let by_id = self.draft.ids(self.entity);
                let ranked = rows.map(|rank| {
                    let row = by_id.row_at(rank as usize).map_err(io::Error::other)?;
                    Ok(RankedRow { row, value: RankedValue::Next(self.id(row)?) })
                });
                (FirstPass::new(self.scratch, ranked)?, OrderParts::Checkpoints)
            }
            Values::Texts => {
                let ranked = self.ranked(column, |_: &Text| 0)?;
                (FirstPass::new(self.scratch, ranked)?, TEXT_PARTS)
            }
            _ if order.is_row_order => {
                let mut last = None;
                let ranked = rows.map(|row| {
                    let value = read_optional(&mut column, read_number)?;
                    if row > 0 && NoneLast(value) < NoneLast(last) {
                        return Err(io::Error::other("rows are not in their own order"));
                    }
                    let is_same = row > 0 && value == last;
                    last = value;
                    Ok(RankedRow { row, value: ranked_value(is_same, value) })
                });
                (FirstPass::new(self.scratch, ranked)?, OrderParts::RowOrder)
            }
            values => {
                let ranked = self.ranked(column, |value: &u64| *value)?;
                let has_values = values != Values::Codes;
                (FirstPass::new(self.scratch, ranked)?, OrderParts::All { has_values })
            }
        };
        Ok(SortedOrder { pass, parts })
    }

    /// The id of a row.
    pub(crate) fn id(&self, row: u32) -> io::Result<u64> {
        self.draft.row_id(self.entity, row).map_err(io::Error::other)
    }

    /// Sorts the rows of a column by value, then by id. Rows without a value come last, by id.
    fn ranked<T: SortKey>(
        &self,
        column: impl Read,
        number: impl Fn(&T) -> u64,
    ) -> io::Result<impl Iterator<Item = io::Result<RankedRow>>> {
        let (valued, others) = self.sorted(column, 0..self.draft.count(self.entity), |_| true)?;
        let valued = RankedRows { sorted: valued, last: None, number };
        let unvalued = |row: IdRow| RankedRow { row: row.row, value: RankedValue::None };
        Ok(valued.chain(others.map(move |row| row.map(unvalued))))
    }

    /// Sorts rows by their values in a column, then by id; and the rows without a value by id, apart, which
    /// keeps the other rows small. Passes over rows that are not taken.
    pub(crate) fn sorted<T: SortKey>(
        &self,
        mut column: impl Read,
        rows: impl Iterator<Item = u32>,
        is_taken: impl Fn(u32) -> bool,
    ) -> io::Result<(Sorted<KeyedRow<T>>, Sorted<IdRow>)> {
        let quarter = self.memory_bytes / 4;
        let mut valued = Sorter::new(self.scratch, self.memory_bytes - quarter);
        let mut others = Sorter::new(self.scratch, quarter);
        for row in rows {
            let value = read_optional(&mut column, T::read)?;
            if is_taken(row) {
                let id = self.id(row)?;
                match value {
                    Some(value) => valued.push(KeyedRow { value, id, row })?,
                    None => others.push(IdRow { id, row })?,
                }
            }
        }
        Ok((valued.finish()?, others.finish()?))
    }
}

pub(super) fn ranked_value(is_same: bool, value: Option<u64>) -> RankedValue {
    match value {
        None => RankedValue::None,
        Some(_) if is_same => RankedValue::Same,
        Some(value) => RankedValue::Next(value),
    }
}

/// An optional value that sorts `None` last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NoneLast<T>(pub Option<T>);

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
pub(crate) struct KeyedRow<T> {
    pub value: T,
    pub id: u64,
    pub row: u32,
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

/// Converts sorted rows into ranked rows, in which equal neighbours share one value.
struct RankedRows<I, T, N> {
    sorted: I,
    last: Option<T>,
    number: N,
}

impl<I, T, N> Iterator for RankedRows<I, T, N>
where
    I: Iterator<Item = io::Result<KeyedRow<T>>>,
    T: Ord,
    N: Fn(&T) -> u64,
{
    type Item = io::Result<RankedRow>;

    fn next(&mut self) -> Option<io::Result<RankedRow>> {
        let keyed = match self.sorted.next()? {
            Ok(keyed) => keyed,
            Err(error) => return Some(Err(error)),
        };
        let value = match self.last.as_ref() == Some(&keyed.value) {
            true => RankedValue::Same,
            false => RankedValue::Next((self.number)(&keyed.value)),
        };
        self.last = Some(keyed.value);
        Some(Ok(RankedRow { row: keyed.row, value }))
    }
}
