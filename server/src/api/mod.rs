//! `api`.

pub(crate) mod autocomplete_query;
pub(crate) mod docs;
pub(crate) mod handlers;
pub(crate) mod legacy;
pub(crate) mod list_query;
pub(crate) mod request;
pub(crate) mod route;
pub(crate) mod route_template;
