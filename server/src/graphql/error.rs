//! What is wrong with a question, in the shape GraphQL gives it, and never longer than a screen.

use apollo_compiler::{
    diagnostic::ToCliReport,
    parser::{SourceMap, SourceSpan},
    request::RequestError,
    validation::DiagnosticList,
};
use serde::Serialize;

use crate::graphql::error_path::Step;
use crate::http::parameters::Detail;
use crate::http::path::cut;

/// What is told of a question that cannot be asked; the first errors are what a reader needs.
const ERRORS_MAX: usize = 3;
/// Parts of an answer whose errors are told.
pub const PARTS_MAX: usize = 10;
/// Bytes of a message.
const MESSAGE_BYTES_MAX: usize = 200;

/// One error of an answer.
#[derive(Clone, Debug, Serialize)]
pub struct Error {
    /// What is wrong.
    pub message: String,
    /// Where in the question's text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub locations: Vec<Location>,
    /// Where in the answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<Step>,
    /// What REST says beside its message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Extensions>,
}

/// A place in a question's text.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Location {
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
}

/// What REST says beside its message.
#[derive(Clone, Debug, Serialize)]
pub struct Extensions {
    /// What is wrong with each parameter.
    pub details: Vec<Detail>,
}

impl Error {
    /// An error of the whole question.
    pub fn new(message: impl AsRef<str>) -> Error {
        let message = cut(message.as_ref(), MESSAGE_BYTES_MAX);
        Error { message, locations: Vec::new(), path: Vec::new(), extensions: None }
    }

    /// That an answer would have more bytes than it may.
    pub fn too_long(bytes_max: usize) -> Error {
        Error::new(format!("comes to more than {bytes_max} bytes; ask for less, or in parts"))
    }

    /// The same, at a place in the question's text.
    pub fn at(self, span: Option<SourceSpan>, sources: &SourceMap) -> Error {
        let place = span.and_then(|span| span.line_column(sources));
        let locations = place.map(|place| Location { line: place.line, column: place.column });
        Error { locations: locations.into_iter().collect(), ..self }
    }

    /// The same, at a place in the answer.
    pub fn of(self, path: Vec<Step>) -> Error {
        Error { path, ..self }
    }

    /// The same, with what is wrong with each parameter.
    pub fn with(self, details: Vec<Detail>) -> Error {
        Error { extensions: Some(Extensions { details }), ..self }
    }
}

/// The first of what a document that cannot be asked is wrong with.
pub fn of_diagnostics(diagnostics: &DiagnosticList) -> Vec<Error> {
    let first = diagnostics.iter().take(ERRORS_MAX);
    first
        .map(|found| Error::new(found.error.to_string()).at(found.error.location(), found.sources))
        .collect()
}

/// What an operation or its variables are wrong with.
pub fn of_request(error: &RequestError, sources: &SourceMap) -> Vec<Error> {
    vec![Error::new(error.message().to_string()).at(error.location(), sources)]
}
