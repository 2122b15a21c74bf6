//! `json`.

pub mod legacy;
pub mod render;
pub mod select;
