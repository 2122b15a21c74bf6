//! JSON values as Arrow arrays.

use std::sync::Arc;

use arrow_array::types::{Date32Type, Float64Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{
    ArrayRef, BooleanArray, ListArray, MapArray, NullArray, PrimitiveArray, StringArray,
    StructArray,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{ArrowError, DataType, Fields};
use chrono::{NaiveDate, NaiveDateTime};
use serde_json::Value;

/// The columns of the members of objects, one row an object; `None` is an object that is absent.
pub(super) fn members(fields: &Fields, rows: &[Option<&Value>]) -> Result<Vec<ArrayRef>, String> {
    let column = |name: &str, data_type: &DataType| {
        let members: Vec<Option<&Value>> =
            rows.iter().map(|row| row.and_then(|row| row.get(name))).collect();
        array(data_type, &members)
    };
    fields.iter().map(|field| column(field.name(), field.data_type())).collect()
}

/// The values as an array of the type; a value of another type is an error.
fn array(data_type: &DataType, values: &[Option<&Value>]) -> Result<ArrayRef, String> {
    let values: Vec<Option<&Value>> =
        values.iter().map(|value| value.filter(|value| !value.is_null())).collect();
    let nulls = || Some(NullBuffer::from_iter(values.iter().map(Option::is_some)));
    let fits = |error: ArrowError| error.to_string();
    Ok(match data_type {
        DataType::Null => Arc::new(NullArray::new(values.len())),
        DataType::Boolean => Arc::new(BooleanArray::from(scalars(&values, Value::as_bool)?)),
        DataType::Int64 => {
            Arc::new(PrimitiveArray::<Int64Type>::from(scalars(&values, Value::as_i64)?))
        }
        DataType::Float64 => {
            Arc::new(PrimitiveArray::<Float64Type>::from(scalars(&values, Value::as_f64)?))
        }
        DataType::Utf8 => Arc::new(StringArray::from(scalars(&values, text)?)),
        DataType::Date32 => {
            Arc::new(PrimitiveArray::<Date32Type>::from(scalars(&values, |value| {
                let date: NaiveDate = value.as_str()?.parse().ok()?;
                Some(Date32Type::from_naive_date(date))
            })?))
        }
        DataType::Timestamp(_, zone) => {
            let micros = scalars(&values, micros)?;
            let array = PrimitiveArray::<TimestampMicrosecondType>::from(micros);
            Arc::new(array.with_timezone_opt(zone.clone()))
        }
        DataType::Struct(fields) => {
            scalars(&values, Value::as_object)?;
            let columns = members(fields, &values)?;
            Arc::new(StructArray::try_new(fields.clone(), columns, nulls()).map_err(fits)?)
        }
        DataType::List(field) => {
            let lists = scalars(&values, Value::as_array)?;
            let lengths = lists.iter().map(|list| list.map_or(0, Vec::len));
            let offsets = OffsetBuffer::from_lengths(lengths);
            let items: Vec<Option<&Value>> =
                lists.iter().flatten().flat_map(|list| list.iter().map(Some)).collect();
            let items = array(field.data_type(), &items)?;
            Arc::new(ListArray::try_new(field.clone(), offsets, items, nulls()).map_err(fits)?)
        }
        DataType::Map(entries, is_sorted) => {
            let DataType::Struct(fields) = entries.data_type() else {
                return Err("a map of no entries".into());
            };
            let objects = scalars(&values, Value::as_object)?;
            let lengths = objects.iter().map(|object| object.map_or(0, serde_json::Map::len));
            let offsets = OffsetBuffer::from_lengths(lengths);
            let (names, members): (Vec<&str>, Vec<Option<&Value>>) = objects
                .iter()
                .flatten()
                .flat_map(|object| {
                    object.iter().map(|(name, member)| (name.as_str(), Some(member)))
                })
                .unzip();
            let keys: ArrayRef = Arc::new(StringArray::from(names));
            let columns = vec![keys, array(fields[1].data_type(), &members)?];
            let columns = StructArray::try_new(fields.clone(), columns, None).map_err(fits)?;
            let map = MapArray::try_new(entries.clone(), offsets, columns, nulls(), *is_sorted);
            Arc::new(map.map_err(fits)?)
        }
        other => return Err(format!("no column of `{other}`")),
    })
}

/// Reads each value that is there.
fn scalars<'v, T>(
    values: &[Option<&'v Value>],
    read: impl Fn(&'v Value) -> Option<T>,
) -> Result<Vec<Option<T>>, String> {
    let read =
        |value: &'v Value| read(value).ok_or_else(|| format!("`{value}` is of another type"));
    values.iter().map(|value| value.map(read).transpose()).collect()
}

/// A scalar as a text, as JSON writes numbers.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    }
}

/// Microseconds since 1970 of a time in UTC or of a date.
fn micros(value: &Value) -> Option<i64> {
    let text = value.as_str()?.trim_end_matches('Z');
    let time: Option<NaiveDateTime> = text.parse().ok();
    let time = time.or_else(|| text.parse::<NaiveDate>().ok()?.and_hms_opt(0, 0, 0));
    Some(time?.and_utc().timestamp_micros())
}
