//! Values as OpenAlex prints them: addresses of ids, and references.

use pinakes_format::storage::error::ReadError;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// The address of OpenAlex's interface.
pub const API: &str = "https://api.openalex.org";
/// The address of ids.
pub const ADDRESS: &str = "https://openalex.org/";

/// The members of a JSON object.
pub type Object = Map<String, Value>;

/// An id without the prefix of the interface: `W1` of `HX_W1`.
pub fn short_id(id: &Value) -> String {
    match id {
        Value::String(text) => text.strip_prefix("HX_").unwrap_or(text).to_owned(),
        other => other.to_string(),
    }
}

/// The address of an id with a letter, and of null null.
pub fn address_of(id: &Value) -> Value {
    match id {
        Value::Null => Value::Null,
        id => format!("{ADDRESS}{}", short_id(id)).into(),
    }
}

/// A reference of OpenAlex: id and display name.
pub fn reference(value: &Value) -> Map<String, Value> {
    let mut made = Map::new();
    made.insert("id".into(), address_of(&value["id"]));
    made.insert("display_name".into(), value["name"].clone());
    made
}

/// A reference to a node of the taxonomy, whose ids are numbers.
pub fn node(level: &str, value: &Value) -> Value {
    if value.is_null() {
        return Value::Null;
    }
    let id = format!("{ADDRESS}{level}/{}", short_id(&value["id"]));
    json!({ "id": id, "display_name": (value["name"]) })
}

/// Reads the text of a record.
pub fn read_json<T: DeserializeOwned>(text: &[u8]) -> Result<T, ReadError> {
    let read = serde_json::from_slice(text);
    read.map_err(|_| ReadError::corrupt("records", "a record is not JSON"))
}

/// Appends a value; always true.
pub fn write_json(value: &Value, out: &mut Vec<u8>) -> Result<bool, ReadError> {
    let written = serde_json::to_writer(out, value);
    written.map_err(|_| ReadError::Internal("a value cannot be written"))?;
    Ok(true)
}
