//! `json`.

pub mod render;
pub mod select;
