//! Text for a terminal: escaped paths and messages, and progress bars.
//!
//! The lowest folder of the compiler; it imports no other.

pub(crate) mod escape;
pub(crate) mod progress;
