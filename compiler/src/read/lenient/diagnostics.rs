//! The warnings and limits of the part that a thread reads.
//!
//! serde's derived code cannot pass a context, so the warnings, the limits and the current position
//! are thread-local. One thread reads a part from start to end: [`begin`] sets the limits, [`at`]
//! sets the position of each line, and [`take_warning_counts`] returns the warnings.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
};

use serde::{Deserialize, Serialize};

/// Limits beyond which a member becomes null; `None` means no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemberLimits {
    pub array_elements_max: Option<u64>,
    pub text_bytes_max: Option<u64>,
}

/// The start of a line or row in an uncompressed part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinePosition {
    /// The line number from 1; 0 for the part as a whole.
    pub line: u64,
    pub byte_offset: u64,
}

/// The number of warnings of one code, and the position of the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WarningCount {
    pub count: u64,
    pub first: LinePosition,
}

thread_local! {
    static WARNINGS: RefCell<BTreeMap<&'static str, WarningCount>> =
        const { RefCell::new(BTreeMap::new()) };
    static POSITION: Cell<LinePosition> = const { Cell::new(LinePosition { line: 0, byte_offset: 0 }) };
    pub(crate) static ARRAY_ELEMENTS_MAX: Cell<u64> = const { Cell::new(u64::MAX) };
    pub(crate) static TEXT_BYTES_MAX: Cell<u64> = const { Cell::new(u64::MAX) };
}

/// Begins a part in this thread: clears the warnings and sets the limits.
pub fn begin(limits: MemberLimits) {
    take_warning_counts();
    POSITION.set(LinePosition::default());
    ARRAY_ELEMENTS_MAX.set(limits.array_elements_max.unwrap_or(u64::MAX));
    TEXT_BYTES_MAX.set(limits.text_bytes_max.unwrap_or(u64::MAX));
}

/// Sets the position of the following warnings.
pub fn at(line: u64, byte_offset: u64) {
    POSITION.set(LinePosition { line, byte_offset });
}

/// Counts a warning under `code`.
pub fn warn(code: &'static str) {
    WARNINGS.with_borrow_mut(|warnings| {
        let first = POSITION.get();
        warnings.entry(code).or_insert(WarningCount { count: 0, first }).count += 1;
    });
}

/// Returns and clears this thread's warnings.
pub fn take_warning_counts() -> BTreeMap<&'static str, WarningCount> {
    WARNINGS.with_borrow_mut(std::mem::take)
}

/// Like [`take_warning_counts`], without positions.
#[cfg(test)]
pub fn take_warnings() -> BTreeMap<&'static str, u64> {
    take_warning_counts().into_iter().map(|(code, warned)| (code, warned.count)).collect()
}

/// Visitor methods for values of a wrong type: consume the value, warn, and return null.
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
