//! Parquet files of JSON records, with the schema that OpenAlex's releases have.

mod columns;
mod types;

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef, TimeUnit};
use parquet::arrow::ArrowWriter;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use serde_json::Value;

use crate::parquet::columns::members;
use crate::parquet::types::{JsonType, general};

/// How a file holds times and dates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Times {
    /// As the texts of the JSON lines.
    Text,
    /// As timestamps in microseconds and as days, as the releases do.
    Typed,
}

/// Rows that are converted at a time.
const BATCH_ROWS: usize = 256;

/// Writes records as a Parquet file. Members of different types in different records make an error.
///
/// # Errors
///
/// If the records have no common schema, or a value does not fit it.
pub fn write(
    records: &[Value],
    times: Times,
    properties: WriterProperties,
) -> Result<Vec<u8>, ParquetError> {
    let records: Vec<Value> = records.iter().map(to_row).collect();
    let schema = schema_of(&records, times)?;
    let mut writer = ArrowWriter::try_new(Vec::new(), schema.clone(), Some(properties))?;
    for rows in records.chunks(BATCH_ROWS) {
        let rows: Vec<Option<&Value>> = rows.iter().map(Some).collect();
        let columns = members(&schema.fields, &rows).map_err(general)?;
        writer.write(&RecordBatch::try_new(schema.clone(), columns)?)?;
    }
    writer.into_inner()
}

/// The record as a row of the release: the abstract and the values of `ids` are texts there.
fn to_row(record: &Value) -> Value {
    let mut row = record.clone();
    if let Some(Value::Object(ids)) = row.get_mut("ids") {
        for id in ids.values_mut().filter(|id| !id.is_string() && !id.is_null()) {
            *id = id.to_string().into();
        }
    }
    if let Some(index) = row.get_mut("abstract_inverted_index").filter(|index| index.is_object()) {
        *index = index.to_string().into();
    }
    row
}

fn schema_of(records: &[Value], times: Times) -> Result<SchemaRef, ParquetError> {
    let mut of_record = JsonType::Unknown;
    for record in records {
        of_record.add(record).map_err(general)?;
    }
    let DataType::Struct(inferred) = of_record.data_type() else {
        return Err(general("the records are not objects".to_owned()));
    };
    let fields: Fields = inferred.iter().map(|field| release_field(field, times)).collect();
    Ok(Arc::new(Schema::new(fields)))
}

/// The inferred field with the maps and times of the release.
fn release_field(field: &Field, times: Times) -> Field {
    let texts = || {
        let key = Field::new("key", DataType::Utf8, false);
        let entries = Field::new_struct(
            "entries",
            vec![key, Field::new("value", DataType::Utf8, true)],
            false,
        );
        DataType::Map(Arc::new(entries), false)
    };
    let data_type = match (field.name().as_str(), field.data_type()) {
        ("ids", DataType::Struct(_)) => texts(),
        ("international", DataType::Struct(_)) => {
            DataType::Struct([Field::new("display_name", texts(), true)].into_iter().collect())
        }
        ("updated_date" | "created_date", DataType::Utf8) if times == Times::Typed => {
            DataType::Timestamp(TimeUnit::Microsecond, Some("+00:00".into()))
        }
        ("publication_date", DataType::Utf8) if times == Times::Typed => DataType::Date32,
        (_, inferred) => inferred.clone(),
    };
    Field::new(field.name(), data_type, true)
}
