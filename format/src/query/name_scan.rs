//! The rows that refer to records with a name, found by looking at every name there is.

use crate::entity::Entity;
use crate::index::term_lists::{Term, TermListsFile, text_term};
use crate::query::clause::Side;
use crate::query::union::Union;
use crate::query::{AnswerError, Deadline, Operand};
use crate::snapshot::Snapshot;
use crate::text::fold::fold;

/// Names looked at between two looks at the clock.
const NAMES_PER_LOOK: u32 = 256;

/// Adds the rows that one of the operands is true of: by the lists `rows` of `file`, which are by row
/// of `entity`.
///
/// Cost: each name of the entity is folded once, however many operands there are.
pub(super) fn add_rows<'s>(
    snapshot: &'s Snapshot,
    (file, rows): (&'s TermListsFile, usize),
    entity: Entity,
    operands: &[Operand],
    deadline: Deadline,
    union: &mut Union<'s>,
) -> Result<(), AnswerError> {
    let has_null = operands.contains(&Operand::Null);
    let mut named = Union::new(union.rows());
    for row in 0..snapshot.rows(entity) {
        if row.is_multiple_of(NAMES_PER_LOOK) {
            deadline.check()?;
        }
        let Some(name) = snapshot.row_name(entity, row)? else { continue };
        let folded = fold(name);
        let is_asked = !folded.is_empty() && operands.contains(&Operand::Term(text_term(&folded)));
        if !has_null && !is_asked {
            continue;
        }
        let Some(list) = file.find(rows, Term::from(row))? else { continue };
        if has_null {
            named.list(list)?;
        }
        if is_asked {
            union.list(list)?;
        }
    }
    deadline.check()?;
    if has_null {
        let side = Side { is_negated: true, atoms: named.into_atoms(), text: String::new() };
        union.bits(side.to_bits(union.rows(), deadline)?);
    }
    Ok(())
}
