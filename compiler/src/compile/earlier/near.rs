//! Which segments of earlier objects are near enough to copy records from.
//!
//! If memory holds all objects, every record is copied. Otherwise a record may be a read of the disk, which takes
//! longer than parsing its line. Only whole segments are read then, and a part must earn each of them:
//!
//! ```text
//! lines of a part with records in a segment:  parsed parsed parsed │ copied copied copied copied …
//!                                      half of the segment's bytes ┘ the segment is read as a whole
//! ```
//!
//! A part whose records are neighbours parses one line in ten. A part whose records are scattered over all objects
//! parses all its lines and reads no segment, as without earlier objects.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// A part has earned a segment when the lines that it parsed for want of the segment have this share of its bytes.
/// Parsing them took about as long as reading the segment.
const EARNED_SHARE: u64 = 2;

/// The segments that memory holds, so far as is known.
pub(super) struct NearSegments {
    holds_all: bool,
    /// The bytes of segments that memory holds.
    bytes_max: u64,
    /// By the number of the segment.
    is_near: Vec<AtomicBool>,
    queue: Mutex<Queue>,
}

/// The near segments, the one read first in front.
#[derive(Default)]
struct Queue {
    segments: VecDeque<(u32, u64)>,
    bytes: u64,
}

/// The bytes of the lines that one part parsed for want of each segment.
#[derive(Default)]
pub(crate) struct MissedBytes(HashMap<u32, u64, foldhash::fast::RandomState>);

impl MissedBytes {
    /// Adds a line with a record in a segment that is not near. Returns whether the part has earned the segment.
    pub(super) fn earns(&mut self, segment: u32, segment_bytes: u64, line_bytes: u64) -> bool {
        let missed = self.0.entry(segment).or_default();
        *missed += line_bytes;
        let is_earned = *missed >= segment_bytes / EARNED_SHARE;
        if is_earned {
            *missed = 0;
        }
        is_earned
    }
}

impl NearSegments {
    /// `objects_bytes` are the bytes of all objects, of which memory holds `memory_bytes`.
    pub(super) fn new(segments: usize, objects_bytes: u64, memory_bytes: u64) -> NearSegments {
        let holds_all = objects_bytes <= memory_bytes;
        NearSegments {
            holds_all,
            bytes_max: memory_bytes,
            is_near: (0..segments).map(|_| AtomicBool::new(holds_all)).collect(),
            queue: Mutex::default(),
        }
    }

    /// Whether memory holds all objects.
    pub(super) fn holds_all(&self) -> bool {
        self.holds_all
    }

    /// Whether memory holds a segment.
    pub(super) fn is_near(&self, segment: u32) -> bool {
        let is_near = self.is_near.get(segment as usize);
        is_near.is_some_and(|near| near.load(Ordering::Relaxed))
    }

    /// Adds a segment that was read. Those read first make room for it.
    pub(super) fn add(&self, segment: u32, segment_bytes: u64) {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let set = |segment: u32, is_near: bool| {
            let near = self.is_near.get(segment as usize);
            near.map(|near| near.swap(is_near, Ordering::Relaxed))
        };
        // Another part may have read the segment meanwhile.
        if set(segment, true) == Some(false) {
            queue.segments.push_back((segment, segment_bytes));
            queue.bytes += segment_bytes;
        }
        while queue.bytes > self.bytes_max
            && let Some((first, bytes)) =
                queue.segments.pop_front_if(|(first, _)| *first != segment)
        {
            queue.bytes -= bytes;
            set(first, false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The segments that are read for lines of ten bytes with records in `segments`, each of 100 bytes, and the number
    /// of lines that are copied.
    fn reads(memory_bytes: u64, segments: &[u32]) -> (Vec<u32>, usize) {
        let near = NearSegments::new(10, 1_000, memory_bytes);
        let (mut missed, mut read) = (MissedBytes::default(), Vec::new());
        let mut is_copied = |segment: u32| {
            let is_near = near.is_near(segment);
            if !is_near && missed.earns(segment, 100, 10) {
                near.add(segment, 100);
                read.push(segment);
                return true;
            }
            is_near
        };
        let copied = segments.iter().filter(|segment| is_copied(**segment)).count();
        (read, copied)
    }

    #[test]
    fn a_segment_is_read_for_neighbours_only() {
        let scattered: Vec<u32> = (0..40).map(|line| line % 10).collect();
        assert_eq!(reads(999, &scattered), (vec![], 0));
        assert_eq!(reads(1_000, &scattered), (vec![], 40), "memory holds all objects");
        let neighbours: Vec<u32> = (0..40).map(|line| line / 20).collect();
        assert_eq!(reads(999, &neighbours), (vec![0, 1], 32));
    }

    #[test]
    fn the_segment_read_first_makes_room_for_the_next() {
        let lines: Vec<u32> = [0, 1, 0, 1, 0].into_iter().flat_map(|of| [of; 6]).collect();
        assert_eq!(reads(200, &lines), (vec![0, 1], 22));
        assert_eq!(reads(199, &lines), (vec![0, 1, 0, 1, 0], 10));
        assert_eq!(reads(0, &lines), (vec![0, 1, 0, 1, 0], 10), "a segment larger than memory");
    }
}
