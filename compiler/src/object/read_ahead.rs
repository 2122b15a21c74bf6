//! Reading objects ahead of their readers.
//!
//! The linker reads some thousand segments at a time, each front to back. By default the system answers an access
//! with up to megabytes around it. If memory has no room for such a piece of each segment, the same bytes are read
//! again and again. The linker therefore lets the system read single pages, and asks for the bytes that follow itself:
//!
//! ```text
//! window    0          1          2          3
//!           ├──read────┼───▲······┼──────────┤      the reader crosses into window 1: window 2 is asked for
//! ```

use std::ops::Range;

use pinakes_format::storage::mmap::Map;

/// Bytes of one request. Two windows of each segment are in memory.
const WINDOW_BYTES: usize = 128 << 10;

/// Asks the system for bytes of an object before they are read.
#[derive(Clone, Copy)]
pub struct ReadAhead<'a>(Option<&'a Map>);

impl<'a> ReadAhead<'a> {
    /// Reads ahead in `map`; without one, never.
    pub fn new(map: Option<&'a Map>) -> ReadAhead<'a> {
        ReadAhead(map)
    }

    /// Asks for bytes, which are a part of the map.
    pub fn start(self, bytes: &[u8]) {
        let Some(map) = self.0 else { return };
        if let Some(from) = bytes.as_ptr().addr().checked_sub(map.as_ptr().addr()) {
            map.read_ahead(from..from + bytes.len());
        }
    }

    /// Asks for the bytes that follow, as often as a reader of `all` from front to back enters another window.
    /// The reader is at `from`, and reads so many `bytes`.
    pub fn follow(self, all: &[u8], from: usize, bytes: usize) {
        let windows = windows_ahead(from, bytes);
        if !windows.is_empty() {
            let byte = |window: usize| window.saturating_mul(WINDOW_BYTES).min(all.len());
            self.start(&all[byte(windows.start)..byte(windows.end)]);
        }
    }
}

/// The windows to ask for before so many `bytes` at `from` are read. A reader asks for the window in which its bytes
/// end and for the next one, but for none twice.
fn windows_ahead(from: usize, bytes: usize) -> Range<usize> {
    let (first, last) = (from / WINDOW_BYTES, from.saturating_add(bytes) / WINDOW_BYTES);
    if from == 0 { 0..last + 2 } else { first + 2..last + 2 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_window_is_asked_for_once_before_the_reader_is_there() {
        for sizes in
            [&[1_300][..], &[WINDOW_BYTES], &[5, 3 * WINDOW_BYTES + 1, 1, 7 * WINDOW_BYTES]]
        {
            let (mut from, mut asked) = (0, 0);
            for bytes in sizes.iter().cycle().take(1_000) {
                let windows = windows_ahead(from, *bytes);
                assert!(windows.is_empty() || windows.start == asked, "{windows:?} at {from}");
                asked = asked.max(windows.end);
                from += bytes;
                assert!((from - 1) / WINDOW_BYTES < asked, "{from}");
            }
            assert!(asked <= from / WINDOW_BYTES + 2);
        }
    }
}
