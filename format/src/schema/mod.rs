//! `schema`.

pub mod keys;
pub mod layout;
