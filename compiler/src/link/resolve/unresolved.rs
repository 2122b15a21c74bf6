//! Unresolved symbols: references to records that do not exist, and codes.
//!
//! An unresolved reference gets a row after the entity's records, one row for each spelling of its
//! name. A code gets its position among all codes as its number.
//!
//! ```text
//! records of authors: rows 0..3     (author, 5, "J. Swift") → row 3, (author, 5, "Jon Swift") → row 4
//! ```

use std::io;
use std::io::{BufWriter, Read, Write};
use std::ops::Range;

use pinakes_format::entity::NO_ID;
use pinakes_format::record::{TABLE_FIRST, TABLE_NAMES, Table};
use pinakes_format::storage::mmap::Map;
use pinakes_format::storage::unnamed_file;

use crate::external_sort::{Spill, read_array};
use crate::link::column::Column;
use crate::link::context::Linker;
use crate::object::Symbol;

/// An upper bound of symbol kinds: entities and tables of codes.
const KINDS_MAX: usize = TABLE_FIRST as usize + TABLE_NAMES.len() + 1;
/// The last table of codes.
const LAST_TABLE: u8 = TABLE_FIRST + TABLE_NAMES.len() as u8 - 1;

/// A symbol without a record. Sorts by kind, id, name and place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct UnresolvedSymbol {
    pub kind: u8,
    pub id: u64,
    pub name: Option<String>,
    /// The place of the symbol's number among those of all segments, or [`NO_PLACE`].
    pub place: u64,
}

/// The place of a symbol that is in no segment.
pub(crate) const NO_PLACE: u64 = u64::MAX;

impl UnresolvedSymbol {
    pub(crate) fn code(table: u8, text: String) -> UnresolvedSymbol {
        UnresolvedSymbol { kind: table, id: NO_ID, name: Some(text), place: NO_PLACE }
    }

    /// Whether both mean the same.
    fn is_same(&self, other: &UnresolvedSymbol) -> bool {
        (self.kind, self.id, &self.name) == (other.kind, other.id, &other.name)
    }

    /// Writes all but the place.
    fn write_meaning(&self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(&[self.kind, u8::from(self.name.is_some())])?;
        out.write_all(&self.id.to_le_bytes())?;
        let name = self.name.as_deref().unwrap_or_default();
        let length = u32::try_from(name.len()).map_err(io::Error::other)?;
        out.write_all(&length.to_le_bytes())?;
        out.write_all(name.as_bytes())
    }
}

impl From<Symbol<'_>> for UnresolvedSymbol {
    fn from(symbol: Symbol<'_>) -> UnresolvedSymbol {
        let Symbol { kind, id, name } = symbol;
        UnresolvedSymbol { kind, id, name: name.map(str::to_owned), place: NO_PLACE }
    }
}

/// Bytes before the name: kind, whether there is a name, id, length of the name.
const HEAD_BYTES: usize = 14;

impl Spill for UnresolvedSymbol {
    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(&self.place.to_le_bytes())?;
        self.write_meaning(out)
    }

    fn read(input: &mut impl Read) -> io::Result<Option<UnresolvedSymbol>> {
        let Some(place) = read_array(input)? else { return Ok(None) };
        let place = u64::from_le_bytes(place);
        let Some([kind, has_name]) = read_array(input)? else { return Ok(None) };
        let Some(id) = read_array(input)? else { return Ok(None) };
        let Some(length) = read_array(input)? else { return Ok(None) };
        let mut name = vec![0; u32::from_le_bytes(length) as usize];
        input.read_exact(&mut name)?;
        let name = String::from_utf8(name).map_err(io::Error::other)?;
        let name = (has_name != 0).then_some(name);
        Ok(Some(UnresolvedSymbol { kind, id: u64::from_le_bytes(id), name, place }))
    }

    fn heap_bytes(&self) -> usize {
        self.name.as_ref().map_or(0, |name| name.len() + 16)
    }
}

/// Every unresolved symbol once, ascending, in a mapped file. The index of a symbol counts from 0.
pub(crate) struct UnresolvedSymbols {
    map: Map,
    offsets: Column,
    /// For each kind, the index of its first symbol; the next kind's first symbol ends the range.
    first: Vec<usize>,
}

impl UnresolvedSymbols {
    /// The indices of an entity's unresolved references, or of a table's codes.
    pub(crate) fn range(&self, kind: u8) -> Range<usize> {
        let kind = usize::from(kind);
        self.first[kind]..self.first[kind + 1]
    }

    /// The indices of the codes of all tables.
    pub(crate) fn codes(&self) -> Range<usize> {
        self.range(TABLE_FIRST).start..self.range(LAST_TABLE).end
    }

    pub(crate) fn get(&self, index: usize) -> Option<Symbol<'_>> {
        let from = usize::try_from(self.offsets.u64(index)?).ok()?;
        let head = self.map.get(from..from.checked_add(HEAD_BYTES)?)?;
        let length = u32::from_le_bytes(head.get(10..14)?.try_into().ok()?) as usize;
        let name_from = from + HEAD_BYTES;
        let name = self.map.get(name_from..name_from.checked_add(length)?)?;
        let name = std::str::from_utf8(name).ok()?;
        let id = u64::from_le_bytes(head.get(2..10)?.try_into().ok()?);
        Some(Symbol { kind: head[0], id, name: (head[1] != 0).then_some(name) })
    }

    /// Binary-searches the index of a symbol.
    pub(crate) fn find(&self, symbol: Symbol<'_>) -> Option<usize> {
        let range = self.range(symbol.kind);
        let (mut low, mut high) = (range.start, range.end);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.get(middle)? < symbol { low = middle + 1 } else { high = middle }
        }
        (self.get(low) == Some(symbol)).then_some(low)
    }

    /// The indices of the symbols with an id, one for each spelling. An empty range starts at the
    /// first symbol with a greater id.
    pub(crate) fn with_id(&self, kind: u8, id: u64) -> Range<usize> {
        let of_kind = self.range(kind);
        let first_from = |id| {
            let (mut low, mut high) = (of_kind.start, of_kind.end);
            while low < high {
                let middle = low + (high - low) / 2;
                let is_below = self.get(middle).is_some_and(|symbol| symbol.id < id);
                if is_below { low = middle + 1 } else { high = middle }
            }
            low
        };
        first_from(id)..id.checked_add(1).map_or(of_kind.end, first_from)
    }

    /// Finds the number of a code by its text.
    pub(crate) fn code(&self, table: Table, text: &str) -> Option<u32> {
        let symbol = Symbol { kind: table as u8, id: NO_ID, name: Some(text) };
        self.find(symbol).map(|index| self.code_number(index))
    }

    pub(crate) fn code_number(&self, index: usize) -> u32 {
        // The writer limits rows and codes to u32.
        (index - self.codes().start) as u32
    }

    pub(crate) fn code_text(&self, number: u32) -> Option<&str> {
        self.get(self.codes().start + number as usize)?.name
    }
}

impl Linker<'_> {
    /// Writes symbols that come in ascending order, each once. Calls `numbered` with every symbol, and its number among
    /// those of its entity or among all codes.
    pub(crate) fn write_unresolved(
        &self,
        symbols: impl Iterator<Item = io::Result<UnresolvedSymbol>>,
        mut numbered: impl FnMut(&UnresolvedSymbol, usize) -> io::Result<()>,
    ) -> io::Result<UnresolvedSymbols> {
        // The symbols of a dump may be more than the memory holds, so they go to files.
        let mut file = BufWriter::with_capacity(1 << 18, unnamed_file(&self.scratch)?);
        let mut offsets = BufWriter::with_capacity(1 << 16, unnamed_file(&self.scratch)?);
        let mut first = Vec::with_capacity(KINDS_MAX);
        let mut last: Option<UnresolvedSymbol> = None;
        let (mut count, mut offset) = (0, 0u64);
        for symbol in symbols {
            let symbol = symbol?;
            let is_known = last.as_ref().is_some_and(|last| last.is_same(&symbol));
            // A kind without symbols begins where the next kind begins.
            first.resize(first.len().max(usize::from(symbol.kind) + 1), count);
            // All tables of codes share one numbering; each entity has its own.
            let number =
                count - usize::from(is_known) - first[usize::from(symbol.kind.min(TABLE_FIRST))];
            numbered(&symbol, number)?;
            if is_known {
                continue;
            }
            symbol.write_meaning(&mut file)?;
            offsets.write_all(&offset.to_le_bytes())?;
            let name_bytes = symbol.name.as_ref().map_or(0, String::len);
            offset += (HEAD_BYTES + name_bytes) as u64;
            count += 1;
            last = Some(symbol);
        }
        first.resize(KINDS_MAX, count);
        let file = file.into_inner().map_err(|error| error.into_error())?;
        Ok(UnresolvedSymbols { map: Map::open(&file)?, offsets: Column::map(offsets, 8)?, first })
    }
}
