//! Panics of the `parquet` crate, turned into errors of the part.
//!
//! The crate checks most of what it reads. Where it does not, a damaged page may end in a failed
//! assertion, which must cost the part and not the run.

use std::{
    cell::Cell,
    panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook},
    sync::Once,
};

use crate::read::parquet::fault::ParquetFault;

thread_local! {
    static IS_QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Calls `read`; a panic is a fault of the file, and prints nothing.
///
/// The caller drops what `read` changed, so that no half-changed value is used after a panic.
pub(super) fn catch_panic<T>(read: impl FnOnce() -> T) -> Result<T, ParquetFault> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            if !IS_QUIET.get() {
                before(panic);
            }
        }));
    });
    IS_QUIET.set(true);
    let read = catch_unwind(AssertUnwindSafe(read));
    IS_QUIET.set(false);
    read.map_err(|_| ParquetFault::Page("its pages contradict each other".into()))
}
