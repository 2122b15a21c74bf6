//! Tells a table that is not UTF-8 from a table with a damaged row.

use std::path::Path;

use csv::StringRecord;

use crate::error::{Error, Result};

/// Rows that are not UTF-8, from which on a table counts as written in another encoding, if all its other
/// rows are ASCII. A single such row may be damaged.
const UNDECODABLE_ROWS_MIN: u64 = 2;

/// Counts the rows of a table by their encoding.
#[derive(Debug, Default)]
pub struct EncodingCheck {
    undecodable: u64,
    /// Rows that are UTF-8 but not ASCII.
    multibyte: u64,
}

impl EncodingCheck {
    /// Counts a row, given as its cells or as the code of a bad row.
    pub fn count(&mut self, cells: &std::result::Result<StringRecord, &'static str>) {
        match cells {
            Ok(cells) if !cells.as_slice().is_ascii() => self.multibyte += 1,
            Err("not_utf8") => self.undecodable += 1,
            _ => {}
        }
    }

    /// Refuses a whole table in another encoding.
    ///
    /// # Errors
    ///
    /// Where several rows are not UTF-8, and all others are ASCII.
    pub fn finish(self, path: &Path) -> Result<()> {
        let EncodingCheck { undecodable, multibyte } = self;
        if undecodable < UNDECODABLE_ROWS_MIN || multibyte > 0 {
            return Ok(());
        }
        let reason = format!(
            "is not UTF-8 ({undecodable} rows); save it as `CSV UTF-8`, or convert it \
             (`iconv -f WINDOWS-1252 -t UTF-8`)"
        );
        Err(Error::Input { path: path.to_path_buf(), reason })
    }
}
