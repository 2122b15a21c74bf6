//! Reads the values of a packed record one after another, in place.
//!
//! A packed record is its members, which are flags and short numbers, and then its texts (FORMAT.md,
//! section 14). A [`RecordReader`] is the record and the place of the next value in both:
//!
//! ```text
//! record of 120 bytes: 80 bytes of members, 40 bytes of texts
//! members at 13, texts at 30: the next value is a text with the head 16
//! text()   16 div 2 = 8 bytes: texts 30..38; then members at 14, texts at 38
//! ```
//!
//! Each read checks that the value lies inside the record, so reads are safe on any bytes, also while another
//! process overwrites the file. Damage that the hash tree has not caught causes an error or another value,
//! never a read outside the record. No validation of the whole record comes before the first read.

use crate::storage::ReadError;

/// The powers of ten that a decimal number is divided by.
pub(crate) const POWERS_OF_TEN: [f64; 18] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17,
];
/// Stands for the power of ten of a number that is kept as eight bytes.
pub(crate) const BINARY: u8 = 0xff;
/// Added to the power of ten of a number that is rounded to single precision.
pub(crate) const SINGLE: u8 = 0x80;
/// Repeated texts of a record may have this many bytes more than its other texts.
pub(crate) const REPEATED_BYTES_FREE: usize = 4_096;
/// Months and days are digits of these bases in a date.
pub(crate) const MONTHS: u32 = 13;
pub(crate) const DAYS: u32 = 32;
/// The low bits of a time that hold its number of digits.
pub(crate) const DIGIT_BITS: u32 = 3;
/// Stands for the digits of a time that is kept in microseconds.
pub(crate) const MICROSECONDS: u8 = 7;

const OUTSIDE: ReadError = ReadError::corrupt("records", "a value lies outside its record");
const TOO_LARGE: ReadError = ReadError::corrupt("records", "a number is too large");

/// The place of the next value of a packed record, and the flags of that value.
#[derive(Clone, Copy, Debug)]
pub struct RecordReader<'r> {
    members: &'r [u8],
    at: usize,
    texts: &'r [u8],
    text_at: usize,
    repeated_bytes: usize,
    reference: u32,
    flags: u64,
}

impl<'r> RecordReader<'r> {
    /// Reads a packed record from its first value on.
    ///
    /// # Errors
    ///
    /// If the record is shorter than its members.
    #[inline]
    pub fn new(packed: &'r [u8]) -> Result<RecordReader<'r>, ReadError> {
        let mut head = RecordReader {
            members: packed,
            at: 0,
            texts: &[],
            text_at: 0,
            repeated_bytes: 0,
            reference: u32::MAX,
            flags: 0,
        };
        let members = usize::try_from(head.number()?).map_err(|_| TOO_LARGE)?;
        let end = head.at.checked_add(members).ok_or(OUTSIDE)?;
        let (members, texts) = packed.split_at_checked(end).ok_or(OUTSIDE)?;
        Ok(RecordReader { members, texts, ..head })
    }

    /// Whether every value and every text was read.
    pub fn is_at_end(&self) -> bool {
        self.at == self.members.len() && self.text_at == self.texts.len()
    }

    /// How many bytes of members and of texts were read.
    pub fn position(&self) -> (usize, usize) {
        (self.at, self.text_at)
    }

    /// The texts of the record.
    pub(crate) fn texts(&self) -> &'r [u8] {
        self.texts
    }

    /// Takes the next `bits` of an object's flags as those of the next value.
    #[inline(always)]
    pub(crate) fn take_flags(&mut self, flags: &mut u64, bits: u32) {
        self.flags = *flags & ((1 << bits) - 1);
        *flags >>= bits;
    }

    /// Whether the nullable value, which is read next, is not null.
    pub fn is_present(&mut self) -> bool {
        self.flag()
    }

    /// Takes the lowest flag of the value.
    #[inline(always)]
    pub(crate) fn flag(&mut self) -> bool {
        let flag = self.flags & 1 == 1;
        self.flags >>= 1;
        flag
    }

    /// Whether no flag of the value is set: the value is null or false.
    #[inline(always)]
    pub(crate) fn has_no_flag(&self) -> bool {
        self.flags == 0
    }

    /// Reads the flags of an object, of which it has `bits`.
    #[inline(always)]
    pub(crate) fn object_flags(&mut self, bits: u32) -> Result<u64, ReadError> {
        let length = bits.div_ceil(8) as usize;
        let mut flags = [0; 8];
        flags[..length].copy_from_slice(self.slice(length)?);
        Ok(u64::from_le_bytes(flags))
    }

    #[inline(always)]
    fn slice(&mut self, length: usize) -> Result<&'r [u8], ReadError> {
        let found = self.members.get(self.at..).and_then(|rest| rest.get(..length));
        let found = found.ok_or(OUTSIDE)?;
        self.at += length;
        Ok(found)
    }

    /// Reads a byte.
    #[inline(always)]
    pub(crate) fn byte(&mut self) -> Result<u8, ReadError> {
        let byte = *self.members.get(self.at).ok_or(OUTSIDE)?;
        self.at += 1;
        Ok(byte)
    }

    /// Reads a number of at most 64 bits, seven bits in a byte.
    #[inline(always)]
    pub(crate) fn number(&mut self) -> Result<u64, ReadError> {
        match self.byte()? {
            low @ 0..0x80 => Ok(low.into()),
            low => match self.members.get(self.at) {
                Some(high @ 0..0x80) => {
                    self.at += 1;
                    Ok(u64::from(*high) << 7 | u64::from(low & 0x7f))
                }
                _ => self.long_number(low),
            },
        }
    }

    #[inline(never)]
    fn long_number(&mut self, low: u8) -> Result<u64, ReadError> {
        let mut number = u64::from(low & 0x7f);
        for shift in (7..64).step_by(7) {
            let byte = self.byte()?;
            if shift == 63 && byte > 1 {
                return Err(TOO_LARGE);
            }
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(TOO_LARGE)
    }

    /// Reads a signed number, its sign in the lowest bit.
    #[inline]
    pub(crate) fn signed(&mut self) -> Result<i64, ReadError> {
        let number = self.number()?;
        Ok((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    /// Reads the number of a code.
    #[inline]
    pub(crate) fn code(&mut self) -> Result<u32, ReadError> {
        u32::try_from(self.number()?).map_err(|_| TOO_LARGE)
    }

    /// Reads the row or symbol of a reference.
    #[inline]
    pub(crate) fn reference(&mut self) -> Result<u32, ReadError> {
        if let Some(number) = self.number()?.checked_sub(1) {
            self.reference = u32::try_from(number).map_err(|_| TOO_LARGE)?;
        }
        Ok(self.reference)
    }

    /// The row or symbol of the reference that was read last.
    pub(crate) fn last_reference(&self) -> u32 {
        self.reference
    }

    /// Reads the number of a list's items. Each item has a byte at least.
    #[inline]
    pub(crate) fn count(&mut self) -> Result<usize, ReadError> {
        let count = self.number()?;
        if count > (self.members.len() - self.at) as u64 {
            return Err(OUTSIDE);
        }
        Ok(count as usize)
    }

    /// Reads the number of the items of a nullable list, which are read next.
    ///
    /// # Errors
    ///
    /// If the list lies outside the record.
    pub fn items(&mut self) -> Result<usize, ReadError> {
        if self.flag() { self.count() } else { Ok(0) }
    }

    /// Reads a text, which may not be UTF-8.
    #[inline]
    pub(crate) fn text(&mut self) -> Result<&'r [u8], ReadError> {
        let head = self.number()?;
        let half = usize::try_from(head >> 1).map_err(|_| TOO_LARGE)?;
        if head & 1 == 1 {
            return self.repeated_text(half);
        }
        let found = self.texts.get(self.text_at..).and_then(|rest| rest.get(..half));
        let found = found.ok_or(OUTSIDE)?;
        self.text_at += half;
        Ok(found)
    }

    /// Reads a text that repeats bytes of earlier texts. Without a limit, a damaged record could print
    /// to any length.
    fn repeated_text(&mut self, from: usize) -> Result<&'r [u8], ReadError> {
        let length = usize::try_from(self.number()?).map_err(|_| TOO_LARGE)?;
        let end = from.checked_add(length).filter(|end| *end <= self.text_at).ok_or(OUTSIDE)?;
        self.repeated_bytes += length;
        if self.repeated_bytes > self.texts.len() + REPEATED_BYTES_FREE {
            return Err(ReadError::corrupt("records", "a record repeats its texts too often"));
        }
        Ok(&self.texts[from..end])
    }

    /// Reads a text.
    #[inline]
    pub(crate) fn utf8(&mut self) -> Result<&'r str, ReadError> {
        self.text().and_then(utf8)
    }

    /// Reads a number that may be fractional.
    #[inline]
    pub(crate) fn float(&mut self) -> Result<f64, ReadError> {
        match self.byte()? {
            BINARY => {
                let bytes = self.slice(8)?.first_chunk().ok_or(OUTSIDE)?;
                Ok(f64::from_le_bytes(*bytes))
            }
            power => {
                let divisor = POWERS_OF_TEN.get(usize::from(power & !SINGLE)).ok_or(TOO_LARGE)?;
                let decimal = self.signed()? as f64 / divisor;
                Ok(if power & SINGLE == 0 { decimal } else { f64::from(decimal as f32) })
            }
        }
    }

    /// Reads year, month and day.
    #[inline]
    pub(crate) fn day(&mut self) -> Result<(u16, u8, u8), ReadError> {
        let [low, middle, high] = *self.slice(3)?.first_chunk().ok_or(OUTSIDE)?;
        let day = u32::from_le_bytes([low, middle, high, 0]);
        let months = day / DAYS;
        let year = u16::try_from(months / MONTHS).map_err(|_| TOO_LARGE)?;
        // Both casts are exact.
        Ok((year, (months % MONTHS) as u8, (day % DAYS) as u8))
    }

    /// Reads a moment in microseconds since 1970, and the digits of its fraction.
    #[inline]
    pub(crate) fn moment(&mut self) -> Result<(i64, u8), ReadError> {
        let number = self.signed()?;
        // The cast is exact.
        match (number & ((1 << DIGIT_BITS) - 1)) as u8 {
            MICROSECONDS => {
                let digits = u8::try_from(number >> DIGIT_BITS).map_err(|_| TOO_LARGE)?;
                Ok((self.signed()?, digits))
            }
            digits => {
                let unit = 10i64.pow(u32::from(6 - digits));
                Ok(((number >> DIGIT_BITS).checked_mul(unit).ok_or(TOO_LARGE)?, digits))
            }
        }
    }
}

/// Checks that a text of a record is UTF-8.
#[inline]
pub(crate) fn utf8(text: &[u8]) -> Result<&str, ReadError> {
    let broken = |_| ReadError::corrupt("records", "a text is not UTF-8");
    std::str::from_utf8(text).map_err(broken)
}
