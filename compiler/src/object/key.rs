//! Keys: the facts by which the linker picks and orders records without reading them.

use twox_hash::XxHash3_128;

pub const KEY_BYTES: usize = 84;

/// Hashes a line without its end. Of two copies of a record with equal dates, the greater hash wins.
pub fn hash_line(line: &[u8]) -> [u8; 16] {
    XxHash3_128::oneshot(line).to_be_bytes()
}

/// Hashes what a record says, in whatever format its part is. `content` is independent of the segment that
/// holds the record.
pub fn hash_content(content: &[u8]) -> u128 {
    XxHash3_128::oneshot(content)
}

/// The origin of a record, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Origin {
    /// A taxonomy node that a topic of an output names.
    OutputTopic = 0,
    /// A taxonomy node that another node's object names.
    Embedded = 1,
    /// A taxonomy node that a row of the taxonomy table names as a parent.
    TableParent = 2,
    /// A row of the taxonomy table.
    Table = 3,
    /// A JSON object or row of the record itself.
    Own = 4,
}

impl Origin {
    /// Whether the record has a line or a row of its own and so counts as read.
    pub fn is_read(self) -> bool {
        matches!(self, Origin::Table | Origin::Own)
    }

    /// The origin with a number; `None` if no origin has it.
    pub fn decode(number: u8) -> Option<Origin> {
        match number {
            0 => Some(Origin::OutputTopic),
            1 => Some(Origin::Embedded),
            2 => Some(Origin::TableParent),
            3 => Some(Origin::Table),
            4 => Some(Origin::Own),
            _ => None,
        }
    }

    /// The precedence among copies. A row's topic and the parents it names rank equally.
    fn strength(self) -> u8 {
        match self {
            Origin::OutputTopic => 0,
            Origin::Embedded => 1,
            Origin::TableParent | Origin::Table => 2,
            Origin::Own => 3,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordKey {
    /// The number in the record's identifier.
    pub id: u64,
    /// The time of the last change, in microseconds since 1970; `i64::MIN` if unknown.
    pub updated_micros: i64,
    /// The hash of the record's line. A row of a Parquet file has no line: eight zeros, and half of `content_hash`.
    pub line_hash: [u8; 16],
    /// The hash of the record and of all it refers to by symbols.
    pub content_hash: u128,
    /// The sort key of the default order, ascending; see [`rank_of`].
    pub rank: u64,
    /// The id of an output's primary topic; [`NO_ID`](pinakes_format::entity::NO_ID) if there is none.
    pub group: u64,
    /// The offset of the record's blob in the segment.
    pub blob_from: u32,
    pub blob_bytes: u32,
    /// The offset of the record's references among those of the segment.
    pub references_from: u32,
    pub references_bytes: u32,
    pub origin: Origin,
    /// Whether a copy of the record may stand for an equal line of another part: the line gave no warning and
    /// nothing but this record and its derived nodes.
    pub is_copyable: bool,
}

/// The part of a key with which the linker copies the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordPlace {
    pub id: u64,
    pub origin: Origin,
    /// The offset of the record's blob in the segment.
    pub blob_from: u32,
    pub blob_bytes: u32,
    /// The offset of the record's references among those of the segment.
    pub references_from: u32,
    pub references_bytes: u32,
}

/// Turns a count into a rank: the greatest count first, null last.
pub fn rank_of(count: Option<u64>) -> u64 {
    count.map_or(u64::MAX, |count| u64::MAX - 1 - count.min(u64::MAX - 2))
}

/// Turns a rank back into a count.
pub fn count_of(rank: u64) -> Option<u64> {
    (rank != u64::MAX).then(|| u64::MAX - 1 - rank)
}

impl RecordKey {
    pub fn encode(&self) -> [u8; KEY_BYTES] {
        let fields: [&[u8]; 11] = [
            &self.id.to_le_bytes(),
            &self.updated_micros.to_le_bytes(),
            &self.line_hash,
            &self.content_hash.to_le_bytes(),
            &self.rank.to_le_bytes(),
            &self.group.to_le_bytes(),
            &self.blob_from.to_le_bytes(),
            &self.blob_bytes.to_le_bytes(),
            &self.references_from.to_le_bytes(),
            &self.references_bytes.to_le_bytes(),
            &[self.origin as u8, self.is_copyable.into(), 0, 0],
        ];
        let (mut key, mut at) = ([0; KEY_BYTES], 0);
        for field in fields {
            key[at..at + field.len()].copy_from_slice(field);
            at += field.len();
        }
        key
    }

    /// Decodes a key; `None` if the length or the origin is invalid.
    pub fn decode(bytes: &[u8]) -> Option<RecordKey> {
        let bytes: &[u8; KEY_BYTES] = bytes.try_into().ok()?;
        let u64_at = |at: usize| {
            bytes.get(at..at + 8).and_then(|field| field.try_into().ok()).map(u64::from_le_bytes)
        };
        let u32_at = |at: usize| {
            bytes.get(at..at + 4).and_then(|field| field.try_into().ok()).map(u32::from_le_bytes)
        };
        let [origin, is_copyable, 0, 0] = bytes[80..] else { return None };
        Some(RecordKey {
            id: u64_at(0)?,
            updated_micros: i64::from_le_bytes(bytes.get(8..16)?.try_into().ok()?),
            line_hash: bytes.get(16..32)?.try_into().ok()?,
            content_hash: u128::from_le_bytes(bytes.get(32..48)?.try_into().ok()?),
            rank: u64_at(48)?,
            group: u64_at(56)?,
            blob_from: u32_at(64)?,
            blob_bytes: u32_at(68)?,
            references_from: u32_at(72)?,
            references_bytes: u32_at(76)?,
            origin: Origin::decode(origin)?,
            is_copyable: is_copyable != 0,
        })
    }

    pub fn place(&self) -> RecordPlace {
        RecordPlace {
            id: self.id,
            origin: self.origin,
            blob_from: self.blob_from,
            blob_bytes: self.blob_bytes,
            references_from: self.references_from,
            references_bytes: self.references_bytes,
        }
    }

    /// Decodes the id at the beginning of a key.
    pub fn decode_id(bytes: &[u8]) -> Option<u64> {
        bytes.first_chunk().map(|id| u64::from_le_bytes(*id))
    }

    /// The `line_hash` of a row without a line. At equal dates it loses to every line: a line is never cut,
    /// while Parquet files hold long abstracts cut short.
    pub fn hash_without_line(content_hash: u128) -> [u8; 16] {
        (content_hash & u128::from(u64::MAX)).to_be_bytes()
    }

    /// Whether the record has a line, and the line hash compares with those of other lines.
    pub fn has_line(&self) -> bool {
        self.line_hash != RecordKey::hash_without_line(self.content_hash)
    }

    /// Orders copies of one record; the linker picks the greatest. Compares origin, then time of change,
    /// then line hash.
    pub fn claim(&self) -> (u8, i64, [u8; 16]) {
        (self.origin.strength(), self.updated_micros, self.line_hash)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decoded_key_equals_the_encoded_key() {
        let key = RecordKey {
            id: 1,
            updated_micros: -2,
            line_hash: [3; 16],
            rank: 4,
            group: 5,
            blob_from: 6,
            blob_bytes: 7,
            references_from: 8,
            references_bytes: 9,
            content_hash: 10,
            origin: Origin::Table,
            is_copyable: true,
        };
        assert_eq!(RecordKey::decode(&key.encode()), Some(key));
        assert_eq!(RecordKey::decode_id(&key.encode()), Some(key.id));
        assert_eq!(RecordKey::decode(&[0xff; KEY_BYTES]), None);
    }

    #[test]
    fn ranks_order_the_greatest_count_first_and_null_last() {
        assert!(rank_of(Some(9)) < rank_of(Some(8)) && rank_of(Some(0)) < rank_of(None));
        assert_eq!(count_of(rank_of(Some(7))), Some(7));
        assert_eq!(count_of(rank_of(None)), None);
    }
}
