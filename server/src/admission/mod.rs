//! Admission: rate limits of each client, and limits on concurrent work and on unsent replies.
//!
//! [`gate`] identifies the client and counts its request against [`limits`]; [`concurrency`] bounds how
//! much work and memory one client and all clients use. It may import `http`.

pub(crate) mod concurrency;
pub(crate) mod gate;
pub(crate) mod limits;
