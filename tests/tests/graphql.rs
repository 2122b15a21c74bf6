//! GraphQL over HTTP: what is asked is what REST answers, and nobody is harmed by asking.

#![allow(clippy::unwrap_used, missing_docs)]

#[path = "queries/asking.rs"]
#[allow(dead_code, reason = "shared with the tests of lists")]
mod asking;
#[path = "graphql/bounds.rs"]
mod bounds;
#[allow(dead_code, reason = "shared with the tests of the protocol")]
#[path = "http/client.rs"]
mod client;
#[path = "graphql/edges.rs"]
mod edges;
#[path = "graphql/hostile.rs"]
mod hostile;
#[path = "graphql/lists.rs"]
mod lists;
#[path = "graphql/official.rs"]
mod official;
#[path = "graphql/post.rs"]
mod post;
#[path = "graphql/protocol.rs"]
mod protocol;
#[path = "graphql/records.rs"]
mod records;
#[path = "graphql/schema.rs"]
mod schema;
#[allow(dead_code, reason = "shared with the tests of the protocol")]
#[path = "http/server.rs"]
mod server;
#[allow(dead_code, reason = "shared with the tests of lists")]
#[path = "queries/values.rs"]
mod values;
#[path = "graphql/wrong.rs"]
mod wrong;
