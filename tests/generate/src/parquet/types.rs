//! The column types that hold all values of a member.

use std::sync::Arc;

use arrow_schema::{DataType, Field};
use parquet::errors::ParquetError;
use serde_json::Value;

/// The type of the JSON values seen so far at one place of the records.
pub(super) enum JsonType {
    /// No value yet, except nulls.
    Unknown,
    Boolean,
    Integer,
    Float,
    /// Texts, or scalars of several types: the scalars become texts.
    Text,
    List(Box<JsonType>),
    /// The members in the order of their first appearance.
    Object(Vec<(String, JsonType)>),
}

impl JsonType {
    /// Widens the type so that it holds the value too.
    pub(super) fn add(&mut self, value: &Value) -> Result<(), String> {
        if value.is_null() {
            return Ok(());
        }
        if let JsonType::Unknown = self {
            *self = JsonType::of(value);
        }
        match (&mut *self, value) {
            (JsonType::List(of_items), Value::Array(items)) => {
                items.iter().try_for_each(|item| of_items.add(item))
            }
            (JsonType::Object(of_members), Value::Object(members)) => {
                for (name, member) in members {
                    let at = of_members.iter().position(|(known, _)| known == name);
                    let at = at.unwrap_or_else(|| {
                        of_members.push((name.clone(), JsonType::Unknown));
                        of_members.len() - 1
                    });
                    of_members[at].1.add(member)?;
                }
                Ok(())
            }
            (JsonType::List(_) | JsonType::Object(_), _)
            | (_, Value::Array(_) | Value::Object(_)) => {
                Err(format!("`{value}` has another type than other values of its member"))
            }
            (known, value) => {
                *self = match (&*known, JsonType::of(value)) {
                    (JsonType::Boolean, JsonType::Boolean) => JsonType::Boolean,
                    (JsonType::Integer, JsonType::Integer) => JsonType::Integer,
                    (JsonType::Integer | JsonType::Float, JsonType::Integer | JsonType::Float) => {
                        JsonType::Float
                    }
                    _ => JsonType::Text,
                };
                Ok(())
            }
        }
    }

    /// The type of one value, of lists and objects without what they hold.
    fn of(value: &Value) -> JsonType {
        match value {
            Value::Null => JsonType::Unknown,
            Value::Bool(_) => JsonType::Boolean,
            Value::Number(number) if number.is_i64() => JsonType::Integer,
            Value::Number(_) => JsonType::Float,
            Value::String(_) => JsonType::Text,
            Value::Array(_) => JsonType::List(Box::new(JsonType::Unknown)),
            Value::Object(_) => JsonType::Object(Vec::new()),
        }
    }

    pub(super) fn data_type(&self) -> DataType {
        match self {
            JsonType::Unknown => DataType::Null,
            JsonType::Boolean => DataType::Boolean,
            JsonType::Integer => DataType::Int64,
            JsonType::Float => DataType::Float64,
            JsonType::Text => DataType::Utf8,
            JsonType::List(of_items) => {
                DataType::List(Arc::new(Field::new_list_field(of_items.data_type(), true)))
            }
            JsonType::Object(members) => {
                let fields = members
                    .iter()
                    .map(|(name, of_member)| Field::new(name, of_member.data_type(), true));
                DataType::Struct(fields.collect())
            }
        }
    }
}

/// An error of this crate as the writer's error.
pub(super) fn general(error: String) -> ParquetError {
    ParquetError::General(error)
}
