//! The server of Pinakes: answers the interface from a mapped snapshot.
//!
//! A connection is accepted by [`serve`], handed through warp to [`routes`], which knows every path
//! there is; a handler turns a checked request into a [`reply`]. No module knows an entity by name:
//! what differs between them is in the catalog of `pinakes_format`.

#![forbid(unsafe_code)]

pub mod handlers;
pub mod head;
pub mod library;
pub mod options;
pub mod path;
pub mod query;
pub mod reply;
pub mod routes;
pub mod serve;
