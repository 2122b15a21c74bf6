//! The columns of a batch of rows, as a tree of typed arrays.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int8Type, Int16Type,
    Int32Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, BinaryViewArray, BooleanArray, PrimitiveArray, StructArray};
use arrow_schema::{DataType, TimeUnit};

/// A column with the columns below it.
pub(super) struct Column<'a> {
    array: &'a dyn Array,
    values: Values<'a>,
}

/// The values of a column.
pub(super) enum Values<'a> {
    Boolean(&'a BooleanArray),
    Int8(&'a PrimitiveArray<Int8Type>),
    Int16(&'a PrimitiveArray<Int16Type>),
    Int32(&'a PrimitiveArray<Int32Type>),
    Int64(&'a PrimitiveArray<Int64Type>),
    UInt8(&'a PrimitiveArray<UInt8Type>),
    UInt16(&'a PrimitiveArray<UInt16Type>),
    UInt32(&'a PrimitiveArray<UInt32Type>),
    UInt64(&'a PrimitiveArray<UInt64Type>),
    Float32(&'a PrimitiveArray<Float32Type>),
    Float64(&'a PrimitiveArray<Float64Type>),
    Decimal128(&'a PrimitiveArray<Decimal128Type>),
    Decimal256(&'a PrimitiveArray<Decimal256Type>),
    Text(&'a BinaryViewArray),
    /// Days since 1970.
    Date(&'a PrimitiveArray<Date32Type>),
    /// A time since 1970 in UTC.
    Moment(&'a [i64], TimeUnit),
    Struct(Vec<(&'a str, Column<'a>)>),
    List {
        offsets: &'a [i32],
        elements: Box<Column<'a>>,
    },
    Map {
        offsets: &'a [i32],
        keys: Box<Column<'a>>,
        values: Box<Column<'a>>,
    },
    /// A type that `projection` lets nothing have: every value is null.
    Other,
}

impl<'a> Column<'a> {
    pub(super) fn new(array: &'a dyn Array) -> Column<'a> {
        let values = match array.data_type() {
            DataType::Boolean => Values::Boolean(array.as_boolean()),
            DataType::Int8 => Values::Int8(array.as_primitive()),
            DataType::Int16 => Values::Int16(array.as_primitive()),
            DataType::Int32 => Values::Int32(array.as_primitive()),
            DataType::Int64 => Values::Int64(array.as_primitive()),
            DataType::UInt8 => Values::UInt8(array.as_primitive()),
            DataType::UInt16 => Values::UInt16(array.as_primitive()),
            DataType::UInt32 => Values::UInt32(array.as_primitive()),
            DataType::UInt64 => Values::UInt64(array.as_primitive()),
            DataType::Float32 => Values::Float32(array.as_primitive()),
            DataType::Float64 => Values::Float64(array.as_primitive()),
            DataType::Decimal128(..) => Values::Decimal128(array.as_primitive()),
            DataType::Decimal256(..) => Values::Decimal256(array.as_primitive()),
            DataType::BinaryView => Values::Text(array.as_binary_view()),
            DataType::Date32 => Values::Date(array.as_primitive()),
            DataType::Timestamp(unit, _) => Values::Moment(moments(array, *unit), *unit),
            DataType::Struct(_) => Values::Struct(members(array.as_struct())),
            DataType::List(_) => {
                let list = array.as_list::<i32>();
                let elements = Box::new(Column::new(list.values().as_ref()));
                Values::List { offsets: list.value_offsets(), elements }
            }
            DataType::Map(..) => {
                let map = array.as_map();
                Values::Map {
                    offsets: map.value_offsets(),
                    keys: Box::new(Column::new(map.keys().as_ref())),
                    values: Box::new(Column::new(map.values().as_ref())),
                }
            }
            _ => Values::Other,
        };
        Column { array, values }
    }

    /// The value in a row; `None` for null.
    pub(super) fn get(&self, row: usize) -> Option<&Values<'a>> {
        let is_null = self.array.is_null(row) || matches!(self.values, Values::Other);
        (!is_null).then_some(&self.values)
    }
}

/// The columns of a struct, with their names.
pub(super) fn members(array: &StructArray) -> Vec<(&str, Column<'_>)> {
    let names = array.fields().iter().map(|field| field.name().as_str());
    names.zip(array.columns().iter().map(|column| Column::new(column.as_ref()))).collect()
}

fn moments(array: &dyn Array, unit: TimeUnit) -> &[i64] {
    match unit {
        TimeUnit::Second => array.as_primitive::<TimestampSecondType>().values(),
        TimeUnit::Millisecond => array.as_primitive::<TimestampMillisecondType>().values(),
        TimeUnit::Microsecond => array.as_primitive::<TimestampMicrosecondType>().values(),
        TimeUnit::Nanosecond => array.as_primitive::<TimestampNanosecondType>().values(),
    }
}
