//! The rows that the decoded postings of two words share.

/// Rows that two groups have.
#[derive(Default)]
pub(super) struct CommonRows {
    /// Ascending.
    pub rows: Vec<CommonRow>,
    /// The places of a group's rows, plus one, by the distance from a row; zeros between two calls.
    places: Vec<u16>,
}

/// A row that two groups have, and its place among the decoded rows of each.
pub(super) struct CommonRow {
    pub row: u32,
    places: [u16; 2],
}

impl CommonRow {
    #[inline]
    pub fn places(&self) -> [usize; 2] {
        let [of_one, of_other] = self.places;
        [of_one.into(), of_other.into()]
    }
}

/// Distances between the decoded rows of a group up to which the rows of another are looked up in a table.
const TABLE_ROWS: usize = 1 << 13;
/// Rows from which on a table pays.
const TABLE_MIN: usize = 12;

impl CommonRows {
    /// Collects the rows that two ascending lists share. `rows` do not begin before `others`, nor end after them.
    ///
    /// ```text
    /// rows 12 15    table from 10 on: 0 0 1 0 0 2 0    others 10 12 16: 0, 1, 0 → 12 at the places 0 and 1
    /// ```
    pub fn collect(&mut self, rows: &[u32], others: &[u32]) {
        let CommonRows { rows: common, places } = self;
        common.clear();
        let (first, last) = (others[0], others[others.len() - 1]);
        if rows.len() < TABLE_MIN || (last - first) as usize >= TABLE_ROWS {
            for (at, row) in (0..).zip(rows) {
                if let Ok(other_at) = others.binary_search(row) {
                    common.push(CommonRow { row: *row, places: [at, other_at as u16] });
                }
            }
            return;
        }
        places.resize(TABLE_ROWS, 0);
        let distance = |row: u32| row.wrapping_sub(first) as usize % TABLE_ROWS;
        for (row, place) in rows.iter().zip(1..) {
            places[distance(*row)] = place;
        }
        for (row, other_at) in others.iter().zip(0..) {
            if let Some(at) = places[distance(*row)].checked_sub(1) {
                common.push(CommonRow { row: *row, places: [at, other_at] });
            }
        }
        rows.iter().for_each(|row| places[distance(*row)] = 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_rows_are_the_rows_of_both_lists_with_their_places() {
        let mut seed = 7u32;
        let mut next = |below: u32| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 8) % below
        };
        let mut common = CommonRows::default();
        // The table and the look-up of single rows, in turn.
        for round in 0..400 {
            let gap_max = [2, 9, 60, 1_000][round % 4];
            let mut others = vec![next(1_000)];
            while others.len() < 128 {
                others.push(others[others.len() - 1] + 1 + next(gap_max));
            }
            let mut rows: Vec<u32> = others.iter().copied().filter(|_| next(3) == 0).collect();
            let (first, last) = (others[0], others[127]);
            rows.extend((0..next(100)).map(|_| first + next(last - first)));
            rows.sort_unstable();
            rows.dedup();
            common.collect(&rows, &others);
            let found = common.rows.iter().map(|common| (common.row, common.places()));
            let place = |list: &[u32], row| list.iter().position(|other| *other == row);
            let both = rows.iter().filter_map(|row| Some((*row, place(&others, *row)?)));
            let expected = both.map(|(row, at)| (row, [place(&rows, row).unwrap_or_default(), at]));
            assert!(found.eq(expected), "{round}: {rows:?} {others:?}");
        }
    }
}
