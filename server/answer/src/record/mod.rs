//! One record: by its id in [`single`], by an identifier of any system in [`resolve`]; what it refers to in [`references`].
//!
//! Imports `complete`, `define`, `openapi`, `referring`, `reply`, `request`.

pub(crate) mod references;
pub(crate) mod resolve;
pub(crate) mod single;
