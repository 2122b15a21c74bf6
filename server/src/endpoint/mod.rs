//! The capabilities of the server, one file each, and the table of them.
//!
//! An [`Endpoint`] has everything that the server knows of a path: routing ([`routes`]), limits, labels of
//! metrics, the choice of a thread ([`call::Cost`]) and the OpenAPI document ([`openapi`]) all read [`ENDPOINTS`].
//! A new endpoint is a file and a row.
//!
//! ```text
//! path        /outputs/HX_W1                       routes: the row of the table, and the segment of the id
//! charge      a request of the minute              the limits, before anything else
//! plan        a valid id, no current reply         parameters are parsed once; nothing reads their text again
//! work        found, rendered                      on the thread that read the request, or on another
//! ```
//!
//! - [`call`] is a request and what an endpoint makes of it; [`site`] is what all endpoints share.
//! - [`list_query`] and [`complete_query`] parse parameters, [`list_parameters`] describes those of lists, and
//!   [`work_limits`] bounds the work.
//! - [`search_form`] answers a list whose query no URL holds.
//! - [`page_rows`] renders the records of a page, whole or in pieces, [`list_stream`] those of a whole list, and
//!   [`groups`] a page of the groups of a list, [`group_stream`] all of them. [`referring`] finds the lists that a name without a record stands in.
//!
//! Imports `admission`, `citation`, `event_counts`, `http`, `openapi`, `reply`, `snapshots`, `work_clock`.

pub(crate) mod browse;
pub(crate) mod call;
pub(crate) mod changes;
pub(crate) mod complete;
pub(crate) mod complete_query;
pub(crate) mod docs;
pub(crate) mod graphql;
pub(crate) mod group_stream;
pub(crate) mod groups;
pub(crate) mod legacy;
pub(crate) mod linked;
pub(crate) mod list;
pub(crate) mod list_parameters;
pub(crate) mod list_query;
pub(crate) mod list_stream;
pub(crate) mod matching;
pub(crate) mod mcp;
pub(crate) mod openalex;
pub(crate) mod openapi;
pub(crate) mod page_rows;
pub(crate) mod reconcile;
pub(crate) mod record;
pub(crate) mod referring;
pub(crate) mod resolve;
pub(crate) mod routes;
pub(crate) mod search_form;
pub(crate) mod service;
pub(crate) mod site;
pub(crate) mod statistics;
pub(crate) mod work_limits;

use http::Method;
use pinakes_format::entity::Facts;
use pinakes_format::storage::error::ReadError;

use crate::admission::gate::Charge;
use crate::admission::limits::Verdict;
use crate::endpoint::call::Plan;
use crate::endpoint::routes::Route;
use crate::http::body::BODY_BYTES_MAX;
use crate::http::head::READ_METHODS;
use crate::openapi::document::Document;
use crate::reply::Reply;

/// A path of the interface, or one path for each of some lists.
pub struct Endpoint {
    /// The path as the OpenAPI document has it. A name in braces stands for any segment, except for three:
    /// `{list}` is the path of each list of `lists`, `{file}` a segment with a dot, `{identifier}` the rest of the
    /// path.
    pub path: &'static str,
    pub lists: Lists,
    /// The label in metrics; `None` for the path of each list.
    pub label: Option<&'static str>,
    /// The methods that the path takes, as `Allow` lists them.
    pub methods: &'static str,
    /// The longest body of a POST. The memory for unsent replies also holds longer bodies than 64 KiB.
    pub body_bytes_max: usize,
    /// Whether every request is answered 503 while no snapshot is usable.
    pub needs_snapshot: bool,
    /// The limits that a request counts towards, whatever its outcome.
    pub charge: Charge,
    /// Makes the reply 429 to a request that a limit refused.
    pub refuse: fn(Verdict) -> Reply,
    /// Checks a request, and finishes the reply or returns the work that is left.
    pub plan: Plan,
    /// Adds the path to the OpenAPI document; `None` for a path that the document leaves out.
    pub describe: Option<Describe>,
}

/// Adds the path of a route to the document.
pub type Describe = fn(&Route, &mut Document<'_>) -> Result<(), ReadError>;

/// The lists that `{list}` stands for in a path.
#[derive(Clone, Copy)]
pub enum Lists {
    /// The path has no `{list}`.
    None,
    /// The lists of some entities.
    Of(fn(&Facts) -> bool),
    /// The lists of the legacy variant.
    Legacy,
}

impl Endpoint {
    /// An undocumented endpoint that reads, with a label of its own for each path.
    const fn new(path: &'static str, charge: Charge, plan: Plan) -> Endpoint {
        Endpoint {
            path,
            lists: Lists::None,
            label: None,
            methods: READ_METHODS,
            body_bytes_max: BODY_BYTES_MAX,
            needs_snapshot: true,
            charge,
            refuse: too_many,
            plan,
            describe: None,
        }
    }
}

impl Endpoint {
    /// Whether the path takes a method.
    pub fn takes(&self, method: &Method) -> bool {
        self.methods.split(", ").any(|known| known == method.as_str())
    }
}

/// The reply 429 to a request that a limit refused.
pub fn too_many(verdict: Verdict) -> Reply {
    let message = verdict.message().unwrap_or_default();
    Reply::too_many(message, verdict.reset_seconds(), Some(verdict.reset_at()))
}

/// Every endpoint, in the order of the OpenAPI document. Of two paths that fit a request, the first counts.
pub static ENDPOINTS: [Endpoint; 45] = [
    list::LIST,
    search_form::SEARCH,
    record::RECORD,
    linked::REFERENCES,
    linked::CITATIONS,
    statistics::STATISTICS,
    reconcile::RECONCILE,
    reconcile::SUGGEST,
    reconcile::PROPERTIES,
    reconcile::PREVIEW,
    resolve::RESOLVE,
    matching::MATCH,
    complete::OF_ALL,
    complete::OF_ONE,
    legacy::LIST,
    legacy::RECORD,
    graphql::OPERATION,
    mcp::MCP,
    openalex::TABLES,
    openalex::COMPLETE,
    openalex::COMPLETE_ONE,
    openalex::LIST,
    openalex::RECORD,
    changes::CHANGES,
    graphql::SCHEMA,
    graphql::PAGE,
    graphql::PAGE_PART,
    service::RATE_LIMIT,
    service::INDEX,
    service::HEALTH,
    service::READY,
    openapi::OPENAPI,
    docs::DOCS,
    docs::DOCS_PART,
    browse::HOME,
    browse::SEARCH,
    browse::COMPLETE,
    browse::COMPLETE_ONE,
    browse::TAXONOMY,
    browse::FILE,
    browse::LIST,
    browse::RECORD,
    browse::SITE_MAP,
    service::ROBOTS,
    service::LLMS,
];
