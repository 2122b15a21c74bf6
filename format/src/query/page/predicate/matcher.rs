//! One operand of a filter, prepared for comparison with the values of a record.

use std::sync::Arc;

use crate::index::term_lists::{Term, any_row_term, text_term};
use crate::query::parse::operand::Operand;
use crate::query::parse::search::Search;
use crate::query::rows::versions::VersionKey;
use crate::schema::{Class, Direction, Index, Keys, Terms};
use crate::snapshot::RecordLookup;
use crate::storage::ReadError;

/// One operand, prepared for comparison.
#[derive(Clone, Debug)]
pub(super) enum Matcher {
    /// True of records without a value.
    Null,
    /// True of records with a value, or with `false` of records without.
    Presence(bool),
    /// True if one of the terms occurs.
    Terms(Vec<Term>),
    /// True if one of the terms occurs, or with `false` if none does.
    OneOf(Vec<Term>, bool),
    /// True if a value lies between both, inclusive.
    Between(u64, u64),
    /// True of the record with this id.
    Id(u64),
    /// True of a record that refers to one of these ids, or of the records with these ids.
    Linked(Vec<u64>),
    /// True of the other versions of the record with this id.
    Version(u64, VersionKey),
    /// True if each of the words is a prefix of a word in some name.
    Words(Vec<String>),
    /// True if the texts of the record match.
    Search(Arc<Search>),
    /// True if an identifier begins with this text, in the normal form of the scheme.
    Beginning(String),
}

pub(super) fn code_operands(codes: &[&str]) -> Vec<Operand> {
    codes.iter().map(|code| Operand::Term(text_term(&code.to_ascii_lowercase()))).collect()
}

fn terms_of(operands: &[Operand]) -> Vec<Term> {
    let term = |operand: &Operand| match operand {
        Operand::Term(term) => Some(*term),
        _ => None,
    };
    operands.iter().filter_map(term).collect()
}

/// The codes of the classes that operands name.
pub(super) fn class_operands(classes: &[Class], operands: &[Operand]) -> Vec<Operand> {
    let is_named = |class: &&Class| operands.contains(&Operand::Term(text_term(class.name)));
    classes.iter().filter(is_named).flat_map(|class| code_operands(class.codes)).collect()
}

impl Matcher {
    /// Prepares an operand; `None` if no record can match it.
    pub(super) fn from_operand(
        keys: &Keys,
        index: Index,
        operand: &Operand,
        lookup: &impl RecordLookup,
    ) -> Result<Option<Matcher>, ReadError> {
        Ok(match (index, operand) {
            (_, Operand::Nothing) | (Index::Ids, Operand::Null) => None,
            (_, Operand::Null) => Some(Matcher::Null),
            (Index::OneOf { codes, .. }, Operand::Presence(is_one)) => {
                Some(Matcher::OneOf(terms_of(&code_operands(codes)), *is_one))
            }
            // The records that references lead to decide.
            (Index::Through { .. }, _) => Some(Matcher::Terms(Vec::new())),
            (Index::Any(indexes), operand) => match indexes.first() {
                Some(index) => return Matcher::from_operand(keys, *index, operand, lookup),
                None => None,
            },
            (Index::Classes { classes, .. }, operand) => {
                let codes = class_operands(classes, std::slice::from_ref(operand));
                Some(Matcher::Terms(terms_of(&codes)))
            }
            (Index::Lists(lists), Operand::Record(entity, _))
                if !keys.lists[lists].terms.are_rows_of(*entity) =>
            {
                None
            }
            (_, Operand::Presence(is_present)) => Some(Matcher::Presence(*is_present)),
            (_, Operand::Term(term)) => Some(Matcher::Terms(vec![*term])),
            (_, Operand::Between(low, high)) => Some(Matcher::Between(*low, *high)),
            (_, Operand::Words(words)) => Some(Matcher::Words(words.clone())),
            (_, Operand::Search(search)) => Some(Matcher::Search(Arc::clone(search))),
            (_, Operand::Beginning(text)) => Some(Matcher::Beginning(text.clone())),
            (Index::Ids | Index::Words, Operand::Record(entity, _))
                if keys.route != entity.facts().route =>
            {
                None
            }
            (Index::Ids | Index::Words, Operand::Record(entity, id)) => {
                Some(Matcher::Id(lookup.merged_into(*entity, *id)?))
            }
            (Index::Citations(Direction::Citations), Operand::Record(entity, id)) => {
                Some(Matcher::Linked(vec![lookup.merged_into(*entity, *id)?]))
            }
            (Index::Citations(Direction::References), Operand::Record(entity, id)) => {
                let id = lookup.merged_into(*entity, *id)?;
                let rows = lookup.rows_with(*entity, id)?;
                let records = rows.filter(|row| *row < lookup.count(*entity));
                let mut linked = Vec::new();
                for row in records {
                    linked.extend(lookup.references(*entity, row)?);
                }
                Some(Matcher::Linked(linked))
            }
            (Index::Versions { .. }, Operand::Record(entity, id)) => {
                let id = lookup.merged_into(*entity, *id)?;
                let mut rows = lookup.rows_with(*entity, id)?;
                match rows.find(|row| *row < lookup.count(*entity)) {
                    Some(row) => {
                        VersionKey::read(lookup, row)?.map(|key| Matcher::Version(id, key))
                    }
                    None => None,
                }
            }
            (Index::Read { .. }, Operand::Record(entity, id)) => {
                let rows = lookup.rows_with(*entity, lookup.merged_into(*entity, *id)?)?;
                Some(Matcher::Terms(rows.map(Term::from).collect()))
            }
            (Index::Lists(lists), Operand::Record(entity, id)) => {
                let id = lookup.merged_into(*entity, *id)?;
                let rows = lookup.rows_with(*entity, id)?;
                let term = |row| match keys.lists[lists].terms {
                    Terms::AnyRows => any_row_term(*entity, row),
                    _ => Term::from(row),
                };
                Some(Matcher::Terms(rows.map(term).collect()))
            }
            // The parser makes no other operand for these indexes.
            (_, Operand::Record(..)) => {
                return Err(ReadError::Internal("the operand does not fit the values of its key"));
            }
        })
    }
}
