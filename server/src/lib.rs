//! The Pinakes server: answers REST and GraphQL requests from a memory-mapped snapshot.
//!
//! A request passes the folders in this order:
//!
//! 1. [`net`] accepts the connection, bounds it and reads the request.
//! 2. [`serve`] asks [`admission`] whether the client may proceed, finds the endpoint, and chooses a thread.
//! 3. The crate `pinakes_answer` makes the reply from a snapshot that [`snapshots`] keeps open.
//! 4. [`net`] sends the reply.
//!
//! [`run`](mod@run) starts and stops the process; [`stdio`] answers over standard input and output instead. [`ops`] serves
//! operators: log, metrics and the admin address. Each folder imports only folders to its left:
//!
//! ```text
//! event_counts, process_clock < http < admission < net, snapshots < serve < ops < run < stdio, options < cli
//! ```
//!
//! Tests, fuzz targets and benchmarks call single parts through [`parts`].

#![forbid(unsafe_code)]

pub(crate) mod admission;
pub(crate) mod cli;
pub(crate) mod event_counts;
pub(crate) mod http;
pub(crate) mod net;
pub(crate) mod ops;
pub(crate) mod options;
pub(crate) mod process_clock;
pub(crate) mod run;
pub(crate) mod serve;
pub(crate) mod snapshots;
pub(crate) mod stdio;
pub(crate) mod upstream;

pub use cli::{Cli, CliError, print, write_manual};
pub use ops::log::{DroppedLines, start_log};
pub use options::Options;
pub use run::run;
pub use serve::Service;
pub use snapshots::manager::{SnapshotManager, SnapshotSource};
pub use snapshots::open::OpenOptions;
pub use snapshots::suppression::SuppressionListFile;
pub use stdio::converse;

/// Parts of the server, for callers that run them without a process.
pub mod parts {
    pub use crate::admission::gate::{Gate, Peer};
    pub use crate::admission::limits::counts_file::FileError;
    pub use crate::admission::limits::{Clock, ClockReading, Limits, RateLimiter, SystemClock};
    pub use crate::http::client_address::{Client, ClientResolver, ForwardingHeader};
    pub use crate::net::connection::{ConnectionSettings, Preface, Timeouts};
    pub use crate::net::handler::Handler;
    pub use crate::net::limiter::ConnectionLimiter;
    pub use crate::net::proxy_protocol::read_header as read_proxy_header;
    pub use crate::net::tls::Certificate;
    pub use crate::process_clock::PROCESS_CLOCK;
    pub use crate::serve::ServiceSettings;
    pub use crate::serve::traffic::Traffic;
    pub use redis::Client as StoreClient;

    /// Connections to the service.
    pub type Connections = crate::net::connection::Connections<crate::serve::Service>;
}
