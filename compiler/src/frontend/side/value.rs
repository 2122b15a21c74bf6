//! Encoding of side-table values in an object.

use pinakes_format::record::{Abdc, Doaj, OrcidProfile, Scopus, WebOfScience};

/// The value of a row of a side table.
pub trait SideValue: Sized {
    /// Encodes the value; equal values have equal bytes.
    fn encode(&self) -> Vec<u8>;

    /// Decodes a value; `None` where the bytes are corrupt.
    fn decode(bytes: &[u8]) -> Option<Self>;
}

/// Values that are members of records are archived with rkyv, like records.
macro_rules! archived {
    ($($value:ident)*) => {
        $(impl SideValue for $value {
            fn encode(&self) -> Vec<u8> {
                let bytes = rkyv::to_bytes::<rkyv::rancor::Error>(self);
                bytes.expect("a row is far below the 2 GiB that relative pointers reach").into_vec()
            }

            fn decode(bytes: &[u8]) -> Option<$value> {
                rkyv::from_bytes::<$value, rkyv::rancor::Error>(bytes).ok()
            }
        })*
    };
}

archived!(Abdc Doaj OrcidProfile Scopus WebOfScience);
