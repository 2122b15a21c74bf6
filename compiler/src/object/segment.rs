//! Segments: records of one entity, their keys and their symbols.
//!
//! ```text
//! blobs, in list order | references, in list order | keys, ascending by id | symbol table | chain table
//! blob: a stored record, an rkyv archive of the packed record and its compressed long texts
//! references: the number of the record's taxonomy chains and the number of each, LEB128; then the ids that
//!             the record refers to, ascending: the difference to the one before, LEB128
//! ```

use std::io::{self, Write};

use pinakes_format::entity::{Entity, NO_ID};
use pinakes_format::json::render::RecordBytes;
use pinakes_format::record;
use pinakes_format::record::{
    AnyRef, Code, LongText, NO_CODE, Named, ParentRef, Record, RecordWriter, Ref, RenumberedCopy,
    Slot, SlotNumber,
};
use pinakes_format::storage::{Deflater, leb128};

use crate::object::chains::{
    Chain, ChainTable, ChainTableBuilder, ChainTableShape, EncodedChains, NamedBy,
};
use crate::object::key::{KEY_BYTES, Origin, RecordKey, RecordPlace, hash_content, rank_of};
use crate::object::read_ahead::ReadAhead;
use crate::object::symbols::{
    Symbol, SymbolTable, SymbolTableBuilder, SymbolTableShape, code_symbol,
};

/// Bytes of blobs, symbols and keys at which a segment is written. The last record may exceed the
/// limit.
///
/// Fixed, so that an object depends on its part only. Two threads with full segments stay far below
/// the smallest `--memory`.
pub const SEGMENT_BYTES: usize = 48 << 20;
/// Bytes of blobs at which a segment reserves memory for all blobs it may take.
const LARGE_BYTES: usize = 1 << 20;

/// A segment that takes records.
pub struct SegmentBuilder {
    entity: Entity,
    blobs: Vec<u8>,
    keys: Vec<RecordKey>,
    symbols: SymbolTableBuilder,
    /// The number of symbols before those of the next record.
    symbols_before: u32,
    chains: ChainTableBuilder,
    /// The taxonomy chains of the next record.
    next_chains: EncodedChains,
    /// The ids that the next record refers to.
    referred: Vec<u64>,
    /// The encoded chains and references of all records.
    references: Vec<u8>,
    /// The long texts of the next record, and their compressed form.
    long_texts: Vec<u8>,
    compressed: Vec<u8>,
    /// Packs the next record.
    writer: RecordWriter,
    packed: Vec<u8>,
    /// What the content hash of the next record covers, and the meanings of its symbols.
    content: Vec<u8>,
    meanings: Vec<u8>,
    /// Made for the first long text, because it takes more than 1 MiB.
    deflater: Option<Deflater>,
    arena: rkyv::ser::allocator::Arena,
}

/// The position and sizes of a written segment.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct SegmentShape {
    /// The discriminant of the entity.
    pub entity: u8,
    /// The offset of the segment in the object.
    pub from: u64,
    pub records: u64,
    pub blobs_bytes: u64,
    pub references_bytes: u64,
    pub symbols: SymbolTableShape,
    pub chains: ChainTableShape,
}

/// Facts about a record besides its members.
#[derive(Clone, Copy, Debug)]
pub struct Provenance {
    pub origin: Origin,
    /// The time of the last change, in microseconds since 1970; `i64::MIN` if unknown.
    pub updated_micros: i64,
    /// The hash of the record's line; `None` for a row without a line.
    pub line_hash: Option<[u8; 16]>,
    /// The id of an output's primary topic.
    pub group: Option<u64>,
}

impl SegmentBuilder {
    pub fn new(entity: Entity) -> SegmentBuilder {
        SegmentBuilder {
            entity,
            blobs: Vec::new(),
            keys: Vec::new(),
            symbols: SymbolTableBuilder::default(),
            symbols_before: 0,
            chains: ChainTableBuilder::default(),
            next_chains: EncodedChains::default(),
            referred: Vec::new(),
            references: Vec::new(),
            long_texts: Vec::new(),
            compressed: Vec::new(),
            writer: RecordWriter::default(),
            packed: Vec::new(),
            content: Vec::new(),
            meanings: Vec::new(),
            deflater: None,
            arena: rkyv::ser::allocator::Arena::new(),
        }
    }

    /// Returns an empty builder that uses the memory of this builder again.
    pub fn reused(mut self, entity: Entity) -> SegmentBuilder {
        self.clear();
        SegmentBuilder { entity, ..self }
    }

    fn clear(&mut self) {
        self.blobs.clear();
        self.keys.clear();
        self.symbols.clear();
        self.symbols_before = 0;
        self.chains.clear();
        self.next_chains.clear();
        self.referred.clear();
        self.references.clear();
        self.long_texts.clear();
    }

    /// Bytes of memory that the builder has taken for blobs.
    pub fn reserved_bytes(&self) -> usize {
        self.blobs.capacity()
    }

    /// Whether the segment has reached [`SEGMENT_BYTES`].
    pub fn is_full(&self) -> bool {
        self.blobs.len()
            + self.references.len()
            + self.symbols.bytes()
            + self.chains.bytes()
            + self.keys.len() * size_of::<RecordKey>()
            >= SEGMENT_BYTES
    }

    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Adds a symbol to the table, once, and returns its number.
    pub(crate) fn symbol(&mut self, kind: u8, id: Option<u64>, name: Option<&str>) -> u32 {
        self.symbols.number(Symbol { kind, id: id.unwrap_or(NO_ID), name })
    }

    /// Makes a reference to a record from its id and the name at the reference.
    pub fn reference<const E: u8>(&mut self, id: Option<u64>, name: Option<&str>) -> Ref<E> {
        Ref(self.symbol(E, id, name))
    }

    /// Makes a reference from a child to its parent in the taxonomy.
    pub fn parent<const E: u8>(&mut self, id: Option<u64>, name: Option<&str>) -> ParentRef<E> {
        ParentRef(self.symbol(E, id, name))
    }

    /// Makes a reference whose entity varies from record to record.
    pub fn any_reference(&mut self, entity: Entity, id: u64) -> AnyRef {
        AnyRef { entity: entity as u8, target: self.symbol(entity as u8, Some(id), None) }
    }

    pub fn code<const T: u8>(&mut self, text: Option<&str>) -> Option<Code<T>> {
        text.map(|text| Code(self.symbols.number(code_symbol(T, text))))
    }

    /// Makes a code that replies show with its name.
    pub fn named<const T: u8>(&mut self, text: Option<&str>) -> Option<Named<T>> {
        text.map(|text| Named(self.symbols.number(code_symbol(T, text))))
    }

    /// The number of a code's symbol, or [`NO_CODE`].
    pub fn code_number(&mut self, table: u8, text: Option<&str>) -> u32 {
        text.map_or(NO_CODE, |text| self.symbols.number(code_symbol(table, text)))
    }

    /// States which records of its entity the next record refers to. Ids may repeat.
    pub fn refer_to(&mut self, ids: &[u64]) {
        self.referred.clear();
        self.referred.extend_from_slice(ids);
        self.referred.sort_unstable();
        self.referred.dedup();
    }

    /// Adds a taxonomy chain to the next record.
    pub fn derive_from(&mut self, chain: &Chain<'_>) {
        self.next_chains.push(chain);
    }

    /// Adds a long text to the next record.
    pub fn long_text(&mut self, text: &str) -> LongText {
        // Both casts are exact: the abstract and the other texts of a line have at most 1 GiB each.
        let text_range = LongText {
            offset_bytes: self.long_texts.len() as u32,
            length_bytes: text.len() as u32,
        };
        self.long_texts.extend_from_slice(text.as_bytes());
        text_range
    }

    fn compress_long_texts(&mut self) -> io::Result<()> {
        self.compressed.clear();
        if self.long_texts.is_empty() {
            return Ok(());
        }
        let deflater = match &mut self.deflater {
            Some(deflater) => deflater,
            none => none.insert(Deflater::new()?),
        };
        deflater.deflate(&self.long_texts, &mut self.compressed)
    }

    /// Hashes a packed record with what its symbols mean, because their numbers depend on the records
    /// before.
    ///
    /// Front ends add symbols in the order in which the record holds them, and no others. A copy of the record then
    /// gets the same numbers.
    fn hash_content(
        &mut self,
        packed: &[u8],
        slots: impl Iterator<Item = SlotNumber>,
        references: &[u8],
    ) -> io::Result<u128> {
        let meanings = &mut self.meanings;
        meanings.clear();
        // Zeros replace the numbers of symbols: the same record has the same bytes in each segment.
        let mut copy = RenumberedCopy::new(packed).map_err(io::Error::other)?;
        let mut next_new = self.symbols_before;
        for symbol in slots {
            if symbol.number() != NO_CODE && symbol.number() >= next_new {
                if symbol.number() != next_new {
                    return Err(io::Error::other("the symbols of a record are out of order"));
                }
                next_new += 1;
            }
            let [low, high] = self.symbols.meaning(symbol.number()).map(u64::to_le_bytes);
            meanings.extend_from_slice(&low);
            meanings.extend_from_slice(&high);
            copy.put(symbol, 0);
        }
        if next_new != self.symbols.count() {
            return Err(io::Error::other("a symbol is of no record"));
        }
        self.symbols_before = next_new;
        let content = &mut self.content;
        content.clear();
        copy.finish(content);
        content.extend_from_slice(meanings);
        content.extend_from_slice(references);
        content.extend_from_slice(&self.long_texts);
        Ok(hash_content(content))
    }

    /// Appends a record, whose symbols and long texts were added since the last `push`, and returns its
    /// line hash. Fails without a new record if the record is too large to archive.
    pub fn push<R: Record>(&mut self, record: &R, provenance: Provenance) -> io::Result<[u8; 16]> {
        let from = self.blobs.len();
        let deflated = self.compress_long_texts();
        let references_from = self.references.len();
        let named_by = NamedBy::new(record.id(), provenance.updated_micros);
        self.chains.push(&self.next_chains, named_by, &mut self.references);
        self.next_chains.clear();
        let ids_from = self.references.len();
        // The ids ascend, so their differences take few bytes.
        let mut last = 0;
        for id in self.referred.drain(..) {
            leb128::push(id - last, &mut self.references);
            last = id;
        }
        deflated?;
        self.reserve_blobs();
        let mut packed = std::mem::take(&mut self.packed);
        packed.clear();
        let mut writer = std::mem::take(&mut self.writer);
        record.write(&mut writer);
        let slots = writer.finish(&mut packed);
        let references = std::mem::take(&mut self.references);
        // Numbers of chains depend on the records before, so the hash leaves chains out.
        let content_hash = self.hash_content(&packed, slots, &references[ids_from..]);
        self.writer = writer;
        self.references = references;
        self.long_texts.clear();
        // Writer and references are back in place, and the texts are cleared, before an error returns.
        let content_hash = content_hash?;
        let line_hash = provenance.line_hash.unwrap_or(RecordKey::hash_without_line(content_hash));
        let stored = record::store(&packed, &self.compressed, &mut self.arena, &mut self.blobs);
        self.packed = packed;
        stored.map_err(|error| {
            self.references.truncate(references_from);
            io::Error::other(error)
        })?;
        let number = |bytes: usize| u32::try_from(bytes).map_err(io::Error::other);
        self.keys.push(RecordKey {
            id: record.id(),
            updated_micros: provenance.updated_micros,
            line_hash,
            content_hash,
            rank: rank_of(record.order_count()),
            group: provenance.group.unwrap_or(NO_ID),
            blob_from: number(from)?,
            blob_bytes: number(self.blobs.len() - from)?,
            references_from: number(references_from)?,
            references_bytes: number(self.references.len() - references_from)?,
            origin: provenance.origin,
            is_copyable: false,
        });
        Ok(line_hash)
    }

    fn reserve_blobs(&mut self) {
        if self.blobs.len() > LARGE_BYTES && self.blobs.capacity() < SEGMENT_BYTES {
            // Growth by doubling would copy the blobs and touch twice the pages.
            self.blobs.reserve_exact(SEGMENT_BYTES + LARGE_BYTES - self.blobs.len());
        }
    }

    /// Lets the last record be copied where another part has an equal line.
    pub fn mark_copyable(&mut self) {
        if let Some(key) = self.keys.last_mut() {
            key.is_copyable = true;
        }
    }

    /// Appends a copy of a record of another object, as [`SegmentBuilder::push`] would append the record of
    /// its line. `None` if the other object is damaged.
    pub fn copy<R: Record>(&mut self, from: &Segment<'_>, key: &RecordKey) -> Option<()> {
        let RecordBytes { packed, long_texts } = record::access(from.blob(&key.place())?).ok()?;
        let mut copy = RenumberedCopy::new(packed).ok()?;
        // Slots hold numbers of the other segment's symbols; each symbol gets its number in this segment.
        let mut is_complete = true;
        let visited = record::visit_slots::<R>(packed, &mut |slot| {
            let mut put = |slot: SlotNumber| {
                let number = match slot.number() {
                    NO_CODE => Some(NO_CODE),
                    number => self.symbols.copy(&from.symbols, number),
                };
                match number {
                    Some(number) => copy.put(slot, number),
                    None => is_complete = false,
                }
            };
            match slot {
                Slot::Reference(_, symbol) | Slot::Code(symbol) | Slot::Copy(_, symbol) => {
                    put(symbol)
                }
                Slot::SourceType { source, code } => {
                    put(source);
                    put(code);
                }
            }
        });
        visited.ok().filter(|()| is_complete)?;
        // The next record that is pushed counts its new symbols from here.
        self.symbols_before = self.symbols.count();
        let references_from = self.references.len();
        let references = from.references_of(&key.place())?;
        // Chains have numbers in their segment, as symbols have. Ids are copied as they are.
        leb128::push(references.chains_count, &mut self.references);
        for chain in references.chains() {
            let named_by = NamedBy::new(key.id, key.updated_micros);
            let number = self.chains.number(chain?, named_by);
            leb128::push(number.into(), &mut self.references);
        }
        self.references.extend_from_slice(references.ids()?);
        self.reserve_blobs();
        let mut packed = std::mem::take(&mut self.packed);
        packed.clear();
        copy.finish(&mut packed);
        let blob_from = self.blobs.len();
        let stored = record::store(&packed, long_texts, &mut self.arena, &mut self.blobs);
        self.packed = packed;
        stored.ok()?;
        let number = |bytes: usize| u32::try_from(bytes).ok();
        // Id, times and hashes do not depend on the segment.
        self.keys.push(RecordKey {
            blob_from: number(blob_from)?,
            blob_bytes: number(self.blobs.len() - blob_from)?,
            references_from: number(references_from)?,
            references_bytes: number(self.references.len() - references_from)?,
            ..*key
        });
        Some(())
    }

    /// The taxonomy chains of all records, each with the record by which its nodes are named.
    pub fn chains(&self) -> impl Iterator<Item = (Chain<'_>, NamedBy)> {
        self.chains.iter()
    }

    /// Writes the segment at offset `from` of its object, and empties the builder.
    pub fn write(&mut self, from: u64, out: &mut impl Write) -> io::Result<SegmentShape> {
        // The link copies records in list order and so reads the blobs of a segment front to back. Numbers are sorted,
        // because keys are large.
        let keys = &mut self.keys;
        let mut order: Vec<usize> = (0..keys.len()).collect();
        order.sort_unstable_by_key(|at| {
            let key = &keys[*at];
            (key.rank, key.id, key.blob_from)
        });
        // Below 4 GiB: a segment takes one record more than its limit, and a blob has less than 2 GiB.
        let mut blobs_bytes = 0;
        for at in &order {
            let key = &mut keys[*at];
            let blob_from = key.blob_from as usize;
            out.write_all(&self.blobs[blob_from..blob_from + key.blob_bytes as usize])?;
            key.blob_from = blobs_bytes;
            blobs_bytes += key.blob_bytes;
        }
        let mut references_bytes = 0;
        for at in &order {
            let key = &mut keys[*at];
            let from = key.references_from as usize;
            out.write_all(&self.references[from..from + key.references_bytes as usize])?;
            key.references_from = references_bytes;
            references_bytes += key.references_bytes;
        }
        order.sort_unstable_by_key(|at| {
            let key = &keys[*at];
            (key.id, key.claim(), key.blob_from)
        });
        for at in order {
            out.write_all(&keys[at].encode())?;
        }
        let symbols = self.symbols.write(out)?;
        let chains = self.chains.write(out)?;
        let records = self.keys.len() as u64;
        self.clear();
        Ok(SegmentShape {
            entity: self.entity as u8,
            from,
            records,
            blobs_bytes: blobs_bytes.into(),
            references_bytes: references_bytes.into(),
            symbols,
            chains,
        })
    }
}

#[derive(Clone, Copy)]
pub struct Segment<'a> {
    ahead: ReadAhead<'a>,
    bytes: &'a [u8],
    blobs: &'a [u8],
    references: &'a [u8],
    keys: &'a [u8],
    symbol_bytes: &'a [u8],
    pub symbols: SymbolTable<'a>,
    chains: ChainTable<'a>,
}

/// The encoded chains and references of one record.
#[derive(Clone, Copy)]
struct RecordReferences<'a> {
    chains_count: u64,
    /// The numbers of the chains, and then the ids.
    numbers: &'a [u8],
    table: ChainTable<'a>,
}

impl<'a> RecordReferences<'a> {
    /// The encoded chains; an item is `None` if the object is damaged.
    fn chains(self) -> impl Iterator<Item = Option<&'a [u8]>> {
        let mut numbers = self.numbers;
        (0..self.chains_count).map(move |_| self.table.encoded(leb128::take(&mut numbers)?))
    }

    /// The ids, each as the difference to the one before.
    fn ids(self) -> Option<&'a [u8]> {
        let mut numbers = self.numbers;
        for _ in 0..self.chains_count {
            leb128::take(&mut numbers)?;
        }
        Some(numbers)
    }
}

impl<'a> Segment<'a> {
    /// Reads a segment of an object; `None` if the object is too short.
    pub(crate) fn read(
        object: &'a [u8],
        ahead: ReadAhead<'a>,
        shape: &SegmentShape,
    ) -> Option<Segment<'a>> {
        let bytes = object.get(usize::try_from(shape.from).ok()?..)?;
        let (blobs, rest) = bytes.split_at_checked(usize::try_from(shape.blobs_bytes).ok()?)?;
        let references_bytes = usize::try_from(shape.references_bytes).ok()?;
        let (references, rest) = rest.split_at_checked(references_bytes)?;
        let keys_bytes = usize::try_from(shape.records).ok()?.checked_mul(KEY_BYTES)?;
        let (keys, rest) = rest.split_at_checked(keys_bytes)?;
        let symbols_bytes = usize::try_from(shape.symbols.bytes()?).ok()?;
        let (symbol_bytes, mut rest) = rest.split_at_checked(symbols_bytes)?;
        let symbols = SymbolTable::read(symbol_bytes, shape.symbols)?;
        let chains = ChainTable::take(&mut rest, shape.chains)?;
        let bytes = &bytes[..bytes.len() - rest.len()];
        Some(Segment { ahead, bytes, blobs, references, keys, symbol_bytes, symbols, chains })
    }

    pub(crate) fn size_bytes(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Starts to read all bytes from disk.
    pub(crate) fn read_ahead(&self) {
        self.ahead.start(self.bytes);
    }

    /// The number of records.
    pub fn count(&self) -> usize {
        self.keys.len() / KEY_BYTES
    }

    /// The key at `index`; keys ascend by id.
    pub fn key(&self, index: usize) -> Option<RecordKey> {
        let from = index.checked_mul(KEY_BYTES)?;
        RecordKey::decode(self.keys.get(from..from.checked_add(KEY_BYTES)?)?)
    }

    /// The id of the key at `index`. Keys are read front to back.
    pub fn id(&self, index: usize) -> Option<u64> {
        let from = index.checked_mul(KEY_BYTES)?;
        self.ahead.follow(self.keys, from, KEY_BYTES);
        RecordKey::decode_id(self.keys.get(from..)?)
    }

    /// The line hash of each record that may be copied, and the index of its key.
    pub fn copyable_lines(&self) -> impl Iterator<Item = (u32, [u8; 16])> {
        let keys = (0..self.count()).filter_map(|index| Some((index as u32, self.key(index)?)));
        keys.filter(|(_, key)| key.is_copyable).map(|(index, key)| (index, key.line_hash))
    }

    /// Starts to read the symbols from disk.
    pub fn read_symbols_ahead(&self) {
        self.ahead.start(self.symbol_bytes);
    }

    /// The bytes of a record. Records in list order lie one behind the other.
    pub fn blob(&self, place: &RecordPlace) -> Option<&'a [u8]> {
        self.part_of(self.blobs, place.blob_from, place.blob_bytes)
    }

    fn part_of(&self, all: &'a [u8], from: u32, bytes: u32) -> Option<&'a [u8]> {
        let (from, bytes) = (from as usize, bytes as usize);
        self.ahead.follow(all, from, bytes);
        all.get(from..from.checked_add(bytes)?)
    }

    fn references_of(&self, place: &RecordPlace) -> Option<RecordReferences<'a>> {
        let RecordPlace { references_from, references_bytes, .. } = *place;
        let mut numbers = self.part_of(self.references, references_from, references_bytes)?;
        let chains_count = leb128::take(&mut numbers)?;
        Some(RecordReferences { chains_count, numbers, table: self.chains })
    }

    /// Appends the ids that a record refers to, ascending; `None` if they are cut.
    pub fn references(&self, place: &RecordPlace, ids: &mut Vec<u64>) -> Option<()> {
        let mut bytes = self.references_of(place)?.ids()?;
        let mut last = 0u64;
        while !bytes.is_empty() {
            last = last.checked_add(leb128::take(&mut bytes)?)?;
            ids.push(last);
        }
        Some(())
    }
}
