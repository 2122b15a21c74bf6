//! Writes the full-text index from the runs, and from the index of the previous snapshot.
//!
//! The forms of a term are numbered by their texts. So the merge first collects the forms of all parts of a term, and then
//! writes the postings with the numbers of this index:
//!
//! ```text
//! run of chunk 0:  "network" forms [network]             previous snapshot: "network" forms [networking, networks]
//! run of chunk 1:  "network" forms [network, networks]   of its unchanged rows, some have [networks]
//! this index:      "network" forms [network, networks]
//! ```

mod forms;
mod parts;

use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use pinakes_format::index::full_text::{
    BLOCK_POSTINGS, EncodedTerm, EncodedTerms, FormsWriter, FullText, FullTextWriter, NO_ROW,
    TermEncoder,
};
use pinakes_format::storage::mmap::Map;
use pinakes_format::storage::{Header, Spool, Written};

use crate::external_sort::Sorter;
use crate::link::index::full_text::merge::forms::{FormOfTerm, TermForms, of_term, write_forms};
use crate::link::index::full_text::merge::parts::{PartReader, TermPart};
use crate::link::index::full_text::old::{OldTerm, OldTerms};
use crate::link::index::full_text::{
    Run, TermRuns, bounds_of, divide, spool_of, take_sized, take_text,
};
use crate::link::index::runs::{Entries, Merge};
use crate::link::index::term_lists::Sorting;
use crate::link::index::unchanged::{Taken, Unchanged};
use crate::parallel;

impl TermRuns {
    /// Merges the runs into the index file, with the postings of unchanged rows in the previous snapshot.
    pub fn write(
        mut self,
        path: &Path,
        header: Header,
        old: Option<(&Unchanged<'_>, &FullText)>,
        Sorting { scratch, memory_bytes }: Sorting<'_>,
    ) -> Taken<Written> {
        let spools = self.spools.iter_mut().map(Spool::take_map);
        let spools = spools.collect::<io::Result<Vec<Map>>>()?;
        let mut writer = TermWriter { file: FullTextWriter::create(path, header)?, large: None };
        let mut forms = Sorter::new(scratch, memory_bytes);
        let mut state = TermMerge::new(memory_bytes / 2);
        let old = old.map(|(unchanged, index)| OldTerms::open(unchanged, index)).transpose()?;
        let mut ranges = TermRanges::new(&self, &spools, old);
        let (mut encoded, mut has_ended) = (Vec::new(), false);
        loop {
            let wave = state.take_wave();
            if has_ended && wave.is_empty() && encoded.is_empty() {
                break;
            }
            // Some threads collect the terms of a wave, others encode those of the wave before, and one writes those before that.
            let collect = || if has_ended { Ok(true) } else { ranges.collect(&mut state) };
            let mut written = std::mem::take(&mut encoded);
            let of_terms = written.iter_mut().map(EncodedPiece::take_forms).collect();
            let mut keep = |of_terms: Vec<Vec<FormOfTerm>>| {
                of_terms.into_iter().flatten().try_for_each(|form| forms.push(form))
            };
            let write = || -> Taken<()> {
                let write = || parallel::step("write terms", || writer.write_wave(written));
                let (of_large, kept) = parallel::join(write, || keep(of_terms));
                kept?;
                Ok(keep(vec![of_large?])?)
            };
            let encode =
                || parallel::step("encode terms", || parallel::try_map(wave, Piece::encode));
            let collect = || parallel::step("collect terms", collect);
            let (written, (next, ended)) =
                parallel::join(write, || parallel::join(encode, collect));
            written?;
            (encoded, has_ended) = (next?, ended?);
        }
        let mut forms_writer = FormsWriter::new(scratch)?;
        let (written, ended) = parallel::join(
            || parallel::step("write forms", || write_forms(&mut forms_writer, forms.finish()?)),
            || parallel::step("close terms", || writer.file.end_terms()),
        );
        written?;
        Ok(parallel::step("close texts", || ended?.finish(forms_writer))?)
    }
}

/// The terms of all runs by ranges. Ranges of few bytes are collected beside each other, and large ones are divided before. The
/// terms of the previous snapshot are one more run, which has no ranges: then ranges are collected one after the other.
struct TermRanges<'b, 'u> {
    runs: &'b [Run],
    spools: &'b [Map],
    bounds: &'b [Vec<u8>],
    old: Option<OldTerms<'u>>,
    numbers: Range<usize>,
    /// The next ranges, before those of `numbers`.
    next: VecDeque<TermRange<'b>>,
    /// The range that is collected in part.
    current: Option<Merge<'b, &'b [u8]>>,
}

/// The entries of each run in a range of terms, with the chunk of the run.
struct TermRange<'b> {
    entries: Vec<(u32, &'b [u8])>,
    bytes: usize,
}

/// Ranges that are collected beside each other, at least, if large ones can be divided.
const COLLECTED_TOGETHER: usize = 16;
/// Bytes in memory of a part of a divided range, for each run.
const PART_BYTES: usize = size_of::<(u32, &[u8])>() + size_of::<&[u8]>();

impl<'b, 'u> TermRanges<'b, 'u> {
    fn new(of: &'b TermRuns, spools: &'b [Map], old: Option<OldTerms<'u>>) -> TermRanges<'b, 'u> {
        let TermRuns { runs, bounds, .. } = of;
        let (numbers, next) = (0..bounds.len() + 1, VecDeque::new());
        TermRanges { runs, spools, bounds, old, numbers, next, current: None }
    }

    /// The next range. Ranges of more than a share of `together_bytes` are divided.
    fn next(&mut self, together_bytes: usize) -> io::Result<Option<TermRange<'b>>> {
        if self.next.is_empty()
            && let Some(number) = self.numbers.next()
        {
            let bytes = |run: &'b Run| &self.spools[spool_of(number)][run.range(number)];
            let range = TermRange::new(self.runs.iter().map(|run| (run.chunk, bytes(run))));
            match &mut self.old {
                Some(old) => old.end_before(self.bounds.get(number).map(Vec::as_slice)),
                None if range.bytes > together_bytes / COLLECTED_TOGETHER => {
                    self.next = range.divide(together_bytes)?;
                }
                None => {}
            }
            if self.next.is_empty() {
                return Ok(Some(range));
            }
        }
        Ok(self.next.pop_front())
    }

    /// Collects the terms of the next wave. Returns whether all terms are collected.
    fn collect(&mut self, state: &mut TermMerge<'b, 'u>) -> Taken<bool> {
        // Half of a wave, because rare terms take more bytes in memory than in runs.
        let bytes_max = state.wave_bytes_max / 2;
        while !state.is_full() {
            if let Some(merge) = &mut self.current {
                if !collect(merge, self.old.as_mut(), state)? {
                    return Ok(false);
                }
                self.current = None;
                continue;
            }
            // The ranges that fit a wave together.
            let (mut together, mut bytes) = (Vec::new(), 0);
            while let Some(range) = self.next(bytes_max)? {
                bytes += range.bytes;
                if self.old.is_none() && bytes <= bytes_max {
                    together.push(range);
                    continue;
                }
                match together.is_empty() {
                    true => self.current = Some(range.merge()),
                    false => self.next.push_front(range),
                }
                break;
            }
            if together.is_empty() {
                if self.current.is_none() {
                    return Ok(true);
                }
                continue;
            }
            let max = state.wave_bytes_max;
            let collected = parallel::try_map(together, |range: TermRange<'b>| {
                let (mut merge, mut state) = (range.merge(), TermMerge::new(max));
                while !collect(&mut merge, None, &mut state)? {
                    state.wave_bytes_max *= 2;
                }
                Taken::Ok(state.pieces)
            })?;
            for piece in collected.into_iter().flatten() {
                state.push(piece);
            }
        }
        Ok(false)
    }
}

impl<'b> TermRange<'b> {
    fn new(entries: impl Iterator<Item = (u32, &'b [u8])>) -> TermRange<'b> {
        let entries: Vec<_> = entries.collect();
        let bytes = entries.iter().map(|(_, entries)| entries.len()).sum();
        TermRange { entries, bytes }
    }

    /// Begins to merge the runs.
    fn merge(self) -> Merge<'b, &'b [u8]> {
        Merge::new(self.entries.into_iter(), split_stem)
    }

    /// Divides the range at terms of its longest run, so that parts of about `together_bytes` are collected together. Each task
    /// divides the entries of a run. The places of the parts take at most `together_bytes`, too.
    fn divide(&self, together_bytes: usize) -> io::Result<VecDeque<TermRange<'b>>> {
        let longest = self.entries.iter().map(|(_, entries)| *entries).max_by_key(|of| of.len());
        let parts = self.bytes / (together_bytes / COLLECTED_TOGETHER).max(1) + 1;
        let parts = parts.min(together_bytes / (PART_BYTES * self.entries.len()).max(1)).max(1);
        let bounds = bounds_of(longest.unwrap_or_default(), parts)?;
        let divided = parallel::try_map(self.entries.clone(), |(chunk, entries)| {
            divide(entries, &bounds).map(|parts| (chunk, parts))
        })?;
        let part = |part| TermRange::new(divided.iter().map(|(chunk, of)| (*chunk, of[part])));
        Ok((0..=bounds.len()).map(part).collect())
    }
}

/// Splits the entry of a run behind its stem.
fn split_stem(mut bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let stem = take_text(&mut bytes).ok().filter(|stem| !stem.is_empty())?;
    Some((stem, bytes))
}

/// Collects terms until the state is full. Returns whether the merge has ended.
fn collect<'b, 'u>(
    merge: &mut Merge<'b, &'b [u8]>,
    old: Option<&mut OldTerms<'u>>,
    state: &mut TermMerge<'b, 'u>,
) -> Taken<bool> {
    let finish = |state: &mut TermMerge<'b, 'u>, stem: &'b [u8]| state.end(stem, None);
    let mut entries = Entries { split: split_stem, take: TermMerge::take, finish };
    merge.run(old, state, &mut entries, TermMerge::is_full)
}

/// Terms, while their parts are collected. They are encoded in waves.
pub(super) struct TermMerge<'b, 'u> {
    /// The parts of the current term.
    parts: Vec<TermPart<'b>>,
    /// The collected pieces that no wave has yet, ascending.
    pieces: VecDeque<Piece<'b, 'u>>,
    /// Bytes of `pieces`.
    bytes: usize,
    wave_bytes_max: usize,
}

/// The terms or postings that one task encodes.
enum Piece<'b, 'u> {
    /// Terms of few postings, and their bytes.
    Terms(Vec<MergedTerm<'b, 'u>>, usize),
    /// Postings of a term that has many.
    Segment(Segment<'b>),
    /// A term of the previous snapshot that is too large to be encoded in memory. The writer encodes it.
    Streamed(MergedTerm<'b, 'u>, usize),
}

/// Terms and parts of terms in the form of the index.
enum EncodedPiece<'b, 'u> {
    Terms(EncodedTerms, Vec<FormOfTerm>),
    Segment { term: Arc<LargeTerm<'b>>, postings: Option<EncodedTerm>, is_last: bool },
    Streamed(MergedTerm<'b, 'u>),
}

/// A term with its rows.
struct MergedTerm<'b, 'u> {
    stem: Vec<u8>,
    parts: Vec<TermPart<'b>>,
    old: Option<OldTerm<'u>>,
}

/// An encoded term with its forms.
struct Encoded {
    stem: Vec<u8>,
    forms: Vec<FormOfTerm>,
    term: EncodedTerm,
}

/// A term whose postings are encoded by several tasks.
struct LargeTerm<'b> {
    stem: Vec<u8>,
    parts: Vec<PartReader<'b>>,
    forms: TermForms<'b>,
}

/// Consecutive postings of a large term: whole blocks, or the last postings.
///
/// ```text
/// parts of 100, 200, 90 and 50 postings, blocks of 128     segment 1: parts 0 to 1, 256 postings
///                                                          segment 2: from part 1 on, without its first 156 postings
/// ```
struct Segment<'b> {
    term: Arc<LargeTerm<'b>>,
    parts: Range<usize>,
    /// Postings of the first part that belong to the segment before.
    skipped: u32,
    /// The row before the first part.
    before: Option<u32>,
    count: u32,
    is_last: bool,
    bytes: usize,
}

/// Bytes of a term in a wave, besides its postings, collected and encoded, about.
const TERM_BYTES: usize = 512;
/// Bytes of a large term in memory before they are written.
const HELD_BYTES: usize = 1 << 20;
/// The tasks of a wave, about.
const WAVE_TASKS: usize = 128;
/// The least bytes of a task: less would take less time than to begin a task.
const TASK_BYTES_MIN: usize = 64 << 10;

impl<'b, 'u> TermMerge<'b, 'u> {
    fn new(wave_bytes_max: usize) -> TermMerge<'b, 'u> {
        TermMerge { parts: Vec::new(), pieces: VecDeque::new(), bytes: 0, wave_bytes_max }
    }

    /// Takes the parts of a term in one run. Returns the bytes behind the entry.
    fn take(&mut self, chunk: u32, mut bytes: &'b [u8]) -> io::Result<&'b [u8]> {
        self.parts.push((chunk, take_sized(&mut bytes)?));
        Ok(bytes)
    }

    /// Whether a wave is collected.
    fn is_full(&self) -> bool {
        self.bytes > self.wave_bytes_max
    }

    fn task_bytes(&self) -> usize {
        (self.wave_bytes_max / WAVE_TASKS).max(TASK_BYTES_MIN)
    }

    /// Ends the current term, with its rows in the previous snapshot.
    pub fn end(&mut self, stem: &[u8], old: Option<OldTerm<'u>>) -> Taken<()> {
        let parts = std::mem::take(&mut self.parts);
        // The rows of the previous snapshot end a term whose parts end it too.
        if parts.is_empty() && old.is_none() {
            return Ok(());
        }
        let bytes =
            parts.iter().map(|(_, part)| size_of::<TermPart<'_>>() + part.len()).sum::<usize>();
        let bytes = TERM_BYTES + bytes + old.map_or(0, OldTerm::bytes);
        if old.is_none() && bytes > self.task_bytes() * 2 {
            return Ok(self.divide(stem, &parts)?);
        }
        let term = MergedTerm { stem: stem.to_vec(), parts, old };
        if bytes > self.wave_bytes_max {
            self.push(Piece::Streamed(term, bytes));
            return Ok(());
        }
        let task_bytes = self.task_bytes();
        match self.pieces.back_mut() {
            Some(Piece::Terms(terms, of_piece)) if *of_piece < task_bytes => {
                terms.push(term);
                *of_piece += bytes;
                self.bytes += bytes;
            }
            _ => self.push(Piece::Terms(vec![term], bytes)),
        }
        Ok(())
    }

    fn push(&mut self, piece: Piece<'b, 'u>) {
        self.bytes += piece.bytes();
        self.pieces.push_back(piece);
    }

    /// Divides a term of many postings at blocks.
    fn divide(&mut self, stem: &[u8], parts: &[TermPart<'b>]) -> io::Result<()> {
        let parts = PartReader::open_all(parts)?;
        let (forms, _) = TermForms::new(&parts, &[])?;
        let term = Arc::new(LargeTerm { stem: stem.to_vec(), parts, forms });
        let (parts, task_bytes) = (&term.parts, self.task_bytes());
        let (mut first, mut skipped, mut count, mut bytes) = (0usize, 0, 0u32, 0);
        for (at, part) in parts.iter().enumerate() {
            count += part.postings;
            bytes += part.bytes.len();
            let is_last = at + 1 == parts.len();
            let blocks = count / BLOCK_POSTINGS as u32 * BLOCK_POSTINGS as u32;
            if !is_last && (bytes < task_bytes || blocks == 0) {
                continue;
            }
            let before = first.checked_sub(1).map(|before: usize| parts[before].last_row());
            self.push(Piece::Segment(Segment {
                term: Arc::clone(&term),
                parts: first..at + 1,
                skipped,
                before,
                count: if is_last { count } else { blocks },
                is_last,
                bytes,
            }));
            // The next segment begins with the last part of which postings are left.
            count -= blocks;
            let mut left = count;
            first = at + 1;
            while left > 0 {
                first -= 1;
                skipped = parts[first].postings.saturating_sub(left);
                left = left.saturating_sub(parts[first].postings);
            }
            if count == 0 {
                skipped = 0;
            }
            bytes = 0;
        }
        Ok(())
    }

    /// Takes the pieces of the next wave.
    fn take_wave(&mut self) -> Vec<Piece<'b, 'u>> {
        let (mut wave, mut bytes) = (Vec::new(), 0);
        while bytes <= self.wave_bytes_max
            && let Some(piece) = self.pieces.pop_front()
        {
            bytes += piece.bytes();
            wave.push(piece);
        }
        self.bytes -= bytes;
        wave
    }
}

impl<'b, 'u> Piece<'b, 'u> {
    fn bytes(&self) -> usize {
        match self {
            Piece::Terms(_, bytes) | Piece::Streamed(_, bytes) => *bytes,
            Piece::Segment(segment) => segment.bytes,
        }
    }

    fn encode(self) -> Taken<EncodedPiece<'b, 'u>> {
        let mut encoder = TermEncoder::default();
        Ok(match self {
            Piece::Terms(terms, _) => {
                let (mut encoded, mut forms) = (EncodedTerms::default(), Vec::new());
                for term in terms {
                    if let Some(of_term) = term.encode(&mut encoder, |_| Ok(()))? {
                        encoded.push(&of_term.stem, &of_term.term);
                        encoder.reuse(of_term.term);
                        forms.extend(of_term.forms);
                    }
                }
                EncodedPiece::Terms(encoded, forms)
            }
            Piece::Segment(segment) => {
                let postings = segment.encode(&mut encoder)?;
                let Segment { term, is_last, .. } = segment;
                EncodedPiece::Segment { term, postings, is_last }
            }
            Piece::Streamed(term, _) => EncodedPiece::Streamed(term),
        })
    }
}

impl EncodedPiece<'_, '_> {
    /// Takes the forms of small terms.
    fn take_forms(&mut self) -> Vec<FormOfTerm> {
        match self {
            EncodedPiece::Terms(_, forms) => std::mem::take(forms),
            _ => Vec::new(),
        }
    }
}

impl Segment<'_> {
    fn encode(&self, encoder: &mut TermEncoder) -> io::Result<Option<EncodedTerm>> {
        let LargeTerm { stem, parts, forms } = &*self.term;
        let mut parts = parts[self.parts.clone()].to_vec();
        let (mut occurrences, mut before) = (Vec::new(), self.before);
        if let Some(first) = parts.first_mut() {
            let numbers = forms.numbers(first);
            for _ in 0..self.skipped {
                before = first.next(numbers, &mut occurrences)?.map(|(row, _)| row);
            }
        }
        encoder.begin_after(stem, forms.forms.len(), before);
        let mut left = self.count;
        for part in &mut parts {
            let numbers = forms.numbers(part);
            while left > 0
                && let Some((row, impact)) = part.next(numbers, &mut occurrences)?
            {
                encoder.push(row, impact, &occurrences);
                left -= 1;
            }
        }
        Ok(if self.is_last { encoder.end_last() } else { Some(encoder.end_blocks()) })
    }
}

/// Writes encoded terms.
struct TermWriter {
    file: FullTextWriter,
    /// The postings so far of the large term that is written.
    large: Option<EncodedTerm>,
}

impl TermWriter {
    /// Writes terms. Returns the forms of large terms.
    fn write_wave(&mut self, wave: Vec<EncodedPiece<'_, '_>>) -> Taken<Vec<FormOfTerm>> {
        let mut of_large = Vec::new();
        for piece in wave {
            match piece {
                EncodedPiece::Terms(terms, _) => self.file.push_terms(&terms)?,
                EncodedPiece::Segment { term, postings, is_last } => {
                    if let Some(postings) = postings {
                        match &mut self.large {
                            Some(large) => large.append(postings),
                            None => self.large = Some(postings),
                        }
                    }
                    let LargeTerm { stem, forms, .. } = &*term;
                    if let Some(large) = &mut self.large {
                        self.file.write_parts(large)?;
                    }
                    if is_last && let Some(mut large) = self.large.take() {
                        large.end(stem, &forms.forms);
                        self.file.push_term(stem, large)?;
                        of_large.extend(of_term(stem, &forms.forms));
                    }
                }
                EncodedPiece::Streamed(term) => {
                    let file = &mut self.file;
                    let encoded = term.encode(&mut TermEncoder::default(), |term| {
                        match term.held_bytes() < HELD_BYTES {
                            true => Ok(()),
                            false => file.write_begun(term),
                        }
                    });
                    if let Some(Encoded { stem, forms, term }) = encoded? {
                        self.file.push_term(&stem, term)?;
                        of_large.extend(forms);
                    }
                }
            }
        }
        Ok(of_large)
    }
}

impl MergedTerm<'_, '_> {
    /// Encodes the term; `None` if it has no row. Calls `encoded` after each posting, and after postings that
    /// are copied together.
    fn encode(
        self,
        encoder: &mut TermEncoder,
        mut encoded: impl FnMut(&mut TermEncoder) -> io::Result<()>,
    ) -> Taken<Option<Encoded>> {
        let MergedTerm { stem, parts, old } = self;
        let mut old = old.map(|old| old.part(&stem)).transpose()?;
        let mut parts: Vec<PartReader<'_>> = PartReader::open_all(&parts)?;
        let old_forms = old.as_ref().map_or(&[][..], |old| &old.forms);
        let (forms, old_numbers) = TermForms::new(&parts, old_forms)?;
        encoder.begin(&stem, forms.forms.len());
        let mut occurrences = Vec::new();
        for part in &mut parts {
            let numbers = forms.numbers(part);
            while let Some((row, impact)) = part.next(numbers, &mut occurrences)? {
                if let Some(old) = &mut old {
                    old.push_before(row, &old_numbers, encoder, &mut encoded)?;
                }
                encoder.push(row, impact, &occurrences);
                encoded(encoder)?;
            }
        }
        if let Some(old) = &mut old {
            old.push_before(NO_ROW, &old_numbers, encoder, &mut encoded)?;
        }
        let term = encoder.end(&stem, &forms.forms);
        let forms = of_term(&stem, &forms.forms);
        Ok(term.map(|term| Encoded { stem, forms, term }))
    }
}
