//! Lenient JSON values: a bad optional member becomes null and counts as a warning, and the record
//! stays.
//!
//! `diagnostics` counts the warnings; the other files parse one kind of value each and import it.

pub(crate) mod diagnostics;
pub(crate) mod list;
pub(crate) mod number;
pub(crate) mod object;
pub(crate) mod text;

pub(crate) use crate::read::lenient::diagnostics::drain;
#[cfg(test)]
pub use crate::read::lenient::diagnostics::take_warnings;
pub use crate::read::lenient::diagnostics::{
    LinePosition, MemberLimits, at, begin, take_warning_counts, warn,
};
pub use crate::read::lenient::list::{MaybeLength, MaybeList};
pub use crate::read::lenient::number::{COUNT_MAX, MaybeBool, MaybeNumber};
pub(crate) use crate::read::lenient::object::Key;
pub use crate::read::lenient::object::{MaybeObject, MaybePairs};
pub(crate) use crate::read::lenient::text::clean;
pub use crate::read::lenient::text::{MaybeId, MaybeText};
