//! Parses a filter into checked expressions.

use std::sync::Arc;

use crate::index::term_lists::text_term;
use crate::query::parse::error::{ParamError, unknown_filter_key};
use crate::query::parse::grammar::{RawExpression, RawTest, RawValue, parse_expression, split};
use crate::query::parse::identifier::{Identifier, IdentifierOf};
use crate::query::parse::operand::{Operand, parse_comparison, parse_operand, words_operand};
use crate::query::parse::search::{Search, SyntaxError};
use crate::schema::{ANY_FIELD, Index, Key, Keys, parse_record_id};

/// The most expressions of one filter.
pub const EXPRESSIONS_MAX: usize = 50;
/// The most errors that a filter reports; clients see the first ones.
const ERRORS_MAX: usize = 10;

/// The key that searches names.
const SEARCH: &str = "name.search";

/// The key of the ids of a list's own records.
const ID: &str = "id";

/// One condition on a record.
#[derive(Clone, Debug)]
pub struct Expression {
    /// The key.
    pub key: &'static Key,
    /// The index that evaluates the expression.
    pub index: Index,
    /// With `false`, one operand must match a value of the record; with `true`, none may.
    pub is_negated: bool,
    /// The alternatives, at most 100.
    pub operands: Vec<Operand>,
    /// The expression as the client wrote it, for plans and logs.
    pub text: String,
}

/// Prefix of the text of an expression that a search made. No key has this name.
pub(in crate::query) const SEARCHED: &str = "search=";

impl Expression {
    /// The words of the search that made the expression; `None` of an expression of a filter.
    pub fn searched(&self) -> Option<&str> {
        self.text.strip_prefix(SEARCHED)
    }
}

/// Parses a filter. Returns one error for each wrong expression, at most 10.
pub(in crate::query) fn parse_filter(
    keys: &'static Keys,
    text: &str,
) -> Result<Vec<Expression>, Vec<ParamError>> {
    let mut expressions = Vec::new();
    let mut errors = Vec::new();
    for text in split(text).take(EXPRESSIONS_MAX + 1) {
        match check_expression(keys, text) {
            Ok(expression) => expressions.push(expression),
            Err(error) => errors.push(error),
        }
        if errors.len() == ERRORS_MAX {
            return Err(errors);
        }
    }
    if expressions.len() > EXPRESSIONS_MAX {
        let reason = format!("has more than {EXPRESSIONS_MAX} expressions");
        errors.push(ParamError::new(text, reason));
    }
    if errors.is_empty() { Ok(expressions) } else { Err(errors) }
}

/// Turns the text of a search into an expression of the key `name.search`. If the text is the id of a
/// record of the list, the expression also finds this record.
pub(in crate::query) fn parse_search(
    keys: &'static Keys,
    text: &str,
) -> Result<Expression, Vec<ParamError>> {
    let (key, index) = keys.filter(SEARCH).ok_or_else(|| vec![unknown_filter_key(keys, SEARCH)])?;
    if text.bytes().any(|byte| byte.is_ascii_control()) {
        return Err(vec![ParamError::new(text, "holds a control character")]);
    }
    let mut operands = vec![words_operand(text)];
    operands.extend(own_id(keys, text));
    Ok(Expression { key, index, is_negated: false, operands, text: format!("{SEARCHED}{text}") })
}

/// Turns a full-text search into an expression, if the list has one. A search that is one identifier finds the record that has
/// the identifier, or nothing, unless its words are exact.
pub(in crate::query) fn full_text_search(
    keys: &'static Keys,
    text: &str,
    is_exact: bool,
) -> Result<Option<Expression>, Vec<ParamError>> {
    let found = keys.keys.iter().find(|key| key.filter == Some(Index::FullText(ANY_FIELD)));
    let Some((key, index)) = found.and_then(|key| Some((key, key.filter?))) else {
        return Ok(None);
    };
    if let Some(identifier) = Identifier::parse(text).filter(|_| !is_exact)
        && let Some(expression) = identified(keys, identifier.of, format!("{SEARCHED}{text}"))
    {
        return Ok(Some(expression));
    }
    let search = Search::parse(text, is_exact).map_err(|SyntaxError { position, reason }| {
        vec![ParamError::new(text, format!("at byte {position}: {reason}"))]
    })?;
    let operands = vec![Operand::Search(Arc::new(search))];
    let text = format!("{SEARCHED}{text}");
    Ok(Some(Expression { key, index, is_negated: false, operands, text }))
}

/// The expression that finds the record of a list with an identifier. Records of other lists are none.
fn identified(keys: &'static Keys, of: IdentifierOf, text: String) -> Option<Expression> {
    let (key, operands) = match of {
        IdentifierOf::Record(entity, id) if keys.route == entity.facts().route => {
            (ID, vec![Operand::Record(entity, id)])
        }
        IdentifierOf::Values(key, values) => {
            (key, values.iter().map(|value| Operand::Term(text_term(value))).collect())
        }
        IdentifierOf::Record(..) | IdentifierOf::Others(_) => (ID, vec![Operand::Nothing]),
    };
    let (key, index) = keys.filter(key)?;
    Some(Expression { key, index, is_negated: false, operands, text })
}

/// The record of the list whose id a text is.
fn own_id(keys: &Keys, text: &str) -> Option<Operand> {
    let (entity, id) = parse_record_id(text.trim())?;
    (keys.route == entity.facts().route).then_some(Operand::Record(entity, id))
}

fn check_expression(keys: &'static Keys, text: &str) -> Result<Expression, ParamError> {
    let RawExpression { key, test } =
        parse_expression(text).map_err(|reason| ParamError::new(text, reason))?;
    let (key, index) = keys.filter(key).ok_or_else(|| unknown_filter_key(keys, key))?;
    let wrong_value = |value: &RawValue<'_>, reason: String| {
        ParamError::new(text, format!("`{}` {reason}", shorten(&value.text)))
    };
    let (is_negated, operands) = match &test {
        RawTest::Compares(comparison, value) => {
            let operand = parse_comparison(key, *comparison, value)
                .map_err(|reason| wrong_value(value, reason))?;
            (false, vec![operand])
        }
        RawTest::AnyOf { is_negated, alternatives } => {
            let operands: Result<Vec<Operand>, ParamError> = alternatives
                .iter()
                .map(|value| parse_operand(key, value).map_err(|reason| wrong_value(value, reason)))
                .collect();
            (*is_negated, operands?)
        }
    };
    Ok(Expression { key, index, is_negated, operands, text: text.to_owned() })
}

/// Cuts a value to 40 characters.
fn shorten(text: &str) -> String {
    let mut shortened: String = text.chars().take(40).collect();
    if shortened.len() < text.len() {
        shortened.push('…');
    }
    shortened
}
