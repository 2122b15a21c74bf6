//! Servers that share their limits: one client at two servers, a store that stops or starts again, clocks that
//! differ.

mod clocks;
mod servers;
mod store;
