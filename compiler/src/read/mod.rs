//! `read`.

pub(crate) mod elements;
pub(crate) mod identifier;
pub(crate) mod institution_types;
pub(crate) mod inverted_index;
pub(crate) mod iso;
pub(crate) mod json_tree;
pub(crate) mod lenient;
pub(crate) mod limits;
pub(crate) mod lines;
pub(crate) mod rows;
pub(crate) mod strict;
pub(crate) mod times;
