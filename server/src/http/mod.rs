//! `http`.

pub(crate) mod body;
pub(crate) mod buffer_pool;
pub(crate) mod coding;
pub(crate) mod etag;
pub(crate) mod head;
pub(crate) mod parameters;
pub(crate) mod path;
pub(crate) mod reply;
pub(crate) mod static_body;
pub(crate) mod static_page;
