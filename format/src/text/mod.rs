//! `text`.

pub mod fold;
pub mod json;
pub mod time;
