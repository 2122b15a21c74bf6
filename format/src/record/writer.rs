//! Writes the values of a record in packed form, the inverse of
//! [`RecordReader`](crate::json::record_reader::RecordReader).

use std::ops::Range;
use std::vec::Drain;

use crate::json::record_reader::{
    BINARY, DAYS, DIGIT_BITS, MICROSECONDS, MONTHS, POWERS_OF_TEN, REPEATED_BYTES_FREE, SINGLE,
};

use crate::record::slot::{Form, SlotNumber};

/// Shorter texts are not looked for among earlier texts: a repetition would take as many bytes.
const REPEATED_TEXT_BYTES: usize = 5;
/// Texts are looked for among this many of a record's first texts.
const EARLIER_TEXTS: usize = 32;
/// Numbers below this are exact as `f64`.
const EXACT_BELOW: f64 = 9_007_199_254_740_992.0;

/// The members and texts of one record. Reused from record to record.
#[derive(Debug, Default)]
pub struct RecordWriter {
    members: Vec<u8>,
    texts: Vec<u8>,
    /// The ranges of the first texts.
    earlier: Vec<Range<usize>>,
    repeated_bytes: usize,
    reference: Option<u32>,
    slots: Vec<SlotNumber>,
}

impl RecordWriter {
    /// Appends the packed record to `out`, and empties the writer. Returns the slots in the order of the declaration;
    /// their offsets are correct for a record that is alone in `out`.
    pub fn finish(&mut self, out: &mut Vec<u8>) -> Drain<'_, SlotNumber> {
        push_number(self.members.len() as u64, out);
        for slot in &mut self.slots {
            slot.move_by(out.len());
        }
        out.append(&mut self.members);
        out.append(&mut self.texts);
        self.earlier.clear();
        self.repeated_bytes = 0;
        self.reference = None;
        self.slots.drain(..)
    }

    /// Writes the flags of an object, of which it has `bits`.
    pub(crate) fn flags(&mut self, flags: u64, bits: u32) {
        self.members.extend_from_slice(&flags.to_le_bytes()[..bits.div_ceil(8) as usize]);
    }

    /// Writes a byte.
    pub(crate) fn byte(&mut self, byte: u8) {
        self.members.push(byte);
    }

    /// Writes a number, seven bits in a byte.
    pub(crate) fn number(&mut self, number: u64) {
        push_number(number, &mut self.members);
    }

    /// Writes a signed number, its sign in the lowest bit.
    pub(crate) fn signed(&mut self, number: i64) {
        self.number((number << 1 ^ number >> 63) as u64);
    }

    /// Writes the row or symbol of a reference; nothing but a zero where it is that of the last reference.
    pub(crate) fn reference(&mut self, number: u32) {
        self.slot(number, Form::Reference, |writer| {
            push_reference(number, &mut writer.reference, &mut writer.members);
        });
    }

    /// Writes a code.
    pub(crate) fn code(&mut self, code: u32) {
        self.slot(code, Form::Code, |writer| writer.number(code.into()));
    }

    /// Writes a code, or [`NO_CODE`](crate::record::value::NO_CODE).
    pub(crate) fn code_or_none(&mut self, code: u32) {
        self.slot(code, Form::CodeOrNone, |writer| writer.number(code.wrapping_add(1).into()));
    }

    fn slot(&mut self, number: u32, form: Form, write: impl FnOnce(&mut RecordWriter)) {
        let from = self.members.len();
        write(self);
        self.slots.push(SlotNumber::written(from..self.members.len(), number, form));
    }

    /// Writes a text, or where it is repeated from.
    pub(crate) fn text(&mut self, text: &str) {
        let (bytes, from) = (text.as_bytes(), self.texts.len());
        if bytes.len() >= REPEATED_TEXT_BYTES {
            let is_same = |earlier: &&Range<usize>| self.texts[(*earlier).clone()] == *bytes;
            let same = self.earlier.iter().find(is_same).map(|earlier| earlier.start);
            let repeated =
                same.filter(|_| self.repeated_bytes + bytes.len() <= from + REPEATED_BYTES_FREE);
            if let Some(first) = repeated {
                self.repeated_bytes += bytes.len();
                self.number((first as u64) << 1 | 1);
                return self.number(bytes.len() as u64);
            }
            if self.earlier.len() < EARLIER_TEXTS {
                self.earlier.push(from..from + bytes.len());
            }
        }
        self.number((bytes.len() as u64) << 1);
        self.texts.extend_from_slice(bytes);
    }

    /// Writes a number that may be fractional: as a decimal number where that is exact.
    pub(crate) fn float(&mut self, number: f64) {
        // Producers that compute in single precision write 0.41 as 0.4099999964237213.
        let single = number as f32;
        let is_single = f64::from(single).to_bits() == number.to_bits();
        for (power, divisor) in (0..).zip(POWERS_OF_TEN) {
            let digits = (number * divisor).round();
            if digits.abs() >= EXACT_BELOW || digits.to_bits() == (-0.0f64).to_bits() {
                continue;
            }
            let decimal = digits / divisor;
            if decimal.to_bits() == number.to_bits() {
                self.byte(power);
                return self.signed(digits as i64);
            }
            if is_single && (decimal as f32).to_bits() == single.to_bits() {
                self.byte(SINGLE | power);
                return self.signed(digits as i64);
            }
        }
        self.byte(BINARY);
        self.members.extend_from_slice(&number.to_le_bytes());
    }

    /// Writes a day of a month, in three bytes.
    pub(crate) fn day(&mut self, year: u16, month: u8, day: u8) {
        let months = u32::from(year) * MONTHS + u32::from(month);
        self.members.extend_from_slice(&(months * DAYS + u32::from(day)).to_le_bytes()[..3]);
    }

    /// Writes a moment in microseconds since 1970, and the digits of its fraction.
    pub(crate) fn moment(&mut self, micros: i64, digits: u8) {
        let unit = 6u32.checked_sub(digits.into()).map(|zeros| 10i64.pow(zeros));
        let in_units = unit.filter(|unit| micros % unit == 0).map(|unit| micros / unit);
        let head = in_units.and_then(|units| units.checked_mul(1 << DIGIT_BITS));
        match head {
            Some(head) => self.signed(head | i64::from(digits)),
            None => {
                self.signed(i64::from(digits) << DIGIT_BITS | i64::from(MICROSECONDS));
                self.signed(micros);
            }
        }
    }
}

/// Appends a number, seven bits in a byte, the lowest first; the top bit is set if more follow.
pub(crate) fn push_number(mut number: u64, out: &mut Vec<u8>) {
    while number > 0x7f {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Appends the number of a reference plus 1, or 0 where it is that of the last reference.
pub(crate) fn push_reference(number: u32, last: &mut Option<u32>, out: &mut Vec<u8>) {
    let is_last = last.replace(number) == Some(number);
    push_number(if is_last { 0 } else { u64::from(number) + 1 }, out);
}
