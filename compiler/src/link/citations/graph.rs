//! Writes the citation graph: the references of each record, and inverted, the citations of each row.

use std::{
    fs::File,
    io::{self, BufReader, Read, Write},
    ops::Range,
    path::Path,
};

use pinakes_format::entity::Entity;
use pinakes_format::index::citations::CitationsWriter;
use pinakes_format::schema::layout::schema_hash;
use pinakes_format::snapshot::archive_path;
use pinakes_format::storage::blobs::Spool;
use pinakes_format::storage::header::{FileKind, Header};

use crate::error::{Error, Result};
use crate::external_sort::read_array;
use crate::link::citations::UNRESOLVED;
use crate::link::column::KeyColumn;
use crate::link::context::{Linker, WrittenFile};
use crate::link::radix_sort::sort_by_key;
use crate::parallel;

/// The size of a row as a term.
const ROW_BYTES: usize = 4;

/// A list of references for each record, resolved to rows.
pub(crate) struct ReferenceLists {
    pub(super) entity: Entity,
    pub(super) records: usize,
    /// The number of a record's references, their rows, and the id of each row that is [`UNRESOLVED`].
    pub(super) lists: BufReader<File>,
}

impl Linker<'_> {
    /// Writes the citation graph. `unresolved` are the ids without a record.
    pub(crate) fn write_citations(
        &self,
        lists: ReferenceLists,
        unresolved: &KeyColumn,
        directory: &Path,
    ) -> Result<WrittenFile> {
        let name = archive_path(FileKind::Citations, Some(lists.entity));
        let path = directory.join(&name);
        let rows = lists.records + unresolved.len();
        let header = Header {
            kind: FileKind::Citations,
            entity: Some(lists.entity),
            published: lists.records as u64,
            rows: rows as u64,
            schema_hash: schema_hash(),
        };
        let write = || {
            let mut writer = CitationsWriter::create(&path, header)?;
            let targets = 0..u32::try_from(rows).map_err(io::Error::other)?;
            let mut links = Links::new(&self.scratch, self.sorter_bytes() / 2, targets);
            parallel::step("write references", || {
                lists.write(unresolved, &mut writer, &mut links)
            })?;
            let mut push = |records: &[u32]| writer.push_citations(records);
            parallel::step("write citations", || links.write(&mut push))?;
            parallel::step("close citations", || writer.finish())
        };
        Ok((name, write().map_err(Error::output(&path))?))
    }
}

impl ReferenceLists {
    /// Writes the list of each record, and adds its links.
    fn write(
        mut self,
        unresolved: &KeyColumn,
        writer: &mut CitationsWriter,
        links: &mut Links<'_>,
    ) -> io::Result<()> {
        let (mut bytes, mut targets) = (Vec::new(), Vec::new());
        for record in 0..self.records {
            self.next(unresolved, &mut bytes, &mut targets)?;
            // The merge refuses entities with more records than u32 has numbers.
            let record = record as u64;
            links.add(targets.iter().map(|target| u64::from(*target) << 32 | record))?;
            writer.push_references(&targets)?;
        }
        Ok(())
    }

    /// Reads the rows of the next record's references, ascending. `bytes` is reused memory.
    fn next(
        &mut self,
        unresolved: &KeyColumn,
        bytes: &mut Vec<u8>,
        targets: &mut Vec<u32>,
    ) -> io::Result<()> {
        let cut = || io::Error::other("a list of references is cut");
        let count = read_array(&mut self.lists)?.map(u32::from_le_bytes).ok_or_else(cut)?;
        bytes.resize(count as usize * ROW_BYTES, 0);
        self.lists.read_exact(bytes)?;
        targets.clear();
        targets.extend(bytes.as_chunks().0.iter().map(|row| u32::from_le_bytes(*row)));
        for row in targets.iter_mut().filter(|row| **row == UNRESOLVED) {
            let id = read_array(&mut self.lists)?.map(u64::from_le_bytes).ok_or_else(cut)?;
            let at = unresolved.find(id).ok_or_else(cut)?;
            *row = u32::try_from(self.records + at).map_err(io::Error::other)?;
        }
        targets.sort_unstable();
        Ok(())
    }
}

/// The links of the graph, divided into parts by their targets. A part is sorted in memory, so that the cost of a link
/// does not depend on the number of links:
///
/// ```text
/// links of records in order   0→7  0→21  1→3  2→7        targets 0 to 15: 0→7 1→3 2→7     targets 16 to 31: 0→21
/// sorted by target            1→3  0→7  2→7              the citations of 3: 1, of 7: 0 and 2
/// ```
///
/// A part that does not fit memory is divided again: outputs that are cited most are the first rows.
struct Links<'s> {
    scratch: &'s Path,
    bytes_max: usize,
    targets: Range<u32>,
    /// A part has 2 to the power of this many targets.
    shift: u32,
    parts: Vec<Part>,
    spool: Spool,
    /// Bytes in the spool.
    bytes: usize,
}

/// The links to a range of targets. A link has the target in the upper half, and the record in the lower.
#[derive(Default)]
struct Part {
    /// The places of the links in the spool.
    blocks: Vec<Range<usize>>,
    /// The links that are not in the spool yet.
    last: Vec<u64>,
}

/// Writes the ascending records that refer to the next target.
type PushCitations<'p> = &'p mut (dyn FnMut(&[u32]) -> io::Result<()> + Send);

/// The most parts, each with a block in memory.
const PARTS_MAX: u32 = 256;
/// Links of a block.
const BLOCK_LINKS: usize = 4_096;
/// Bytes of a link.
const LINK_BYTES: usize = 8;

impl<'s> Links<'s> {
    /// No links to `targets`.
    fn new(scratch: &'s Path, bytes_max: usize, targets: Range<u32>) -> Links<'s> {
        let of_part = (targets.len() as u32).div_ceil(PARTS_MAX).max(1);
        let shift = of_part.next_power_of_two().trailing_zeros();
        let parts = (targets.len() as u64).div_ceil(1 << shift);
        let parts = (0..parts).map(|_| Part::default()).collect();
        Links { scratch, bytes_max, targets, shift, parts, spool: Spool::new(scratch), bytes: 0 }
    }

    /// Adds links to `targets`. The records of each target ascend.
    fn add(&mut self, links: impl Iterator<Item = u64>) -> io::Result<()> {
        for link in links {
            let part = (((link >> 32) as u32 - self.targets.start) >> self.shift) as usize;
            let Part { blocks, last } = &mut self.parts[part];
            last.push(link);
            if last.len() == BLOCK_LINKS {
                let from = self.bytes;
                for link in last.drain(..) {
                    self.spool.write_all(&link.to_le_bytes())?;
                    self.bytes += LINK_BYTES;
                }
                blocks.push(from..self.bytes);
            }
        }
        Ok(())
    }

    /// Calls `push` with the records that refer to each target, in the order of targets.
    fn write(mut self, push: PushCitations<'_>) -> io::Result<()> {
        let spool = self.spool.take_map()?;
        let mut from = self.targets.start;
        let mut sorted = None;
        let last = self.parts.len();
        let mut parts = std::mem::take(&mut self.parts).into_iter();
        for _ in 0..=last {
            // One thread sorts the links of a part while another writes those of the part before.
            let next = parts.next().map(|part| {
                let to = from.saturating_add(1 << self.shift).min(self.targets.end);
                (std::mem::replace(&mut from, to)..to, part)
            });
            let (written, next) = parallel::join(
                || sorted.take().map_or(Ok(()), |part: SortedPart<'_>| part.write(push)),
                || next.map(|(targets, part)| self.sort(&spool, targets, part)).transpose(),
            );
            written?;
            sorted = next?;
        }
        Ok(())
    }

    /// Sorts the links of a part, or divides a part that does not fit memory.
    fn sort(&self, spool: &[u8], targets: Range<u32>, part: Part) -> io::Result<SortedPart<'s>> {
        let Part { blocks, last } = part;
        let count = blocks.len() * BLOCK_LINKS + last.len();
        let links = blocks
            .iter()
            .flat_map(|block| spool[block.clone()].as_chunks().0)
            .map(|link| u64::from_le_bytes(*link))
            .chain(last);
        // Four times the size: the sort copies the links, and another thread has those of the part before.
        if count * LINK_BYTES * 4 > self.bytes_max && targets.len() > 1 {
            let mut divided = Links::new(self.scratch, self.bytes_max, targets);
            divided.add(links)?;
            return Ok(SortedPart::Divided(divided));
        }
        let mut sorted = Vec::with_capacity(count);
        sorted.extend(links);
        // Records ascend already.
        sort_by_key(&mut sorted, |link| (link >> 32).into());
        Ok(SortedPart::Sorted(targets, sorted))
    }
}

/// The links to a range of targets, ready to be written.
enum SortedPart<'s> {
    Sorted(Range<u32>, Vec<u64>),
    Divided(Links<'s>),
}

impl SortedPart<'_> {
    fn write(self, push: PushCitations<'_>) -> io::Result<()> {
        let (targets, links) = match self {
            SortedPart::Divided(links) => return links.write(push),
            SortedPart::Sorted(targets, links) => (targets, links),
        };
        let mut rest = &links[..];
        let mut records = Vec::new();
        for target in targets {
            let count = rest.iter().take_while(|link| (*link >> 32) as u32 == target).count();
            let (of_target, others) = rest.split_at(count);
            rest = others;
            records.clear();
            records.extend(of_target.iter().map(|link| *link as u32));
            push(&records)?;
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn each_target_has_its_records_however_often_the_links_are_divided() {
        let directory = tempfile::tempdir().unwrap();
        // Targets up to 999, the smaller ones more often.
        let references =
            (0..40_000u32).map(|record| (record, record * 7_919 % 1_000 * (record % 11) / 10));
        let references: Vec<(u32, u32)> = references.filter(|(_, target)| *target != 5).collect();
        let mut expected = vec![Vec::new(); 1_001];
        references.iter().for_each(|(record, target)| expected[*target as usize].push(*record));
        for bytes_max in [1 << 30, 100_000, 1] {
            let mut links = Links::new(directory.path(), bytes_max, 0..1_001);
            let added = references.iter();
            let added = added.map(|(record, target)| u64::from(*target) << 32 | u64::from(*record));
            links.add(added).unwrap();
            let mut written = Vec::new();
            let mut push = |records: &[u32]| {
                written.push(records.to_vec());
                Ok(())
            };
            links.write(&mut push).unwrap();
            assert_eq!(written, expected, "{bytes_max} bytes");
        }
    }
}
