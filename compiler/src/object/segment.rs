//! A segment under way: records of one entity, sorted and written when it is full.

use std::io::{self, Write};

use pinakes_format::entity::{Entity, NO_ID};
use pinakes_format::record;
use pinakes_format::record::Record;
use pinakes_format::record::value::{AnyRef, Code, LongText, NO_CODE, Named, ParentRef, Ref};
use pinakes_format::storage::long_text::Deflater;

use crate::object::key::{Key, Origin, rank_of};
use crate::object::symbols::{Symbol, SymbolTableBuilder, SymbolTableShape, code_symbol};

/// Bytes of blobs and symbols at which a segment is closed. Fixed, so that an object is a
/// function of its part alone and two threads stay far below the smallest `--memory`.
pub const SEGMENT_BYTES: usize = 48 << 20;
/// Bytes of blobs beyond which a segment has all the room it may take.
const LARGE_BYTES: usize = 1 << 20;

/// A segment being filled.
pub struct SegmentBuilder {
    entity: Entity,
    blobs: Vec<u8>,
    keys: Vec<Key>,
    symbols: SymbolTableBuilder,
    pool: Vec<u8>,
    frame: Vec<u8>,
    /// Made when the first long text comes: its working memory is a megabyte and more.
    deflater: Option<Deflater>,
    arena: rkyv::ser::allocator::Arena,
}

/// What a written segment consists of, in the order it lies in the object: blobs, keys, symbols.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct SegmentShape {
    /// The discriminant of its entity.
    pub entity: u8,
    /// Where it begins in the object.
    pub from: u64,
    /// Records.
    pub records: u64,
    /// Bytes of their blobs.
    pub blobs_bytes: u64,
    /// Their symbols.
    #[serde(rename = "mentions")]
    pub symbols: SymbolTableShape,
}

/// What is known of a record beside its members.
#[derive(Clone, Copy, Debug)]
pub struct Provenance {
    /// Where it came from.
    pub origin: Origin,
    /// When it changed, in microseconds since 1970; `i64::MIN` where that is unknown.
    pub updated_micros: i64,
    /// The first 16 bytes of the BLAKE3 hash of its line.
    pub line_hash: [u8; 16],
    /// The id of an output's primary topic.
    pub group: Option<u64>,
}

impl SegmentBuilder {
    /// An empty segment.
    pub fn new(entity: Entity) -> SegmentBuilder {
        SegmentBuilder {
            entity,
            blobs: Vec::new(),
            keys: Vec::new(),
            symbols: SymbolTableBuilder::default(),
            pool: Vec::new(),
            frame: Vec::new(),
            deflater: None,
            arena: rkyv::ser::allocator::Arena::new(),
        }
    }

    /// Whether it is time to write it.
    pub fn is_full(&self) -> bool {
        self.blobs.len() + self.symbols.bytes() + self.keys.len() * size_of::<Key>()
            >= SEGMENT_BYTES
    }

    /// Whether it holds no record.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The number of a symbol.
    pub(crate) fn symbol(&mut self, kind: u8, id: Option<u64>, name: Option<&str>) -> u32 {
        self.symbols.number(Symbol { kind, id: id.unwrap_or(NO_ID), name })
    }

    /// A reference to a record, by its id and the name it is given here.
    pub fn reference<const E: u8>(&mut self, id: Option<u64>, name: Option<&str>) -> Ref<E> {
        Ref(self.symbol(E, id, name))
    }

    /// A reference from child to parent in the taxonomy.
    pub fn parent<const E: u8>(&mut self, id: Option<u64>, name: Option<&str>) -> ParentRef<E> {
        ParentRef(self.symbol(E, id, name))
    }

    /// A reference to a record of an entity known only here.
    pub fn any_reference(&mut self, entity: Entity, id: u64) -> AnyRef {
        AnyRef { entity: entity as u8, target: self.symbol(entity as u8, Some(id), None) }
    }

    /// A code.
    pub fn code<const T: u8>(&mut self, text: Option<&str>) -> Option<Code<T>> {
        text.map(|text| Code(self.symbols.number(code_symbol(T, text))))
    }

    /// A code shown with its name.
    pub fn named<const T: u8>(&mut self, text: Option<&str>) -> Option<Named<T>> {
        text.map(|text| Named(self.symbols.number(code_symbol(T, text))))
    }

    /// The number of a code, or [`NO_CODE`].
    pub fn code_number(&mut self, table: u8, text: Option<&str>) -> u32 {
        text.map_or(NO_CODE, |text| self.symbols.number(code_symbol(table, text)))
    }

    /// A long text of the record under way.
    pub fn cold(&mut self, text: &str) -> LongText {
        // A pool is limited to 256 MiB by the longest line.
        let cold =
            LongText { offset_bytes: self.pool.len() as u32, length_bytes: text.len() as u32 };
        self.pool.extend_from_slice(text.as_bytes());
        cold
    }

    fn deflate_pool(&mut self) -> io::Result<()> {
        self.frame.clear();
        if self.pool.is_empty() {
            return Ok(());
        }
        let deflater = match &mut self.deflater {
            Some(deflater) => deflater,
            none => none.insert(Deflater::new()?),
        };
        deflater.deflate(&self.pool, &mut self.frame)
    }

    /// Ends the record under way, whose symbols and long texts were made since the last.
    ///
    /// # Errors
    ///
    /// Where the record is too large to archive; it is then as if it had never been begun.
    pub fn push<R: Record>(&mut self, record: &R, provenance: Provenance) -> io::Result<()> {
        let from = self.blobs.len();
        let deflated = self.deflate_pool();
        self.pool.clear();
        deflated?;
        if from > LARGE_BYTES && self.blobs.capacity() < SEGMENT_BYTES {
            // All there may be, at once: to grow by doubling copies it, and touches twice the pages.
            self.blobs.reserve_exact(SEGMENT_BYTES + LARGE_BYTES - from);
        }
        self.blobs.extend_from_slice(&[0; 4]);
        let blobs = std::mem::take(&mut self.blobs);
        let mut blobs =
            record::archive(record, &mut self.arena, blobs).map_err(io::Error::other)?;
        let archived_bytes = u32::try_from(blobs.len() - from - 4).map_err(io::Error::other)?;
        blobs[from..from + 4].copy_from_slice(&archived_bytes.to_le_bytes());
        blobs.extend_from_slice(&self.frame);
        self.blobs = blobs;
        self.keys.push(Key {
            id: record.id(),
            updated_micros: provenance.updated_micros,
            line_hash: provenance.line_hash,
            rank: rank_of(record.order_count()),
            group: provenance.group.unwrap_or(NO_ID),
            blob_from: from as u64,
            blob_bytes: u32::try_from(self.blobs.len() - from).map_err(io::Error::other)?,
            origin: provenance.origin,
        });
        Ok(())
    }

    /// Writes the segment at position `from` of its object, and empties it.
    ///
    /// # Errors
    ///
    /// Where the system refuses.
    pub fn write(&mut self, from: u64, out: &mut impl Write) -> io::Result<SegmentShape> {
        // Blobs lie in the order of the list, so that linking reads each segment front to back.
        self.keys.sort_unstable_by_key(|key| (key.rank, key.id, key.blob_from));
        let mut blobs_bytes = 0;
        for key in &mut self.keys {
            let blob_from = key.blob_from as usize;
            out.write_all(&self.blobs[blob_from..blob_from + key.blob_bytes as usize])?;
            key.blob_from = blobs_bytes;
            blobs_bytes += u64::from(key.blob_bytes);
        }
        self.keys.sort_unstable_by_key(|key| (key.id, key.claim(), key.blob_from));
        for key in &self.keys {
            out.write_all(&key.encode())?;
        }
        let symbols = self.symbols.write(out)?;
        let records = self.keys.len() as u64;
        self.keys.clear();
        self.blobs.clear();
        Ok(SegmentShape { entity: self.entity as u8, from, records, blobs_bytes, symbols })
    }
}
