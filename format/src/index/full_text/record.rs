//! The texts of a record, as the index has them.

use crate::index::encoding::ReferenceLookup;
use crate::index::full_text::impact::weighted_length;
use crate::index::full_text::layout::{POSITION_MAX, VALUE_GAP};
use crate::json::record_reader::RecordReader;
use crate::json::render::RecordBytes;
use crate::record::Output;
use crate::record::gather::{Gather, Gathered};
use crate::schema::texts::{FIELDS, Field, TextPaths};
use crate::storage::error::ReadError;
use crate::storage::long_text::{inflate, text_in};
use crate::text::analyzer::each_compound;

/// Counts the words of a record's texts, and gives each word its place.
///
/// ```text
/// authors "Ada Li", without a name, "Bo Wu"     ada 0, li 1; then 2 × 16 positions; bo 34, wu 35     three authors
/// ```
#[derive(Clone, Debug, Default)]
pub struct WordPlaces {
    /// For each field, the words so far, and the position of the next word.
    words: [u32; FIELDS],
    next: [u32; FIELDS],
    authors: u32,
}

impl WordPlaces {
    /// Calls `visit` with each word of the next text of a field, and the word's position. The joined form of a compound
    /// comes before the compound's first part.
    pub fn each(&mut self, field: Field, text: &str, mut visit: impl FnMut(&str, u32)) {
        let at = field as usize;
        if self.words[at] > 0 {
            self.next[at] += VALUE_GAP;
        }
        self.authors += u32::from(field == Field::Authors);
        each_compound(text, |compound| {
            if let Some(joined) = compound.joined() {
                visit(joined, self.end(field));
            }
            for part in compound.parts() {
                let position = self.end(field);
                visit(part, position);
                self.next[at] = position + 1;
                self.words[at] += 1;
            }
        });
    }

    /// The position after the last word of a field.
    pub fn end(&self, field: Field) -> u32 {
        self.next[field as usize].min(POSITION_MAX)
    }

    /// Whether a field has words.
    pub fn has(&self, field: Field) -> bool {
        self.words[field as usize] > 0
    }

    /// The weighted length of the record.
    pub fn length(&self) -> u64 {
        let [title, of_abstract] =
            [Field::Title, Field::Abstract].map(|at| self.words[at as usize]);
        weighted_length(title, of_abstract, self.authors)
    }
}

/// Calls `visit` with each searched text of a record, field by field in the order of the declaration. A name that
/// repeats the title is left out, as most do. A reference without a name is an empty text.
///
/// Costs a walk over the record, and the decompression of its long texts if it has an abstract.
///
/// # Errors
///
/// If the bytes are no such record, or refer to rows that do not exist.
pub fn each_text(
    paths: &TextPaths,
    record: RecordBytes<'_>,
    lookup: &impl ReferenceLookup,
    mut visit: impl FnMut(Field, &str),
) -> Result<(), ReadError> {
    let mut from = RecordReader::new(record.packed)?;
    let mut outcome = Ok(());
    let mut title: Option<&str> = None;
    let mut pool: Option<Vec<u8>> = None;
    Output::gather(&mut from, &paths.tree, &mut |end, value| {
        let Some(field) = paths.fields.get(end).copied() else { return };
        let mut add = || -> Result<(), ReadError> {
            let text = match value {
                Gathered::Text(text) => text,
                Gathered::Integer(number) => {
                    visit(field, itoa::Buffer::new().format(number));
                    return Ok(());
                }
                Gathered::Reference(entity, row) | Gathered::NameOf(entity, row) => {
                    visit(field, lookup.row_name(entity, row)?.unwrap_or_default());
                    return Ok(());
                }
                Gathered::LongText(offset, length) => {
                    // The long texts of a record are one compressed frame, which is inflated once.
                    if pool.is_none() {
                        pool = Some(inflate(record.long_texts)?);
                    }
                    visit(field, text_in(pool.as_deref().unwrap_or_default(), offset, length)?);
                    return Ok(());
                }
                _ => return Err(ReadError::Internal("a searched member is no text")),
            };
            if field != Field::Title || title.replace(text) != Some(text) {
                visit(field, text);
            }
            Ok(())
        };
        // The visitor cannot end the walk: after an error, the walk goes on and reads nothing.
        if outcome.is_ok() {
            outcome = add();
        }
    })?;
    outcome
}
