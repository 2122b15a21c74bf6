//! JSON values of which long lists and texts keep only their beginnings.
//!
//! A record may have a million authors, and a page shows a few of them. The rest is parsed and dropped, so
//! that the value of a record of any size stays small.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::reply::truncate;

/// Items that a list in a record keeps.
const ITEMS_MAX: usize = 50;
/// Items that a list within a list keeps.
const INNER_ITEMS_MAX: usize = 10;
/// Members that an object keeps; no declared object has more.
const MEMBERS_MAX: usize = 200;
/// Bytes that a text keeps.
const TEXT_BYTES_MAX: usize = 16 << 10;

/// A JSON value whose lists and texts may be cut.
#[derive(Clone, Debug, PartialEq)]
pub enum Preview {
    Null,
    Boolean(bool),
    Integer(i64),
    Number(f64),
    Text(String),
    List {
        items: Vec<Preview>,
        /// Items that were dropped.
        left_out: usize,
    },
    Object(Vec<(String, Preview)>),
}

impl Preview {
    /// Parses a record's JSON. A record of the snapshot is always valid JSON; other text is null.
    pub fn parse(json: &[u8]) -> Preview {
        let mut parser = serde_json::Deserializer::from_slice(json);
        Seed { lists: 0 }.deserialize(&mut parser).unwrap_or(Preview::Null)
    }

    /// A member of an object; null for other values.
    pub fn get(&self, name: &str) -> &Preview {
        let Preview::Object(members) = self else { return &Preview::Null };
        members.iter().find(|(known, _)| known == name).map_or(&Preview::Null, |(_, value)| value)
    }

    /// The text of a text, and of a number; `None` for other values.
    pub fn text(&self) -> Option<String> {
        match self {
            Preview::Text(text) => Some(text.clone()),
            Preview::Integer(number) => Some(number.to_string()),
            _ => None,
        }
    }

    /// The value of a whole number.
    pub fn integer(&self) -> Option<i64> {
        match self {
            Preview::Integer(number) => Some(*number),
            _ => None,
        }
    }

    /// The items of a list; none for other values.
    pub fn items(&self) -> &[Preview] {
        match self {
            Preview::List { items, .. } => items,
            _ => &[],
        }
    }
}

/// Parses a value within this many lists.
#[derive(Clone, Copy)]
struct Seed {
    lists: usize,
}

impl<'de> DeserializeSeed<'de> for Seed {
    type Value = Preview;

    fn deserialize<D: Deserializer<'de>>(self, parser: D) -> Result<Preview, D::Error> {
        parser.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed {
    type Value = Preview;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Preview, E> {
        Ok(Preview::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Preview, E> {
        Ok(Preview::Boolean(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Preview, E> {
        Ok(Preview::Integer(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Preview, E> {
        Ok(i64::try_from(value).map_or(Preview::Number(value as f64), Preview::Integer))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Preview, E> {
        Ok(Preview::Number(value))
    }

    fn visit_str<E>(self, text: &str) -> Result<Preview, E> {
        Ok(Preview::Text(truncate(text, TEXT_BYTES_MAX)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Preview, A::Error> {
        let (mut items, mut left_out) = (Vec::new(), 0);
        let items_max = if self.lists == 0 { ITEMS_MAX } else { INNER_ITEMS_MAX };
        let below = Seed { lists: self.lists + 1 };
        while items.len() < items_max
            && let Some(item) = list.next_element_seed(below)?
        {
            items.push(item);
        }
        while list.next_element::<IgnoredAny>()?.is_some() {
            left_out += 1;
        }
        Ok(Preview::List { items, left_out })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Preview, A::Error> {
        let mut members = Vec::new();
        while let Some(name) = object.next_key::<String>()? {
            if members.len() < MEMBERS_MAX {
                members.push((name, object.next_value_seed(self)?));
            } else {
                object.next_value::<IgnoredAny>()?;
            }
        }
        Ok(Preview::Object(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_of_any_size_keeps_its_beginning() {
        let inner = format!("[{}0]", "0,".repeat(99));
        let list = format!("[{}{inner}]", format!("{inner},").repeat(999));
        let text = "é".repeat(TEXT_BYTES_MAX);
        let json = format!(r#"{{"a":{list},"b":"{text}","c":null,"d":[],"e":1.5,"f":true}}"#);
        let value = Preview::parse(json.as_bytes());
        let Preview::List { items, left_out } = value.get("a") else { panic!("{value:?}") };
        assert_eq!((items.len(), *left_out), (50, 950));
        let zeros = vec![Preview::Integer(0); 10];
        assert_eq!(items[49], Preview::List { items: zeros, left_out: 90 });
        let kept = value.get("b").text().map(|text| text.len());
        assert_eq!(kept, Some(TEXT_BYTES_MAX + "…".len()));
        assert_eq!(value.get("c"), &Preview::Null);
        assert_eq!(value.get("d"), &Preview::List { items: Vec::new(), left_out: 0 });
        assert_eq!(value.get("e"), &Preview::Number(1.5));
        assert_eq!(value.get("f"), &Preview::Boolean(true));
        assert_eq!(value.get("g"), &Preview::Null);
        assert_eq!(Preview::parse(b"{"), Preview::Null);
    }
}
