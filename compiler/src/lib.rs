//! The compiler of Pinakes: it builds a snapshot from dumps of scholarly metadata.
//!
//! A build has two stages. The compile stage turns each input part into an object, cached by
//! content. The link stage turns objects into a published snapshot. Both stages stream within
//! `--memory`. The bytes of a snapshot depend on the inputs alone.
//!
//! The program `pinakes-compiler` calls [`run`]. Fuzz targets and benchmarks call single stages
//! through [`stages`].

#![forbid(unsafe_code)]

/// Writes a line to standard error, as the macro of the standard library does. A reader that is gone changes nothing: `2>&1 |
/// head` must not end a build.
macro_rules! eprintln {
    ($($part:tt)*) => {{
        let _ = std::io::Write::write_fmt(
            &mut std::io::stderr(),
            format_args!("{}\n", format_args!($($part)*)),
        );
    }};
}

/// Like [`eprintln`], without the end of the line.
macro_rules! eprint {
    ($($part:tt)*) => {{
        let _ = std::io::Write::write_fmt(&mut std::io::stderr(), format_args!($($part)*));
    }};
}

pub(crate) mod cli;
pub(crate) mod compile;
pub(crate) mod diff;
pub(crate) mod drift;
pub(crate) mod error;
pub(crate) mod export;
pub(crate) mod external_sort;
pub(crate) mod frontend;
pub(crate) mod link;
pub(crate) mod matching;
pub(crate) mod mirror;
pub(crate) mod object;
pub(crate) mod parallel;
pub(crate) mod plan;
pub(crate) mod read;
pub(crate) mod remote;
pub(crate) mod report;
pub(crate) mod store;
pub(crate) mod terminal;

pub use cli::{Cli, run};
pub use error::Error;
pub use store::interrupt::{handle_signals, wait_for_signal_exit};
pub use terminal::escape::escape_message;

/// Single stages of a build, for fuzz targets and benchmarks.
pub mod stages {
    pub use crate::compile::bounds::{decode_only, parse_only};
    pub use crate::compile::compile;
    pub use crate::compile::input::{ManifestPolicy, Part, find};
    pub use crate::link::{UnchangedSource, link, publish};
    pub use crate::object::{Check, ObjectStore};
    pub use crate::read::limits::ReadLimits;
    pub use crate::store::lock_output;
    pub use crate::terminal::progress::Progress;
    pub use pinakes_store::directory::remove_tree;
}
