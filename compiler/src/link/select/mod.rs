//! `link/select`.

pub(crate) mod subset;
pub(crate) mod suppressed;
