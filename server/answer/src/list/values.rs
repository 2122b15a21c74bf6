//! Values of groups and numbers of statistics, as replies print them.

use std::borrow::Cow;

use pinakes_format::query::{GroupValue, Number};
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::ReadError;
use pinakes_format::text::json;

/// Appends a value as records print it; an id as references print it, which is always a text.
pub fn render_value(
    value: &GroupValue,
    snapshot: &Snapshot,
    out: &mut Vec<u8>,
) -> Result<(), ReadError> {
    match value {
        GroupValue::Null => out.extend_from_slice(b"null"),
        GroupValue::Boolean(value) => out.extend_from_slice(value.to_string().as_bytes()),
        GroupValue::Integer(value) => json::signed(out, *value),
        GroupValue::Number(value) => json::number(out, *value),
        GroupValue::Record { entity, id, .. } => {
            out.push(b'"');
            entity.write_id(*id, out);
            out.push(b'"');
        }
        GroupValue::Code(code) => json::string(out, snapshot.code(*code)?),
        GroupValue::Text(text) => json::string(out, text),
    }
    Ok(())
}

/// The name that people know a value by; `None` of null, and of an unresolved reference without a name.
pub fn display_name<'v>(
    value: &'v GroupValue,
    snapshot: &'v Snapshot,
) -> Result<Option<Cow<'v, str>>, ReadError> {
    Ok(match value {
        GroupValue::Null => None,
        GroupValue::Boolean(value) => Some(value.to_string().into()),
        GroupValue::Integer(value) => Some(value.to_string().into()),
        GroupValue::Number(value) => Some(value.to_string().into()),
        GroupValue::Record { entity, row, .. } => {
            // An entity that no other refers to keeps its names in the records alone.
            let name = match entity.facts().is_referenced {
                true => snapshot.name_of_id(*entity, *row)?,
                false if snapshot.suppressed().has(*entity, *row) => None,
                false if *row < snapshot.count(*entity) => snapshot.name(*entity, *row)?,
                false => None,
            };
            name.map(Cow::Borrowed)
        }
        GroupValue::Code(code) => {
            let name = snapshot.code_name(*code)?;
            Some(name.unwrap_or(snapshot.code(*code)?).into())
        }
        GroupValue::Text(text) => Some(text.into()),
    })
}

/// Appends a number; null without one.
pub fn render_number(number: Option<Number>, out: &mut Vec<u8>) {
    match number {
        None => out.extend_from_slice(b"null"),
        Some(Number::Integer(value)) => out.extend_from_slice(value.to_string().as_bytes()),
        Some(Number::Fraction(value)) => json::number(out, value),
    }
}
