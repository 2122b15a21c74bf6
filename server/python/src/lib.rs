//! The part of the Python package `pinakes` in Rust: a host of answers without sockets, and columns by Arrow's C interface.
//!
//! The package's Python files have what Python programs call; each class here is one of theirs without its form:
//!
//! - [`opened`] opens a snapshot in a directory, or one that a host publishes.
//! - [`calls`] lets other threads and interrupts in while an answer is made, also after a fork.
//! - [`host`] answers a request over it, and fetches the chunks that the answer lacks.
//! - [`snapshot`] is the class of both, [`pieces`] a body in pieces.
//! - [`columns`] gives a list, [`matches`] the matches of texts, to programs that read Arrow.
//! - [`errors`] raises the exceptions of `pinakes/_errors.py`.
//!
//! Every method lets other Python threads run while it reads, and threads may share each object. The crate denies unsafe code;
//! that of Python's and Arrow's interfaces is in PyO3 and `arrow-array`.

mod calls;
mod columns;
mod errors;
mod host;
mod matches;
mod opened;
mod pieces;
mod snapshot;

use pinakes_format::entity::{CATALOG, Facts};
use pinakes_format::matching::Question;
use pyo3::prelude::*;

/// The classes and the table of entities.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<snapshot::Snapshot>()?;
    module.add_class::<pieces::Pieces>()?;
    module.add_class::<columns::Columns>()?;
    module.add_class::<matches::Matches>()?;
    module.add("VERSION", env!("CARGO_PKG_VERSION"))?;
    // Each entity by its name and the path of its list, and whether texts are matched with its records.
    let row = |facts: &Facts| (facts.plural, facts.route, Question::is_about(facts.entity));
    let entities: Vec<(&str, &str, bool)> = CATALOG.iter().map(row).collect();
    module.add("ENTITIES", entities)
}
