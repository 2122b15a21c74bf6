//! The header of an archive: 64 bytes that every archive of a snapshot starts with.

use crate::entity::Entity;

/// The version of the format that this library writes, and the only version it reads.
pub const FORMAT_VERSION: u32 = 20;

/// The first bytes of every archive.
pub const MAGIC: [u8; 8] = *b"PINAKES\x1a";

/// The size of a header.
pub const HEADER_BYTES: usize = 64;

/// The layout of rkyv archives: bit 0 unaligned, bit 1 little-endian, bit 2 32-bit relative
/// pointers.
pub const LAYOUT: u32 = 0b111;

/// The kind of an archive, one for each file name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u32)]
pub enum FileKind {
    /// Records in row order.
    Records = 1,
    /// Row → id, and id → row.
    Ids = 2,
    /// Row → id and name.
    Names = 3,
    /// Merged id → id of the record it was merged into.
    Redirects = 4,
    /// Codes and their names.
    Strings = 5,
    /// Term → rows.
    TermLists = 6,
    /// Rows sorted by a value.
    Orders = 7,
    /// Word of a name → rows.
    Words = 8,
    /// Alternative name → rows.
    Alternatives = 9,
    /// Frequent prefix → count and top ten, or rows.
    PrefixStats = 10,
    /// Output → the outputs it refers to, and those that refer to it.
    Citations = 11,
    /// Record → the rows of other entities that it refers to.
    Targets = 12,
    /// Word → records, with positions.
    FullText = 13,
    /// Frequent term → rows shared with others, and rows along orders.
    Crossings = 14,
}

impl FileKind {
    /// The file's name in its entity's directory; the name of `strings` in the snapshot's.
    pub fn file_name(self) -> &'static str {
        match self {
            FileKind::Records => "records",
            FileKind::Ids => "ids",
            FileKind::Names => "names",
            FileKind::Redirects => "redirects",
            FileKind::Strings => "strings",
            FileKind::TermLists => "term_lists",
            FileKind::Orders => "orders",
            FileKind::Words => "words",
            FileKind::Alternatives => "alternatives",
            FileKind::PrefixStats => "prefix_stats",
            FileKind::Citations => "citations",
            FileKind::Targets => "targets",
            FileKind::FullText => "full_text",
            FileKind::Crossings => "crossings",
        }
    }
}

/// The contents of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The archive's kind.
    pub kind: FileKind,
    /// The archive's entity; `None` for [`FileKind::Strings`].
    pub entity: Option<Entity>,
    /// The number of rows with a record; in `redirects`, `strings` and `term_lists`, of entries.
    pub published: u64,
    /// The number of rows, unresolved references included; equals `published` in archives without
    /// unresolved references. At most `u32::MAX`.
    pub rows: u64,
    /// The hash of the declarations and keys that the writer was built with.
    pub schema_hash: u64,
}

/// The next step with a snapshot of another version.
pub(crate) fn next_step(version: u64) -> &'static str {
    match version > FORMAT_VERSION.into() {
        true => "use a newer version of the program",
        false => "recompile the snapshot",
    }
}

/// Why a header was refused.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum HeaderError {
    /// The file is shorter than a header, or does not begin with [`MAGIC`].
    #[error("no Pinakes archive: it does not begin with a header; rebuild the snapshot")]
    Magic,
    /// Another version of the format wrote the file.
    #[error("format version {found}, this program reads {FORMAT_VERSION}; {}", next_step((*found).into()))]
    Version {
        /// The version in the header.
        found: u32,
    },
    /// A program with another archive layout wrote the file.
    #[error(
        "archive layout {found:#05b}, this program reads {LAYOUT:#05b} (unaligned, little-endian, \
         32-bit pointers); recompile the snapshot"
    )]
    Layout {
        /// The layout in the header.
        found: u32,
    },
    /// A program with other record declarations or keys wrote the file.
    #[error(
        "record schema {found:016x}, this program reads {expected:016x}; recompile the snapshot"
    )]
    Schema {
        /// The schema hash of this program.
        expected: u64,
        /// The schema hash in the header.
        found: u64,
    },
    /// A field has the wrong value for this file.
    #[error("header field `{field}` is {found}, expected {expected}; rebuild the snapshot")]
    Field {
        /// The field's name.
        field: &'static str,
        /// The value in the header.
        found: u64,
        /// The required value.
        expected: u64,
    },
}

const NO_ENTITY: u32 = u32::MAX;

/// Reads a header field by field.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], HeaderError> {
        let (field, rest) = self.0.split_first_chunk().ok_or(HeaderError::Magic)?;
        self.0 = rest;
        Ok(*field)
    }

    fn u32(&mut self) -> Result<u32, HeaderError> {
        Ok(u32::from_le_bytes(self.take()?))
    }

    fn u64(&mut self) -> Result<u64, HeaderError> {
        Ok(u64::from_le_bytes(self.take()?))
    }
}

fn expect(field: &'static str, found: u64, expected: u64) -> Result<(), HeaderError> {
    if found == expected { Ok(()) } else { Err(HeaderError::Field { field, found, expected }) }
}

impl Header {
    /// Encodes the header.
    pub fn encode(&self) -> [u8; HEADER_BYTES] {
        let entity = self.entity.map_or(NO_ENTITY, |entity| entity as u32);
        let mut bytes = Vec::with_capacity(HEADER_BYTES);
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
        bytes.extend_from_slice(&LAYOUT.to_le_bytes());
        bytes.extend_from_slice(&self.schema_hash.to_le_bytes());
        bytes.extend_from_slice(&(self.kind as u32).to_le_bytes());
        bytes.extend_from_slice(&entity.to_le_bytes());
        bytes.extend_from_slice(&self.published.to_le_bytes());
        bytes.extend_from_slice(&self.rows.to_le_bytes());
        bytes.resize(HEADER_BYTES, 0);
        let mut header = [0; HEADER_BYTES];
        header.copy_from_slice(&bytes);
        header
    }

    /// Decodes a header, and checks that it belongs to the archive of `kind` and `entity` and was
    /// written with the same schema hash.
    pub fn decode(
        bytes: &[u8],
        kind: FileKind,
        entity: Option<Entity>,
        schema_hash: u64,
    ) -> Result<Header, HeaderError> {
        let mut fields = Fields(bytes.get(..HEADER_BYTES).ok_or(HeaderError::Magic)?);
        if fields.take()? != MAGIC {
            return Err(HeaderError::Magic);
        }
        let version = fields.u32()?;
        // Another version or layout may have other fields behind these, so these come first.
        if version != FORMAT_VERSION {
            return Err(HeaderError::Version { found: version });
        }
        let layout = fields.u32()?;
        if layout != LAYOUT {
            return Err(HeaderError::Layout { found: layout });
        }
        let found = fields.u64()?;
        if found != schema_hash {
            return Err(HeaderError::Schema { expected: schema_hash, found });
        }
        expect("kind", u64::from(fields.u32()?), kind as u64)?;
        let entity_number = entity.map_or(NO_ENTITY, |entity| entity as u32);
        expect("entity", u64::from(fields.u32()?), u64::from(entity_number))?;
        let (published, rows) = (fields.u64()?, fields.u64()?);
        // Rows are stored as numbers of 32 bits.
        if published > rows || rows > u64::from(u32::MAX) {
            return Err(HeaderError::Field { field: "rows", found: rows, expected: published });
        }
        expect("reserved", fields.u64()?, 0)?;
        expect("reserved", fields.u64()?, 0)?;
        Ok(Header { kind, entity, published, rows, schema_hash })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_header_round_trips_and_every_bit_flip_outside_its_counts_is_refused() {
        let header = Header {
            kind: FileKind::Ids,
            entity: Some(Entity::Source),
            published: 3,
            rows: 5,
            schema_hash: 7,
        };
        let bytes = header.encode();
        let decode = |bytes: &[u8]| Header::decode(bytes, FileKind::Ids, Some(Entity::Source), 7);
        assert_eq!(decode(&bytes), Ok(header));
        let counts = 32..48;
        for at in (0..HEADER_BYTES).filter(|at| !counts.contains(at)) {
            let mut damaged = bytes;
            damaged[at] ^= 4;
            assert!(decode(&damaged).is_err(), "byte {at}");
        }
        assert_eq!(decode(&bytes[..63]), Err(HeaderError::Magic));
        let mut newer = bytes;
        newer[8] = FORMAT_VERSION as u8 + 1;
        let message = decode(&newer).unwrap_err().to_string();
        let expected =
            format!("this program reads {FORMAT_VERSION}; use a newer version of the program");
        assert_eq!(message, format!("format version {}, {expected}", FORMAT_VERSION + 1));
        assert_eq!(next_step(FORMAT_VERSION.into()), "recompile the snapshot");
    }
}
