//! The forms of terms: their numbers in this index, and the table from a form to its terms.

use std::cmp::Ordering;
use std::io;
use std::io::{Read, Write};

use pinakes_format::index::full_text::{FORMS_MAX, FormsWriter};

use crate::external_sort::{Spill, read_array};
use crate::link::index::full_text::merge::parts::PartReader;
use crate::link::index::full_text::take_text;

/// The forms of a term, and the numbers of the forms of each part.
pub(super) struct TermForms<'b> {
    /// The forms as batches encoded them, ascending. Most parts of a frequent term have the same forms.
    lists: Vec<&'b [u8]>,
    /// For each list, the numbers of its forms in this index.
    numbers: Vec<Vec<u16>>,
    pub forms: Vec<Vec<u8>>,
}

impl<'b> TermForms<'b> {
    /// Numbers the forms of all parts and of the previous snapshot. Returns the numbers of the latter, too.
    pub fn new(
        parts: &[PartReader<'b>],
        old: &[Option<Vec<u8>>],
    ) -> io::Result<(TermForms<'b>, Vec<u16>)> {
        let mut lists: Vec<&[u8]> = parts.iter().map(|part| part.forms).collect();
        lists.sort_unstable();
        lists.dedup();
        let texts: Vec<Vec<&[u8]>> =
            lists.iter().map(|list| take_forms(list)).collect::<io::Result<_>>()?;
        let of_parts = texts.iter().flatten().map(|form| form.to_vec());
        let mut forms: Vec<Vec<u8>> = of_parts.chain(old.iter().flatten().cloned()).collect();
        forms.sort_unstable();
        forms.dedup();
        // Forms beyond the greatest number count as the last one.
        let number = |form: &[u8]| {
            let at = forms.partition_point(|known| known.as_slice() < form);
            at.min(FORMS_MAX - 1) as u16
        };
        let numbers =
            texts.iter().map(|forms| forms.iter().map(|form| number(form)).collect()).collect();
        let old = old.iter().map(|form| form.as_ref().map_or(0, |form| number(form))).collect();
        Ok((TermForms { lists, numbers, forms }, old))
    }

    pub fn numbers(&self, part: &PartReader<'_>) -> &[u16] {
        &self.numbers[self.lists.partition_point(|list| *list < part.forms)]
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

/// A form, a term, and the number of the form among those of the term. One buffer has both texts, because there are many.
pub(super) struct FormOfTerm {
    texts: Box<[u8]>,
    form_bytes: u16,
    number: u16,
}

impl FormOfTerm {
    fn form(&self) -> &[u8] {
        &self.texts[..self.form_bytes.into()]
    }

    fn stem(&self) -> &[u8] {
        &self.texts[self.form_bytes.into()..]
    }

    fn key(&self) -> (&[u8], &[u8], u16) {
        (self.form(), self.stem(), self.number)
    }
}

impl Ord for FormOfTerm {
    fn cmp(&self, other: &FormOfTerm) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl PartialOrd for FormOfTerm {
    fn partial_cmp(&self, other: &FormOfTerm) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for FormOfTerm {
    fn eq(&self, other: &FormOfTerm) -> bool {
        self.key() == other.key()
    }
}

impl Eq for FormOfTerm {}

/// The forms of a term that are kept apart.
pub(super) fn of_term(stem: &[u8], forms: &[Vec<u8>]) -> Vec<FormOfTerm> {
    let numbered = (0..).zip(forms.iter().take(FORMS_MAX));
    let of_term = |(number, form): (u16, &Vec<u8>)| FormOfTerm {
        texts: [form, stem].concat().into(),
        // A folded word is shorter.
        form_bytes: form.len() as u16,
        number,
    };
    numbered.map(of_term).collect()
}

impl Spill for FormOfTerm {
    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let lengths = [self.form_bytes, self.texts.len() as u16, self.number];
        lengths.iter().try_for_each(|number| out.write_all(&number.to_le_bytes()))?;
        out.write_all(&self.texts)
    }

    fn read(input: &mut impl Read) -> io::Result<Option<FormOfTerm>> {
        let Some([a, b, c, d, e, f]) = read_array(input)? else { return Ok(None) };
        let [form_bytes, bytes, number] = [[a, b], [c, d], [e, f]].map(u16::from_le_bytes);
        let mut texts = vec![0; bytes.into()];
        input.read_exact(&mut texts)?;
        Ok(Some(FormOfTerm { texts: texts.into(), form_bytes, number }))
    }

    fn heap_bytes(&self) -> usize {
        self.texts.len()
    }
}

/// Writes the forms, each with all its terms.
pub(super) fn write_forms(
    writer: &mut FormsWriter,
    sorted: impl Iterator<Item = io::Result<FormOfTerm>>,
) -> io::Result<()> {
    let mut same: Vec<FormOfTerm> = Vec::new();
    let mut end = |same: &mut Vec<FormOfTerm>| -> io::Result<()> {
        if let Some(first) = same.first() {
            writer.push(first.form(), same.iter().map(|of| (of.stem(), of.number)))?;
        }
        same.clear();
        Ok(())
    };
    for of in sorted {
        let of = of?;
        if same.first().is_some_and(|first| first.form() != of.form()) {
            end(&mut same)?;
        }
        same.push(of);
    }
    end(&mut same)
}
