//! What is mentioned and not there: a *stray* has a row after the last real one, one for each spelling,
//! in the order of (kind, id, name). The place of a code among all codes is its number.

use std::io::{self, BufWriter, Read, Seek, Write};

use pinakes_format::entity::NO_ID;
use pinakes_format::record::value::{TABLE_FIRST, TABLE_NAMES, Table};
use pinakes_format::storage::blobs::unnamed_file;
use pinakes_format::storage::mmap::Map;

use crate::link::external_sort::{Spill, read_array};
use crate::link::{Column, Linker};
use crate::object::symbols::Mention;

/// More than any kind's number.
const KINDS: usize = TABLE_FIRST as usize + TABLE_NAMES.len() + 1;

/// A mention of something that is not there, or a code.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Stray {
    pub kind: u8,
    pub id: u64,
    pub name: Option<String>,
}

impl Spill for Stray {
    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(&[self.kind, u8::from(self.name.is_some())])?;
        out.write_all(&self.id.to_le_bytes())?;
        let name = self.name.as_deref().unwrap_or_default();
        let length = u32::try_from(name.len()).map_err(io::Error::other)?;
        out.write_all(&length.to_le_bytes())?;
        out.write_all(name.as_bytes())
    }

    fn read(input: &mut impl Read) -> io::Result<Option<Stray>> {
        let Some([kind, has_name]) = read_array(input)? else { return Ok(None) };
        let Some(id) = read_array(input)? else { return Ok(None) };
        let Some(length) = read_array(input)? else { return Ok(None) };
        let mut name = vec![0; u32::from_le_bytes(length) as usize];
        input.read_exact(&mut name)?;
        let name = String::from_utf8(name).map_err(io::Error::other)?;
        let name = (has_name != 0).then_some(name);
        Ok(Some(Stray { kind, id: u64::from_le_bytes(id), name }))
    }

    fn heap_bytes(&self) -> usize {
        self.name.as_ref().map_or(0, |name| name.len() + 16)
    }
}

/// Every stray and every code, ascending.
pub(crate) struct Strays {
    map: Map,
    offsets: Column,
    /// The first of each kind; the next kind's first ends it.
    first: Vec<usize>,
}

/// What stands before a stray's name in the file.
const STRAY_HEAD_BYTES: usize = 14;

impl Strays {
    /// The strays of an entity, or the codes of a table, by their places among all.
    pub(crate) fn of(&self, kind: u8) -> std::ops::Range<usize> {
        let kind = usize::from(kind);
        self.first[kind]..self.first[kind + 1]
    }

    /// The stray at a place.
    pub(crate) fn get(&self, at: usize) -> Option<Mention<'_>> {
        let from = usize::try_from(self.offsets.u64(at)?).ok()?;
        let head = self.map.get(from..from.checked_add(STRAY_HEAD_BYTES)?)?;
        let length = u32::from_le_bytes(head.get(10..14)?.try_into().ok()?) as usize;
        let name_from = from + STRAY_HEAD_BYTES;
        let name = self.map.get(name_from..name_from.checked_add(length)?)?;
        let name = std::str::from_utf8(name).ok()?;
        let id = u64::from_le_bytes(head.get(2..10)?.try_into().ok()?);
        Some(Mention { kind: head[0], id, name: (head[1] != 0).then_some(name) })
    }

    /// The place of a mention, if it is among them.
    pub(crate) fn place(&self, mention: Mention<'_>) -> Option<usize> {
        let range = self.of(mention.kind);
        let (mut low, mut high) = (range.start, range.end);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.get(middle)? < mention { low = middle + 1 } else { high = middle }
        }
        (self.get(low) == Some(mention)).then_some(low)
    }

    /// The places of the strays with an id, one for each spelling.
    pub(crate) fn with_id(&self, kind: u8, id: u64) -> std::ops::Range<usize> {
        let of = self.of(kind);
        let first_from = |id| {
            let (mut low, mut high) = (of.start, of.end);
            while low < high {
                let middle = low + (high - low) / 2;
                let is_below = self.get(middle).is_some_and(|stray| stray.id < id);
                if is_below { low = middle + 1 } else { high = middle }
            }
            low
        };
        first_from(id)..id.checked_add(1).map_or(of.end, first_from)
    }

    /// The number of a code.
    pub(crate) fn code(&self, table: Table, text: &str) -> Option<u32> {
        let mention = Mention { kind: table as u8, id: NO_ID, name: Some(text) };
        self.place(mention).map(|at| self.code_number(at))
    }

    /// The number of the code at a place.
    pub(crate) fn code_number(&self, at: usize) -> u32 {
        // Rows and codes are limited to u32 when they are written.
        (at - self.first[usize::from(TABLE_FIRST)]) as u32
    }
}

impl Linker<'_> {
    /// Writes strays and codes that come in order, each once.
    pub(crate) fn write_strays(
        &self,
        strays: impl Iterator<Item = io::Result<Stray>>,
    ) -> io::Result<Strays> {
        let mut file = BufWriter::with_capacity(1 << 18, unnamed_file(&self.scratch)?);
        let mut offsets = BufWriter::with_capacity(1 << 16, unnamed_file(&self.scratch)?);
        let mut first = Vec::with_capacity(KINDS);
        let mut last: Option<Stray> = None;
        let (mut count, mut offset) = (0, 0u64);
        for stray in strays {
            let stray = stray?;
            if last.as_ref() == Some(&stray) {
                continue;
            }
            first.resize(first.len().max(usize::from(stray.kind) + 1), count);
            stray.write(&mut file)?;
            offsets.write_all(&offset.to_le_bytes())?;
            let name_bytes = stray.name.as_ref().map_or(0, String::len);
            offset += (STRAY_HEAD_BYTES + name_bytes) as u64;
            count += 1;
            last = Some(stray);
        }
        first.resize(KINDS, count);
        let mut file = file.into_inner().map_err(|error| error.into_error())?;
        file.rewind()?;
        let offsets = offsets.into_inner().map_err(|error| error.into_error())?;
        Ok(Strays { map: Map::open(&file)?, offsets: Column::new(offsets, 8)?, first })
    }
}
