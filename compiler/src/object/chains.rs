//! The taxonomy chains of a segment: what the topics of its records say of the levels above them.
//!
//! ```text
//! table: offsets u32, one for each chain, then the end of the last | chains
//! chain: for each level from topic up to domain: id + 1, or 0 if the record omits the level, LEB128;
//!        bytes of the name + 1, or 0 if there is no name, LEB128; the name
//! ```
//!
//! A record keeps its topics, but not what their references said of subfields, fields and domains. Chains keep
//! it, so that a copied record gives the same derived nodes as its line. Nodes are derived once for each chain.

use std::cmp::Reverse;

use hashbrown::HashTable;
use pinakes_format::storage::leb128;

/// The levels of a chain: topic, subfield, field and domain.
pub const LEVELS: usize = 4;

/// A reference to a taxonomy node: its id, and its name where the reference has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeRef<'a> {
    pub id: u64,
    pub name: Option<&'a str>,
}

/// The record that names a node. The greatest of several counts: the newest, then that with the least id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NamedBy {
    /// The time of the last change, in microseconds since 1970; `i64::MIN` if unknown.
    pub updated_micros: i64,
    pub id: Reverse<u64>,
}

impl NamedBy {
    pub fn new(id: u64, updated_micros: i64) -> NamedBy {
        NamedBy { updated_micros, id: Reverse(id) }
    }
}

/// The nodes of a reference from its topic up to its domain; `None` where it omits a level.
pub type Chain<'a> = [Option<NodeRef<'a>>; LEVELS];

/// The encoded chains of one record, one after another.
#[derive(Default)]
pub struct EncodedChains {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl EncodedChains {
    pub fn push(&mut self, chain: &Chain<'_>) {
        for node in chain {
            let id = node.map_or(0, |node| node.id.saturating_add(1));
            leb128::push(id, &mut self.bytes);
            push_name(node.and_then(|node| node.name), &mut self.bytes);
        }
        self.ends.push(self.bytes.len());
    }

    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let mut from = 0;
        self.ends.iter().map(move |end| &self.bytes[std::mem::replace(&mut from, *end)..*end])
    }
}

/// Appends a name such that no two lists of names give the same bytes.
pub(super) fn push_name(name: Option<&str>, out: &mut Vec<u8>) {
    leb128::push(name.map_or(0, |name| name.len() as u64 + 1), out);
    out.extend_from_slice(name.unwrap_or_default().as_bytes());
}

/// A table that takes chains and numbers them in the order of their first appearance.
#[derive(Default)]
pub struct ChainTableBuilder {
    bytes: Vec<u8>,
    ends: Vec<u32>,
    /// For each chain, the record by which its nodes are named.
    named_by: Vec<NamedBy>,
    known: HashTable<u32>,
    hasher: foldhash::fast::RandomState,
}

impl ChainTableBuilder {
    /// Adds the chains of a record, and appends their count and numbers to `references`.
    pub fn push(&mut self, chains: &EncodedChains, named_by: NamedBy, references: &mut Vec<u8>) {
        leb128::push(chains.ends.len() as u64, references);
        for chain in chains.iter() {
            leb128::push(self.number(chain, named_by).into(), references);
        }
    }

    /// Adds the encoded chain of a record unless the table has it, and returns its number.
    pub fn number(&mut self, chain: &[u8], named_by: NamedBy) -> u32 {
        use std::hash::BuildHasher;
        let hash = self.hasher.hash_one(chain);
        let (bytes, ends, hasher) = (&self.bytes, &self.ends, &self.hasher);
        if let Some(known) = self.known.find(hash, |at| chain_at(bytes, ends, *at) == chain) {
            let newest = &mut self.named_by[*known as usize];
            *newest = (*newest).max(named_by);
            return *known;
        }
        // Fewer than 2^32, like the symbols of a segment.
        let number = self.ends.len() as u32;
        self.bytes.extend_from_slice(chain);
        self.ends.push(self.bytes.len() as u32);
        self.named_by.push(named_by);
        let (bytes, ends) = (&self.bytes, &self.ends);
        self.known.insert_unique(hash, number, |at| hasher.hash_one(chain_at(bytes, ends, *at)));
        number
    }

    /// Estimates the bytes of the table in memory.
    pub fn bytes(&self) -> usize {
        self.bytes.len() + self.ends.len() * 32
    }

    /// The chains, each with the record by which its nodes are named.
    pub fn iter(&self) -> impl Iterator<Item = (Chain<'_>, NamedBy)> {
        (0..).zip(&self.named_by).filter_map(|(number, named_by)| {
            Some((decode(chain_at(&self.bytes, &self.ends, number))?, *named_by))
        })
    }

    /// Removes all chains, and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.named_by.clear();
        self.known.clear();
    }

    pub fn write(&self, out: &mut impl std::io::Write) -> std::io::Result<ChainTableShape> {
        for offset in [0].iter().chain(&self.ends) {
            out.write_all(&offset.to_le_bytes())?;
        }
        out.write_all(&self.bytes)?;
        Ok(ChainTableShape { count: self.ends.len() as u64, chains_bytes: self.bytes.len() as u64 })
    }
}

fn chain_at<'b>(bytes: &'b [u8], ends: &[u32], number: u32) -> &'b [u8] {
    let number = number as usize;
    let from = number.checked_sub(1).map_or(0, |before| ends[before]);
    &bytes[from as usize..ends[number] as usize]
}

/// The sizes of a written table.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ChainTableShape {
    pub count: u64,
    pub chains_bytes: u64,
}

impl ChainTableShape {
    fn offsets_bytes(self) -> Option<usize> {
        usize::try_from(self.count).ok()?.checked_add(1)?.checked_mul(4)
    }
}

/// The chain table of a written segment.
#[derive(Clone, Copy)]
pub struct ChainTable<'a> {
    offsets: &'a [u8],
    chains: &'a [u8],
}

impl<'a> ChainTable<'a> {
    /// Takes a table off the front of `bytes`; `None` if there are fewer bytes than the shape states.
    pub fn take(bytes: &mut &'a [u8], shape: ChainTableShape) -> Option<ChainTable<'a>> {
        let (offsets, rest) = bytes.split_at_checked(shape.offsets_bytes()?)?;
        let (chains, rest) = rest.split_at_checked(usize::try_from(shape.chains_bytes).ok()?)?;
        *bytes = rest;
        Some(ChainTable { offsets, chains })
    }

    /// The encoded chain of a number.
    pub fn encoded(&self, number: u64) -> Option<&'a [u8]> {
        let at = usize::try_from(number).ok()?.checked_mul(4)?;
        let (from, to) = self.offsets.get(at..at.checked_add(8)?)?.split_at(4);
        let offset = |bytes: &[u8]| Some(u32::from_le_bytes(bytes.try_into().ok()?) as usize);
        self.chains.get(offset(from)?..offset(to)?)
    }
}

/// Decodes a chain; `None` if it is cut.
pub fn decode(mut chain: &[u8]) -> Option<Chain<'_>> {
    let mut nodes = [None; LEVELS];
    for node in &mut nodes {
        let id = leb128::take(&mut chain)?.checked_sub(1);
        let name = match leb128::take(&mut chain)?.checked_sub(1) {
            None => None,
            Some(bytes) => {
                let (name, rest) = chain.split_at_checked(usize::try_from(bytes).ok()?)?;
                chain = rest;
                Some(std::str::from_utf8(name).ok()?)
            }
        };
        *node = id.map(|id| NodeRef { id, name });
    }
    chain.is_empty().then_some(nodes)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_table_keeps_each_chain_once_and_reads_it_back() {
        let node = |id, name| Some(NodeRef { id, name });
        let chains = [
            [node(1, Some("topic")), node(2, Some("子領域")), None, node(4, None)],
            [node(1, Some("topic")), node(2, Some("")), None, node(4, None)],
            [None; LEVELS],
        ];
        let mut encoded = EncodedChains::default();
        for chain in chains.iter().chain(&chains) {
            encoded.push(chain);
        }
        let (mut builder, mut numbers) = (ChainTableBuilder::default(), Vec::new());
        builder.push(&encoded, NamedBy::new(1, 7), &mut numbers);
        assert_eq!(numbers, [6, 0, 1, 2, 0, 1, 2]);
        let mut bytes = Vec::new();
        let shape = builder.write(&mut bytes).unwrap();
        let mut rest = &*bytes;
        let table = ChainTable::take(&mut rest, shape).unwrap();
        assert!(rest.is_empty());
        for (number, chain) in chains.iter().enumerate() {
            assert_eq!(decode(table.encoded(number as u64).unwrap()), Some(*chain));
        }
        assert_eq!(table.encoded(3), None);
        assert_eq!(decode(&[1]), None);
        assert!(ChainTable::take(&mut &bytes[1..], shape).is_none());
    }
}
