//! Writes full-text indexes.

use std::{
    io::{self, Write},
    path::Path,
};

use crate::index::full_text::layout::{
    BLOCK_POSTINGS, FORMS_MAX, INLINE_BYTES_MAX, TITLE_END, VALUE_GAP,
};
use crate::index::full_text::positions::{Occurrence, PositionsBuilder};
use crate::index::full_text::postings::{Entry, Pending};
use crate::index::full_text::texts::TextsWriter;
use crate::storage::blobs::Spool;
use crate::storage::file_writer::{FileWriter, Written};
use crate::storage::header::{HEADER_BYTES, Header};
use crate::storage::leb128;

/// Writes an index term by term, and then the forms.
pub struct FullTextWriter {
    file: FileWriter,
    positions: Spool,
    /// The bytes in `positions`.
    positions_bytes: u64,
    /// The words of the shortest title of each row so far.
    title_words: Spool,
    titled_rows: u32,
    terms: TextsWriter,
    forms: TextsWriter,
    term: TermBuilder,
    payload: Vec<u8>,
}

/// The list of the current term.
#[derive(Default)]
struct TermBuilder {
    count: u32,
    last_row: Option<u32>,
    pending: Pending,
    block_positions: PositionsBuilder,
    is_title_end: bool,
    has_forms: bool,
    entries: Vec<u8>,
    /// Where the list and its positions begin, once a block is written.
    from: u64,
    positions_from: u64,
    bytes: Vec<u8>,
    positions: Vec<u8>,
}

impl FullTextWriter {
    /// Creates `path` and writes the header.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be written.
    pub fn create(path: &Path, header: Header) -> io::Result<FullTextWriter> {
        let mut file = FileWriter::create(path)?;
        file.write_all(&header.encode())?;
        let directory = path.parent().unwrap_or(Path::new("."));
        Ok(FullTextWriter {
            file,
            positions: Spool::new(directory),
            positions_bytes: 0,
            title_words: Spool::new(directory),
            titled_rows: 0,
            terms: TextsWriter::new(directory)?,
            forms: TextsWriter::new(directory)?,
            term: TermBuilder::default(),
            payload: Vec::new(),
        })
    }

    /// Begins a term with this many forms.
    pub fn begin_term(&mut self, stem: &[u8], forms: usize) {
        self.term.is_title_end = stem == TITLE_END.as_bytes();
        self.term.has_forms = forms > 1;
    }

    /// Appends a posting of the current term: a row after the last one, its impact, and its occurrences, ascending.
    ///
    /// # Errors
    ///
    /// Fails if writing fails.
    pub fn push(&mut self, row: u32, impact: u8, occurrences: &[Occurrence]) -> io::Result<()> {
        if self.term.is_title_end {
            self.push_title_words(row, occurrences)?;
        }
        let term = &mut self.term;
        term.pending.rows.push(row);
        term.pending.impacts.push(u32::from(impact));
        term.block_positions.push(occurrences);
        term.count += 1;
        if term.pending.rows.len() == BLOCK_POSTINGS { self.write_block() } else { Ok(()) }
    }

    /// Adds the words of a record's shortest title. Titles lie [`VALUE_GAP`] positions apart.
    fn push_title_words(&mut self, row: u32, ends: &[Occurrence]) -> io::Result<()> {
        let begins = [0].into_iter().chain(ends.iter().map(|end| end.position + VALUE_GAP));
        let lengths =
            ends.iter().zip(begins).map(|(end, begin)| end.position.saturating_sub(begin));
        let words = lengths.min().unwrap_or(0).min(u8::MAX.into()) as u8;
        while self.titled_rows < row {
            self.title_words.write_all(&[0])?;
            self.titled_rows += 1;
        }
        self.titled_rows = row + 1;
        self.title_words.write_all(&[words])
    }

    fn write_block(&mut self) -> io::Result<()> {
        let FullTextWriter { file, positions, positions_bytes, term, .. } = self;
        if term.entries.is_empty() {
            (term.from, term.positions_from) = (file.position_bytes(), *positions_bytes);
        }
        term.push_entry(file.position_bytes(), *positions_bytes);
        term.bytes.clear();
        let before = term.last_row.replace(term.pending.rows[BLOCK_POSTINGS - 1]);
        term.pending.write_block(before, &mut term.bytes);
        file.write_all(&term.bytes)?;
        term.positions.clear();
        term.block_positions.write(term.has_forms, &mut term.positions);
        positions.write_all(&term.positions)?;
        *positions_bytes += term.positions.len() as u64;
        Ok(())
    }

    /// Ends the current term, which has a posting. `forms` ascend.
    ///
    /// # Errors
    ///
    /// Fails if the term does not sort after the last one, has no posting, or cannot be written.
    pub fn end_term(&mut self, stem: &[u8], forms: &[Vec<u8>]) -> io::Result<()> {
        let mut term = std::mem::take(&mut self.term);
        if term.count == 0 {
            return Err(io::Error::other("a term has no posting"));
        }
        let has_blocks = !term.entries.is_empty();
        let has_rest = !term.pending.rows.is_empty();
        let (mut rest, mut positions) = (Vec::new(), Vec::new());
        let last_row = term.pending.rows.last().copied().or(term.last_row).unwrap_or_default();
        let impact_max = term.pending.impacts.iter().copied().max().unwrap_or(0) as u8;
        term.pending.write_rest(term.last_row, &mut rest);
        if has_rest {
            term.block_positions.write(term.has_forms, &mut positions);
        }
        let is_inline = !has_blocks && rest.len() + positions.len() <= INLINE_BYTES_MAX;
        self.payload.clear();
        leb128::push(u64::from(term.count) << 1 | u64::from(is_inline), &mut self.payload);
        push_forms(stem, forms, &mut self.payload);
        if is_inline {
            leb128::push(rest.len() as u64, &mut self.payload);
            self.payload.extend_from_slice(&rest);
            self.payload.extend_from_slice(&positions);
        } else {
            if !has_blocks {
                (term.from, term.positions_from) =
                    (self.file.position_bytes(), self.positions_bytes);
            }
            let entry = Entry {
                last_row,
                from: self.file.position_bytes() - term.from,
                positions_from: self.positions_bytes - term.positions_from,
                impact_max,
            };
            entry.write(&mut term.entries);
            self.file.write_all(&rest)?;
            self.file.write_all(&term.entries)?;
            self.positions.write_all(&positions)?;
            self.positions_bytes += positions.len() as u64;
            let to = self.file.position_bytes();
            for number in [
                term.from - HEADER_BYTES as u64,
                to - term.from,
                term.positions_from,
                self.positions_bytes - term.positions_from,
            ] {
                leb128::push(number, &mut self.payload);
            }
        }
        term.clear();
        self.term = term;
        self.terms.push(stem, &self.payload)
    }

    /// Appends a form with the stems that it is a form of, ascending, and its number among the forms of each. Forms ascend.
    ///
    /// # Errors
    ///
    /// Fails if the form does not sort after the last one, or cannot be written.
    pub fn push_form<'t>(
        &mut self,
        form: &[u8],
        stems: impl IntoIterator<Item = (&'t [u8], u16)>,
    ) -> io::Result<()> {
        self.payload.clear();
        for (stem, number) in stems {
            push_suffix(form, stem, &mut self.payload);
            leb128::push(number.into(), &mut self.payload);
        }
        self.forms.push(form, &self.payload)
    }

    /// Writes the positions, title words, terms, forms and directory, and closes the file.
    ///
    /// # Errors
    ///
    /// Fails if writing fails.
    pub fn finish(mut self) -> io::Result<Written> {
        let positions_from = self.file.position_bytes();
        self.positions.move_to(&mut self.file)?;
        let title_words_from = self.file.position_bytes();
        self.title_words.move_to(&mut self.file)?;
        let terms = self.terms.finish(&mut self.file)?;
        let forms = self.forms.finish(&mut self.file)?;
        for number in [positions_from, title_words_from].into_iter().chain(terms).chain(forms) {
            self.file.write_all(&number.to_le_bytes())?;
        }
        self.file.finish()
    }
}

impl TermBuilder {
    /// Adds the entry of the block that is about to be written.
    fn push_entry(&mut self, at: u64, positions_at: u64) {
        let entry = Entry {
            last_row: self.pending.rows[BLOCK_POSTINGS - 1],
            from: at - self.from,
            positions_from: positions_at - self.positions_from,
            impact_max: self.pending.impacts.iter().copied().max().unwrap_or(0) as u8,
        };
        entry.write(&mut self.entries);
    }

    /// Prepares for the next term, and keeps the memory.
    fn clear(&mut self) {
        self.entries.clear();
        (self.count, self.last_row) = (0, None);
    }
}

/// Appends the number of forms, and each form as a suffix of the stem.
fn push_forms(stem: &[u8], forms: &[Vec<u8>], out: &mut Vec<u8>) {
    let forms = &forms[..forms.len().min(FORMS_MAX)];
    leb128::push(forms.len() as u64, out);
    forms.iter().for_each(|form| push_suffix(stem, form, out));
}

/// Appends a text as the number of bytes that it shares with the beginning of another, and its suffix.
fn push_suffix(of: &[u8], text: &[u8], out: &mut Vec<u8>) {
    let shared = of.iter().zip(text).take_while(|(a, b)| a == b).count();
    leb128::push(shared as u64, out);
    leb128::push((text.len() - shared) as u64, out);
    out.extend_from_slice(&text[shared..]);
}
