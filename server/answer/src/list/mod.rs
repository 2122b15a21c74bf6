//! `/outputs` and the lists of the other entities: a page, groups, statistics, linked records, or a whole stream.
//!
//! - [`query`] parses the query of a URL, of the [`parameters`], which [`parameter_docs`] describes.
//! - [`page`] answers a page of records, which [`rows`] renders whole or in pieces, and [`stream`] a whole list.
//! - [`groups`] answers a page of the groups of a list, and [`group_stream`] all of them; [`statistics`] sums a list up, and
//!   [`values`] prints values of both.
//! - [`elsewhere`] names the key or the list to which a refused value of a filter belongs.
//! - [`feed`] has the newest records as a feed.
//! - [`linked`] has the lists of the outputs that an output refers to, or that refer to it.
//! - [`search_form`] answers a list whose query no URL holds.
//!
//! Imports `define`, `openapi`, `record`, `reply`, `request`.

mod elsewhere;
pub(crate) mod feed;
mod group_stream;
pub(crate) mod groups;
pub(crate) mod linked;
pub(crate) mod page;
mod parameter_docs;
pub(crate) mod parameters;
pub(crate) mod query;
pub(crate) mod rows;
pub(crate) mod search_form;
pub(crate) mod statistics;
pub(crate) mod stream;
pub(crate) mod values;
