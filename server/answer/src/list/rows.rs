//! The rows of a page, rendered whole or in pieces.
//!
//! A page of 100 records may have 137 MB. A page of more than a MiB is therefore sent in pieces, each rendered
//! when the client has taken the one before:
//!
//! ```text
//! {"meta":…,"results":[record,record,        first piece: more than 1 MiB, so the page is streamed
//! ,record,record                             further pieces of 256 KiB, or of one larger record
//! ,record]}                                  last piece
//! ```

use std::mem;

use pinakes_format::entity::Entity;
use pinakes_format::json::render::{JsonWriter, Shape};
use pinakes_format::query::{RELEVANCE_SCORE, RankedRow};
use pinakes_format::record::Members;
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::ReadError;

use crate::record::single::Variant;
use crate::reply::pieces::{PIECE_BYTES, PieceBudget, PieceError, PieceSource};

/// A longer page is sent in pieces.
pub const WHOLE_BYTES_MAX: usize = 1 << 20;
/// Bytes of JSON for each byte of a stored record, about: keys, names of references, and long texts.
pub const JSON_BYTES_PER_STORED: usize = 4;
/// Text that an attempt makes and throws away, to note what later pieces of the page lack.
const NOTED_BYTES_MAX: usize = 4 << 20;

/// Adds the score of a record to its JSON, which begins at a byte of a text: after `id`, or before all other members if
/// the record shows no `id`.
///
/// ```text
/// {"id":"HX_W1","name":…    {"id":"HX_W1","relevance_score":12.5,"name":…
/// {}                        {"relevance_score":12.5}
/// ```
pub fn add_score(text: &mut Vec<u8>, begin: usize, ranked: RankedRow) {
    let id = text[begin..].strip_prefix(b"{\"id\":\"");
    // Ids have no quotes.
    let quote =
        id.and_then(|id| Some(text.len() - id.len() + id.iter().position(|byte| *byte == b'"')?));
    let member = format!("\"{RELEVANCE_SCORE}\":{}", ranked.relevance_score());
    let (at, member) = match quote {
        Some(quote) => (quote + 1, format!(",{member}")),
        None if text[begin..] == *b"{}" => (begin + 1, member),
        None => (begin + 1, format!("{member},")),
    };
    text.splice(at..at, member.into_bytes());
}

/// How the records of a page are written.
enum RecordForm {
    /// All members of a variant.
    Whole(&'static Variant),
    /// These members.
    Selected(Members),
    /// As another dialect has them.
    Written(Box<WriteRecord>),
}

/// Appends the record in a row.
type WriteRecord = dyn Fn(&Snapshot, u32, &mut Vec<u8>) -> Result<(), ReadError> + Send;

/// The rows of a page that are still to be rendered.
pub struct PageRows {
    form: RecordForm,
    entity: Entity,
    rows: Vec<u32>,
    /// The score of each row, if the records show scores.
    scores: Option<Vec<RankedRow>>,
    /// Index of the next row.
    next: usize,
    /// The text after the last row; `None` once it is rendered.
    closing: Option<&'static [u8]>,
}

impl PageRows {
    /// The rows of a page, and the text after them.
    pub fn new(
        variant: &'static Variant,
        entity: Entity,
        rows: Vec<u32>,
        closing: &'static [u8],
    ) -> PageRows {
        PageRows::in_form(RecordForm::Whole(variant), entity, rows, closing)
    }

    /// The rows of a page whose records `write` appends, and the text after them.
    pub fn written(
        entity: Entity,
        rows: Vec<u32>,
        write: Box<WriteRecord>,
        closing: &'static [u8],
    ) -> PageRows {
        PageRows::in_form(RecordForm::Written(write), entity, rows, closing)
    }

    fn in_form(
        form: RecordForm,
        entity: Entity,
        rows: Vec<u32>,
        closing: &'static [u8],
    ) -> PageRows {
        PageRows { form, entity, rows, scores: None, next: 0, closing: Some(closing) }
    }

    /// Shows these members alone, if there are any.
    pub fn selecting(self, members: Option<Members>) -> PageRows {
        PageRows { form: members.map_or(self.form, RecordForm::Selected), ..self }
    }

    /// Shows the score of each row, if there are any.
    pub fn with_scores(self, scores: Option<Vec<RankedRow>>) -> PageRows {
        PageRows { scores, ..self }
    }

    /// Whether the page is rendered to its end.
    pub fn is_done(&self) -> bool {
        self.closing.is_none()
    }

    /// Bytes of the rows and scores.
    fn held_bytes(&self) -> usize {
        let scores = self.scores.as_ref().map_or(0, |scores| size_of_val(scores.as_slice()));
        size_of_val(self.rows.as_slice()) + scores
    }

    /// Bytes of the stored records. Reads no record.
    pub fn stored_bytes(&self, snapshot: &Snapshot) -> Result<usize, ReadError> {
        self.rows.iter().map(|row| snapshot.record_bytes(self.entity, *row)).sum()
    }

    /// About the bytes of the next record's JSON.
    fn next_record_bytes(&self, snapshot: &Snapshot) -> usize {
        let row = self.rows.get(self.next);
        // Damage is found again, and reported, when the record is rendered.
        let stored = row.map(|row| snapshot.record_bytes(self.entity, *row).unwrap_or_default());
        stored.unwrap_or_default() * JSON_BYTES_PER_STORED
    }

    /// Appends records, separated by commas, until the budget is used up or the page ends: at least one record.
    pub fn render(
        &mut self,
        snapshot: &Snapshot,
        out: &mut Vec<u8>,
        budget: &PieceBudget,
    ) -> Result<(), ReadError> {
        let rows = &self.rows[self.next..];
        snapshot.fetch_page(self.entity, rows, Shape::List, |snapshot, entity, row, writer| {
            match &self.form {
                RecordForm::Whole(variant) => (variant.render)(snapshot, entity, row, writer),
                RecordForm::Selected(members) => members.render(row, writer),
                // Names that others show are read with the record.
                RecordForm::Written(_) => snapshot.render(entity, row, writer),
            }
        })?;
        let mut writer = JsonWriter::new(snapshot, Shape::List);
        writer.out = mem::take(out);
        let rendered = self.render_to(snapshot, &mut writer, budget);
        *out = writer.out;
        rendered
    }

    fn render_record<'s>(
        &self,
        snapshot: &'s Snapshot,
        row: u32,
        writer: &mut JsonWriter<'s>,
    ) -> Result<(), ReadError> {
        match &self.form {
            RecordForm::Whole(variant) => (variant.render)(snapshot, self.entity, row, writer),
            RecordForm::Selected(members) => members.render(row, writer),
            RecordForm::Written(write) => write(snapshot, row, &mut writer.out),
        }
    }

    fn render_to<'s>(
        &mut self,
        snapshot: &'s Snapshot,
        writer: &mut JsonWriter<'s>,
        budget: &PieceBudget,
    ) -> Result<(), ReadError> {
        let first = self.next;
        let mut thrown_away = 0;
        while let Some(row) = self.rows.get(self.next) {
            if self.next > first && budget.is_used(writer.out.len()) {
                // On a mirror, an attempt that lacks something notes what later pieces lack, too.
                if !snapshot.is_lacking() || thrown_away > NOTED_BYTES_MAX {
                    return Ok(());
                }
                thrown_away += writer.out.len();
                writer.out.clear();
            }
            let before = writer.out.len();
            if self.next > 0 {
                writer.out.push(b',');
            }
            let begin = writer.out.len();
            let row = *row;
            let rendered = self.render_record(snapshot, row, writer);
            if rendered.is_err() {
                writer.out.truncate(before);
                snapshot.or_noted(rendered)?;
                self.next += 1;
                continue;
            }
            if let Some(ranked) = self.scores.as_ref().and_then(|scores| scores.get(self.next)) {
                add_score(&mut writer.out, begin, *ranked);
            }
            self.next += 1;
        }
        writer.out.extend_from_slice(self.closing.take().unwrap_or_default());
        Ok(())
    }
}

/// A page that is sent in pieces.
pub struct PageStream {
    rows: PageRows,
    /// The text of the first piece, until it is taken.
    first: Vec<u8>,
}

impl PageStream {
    /// Continues a page after its first piece.
    pub fn new(rows: PageRows, first: Vec<u8>) -> PageStream {
        PageStream { rows, first }
    }
}

impl PieceSource for PageStream {
    fn held_bytes(&self) -> usize {
        self.rows.held_bytes()
    }

    fn text_bytes_min(&self) -> usize {
        self.first.len()
    }

    fn next_bytes(&self, snapshot: &Snapshot) -> usize {
        self.rows.next_record_bytes(snapshot).max(PIECE_BYTES)
    }

    fn next_piece(
        &mut self,
        snapshot: &Snapshot,
        budget: &PieceBudget,
        out: &mut Vec<u8>,
    ) -> Result<(), PieceError> {
        if !self.first.is_empty() {
            out.append(&mut self.first);
            return Ok(());
        }
        out.reserve(2 * PIECE_BYTES);
        Ok(self.rows.render(snapshot, out, budget)?)
    }

    fn is_done(&self) -> bool {
        self.rows.is_done()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_score_stands_after_the_id_or_first() {
        let ranked = RankedRow { row: 0, score: 0 };
        let check = |record: &str, expected: &str| {
            let mut text = format!("[{record}").into_bytes();
            add_score(&mut text, 1, ranked);
            assert_eq!(String::from_utf8_lossy(&text), format!("[{expected}"));
        };
        check(r#"{"id":"HX_W1"}"#, r#"{"id":"HX_W1","relevance_score":0}"#);
        check(r#"{"id":"HX_W1","n":"a"}"#, r#"{"id":"HX_W1","relevance_score":0,"n":"a"}"#);
        check(r#"{"n":"a"}"#, r#"{"relevance_score":0,"n":"a"}"#);
        check("{}", r#"{"relevance_score":0}"#);
    }
}
