//! Pinakes in WebAssembly: answers requests from a publication whose files lie on a host of plain files.
//!
//! - [`clock`] has the time that JavaScript gives, [`seeds`] the seeds of hash maps.
//! - [`opened`] opens a publication, by its text, its signature and its manifest.
//! - [`host`] makes answers: an attempt ends with a reply, or with the ranges of files that it lacks.
//! - [`exports`] are the functions that `web/pinakes.js` calls.
//!
//! The module opens no socket and starts no thread. It asks for ranges, and verifies what it is given.

mod clock;
mod exports;
mod host;
mod opened;
mod seeds;
