//! Admission: rate limits of each client, and limits on concurrent work and on unsent replies.
//!
//! [`gate`] identifies the client and counts its request against [`limits`]. [`fair_queue`] bounds
//! concurrent work, and [`reply_memory`] the memory for replies, of one client and of all; both count by
//! [`shares`].
//!
//! Imports `http`.

pub(crate) mod fair_queue;
pub(crate) mod gate;
pub(crate) mod limits;
pub(crate) mod reply_memory;
pub(crate) mod shares;
