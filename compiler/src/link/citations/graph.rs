//! Writes the citation graph: the references of each record, and inverted, the citations of each row.

use std::io;
use std::io::Write;
use std::ops::Range;
use std::path::Path;

use pinakes_format::entity::Entity;
use pinakes_format::index::citations::{CitationsWriter, EncodedLists};
use pinakes_format::schema::{Direction, schema_hash};
use pinakes_format::snapshot::archive_path;
use pinakes_format::storage::mmap::Map;
use pinakes_format::storage::{FileKind, Header, Spool};

use crate::error::{Error, Result};
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
    pub(super) lists: Map,
    /// The records and the bytes of each batch of lists.
    pub(super) batches: Vec<(usize, usize)>,
}

/// Batches of lists, or parts of links, that are encoded before the next are.
const WAVE_BATCHES: usize = 64;

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
            parallel::step("write citations", || links.write(&mut writer))?;
            parallel::step("close citations", || writer.finish())
        };
        Ok((name, write().map_err(Error::output(&path))?))
    }
}

/// The encoded lists of a batch of records, and their links by parts.
struct EncodedBatch {
    lists: EncodedLists,
    links: Vec<Vec<u64>>,
}

impl ReferenceLists {
    /// Writes the list of each record, and adds its links. One thread writes a wave of batches while the others encode the next.
    fn write(
        self,
        unresolved: &KeyColumn,
        writer: &mut CitationsWriter,
        links: &mut Links<'_>,
    ) -> io::Result<()> {
        let (mut first, mut from) = (0, 0);
        let place = |(records, bytes): &(usize, usize)| {
            let batch = (first, *records, from..from + bytes);
            (first, from) = (first + records, from + bytes);
            batch
        };
        let places: Vec<(usize, usize, Range<usize>)> = self.batches.iter().map(place).collect();
        let mut encoded: Vec<EncodedBatch> = Vec::new();
        let mut waves = places.chunks(WAVE_BATCHES);
        loop {
            let wave = waves.next();
            let (empty, division) = (writer.lists(Direction::References), links.division());
            let encode = |(first, records, bytes): &(usize, usize, Range<usize>)| {
                let lists = self.lists.get(bytes.clone()).ok_or_else(cut)?;
                self.encode(*first, *records, lists, unresolved, empty.clone(), &division)
            };
            let (written, next) = parallel::join(
                || {
                    encoded.drain(..).try_for_each(|batch| {
                        writer.push_lists(&batch.lists)?;
                        links.add(batch.links)
                    })
                },
                || wave.map(|wave| parallel::try_map(wave.iter().collect(), encode)).transpose(),
            );
            written?;
            let Some(next) = next? else { return Ok(()) };
            encoded = next;
        }
    }

    /// Encodes the lists of consecutive records, and divides their links.
    fn encode(
        &self,
        first: usize,
        records: usize,
        mut bytes: &[u8],
        unresolved: &KeyColumn,
        mut lists: EncodedLists,
        division: &Division,
    ) -> io::Result<EncodedBatch> {
        let mut links = division.empty();
        let mut targets = Vec::new();
        // The merge refuses entities with more records than u32 has numbers.
        for record in first as u64..(first + records) as u64 {
            self.next(unresolved, &mut bytes, &mut targets)?;
            for target in &targets {
                division.push(u64::from(*target) << 32 | record, &mut links);
            }
            lists.push(&targets);
        }
        Ok(EncodedBatch { lists, links })
    }

    /// Takes the rows of the next record's references off the front of `lists`, ascending.
    fn next(
        &self,
        unresolved: &KeyColumn,
        lists: &mut &[u8],
        targets: &mut Vec<u32>,
    ) -> io::Result<()> {
        let (count, rest) = lists.split_first_chunk::<4>().ok_or_else(cut)?;
        let bytes = u32::from_le_bytes(*count) as usize * ROW_BYTES;
        let (rows, mut rest) = rest.split_at_checked(bytes).ok_or_else(cut)?;
        targets.clear();
        targets.extend(rows.as_chunks().0.iter().map(|row| u32::from_le_bytes(*row)));
        for row in targets.iter_mut().filter(|row| **row == UNRESOLVED) {
            let (id, others) = rest.split_first_chunk::<8>().ok_or_else(cut)?;
            rest = others;
            let at = unresolved.find(u64::from_le_bytes(*id)).ok_or_else(cut)?;
            *row = u32::try_from(self.records + at).map_err(io::Error::other)?;
        }
        *lists = rest;
        targets.sort_unstable();
        Ok(())
    }
}

fn cut() -> io::Error {
    io::Error::other("a list of references is cut")
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

/// How links are divided into parts.
#[derive(Clone, Copy)]
struct Division {
    start: u32,
    /// A part has 2 to the power of this many targets.
    shift: u32,
    parts: usize,
}

impl Division {
    fn empty(&self) -> Vec<Vec<u64>> {
        vec![Vec::new(); self.parts]
    }

    fn push(&self, link: u64, parts: &mut [Vec<u64>]) {
        parts[(((link >> 32) as u32 - self.start) >> self.shift) as usize].push(link);
    }
}

/// The most parts, each with a block in memory.
const PARTS_MAX: u32 = 256;
const BLOCK_LINKS: usize = 4_096;
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

    fn division(&self) -> Division {
        Division { start: self.targets.start, shift: self.shift, parts: self.parts.len() }
    }

    /// Adds links to `targets` by parts. The records of each target ascend.
    fn add(&mut self, links: Vec<Vec<u64>>) -> io::Result<()> {
        let mut bytes = Vec::new();
        for (Part { blocks, last }, links) in self.parts.iter_mut().zip(links) {
            last.extend(links);
            let whole = last.len() / BLOCK_LINKS * BLOCK_LINKS;
            for block in last[..whole].chunks(BLOCK_LINKS) {
                bytes.clear();
                block.iter().for_each(|link| bytes.extend_from_slice(&link.to_le_bytes()));
                self.spool.write_all(&bytes)?;
                blocks.push(self.bytes..self.bytes + bytes.len());
                self.bytes += bytes.len();
            }
            last.drain(..whole);
        }
        Ok(())
    }

    /// Writes the records that refer to each target, in the order of targets. One thread writes parts while the others sort
    /// the next.
    fn write(mut self, writer: &mut CitationsWriter) -> io::Result<()> {
        let spool = self.spool.take_map()?;
        let mut parts = Vec::new();
        let mut from = self.targets.start;
        for part in std::mem::take(&mut self.parts) {
            let to = from.saturating_add(1 << self.shift).min(self.targets.end);
            parts.push((std::mem::replace(&mut from, to)..to, part));
        }
        let mut parts = parts.into_iter().peekable();
        let mut sorted: Vec<SortedPart<'_>> = Vec::new();
        loop {
            // Parts that fit memory together, at least one.
            let (mut wave, mut bytes) = (Vec::new(), 0);
            while let Some((_, part)) = parts.peek()
                && wave.len() < WAVE_BATCHES
                && (wave.is_empty() || bytes + part.sort_bytes() <= self.bytes_max)
            {
                bytes += part.sort_bytes();
                wave.extend(parts.next());
            }
            if wave.is_empty() && sorted.is_empty() {
                return Ok(());
            }
            let empty = writer.lists(Direction::Citations);
            let (written, next) = parallel::join(
                || sorted.drain(..).try_for_each(|part| part.write(writer)),
                || {
                    parallel::try_map(wave, |(targets, part)| {
                        self.sort(&spool, targets, part, empty.clone())
                    })
                },
            );
            written?;
            sorted = next?;
        }
    }

    /// Sorts and encodes the links of a part, or divides a part that does not fit memory.
    fn sort(
        &self,
        spool: &[u8],
        targets: Range<u32>,
        part: Part,
        mut lists: EncodedLists,
    ) -> io::Result<SortedPart<'s>> {
        let (count, does_not_fit) = (part.count(), part.sort_bytes() > self.bytes_max);
        let Part { blocks, last } = part;
        let links = blocks
            .iter()
            .flat_map(|block| spool[block.clone()].as_chunks().0)
            .map(|link| u64::from_le_bytes(*link))
            .chain(last);
        if does_not_fit && targets.len() > 1 {
            let mut divided = Links::new(self.scratch, self.bytes_max, targets);
            let division = divided.division();
            let mut parts = division.empty();
            for (at, link) in links.enumerate() {
                division.push(link, &mut parts);
                if (at + 1).is_multiple_of(BLOCK_LINKS * 16) {
                    divided.add(std::mem::replace(&mut parts, division.empty()))?;
                }
            }
            divided.add(parts)?;
            return Ok(SortedPart::Divided(divided));
        }
        let mut sorted = Vec::with_capacity(count);
        sorted.extend(links);
        // Records ascend already.
        sort_by_key(&mut sorted, |link| (link >> 32).into());
        let (mut rest, mut records) = (&sorted[..], Vec::new());
        for target in targets {
            let count = rest.iter().take_while(|link| (*link >> 32) as u32 == target).count();
            let (of_target, others) = rest.split_at(count);
            rest = others;
            records.clear();
            records.extend(of_target.iter().map(|link| *link as u32));
            lists.push(&records);
        }
        Ok(SortedPart::Sorted(lists))
    }
}

impl Part {
    fn count(&self) -> usize {
        self.blocks.len() * BLOCK_LINKS + self.last.len()
    }

    /// Bytes of memory to sort the links: four times their size, because the sort copies them, and those of the parts before
    /// are being written.
    fn sort_bytes(&self) -> usize {
        self.count() * LINK_BYTES * 4
    }
}

/// The links to a range of targets, ready to be written.
enum SortedPart<'s> {
    Sorted(EncodedLists),
    Divided(Links<'s>),
}

impl SortedPart<'_> {
    fn write(self, writer: &mut CitationsWriter) -> io::Result<()> {
        match self {
            SortedPart::Divided(links) => links.write(writer),
            SortedPart::Sorted(lists) => writer.push_lists(&lists),
        }
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
        let mut expected = vec![Vec::new(); 40_000];
        references.iter().for_each(|(record, target)| expected[*target as usize].push(*record));
        let header = Header {
            kind: FileKind::Citations,
            entity: Some(Entity::Output),
            published: 40_000,
            rows: 40_000,
            schema_hash: schema_hash(),
        };
        let write = |name: &str, push: &dyn Fn(&mut CitationsWriter)| {
            let path = directory.path().join(name);
            let mut writer = CitationsWriter::create(&path, header).unwrap();
            let mut none = writer.lists(Direction::References);
            (0..40_000).for_each(|_| none.push(&[]));
            writer.push_lists(&none).unwrap();
            push(&mut writer);
            writer.finish().unwrap().root
        };
        let root = write("at once", &|writer| {
            let mut lists = writer.lists(Direction::Citations);
            expected.iter().for_each(|records| lists.push(records));
            writer.push_lists(&lists).unwrap();
        });
        for bytes_max in [1 << 30, 100_000, 1] {
            let written = write(&bytes_max.to_string(), &|writer| {
                let mut links = Links::new(directory.path(), bytes_max, 0..40_000);
                let (division, mut parts) = (links.division(), links.division().empty());
                for (record, target) in &references {
                    division.push(u64::from(*target) << 32 | u64::from(*record), &mut parts);
                }
                links.add(parts).unwrap();
                links.write(writer).unwrap();
            });
            assert_eq!(written, root, "{bytes_max} bytes");
        }
    }
}
