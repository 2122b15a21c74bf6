//! What a row gives, as bytes of an object.

use pinakes_format::record::{Abdc, Doaj, OrcidProfile, Scopus, WebOfScience};

use crate::frontend::side::ror::Organisation;

/// What a row of a side table gives.
pub trait SideValue: Sized {
    /// Its bytes, a function of the value alone.
    fn encode(&self) -> Vec<u8>;

    /// Reads it back; `None` where the bytes are none.
    fn decode(bytes: &[u8]) -> Option<Self>;
}

/// Members of records are archived as records are.
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

impl SideValue for Organisation {
    fn encode(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("texts, numbers and lists of them are JSON")
    }

    fn decode(bytes: &[u8]) -> Option<Organisation> {
        serde_json::from_slice(bytes).ok()
    }
}
