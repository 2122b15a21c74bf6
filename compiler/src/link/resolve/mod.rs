//! Resolving: turns every symbol of every segment into a row number.
//!
//! Takes the rows of the merge and the symbol tables of the segments. Gives [`resolved::ResolvedSymbols`],
//! the row of each symbol, and the unresolved symbols, which get rows after the records. Also holds
//! the renumbering of a subset, the taxonomy as a tree of rows, and the differences from the previous snapshot.
//!
//! Imports `link/{atomic_bitset, column, context, merge, taxonomy}`.

pub(crate) mod changes;
pub(crate) mod renumbering;
pub(crate) mod resolved;
pub(crate) mod taxonomy_tree;
pub(crate) mod unresolved;
