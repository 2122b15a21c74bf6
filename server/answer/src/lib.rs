//! Answers: from a request over an open snapshot to a reply, in any host.
//!
//! The crate knows no socket, no thread, no runtime, no file but the snapshot, and no clock but the one that its host
//! gives ([`Host`]). [`Answerer`] says what a host calls. Folders import only folders to their left, and files of a folder
//! only each other in one direction:
//!
//! ```text
//! clock < reply < request < openapi < define < referring < complete < record < list < matching, changes
//!       < pages < reconcile, dialects < meta < table < answerer
//! ```
//!
//! - [`reply`] is status, headers and body; [`request`] reads paths, parameters and bodies.
//! - [`openapi`] has the parts of the document.
//! - [`define`] says what an endpoint is; [`table`] has all of them.

#![forbid(unsafe_code)]

pub(crate) mod answerer;
pub(crate) mod changes;
pub(crate) mod clock;
pub(crate) mod complete;
pub(crate) mod define;
pub(crate) mod dialects;
pub(crate) mod list;
pub(crate) mod matching;
pub(crate) mod meta;
pub(crate) mod openapi;
pub(crate) mod pages;
pub(crate) mod reconcile;
pub(crate) mod record;
pub(crate) mod referring;
pub(crate) mod reply;
pub(crate) mod request;
pub(crate) mod table;

pub use answerer::{Answerer, Attempt};
pub use changes::not_open;
pub use clock::{Clock, HostClock, PassedLimit, WorkClock};
pub use define::call::{Asked, Call, Caller};
pub use define::charge::{Charge, Quota, QuotaClass, Quotas, RECORDS_PER_REQUEST};
pub use define::endpoint::Endpoint;
pub use define::failure::Failure;
pub use define::host::HealthIssue;
pub use define::host::{Event, GraphqlOutcome, Host};
pub use define::plan::{Cost, Planned, Work};
pub use define::route::{Matched, Route};
pub use define::served::ServedSnapshot;
pub use define::settings::{Collection, GraphqlSettings, Settings};
pub use define::work_limits::Thread;
pub use dialects::mcp::MCP;
pub use dialects::mcp::rpc::{INVALID_REQUEST, Message, RpcError};
pub use dialects::openalex::address::entered;
pub use meta::service::{health_of, ready};
pub use reply::coding::Coding;
pub use reply::detail::{Detail, truncate};
pub use reply::etag::SnapshotHeaders;
pub use reply::pieces::{CodedPieces, PIECE_BYTES, PieceError};
pub use reply::{JSON, LIMIT_HEADERS, Reply, reason_phrase};
pub use request::body::{BODY_BYTES_MAX, Posted};
pub use request::named_snapshot::{NamedSnapshot, SURROGATE_KEY};
pub use request::path::echo_path;
pub use request::{READ_METHODS, method_word};
pub use table::{ENDPOINTS, charge, find, routes};

/// Parts of the answerer, for callers that run them without a request.
pub mod parts {
    pub use crate::complete::query::{TextError, parse as parse_autocomplete_query};
    pub use crate::dialects::graphql::document::GraphqlRequest;
    pub use crate::dialects::graphql::field::{Field, FieldSource};
    pub use crate::dialects::graphql::types::ObjectType;
    pub use crate::dialects::graphql::{Outcome, respond, types};
    pub use crate::list::query::{ListRequest, parse as parse_list_query};
    pub use crate::reply::coding::AcceptedCodings;
    pub use crate::reply::coding::encode::{CODED_BYTES_MIN, encode_at, level};
    pub use crate::reply::detail::DETAILS_MAX;
    pub use crate::request::path::{decode, echo, segments};
}
