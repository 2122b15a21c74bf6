//! The second stage of a build: links objects into a published snapshot.
//!
//! ```text
//! &[&Object]        object::Object              one per input part: segments of keys, records, symbols
//!   → EntityRows    merge::entity_rows          the picked copy of each record, in list order
//!   → Resolved      resolve::resolved           the row of every symbol of every segment
//!   → Renumbering   resolve::renumbering        --where and --suppress (select/): new row numbers
//!   → SideTables    enrich::tables::SideTables  rows of DOAJ, ROR, ORCID … by join key
//!   → Changes       previous::compare           what differs from the current snapshot
//!   → LinkedRecord  record::linker              one record: symbols replaced by rows, completed
//!   → ResolvedReferences  citations             the rows that each output refers to
//!   → WrittenFile   write/, index/              archives and indexes of every entity
//!   → Manifest      write::manifest             report, hash tree and manifest of all files
//!   → Published     publish                     checked, moved to the output, made current
//! ```
//!
//! `stages` runs these steps in order. Only keys are sorted; each record is read and written once. Folders import in one
//! direction: merge < resolve < enrich < record < select < write < previous < index < citations < stages. The files of
//! this folder that all of them share are `atomic_bitset`, `column`, `context`, `radix_sort`, `selection`, `take_over`,
//! `tally` and `taxonomy`. `forecast` estimates a link before it begins, and `reuse` finds out that none is needed.
//!
//! Imports `error`, `external_sort`, `frontend`, `object`, `parallel`, `read`, `store`, `terminal`.

pub(crate) mod atomic_bitset;
pub(crate) mod citations;
pub(crate) mod column;
pub(crate) mod context;
pub(crate) mod enrich;
pub(crate) mod forecast;
pub(crate) mod index;
pub(crate) mod merge;
pub(crate) mod previous;
pub(crate) mod publish;
pub(crate) mod radix_sort;
pub(crate) mod record;
pub(crate) mod resolve;
pub(crate) mod reuse;
pub(crate) mod select;
pub(crate) mod selection;
pub(crate) mod stages;
pub(crate) mod take_over;
pub(crate) mod tally;
pub(crate) mod taxonomy;
pub(crate) mod write;

pub use crate::link::previous::UnchangedSource;
pub use crate::link::publish::{
    Published, link_snapshot, publish, publish_directory, refuse_shrinking,
};
pub use crate::link::stages::link;
pub use crate::link::take_over::NotTakenOver;
pub use crate::link::tally::{SideTally, Tally};
