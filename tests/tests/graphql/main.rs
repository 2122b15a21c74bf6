//! GraphQL over HTTP: what is asked is what REST answers, and nobody is harmed by asking.

#![allow(clippy::unwrap_used, missing_docs)]

mod bounds;
mod edges;
mod hostile;
mod lists;
mod official;
mod protocol;
mod records;
mod schema;
mod wrong;
