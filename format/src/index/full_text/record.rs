//! The texts of a record, as the index has them.

use std::str;

use crate::index::encoding::ReferenceLookup;
use crate::json::record_reader::RecordReader;
use crate::json::render::RecordBytes;
use crate::record::Output;
use crate::record::gather::{Gather, Gathered};
use crate::schema::texts::{Field, TextPaths};
use crate::storage::error::ReadError;
use crate::storage::long_text::inflate;

/// Calls `visit` with each searched text of a record, field by field in the order of the declaration. A name that
/// repeats the title is left out, as most do.
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
                    if let Some(name) = lookup.row_name(entity, row)? {
                        visit(field, name);
                    }
                    return Ok(());
                }
                Gathered::LongText(offset, length) => {
                    if pool.is_none() {
                        pool = Some(inflate(record.long_texts)?);
                    }
                    let from = offset as usize;
                    let text = pool
                        .as_ref()
                        .and_then(|pool| pool.get(from..from.checked_add(length as usize)?))
                        .and_then(|text| str::from_utf8(text).ok());
                    let outside = "a long text lies outside its pool, or is not UTF-8";
                    visit(field, text.ok_or(ReadError::corrupt("records", outside))?);
                    return Ok(());
                }
                _ => return Err(ReadError::Internal("a searched member is no text")),
            };
            if field != Field::Title || title.replace(text) != Some(text) {
                visit(field, text);
            }
            Ok(())
        };
        if outcome.is_ok() {
            outcome = add();
        }
    })?;
    outcome
}
