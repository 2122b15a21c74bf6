//! The compiler as its users run it: the same bytes every time, an accounting that closes, and
//! bad input that ends in the exit code promised with nothing published.

#![allow(clippy::unwrap_used, missing_docs)]

#[path = "compiler/accounting.rs"]
mod accounting;
#[path = "compiler/containers.rs"]
mod containers;
#[path = "compiler/inputs.rs"]
mod inputs;
#[path = "compiler/lines.rs"]
mod lines;
#[path = "compiler/manifests.rs"]
mod manifests;
#[path = "compiler/output.rs"]
mod output;
#[path = "compiler/run.rs"]
mod run;
#[path = "compiler/same_bytes.rs"]
mod same_bytes;
