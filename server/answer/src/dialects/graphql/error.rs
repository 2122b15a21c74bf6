//! Errors in the shape that GraphQL defines, with bounded messages and a bounded number of them.

use apollo_compiler::diagnostic::ToCliReport;
use apollo_compiler::parser::{SourceMap, SourceSpan};
use apollo_compiler::request::RequestError;
use apollo_compiler::validation::DiagnosticList;
use serde::Serialize;

use crate::dialects::graphql::error_path::PathSegment;
use crate::reply::{Detail, truncate};

/// Errors in the reply to an invalid document.
const DOCUMENT_ERRORS_MAX: usize = 3;
/// Field errors in an answer.
pub const FIELD_ERRORS_MAX: usize = 10;
const MESSAGE_BYTES_MAX: usize = 200;

/// One element of `errors`.
#[derive(Clone, Debug, Serialize)]
pub struct Error {
    pub message: String,
    /// Positions in the document.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub locations: Vec<Location>,
    /// The value of the answer that the error concerns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<PathSegment>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Extensions>,
}

/// A position in the document; line and column count from 1, columns in characters.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Location {
    pub line: usize,
    pub column: usize,
}

/// The `details` that a REST reply has for the same invalid parameters.
#[derive(Clone, Debug, Serialize)]
pub struct Extensions {
    pub details: Vec<Detail>,
}

impl Error {
    /// An error without location and path; cuts the message.
    pub fn new(message: impl AsRef<str>) -> Error {
        let message = truncate(message.as_ref(), MESSAGE_BYTES_MAX);
        Error { message, locations: Vec::new(), path: Vec::new(), extensions: None }
    }

    /// The error of an answer that exceeds the limit of bytes.
    pub fn too_long(bytes_max: usize) -> Error {
        Error::new(format!("comes to more than {bytes_max} bytes; ask for less, or in parts"))
    }

    /// Sets the location from a position in the document.
    pub fn at(self, span: Option<SourceSpan>, sources: &SourceMap) -> Error {
        let position = span.and_then(|span| span.line_column(sources));
        let location = position.map(|start| Location { line: start.line, column: start.column });
        Error { locations: location.into_iter().collect(), ..self }
    }

    /// Sets the path.
    pub fn with_path(self, path: Vec<PathSegment>) -> Error {
        Error { path, ..self }
    }

    /// Sets the details of invalid parameters.
    pub fn with_details(self, details: Vec<Detail>) -> Error {
        Error { extensions: Some(Extensions { details }), ..self }
    }
}

/// The first errors of a document that does not parse or validate.
pub fn from_diagnostics(diagnostics: &DiagnosticList) -> Vec<Error> {
    let first = diagnostics.iter().take(DOCUMENT_ERRORS_MAX);
    first
        .map(|found| Error::new(found.error.to_string()).at(found.error.location(), found.sources))
        .collect()
}

/// The error of an operation name or of variables.
pub fn from_request_error(error: &RequestError, sources: &SourceMap) -> Vec<Error> {
    vec![Error::new(error.message().to_string()).at(error.location(), sources)]
}
