//! Parses the sort keys of a query.

use crate::query::parse::error::{ParamError, unknown_sort_key};
use crate::query::parse::grammar::trim;
use crate::schema::{Key, Keys};

/// The most keys of one sort.
pub const SORT_KEYS_MAX: usize = 3;

/// The name that sorts by the relevance of a search.
pub const RELEVANCE: &str = "relevance";

/// The keys of a sort, and the place of relevance among them.
#[derive(Clone, Debug, Default)]
pub(in crate::query) struct ParsedSort {
    pub keys: Vec<SortKey>,
    /// The number of keys before relevance; `None` without relevance.
    pub relevance: Option<usize>,
    pub by_values: Option<ValueSort>,
}

/// A key to sort by.
#[derive(Clone, Copy, Debug)]
pub struct SortKey {
    /// The key.
    pub key: &'static Key,
    /// The number of the key's order in the `orders` file.
    pub order: usize,
    /// Whether the greatest value comes first. Records without a value come last either way.
    pub is_descending: bool,
}

/// A key to sort by whose values no order holds.
#[derive(Clone, Copy, Debug)]
pub struct ValueSort {
    /// The key, which filters by an index or by the records.
    pub key: &'static Key,
    /// The number of its values' end among the ends of the keys.
    pub end: usize,
    /// As that of a [`SortKey`].
    pub is_descending: bool,
    /// The number of the other keys before.
    pub place: usize,
}

pub(in crate::query) fn parse_sort(
    keys: &'static Keys,
    text: &str,
) -> Result<ParsedSort, Vec<ParamError>> {
    let mut sort = ParsedSort::default();
    let mut errors = Vec::new();
    let twice = |text| ParamError::new(text, "sorts by a key a second time; name it once");
    for text in text.split(',').map(trim).take(SORT_KEYS_MAX + 1) {
        if keys.has_full_text() && is_relevance(text) {
            match (sort.relevance, parse_relevance(text)) {
                (Some(_), _) => errors.push(twice(text)),
                (None, Ok(())) => sort.relevance = Some(sort.keys.len()),
                (None, Err(error)) => errors.push(error),
            }
            continue;
        }
        if let Some((key, end, is_descending)) = parse_value_key(keys, text) {
            let place = sort.keys.len();
            match sort.by_values.replace(ValueSort { key, end, is_descending, place }) {
                Some(earlier) if earlier.end == end => errors.push(twice(text)),
                Some(earlier) => {
                    let name = earlier.key.name;
                    let reason = format!("is in no order, as `{name}` is not; name one of both");
                    errors.push(ParamError::new(text, reason));
                }
                None => {}
            }
            continue;
        }
        match parse_sort_key(keys, text) {
            Ok(key) if sort.keys.iter().any(|known| known.order == key.order) => {
                errors.push(twice(text));
            }
            Ok(key) => sort.keys.push(key),
            Err(error) => errors.push(error),
        }
    }
    if text.split(',').count() > SORT_KEYS_MAX {
        errors.push(ParamError::new(text, format!("sorts by more than {SORT_KEYS_MAX} keys")));
    }
    if let (Some(by), Some(_)) = (&sort.by_values, sort.relevance) {
        let reason =
            format!("does not go with `{RELEVANCE}`, as no order has it; name one of both");
        errors.push(ParamError::new(by.key.name, reason));
    }
    if errors.is_empty() { Ok(sort) } else { Err(errors) }
}

/// A key whose values no order holds, the end of the values, and whether the sort descends.
fn parse_value_key(keys: &'static Keys, text: &str) -> Option<(&'static Key, usize, bool)> {
    let (name, is_descending) = parse_direction(text).ok()?;
    let (_, end) = *keys.value_sorts.iter().find(|(known, _)| *known == name)?;
    let (key, _) = keys.filter(name)?;
    Some((key, end, is_descending))
}

fn is_relevance(text: &str) -> bool {
    trim(text.split(':').next().unwrap_or(text)) == RELEVANCE
}

/// Checks the direction of relevance, which has one alone.
fn parse_relevance(text: &str) -> Result<(), ParamError> {
    match text.split_once(':').map(|(_, direction)| trim(direction)) {
        None | Some("desc") => Ok(()),
        Some(_) => {
            let reason = "begins with the best record in any case; write `relevance`";
            Err(ParamError::new(text, reason))
        }
    }
}

fn parse_sort_key(keys: &'static Keys, text: &str) -> Result<SortKey, ParamError> {
    let (name, is_descending) = parse_direction(text)?;
    match keys.sort(name) {
        Some((key, order)) => Ok(SortKey { key, order, is_descending }),
        None => Err(unknown_sort_key(keys, name)),
    }
}

/// Splits a key of a sort into its name and whether the sort descends.
pub(in crate::query) fn parse_direction(text: &str) -> Result<(&str, bool), ParamError> {
    let (name, direction) = text.split_once(':').unwrap_or((text, "asc"));
    let is_descending = match trim(direction) {
        "asc" => false,
        "desc" => true,
        _ => {
            return Err(ParamError::new(
                text,
                "must end in `:asc` or `:desc`, in lower case, or be the key alone",
            ));
        }
    };
    Ok((trim(name), is_descending))
}
