//! The header of a page.

use crate::read::parquet::thrift::{Compact, Field, ThriftFault};

/// The header of a page. Sizes and counts are what the header states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PageHeader {
    pub uncompressed_bytes: u32,
    /// Bytes of the page in the file.
    pub stored_bytes: u32,
    /// The CRC-32 of the bytes in the file.
    pub checksum: Option<u32>,
    /// Values, nulls included.
    pub values: u32,
    pub kind: PageKind,
}

/// Encodings are numbers of Parquet's `Encoding`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PageKind {
    Data {
        encoding: i32,
        def_levels: i32,
        rep_levels: i32,
    },
    DataV2 {
        encoding: i32,
        nulls: u32,
        rows: u32,
        def_bytes: u32,
        rep_bytes: u32,
        is_compressed: bool,
    },
    Dictionary {
        encoding: i32,
        is_sorted: bool,
    },
    /// A page that readers skip.
    Other,
}

impl PageHeader {
    /// Reads the header at the begin of `bytes`, and returns its length too.
    pub(super) fn read(bytes: &[u8]) -> Result<(PageHeader, usize), ThriftFault> {
        let mut thrift = Compact::new(bytes);
        let (mut kind, mut uncompressed, mut stored, mut checksum) = (None, None, None, None);
        let (mut data, mut dictionary, mut data_v2) = (None, None, None);
        thrift.fields(|header, field| {
            match field.id {
                1 => kind = Some(header.i32(field)?),
                2 => uncompressed = Some(header.size(field)?),
                3 => stored = Some(header.size(field)?),
                // The sum is stored as a signed number.
                4 => checksum = Some(header.i32(field)? as u32),
                5 => data = Some(Numbers::read(header, field)?),
                7 => dictionary = Some(Numbers::read(header, field)?),
                8 => data_v2 = Some(Numbers::read(header, field)?),
                _ => header.skip(field)?,
            }
            Ok(())
        })?;
        let (values, kind) = match kind {
            Some(0) => data.ok_or(ThriftFault::Malformed)?.data()?,
            Some(2) => dictionary.ok_or(ThriftFault::Malformed)?.dictionary()?,
            Some(3) => data_v2.ok_or(ThriftFault::Malformed)?.data_v2()?,
            _ => (0, PageKind::Other),
        };
        let header = PageHeader {
            uncompressed_bytes: uncompressed.ok_or(ThriftFault::Malformed)?,
            stored_bytes: stored.ok_or(ThriftFault::Malformed)?,
            checksum,
            values,
            kind,
        };
        Ok((header, bytes.len() - thrift.rest_bytes()))
    }
}

/// The numbers of a header's inner struct by field, and its one boolean.
#[derive(Default)]
struct Numbers {
    by_field: [Option<i32>; 7],
    boolean: Option<bool>,
}

impl Numbers {
    fn read(thrift: &mut Compact<'_>, field: Field) -> Result<Numbers, ThriftFault> {
        if field.kind != crate::read::parquet::thrift::STRUCT {
            return Err(ThriftFault::Malformed);
        }
        let mut numbers = Numbers::default();
        thrift.fields(|inner, field| {
            if field.kind == crate::read::parquet::thrift::I32 {
                let number = inner.i32(field)?;
                if let Some(slot) =
                    usize::try_from(field.id).ok().and_then(|id| numbers.by_field.get_mut(id))
                {
                    *slot = Some(number);
                }
                return Ok(());
            }
            if let Ok(boolean) = Compact::boolean(field) {
                numbers.boolean = Some(boolean);
            }
            inner.skip(field)
        })?;
        Ok(numbers)
    }

    fn number(&self, field: usize) -> Result<i32, ThriftFault> {
        self.by_field[field].ok_or(ThriftFault::Malformed)
    }

    fn size(&self, field: usize) -> Result<u32, ThriftFault> {
        u32::try_from(self.number(field)?).map_err(|_| ThriftFault::Malformed)
    }

    fn data(&self) -> Result<(u32, PageKind), ThriftFault> {
        let (encoding, def_levels, rep_levels) =
            (self.number(2)?, self.number(3)?, self.number(4)?);
        Ok((self.size(1)?, PageKind::Data { encoding, def_levels, rep_levels }))
    }

    fn dictionary(&self) -> Result<(u32, PageKind), ThriftFault> {
        let is_sorted = self.boolean.unwrap_or(false);
        Ok((self.size(1)?, PageKind::Dictionary { encoding: self.number(2)?, is_sorted }))
    }

    fn data_v2(&self) -> Result<(u32, PageKind), ThriftFault> {
        let kind = PageKind::DataV2 {
            nulls: self.size(2)?,
            rows: self.size(3)?,
            encoding: self.number(4)?,
            def_bytes: self.size(5)?,
            rep_bytes: self.size(6)?,
            is_compressed: self.boolean.unwrap_or(true),
        };
        Ok((self.size(1)?, kind))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_as_its_writer_meant_it() {
        // kind 0, 100 bytes, 40 stored, sum -2, {9 values, PLAIN, RLE, RLE}
        let bytes = [
            0x15, 0x00, 0x15, 0xc8, 0x01, 0x15, 0x50, 0x15, 0x03, 0x1c, 0x15, 0x12, 0x15, 0x00,
            0x15, 0x06, 0x15, 0x06, 0x00, 0x00, 0xff,
        ];
        let header = PageHeader {
            uncompressed_bytes: 100,
            stored_bytes: 40,
            checksum: Some(0xffff_fffe),
            values: 9,
            kind: PageKind::Data { encoding: 0, def_levels: 3, rep_levels: 3 },
        };
        assert_eq!(PageHeader::read(&bytes), Ok((header, bytes.len() - 1)));
        for cut in 0..bytes.len() - 1 {
            assert_eq!(PageHeader::read(&bytes[..cut]), Err(ThriftFault::Cut), "{cut}");
        }
        let negative = [0x15, 0x00, 0x15, 0x01, 0x15, 0x50, 0x00];
        assert_eq!(PageHeader::read(&negative), Err(ThriftFault::Malformed));
    }
}
