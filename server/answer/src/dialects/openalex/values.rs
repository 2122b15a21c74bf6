//! Values as OpenAlex prints them: addresses of ids, references, and the objects that have them.

use pinakes_format::storage::ReadError;
use pinakes_format::text::json;
use serde::de::DeserializeOwned;
use serde_json_borrow::Value;

/// The address of OpenAlex's interface.
pub const API: &str = "https://api.openalex.org";
/// The address of ids.
pub const ADDRESS: &str = "https://openalex.org/";

/// An id without the prefix of the interface: `W1` of `HX_W1`.
pub fn short_id(id: &str) -> &str {
    id.strip_prefix("HX_").unwrap_or(id)
}

pub fn address_of(id: &str) -> String {
    format!("{ADDRESS}{}", short_id(id))
}

/// Appends the address of an id below a path, and of null null.
pub fn write_address(path: &str, id: &Value<'_>, out: &mut Vec<u8>) {
    if id.is_null() {
        return out.extend_from_slice(b"null");
    }
    out.push(b'"');
    out.extend_from_slice(ADDRESS.as_bytes());
    out.extend_from_slice(path.as_bytes());
    match id.as_str().map(short_id) {
        Some(id) if id.bytes().all(|byte| byte.is_ascii_alphanumeric()) => {
            out.extend_from_slice(id.as_bytes());
        }
        // Ids of awards are texts of the dump.
        Some(id) => {
            let from = out.len();
            json::string(out, id);
            // Without the quotes around it.
            out.pop();
            out.remove(from);
        }
        None => json::unsigned(out, id.as_u64().unwrap_or_default()),
    }
    out.push(b'"');
}

/// Appends a value.
pub fn write_value(value: &Value<'_>, out: &mut Vec<u8>) -> Result<(), ReadError> {
    // Most values are texts or null.
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Str(text) => json::string(out, text),
        value => return write_other(value, out),
    }
    Ok(())
}

fn write_other(value: &Value<'_>, out: &mut Vec<u8>) -> Result<(), ReadError> {
    let written = serde_json::to_writer(out, value);
    written.map_err(|_| ReadError::Internal("a value cannot be written"))
}

/// Appends a list of what `write` appends of each element.
pub fn write_list<T>(
    elements: impl IntoIterator<Item = T>,
    out: &mut Vec<u8>,
    mut write: impl FnMut(T, &mut Vec<u8>) -> Result<(), ReadError>,
) -> Result<(), ReadError> {
    out.push(b'[');
    for (at, element) in elements.into_iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        write(element, out)?;
    }
    out.push(b']');
    Ok(())
}

/// The elements of a list; none of another value.
pub fn elements<'v, 'l>(list: &'v Value<'l>) -> &'v [Value<'l>] {
    list.as_array().unwrap_or_default()
}

/// An object that is being written.
pub struct Object<'o> {
    pub out: &'o mut Vec<u8>,
}

impl<'o> Object<'o> {
    pub fn begin(out: &'o mut Vec<u8>) -> Object<'o> {
        out.push(b'{');
        Object { out }
    }

    pub fn end(self) {
        self.out.push(b'}');
    }

    /// Appends the name of a member, whose value follows.
    pub fn name(&mut self, name: &'static str) -> &mut Vec<u8> {
        // Names of members are letters, digits and lines.
        let before: &[u8] = if self.out.last() == Some(&b'{') { b"\"" } else { b",\"" };
        self.out.extend_from_slice(before);
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b"\":");
        self.out
    }

    /// Appends a member.
    pub fn value(&mut self, name: &'static str, value: &Value<'_>) -> Result<(), ReadError> {
        write_value(value, self.name(name))
    }

    /// Appends a member that is left out where it is null.
    pub fn known(&mut self, name: &'static str, value: &Value<'_>) -> Result<(), ReadError> {
        if value.is_null() { Ok(()) } else { self.value(name, value) }
    }

    /// Appends a text, or null.
    pub fn text(&mut self, name: &'static str, text: Option<&str>) {
        let out = self.name(name);
        match text {
            Some(text) => json::string(out, text),
            None => out.extend_from_slice(b"null"),
        }
    }

    /// Appends the address of an id below a path.
    pub fn address(&mut self, name: &'static str, path: &str, id: &Value<'_>) {
        write_address(path, id, self.name(name));
    }

    /// Appends the members of a reference of OpenAlex: id and display name.
    pub fn reference(&mut self, value: &Value<'_>) -> Result<(), ReadError> {
        self.address("id", "", value.get("id"));
        self.value("display_name", value.get("name"))
    }
}

/// Appends a reference.
pub fn write_reference(value: &Value<'_>, out: &mut Vec<u8>) -> Result<(), ReadError> {
    let mut object = Object::begin(out);
    object.reference(value)?;
    object.end();
    Ok(())
}

/// Appends a reference to a node of the taxonomy, whose ids are numbers.
pub fn write_node(level: &str, value: &Value<'_>, out: &mut Vec<u8>) -> Result<(), ReadError> {
    if value.is_null() {
        out.extend_from_slice(b"null");
        return Ok(());
    }
    let mut object = Object::begin(out);
    object.address("id", level, value.get("id"));
    object.value("display_name", value.get("name"))?;
    object.end();
    Ok(())
}

/// Reads the text of a record.
pub fn read_json<T: DeserializeOwned>(text: &[u8]) -> Result<T, ReadError> {
    let read = serde_json::from_slice(text);
    read.map_err(|_| ReadError::corrupt("records", "a record is not JSON"))
}
