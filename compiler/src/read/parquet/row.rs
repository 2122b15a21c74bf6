//! One row as a serde value, so that a row is read by the same types as a JSON line.
//!
//! ```text
//! struct → object   list → array   map → object   text → string   date, timestamp → string as in JSON
//! ```

use std::{borrow::Cow, cell::Cell, fmt};

use serde::de::value::{BorrowedStrDeserializer, StringDeserializer};
use serde::de::{DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, forward_to_deserialize_any};

use crate::read::lenient::{ColumnarValue, Scalar};
use crate::read::parquet::column::{Column, Values, WantedColumns};
use crate::read::parquet::times::{date_text, moment_text};

/// Why a row is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowFault {
    /// A text is not UTF-8.
    NotUtf8,
    /// The row has more bytes than a line may have.
    TooLong,
    /// An object has a member twice.
    DuplicateKey,
    /// The lists of the record take more memory than they may.
    TakesMemory,
    Shape,
}

impl RowFault {
    /// The code of the fault in a report, the same as for a line.
    pub(crate) fn code(self) -> &'static str {
        match self {
            RowFault::NotUtf8 => "not_utf8",
            RowFault::TooLong => "line_too_long",
            RowFault::DuplicateKey => "duplicate_key",
            RowFault::TakesMemory => "takes_memory",
            RowFault::Shape => "not_a_record",
        }
    }
}

impl fmt::Display for RowFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl std::error::Error for RowFault {}

impl serde::de::Error for RowFault {
    fn custom<T: fmt::Display>(_: T) -> RowFault {
        RowFault::Shape
    }

    fn invalid_length(_: usize, _: &dyn serde::de::Expected) -> RowFault {
        RowFault::TakesMemory
    }

    fn duplicate_field(_: &'static str) -> RowFault {
        RowFault::DuplicateKey
    }
}

/// Bytes that a number or a null counts as.
const VALUE_BYTES: u64 = 8;

/// Counts the bytes of a row. One text of a dictionary may stand in a row a million times.
pub(super) struct RowMeter {
    left: Cell<u64>,
    /// Whether texts that are not UTF-8 are mended instead of refused.
    is_lossy: bool,
}

impl RowMeter {
    pub(super) fn new(bytes_max: u64, is_lossy: bool) -> RowMeter {
        RowMeter { left: Cell::new(bytes_max), is_lossy }
    }

    /// The bytes that the row may still have.
    pub(super) fn left(&self) -> u64 {
        self.left.get()
    }

    #[inline]
    fn count(&self, bytes: u64) -> Result<(), RowFault> {
        let left = self.left.get().checked_sub(bytes.max(VALUE_BYTES));
        self.left.set(left.ok_or(RowFault::TooLong)?);
        Ok(())
    }
}

/// A value in a row.
#[derive(Clone, Copy)]
pub(crate) struct ParquetValue<'c, 'a> {
    column: &'c Column<'a>,
    row: usize,
    meter: &'c RowMeter,
}

impl<'c, 'a> ParquetValue<'c, 'a> {
    pub(super) fn new(
        column: &'c Column<'a>,
        row: usize,
        meter: &'c RowMeter,
    ) -> ParquetValue<'c, 'a> {
        ParquetValue { column, row, meter }
    }

    fn of(self, column: &'c Column<'a>, row: usize) -> ParquetValue<'c, 'a> {
        ParquetValue { column, row, ..self }
    }

    #[inline]
    fn count_text(self, text: &'a str) -> Result<&'a str, RowFault> {
        self.meter.count(text.len() as u64)?;
        Ok(text)
    }

    fn check_text(self, bytes: &'a [u8]) -> Result<Cow<'a, str>, RowFault> {
        self.meter.count(bytes.len() as u64)?;
        match simdutf8::basic::from_utf8(bytes) {
            Ok(text) => Ok(Cow::Borrowed(text)),
            Err(_) if self.meter.is_lossy => Ok(String::from_utf8_lossy(bytes)),
            Err(_) => Err(RowFault::NotUtf8),
        }
    }
}

/// Passes an integer on as serde_json does.
fn visit_integer<'de, V: Visitor<'de>>(visitor: V, value: i64) -> Result<V::Value, RowFault> {
    match u64::try_from(value) {
        Ok(value) => visitor.visit_u64(value),
        Err(_) => visitor.visit_i64(value),
    }
}

/// Passes a fraction on. JSON has no infinity; writers put its name into a string.
fn visit_fraction<'de, V: Visitor<'de>>(visitor: V, value: f64) -> Result<V::Value, RowFault> {
    match value.is_finite() {
        true => visitor.visit_f64(value),
        false => visitor.visit_str(&value.to_string()),
    }
}

fn visit_decimal<'de, V: Visitor<'de>>(visitor: V, text: &str) -> Result<V::Value, RowFault> {
    match (text.parse(), text.parse()) {
        (Ok(integer), _) => visit_integer(visitor, integer),
        (_, Ok(fraction)) => visit_fraction(visitor, fraction),
        _ => visitor.visit_str(text),
    }
}

impl<'de> Deserializer<'de> for ParquetValue<'_, 'de> {
    type Error = RowFault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, RowFault> {
        let row = self.row;
        let Some(values) = self.column.get(row) else {
            // A null counts too: millions of nulls in a list take memory as values do.
            self.meter.count(0)?;
            return visitor.visit_unit();
        };
        match values {
            Values::Text(array) => visitor.visit_borrowed_str(self.count_text(array.value(row))?),
            Values::Bytes(array) => match self.check_text(array.value(row))? {
                Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
                Cow::Owned(text) => visitor.visit_string(text),
            },
            Values::Struct(members) => {
                visitor.visit_map(StructAccess::new(&members.columns, row, self.meter))
            }
            Values::List { offsets, elements } => {
                let (from, to) = range(offsets, row);
                visitor.visit_seq(Elements { next: self.of(elements, from), to })
            }
            Values::Map { offsets, keys, values } => {
                let (from, to) = range(offsets, row);
                let keys = self.of(keys, from);
                visitor.visit_map(EntryAccess { keys, values, to })
            }
            scalar => {
                self.meter.count(0)?;
                self.visit_scalar(scalar, visitor)
            }
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, RowFault> {
        match self.column.get(self.row) {
            None => visitor.visit_none(),
            Some(_) => visitor.visit_some(self),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, RowFault> {
        self.meter.count(0)?;
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier
    }
}

impl<'de> ParquetValue<'_, 'de> {
    fn visit_scalar<V: Visitor<'de>>(
        self,
        values: &Values<'de>,
        visitor: V,
    ) -> Result<V::Value, RowFault> {
        let row = self.row;
        match values {
            Values::Boolean(array) => visitor.visit_bool(array.value(row)),
            Values::Int8(array) => visit_integer(visitor, array.value(row).into()),
            Values::Int16(array) => visit_integer(visitor, array.value(row).into()),
            Values::Int32(array) => visit_integer(visitor, array.value(row).into()),
            Values::Int64(array) => visit_integer(visitor, array.value(row)),
            Values::UInt8(array) => visitor.visit_u64(array.value(row).into()),
            Values::UInt16(array) => visitor.visit_u64(array.value(row).into()),
            Values::UInt32(array) => visitor.visit_u64(array.value(row).into()),
            Values::UInt64(array) => visitor.visit_u64(array.value(row)),
            // The shortest text of the number, as JSON has it, not the double nearest to the float.
            Values::Float32(array) => visit_decimal(visitor, &array.value(row).to_string()),
            Values::Float64(array) => visit_fraction(visitor, array.value(row)),
            Values::Decimal128(array) => visit_decimal(visitor, &array.value_as_string(row)),
            Values::Decimal256(array) => visit_decimal(visitor, &array.value_as_string(row)),
            Values::Date(array) => visitor.visit_str(date_text(array.value(row)).as_str()),
            Values::Moment(values, unit) => {
                visitor.visit_str(moment_text(values[row], *unit).as_str())
            }
            Values::Text(_)
            | Values::Bytes(_)
            | Values::Struct(_)
            | Values::List { .. }
            | Values::Map { .. }
            | Values::Other => visitor.visit_unit(),
        }
    }
}

impl<'c, 'de> ColumnarValue<'de> for ParquetValue<'c, 'de> {
    type Members = WantedMembers<'c, 'de>;
    type Elements = Elements<'c, 'de>;

    fn members(self) -> Result<Option<Self::Members>, RowFault> {
        let Some(Values::Struct(members)) = self.column.get(self.row) else { return Ok(None) };
        match &members.wanted {
            WantedColumns::Unnamed => Ok(None),
            WantedColumns::Twice => Err(RowFault::DuplicateKey),
            WantedColumns::Found(wanted) => Ok(Some(WantedMembers {
                columns: &members.columns,
                wanted: wanted.iter(),
                of: self,
            })),
        }
    }

    fn elements(self) -> Option<Self::Elements> {
        let Some(Values::List { offsets, elements }) = self.column.get(self.row) else {
            return None;
        };
        let (from, to) = range(offsets, self.row);
        Some(Elements { next: self.of(elements, from), to })
    }

    #[inline]
    fn scalar(self) -> Result<Scalar<'de>, RowFault> {
        let row = self.row;
        let scalar = match self.column.get(row) {
            None => Scalar::Null,
            Some(Values::Text(array)) => {
                return self.count_text(array.value(row)).map(Scalar::Text);
            }
            Some(Values::Bytes(array)) => {
                return match self.check_text(array.value(row))? {
                    Cow::Borrowed(text) => Ok(Scalar::Text(text)),
                    Cow::Owned(_) => Err(RowFault::NotUtf8),
                };
            }
            Some(Values::Boolean(array)) => Scalar::Bool(array.value(row)),
            Some(Values::Int64(array)) => Scalar::Integer(array.value(row)),
            Some(Values::Int32(array)) => Scalar::Integer(array.value(row).into()),
            Some(Values::Float64(array)) if array.value(row).is_finite() => {
                Scalar::Fraction(array.value(row))
            }
            Some(_) => return Ok(Scalar::Other),
        };
        self.meter.count(0)?;
        Ok(scalar)
    }
}

/// The wanted members of a struct in a row.
pub(crate) struct WantedMembers<'c, 'a> {
    columns: &'c [(&'a str, Column<'a>)],
    wanted: std::slice::Iter<'c, Option<usize>>,
    of: ParquetValue<'c, 'a>,
}

impl<'c, 'a> Iterator for WantedMembers<'c, 'a> {
    type Item = Option<ParquetValue<'c, 'a>>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let column = self.wanted.next()?.and_then(|at| self.columns.get(at));
        Some(column.map(|(_, column)| self.of.of(column, self.of.row)))
    }
}

/// The elements of a list in a row.
pub(crate) struct Elements<'c, 'a> {
    next: ParquetValue<'c, 'a>,
    to: usize,
}

impl<'c, 'a> Iterator for Elements<'c, 'a> {
    type Item = ParquetValue<'c, 'a>;

    #[inline]
    fn next(&mut self) -> Option<ParquetValue<'c, 'a>> {
        if self.next.row >= self.to {
            return None;
        }
        let element = self.next;
        self.next.row += 1;
        Some(element)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.to.saturating_sub(self.next.row);
        (left, Some(left))
    }
}

impl ExactSizeIterator for Elements<'_, '_> {}

/// The elements of a list in a row.
fn range(offsets: &[i32], row: usize) -> (usize, usize) {
    // The casts are exact: Arrow checks that offsets ascend from 0.
    (offsets[row] as usize, offsets[row + 1] as usize)
}

/// The members of a struct in a row.
struct StructAccess<'c, 'a> {
    members: std::slice::Iter<'c, (&'a str, Column<'a>)>,
    next: Option<&'c Column<'a>>,
    row: usize,
    meter: &'c RowMeter,
}

impl<'c, 'a> StructAccess<'c, 'a> {
    pub(super) fn new(
        members: &'c [(&'a str, Column<'a>)],
        row: usize,
        meter: &'c RowMeter,
    ) -> StructAccess<'c, 'a> {
        StructAccess { members: members.iter(), next: None, row, meter }
    }
}

impl<'de> MapAccess<'de> for StructAccess<'_, 'de> {
    type Error = RowFault;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, RowFault> {
        let Some((name, column)) = self.members.next() else { return Ok(None) };
        self.next = Some(column);
        seed.deserialize(BorrowedStrDeserializer::new(name)).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, RowFault> {
        let column = self.next.take().ok_or(RowFault::Shape)?;
        seed.deserialize(ParquetValue { column, row: self.row, meter: self.meter })
    }
}

impl<'de> SeqAccess<'de> for Elements<'_, 'de> {
    type Error = RowFault;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, RowFault> {
        self.next().map(|element| seed.deserialize(element)).transpose()
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.len())
    }
}

/// The entries of a map in a row.
struct EntryAccess<'c, 'a> {
    /// The key of the next entry.
    keys: ParquetValue<'c, 'a>,
    values: &'c Column<'a>,
    to: usize,
}

impl<'de> MapAccess<'de> for EntryAccess<'_, 'de> {
    type Error = RowFault;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, RowFault> {
        if self.keys.row == self.to {
            return Ok(None);
        }
        let key = self.keys.key()?;
        self.keys.row += 1;
        match key {
            Cow::Borrowed(key) => seed.deserialize(BorrowedStrDeserializer::new(key)),
            Cow::Owned(key) => seed.deserialize(StringDeserializer::new(key)),
        }
        .map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, RowFault> {
        seed.deserialize(self.keys.of(self.values, self.keys.row - 1))
    }
}

impl<'a> ParquetValue<'_, 'a> {
    /// The value as the key of an object: a text, or the text of a number or a date.
    fn key(self) -> Result<Cow<'a, str>, RowFault> {
        match self.column.get(self.row) {
            Some(Values::Text(array)) => self.count_text(array.value(self.row)).map(Cow::Borrowed),
            Some(Values::Bytes(array)) => self.check_text(array.value(self.row)),
            _ => serde_json::Value::deserialize(self).map(|key| match key {
                serde_json::Value::String(text) => Cow::Owned(text),
                key => Cow::Owned(key.to_string()),
            }),
        }
    }
}
