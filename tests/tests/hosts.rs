//! The server and its doors: HTTP, pages, dialects, tools for agents, documents and examples.

#![allow(clippy::unwrap_used, missing_docs)]

mod browse;
mod connections;
mod examples;
mod graphql;
mod http;
mod mcp;
mod openalex;
mod openapi;
mod operations;
mod readme;
mod reconcile;
mod systemd;
