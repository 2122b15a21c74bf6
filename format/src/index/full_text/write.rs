//! Writes full-text indexes.

use std::{
    io::{self, Write},
    iter,
    path::Path,
};

use crate::index::full_text::Postings;
use crate::index::full_text::layout::{
    BLOCK_POSTINGS, ENTRY_BYTES, FORMS_MAX, INLINE_BYTES_MAX, TITLE_END,
};
use crate::index::full_text::positions::{Occurrence, PositionsBuilder};
use crate::index::full_text::postings::{Entry, Pending};
use crate::index::full_text::texts::TextsWriter;
use crate::storage::blobs::Spool;
use crate::storage::error::ReadError;
use crate::storage::file_writer::{FileWriter, Written};
use crate::storage::header::{HEADER_BYTES, Header};
use crate::storage::leb128;

/// Writes the terms of an index. Then [`EndedTerms`] take the forms, which a [`FormsWriter`] collects meanwhile.
pub struct FullTextWriter {
    file: FileWriter,
    positions: Spool,
    /// The bytes in `positions`.
    positions_bytes: u64,
    /// The words of the shortest title of each row so far.
    title_words: Spool,
    terms: TextsWriter,
    payload: Vec<u8>,
}

/// Collects the forms of an index.
pub struct FormsWriter {
    forms: TextsWriter,
    payload: Vec<u8>,
}

/// An index without forms.
pub struct EndedTerms {
    file: FileWriter,
    /// The numbers of the directory so far.
    directory: Vec<u64>,
}

/// Encodes terms, each in memory of its own: terms are encoded beside each other, and written in their order.
#[derive(Default)]
pub struct TermEncoder {
    last_row: Option<u32>,
    pending: Pending,
    block_positions: PositionsBuilder,
    is_title_end: bool,
    has_forms: bool,
    encoded: EncodedTerm,
}

/// A term whose postings are encoded, or consecutive postings of a term. Without a list, they are in the payload.
#[derive(Default)]
pub struct EncodedTerm {
    count: u32,
    payload: Vec<u8>,
    list: Part,
    /// The entries of the blocks.
    entries: Vec<u8>,
    positions: Part,
    /// The words of the shortest title of each row.
    title_words: Part,
}

/// Ascending terms whose postings are encoded. Terms are written together: most are small.
#[derive(Default)]
pub struct EncodedTerms {
    terms: Vec<TermBytes>,
    /// The stem and the payload of each term.
    texts: Vec<u8>,
    list: Vec<u8>,
    positions: Vec<u8>,
    title_words: Vec<u8>,
}

/// The bytes of a term among those of its neighbours.
struct TermBytes {
    stem: usize,
    payload: usize,
    list: u64,
    positions: u64,
}

impl EncodedTerms {
    /// Appends a term of which nothing is written.
    pub fn push(&mut self, stem: &[u8], term: &EncodedTerm) {
        let EncodedTerm { payload, list, positions, title_words, .. } = term;
        self.terms.push(TermBytes {
            stem: stem.len(),
            payload: payload.len(),
            list: list.length(),
            positions: positions.length(),
        });
        self.texts.extend_from_slice(stem);
        self.texts.extend_from_slice(payload);
        self.list.extend_from_slice(&list.bytes);
        self.positions.extend_from_slice(&positions.bytes);
        self.title_words.extend_from_slice(&title_words.bytes);
    }
}

/// Bytes that may have been written in part.
#[derive(Default)]
struct Part {
    written: u64,
    bytes: Vec<u8>,
}

impl Part {
    fn length(&self) -> u64 {
        self.written + self.bytes.len() as u64
    }

    /// Writes the bytes that are left.
    fn write(&mut self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(&self.bytes)?;
        self.written += self.bytes.len() as u64;
        self.bytes.clear();
        Ok(())
    }

    fn clear(&mut self) {
        self.written = 0;
        self.bytes.clear();
    }
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
            terms: TextsWriter::new(directory)?,
            payload: Vec::new(),
        })
    }

    /// Writes what is encoded of the current term so far. The next term to be written must be this one.
    ///
    /// # Errors
    ///
    /// Fails if writing fails.
    pub fn write_begun(&mut self, term: &mut TermEncoder) -> io::Result<()> {
        self.write_parts(&mut term.encoded)
    }

    /// Writes the postings of a term that are encoded so far. The next term to be written must be this one.
    ///
    /// # Errors
    ///
    /// Fails if writing fails.
    pub fn write_parts(&mut self, term: &mut EncodedTerm) -> io::Result<()> {
        let EncodedTerm { list, positions, title_words, .. } = term;
        self.positions_bytes += positions.bytes.len() as u64;
        list.write(&mut self.file)?;
        positions.write(&mut self.positions)?;
        title_words.write(&mut self.title_words)
    }

    /// Writes a term.
    ///
    /// # Errors
    ///
    /// Fails if the term does not sort after the last one, or cannot be written.
    pub fn push_term(&mut self, stem: &[u8], mut term: EncodedTerm) -> io::Result<()> {
        self.write_parts(&mut term)?;
        let EncodedTerm { mut payload, list, positions, .. } = term;
        if list.written > 0 {
            let from = self.file.position_bytes() - list.written;
            let positions_from = self.positions_bytes - positions.written;
            push_places([from, list.written, positions_from, positions.written], &mut payload);
        }
        self.terms.push(stem, &payload)
    }

    /// Writes terms.
    ///
    /// # Errors
    ///
    /// Fails if a term does not sort after the one before, or cannot be written.
    pub fn push_terms(&mut self, encoded: &EncodedTerms) -> io::Result<()> {
        let EncodedTerms { terms, texts, list, positions, title_words } = encoded;
        let (mut texts, mut from) = (&texts[..], self.file.position_bytes());
        for term in terms {
            let (stem, rest) = texts.split_at(term.stem);
            let (payload, rest) = rest.split_at(term.payload);
            texts = rest;
            self.payload.clear();
            self.payload.extend_from_slice(payload);
            if term.list > 0 {
                let places = [from, term.list, self.positions_bytes, term.positions];
                push_places(places, &mut self.payload);
            }
            from += term.list;
            self.positions_bytes += term.positions;
            self.terms.push(stem, &self.payload)?;
        }
        self.file.write_all(list)?;
        self.positions.write_all(positions)?;
        self.title_words.write_all(title_words)
    }

    /// Writes the positions, title words and terms.
    ///
    /// # Errors
    ///
    /// Fails if writing fails.
    pub fn end_terms(mut self) -> io::Result<EndedTerms> {
        let mut directory = vec![self.file.position_bytes()];
        self.positions.move_to(&mut self.file)?;
        directory.push(self.file.position_bytes());
        self.title_words.move_to(&mut self.file)?;
        directory.extend(self.terms.finish(&mut self.file)?);
        Ok(EndedTerms { file: self.file, directory })
    }
}

impl FormsWriter {
    /// Keeps the forms in `directory` until [`EndedTerms::finish`].
    ///
    /// # Errors
    ///
    /// Fails if no file can be created there.
    pub fn new(directory: &Path) -> io::Result<FormsWriter> {
        Ok(FormsWriter { forms: TextsWriter::new(directory)?, payload: Vec::new() })
    }

    /// Appends a form with the stems that it is a form of, ascending, and its number among the forms of each. Forms ascend.
    ///
    /// # Errors
    ///
    /// Fails if the form does not sort after the last one, or cannot be written.
    pub fn push<'t>(
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
}

impl EndedTerms {
    /// Writes the forms and the directory, and closes the file.
    ///
    /// # Errors
    ///
    /// Fails if writing fails.
    pub fn finish(mut self, forms: FormsWriter) -> io::Result<Written> {
        self.directory.extend(forms.forms.finish(&mut self.file)?);
        self.file.finish_archive(self.directory)
    }
}

impl TermEncoder {
    /// Takes back a term that is copied. The next term uses its memory.
    pub fn reuse(&mut self, mut term: EncodedTerm) {
        let EncodedTerm { count, payload, list, entries, positions, title_words } = &mut term;
        *count = 0;
        [payload, entries].into_iter().for_each(Vec::clear);
        [list, positions, title_words].into_iter().for_each(Part::clear);
        self.encoded = term;
    }

    /// Begins a term with this many forms.
    pub fn begin(&mut self, stem: &[u8], forms: usize) {
        self.begin_after(stem, forms, None);
    }

    /// Begins the postings of a term behind the row `before`. A multiple of [`BLOCK_POSTINGS`] postings precedes them, because
    /// a block has no postings of two encoders.
    pub fn begin_after(&mut self, stem: &[u8], forms: usize, before: Option<u32>) {
        self.is_title_end = stem == TITLE_END.as_bytes();
        self.has_forms = forms > 1;
        self.last_row = before;
        if self.is_title_end {
            self.encoded.title_words.written = before.map_or(0, |row| u64::from(row) + 1);
        }
    }

    /// Appends a posting: a row after the last one, its impact, and its occurrences, ascending.
    pub fn push(&mut self, row: u32, impact: u8, occurrences: &[Occurrence]) {
        self.pending.rows.push(row);
        self.pending.impacts.push(u32::from(impact));
        self.block_positions.push(occurrences);
        self.end_postings(1);
    }

    /// Appends decoded postings of an earlier index from the current one on, and moves behind them. Their records have `rows`
    /// now, and `forms` renumbers their forms.
    ///
    /// # Errors
    ///
    /// Fails if the bytes are damaged.
    pub fn copy(
        &mut self,
        postings: &mut Postings<'_>,
        mut rows: &[u32],
        forms: &[u16],
    ) -> Result<(), ReadError> {
        while !rows.is_empty() {
            let space = BLOCK_POSTINGS - self.pending.rows.len();
            let (now, later) = rows.split_at(space.min(rows.len()));
            let (_, impacts) = postings.decoded();
            self.pending.impacts.extend_from_slice(&impacts[..now.len()]);
            self.pending.rows.extend_from_slice(now);
            postings.copy_positions(now.len(), &mut self.block_positions, forms)?;
            postings.pass(now.len())?;
            self.end_postings(now.len());
            rows = later;
        }
        Ok(())
    }

    /// Ends as many postings; encodes the block that is full.
    fn end_postings(&mut self, count: usize) {
        self.encoded.count += count as u32;
        if self.pending.rows.len() == BLOCK_POSTINGS {
            self.push_block();
        }
    }

    /// Bytes that are encoded and not written.
    pub fn held_bytes(&self) -> usize {
        let EncodedTerm { list, positions, title_words, .. } = &self.encoded;
        list.bytes.len() + positions.bytes.len() + title_words.bytes.len()
    }

    /// Adds the words of the shortest title of each record whose posting is about to be encoded.
    fn push_title_words(&mut self) {
        if !self.is_title_end {
            return;
        }
        let title_words = &mut self.encoded.title_words;
        for (row, words) in self.pending.rows.iter().zip(self.block_positions.title_words()) {
            let without = u64::from(*row) - title_words.length();
            title_words.bytes.extend(iter::repeat_n(0, without as usize));
            title_words.bytes.push(words);
        }
    }

    fn push_block(&mut self) {
        self.push_title_words();
        self.push_entry(self.pending.rows[BLOCK_POSTINGS - 1]);
        let before = self.last_row.replace(self.pending.rows[BLOCK_POSTINGS - 1]);
        let EncodedTerm { list, positions, .. } = &mut self.encoded;
        self.pending.write_block(before, &mut list.bytes);
        self.block_positions.write(self.has_forms, &mut positions.bytes);
    }

    /// Adds the entry of the postings that are about to be encoded.
    fn push_entry(&mut self, last_row: u32) {
        let EncodedTerm { list, positions, .. } = &self.encoded;
        let entry = Entry {
            last_row,
            from: list.length(),
            positions_from: positions.length(),
            impact_max: self.pending.impacts.iter().copied().max().unwrap_or(0) as u8,
        };
        entry.write(&mut self.encoded.entries);
    }

    /// Ends the term; `None` if it has no posting. `forms` ascend. Then the next term can begin.
    pub fn end(&mut self, stem: &[u8], forms: &[Vec<u8>]) -> Option<EncodedTerm> {
        let mut term = self.end_last()?;
        term.end(stem, forms);
        Some(term)
    }

    /// Ends postings that further ones follow: whole blocks.
    pub fn end_blocks(&mut self) -> EncodedTerm {
        self.last_row = None;
        std::mem::take(&mut self.encoded)
    }

    /// Ends the last postings of a term; `None` if the term has no posting.
    pub fn end_last(&mut self) -> Option<EncodedTerm> {
        let before = self.last_row.take();
        let last = self.pending.rows.last().copied();
        let last_row = last.or(before)?;
        self.push_title_words();
        // The last entry is that of the rest, which may have no posting.
        self.push_entry(last_row);
        let TermEncoder { pending, block_positions, has_forms, encoded, .. } = self;
        let mut term = std::mem::take(encoded);
        let EncodedTerm { list, positions, .. } = &mut term;
        pending.write_rest(before, &mut list.bytes);
        if last.is_some() {
            block_positions.write(*has_forms, &mut positions.bytes);
        }
        Some(term)
    }
}

impl EncodedTerm {
    /// Appends the next postings of the same term. Entries count from the beginning of the list.
    pub fn append(&mut self, next: EncodedTerm) {
        let (list, positions) = (self.list.length(), self.positions.length());
        let (entries, _) = next.entries.as_chunks();
        for entry in entries {
            let entry = Entry::read(entry);
            let from = entry.from + list;
            let positions_from = entry.positions_from + positions;
            Entry { from, positions_from, ..entry }.write(&mut self.entries);
        }
        self.count += next.count;
        self.list.bytes.extend(next.list.bytes);
        self.positions.bytes.extend(next.positions.bytes);
        self.title_words.bytes.extend(next.title_words.bytes);
    }

    /// Ends the term. `forms` ascend.
    pub fn end(&mut self, stem: &[u8], forms: &[Vec<u8>]) {
        let EncodedTerm { count, payload, list, entries, positions, .. } = self;
        let is_inline = entries.len() == ENTRY_BYTES
            && list.bytes.len() + positions.bytes.len() <= INLINE_BYTES_MAX;
        leb128::push(u64::from(*count) << 1 | u64::from(is_inline), payload);
        push_forms(stem, forms, payload);
        match is_inline {
            true => {
                leb128::push(list.bytes.len() as u64, payload);
                payload.append(&mut list.bytes);
                payload.append(&mut positions.bytes);
            }
            false => list.bytes.append(entries),
        }
    }
}

/// Appends where a list and its positions begin, and their bytes. The list counts from the header of the file.
fn push_places([from, list, positions_from, positions]: [u64; 4], payload: &mut Vec<u8>) {
    for number in [from - HEADER_BYTES as u64, list, positions_from, positions] {
        leb128::push(number, payload);
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
