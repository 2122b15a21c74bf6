//! The parts of a request: its path, parameters, headers and body, read but not checked.
//!
//! Imports `reply`.

pub(crate) mod accept;
pub(crate) mod body;
pub(crate) mod named_snapshot;
pub(crate) mod parameters;
pub(crate) mod path;

use http::Method;

/// Methods of paths that read.
pub const READ_METHODS: &str = "GET, HEAD, OPTIONS";
/// Methods of paths that take a body.
pub const POST_METHODS: &str = "POST, OPTIONS";
/// Methods of paths that read, and take a body for more of the same.
pub const READ_AND_POST_METHODS: &str = "GET, HEAD, POST, OPTIONS";

/// The method as messages name it: `GET` for `HEAD`.
pub fn method_word(method: &Method) -> &str {
    if *method == Method::HEAD { "GET" } else { method.as_str() }
}
