//! Encoding of side-table values in an object.

use rkyv::api::high::{HighDeserializer, HighSerializer, HighValidator};
use rkyv::bytecheck::CheckBytes;
use rkyv::rancor::Error;
use rkyv::ser::allocator::ArenaHandle;
use rkyv::util::AlignedVec;
use rkyv::{Archive, Deserialize, Serialize};

/// The value of a row of a side table, archived with rkyv.
pub trait SideValue: Sized {
    /// Encodes the value; equal values have equal bytes.
    fn encode(&self) -> Vec<u8>;

    /// Decodes a value; `None` where the bytes are corrupt.
    fn decode(bytes: &[u8]) -> Option<Self>;
}

impl<V> SideValue for V
where
    V: Archive + for<'a> Serialize<HighSerializer<AlignedVec, ArenaHandle<'a>, Error>>,
    V::Archived:
        for<'a> CheckBytes<HighValidator<'a, Error>> + Deserialize<V, HighDeserializer<Error>>,
{
    fn encode(&self) -> Vec<u8> {
        let bytes = rkyv::to_bytes::<Error>(self);
        bytes.expect("a row is far below the 2 GiB that relative pointers reach").into_vec()
    }

    fn decode(bytes: &[u8]) -> Option<V> {
        rkyv::from_bytes::<V, Error>(bytes).ok()
    }
}
