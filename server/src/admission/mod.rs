//! `admission`.

pub(crate) mod concurrency;
pub(crate) mod gate;
pub(crate) mod limits;
