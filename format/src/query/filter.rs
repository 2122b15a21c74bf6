//! From the text of a filter to checked expressions.

use crate::query::error::Refusal;
use crate::query::grammar::{Test, Value, Written};
use crate::query::value::Operand;
use crate::query::{error, grammar, value};
use crate::schema::keys::{Index, Key, Keys};

/// Expressions in one filter at most.
pub const EXPRESSIONS_MAX: usize = 50;
/// Refusals of one filter at most; the first ones are what a reader needs.
const REFUSALS_MAX: usize = 10;

/// The key that searches names.
const SEARCH: &str = "name.search";

/// One thing that must hold of a record.
#[derive(Clone, Debug)]
pub struct Expression {
    /// The key.
    pub key: &'static Key,
    /// Which index tells.
    pub index: Index,
    /// Whether none of the operands may be among the record's values, rather than one must.
    pub is_negated: bool,
    /// What is looked for.
    pub operands: Vec<Operand>,
    /// The expression as it was written, for plans and logs.
    pub text: String,
}

/// Reads a filter.
///
/// # Errors
///
/// What is wrong with each expression, ten at most.
pub(super) fn parse(keys: &'static Keys, text: &str) -> Result<Vec<Expression>, Vec<Refusal>> {
    let mut expressions = Vec::new();
    let mut refusals = Vec::new();
    for part in grammar::split(text).take(EXPRESSIONS_MAX + 1) {
        match parse_expression(keys, part) {
            Ok(expression) => expressions.push(expression),
            Err(refusal) => refusals.push(refusal),
        }
        if refusals.len() == REFUSALS_MAX {
            return Err(refusals);
        }
    }
    if expressions.len() > EXPRESSIONS_MAX {
        let reason = format!("has more than {EXPRESSIONS_MAX} expressions");
        refusals.push(Refusal::new(text, reason));
    }
    if refusals.is_empty() { Ok(expressions) } else { Err(refusals) }
}

/// What a search demands.
///
/// # Errors
///
/// Where names cannot be searched, or the text holds what no name does.
pub(super) fn search(keys: &'static Keys, text: &str) -> Result<Expression, Vec<Refusal>> {
    let (key, index) = keys.filter(SEARCH).ok_or_else(|| vec![error::filter_key(keys, SEARCH)])?;
    if text.bytes().any(|byte| byte.is_ascii_control()) {
        return Err(vec![Refusal::new(text, "holds a control character")]);
    }
    let operands = vec![value::words(text)];
    Ok(Expression { key, index, is_negated: false, operands, text: format!("search={text}") })
}

fn parse_expression(keys: &'static Keys, part: &str) -> Result<Expression, Refusal> {
    let Written { key, test } =
        grammar::parse(part).map_err(|reason| Refusal::new(part, reason))?;
    let (key, index) = keys.filter(key).ok_or_else(|| error::filter_key(keys, key))?;
    let refuse = |value: &Value<'_>, reason: String| {
        Refusal::new(part, format!("`{}` {reason}", shortened(&value.text)))
    };
    let (is_negated, operands) = match &test {
        Test::Compares(comparison, value) => {
            let operand = value::comparison(key, *comparison, value)
                .map_err(|reason| refuse(value, reason))?;
            (false, vec![operand])
        }
        Test::Any { is_negated, alternatives } => {
            let operands: Result<Vec<Operand>, Refusal> = alternatives
                .iter()
                .map(|value| value::equality(key, value).map_err(|reason| refuse(value, reason)))
                .collect();
            (*is_negated, operands?)
        }
    };
    Ok(Expression { key, index, is_negated, operands, text: part.to_owned() })
}

/// A value as a reason shows it.
fn shortened(text: &str) -> String {
    let mut shown: String = text.chars().take(40).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}
