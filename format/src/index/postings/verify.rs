//! Verifies posting lists.

use std::ops::Range;

use crate::index::bitset::CHUNK_ROWS;
use crate::index::check::{CheckError, ensure};
use crate::index::postings::{ChunkView, ENTRY_BYTES, Form, Postings, container_bytes, entry};

const UNORDERED: &str = "the rows of a list do not ascend";
const OUT_OF_RANGE: &str = "a list has a row beyond its entity's rows";
const ENTRIES: &str = "the entries of a long list do not agree";
const OTHER_FORM: &str = "a list is in the longer of its two forms";

impl ChunkView<'_> {
    /// Tells whether the rows ascend and their number is the stored count.
    pub(crate) fn is_sound(&self) -> bool {
        let (mut next, mut count) = (0, 0);
        self.each(|low| {
            let ascends = u32::from(low) >= next;
            next = u32::from(low) + 1;
            count += u32::from(ascends);
            ascends
        });
        count == self.count()
    }
}

impl Postings<'_> {
    /// Checks the list and calls `visit` with each row. All rows must lie in `rows`.
    pub(crate) fn verify(
        &self,
        rows: &Range<u32>,
        mut visit: impl FnMut(u32),
    ) -> Result<(), CheckError> {
        let mut show = |row: u64| {
            let row = u32::try_from(row).ok().filter(|row| rows.contains(row));
            row.map(&mut visit).is_some()
        };
        let length = self.byte_range().len();
        match self.form {
            Form::Short(bytes) => {
                let mut last = None;
                // The size the list would have in the long form.
                let mut long_bytes = 4 + ENTRY_BYTES;
                let mut in_chunk = 0;
                for row in bytes.as_chunks::<4>().0.iter().map(|row| u32::from_le_bytes(*row)) {
                    ensure(last.is_none_or(|last| last < row), UNORDERED)?;
                    ensure(show(row.into()), OUT_OF_RANGE)?;
                    if last.is_none_or(|last| last >> 16 != row >> 16) {
                        long_bytes += ENTRY_BYTES + container_bytes(in_chunk);
                        in_chunk = 0;
                    }
                    in_chunk += 1;
                    last = Some(row);
                }
                ensure(bytes.len() <= long_bytes + container_bytes(in_chunk), OTHER_FORM)
            }
            Form::Long { entries, chunks } => {
                let first = entry(entries, 0);
                let head_bytes = 4 + (chunks + 1) * ENTRY_BYTES;
                ensure(first.before == 0 && first.from as usize == head_bytes, ENTRIES)?;
                for at in 0..chunks {
                    let (this, next) = (entry(entries, at), entry(entries, at + 1));
                    ensure(this.chunk < next.chunk, ENTRIES)?;
                    let view = self.container(this, next)?;
                    ensure(view.is_sound(), UNORDERED)?;
                    let first = u64::from(this.chunk) * CHUNK_ROWS as u64;
                    let mut is_in_range = true;
                    view.each(|low| {
                        is_in_range = show(first + u64::from(low));
                        is_in_range
                    });
                    ensure(is_in_range, OUT_OF_RANGE)?;
                }
                let end = entry(entries, chunks);
                ensure(end.chunk == u32::MAX && end.from as usize == length, ENTRIES)?;
                ensure(length < end.before as usize * 4, OTHER_FORM)
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::entity::Entity;
    use crate::index::check::archive;
    use crate::index::postings::PostingsBuilder;
    use crate::schema::layout::schema_hash;
    use crate::storage::header::{FileKind, HEADER_BYTES, Header};

    /// Verifies a list of rows below 200,000 and counts its rows.
    fn verified(list: &[u8], is_long: bool) -> Option<u32> {
        let header = Header {
            kind: FileKind::TermLists,
            entity: Some(Entity::Field),
            published: 0,
            rows: 0,
            schema_hash: schema_hash(),
        };
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("list");
        std::fs::write(&path, [&header.encode(), list].concat()).unwrap();
        let archive = archive(&path, FileKind::TermLists);
        let to = HEADER_BYTES + list.len();
        let postings = Postings::open(&archive, HEADER_BYTES, to, is_long).ok()?;
        let mut count = 0;
        postings.verify(&(0..200_000), |_| count += 1).ok()?;
        Some(count)
    }

    #[test]
    fn verification_refuses_an_inconsistent_list() {
        // Three chunks: an array, a full chunk, a bitmap.
        let rows =
            (0..60_000).step_by(20).chain(65_536..131_072).chain((131_072..150_000).step_by(2));
        let rows: Vec<u32> = rows.collect();
        let mut builder = PostingsBuilder::default();
        rows.iter().for_each(|row| builder.push(row >> 16, &[*row as u16]));
        let mut list = Vec::new();
        assert!(builder.finish(&mut list));
        assert_eq!(verified(&list, true), Some(rows.len() as u32));
        let head = 4 + 4 * ENTRY_BYTES;
        for at in (0..head).chain([list.len() - 1]) {
            for bit in 0..8 {
                let mut damaged = list.clone();
                damaged[at] ^= 1 << bit;
                assert_eq!(verified(&damaged, true), None, "byte {at} bit {bit}");
            }
        }
        let mut unordered = list.clone();
        unordered[head..head + 4].rotate_left(2);
        assert_eq!(verified(&unordered, true), None);
        assert_eq!(verified(&list[..3], true), None);
        assert_eq!(verified(&[1, 0, 0, 0, 2, 0, 0, 0], false), Some(2));
        assert_eq!(verified(&[2, 0, 0, 0, 1, 0, 0, 0], false), None);
        assert_eq!(verified(&200_000u32.to_le_bytes(), false), None);
        let short: Vec<u8> = rows.iter().flat_map(|row| row.to_le_bytes()).collect();
        assert_eq!(verified(&short, false), None);
    }
}
