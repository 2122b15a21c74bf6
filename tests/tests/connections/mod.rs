//! Connections in the test process: slow clients, TLS and the PROXY protocol.
//!
//! Small pipes replace sockets. The clock is simulated and advances only while all tasks wait.

mod bench;
mod proxies;
mod times;
mod tls;
