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
    FORMS_MAX, FullText, FullTextWriter, NO_ROW, Occurrence, Postings, Term, TermCursor,
};
use pinakes_format::schema::texts::Field;
use pinakes_format::storage::error::ReadError;
use pinakes_format::storage::file_writer::Written;
use pinakes_format::storage::header::Header;

use crate::external_sort::{Sorter, Spill, read_array};
use crate::link::index::full_text::{TextRuns, take_number, take_text};
use crate::link::index::runs::{OldRun, merge};
use crate::link::index::term_lists::Sorting;
use crate::link::index::unchanged::{Taken, Unchanged};
use crate::link::take_over::{Reason, TakeOver};

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
            occurrences: Vec::new(),
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
        let TermMerge { mut writer, forms, .. } = state;
        write_forms(&mut writer, forms.finish()?)?;
        Ok(writer.finish()?)
    }
}

/// A term while its parts are collected and written.
struct TermMerge<'b> {
    writer: FullTextWriter,
    forms: Sorter<FormOfTerm>,
    /// The chunk and the bytes of each part.
    parts: Vec<(u32, &'b [u8])>,
    occurrences: Vec<Occurrence>,
}

/// The rows of a term in the previous snapshot.
struct OldPart<'u> {
    unchanged: &'u Unchanged<'u>,
    postings: Postings<'u>,
    /// For each form of the term there, its text, if an unchanged row has it.
    forms: Vec<Option<Vec<u8>>>,
}

impl<'b> TermMerge<'b> {
    /// Takes the parts of a term in one run. Returns the bytes behind the entry.
    fn take(&mut self, chunk: u32, bytes: &'b [u8]) -> io::Result<&'b [u8]> {
        let cut = || io::Error::other("a run ends within an entry");
        let (length, rest) = bytes.split_first_chunk::<4>().ok_or_else(cut)?;
        let (parts, rest) =
            rest.split_at_checked(u32::from_le_bytes(*length) as usize).ok_or_else(cut)?;
        self.parts.push((chunk, parts));
        Ok(rest)
    }

    /// Writes the term with all its rows.
    fn end(&mut self, stem: &[u8], old: Option<OldPart<'_>>) -> io::Result<()> {
        self.write(stem, old).map_err(|error| match error {
            TakeOver::Failed(error) => error,
            TakeOver::Impossible(reason) => io::Error::other(reason.to_string()),
        })
    }

    fn write(&mut self, stem: &[u8], mut old: Option<OldPart<'_>>) -> Taken<()> {
        let TermMerge { writer, parts, occurrences, forms: all_forms } = self;
        let mut parts: Vec<PartReader<'_>> = PartReader::open_all(parts)?;
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
        writer.begin_term(stem, forms.len());
        let mut count = 0;
        for part in &mut parts {
            let numbers = &numbers[lists.partition_point(|list| *list < part.forms)];
            while let Some((row, impact)) = part.next(numbers, occurrences)? {
                if let Some(old) = &mut old {
                    count += old.write_before(row, &old_numbers, writer)?;
                }
                writer.push(row, impact, occurrences)?;
                count += 1;
            }
        }
        if let Some(old) = &mut old {
            count += old.write_before(NO_ROW, &old_numbers, writer)?;
        }
        if count > 0 {
            writer.end_term(stem, &forms)?;
            for (number, form) in (0..).zip(forms.into_iter().take(FORMS_MAX)) {
                all_forms.push(FormOfTerm { form, stem: stem.to_vec(), number })?;
            }
        }
        self.parts.clear();
        Ok(())
    }
}

/// Takes the forms that a batch encoded.
fn take_forms(mut bytes: &[u8]) -> io::Result<Vec<&[u8]>> {
    (0..take_number(&mut bytes)?).map(|_| take_text(&mut bytes)).collect()
}

/// Reads the part of a term that one batch encoded.
struct PartReader<'b> {
    chunk: u32,
    /// The forms, as the batch encoded them.
    forms: &'b [u8],
    /// The postings that are left, and their bytes.
    left: u64,
    bytes: &'b [u8],
}

impl<'b> PartReader<'b> {
    /// Opens the parts of a term, in the order of rows.
    fn open_all(runs: &[(u32, &'b [u8])]) -> io::Result<Vec<PartReader<'b>>> {
        let mut parts = Vec::new();
        for (chunk, bytes) in runs {
            let mut bytes = *bytes;
            while !bytes.is_empty() {
                let forms = bytes;
                for _ in 0..take_number(&mut bytes)? {
                    take_text(&mut bytes)?;
                }
                let forms = &forms[..forms.len() - bytes.len()];
                let left = take_number(&mut bytes)?;
                let length = take_number(&mut bytes)? as usize;
                let cut = || io::Error::other("a part of a term is cut");
                let (postings, rest) = bytes.split_at_checked(length).ok_or_else(cut)?;
                bytes = rest;
                parts.push(PartReader { chunk: *chunk, forms, left, bytes: postings });
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
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        let cut = || io::Error::other("a posting of a run is cut");
        let ([a, b, impact], rest) = self.bytes.split_first_chunk().ok_or_else(cut)?;
        let row = self.chunk << 16 | u32::from(u16::from_le_bytes([*a, *b]));
        self.bytes = rest;
        let count = take_number(&mut self.bytes)?;
        occurrences.clear();
        for _ in 0..count {
            let (field, rest) = self.bytes.split_first().ok_or_else(cut)?;
            self.bytes = rest;
            let position = take_number(&mut self.bytes)? as u32;
            let form = take_number(&mut self.bytes)? as usize;
            let form = numbers.get(form).copied().ok_or_else(cut)?;
            occurrences.push(Occurrence { field: *field, position, form });
        }
        // Numbers of forms ascend with the texts, so that the occurrences still ascend.
        Ok(Some((row, *impact)))
    }
}

/// The terms of the previous snapshot, as one more run of the merge.
struct OldTerms<'u> {
    unchanged: &'u Unchanged<'u>,
    terms: TermCursor<'u>,
    stem: Vec<u8>,
    term: Option<Term<'u>>,
}

impl<'u> OldTerms<'u> {
    fn open(unchanged: &'u Unchanged<'u>, index: &'u FullText) -> Taken<OldTerms<'u>> {
        let mut terms =
            OldTerms { unchanged, terms: index.term_cursor(), stem: Vec::new(), term: None };
        terms.advance()?;
        Ok(terms)
    }

    fn advance(&mut self) -> Taken<()> {
        let OldTerms { unchanged, terms, stem, term } = self;
        stem.clear();
        *term = terms.next_term().map_err(unchanged.failure())?.map(|(text, term)| {
            stem.extend_from_slice(text);
            term
        });
        Ok(())
    }

    /// The unchanged rows of the current term, and the forms that they have.
    fn part(&self) -> Taken<Option<OldPart<'u>>> {
        let Some(term) = self.term else { return Ok(None) };
        let unchanged = self.unchanged;
        // Which forms the rows have that count as the last form is not known.
        if term.form_count() == FORMS_MAX {
            return Err(TakeOver::Impossible(Reason::Forms));
        }
        let texts = term.forms(&self.stem).map_err(unchanged.failure())?;
        let forms = used_forms(unchanged, term, texts).map_err(unchanged.failure())?;
        let postings = term.postings().map_err(unchanged.failure())?;
        Ok(Some(OldPart { unchanged, postings, forms }))
    }
}

/// The forms that an unchanged row has. Reads postings until all forms are found.
fn used_forms(
    unchanged: &Unchanged<'_>,
    term: Term<'_>,
    texts: Vec<Vec<u8>>,
) -> Result<Vec<Option<Vec<u8>>>, ReadError> {
    let mut is_used = vec![false; texts.len()];
    let mut missing = texts.len();
    let mut postings = term.postings()?;
    while missing > 0 && postings.row() != NO_ROW {
        if unchanged.row(postings.row()).is_some() {
            for field in Field::ALL {
                postings.each_occurrence(field, |_, form| {
                    if let Some(used) = is_used.get_mut(usize::from(form)) {
                        missing -= usize::from(!std::mem::replace(used, true));
                    }
                })?;
            }
        }
        postings.advance()?;
    }
    Ok(texts.into_iter().zip(is_used).map(|(text, is_used)| is_used.then_some(text)).collect())
}

impl OldPart<'_> {
    /// Writes the unchanged rows that now stand before a row. Returns their number.
    fn write_before(
        &mut self,
        row: u32,
        numbers: &[u16],
        writer: &mut FullTextWriter,
    ) -> Taken<u64> {
        let OldPart { unchanged, postings, .. } = self;
        let (mut written, mut occurrences) = (0, Vec::new());
        while postings.row() != NO_ROW {
            if let Some(new) = unchanged.row(postings.row()) {
                if new > row {
                    break;
                }
                let impact = postings.impact() as u8;
                occurrences.clear();
                for field in Field::ALL {
                    let visit = |position, form| {
                        let form = numbers.get(usize::from(form)).copied().unwrap_or(0);
                        occurrences.push(Occurrence { field: field as u8, position, form });
                    };
                    postings.each_occurrence(field, visit).map_err(unchanged.failure())?;
                }
                writer.push(new, impact, &occurrences)?;
                written += 1;
            }
            postings.advance().map_err(unchanged.failure())?;
        }
        Ok(written)
    }
}

impl<'b> OldRun<&'b [u8], TermMerge<'b>> for OldTerms<'_> {
    type Error = TakeOver<io::Error>;

    fn is_before(&self, stem: Option<&&'b [u8]>) -> bool {
        self.term.is_some() && stem.is_none_or(|stem| self.stem.as_slice() < *stem)
    }

    fn is_at(&self, stem: &&'b [u8]) -> bool {
        self.term.is_some() && self.stem.as_slice() == *stem
    }

    /// Writes the whole term, so that the merge finds no part of it at its end.
    fn take(&mut self, state: &mut TermMerge<'b>) -> Taken<()> {
        let part = self.part()?;
        state.write(&self.stem, part)?;
        self.advance()
    }

    fn take_alone(&mut self, state: &mut TermMerge<'b>) -> Taken<()> {
        self.take(state)
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
