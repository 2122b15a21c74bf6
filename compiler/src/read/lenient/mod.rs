//! JSON values read with forbearance: a bad optional member becomes null and is counted; it never
//! costs its record.
//!
//! serde's derived code has no place for a context, so what was bad is counted in the thread that
//! parses, with the place of the first, and [`take_warning_counts`] collects it after each part; likewise
//! the limits of a part are those its thread was given by [`begin`], and the place under way is
//! what [`at`] said last.

pub(crate) mod list;
pub(crate) mod number;
pub(crate) mod object;
pub(crate) mod text;

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
};

pub use crate::read::lenient::list::{Length, List};
pub use crate::read::lenient::number::{Bool, COUNT_MAX, Number};
pub(crate) use crate::read::lenient::object::Key;
pub use crate::read::lenient::object::{Object, Pairs};
pub(crate) use crate::read::lenient::text::clean;
pub use crate::read::lenient::text::{IdText, Text};
use serde::{Deserialize, Serialize};

/// What a member may hold before it becomes null; no limit where `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemberLimits {
    /// Elements of an array.
    pub array_elements_max: Option<u64>,
    /// Bytes of a text.
    pub text_bytes_max: Option<u64>,
}

/// Where in a part a line or row begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinePosition {
    /// The number of its line, from 1; 0 where it is the part as a whole.
    pub line: u64,
    /// Where it begins in the uncompressed part.
    pub byte_offset: u64,
}

/// How often something was bad, and where first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WarningCount {
    /// How often.
    pub count: u64,
    /// Where first.
    pub first: LinePosition,
}

thread_local! {
    static WARNINGS: RefCell<BTreeMap<&'static str, WarningCount>> =
        const { RefCell::new(BTreeMap::new()) };
    static PLACE: Cell<LinePosition> = const { Cell::new(LinePosition { line: 0, byte_offset: 0 }) };
    static ARRAY_ELEMENTS_MAX: Cell<u64> = const { Cell::new(u64::MAX) };
    static TEXT_BYTES_MAX: Cell<u64> = const { Cell::new(u64::MAX) };
}

/// Begins a part in this thread: forgets what was counted, and takes its limits.
pub fn begin(limits: MemberLimits) {
    take_warning_counts();
    PLACE.set(LinePosition::default());
    ARRAY_ELEMENTS_MAX.set(limits.array_elements_max.unwrap_or(u64::MAX));
    TEXT_BYTES_MAX.set(limits.text_bytes_max.unwrap_or(u64::MAX));
}

/// What is read from now on begins here.
pub fn at(line: u64, byte_offset: u64) {
    PLACE.set(LinePosition { line, byte_offset });
}

/// Counts one more bad optional value under `code`.
pub fn warn(code: &'static str) {
    WARNINGS.with_borrow_mut(|warnings| {
        let first = PLACE.get();
        warnings.entry(code).or_insert(WarningCount { count: 0, first }).count += 1;
    });
}

/// What this thread counted since it was last asked, and where first.
pub fn take_warning_counts() -> BTreeMap<&'static str, WarningCount> {
    WARNINGS.with_borrow_mut(std::mem::take)
}

/// How often this thread counted what since it was last asked.
#[cfg(test)]
pub fn take_warnings() -> BTreeMap<&'static str, u64> {
    take_warning_counts().into_iter().map(|(code, warned)| (code, warned.count)).collect()
}

/// Empties whatever a visitor was handed that it has no use for, so that parsing can go on.
macro_rules! drain {
    ($code:literal) => {
        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
            while seq.next_element::<IgnoredAny>()?.is_some() {}
            warn($code);
            Ok(Default::default())
        }

        drain!(map $code);
    };
    (map $code:literal) => {
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            warn($code);
            Ok(Default::default())
        }
    };
    (scalars $code:literal) => {
        drain!(numbers $code);
        drain!(bool $code);

        fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
            warn($code);
            Ok(Default::default())
        }
    };
    (numbers $code:literal) => {
        fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
            warn($code);
            Ok(Default::default())
        }

        fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
            warn($code);
            Ok(Default::default())
        }

        fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
            warn($code);
            Ok(Default::default())
        }
    };
    (bool $code:literal) => {
        fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
            warn($code);
            Ok(Default::default())
        }
    };
    (null) => {
        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(Default::default())
        }
    };
}

pub(crate) use drain;
