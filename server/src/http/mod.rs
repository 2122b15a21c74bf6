//! HTTP messages, apart from any route: heads, paths, parameters and bodies of requests; replies, their
//! ETags and content codings; bodies that the binary holds.
//!
//! It imports no other folder.

pub(crate) mod accept;
pub(crate) mod body;
pub(crate) mod client_address;
pub(crate) mod coding;
pub(crate) mod etag;
pub(crate) mod head;
pub(crate) mod named_snapshot;
pub(crate) mod parameters;
pub(crate) mod path;
pub(crate) mod pieces;
pub(crate) mod reply;
pub(crate) mod static_body;
pub(crate) mod static_page;
