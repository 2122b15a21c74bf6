//! The server of Pinakes: answers the interface from a mapped snapshot.
//!
//! A request passes the folders in this order. [`net`] accepts connections, times them and bounds them.
//! [`admission`] counts the client's requests and limits concurrent work. [`http`] reads a request's head,
//! path and parameters and writes replies. [`api`] routes the request and runs its handler on a snapshot of
//! [`snapshots`]. [`graphql`] and [`openapi`] are interfaces of their own, and [`ops`] holds what operators
//! use: log, metrics and the admin address.
//!
//! Entities differ by data in the catalog of `pinakes_format`.
//!
//! The library serves the program `pinakes-server`. Tests, fuzz targets and benchmarks call single parts
//! through [`parts`].

#![forbid(unsafe_code)]

pub(crate) mod admission;
pub(crate) mod api;
pub(crate) mod graphql;
pub(crate) mod http;
pub(crate) mod net;
pub(crate) mod openapi;
pub(crate) mod ops;
pub(crate) mod options;
pub(crate) mod snapshots;

pub use api::service::Service;
pub use net::accept::{LostLines, run};
pub use ops::log::begin as begin_log;
pub use options::{Options, Place};
pub use snapshots::library::{Handling, Library};
pub use snapshots::suppression::Takedowns;

/// Parts of the server, for callers that run them without a process.
pub mod parts {
    pub use crate::admission::gate::{Gate, Peer};
    pub use crate::admission::limits::file::FileError;
    pub use crate::admission::limits::{Clock, Counters, Daily, Limits, Moment, System};
    pub use crate::api::autocomplete_query::{Refused, parse as parse_autocomplete_query};
    pub use crate::api::list_query::parse as parse_list_query;
    pub use crate::api::routes::template::Template;
    pub use crate::api::routes::{Bounds, Route, find};
    pub use crate::graphql::document::Asking;
    pub use crate::graphql::field::{Field, Way};
    pub use crate::graphql::options::Settings;
    pub use crate::graphql::types::Object;
    pub use crate::graphql::{Outcome, respond, types};
    pub use crate::http::coding::encode::{CODED_BYTES_MIN, encode_at, level};
    pub use crate::http::coding::{Accepted, Coding};
    pub use crate::http::parameters::{DETAILS_MAX, Detail};
    pub use crate::http::path::{decode, echo, echo_path, segments};
    pub use crate::http::reply::Stamp;
    pub use crate::net::client_address::{Clients, ForwardedBy};
    pub use crate::net::connection::{Certificate, Connections, Places, Preface, Timeouts};
    pub use crate::net::proxy_protocol::read as read_proxy_header;
    pub use crate::ops::metrics::traffic::Traffic;
}
