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

use std::{
    io::{self, Read, Write},
    path::Path,
};

use pinakes_format::index::full_text::{
    EncodedTerm, FORMS_MAX, FullText, FullTextWriter, NO_ROW, Occurrence, TermEncoder,
};
use pinakes_format::storage::file_writer::Written;
use pinakes_format::storage::header::Header;

use crate::external_sort::{Sorter, Spill, read_array};
use crate::link::index::full_text::batch::split_place;
use crate::link::index::full_text::old::{OldTerm, OldTerms};
use crate::link::index::full_text::{TextRuns, take_number, take_sized, take_text};
use crate::link::index::runs::merge;
use crate::link::index::term_lists::Sorting;
use crate::link::index::unchanged::{Taken, Unchanged};
use crate::parallel;

impl TextRuns {
    /// Merges the runs into the index file, with the postings of unchanged rows in the previous snapshot.
    pub fn write(
        mut self,
        path: &Path,
        header: Header,
        old: Option<(&Unchanged<'_>, &FullText)>,
        Sorting { scratch, memory_bytes }: Sorting<'_>,
    ) -> Taken<Written> {
        let spool = self.spool.take_map()?;
        let mut state = TermMerge {
            writer: FullTextWriter::create(path, header)?,
            forms: Sorter::new(scratch, memory_bytes),
            parts: Vec::new(),
            wave_bytes_max: memory_bytes / 2,
            wave: Wave::default(),
            encoded: EncodedWave::default(),
        };
        let mut old = old.map(|(unchanged, index)| OldTerms::open(unchanged, index)).transpose()?;
        let runs = self.runs.iter().map(|run| (run.chunk, &spool[run.from..run.to]));
        merge(
            runs,
            old.as_mut(),
            |mut bytes| {
                take_text(&mut bytes).ok().filter(|stem| !stem.is_empty()).map(|stem| (stem, bytes))
            },
            &mut state,
            TermMerge::take,
            |state, stem| state.end(stem, None),
        )?;
        // The last wave, and then its terms.
        state.next_wave()?;
        state.next_wave()?;
        let TermMerge { mut writer, forms, .. } = state;
        parallel::step("forms", || write_forms(&mut writer, forms.finish()?))?;
        Ok(parallel::step("close texts", || writer.finish())?)
    }
}

/// Terms, while their parts are collected. They are encoded in waves: all threads encode the terms of a wave while one
/// writes those of the wave before.
pub(super) struct TermMerge<'b, 'u> {
    writer: FullTextWriter,
    forms: Sorter<FormOfTerm>,
    /// The parts of the current term.
    parts: Vec<Part<'b>>,
    wave_bytes_max: usize,
    wave: Wave<'b, 'u>,
    encoded: EncodedWave<'b, 'u>,
}

/// Terms to be encoded, ascending.
#[derive(Default)]
struct Wave<'b, 'u> {
    /// A term too large to be encoded in memory: the first.
    large: Option<MergedTerm<'b, 'u>>,
    terms: Vec<MergedTerm<'b, 'u>>,
    bytes: usize,
}

/// The most tasks of a wave.
const WAVE_TASKS: usize = 256;

impl<'b, 'u> Wave<'b, 'u> {
    /// Divides the terms: each task has about as many bytes.
    fn tasks(self) -> Vec<Vec<MergedTerm<'b, 'u>>> {
        let task_bytes = (self.bytes / WAVE_TASKS).max(TERM_BYTES * 64);
        let (mut tasks, mut bytes) = (Vec::new(), task_bytes);
        for term in self.terms {
            if bytes >= task_bytes {
                tasks.push(Vec::new());
                bytes = 0;
            }
            bytes += term.bytes;
            if let Some(task) = tasks.last_mut() {
                task.push(term);
            }
        }
        tasks
    }
}

/// A wave whose terms are encoded, except the large one.
#[derive(Default)]
struct EncodedWave<'b, 'u> {
    large: Option<MergedTerm<'b, 'u>>,
    terms: Vec<Encoded>,
}

/// The chunk and the bytes of a term's part.
type Part<'b> = (u32, &'b [u8]);

/// A term with its rows.
struct MergedTerm<'b, 'u> {
    stem: Vec<u8>,
    parts: Vec<Part<'b>>,
    old: Option<OldTerm<'u>>,
    /// Bytes in memory, about.
    bytes: usize,
}

/// An encoded term with its forms.
struct Encoded {
    stem: Vec<u8>,
    forms: Vec<Vec<u8>>,
    term: EncodedTerm,
}

/// Bytes of a term in a wave, besides its postings, collected and encoded, about.
const TERM_BYTES: usize = 512;
/// Bytes of a large term in memory before they are written.
const HELD_BYTES: usize = 1 << 20;

impl<'b, 'u> TermMerge<'b, 'u> {
    /// Takes the parts of a term in one run. Returns the bytes behind the entry.
    fn take(&mut self, chunk: u32, mut bytes: &'b [u8]) -> io::Result<&'b [u8]> {
        self.parts.push((chunk, take_sized(&mut bytes)?));
        Ok(bytes)
    }

    /// Ends the current term, with its rows in the previous snapshot.
    pub fn end(&mut self, stem: &[u8], old: Option<OldTerm<'u>>) -> Taken<()> {
        let parts = std::mem::take(&mut self.parts);
        // The rows of the previous snapshot end a term whose parts end it too.
        if parts.is_empty() && old.is_none() {
            return Ok(());
        }
        let bytes = parts.iter().map(|(_, part)| size_of::<Part<'_>>() + part.len()).sum::<usize>();
        let bytes = TERM_BYTES + bytes + old.map_or(0, OldTerm::bytes);
        let term = MergedTerm { stem: stem.to_vec(), parts, old, bytes };
        if bytes > self.wave_bytes_max {
            self.next_wave()?;
            self.wave.large = Some(term);
            return Ok(());
        }
        self.wave.bytes += bytes;
        self.wave.terms.push(term);
        if self.wave.bytes > self.wave_bytes_max { self.next_wave() } else { Ok(()) }
    }

    /// Writes the encoded wave, and encodes the terms collected since.
    fn next_wave(&mut self) -> Taken<()> {
        let TermMerge { writer, forms, wave, encoded, .. } = self;
        let (mut wave, encoded) = (std::mem::take(wave), std::mem::take(encoded));
        let large = wave.large.take();
        let (written, terms) = parallel::join(
            || parallel::step("write texts", || encoded.write(writer, forms)),
            || {
                let encode = |encoder: &mut TermEncoder, term: MergedTerm<'_, '_>| {
                    term.encode(encoder, |_| Ok(()))
                };
                let encode_all = |terms: Vec<MergedTerm<'_, '_>>| {
                    let mut encoder = TermEncoder::default();
                    let encoded = terms.into_iter().map(|term| encode(&mut encoder, term));
                    encoded.filter_map(Taken::transpose).collect::<Taken<Vec<_>>>()
                };
                parallel::try_map(wave.tasks(), encode_all)
            },
        );
        written?;
        self.encoded = EncodedWave { large, terms: terms?.into_iter().flatten().collect() };
        Ok(())
    }
}

impl EncodedWave<'_, '_> {
    fn write(self, writer: &mut FullTextWriter, all_forms: &mut Sorter<FormOfTerm>) -> Taken<()> {
        let mut encoder = TermEncoder::default();
        let large = self.large.map(|large| {
            large.encode(&mut encoder, |term| match term.held_bytes() < HELD_BYTES {
                true => Ok(()),
                false => writer.write_begun(term),
            })
        });
        for Encoded { stem, forms, term } in
            large.transpose()?.flatten().into_iter().chain(self.terms)
        {
            writer.push_term(&stem, term)?;
            for (number, form) in (0..).zip(forms.into_iter().take(FORMS_MAX)) {
                all_forms.push(FormOfTerm { form, stem: stem.clone(), number })?;
            }
        }
        Ok(())
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
        let MergedTerm { stem, parts, old, .. } = self;
        let mut old = old.map(|old| old.part(&stem)).transpose()?;
        let mut parts: Vec<PartReader<'_>> = PartReader::open_all(&parts)?;
        // Most parts of a frequent term have the same forms.
        let mut lists: Vec<&[u8]> = parts.iter().map(|part| part.forms).collect();
        lists.sort_unstable();
        lists.dedup();
        let texts: Vec<Vec<&[u8]>> =
            lists.iter().map(|list| take_forms(list)).collect::<io::Result<_>>()?;
        let mut forms: Vec<Vec<u8>> = texts
            .iter()
            .flatten()
            .map(|form| form.to_vec())
            .chain(old.iter().flat_map(|old| old.forms.iter().flatten().cloned()))
            .collect();
        forms.sort_unstable();
        forms.dedup();
        // Forms beyond the greatest number count as the last one.
        let number = |form: &[u8]| {
            let at = forms.partition_point(|known| known.as_slice() < form);
            at.min(FORMS_MAX - 1) as u16
        };
        let numbers: Vec<Vec<u16>> =
            texts.iter().map(|forms| forms.iter().map(|form| number(form)).collect()).collect();
        let old_numbers: Vec<u16> = old
            .iter()
            .flat_map(|old| {
                old.forms.iter().map(|form| form.as_ref().map_or(0, |form| number(form)))
            })
            .collect();
        encoder.begin(&stem, forms.len());
        let mut occurrences = Vec::new();
        for part in &mut parts {
            let numbers = &numbers[lists.partition_point(|list| *list < part.forms)];
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
        let term = encoder.end(&stem, &forms);
        Ok(term.map(|term| Encoded { stem, forms, term }))
    }
}

/// Takes the forms that a batch encoded.
fn take_forms(mut bytes: &[u8]) -> io::Result<Vec<&[u8]>> {
    let mut forms = Vec::new();
    while !bytes.is_empty() {
        forms.push(take_text(&mut bytes)?);
    }
    Ok(forms)
}

/// Reads the part of a term that one batch encoded.
struct PartReader<'b> {
    chunk: u32,
    /// The forms, as the batch encoded them.
    forms: &'b [u8],
    /// The postings that are left.
    bytes: &'b [u8],
}

impl<'b> PartReader<'b> {
    /// Opens the parts of a term, in the order of rows.
    fn open_all(runs: &[Part<'b>]) -> io::Result<Vec<PartReader<'b>>> {
        let mut parts = Vec::new();
        for (chunk, mut bytes) in runs.iter().copied() {
            while !bytes.is_empty() {
                let mut bytes = take_sized(&mut bytes)?;
                let forms = take_text(&mut bytes)?;
                parts.push(PartReader { chunk, forms, bytes });
            }
        }
        Ok(parts)
    }

    /// Reads the next posting and its occurrences. `numbers` are those of the part's forms in this index.
    fn next(
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

/// A form, and its number among the forms of a term.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct FormOfTerm {
    form: Vec<u8>,
    stem: Vec<u8>,
    number: u16,
}

impl Spill for FormOfTerm {
    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let lengths = [self.form.len() as u16, self.stem.len() as u16, self.number];
        lengths.iter().try_for_each(|number| out.write_all(&number.to_le_bytes()))?;
        out.write_all(&self.form)?;
        out.write_all(&self.stem)
    }

    fn read(input: &mut impl Read) -> io::Result<Option<FormOfTerm>> {
        let Some([a, b, c, d, e, f]) = read_array(input)? else { return Ok(None) };
        let mut text = |length: [u8; 2]| {
            let mut text = vec![0; usize::from(u16::from_le_bytes(length))];
            input.read_exact(&mut text).map(|()| text)
        };
        let (form, stem) = (text([a, b])?, text([c, d])?);
        Ok(Some(FormOfTerm { form, stem, number: u16::from_le_bytes([e, f]) }))
    }

    fn heap_bytes(&self) -> usize {
        self.form.len() + self.stem.len()
    }
}

/// Writes the forms, each with all its terms.
fn write_forms(
    writer: &mut FullTextWriter,
    sorted: impl Iterator<Item = io::Result<FormOfTerm>>,
) -> io::Result<()> {
    let mut same: Vec<FormOfTerm> = Vec::new();
    let mut end = |same: &mut Vec<FormOfTerm>| -> io::Result<()> {
        if let Some(first) = same.first() {
            writer.push_form(&first.form, same.iter().map(|of| (of.stem.as_slice(), of.number)))?;
        }
        same.clear();
        Ok(())
    };
    for of in sorted {
        let of = of?;
        if same.first().is_some_and(|first| first.form != of.form) {
            end(&mut same)?;
        }
        same.push(of);
    }
    end(&mut same)
}
