//! The columns of a batch of rows, as a tree of typed arrays.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int8Type, Int16Type,
    Int32Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, BinaryViewArray, BooleanArray, PrimitiveArray, StringViewArray, StructArray,
};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, TimeUnit};

use crate::read::lenient::Wanted;

/// A column with the columns below it.
pub(super) struct Column<'a> {
    /// `None` for a column without nulls.
    nulls: Option<&'a NullBuffer>,
    values: Values<'a>,
}

/// The columns of a struct.
pub(super) struct Members<'a> {
    /// The columns with their names, in the order of the file.
    pub columns: Vec<(&'a str, Column<'a>)>,
    /// The numbers of the columns of the members that the reader of the struct wants.
    pub wanted: WantedColumns,
}

/// Which column holds each wanted member of a struct.
pub(super) enum WantedColumns {
    /// The number of the column of each member, in the order of [`Wanted::Members`].
    Found(Vec<Option<usize>>),
    /// A member has two columns.
    Twice,
    /// The reader wants the whole struct or its presence.
    Unnamed,
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
    Text(&'a StringViewArray),
    /// Texts that may not be UTF-8.
    Bytes(&'a BinaryViewArray),
    /// Days since 1970.
    Date(&'a PrimitiveArray<Date32Type>),
    /// A time since 1970 in UTC.
    Moment(&'a [i64], TimeUnit),
    Struct(Members<'a>),
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
    /// Finds the columns below an array that has the columns that `wanted` states.
    pub(super) fn new(array: &'a dyn Array, wanted: Wanted) -> Column<'a> {
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
            DataType::Utf8View => Values::Text(array.as_string_view()),
            DataType::BinaryView => Values::Bytes(array.as_binary_view()),
            DataType::Date32 => Values::Date(array.as_primitive()),
            DataType::Timestamp(unit, _) => Values::Moment(moments(array, *unit), *unit),
            DataType::Struct(_) => Values::Struct(Members::new(array.as_struct(), wanted)),
            DataType::List(_) => {
                let list = array.as_list::<i32>();
                let elements = Box::new(Column::new(list.values().as_ref(), wanted));
                Values::List { offsets: list.value_offsets(), elements }
            }
            DataType::Map(..) => {
                let map = array.as_map();
                Values::Map {
                    // The keys of a map are data, so `wanted` names none of them.
                    offsets: map.value_offsets(),
                    keys: Box::new(Column::new(map.keys().as_ref(), Wanted::All)),
                    values: Box::new(Column::new(map.values().as_ref(), Wanted::All)),
                }
            }
            _ => Values::Other,
        };
        // A column without nulls needs no test for each row.
        let nulls = array.nulls().filter(|nulls| nulls.null_count() > 0);
        Column { nulls, values }
    }

    /// The value in a row; `None` for null.
    #[inline]
    pub(super) fn get(&self, row: usize) -> Option<&Values<'a>> {
        let is_null = self.nulls.is_some_and(|nulls| nulls.is_null(row))
            || matches!(self.values, Values::Other);
        (!is_null).then_some(&self.values)
    }
}

impl<'a> Members<'a> {
    pub(super) fn new(array: &'a StructArray, wanted: Wanted) -> Members<'a> {
        let names = array.fields().iter().map(|field| field.name().as_str());
        let columns: Vec<(&str, Column<'_>)> = names
            .zip(array.columns())
            .map(|(name, column)| {
                // The first column of a struct without a wanted member says where the struct is null.
                let wanted = wanted.member(name).unwrap_or(Wanted::Scalar);
                (name, Column::new(column.as_ref(), wanted))
            })
            .collect();
        let wanted = WantedColumns::new(&columns, wanted);
        Members { columns, wanted }
    }
}

impl WantedColumns {
    fn new(columns: &[(&str, Column<'_>)], wanted: Wanted) -> WantedColumns {
        let Wanted::Members(members) = wanted else { return WantedColumns::Unnamed };
        let mut found = Vec::with_capacity(members.len());
        for (member, _) in members {
            let mut named = columns.iter().enumerate().filter(|(_, (name, _))| name == member);
            found.push(named.next().map(|(at, _)| at));
            if named.next().is_some() {
                return WantedColumns::Twice;
            }
        }
        WantedColumns::Found(found)
    }
}

fn moments(array: &dyn Array, unit: TimeUnit) -> &[i64] {
    match unit {
        TimeUnit::Second => array.as_primitive::<TimestampSecondType>().values(),
        TimeUnit::Millisecond => array.as_primitive::<TimestampMillisecondType>().values(),
        TimeUnit::Microsecond => array.as_primitive::<TimestampMicrosecondType>().values(),
        TimeUnit::Nanosecond => array.as_primitive::<TimestampNanosecondType>().values(),
    }
}
