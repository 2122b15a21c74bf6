//! The symbol table of a segment: every reference and code of its records, once.
//!
//! ```text
//! entry: id u64 | name_from u32 | name_bytes u32 (u32::MAX: no name) | kind u32 | pad u32
//! table: entries | names | order: the entries' numbers u32, ascending by (kind, id, name)
//!
//! W1 cites W7, W8     symbol 0 = (output, 7, none)   symbol 1 = (output, 8, none)
//! W2 cites W7         symbol 0 again
//! ```

use std::hash::{BuildHasher, Hasher};

use hashbrown::HashTable;
use pinakes_format::entity::NO_ID;
use twox_hash::XxHash3_128;

pub const ENTRY_BYTES: usize = 24;
const NO_NAME: u32 = u32::MAX;

/// A reference to a record, or a code. Sorts by kind, id and name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Symbol<'a> {
    /// The discriminant of the entity, or of the table of codes.
    pub kind: u8,
    /// The id, or [`NO_ID`]. A code has none.
    pub id: u64,
    /// The name at the reference, or the code's text.
    pub name: Option<&'a str>,
}

/// A symbol table that takes symbols and numbers them in the order of their first appearance.
#[derive(Default)]
pub struct SymbolTableBuilder {
    /// Each entry, and a hash of its symbol. The hash lies beside the entry, because it is read soon after the entry
    /// was found.
    entries: Vec<(Entry, [u64; 2])>,
    names: Vec<u8>,
    /// The bytes of the next symbol that are hashed.
    hashed: Vec<u8>,
    known: HashTable<u32>,
    hasher: foldhash::fast::RandomState,
}

#[derive(Clone, Copy)]
struct Entry {
    id: u64,
    name_from: u32,
    name_bytes: u32,
    kind: u8,
}

impl SymbolTableBuilder {
    /// Adds a symbol unless the table has it, and returns its number.
    pub fn number(&mut self, symbol: Symbol<'_>) -> u32 {
        self.number_of((symbol.kind, symbol.id, symbol.name.map(str::as_bytes)))
    }

    /// Adds a symbol of another table unless this table has it, and returns its number; `None` if the other table
    /// has no such symbol.
    pub fn copy(&mut self, from: &SymbolTable<'_>, number: u32) -> Option<u32> {
        // The name is UTF-8, because it came from a symbol.
        from.parts(number).map(|symbol| self.number_of(symbol))
    }

    fn number_of(&mut self, symbol: SymbolParts<'_>) -> u32 {
        let hash = hash_of(&self.hasher, symbol);
        let (entries, names) = (&self.entries, &self.names);
        if let Some(known) =
            self.known.find(hash, |at| name_of(names, entries[*at as usize].0) == symbol)
        {
            return *known;
        }
        let (kind, id, name) = symbol;
        // A table has fewer than 2^32 symbols and name bytes: its segment is written at 48 MiB, and
        // the last record before that comes from a line of at most 1 GiB.
        let number = self.entries.len() as u32;
        let entry = Entry {
            id,
            name_from: self.names.len() as u32,
            name_bytes: name.map_or(NO_NAME, |name| name.len() as u32),
            kind,
        };
        self.entries.push((entry, meaning_of(symbol, &mut self.hashed)));
        self.names.extend_from_slice(name.unwrap_or_default());
        let (entries, names, hasher) = (&self.entries, &self.names, &self.hasher);
        self.known.insert_unique(hash, number, |at| {
            hash_of(hasher, name_of(names, entries[*at as usize].0))
        });
        number
    }

    /// A hash of a symbol of this table, independent of its number and of the table.
    pub fn meaning(&self, number: u32) -> [u64; 2] {
        self.entries.get(number as usize).map_or([u64::MAX; 2], |(_, meaning)| *meaning)
    }

    /// The number of symbols.
    pub fn count(&self) -> u32 {
        self.entries.len() as u32
    }

    /// Estimates the bytes of the table in memory.
    pub fn bytes(&self) -> usize {
        self.names.len() + self.entries.len() * (ENTRY_BYTES + 24)
    }

    /// Removes all symbols, and keeps the memory.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.names.clear();
        self.known.clear();
    }

    pub fn write(&self, out: &mut impl std::io::Write) -> std::io::Result<SymbolTableShape> {
        for (entry, _) in &self.entries {
            let mut bytes = [0; ENTRY_BYTES];
            bytes[..8].copy_from_slice(&entry.id.to_le_bytes());
            bytes[8..12].copy_from_slice(&entry.name_from.to_le_bytes());
            bytes[12..16].copy_from_slice(&entry.name_bytes.to_le_bytes());
            bytes[16] = entry.kind;
            out.write_all(&bytes)?;
        }
        out.write_all(&self.names)?;
        let mut order: Vec<u32> = (0..self.entries.len() as u32).collect();
        order.sort_unstable_by_key(|at| name_of(&self.names, self.entries[*at as usize].0));
        for number in order {
            out.write_all(&number.to_le_bytes())?;
        }
        Ok(SymbolTableShape {
            count: self.entries.len() as u64,
            names_bytes: self.names.len() as u64,
        })
    }
}

/// The kind, id and name of a symbol.
type SymbolParts<'a> = (u8, u64, Option<&'a [u8]>);

/// Hashes a symbol in two steps, where the tuple has five. A symbol without a name may have the hash of another whose
/// name is empty.
#[inline]
fn hash_of(hasher: &foldhash::fast::RandomState, (kind, id, name): SymbolParts<'_>) -> u64 {
    let mut hasher = hasher.build_hasher();
    hasher.write_u64(id.rotate_left(8) ^ u64::from(kind));
    hasher.write(name.unwrap_or_default());
    hasher.finish()
}

fn meaning_of((kind, id, name): SymbolParts<'_>, hashed: &mut Vec<u8>) -> [u64; 2] {
    hashed.clear();
    hashed.extend_from_slice(&[kind, name.is_some().into()]);
    hashed.extend_from_slice(&id.to_le_bytes());
    hashed.extend_from_slice(name.unwrap_or_default());
    let hash = XxHash3_128::oneshot(hashed);
    [hash as u64, (hash >> 64) as u64]
}

fn name_of(names: &[u8], entry: Entry) -> SymbolParts<'_> {
    let from = entry.name_from as usize;
    let name =
        (entry.name_bytes != NO_NAME).then(|| &names[from..from + entry.name_bytes as usize]);
    (entry.kind, entry.id, name)
}

/// The sizes of a written table.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct SymbolTableShape {
    /// The number of symbols.
    pub count: u64,
    pub names_bytes: u64,
}

impl SymbolTableShape {
    /// Bytes on disk; `None` on overflow.
    pub fn bytes(self) -> Option<u64> {
        self.count.checked_mul(ENTRY_BYTES as u64 + 4)?.checked_add(self.names_bytes)
    }
}

/// A written symbol table.
#[derive(Clone, Copy)]
pub struct SymbolTable<'a> {
    entries: &'a [u8],
    names: &'a [u8],
    order: &'a [u8],
}

impl<'a> SymbolTable<'a> {
    /// Reads a table; `None` if there are not as many bytes as the shape states.
    pub fn read(bytes: &'a [u8], shape: SymbolTableShape) -> Option<SymbolTable<'a>> {
        let entries_bytes = usize::try_from(shape.count).ok()?.checked_mul(ENTRY_BYTES)?;
        let (entries, rest) = bytes.split_at_checked(entries_bytes)?;
        let (names, order) = rest.split_at_checked(usize::try_from(shape.names_bytes).ok()?)?;
        (order.len() == entries.len() / ENTRY_BYTES * 4).then_some(SymbolTable {
            entries,
            names,
            order,
        })
    }

    pub fn count(&self) -> usize {
        self.entries.len() / ENTRY_BYTES
    }

    pub fn get(&self, number: u32) -> Option<Symbol<'a>> {
        let (kind, id, name) = self.parts(number)?;
        let name = name.map(std::str::from_utf8).transpose().ok()?;
        Some(Symbol { kind, id, name })
    }

    fn parts(&self, number: u32) -> Option<SymbolParts<'a>> {
        let entry = self.entry(number)?;
        if entry.name_bytes == NO_NAME {
            return Some((entry.kind, entry.id, None));
        }
        let from = entry.name_from as usize;
        let name = self.names.get(from..from.checked_add(entry.name_bytes as usize)?)?;
        Some((entry.kind, entry.id, Some(name)))
    }

    /// Reads the kind and the id of a symbol, but not the name.
    pub fn subject(&self, number: u32) -> Option<(u8, u64)> {
        self.entry(number).map(|entry| (entry.kind, entry.id))
    }

    fn entry(&self, number: u32) -> Option<Entry> {
        let from = (number as usize).checked_mul(ENTRY_BYTES)?;
        let entry = self.entries.get(from..from.checked_add(ENTRY_BYTES)?)?;
        let u32_at = |at: usize| {
            entry.get(at..at + 4).and_then(|field| field.try_into().ok()).map(u32::from_le_bytes)
        };
        Some(Entry {
            id: u64::from_le_bytes(entry.get(..8)?.try_into().ok()?),
            name_from: u32_at(8)?,
            name_bytes: u32_at(12)?,
            kind: u8::try_from(u32_at(16)?).ok()?,
        })
    }

    /// The numbers of the symbols, ascending by kind, id and name.
    pub fn ascending(&self) -> impl Iterator<Item = u32> + 'a {
        self.order
            .chunks_exact(4)
            .filter_map(|number| number.try_into().ok().map(u32::from_le_bytes))
    }
}

/// Makes the symbol of a code.
pub fn code_symbol(kind: u8, name: &str) -> Symbol<'_> {
    Symbol { kind, id: NO_ID, name: Some(name) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_symbol_table_keeps_each_symbol_once_and_in_order() {
        let mut builder = SymbolTableBuilder::default();
        let symbols = [
            Symbol { kind: 2, id: 9, name: Some("b") },
            Symbol { kind: 1, id: 9, name: None },
            Symbol { kind: 1, id: 9, name: Some("東京") },
            code_symbol(64, "US"),
        ];
        for (number, symbol) in symbols.iter().enumerate() {
            assert_eq!(builder.number(*symbol), number as u32);
            assert_eq!(builder.number(*symbol), number as u32);
        }
        let mut bytes = Vec::new();
        let shape = builder.write(&mut bytes).unwrap();
        assert_eq!(shape.bytes(), Some(bytes.len() as u64));
        let read = SymbolTable::read(&bytes, shape).unwrap();
        for (number, symbol) in symbols.iter().enumerate() {
            assert_eq!(read.get(number as u32).unwrap(), *symbol);
        }
        let sorted: Vec<Symbol<'_>> = read.ascending().filter_map(|at| read.get(at)).collect();
        assert!(sorted.is_sorted() && sorted.len() == 4);
        assert!(read.get(4).is_none());
    }
}
