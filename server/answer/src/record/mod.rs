//! One record: by its id in [`single`], by an identifier of any system in [`resolve`].
//!
//! Imports `complete`, `define`, `openapi`, `referring`, `reply`, `request`.

pub(crate) mod resolve;
pub(crate) mod single;
