//! The description of the interface: reviewed as it is served, and true of what is answered.

#![allow(clippy::unwrap_used, missing_docs)]

mod document;
mod examples;
mod official;
mod records;
