//! Requests before their answers: heads that HTTP forbids, bodies, and the addresses of clients.
//!
//! Imports no other folder.

pub(crate) mod body;
pub(crate) mod client_address;
pub(crate) mod head;
