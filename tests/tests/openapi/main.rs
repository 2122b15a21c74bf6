//! Tests of `/openapi.json`: the document was reviewed, and the server's replies agree with it.

#![allow(clippy::unwrap_used, missing_docs)]

mod document;
mod examples;
mod official;
mod records;
