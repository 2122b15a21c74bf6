//! The postings of a term that change where suppressed names are left out.
//!
//! ```text
//! smith    row 7, authors "Ada Smith" (suppressed) and "Bo Smith"    the second occurrence stays, with impact 9
//!          row 9, authors "Ada Smith" (suppressed)                   removed
//! ```

use crate::schema::texts::Field;

/// A place of a term in a record: the field, the position and the number of the form.
pub type Place = (Field, u32, u16);

/// The rest of a posting without the occurrences in suppressed names.
#[derive(Clone)]
pub struct AmendedPosting {
    /// The impact of the occurrences that stay.
    pub impact: u32,
    /// The occurrences that stay, ascending by field and position.
    pub places: Box<[Place]>,
}

impl AmendedPosting {
    /// The fields that have the term, a bit each.
    pub fn fields(&self) -> u8 {
        self.places.iter().fold(0, |fields, (field, ..)| fields | field.bit())
    }
}

/// The changed postings of a term, as far as they are computed.
#[derive(Clone, Default)]
pub struct Amended {
    /// Ascending by row; `None` of a removed posting.
    rows: Vec<(u32, Option<Box<AmendedPosting>>)>,
    removed: u32,
    /// The rows before this one are computed; `u32::MAX` if all are.
    next: u32,
}

impl Amended {
    /// Whether the changed postings of all rows are computed.
    pub fn is_complete(&self) -> bool {
        self.next == u32::MAX
    }

    /// The first row that is not computed.
    pub fn next(&self) -> u32 {
        self.next
    }

    /// Notes that the rows before a row are computed; `u32::MAX` stands for the end of all rows.
    pub fn advance(&mut self, next: u32) {
        self.next = next;
    }

    /// Adds a row. Rows ascend.
    pub fn push(&mut self, row: u32, posting: Option<AmendedPosting>) {
        self.removed += u32::from(posting.is_none());
        self.rows.push((row, posting.map(Box::new)));
    }

    /// Finds a changed posting: its rest, or `Some(None)` of a removed posting. `None` stands for an unchanged posting.
    #[inline]
    pub fn of(&self, row: u32) -> Option<Option<&AmendedPosting>> {
        let at = self.rows.binary_search_by_key(&row, |(row, _)| *row).ok()?;
        Some(self.rows[at].1.as_deref())
    }

    /// The number of removed postings.
    pub fn removed(&self) -> u32 {
        self.removed
    }

    /// Whether no posting changes.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The bytes in memory.
    pub fn bytes(&self) -> usize {
        let of_posting =
            |posting: &AmendedPosting| size_of::<AmendedPosting>() + size_of_val(&*posting.places);
        let postings = self.rows.iter().filter_map(|(_, posting)| posting.as_deref());
        size_of_val(&*self.rows) + postings.map(of_posting).sum::<usize>()
    }
}
