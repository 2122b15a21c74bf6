//! Encoding of side-table values in an object.

use pinakes_format::record::stored::Stored;
use pinakes_format::record::writer::RecordWriter;
use pinakes_format::record::{pack, read};

/// The value of a row of a side table: packed as in a record where a record has values of the type.
pub trait SideValue: Sized {
    /// Encodes the value; equal values have equal bytes.
    fn encode(&self) -> Vec<u8>;

    /// Decodes a value; `None` where the bytes are corrupt.
    fn decode(bytes: &[u8]) -> Option<Self>;
}

impl<V: Stored> SideValue for V {
    fn encode(&self) -> Vec<u8> {
        pack(self, &mut RecordWriter::default())
    }

    fn decode(bytes: &[u8]) -> Option<V> {
        read(bytes).ok()
    }
}
