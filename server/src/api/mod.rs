//! The REST interface: routes, parameters and handlers.
//!
//! - [`route`] finds the route of a path, and [`route_template`] names routes in metrics.
//! - [`request`] is a request as handlers read it.
//! - [`list_query`] and [`autocomplete_query`] parse parameters; [`work_limits`] bounds the work.
//! - [`page_rows`] renders the records of a page, whole or in pieces, [`list_stream`] those of a whole list, and
//!   [`sums`] groups and statistics.
//! - [`handlers`] answers the current routes and [`legacy`] the routes under `/legacy`; [`docs`] is the
//!   documentation page.
//!
//! The folder may import `admission`, `http`, `snapshots` and the event counters.

pub(crate) mod autocomplete_query;
pub(crate) mod changes;
pub(crate) mod docs;
pub(crate) mod handlers;
pub(crate) mod legacy;
pub(crate) mod list_query;
pub(crate) mod list_stream;
pub(crate) mod page_rows;
pub(crate) mod request;
pub(crate) mod resolve;
pub(crate) mod route;
pub(crate) mod route_template;
pub(crate) mod sums;
pub(crate) mod work_limits;
