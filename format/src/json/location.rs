//! Reads values from the bytes of an archived record, without validating the whole record.
//!
//! A [`ValueLocation`] is the record's bytes and the offset of one value. Each read checks that the value, and
//! the text or list that it leads to, lies inside the record:
//!
//! ```text
//! record of 120 bytes, a text at offset 80: length 30, distance -60
//! text()   20..50 lies inside 0..120: the bytes of the text
//! ```
//!
//! The reads are safe on any bytes, also while another process overwrites the file: each length and distance
//! is read once, checked and used. Damage that the hash tree has not caught causes an error or another text,
//! never a read outside the record.
//!
//! rkyv's validation instead visits every member before the first is read, those that lists omit included,
//! and checks every text for UTF-8. A bit for each record that was validated once would save that, but the
//! record would then be read unchecked after another process has overwritten it.

use crate::storage::error::ReadError;

/// A text of at most this many bytes stands in the value itself.
pub(crate) const INLINE_BYTES: usize = 8;
/// Fills the bytes after an inline text; no UTF-8 has this byte.
const INLINE_END: u8 = 0xff;

const OUTSIDE: ReadError = ReadError::corrupt("records", "a value lies outside its record");

/// The location of a value in the bytes of an archived record.
#[derive(Clone, Copy, Debug)]
pub struct ValueLocation<'r> {
    record: &'r [u8],
    offset: usize,
}

impl<'r> ValueLocation<'r> {
    /// The record itself, of the archived type `T`: it stands at the end of its bytes.
    ///
    /// # Errors
    ///
    /// If there are fewer bytes than a `T` has.
    #[inline]
    pub fn root<T>(record: &'r [u8]) -> Result<ValueLocation<'r>, ReadError> {
        let offset = record.len().checked_sub(size_of::<T>()).ok_or(OUTSIDE)?;
        Ok(ValueLocation { record, offset })
    }

    /// The location of a value that was validated in `record`.
    pub fn new<T>(record: &'r [u8], value: &T) -> ValueLocation<'r> {
        let offset = std::ptr::from_ref(value).addr().wrapping_sub(record.as_ptr().addr());
        ValueLocation { record, offset }
    }

    /// The value `bytes` after this one.
    #[inline]
    pub fn member(self, bytes: usize) -> ValueLocation<'r> {
        ValueLocation { offset: self.offset.wrapping_add(bytes), ..self }
    }

    /// The first `N` bytes of the value.
    ///
    /// # Errors
    ///
    /// If they lie outside the record.
    #[inline]
    pub fn bytes<const N: usize>(self) -> Result<[u8; N], ReadError> {
        let found = self.record.get(self.offset..).and_then(|rest| rest.first_chunk());
        found.copied().ok_or(OUTSIDE)
    }

    /// The value as a `u8`.
    ///
    /// # Errors
    ///
    /// As [`ValueLocation::bytes`].
    #[inline]
    pub fn u8(self) -> Result<u8, ReadError> {
        self.record.get(self.offset).copied().ok_or(OUTSIDE)
    }

    /// The value as a `u32`.
    ///
    /// # Errors
    ///
    /// As [`ValueLocation::bytes`].
    #[inline]
    pub fn u32(self) -> Result<u32, ReadError> {
        self.bytes().map(u32::from_le_bytes)
    }

    /// The value as a `u64`.
    ///
    /// # Errors
    ///
    /// As [`ValueLocation::bytes`].
    #[inline]
    pub fn u64(self) -> Result<u64, ReadError> {
        self.bytes().map(u64::from_le_bytes)
    }

    /// The value as an `i64`.
    ///
    /// # Errors
    ///
    /// As [`ValueLocation::bytes`].
    #[inline]
    pub fn i64(self) -> Result<i64, ReadError> {
        self.bytes().map(i64::from_le_bytes)
    }

    /// The value as a `bool`.
    ///
    /// # Errors
    ///
    /// As [`ValueLocation::bytes`], and if the byte is neither 0 nor 1.
    #[inline]
    pub fn bool(self) -> Result<bool, ReadError> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(ReadError::corrupt("records", "a boolean is neither 0 nor 1")),
        }
    }

    /// The value inside a nullable value; `None` for null.
    ///
    /// # Errors
    ///
    /// As [`ValueLocation::bool`].
    #[inline]
    pub fn nullable(self) -> Result<Option<ValueLocation<'r>>, ReadError> {
        Ok(self.bool()?.then(|| self.member(1)))
    }

    /// The bytes of a text, which may not be UTF-8.
    ///
    /// # Errors
    ///
    /// If the text lies outside the record.
    #[inline]
    pub fn text(self) -> Result<&'r [u8], ReadError> {
        let bytes: [u8; INLINE_BYTES] = self.bytes()?;
        if bytes[0] & 0xc0 != 0x80 {
            let end = bytes.iter().position(|byte| *byte == INLINE_END).unwrap_or(INLINE_BYTES);
            return self.slice(self.offset, end);
        }
        let word = self.u32()?;
        let length = word & 0x3f | (word & 0xffff_ff00) >> 2;
        self.slice(self.target(4)?, length as usize)
    }

    /// The first element of a list, and the number of elements, of `element_bytes` each.
    ///
    /// # Errors
    ///
    /// If the elements lie outside the record.
    #[inline]
    pub fn list(self, element_bytes: usize) -> Result<(ValueLocation<'r>, usize), ReadError> {
        let (from, count) = (self.target(0)?, self.member(4).u32()? as usize);
        // The distance of an empty list says nothing.
        if count > 0 {
            self.slice(from, count.checked_mul(element_bytes).ok_or(OUTSIDE)?)?;
        }
        Ok((ValueLocation { offset: from, ..self }, count))
    }

    /// Where the distance that stands `bytes` after this value leads, counted from this value.
    fn target(self, bytes: usize) -> Result<usize, ReadError> {
        let distance = self.member(bytes).bytes().map(i32::from_le_bytes)?;
        Ok(self.offset.wrapping_add_signed(distance as isize))
    }

    fn slice(self, from: usize, length: usize) -> Result<&'r [u8], ReadError> {
        self.record.get(from..).and_then(|rest| rest.get(..length)).ok_or(OUTSIDE)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// An archived list of texts, and each text read by its location.
    fn texts(bytes: &[u8]) -> Result<Vec<&[u8]>, ReadError> {
        type Texts = rkyv::Archived<Vec<String>>;
        let element_bytes = size_of::<rkyv::Archived<String>>();
        let (first, count) = ValueLocation::root::<Texts>(bytes)?.list(element_bytes)?;
        (0..count).map(|at| first.member(at * element_bytes).text()).collect()
    }

    #[test]
    fn texts_of_every_length_are_read_as_rkyv_wrote_them() {
        let written: Vec<String> = (0..300).map(|length| "é".repeat(length / 2)).collect();
        let bytes = rkyv::to_bytes::<rkyv::rancor::Error>(&written).unwrap();
        let read = texts(&bytes).unwrap();
        assert_eq!(read, written.iter().map(|text| text.as_bytes()).collect::<Vec<_>>());
    }

    #[test]
    fn no_changed_byte_leads_outside_the_record() {
        let written: Vec<String> = (0..20).map(|length| "x".repeat(length)).collect();
        let bytes = rkyv::to_bytes::<rkyv::rancor::Error>(&written).unwrap();
        let mut refused = 0;
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut damaged = bytes.to_vec();
                damaged[at] ^= 1 << bit;
                let range = damaged.as_ptr_range();
                match texts(&damaged) {
                    Ok(texts) => assert!(texts.iter().all(|text| {
                        let text = text.as_ptr_range();
                        range.start <= text.start && text.end <= range.end
                    })),
                    Err(_) => refused += 1,
                }
            }
        }
        assert!(refused > 100, "{refused}");
        assert!(texts(&bytes[..3]).is_err() && texts(&[]).is_err());
    }
}
