//! Thrift's compact protocol, as far as Parquet headers and footers need it.
//!
//! The `parquet` crate decodes footers. This reader decodes page headers, and looks at a footer before
//! the crate does, because sizes in either may be lies.

/// Levels of nested structs and lists that are skipped. Parquet's own structs have fewer than ten.
const DEPTH_MAX: u32 = 32;

pub(super) const I32: u8 = 5;
pub(super) const LIST: u8 = 9;
pub(super) const STRUCT: u8 = 12;
const TRUE: u8 = 1;
const FALSE: u8 = 2;

/// Why bytes are no Thrift value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ThriftFault {
    /// The bytes end within a value.
    Cut,
    Malformed,
}

/// Reads values one after the other.
pub(super) struct Compact<'a> {
    rest: &'a [u8],
}

/// The identifier and the type of a struct's field.
#[derive(Clone, Copy)]
pub(super) struct Field {
    pub id: i16,
    pub kind: u8,
}

impl<'a> Compact<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Compact<'a> {
        Compact { rest: bytes }
    }

    /// The number of bytes that are not read yet.
    pub(super) fn rest_bytes(&self) -> usize {
        self.rest.len()
    }

    /// Calls `read` with each field of a struct; `read` consumes the field's value.
    pub(super) fn fields(
        &mut self,
        mut read: impl FnMut(&mut Compact<'a>, Field) -> Result<(), ThriftFault>,
    ) -> Result<(), ThriftFault> {
        let mut id = 0i16;
        loop {
            let head = self.byte()?;
            let (delta, kind) = (head >> 4, head & 0xf);
            if kind == 0 {
                return Ok(());
            }
            id = match delta {
                0 => i16::try_from(self.integer()?).map_err(|_| ThriftFault::Malformed)?,
                _ => id.checked_add(delta.into()).ok_or(ThriftFault::Malformed)?,
            };
            read(self, Field { id, kind })?;
        }
    }

    /// Calls `read` for each element of a list of structs; `read` consumes the element.
    pub(super) fn structs(
        &mut self,
        mut read: impl FnMut(&mut Compact<'a>) -> Result<(), ThriftFault>,
    ) -> Result<(), ThriftFault> {
        let (kind, count) = self.list_head()?;
        if count > 0 && kind != STRUCT {
            return Err(ThriftFault::Malformed);
        }
        (0..count).try_for_each(|_| read(self))
    }

    /// The value of an integer field; fails for a field of another type.
    pub(super) fn i32(&mut self, field: Field) -> Result<i32, ThriftFault> {
        if field.kind != I32 {
            return Err(ThriftFault::Malformed);
        }
        i32::try_from(self.integer()?).map_err(|_| ThriftFault::Malformed)
    }

    /// As [`Compact::i32`], for sizes and counts.
    pub(super) fn size(&mut self, field: Field) -> Result<u32, ThriftFault> {
        u32::try_from(self.i32(field)?).map_err(|_| ThriftFault::Malformed)
    }

    /// The value of a boolean field, which its type holds.
    pub(super) fn boolean(field: Field) -> Result<bool, ThriftFault> {
        match field.kind {
            TRUE => Ok(true),
            FALSE => Ok(false),
            _ => Err(ThriftFault::Malformed),
        }
    }

    /// Skips the value of a field.
    pub(super) fn skip(&mut self, field: Field) -> Result<(), ThriftFault> {
        self.skip_value(field.kind, 0)
    }

    fn skip_value(&mut self, kind: u8, depth: u32) -> Result<(), ThriftFault> {
        if depth == DEPTH_MAX {
            return Err(ThriftFault::Malformed);
        }
        match kind {
            TRUE | FALSE => Ok(()),
            3 => self.byte().map(drop),
            4..=6 => self.varint().map(drop),
            7 => self.take(8).map(drop),
            8 => {
                let length = self.varint()?;
                self.take(length).map(drop)
            }
            LIST | 10 => {
                let (kind, count) = self.list_head()?;
                // Unlike a field, an element of a list holds its boolean in a byte.
                let kind = if matches!(kind, TRUE | FALSE) { 3 } else { kind };
                (0..count).try_for_each(|_| self.skip_value(kind, depth + 1))
            }
            STRUCT => self.fields(|inner, field| inner.skip_value(field.kind, depth + 1)),
            // Parquet's structs have no maps.
            _ => Err(ThriftFault::Malformed),
        }
    }

    fn list_head(&mut self) -> Result<(u8, u64), ThriftFault> {
        let head = self.byte()?;
        let count = if head >> 4 == 0xf { self.varint()? } else { u64::from(head >> 4) };
        // Every element has a byte or more, so that no count makes a loop of billions of steps.
        if count > self.rest.len() as u64 {
            return Err(ThriftFault::Cut);
        }
        Ok((head & 0xf, count))
    }

    fn integer(&mut self) -> Result<i64, ThriftFault> {
        let zigzag = self.varint()?;
        Ok((zigzag >> 1) as i64 ^ -((zigzag & 1) as i64))
    }

    fn varint(&mut self) -> Result<u64, ThriftFault> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(ThriftFault::Malformed)
    }

    fn byte(&mut self) -> Result<u8, ThriftFault> {
        self.take(1).map(|bytes| bytes[0])
    }

    fn take(&mut self, count: u64) -> Result<&'a [u8], ThriftFault> {
        let count = usize::try_from(count).map_err(|_| ThriftFault::Cut)?;
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(ThriftFault::Cut)?;
        self.rest = rest;
        Ok(taken)
    }
}
