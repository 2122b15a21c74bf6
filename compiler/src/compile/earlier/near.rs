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

use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

/// A part has earned a segment when the lines that it parsed for want of the segment have this share of its bytes.
/// Parsing them took about as long as reading the segment.
const EARNED_SHARE: u64 = 2;

/// The segments that memory holds, so far as is known.
pub(super) struct NearSegments {
    /// The bytes of segments that memory holds; `None` if it holds all.
    bytes_max: Option<u64>,
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

impl NearSegments {
    /// `objects_bytes` are the bytes of all objects, of which memory holds `memory_bytes`.
    pub(super) fn new(segments: usize, objects_bytes: u64, memory_bytes: u64) -> NearSegments {
        let bytes_max = (objects_bytes > memory_bytes).then_some(memory_bytes);
        let far = match bytes_max {
            Some(_) => segments,
            None => 0,
        };
        NearSegments {
            bytes_max,
            is_near: (0..far).map(|_| AtomicBool::new(false)).collect(),
            queue: Mutex::default(),
        }
    }

    /// Whether memory holds all objects.
    pub(super) fn holds_all(&self) -> bool {
        self.bytes_max.is_none()
    }

    /// Whether memory holds a segment.
    pub(super) fn is_near(&self, segment: u32) -> bool {
        let is_near = |near: &AtomicBool| near.load(Ordering::Relaxed);
        self.holds_all() || self.is_near.get(segment as usize).is_some_and(is_near)
    }

    /// Whether to copy the record of a line of `line_bytes` from a segment of `bytes`. Calls `read` where the part
    /// has just earned the segment.
    pub(super) fn has(
        &self,
        (segment, bytes): (u32, u64),
        line_bytes: u64,
        missed: &mut MissedBytes,
        read: impl FnOnce(),
    ) -> bool {
        let Some(bytes_max) = self.bytes_max.filter(|_| !self.is_near(segment)) else {
            return true;
        };
        let is_near = |segment: u32| self.is_near.get(segment as usize);
        let missed = missed.0.entry(segment).or_default();
        *missed += line_bytes;
        if *missed < bytes / EARNED_SHARE {
            return false;
        }
        *missed = 0;
        read();
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        // Another part may have earned the segment meanwhile.
        if !is_near(segment).is_some_and(|near| near.swap(true, Ordering::Relaxed)) {
            queue.segments.push_back((segment, bytes));
            queue.bytes += bytes;
        }
        while queue.bytes > bytes_max
            && let Some((first, bytes)) =
                queue.segments.pop_front_if(|(first, _)| *first != segment)
        {
            queue.bytes -= bytes;
            is_near(first).inspect(|near| near.store(false, Ordering::Relaxed));
        }
        true
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
        let mut is_copied =
            |segment: u32| near.has((segment, 100), 10, &mut missed, || read.push(segment));
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
