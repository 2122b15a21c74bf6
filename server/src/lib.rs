//! The server of Pinakes: answers the interface from a mapped snapshot.
//!
//! A connection is accepted by [`serve`] and handed through warp to the [`service`]; [`head`] looks at
//! what HTTP demands, the [`gate`] at who asks and how often, [`routes`] knows every path there is, and a handler turns a checked request
//! into a [`reply`]. No module knows an entity by name:
//! what differs between them is in the catalog of `pinakes_format`.

#![forbid(unsafe_code)]

pub mod client;
pub mod completion;
pub mod gate;
pub mod handlers;
pub mod head;
pub mod library;
pub mod limits;
pub mod options;
pub mod parameters;
pub mod path;
pub mod query;
pub mod reply;
pub mod routes;
pub mod serve;
pub mod service;
pub mod target;
