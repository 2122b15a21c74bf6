//! The beginning of a row as JSON, for reports: a Parquet row has no line to show.

use std::fmt;

use pinakes_format::text::json;
use serde::Deserializer;
use serde::de::{DeserializeSeed, MapAccess, SeqAccess, Visitor};

use crate::read::lenient::MemberName;
use crate::read::lines::RAW_BYTES_MAX;
use crate::read::parquet::row::RowFault;

/// Writes a value as JSON. Fails when the text is longer than reports show.
pub(super) struct JsonText<'o>(pub &'o mut Vec<u8>);

impl<'de> DeserializeSeed<'de> for JsonText<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<(), D::Error> {
        value.deserialize_any(self)
    }
}

impl JsonText<'_> {
    fn write<E: serde::de::Error>(self, text: impl fmt::Display) -> Result<(), E> {
        self.0.extend_from_slice(text.to_string().as_bytes());
        Ok(())
    }

    fn separate<E: serde::de::Error>(&mut self, is_first: &mut bool) -> Result<(), E> {
        if !std::mem::replace(is_first, false) {
            self.0.push(b',');
        }
        if self.0.len() > RAW_BYTES_MAX { Err(E::custom(RowFault::TooLong)) } else { Ok(()) }
    }
}

impl<'de> Visitor<'de> for JsonText<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<(), E> {
        self.write("null")
    }

    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<(), E> {
        self.write(value)
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<(), E> {
        self.write(value)
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<(), E> {
        self.write(value)
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<(), E> {
        self.write(value)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<(), E> {
        // One text may be longer than all that is shown.
        json::string(self.0, &text[..text.floor_char_boundary(RAW_BYTES_MAX)]);
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut seq: A) -> Result<(), A::Error> {
        self.0.push(b'[');
        let mut is_first = true;
        loop {
            let before = self.0.len();
            self.separate(&mut is_first)?;
            if seq.next_element_seed(JsonText(self.0))?.is_none() {
                self.0.truncate(before);
                break;
            }
        }
        self.0.push(b']');
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        self.0.push(b'{');
        let mut is_first = true;
        while let Some(MemberName(key)) = map.next_key::<MemberName<'de>>()? {
            self.separate(&mut is_first)?;
            json::string(self.0, &key);
            self.0.push(b':');
            map.next_value_seed(JsonText(self.0))?;
        }
        self.0.push(b'}');
        Ok(())
    }
}
