//! Divides parts into units with about the same number of bytes.

use std::{cmp::Reverse, collections::BinaryHeap, num::NonZeroU32};

use crate::compile::input::Part;

/// Gives each part, the largest first, to the unit with the fewest bytes so far, and of equal units to
/// the first. Returns the parts of each unit, sorted by path.
///
/// ```text
/// parts 7 5 4 3 2 bytes, two units:   unit 0: 7 3     unit 1: 5 4 2
/// ```
///
/// No unit gets more than 4/3 of the bytes of the best division. A unit is empty if there are fewer
/// parts than units. Costs a sort of the parts.
pub(crate) fn balance(mut parts: Vec<Part>, units: NonZeroU32) -> Vec<Vec<Part>> {
    let order = |part: &Part| (Reverse(part.size_bytes), part.path.clone());
    parts.sort_by_cached_key(order);
    let mut divided: Vec<Vec<Part>> = (0..units.get()).map(|_| Vec::new()).collect();
    let mut fewest: BinaryHeap<Reverse<(u64, usize)>> =
        (0..divided.len()).map(|unit| Reverse((0, unit))).collect();
    for part in parts {
        if let Some(mut least) = fewest.peek_mut() {
            let Reverse((bytes, unit)) = &mut *least;
            *bytes += part.size_bytes;
            divided[*unit].push(part);
        }
    }
    for parts in &mut divided {
        parts.sort_by(|a, b| a.path.cmp(&b.path));
    }
    divided
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::compile::input::PartKind;

    #[test]
    fn units_hold_about_the_same_number_of_bytes() {
        let check = |sizes: &[u64], units: u32, expected: &[&[u64]]| {
            let part = |(at, size_bytes): (usize, &u64)| Part {
                path: format!("part_{at:02}").into(),
                kind: PartKind::Taxonomy,
                size_bytes: *size_bytes,
                etag: None,
                listed_records: None,
            };
            let mut parts: Vec<Part> = sizes.iter().enumerate().map(part).collect();
            let divided = balance(parts.clone(), NonZeroU32::new(units).unwrap());
            let found: Vec<Vec<u64>> = divided
                .iter()
                .map(|parts| parts.iter().map(|part| part.size_bytes).collect())
                .collect();
            assert_eq!(found, expected, "{sizes:?}");
            parts.reverse();
            assert_eq!(balance(parts, NonZeroU32::new(units).unwrap()), divided, "{sizes:?}");
        };
        check(&[2, 7, 5, 3, 4], 2, &[&[7, 3], &[2, 5, 4]]);
        check(&[5, 5, 5], 3, &[&[5], &[5], &[5]]);
        check(&[1, 9], 4, &[&[9], &[1], &[], &[]]);
        check(&[1, 2], 1, &[&[1, 2]]);
    }
}
