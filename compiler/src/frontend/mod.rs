//! `frontend`.

pub(crate) mod derived;
pub(crate) mod native;
pub(crate) mod openalex;
pub(crate) mod side;
pub(crate) mod taxonomy_csv;
