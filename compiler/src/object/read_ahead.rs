//! Reading objects ahead of their readers.
//!
//! The linker reads some thousand segments at a time, each front to back. By default the system answers an access with up to
//! megabytes around it; with more segments than memory has room for such pieces, it would read the same bytes again and
//! again. The linker therefore lets the system read single pages, and asks for the bytes that follow itself:
//!
//! ```text
//! window    0          1          2          3
//!           ├──read────┼───▲······┼──────────┤      the reader crosses into window 1: window 2 is asked for
//! ```

use pinakes_format::storage::mmap::Map;

/// Bytes that are asked for at a time. Two windows of each segment are in memory.
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
        let (first, last) = (from / WINDOW_BYTES, from.saturating_add(bytes) / WINDOW_BYTES);
        let unread = match from {
            0 => 0,
            _ if first == last => return,
            _ => first + 2,
        };
        let byte = |window: usize| window.saturating_mul(WINDOW_BYTES).min(all.len());
        self.start(&all[byte(unread)..byte(last + 2)]);
    }
}
