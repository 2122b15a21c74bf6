//! Values as OpenAlex prints them: addresses of ids, references, and the objects that have them.

use pinakes_format::storage::ReadError;
use pinakes_format::text::json;
use serde::de::DeserializeOwned;

use crate::dialects::openalex::tape::Value;

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
pub fn write_address(path: &str, id: Value<'_>, out: &mut Vec<u8>) {
    if id.is_null() {
        return out.extend_from_slice(b"null");
    }
    out.push(b'"');
    out.extend_from_slice(ADDRESS.as_bytes());
    out.extend_from_slice(path.as_bytes());
    let id = id.escaped().unwrap_or(id.json());
    out.extend_from_slice(id.strip_prefix(b"HX_").unwrap_or(id));
    out.push(b'"');
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
    pub fn value(&mut self, name: &'static str, value: Value<'_>) {
        self.name(name).extend_from_slice(value.json());
    }

    /// Appends a member that is left out where it is null.
    pub fn known(&mut self, name: &'static str, value: Value<'_>) {
        if !value.is_null() {
            self.value(name, value);
        }
    }

    /// Appends a text, or null.
    pub fn text(&mut self, name: &'static str, text: Option<&str>) {
        json::string_or_null(self.name(name), text);
    }

    /// Appends the address of an id below a path.
    pub fn address(&mut self, name: &'static str, path: &str, id: Value<'_>) {
        write_address(path, id, self.name(name));
    }

    /// Appends the members of a reference of OpenAlex: id and display name.
    pub fn reference(&mut self, value: Value<'_>) {
        self.address("id", "", value.get("id"));
        self.value("display_name", value.get("name"));
    }
}

/// Appends a reference, its address below a level of the taxonomy, and of null null.
pub fn write_reference(level: &str, value: Value<'_>, out: &mut Vec<u8>) {
    if value.is_null() {
        return out.extend_from_slice(b"null");
    }
    let mut object = Object::begin(out);
    object.address("id", level, value.get("id"));
    object.value("display_name", value.get("name"));
    object.end();
}

/// Reads the text of a record.
pub fn read_json<T: DeserializeOwned>(text: &[u8]) -> Result<T, ReadError> {
    let read = serde_json::from_slice(text);
    read.map_err(|_| ReadError::corrupt("records", "a record is not JSON"))
}
