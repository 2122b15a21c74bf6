//! Lenient JSON values: a bad optional member becomes null and counts as a warning, and the record
//! stays.
//!
//! - [`diagnostics`] collects the warnings; every read takes it as an argument.
//! - [`seed`] and [`members`] read any value and the declared members of an object.
//! - [`columnar`] states and reads what a type reads, for inputs that store members apart.
//! - The other files parse one kind of value each.

pub(crate) mod columnar;
pub(crate) mod diagnostics;
pub(crate) mod list;
pub(crate) mod members;
pub(crate) mod number;
pub(crate) mod object;
pub(crate) mod seed;
pub(crate) mod text;

pub(crate) use crate::read::lenient::columnar::{ColumnarValue, Scalar, Wanted};
pub use crate::read::lenient::diagnostics::{Diagnostics, LinePosition};
pub use crate::read::lenient::list::{MaybeLength, MaybeList};
pub(crate) use crate::read::lenient::members::{
    MemberName, Members, from_columnar, from_str, from_str_skipping_unread, members,
};
pub use crate::read::lenient::number::{COUNT_MAX, MaybeBool, MaybeNumber};
pub use crate::read::lenient::object::{MaybeObject, MaybePairs};
pub(crate) use crate::read::lenient::seed::Lenient;
pub use crate::read::lenient::text::{MaybeId, MaybeText};
pub(crate) use crate::read::lenient::text::{clean, is_too_long};
