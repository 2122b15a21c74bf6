//! The row of a path: its limits, metrics, plan, form of errors, and part of the OpenAPI document.

use std::fmt;

use http::Method;
use pinakes_format::entity::Facts;
use pinakes_format::storage::ReadError;
use serde_json::Value;

use crate::define::charge::Charge;
use crate::define::path::RoutePath;
use crate::define::plan::Plan;
use crate::define::settings::Settings;
use crate::openapi::Document;
use crate::reply::Reply;
use crate::request::READ_METHODS;
use crate::request::body::{BODY_BYTES_MAX, Posted};

/// A path of the interface, or one path for each of some lists.
pub struct Endpoint {
    /// The path as the OpenAPI document has it. A name in braces stands for any segment, except for three:
    /// `{list}` is the path of each list of `lists`, `{file}` a segment with a dot, `{identifier}` the rest of the
    /// path.
    pub path: &'static str,
    /// The lists that `{list}` stands for.
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
    /// Gives every error the form that clients of the path read, whoever made the error.
    pub errors: ErrorForm,
    /// Checks a request, and finishes the reply or returns the work that is left.
    pub plan: Plan,
    /// Describes the path for the OpenAPI document; `None` for a path that the document leaves out.
    pub describe: Option<Describe>,
}

/// Makes the path item of a path, and defines the schemas that the item refers to.
pub type Describe = fn(&RoutePath, &mut Document<'_>) -> Result<Value, ReadError>;

/// Gives a reply the form that the clients of a path read.
pub type ErrorForm = fn(Reply, &Reader<'_>) -> Reply;

/// The request that an error answers.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    /// `GET`, or another method.
    pub method: &'a Method,
    /// The body, as far as it was read.
    pub posted: Option<Posted<'a>>,
    /// Options of the host.
    pub settings: &'a Settings,
}

/// The lists that `{list}` stands for in a path.
#[derive(Clone, Copy, Debug)]
pub enum Lists {
    /// The path has no `{list}`.
    None,
    /// The lists of some entities.
    Of(fn(&Facts) -> bool),
    /// The lists of the legacy variant.
    Legacy,
}

impl Endpoint {
    /// An undocumented endpoint that reads, with a label of its own for each path, and errors of the interface.
    pub(crate) const fn new(path: &'static str, charge: Charge, plan: Plan) -> Endpoint {
        Endpoint {
            path,
            lists: Lists::None,
            label: None,
            methods: READ_METHODS,
            body_bytes_max: BODY_BYTES_MAX,
            needs_snapshot: true,
            charge,
            errors: |reply, _| reply,
            plan,
            describe: None,
        }
    }

    /// Whether the path takes a method.
    pub fn takes(&self, method: &Method) -> bool {
        self.methods.split(", ").any(|known| known == method.as_str())
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint").field("path", &self.path).finish_non_exhaustive()
    }
}
