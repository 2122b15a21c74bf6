//! Text for a terminal: escaped paths and messages, and progress bars.
//!
//! Imports no other folder.

pub(crate) mod progress;

pub(crate) use pinakes_remote::escape;
