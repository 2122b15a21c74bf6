//! What a value gathered from a record is in the indexes: a term of lists, a number of an order.
//!
//! The compiler writes indexes by this, and a filter is held against one record by it, so that both
//! find the same.

use crate::entity::{Entity, NO_ID};
use crate::index::orders::{sortable_integer, sortable_number};
use crate::index::term_lists::{Term, any_row_term, integer_term, text_term};
use crate::record::gather::{Gathered, PathTarget};
use crate::schema::keys::{Terms, Values};
use crate::storage::error::ReadError;
use crate::text::fold::fold;

/// What the rows and codes in a record stand for.
pub trait ReferenceLookup {
    /// How many records of an entity there are; rows from there on are strays.
    fn count(&self, entity: Entity) -> u32;

    /// Whether a row's record is withheld, so that nothing but its id is known.
    fn is_suppressed(&self, _: Entity, _: u32) -> bool {
        false
    }

    /// The id of a row, stray or not; [`NO_ID`] where it has none.
    ///
    /// # Errors
    ///
    /// Where there is no such row.
    fn row_id(&self, entity: Entity, row: u32) -> Result<u64, ReadError>;

    /// The name of a row, stray or not.
    ///
    /// # Errors
    ///
    /// Where there is no such row.
    fn row_name(&self, entity: Entity, row: u32) -> Result<Option<&str>, ReadError>;

    /// The term of a code, which is that of its text in ASCII lower case.
    ///
    /// # Errors
    ///
    /// Where there is no such code.
    fn code_term(&self, code: u32) -> Result<Term, ReadError>;
}

/// What a value is in posting lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexEntry {
    /// Whether the record has a value there; strays may lack what is asked of them.
    pub is_present: bool,
    /// The term it is found by; a text that folds to nothing is found by none.
    pub term: Option<Term>,
}

/// A value as it is shown: of a name alone, its text; `None` where there is no such name.
///
/// # Errors
///
/// Where a row is none.
pub fn named_value<'a>(
    value: Gathered<'a>,
    referents: &'a impl ReferenceLookup,
) -> Result<Option<Gathered<'a>>, ReadError> {
    match value {
        Gathered::NameOf(entity, row) => Ok(referents.row_name(entity, row)?.map(Gathered::Text)),
        value => Ok(Some(value)),
    }
}

/// What a value is in lists of these terms; `part` is what is asked of a reference, and `folded` the
/// folded form of a text where it is known already.
///
/// # Errors
///
/// Where a row or a code is none, or the value is none of such lists.
pub fn index_entry(
    terms: Terms,
    part: &PathTarget,
    value: Gathered<'_>,
    folded: Option<&str>,
    referents: &impl ReferenceLookup,
) -> Result<IndexEntry, ReadError> {
    let term = match (terms, value) {
        (Terms::Rows(_) | Terms::Presence, Gathered::Reference(entity, row)) => {
            let is_present = shows(part, entity, row, referents)?;
            let term = (terms != Terms::Presence).then(|| Term::from(row));
            return Ok(IndexEntry { is_present, term });
        }
        (Terms::AnyRows, Gathered::Reference(entity, row)) => any_row_term(entity, row),
        (Terms::Values, Gathered::Integer(value)) => integer_term(value),
        (Terms::Values, Gathered::Boolean(value)) => Term::from(value),
        (Terms::Identifiers(scheme), Gathered::Text(text)) => text_term(&scheme.normal(text)),
        (Terms::Codes, Gathered::Code(code)) => referents.code_term(code)?,
        (Terms::Texts, Gathered::Text(text)) => {
            let term = match folded {
                Some(folded) => folded_term(folded),
                None => folded_term(&fold(text)),
            };
            return Ok(IndexEntry { is_present: true, term });
        }
        (Terms::Presence, _) => return Ok(IndexEntry { is_present: true, term: None }),
        _ => return Err(ReadError::Internal("the value does not fit the terms of its key")),
    };
    Ok(IndexEntry { is_present: true, term: Some(term) })
}

/// The term of a folded text; none where it folded to nothing.
pub fn folded_term(folded: &str) -> Option<Term> {
    (!folded.is_empty()).then(|| text_term(folded))
}

/// Whether a reference has what is asked of it: strays may lack an id or a name, and what is withheld
/// has none.
fn shows(
    part: &PathTarget,
    entity: Entity,
    row: u32,
    referents: &impl ReferenceLookup,
) -> Result<bool, ReadError> {
    Ok(match part {
        _ if row < referents.count(entity) && !referents.is_suppressed(entity, row) => true,
        PathTarget::Name => referents.row_name(entity, row)?.is_some(),
        _ => referents.row_id(entity, row)? != NO_ID,
    })
}

/// A value as a number that ascends with it; `None` of texts, codes and what is no value of these.
pub fn order_value(values: Values, value: Gathered<'_>) -> Option<u64> {
    match (values, value) {
        (Values::Integers, Gathered::Integer(value)) => Some(sortable_integer(value)),
        (Values::Numbers, Gathered::Number(value)) => Some(sortable_number(value)),
        (Values::Days, Gathered::Day(value)) => Some(sortable_integer(i64::from(value))),
        (Values::Moments, Gathered::Moment(value)) => Some(sortable_integer(value)),
        _ => None,
    }
}
