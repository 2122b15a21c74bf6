//! Text for a terminal: escaped paths and messages, and progress bars.
//!
//! Imports `parallel`.

pub(crate) mod progress;

pub(crate) use pinakes_remote::escape;
