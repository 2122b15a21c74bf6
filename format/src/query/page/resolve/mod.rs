//! Resolves the expressions of a query against the indexes of a snapshot.
//!
//! `operand` finds the rows of one operand in an index, `names` the rows that refer to records by their names.

mod names;
mod operand;

use crate::entity::Entity;
use crate::index::bitset::Bitset;
use crate::query::page::resolve::operand::ExpressionResolver;
use crate::query::page::scan::{is_scanned, scan};
use crate::query::page::set_key::SetKey;
use crate::query::parse::filter::Expression;
use crate::query::parse::operand::Operand;
use crate::query::parse::query::Query;
use crate::query::rows::clause::{Clause, Leaf};
use crate::query::rows::deadline::{Deadline, QueryError};
use crate::query::rows::intersection::Intersection;
use crate::query::rows::name_scan;
use crate::query::rows::union::Union;
use crate::query::rows::versions;
use crate::query::search::SearchSummary;
use crate::schema::{Index, keys_of};
use crate::snapshot::Snapshot;
use crate::storage::ReadError;

/// The most bitmaps over all rows that the clauses of one query hold.
const BITMAPS_MAX: usize = 4;
impl Query {
    /// Resolves the filter to the intersection of its clauses, without suppressed rows.
    pub(in crate::query) fn resolve<'s>(
        &self,
        snapshot: &'s Snapshot,
        deadline: Deadline<'s>,
    ) -> Result<Intersection<'s>, QueryError> {
        Ok(self.resolve_search(snapshot, deadline)?.0)
    }

    /// Resolves the filter as [`resolve`](Self::resolve) does. Also returns the summary of the list's search; `None` for
    /// lists without one.
    pub(super) fn resolve_search<'s>(
        &self,
        snapshot: &'s Snapshot,
        deadline: Deadline<'s>,
    ) -> Result<(Intersection<'s>, Option<SearchSummary>), QueryError> {
        let rows = snapshot.count(self.entity);
        let (matches, searched) = match self.filter.iter().any(is_scanned) {
            true => self.resolve_scanned(snapshot, deadline)?,
            false => {
                let (clauses, searched) = self.clauses(snapshot, deadline)?;
                let suppressed = snapshot.suppressed().rows(self.entity);
                // Only pairs are counted.
                let has_pair = clauses.len() == 2;
                let crossings = has_pair.then(|| snapshot.crossings(self.entity)).transpose()?;
                let matches = Intersection::new(clauses, rows).without(suppressed);
                (matches.counted_by(crossings.flatten()), searched)
            }
        };
        if !self.one_of_versions {
            return Ok((matches, searched));
        }
        let name = SetKey::of_filter(self, false);
        let one_of_each = || versions::one_of_each(&matches, self.entity, snapshot, deadline);
        let set = snapshot.kept().set(name.bytes(), one_of_each)?;
        Ok((Intersection::new(vec![set.rows.clone().into_clause()], rows), searched))
    }

    /// Resolves the expressions that indexes answer, and reads the records that these leave.
    fn resolve_scanned<'s>(
        &self,
        snapshot: &'s Snapshot,
        deadline: Deadline<'s>,
    ) -> Result<(Intersection<'s>, Option<SearchSummary>), QueryError> {
        let (rows, suppressed) =
            (snapshot.count(self.entity), snapshot.suppressed().rows(self.entity));
        let name = SetKey::of_filter(&Query { one_of_versions: false, ..self.clone() }, false);
        // The next page of the same filter reads no records again.
        let set = snapshot.kept().set(name.bytes(), || {
            let (clauses, _) = self.clauses(snapshot, deadline)?;
            scan(self, &Intersection::new(clauses, rows).without(suppressed), snapshot, deadline)
        })?;
        let texts: Vec<&str> = self.filter.iter().map(|of| of.text.as_str()).collect();
        let clause = Clause { text: texts.join(","), ..set.rows.clone().into_clause() };
        let mut searched = None;
        for expression in self.filter.iter().filter(|of| of.searched().is_some()) {
            searched = resolve_expression(snapshot, self.entity, expression, deadline)?.1;
        }
        Ok((Intersection::new(vec![clause], rows), searched))
    }

    /// Resolves each expression that an index answers. Clauses beyond the first four bitmaps are intersected into a single
    /// bitmap right away, so memory does not grow with the number of expressions.
    fn clauses<'s>(
        &self,
        snapshot: &'s Snapshot,
        deadline: Deadline<'s>,
    ) -> Result<(Vec<Clause<'s>>, Option<SearchSummary>), QueryError> {
        let rows = snapshot.count(self.entity);
        let (mut clauses, mut bitmaps) = (Vec::with_capacity(self.filter.len()), 0);
        let mut searched = None;
        let mut folded: Option<(Bitset, String)> = None;
        for expression in self.filter.iter().filter(|expression| !is_scanned(expression)) {
            let (clause, summary) =
                resolve_expression(snapshot, self.entity, expression, deadline)?;
            searched = searched.or(summary);
            bitmaps += clause.bitmaps();
            // Other clauses take no memory for the rows of the snapshot.
            if clause.bitmaps() == 0 || bitmaps <= BITMAPS_MAX {
                clauses.push(clause);
                continue;
            }
            let bitmap = clause.to_bitset(rows, deadline)?;
            folded = Some(match folded {
                None => (bitmap, clause.text),
                Some((mut all, text)) => {
                    all.intersect_with(&bitmap);
                    // The plan of the query shows the text of each clause.
                    (all, format!("{text},{}", clause.text))
                }
            });
        }
        let folded =
            folded.map(|(all, text)| Clause { text, ..Clause::internal(vec![Leaf::Bitmap(all)]) });
        clauses.extend(folded);
        Ok((clauses, searched))
    }
}

/// Resolves one expression to the union of its operands' rows. Also returns the summary of the list's search, if the
/// expression is that search.
fn resolve_expression<'s>(
    snapshot: &'s Snapshot,
    entity: Entity,
    expression: &Expression,
    deadline: Deadline<'s>,
) -> Result<(Clause<'s>, Option<SearchSummary>), QueryError> {
    let mut union = Union::new(snapshot.count(entity));
    let mut searched = None;
    if let Index::NamesScanned { entity: target, rows } = expression.index {
        let file = snapshot.term_lists(entity)?;
        let operands = &expression.operands;
        name_scan::add_rows(snapshot, file, rows, target, operands, deadline, &mut union)?;
    } else {
        let mut resolver =
            ExpressionResolver { snapshot, entity, expression, deadline, union, searched };
        for operand in &expression.operands {
            deadline.check()?;
            resolver.add_operand(expression.index, operand)?;
        }
        union = resolver.union;
        searched = resolver.searched.filter(|_| expression.searched().is_some());
    }
    let (leaves, text) = (union.into_leaves(), expression.text.clone());
    Ok((Clause { is_negated: expression.is_negated, leaves, text }, searched))
}

/// Resolves an operand of an index alone, for groups.
pub(in crate::query) fn resolve_operand<'s>(
    snapshot: &'s Snapshot,
    entity: Entity,
    index: Index,
    operand: &Operand,
    deadline: Deadline<'s>,
) -> Result<Clause<'s>, QueryError> {
    let operands = vec![operand.clone()];
    let key = keys_of(entity).keys.first();
    let key = key.ok_or(ReadError::Internal("the entity has no keys"))?;
    let (is_negated, text) = (false, String::new());
    let expression = Expression { key, index, is_negated, operands, text };
    Ok(resolve_expression(snapshot, entity, &expression, deadline)?.0)
}
