//! Ranking: each order's values, spilled as a column, sorted and written.

use std::{
    io::{self, BufReader, Read, Write},
    path::Path,
};

use pinakes_format::entity::Entity;
use pinakes_format::index::orders::{OrderParts, OrdersWriter, RankedRow, RankedValue};
use pinakes_format::schema::keys::{Keys, Order, Values};
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::blobs::{Spool, Spooled};
use pinakes_format::storage::file_writer::Written;
use pinakes_format::storage::header::Header;

use crate::link::external_sort::{Sorter, Spill, read_array};
use crate::link::index::extract::Extracted;
use crate::link::index::value::{Text, Value, Waiting, read_number, read_row};

/// Stands before a value that is there; a row without one has zero alone.
const THERE: u8 = 1;

/// The values of every order, row by row.
pub(crate) struct Columns<'a> {
    keys: &'a Keys,
    spools: Vec<Spool>,
}

/// What writing orders takes.
pub(crate) struct Writing<'a> {
    pub draft: &'a Snapshot,
    pub entity: Entity,
    pub scratch: &'a Path,
    pub memory_bytes: usize,
}

impl<'a> Columns<'a> {
    pub fn new(keys: &'a Keys, scratch: &Path) -> Columns<'a> {
        Columns { keys, spools: keys.orders.iter().map(|_| Spool::new(scratch)).collect() }
    }

    /// Takes the values of rows that come after those before.
    pub fn push(&mut self, extracted: &Extracted) -> io::Result<()> {
        for (spool, values) in self.spools.iter_mut().zip(&extracted.values) {
            for value in values {
                match value {
                    None => spool.write_all(&[0])?,
                    Some(Value::Number(number)) => {
                        spool.write_all(&[THERE])?;
                        spool.write_all(&number.to_le_bytes())?;
                    }
                    Some(Value::Text(text)) => {
                        spool.write_all(&[THERE])?;
                        text.write(spool)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Sorts and writes every order.
    pub fn write(
        &mut self,
        writing: &Writing<'_>,
        path: &Path,
        header: Header,
    ) -> io::Result<Written> {
        let mut writer = OrdersWriter::create(path, header, writing.memory_bytes)?;
        for (order, spool) in self.keys.orders.iter().zip(&mut self.spools) {
            writing.order(order, spool.take()?, &mut writer)?;
        }
        writer.finish()
    }
}

impl Writing<'_> {
    fn order(&self, order: &Order, column: Spooled, writer: &mut OrdersWriter) -> io::Result<()> {
        let rows = 0..self.draft.count(self.entity);
        let mut column = BufReader::with_capacity(1 << 18, column);
        let id_of = |row| self.draft.row_id(self.entity, row).map_err(io::Error::other);
        match order.values {
            Values::Ids => {
                let by_id = self.draft.ids(self.entity);
                let ranked = rows.map(|rank| {
                    let row = by_id.row_at(rank as usize).map_err(io::Error::other)?;
                    Ok(RankedRow { row, value: RankedValue::Next(id_of(row)?) })
                });
                writer.push(ranked, OrderParts::Checkpoints)
            }
            Values::Texts => {
                let mut sorter = Sorter::new(self.scratch, self.memory_bytes);
                for row in rows {
                    let value = read_there(&mut column, Text::read)?;
                    sorter.push(Placed { value: Last(value), id: id_of(row)?, row })?;
                }
                let ranked = Runs { sorted: sorter.finish()?, last: None, number: |_: &_| 0 };
                writer.push(ranked, OrderParts::All { has_values: false })
            }
            _ if order.is_row_order => {
                let mut last = None;
                let ranked = rows.map(|row| {
                    let value = read_there(&mut column, read_number)?;
                    if row > 0 && Last(value) < Last(last) {
                        return Err(io::Error::other("rows do not stand in their own order"));
                    }
                    let is_same = row > 0 && value == last;
                    last = value;
                    Ok(RankedRow { row, value: beside(is_same, value) })
                });
                writer.push(ranked, OrderParts::RowOrder)
            }
            _ => {
                let mut sorter = Sorter::new(self.scratch, self.memory_bytes);
                for row in rows {
                    let value = read_there(&mut column, read_number)?;
                    sorter.push(Placed { value: Last(value), id: id_of(row)?, row })?;
                }
                let ranked =
                    Runs { sorted: sorter.finish()?, last: None, number: |value: &_| *value };
                writer.push(ranked, OrderParts::All { has_values: order.values != Values::Codes })
            }
        }
    }
}

fn beside(is_same: bool, value: Option<u64>) -> RankedValue {
    match value {
        None => RankedValue::None,
        Some(_) if is_same => RankedValue::Same,
        Some(value) => RankedValue::Next(value),
    }
}

/// A value, or none, which comes last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Last<T>(Option<T>);

impl<T: Ord> PartialOrd for Last<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T: Ord> Ord for Last<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        match (&self.0, &other.0) {
            (Some(a), Some(b)) => a.cmp(b),
            (a, b) => a.is_none().cmp(&b.is_none()),
        }
    }
}

/// A row with what it is sorted by.
#[derive(Debug, PartialEq, Eq)]
struct Placed<T> {
    value: Last<T>,
    id: u64,
    row: u32,
}

impl<T: Ord> PartialOrd for Placed<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T: Ord> Ord for Placed<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (&self.value, self.id, self.row).cmp(&(&other.value, other.id, other.row))
    }
}

impl<T: Waiting> Spill for Placed<T> {
    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        match &self.value.0 {
            None => out.write_all(&[0])?,
            Some(value) => {
                out.write_all(&[THERE])?;
                value.write(out)?;
            }
        }
        out.write_all(&self.id.to_le_bytes())?;
        out.write_all(&self.row.to_le_bytes())
    }

    fn read(input: &mut impl Read) -> io::Result<Option<Self>> {
        let Some(there) = read_array::<1>(input)? else { return Ok(None) };
        let value = if there == [THERE] { Some(T::read(input)?) } else { None };
        Ok(Some(Placed { value: Last(value), id: read_number(input)?, row: read_row(input)? }))
    }

    fn heap_bytes(&self) -> usize {
        self.value.0.as_ref().map_or(0, Waiting::heap_bytes)
    }
}

/// Sorted rows as an order takes them: where the value is the last one's, it is not told again.
struct Runs<I, T, N> {
    sorted: I,
    last: Option<Last<T>>,
    number: N,
}

impl<I, T, N> Iterator for Runs<I, T, N>
where
    I: Iterator<Item = io::Result<Placed<T>>>,
    T: Ord,
    N: Fn(&T) -> u64,
{
    type Item = io::Result<RankedRow>;

    fn next(&mut self) -> Option<io::Result<RankedRow>> {
        let placed = match self.sorted.next()? {
            Ok(placed) => placed,
            Err(error) => return Some(Err(error)),
        };
        let is_same = self.last.as_ref() == Some(&placed.value);
        let value = beside(is_same, placed.value.0.as_ref().map(&self.number));
        self.last = Some(placed.value);
        Some(Ok(RankedRow { row: placed.row, value }))
    }
}

fn read_there<R: Read, T>(
    input: &mut R,
    read: impl FnOnce(&mut R) -> io::Result<T>,
) -> io::Result<Option<T>> {
    let mut there = [0];
    input.read_exact(&mut there)?;
    if there == [THERE] { read(input).map(Some) } else { Ok(None) }
}
