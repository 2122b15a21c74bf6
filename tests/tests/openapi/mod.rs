//! Tests of `/openapi.json`: the document was reviewed, and the server's replies agree with it.

mod document;
mod examples;
mod official;
mod records;
