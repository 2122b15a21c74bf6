//! The server process over HTTP, with snapshots of the sample.
//!
//! The area covers routes, statuses, headers, limits, damage and changes of the snapshot. Slow
//! clients, TLS and the PROXY protocol are in `connections`, which simulates the clock.

mod autocomplete;
mod autocomplete_replies;
mod bounds;
mod changes;
mod codings;
mod costs;
mod damage;
mod edge;
mod hosts;
mod legacy;
mod limits;
mod lists;
mod named_snapshots;
mod names;
mod pages;
mod paths;
mod process;
mod protocol;
mod records;
mod resolve;
mod swap;
mod unresolved;
