//! The index encoding: the term and the order value of a value in a record.
//!
//! The compiler writes the indexes by this encoding. A filter that tests a single record uses the
//! same encoding, so it agrees with the indexes.
//!
//! ```text
//! year 2020           → term 0x8000_0000_0000_07e4, order value 0x8000_0000_0000_07e4
//! doi 10.1/A          → term = first 12 bytes of BLAKE3("10.1/a")
//! reference to row 7  → term 7, present if row 7 has an id
//! ```

use crate::entity::{Entity, NO_ID};
use crate::index::orders::{sortable_integer, sortable_number};
use crate::index::term_lists::{Term, any_row_term, integer_term, text_term};
use crate::record::{Gathered, PathTarget};
use crate::schema::{Terms, Values};
use crate::storage::ReadError;
use crate::text::fold::{cut, fold, words};

/// Bytes of a folded text whose words have their prefixes indexed; longer texts are cut at a character.
pub const PREFIXED_BYTES_MAX: usize = 512;

/// Looks up the rows and codes that a record refers to.
pub trait ReferenceLookup {
    /// The number of records of an entity. Rows from there on are unresolved references.
    fn count(&self, entity: Entity) -> u32;

    /// Tells whether a row's record is suppressed. A suppressed record keeps only its id.
    fn is_suppressed(&self, _: Entity, _: u32) -> bool {
        false
    }

    /// The id of a row, or [`NO_ID`] for an unresolved reference without an id.
    ///
    /// # Errors
    ///
    /// Fails if the row does not exist.
    fn row_id(&self, entity: Entity, row: u32) -> Result<u64, ReadError>;

    /// The name of a row.
    ///
    /// # Errors
    ///
    /// Fails if the row does not exist.
    fn row_name(&self, entity: Entity, row: u32) -> Result<Option<&str>, ReadError>;

    /// The text of a code.
    ///
    /// # Errors
    ///
    /// Fails if the code does not exist.
    fn code_text(&self, code: u32) -> Result<&str, ReadError>;

    /// The term of a code: the text term of the code in ASCII lower case.
    ///
    /// # Errors
    ///
    /// Fails if the code does not exist.
    fn code_term(&self, code: u32) -> Result<Term, ReadError>;
}

/// How a value enters the posting lists of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexEntry {
    /// The record has a value at the path. An unresolved reference may lack the requested id or name.
    pub is_present: bool,
    /// The term whose list holds the record. A text that folds to nothing has no term.
    pub term: Option<Term>,
}

/// Replaces a reference's name by its text. Returns `None` if the reference has no name.
///
/// # Errors
///
/// Fails if the referenced row does not exist.
pub fn named_value<'a>(
    value: Gathered<'a>,
    lookup: &'a impl ReferenceLookup,
) -> Result<Option<Gathered<'a>>, ReadError> {
    match value {
        Gathered::NameOf(entity, row) => Ok(lookup.row_name(entity, row)?.map(Gathered::Text)),
        value => Ok(Some(value)),
    }
}

/// Encodes a value for posting lists with these terms.
///
/// `part` selects what is indexed of a reference.
///
/// # Errors
///
/// Fails if a row or code does not exist, or if the value has another type than the terms.
pub fn index_entry(
    terms: Terms,
    part: &PathTarget,
    value: Gathered<'_>,
    lookup: &impl ReferenceLookup,
) -> Result<IndexEntry, ReadError> {
    let term = match (terms, value) {
        (Terms::Rows(_) | Terms::Presence, Gathered::Reference(entity, row)) => {
            let is_present = has_part(part, entity, row, lookup)?;
            let term = (terms != Terms::Presence).then(|| Term::from(row));
            return Ok(IndexEntry { is_present, term });
        }
        (Terms::AnyRows, Gathered::Reference(entity, row)) => any_row_term(entity, row),
        (Terms::Values, Gathered::Integer(value)) => integer_term(value),
        (Terms::Values, Gathered::Boolean(value)) => Term::from(value),
        (Terms::Identifiers(scheme), Gathered::Text(text)) => text_term(&scheme.normal(text)),
        (Terms::Codes, Gathered::Code(code)) => lookup.code_term(code)?,
        (Terms::Texts, Gathered::Text(text)) => {
            return Ok(IndexEntry { is_present: true, term: folded_term(&fold(text)) });
        }
        (Terms::Presence, _) => return Ok(IndexEntry { is_present: true, term: None }),
        _ => return Err(ReadError::Internal("the value does not fit the terms of its key")),
    };
    Ok(IndexEntry { is_present: true, term: Some(term) })
}

/// Calls `add` with the term of each prefix of each word of a folded text, perhaps several times:
///
/// ```text
/// "ann li"   →   a, an, ann, l, li
/// ```
///
/// Cost: one hash a character; in scripts without spaces, one for each part of the text.
pub fn each_prefix_term(folded: &str, mut add: impl FnMut(Term)) {
    for word in words(cut(folded, PREFIXED_BYTES_MAX)) {
        for (at, character) in word.char_indices() {
            add(text_term(&word[..at + character.len_utf8()]));
        }
    }
}

/// The term of a folded text, or `None` for an empty one.
pub fn folded_term(folded: &str) -> Option<Term> {
    (!folded.is_empty()).then(|| text_term(folded))
}

/// Tells whether a reference has the selected part.
///
/// Records have an id and a name. An unresolved reference may lack either; a suppressed one has no
/// name.
fn has_part(
    part: &PathTarget,
    entity: Entity,
    row: u32,
    lookup: &impl ReferenceLookup,
) -> Result<bool, ReadError> {
    Ok(match part {
        _ if row < lookup.count(entity) && !lookup.is_suppressed(entity, row) => true,
        PathTarget::Name => lookup.row_name(entity, row)?.is_some(),
        _ => lookup.row_id(entity, row)? != NO_ID,
    })
}

/// Encodes a value as a number that sorts as the value does.
///
/// Returns `None` for texts and codes, and for a value of another type.
pub fn order_value(values: Values, value: Gathered<'_>) -> Option<u64> {
    match (values, value) {
        (Values::Integers, Gathered::Integer(value)) => Some(sortable_integer(value)),
        (Values::Numbers, Gathered::Number(value)) => Some(sortable_number(value)),
        (Values::Days, Gathered::Day(value)) => Some(sortable_integer(i64::from(value))),
        (Values::Moments, Gathered::Moment(value)) => Some(sortable_integer(value)),
        _ => None,
    }
}
