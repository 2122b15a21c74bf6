//! Finds the rows that refer to a record with a given name, by reading every name of an entity.
//!
//! Taxonomy entities have a few hundred to a few thousand names, so they keep no index of names.

use crate::entity::Entity;
use crate::index::term_lists::{Term, TermListsFile, text_term};
use crate::query::parse::operand::Operand;
use crate::query::rows::clause::Clause;
use crate::query::rows::deadline::{Deadline, QueryError};
use crate::query::rows::union::Union;
use crate::snapshot::Snapshot;
use crate::text::fold::fold;

/// Names read between two checks of the deadline.
const NAMES_PER_CHECK: u32 = 256;

/// Adds the rows for which one of the operands is true. The posting lists number `lists` of `file`
/// have a term for each row of `target`.
///
/// Cost: each name of `target` is folded once, whatever the number of operands.
pub(in crate::query) fn add_rows<'s>(
    snapshot: &'s Snapshot,
    file: &'s TermListsFile,
    lists: usize,
    target: Entity,
    operands: &[Operand],
    deadline: Deadline,
    union: &mut Union<'s>,
) -> Result<(), QueryError> {
    let has_null = operands.contains(&Operand::Null);
    let mut with_name = Union::new(union.rows());
    for row in 0..snapshot.rows(target) {
        if row.is_multiple_of(NAMES_PER_CHECK) {
            deadline.check()?;
        }
        let Some(name) = snapshot.row_name(target, row)? else { continue };
        let folded = fold(name);
        let is_match = !folded.is_empty() && operands.contains(&Operand::Term(text_term(&folded)));
        if !has_null && !is_match {
            continue;
        }
        let Some(list) = file.find(lists, Term::from(row))? else { continue };
        if has_null {
            with_name.add_list(list)?;
        }
        if is_match {
            union.add_list(list)?;
        }
    }
    deadline.check()?;
    // Records without a name are all but those that refer to a row with one.
    if has_null {
        let without_name = Clause { is_negated: true, ..Clause::internal(with_name.into_leaves()) };
        union.add_bitmap(without_name.to_bitset(union.rows(), deadline)?);
    }
    Ok(())
}
