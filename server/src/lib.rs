//! The server of Pinakes: answers the interface from a mapped snapshot.
//!
//! [`serve`] accepts connections; each [`connection`] is timed and bounded, and its requests are handed
//! through warp to the [`service`]. The [`gate`] looks at who asks and how often, [`head`] at what HTTP
//! demands; [`routes`] knows every path there is, and a handler turns a checked request into a
//! [`reply`]. No module knows an entity by name: what differs between them is in the catalog of
//! `pinakes_format`.

#![forbid(unsafe_code)]

pub mod access;
pub mod admin;
pub mod body;
pub mod client;
pub mod coding;
pub mod completion;
pub mod connection;
pub mod docs;
pub mod fixed;
pub mod freshness;
pub mod gate;
pub mod graphql;
pub mod handlers;
pub mod head;
pub mod legacy;
pub mod library;
pub mod limits;
pub mod log;
pub mod metrics;
pub mod openapi;
pub mod options;
pub mod page;
pub mod parameters;
pub mod path;
pub mod query;
pub mod reply;
pub mod room;
pub mod routes;
pub mod serve;
pub mod service;
pub mod takedowns;
pub mod trouble;
pub mod turns;
