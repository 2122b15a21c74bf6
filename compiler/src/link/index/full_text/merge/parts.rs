//! The parts of a term: the postings that the batches of the runs encoded.

use std::io;

use pinakes_format::index::full_text::Occurrence;

use crate::link::index::full_text::batch::split_place;
use crate::link::index::full_text::{take_number, take_sized, take_text};

/// The chunk and the bytes of a term's part.
pub(super) type TermPart<'b> = (u32, &'b [u8]);

/// Reads the part of a term that one batch encoded.
#[derive(Clone)]
pub(super) struct PartReader<'b> {
    chunk: u32,
    /// Postings of the part.
    pub postings: u32,
    /// Low half of the last row.
    last: u16,
    /// The forms, as the batch encoded them.
    pub forms: &'b [u8],
    /// The postings that are left.
    pub bytes: &'b [u8],
}

impl<'b> PartReader<'b> {
    /// Opens the parts of a term, in the order of rows.
    pub fn open_all(runs: &[TermPart<'b>]) -> io::Result<Vec<PartReader<'b>>> {
        let mut parts = Vec::new();
        for (chunk, mut bytes) in runs.iter().copied() {
            while !bytes.is_empty() {
                let part = take_sized(&mut bytes)?;
                let cut = || io::Error::other("a part of a run is cut");
                let ([a, b, c, d], mut bytes) = part.split_first_chunk().ok_or_else(cut)?;
                let postings = u16::from_le_bytes([*a, *b]).into();
                let last = u16::from_le_bytes([*c, *d]);
                let forms = take_text(&mut bytes)?;
                parts.push(PartReader { chunk, postings, last, forms, bytes });
            }
        }
        Ok(parts)
    }

    pub fn last_row(&self) -> u32 {
        self.chunk << 16 | u32::from(self.last)
    }

    /// Reads the next posting and its occurrences. `numbers` are those of the part's forms in this index.
    pub fn next(
        &mut self,
        numbers: &[u16],
        occurrences: &mut Vec<Occurrence>,
    ) -> io::Result<Option<(u32, u8)>> {
        if self.bytes.is_empty() {
            return Ok(None);
        }
        let cut = || io::Error::other("a posting of a run is cut");
        let ([a, b, impact], rest) = self.bytes.split_first_chunk().ok_or_else(cut)?;
        let row = self.chunk << 16 | u32::from(u16::from_le_bytes([*a, *b]));
        self.bytes = rest;
        let count = take_number(&mut self.bytes)?;
        occurrences.clear();
        for _ in 0..count {
            let ([a, b, c], rest) = self.bytes.split_first_chunk().ok_or_else(cut)?;
            self.bytes = rest;
            let (field, position) = split_place(u32::from_le_bytes([*a, *b, *c, 0]));
            let form = if numbers.len() > 1 { take_number(&mut self.bytes)? as usize } else { 0 };
            let form = numbers.get(form).copied().ok_or_else(cut)?;
            occurrences.push(Occurrence { field, position, form });
        }
        // A vocabulary numbers forms as it meets them. Two may stand at one position.
        if !occurrences.is_sorted() {
            occurrences.sort_unstable();
        }
        Ok(Some((row, *impact)))
    }
}
