//! GraphQL over HTTP: answers equal those of REST, and no query exceeds its limits.

mod bounds;
mod edges;
mod hostile;
mod lists;
mod official;
mod protocol;
mod records;
mod schema;
mod wrong;
