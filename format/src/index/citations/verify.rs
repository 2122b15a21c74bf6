//! Verifies the citation graph.

use crate::index::bitset::Bitset;
use crate::index::check::{CheckError, ensure, hash_of_link};
use crate::index::citations::{BLOCK_LISTS, CODED_ROWS_MAX, CitationsFile, RowList, Section, code};
use crate::schema::Direction;
use crate::storage::leb128;

impl CitationsFile {
    /// Checks every list, and that both directions hold the same links. `seen` has space for all
    /// rows; its content does not matter.
    pub(crate) fn verify(&self, seen: &mut Bitset) -> Result<(), CheckError> {
        let references = self.verify_section(Direction::References, seen)?;
        let citations = self.verify_section(Direction::Citations, seen)?;
        ensure(references == citations, "the references and the citations are not the same links")?;
        for row in self.references.lists..self.citations.lists {
            let is_cited = self.count(Direction::Citations, row as u32)? > 0;
            ensure(is_cited, "nothing refers to an unresolved reference")?;
        }
        Ok(())
    }

    /// Checks the lists of a direction. Returns a sum over its links that does not depend on their order
    /// or direction, but on each of them.
    fn verify_section(&self, direction: Direction, seen: &mut Bitset) -> Result<u64, CheckError> {
        let section = self.section(direction);
        let (mut at, mut links, mut sum) = (section.from, 0, 0u64);
        let (mut lengths, mut stored) = (Vec::new(), 0);
        seen.clear();
        let records = self.references.lists as u32;
        self.present(direction)?.verify(&(0..records), |row| {
            seen.insert(row);
        })?;
        for row in 0..section.lists as u32 {
            let range = self.list(section, row)?;
            ensure(range.start == at, "the lists are not contiguous")?;
            at = range.end;
            leb128::push(range.len() as u64, &mut lengths);
            // Ids without a record have lists too, but are not in the presence list.
            let is_present = row < records && !range.is_empty();
            ensure(seen.contains(row) == is_present, "the records with lists are others")?;
            let list = self.rows(direction, row)?;
            let mut count = 0u64;
            let mut add = |other: u32| {
                count += 1;
                // Both directions hash a link in the order of the reference, so the sums of the two are equal.
                sum = sum.wrapping_add(match direction {
                    Direction::References => hash_of_link(row, other),
                    Direction::Citations => hash_of_link(other, row),
                });
            };
            match &list {
                RowList::Rows(rows) => {
                    rows.iter().for_each(|row| add(*row));
                    // The same rows have one form in every snapshot: the bytes are compared with those of the writer.
                    let mut code = Vec::new();
                    if !rows.is_empty() {
                        leb128::push(rows.len() as u64, &mut code);
                        code::encode(rows, 0..section.bound, &mut code);
                    }
                    let bytes = self.archive.bytes(range.start, range.end)?;
                    ensure(code == bytes, "a list is not in its shortest form")?;
                }
                RowList::Postings(postings) => postings.verify(&(0..section.bound), add)?,
            }
            let stated = self.count(direction, row)?;
            ensure(u64::from(stated) == count, "the length of a list is another")?;
            let is_coded = matches!(list, RowList::Rows(_));
            ensure(is_coded == (count <= CODED_ROWS_MAX as u64), "a list is in the other form")?;
            links += count;
            let is_last = row as usize + 1 == section.lists;
            // The lengths of a block's lists follow the last list of the block.
            if is_last || (row as usize + 1).is_multiple_of(BLOCK_LISTS) {
                self.verify_lengths(section, row as usize / BLOCK_LISTS, at, &lengths)?;
                at += lengths.len();
                stored += lengths.len();
                lengths.clear();
            }
        }
        ensure(stored == 0 || at == section.to, "a section does not end after its lists")?;
        ensure(links == section.links, "the number of links is another")?;
        Ok(sum)
    }

    /// Checks that the lengths of a block follow its lists.
    fn verify_lengths(
        &self,
        section: &Section,
        block: usize,
        at: usize,
        lengths: &[u8],
    ) -> Result<(), CheckError> {
        let from = self.archive.u64_at(section.offsets_from + block * 8)?;
        ensure(from == at as u64, "the lengths of a block do not follow its lists")?;
        let is_same = self.archive.bytes(at, at + lengths.len())? == lengths;
        ensure(is_same, "the lengths of a block are not in their shortest form")
    }
}
