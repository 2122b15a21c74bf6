//! Collects the values of columns and turns them into Arrow arrays.

use std::sync::Arc;

use arrow_array::types::{
    Date32Type, Float64Type, Int32Type, Int64Type, TimestampMicrosecondType, UInt64Type,
};
use arrow_array::{ArrayRef, BooleanArray, ListArray, PrimitiveArray, StringArray, StructArray};
use arrow_buffer::{
    BooleanBufferBuilder, Buffer, NullBuffer, NullBufferBuilder, OffsetBuffer, ScalarBuffer,
};
use arrow_schema::{ArrowError, DataType, FieldRef, Fields};
use chrono::NaiveDate;
use pinakes_format::entity::Entity;
use pinakes_format::record::Column;

use crate::types::{ColumnKind, ColumnType, NamedColumn, fields_of, zone_of};

/// Space for this fraction of values more than the part before had.
const SPACE_DIVISOR: usize = 8;

/// The values of one column, nested as its type is.
pub struct ColumnBuilder {
    nulls: NullBufferBuilder,
    values: Values,
}

enum Values {
    Skipped,
    Boolean(BooleanBufferBuilder),
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    Double(Vec<f64>),
    Text(Texts),
    /// Identifiers and their numbers.
    IdAndNumber(Texts, Vec<u64>),
    Date(Vec<i32>),
    Timestamp(Vec<i64>, bool),
    Object(Fields, Vec<ColumnBuilder>),
    Flat(Vec<ColumnBuilder>),
    List(FieldRef, Vec<i32>, Box<ColumnBuilder>),
}

/// Texts one after the other, and where each begins and the last ends.
struct Texts {
    offsets: Vec<i32>,
    bytes: Vec<u8>,
}

impl Texts {
    fn emptied(&self) -> Texts {
        let mut offsets = space(&self.offsets);
        offsets.push(0);
        Texts { offsets, bytes: space(&self.bytes) }
    }

    fn bytes(&self) -> usize {
        self.offsets.len() * 4 + self.bytes.len()
    }

    fn into_array(self, nulls: Option<NullBuffer>) -> Result<ArrayRef, ArrowError> {
        let Texts { offsets, bytes } = self;
        let texts = StringArray::try_new(offsets_of(offsets), Buffer::from_vec(bytes), nulls)?;
        Ok(Arc::new(texts))
    }
}

/// An empty vector with room for about as many values.
fn space<T>(values: &[T]) -> Vec<T> {
    Vec::with_capacity(values.len() + values.len() / SPACE_DIVISOR)
}

impl ColumnBuilder {
    pub(crate) fn new(column: &ColumnType) -> ColumnBuilder {
        let of = |columns: &[NamedColumn]| {
            columns.iter().map(|inner| ColumnBuilder::new(&inner.column)).collect()
        };
        let values = match &column.kind {
            ColumnKind::Skipped => Values::Skipped,
            ColumnKind::Boolean => Values::Boolean(BooleanBufferBuilder::new(0)),
            ColumnKind::Int32 => Values::Int32(Vec::new()),
            ColumnKind::Int64 => Values::Int64(Vec::new()),
            ColumnKind::Double => Values::Double(Vec::new()),
            ColumnKind::Text | ColumnKind::LongText | ColumnKind::Id => {
                Values::Text(Texts { offsets: vec![0], bytes: Vec::new() })
            }
            ColumnKind::IdAndNumber => {
                Values::IdAndNumber(Texts { offsets: vec![0], bytes: Vec::new() }, Vec::new())
            }
            ColumnKind::Date => Values::Date(Vec::new()),
            ColumnKind::Timestamp { is_utc } => Values::Timestamp(Vec::new(), *is_utc),
            ColumnKind::Object(columns) => Values::Object(fields_of(columns), of(columns)),
            ColumnKind::Flat(columns) => Values::Flat(of(columns)),
            ColumnKind::List(items) => match column.data_type() {
                DataType::List(field) => {
                    Values::List(field, vec![0], Box::new(ColumnBuilder::new(items)))
                }
                _ => Values::Skipped,
            },
        };
        ColumnBuilder { nulls: NullBufferBuilder::new(0), values }
    }

    /// An empty builder of the same type, with memory for about as many values. Without it, the memory of each
    /// column would grow by copies, and the system would clear it again.
    pub(crate) fn emptied_like(&self) -> ColumnBuilder {
        let values = match &self.values {
            Values::Skipped => Values::Skipped,
            Values::Boolean(values) => Values::Boolean(BooleanBufferBuilder::new(values.len())),
            Values::Int32(values) => Values::Int32(space(values)),
            Values::Int64(values) => Values::Int64(space(values)),
            Values::Double(values) => Values::Double(space(values)),
            Values::Text(texts) => Values::Text(texts.emptied()),
            Values::IdAndNumber(texts, numbers) => {
                Values::IdAndNumber(texts.emptied(), space(numbers))
            }
            Values::Date(values) => Values::Date(space(values)),
            Values::Timestamp(values, is_utc) => Values::Timestamp(space(values), *is_utc),
            Values::Object(fields, columns) => {
                Values::Object(fields.clone(), ColumnBuilder::all_emptied_like(columns))
            }
            Values::Flat(columns) => Values::Flat(ColumnBuilder::all_emptied_like(columns)),
            Values::List(field, offsets, items) => {
                let mut offsets = space(offsets);
                offsets.push(0);
                Values::List(field.clone(), offsets, Box::new(items.emptied_like()))
            }
        };
        ColumnBuilder { nulls: NullBufferBuilder::new(self.nulls.len()), values }
    }

    pub(crate) fn all_emptied_like(columns: &[ColumnBuilder]) -> Vec<ColumnBuilder> {
        columns.iter().map(ColumnBuilder::emptied_like).collect()
    }

    /// Number of values.
    pub(crate) fn count(&self) -> usize {
        self.nulls.len()
    }

    /// Size of the values in bytes. Cost: one step for each column.
    pub(crate) fn bytes(&self) -> usize {
        match &self.values {
            Values::Skipped => 0,
            Values::Boolean(values) => values.len() / 8,
            Values::Int32(values) | Values::Date(values) => values.len() * 4,
            Values::Int64(values) | Values::Timestamp(values, _) => values.len() * 8,
            Values::Double(values) => values.len() * 8,
            Values::Text(texts) => texts.bytes(),
            Values::IdAndNumber(texts, numbers) => texts.bytes() + numbers.len() * 8,
            Values::Object(_, columns) | Values::Flat(columns) => {
                columns.iter().map(ColumnBuilder::bytes).sum()
            }
            Values::List(_, offsets, items) => offsets.len() * 4 + items.bytes(),
        }
    }

    /// Returns the columns of the outermost object as arrays.
    pub(crate) fn finish(self) -> Result<Vec<ArrayRef>, ArrowError> {
        let mut arrays = Vec::new();
        match self.values {
            Values::Object(_, columns) | Values::Flat(columns) => {
                columns.into_iter().try_for_each(|column| column.add_arrays(&mut arrays))?;
            }
            _ => self.add_arrays(&mut arrays)?,
        }
        Ok(arrays)
    }

    fn add_arrays(mut self, arrays: &mut Vec<ArrayRef>) -> Result<(), ArrowError> {
        let nulls = self.nulls.finish();
        let array: ArrayRef = match self.values {
            Values::Skipped => return Ok(()),
            // The members of a flat object are columns beside their siblings.
            Values::Flat(columns) => {
                return columns.into_iter().try_for_each(|column| column.add_arrays(arrays));
            }
            Values::Boolean(mut values) => {
                // `BooleanArray::new` panics if the counts differ; `try_new` of the other arrays checks them.
                check_count(values.len(), nulls.as_ref())?;
                Arc::new(BooleanArray::new(values.finish(), nulls))
            }
            Values::Int32(values) => {
                Arc::new(PrimitiveArray::<Int32Type>::try_new(values.into(), nulls)?)
            }
            Values::Int64(values) => {
                Arc::new(PrimitiveArray::<Int64Type>::try_new(values.into(), nulls)?)
            }
            Values::Double(values) => {
                Arc::new(PrimitiveArray::<Float64Type>::try_new(values.into(), nulls)?)
            }
            Values::Text(texts) => texts.into_array(nulls)?,
            Values::IdAndNumber(texts, numbers) => {
                arrays.push(texts.into_array(nulls.clone())?);
                Arc::new(PrimitiveArray::<UInt64Type>::try_new(numbers.into(), nulls)?)
            }
            Values::Date(values) => {
                Arc::new(PrimitiveArray::<Date32Type>::try_new(values.into(), nulls)?)
            }
            Values::Timestamp(values, is_utc) => Arc::new(
                PrimitiveArray::<TimestampMicrosecondType>::try_new(values.into(), nulls)?
                    .with_timezone_opt(zone_of(is_utc)),
            ),
            Values::Object(fields, columns) => {
                let mut below = Vec::with_capacity(fields.len());
                columns.into_iter().try_for_each(|column| column.add_arrays(&mut below))?;
                Arc::new(StructArray::try_new(fields, below, nulls)?)
            }
            Values::List(field, offsets, items) => {
                let mut below = Vec::with_capacity(1);
                items.add_arrays(&mut below)?;
                let items = below.pop().ok_or_else(|| {
                    ArrowError::SchemaError("the items of a list have no column".into())
                })?;
                Arc::new(ListArray::try_new(field, offsets_of(offsets), items, nulls)?)
            }
        };
        arrays.push(array);
        Ok(())
    }
}

fn check_count(values: usize, nulls: Option<&NullBuffer>) -> Result<(), ArrowError> {
    match nulls {
        Some(nulls) if nulls.len() != values => Err(ArrowError::InvalidArgumentError(format!(
            "a column has {values} values and {} positions",
            nulls.len()
        ))),
        _ => Ok(()),
    }
}

/// `offsets` ascend from 0.
fn offsets_of(offsets: Vec<i32>) -> OffsetBuffer<i32> {
    OffsetBuffer::new(ScalarBuffer::from(offsets))
}

/// The end of what was pushed so far. A batch ends long before 2 GiB, or is refused.
fn end(length: usize) -> i32 {
    i32::try_from(length).unwrap_or(i32::MAX)
}

impl Column for ColumnBuilder {
    fn is_skipped(&self) -> bool {
        matches!(self.values, Values::Skipped)
    }

    fn null(&mut self) {
        match &mut self.values {
            Values::Skipped => return,
            Values::Boolean(values) => values.append(false),
            Values::Int32(values) | Values::Date(values) => values.push(0),
            Values::Int64(values) | Values::Timestamp(values, _) => values.push(0),
            Values::Double(values) => values.push(0.0),
            Values::Text(texts) => texts.offsets.push(end(texts.bytes.len())),
            Values::IdAndNumber(texts, numbers) => {
                texts.offsets.push(end(texts.bytes.len()));
                numbers.push(0);
            }
            Values::Object(_, columns) | Values::Flat(columns) => {
                columns.iter_mut().for_each(ColumnBuilder::null);
            }
            Values::List(_, offsets, _) => offsets.push(offsets.last().copied().unwrap_or(0)),
        }
        self.nulls.append_null();
    }

    fn boolean(&mut self, value: bool) {
        if let Values::Boolean(values) = &mut self.values {
            values.append(value);
        }
        self.nulls.append_non_null();
    }

    fn integer(&mut self, value: i64) {
        match &mut self.values {
            // Declared as an integer of 32 bits.
            Values::Int32(values) => values.push(value as i32),
            Values::Int64(values) => values.push(value),
            _ => {}
        }
        self.nulls.append_non_null();
    }

    fn number(&mut self, value: f64) {
        if let Values::Double(values) = &mut self.values {
            values.push(value);
        }
        self.nulls.append_non_null();
    }

    fn text(&mut self, prefix: &'static str, rest: &[u8]) {
        if let Values::Text(texts) = &mut self.values {
            texts.bytes.extend_from_slice(prefix.as_bytes());
            texts.bytes.extend_from_slice(rest);
            texts.offsets.push(end(texts.bytes.len()));
        }
        self.nulls.append_non_null();
    }

    fn id(&mut self, entity: Entity, id: u64) {
        if let Values::IdAndNumber(_, numbers) = &mut self.values {
            numbers.push(id);
        }
        if let Values::Text(texts) | Values::IdAndNumber(texts, _) = &mut self.values {
            entity.write_id(id, &mut texts.bytes);
            texts.offsets.push(end(texts.bytes.len()));
        }
        self.nulls.append_non_null();
    }

    fn day(&mut self, year: u16, month: u8, day: u8) {
        let date = NaiveDate::from_ymd_opt(i32::from(year), u32::from(month), u32::from(day));
        match (date, &mut self.values) {
            (Some(date), Values::Date(values)) => {
                values.push(date.to_epoch_days());
                self.nulls.append_non_null();
            }
            _ => self.null(),
        }
    }

    fn moment(&mut self, micros: i64) {
        if let Values::Timestamp(values, _) = &mut self.values {
            values.push(micros);
        }
        self.nulls.append_non_null();
    }

    fn object(&mut self) -> &mut [ColumnBuilder] {
        self.nulls.append_non_null();
        match &mut self.values {
            Values::Object(_, columns) | Values::Flat(columns) => columns,
            _ => &mut [],
        }
    }

    fn list(&mut self, length: usize) -> Option<&mut ColumnBuilder> {
        let Values::List(_, offsets, items) = &mut self.values else { return None };
        let from = offsets.last().copied().unwrap_or(0);
        offsets.push(from.saturating_add(end(length)));
        self.nulls.append_non_null();
        Some(items)
    }
}
