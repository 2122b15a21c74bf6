//! A mirror that serves before it has the snapshot: chunks are fetched when requests touch them.
//!
//! ```text
//! request ─► work ─► a chunk is absent ─► the work is done again, and notes all that is absent ─► transfers, at once
//!                        ▲                                                                              │
//!                        └───────────── again, while the request has time ◄──── verified, written ◄─────┘
//! ```
//!
//! - [`hosts`] are the mirrors that may send a chunk, the fastest first.
//! - [`transfers`] fetches what a request lacks, and writes what has the right hash.
//! - [`follow`] looks for newer publications, and fills the snapshot; [`cache`] bounds its disk space.
//!
//! The crate `pinakes-store` has the directory, and makes the files of a published snapshot of which nothing is here yet.
//!
//! A chunk that is damaged on the disk is fetched as an absent one is, and written over.
//!
//! Imports no other folder.

pub(crate) mod cache;
pub(crate) mod follow;
pub(crate) mod hosts;
pub(crate) mod transfers;
