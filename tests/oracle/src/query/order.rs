//! Orders records by a key: text by folded form and then by bytes, timestamps to the last digit, ids by
//! number.

use std::cmp::Ordering;

use serde_json::Value;

use super::Refused;
use super::fold::fold;
use super::grammar::without_spaces;
use super::keys::{Key, Kind};

/// Maximum number of keys in one `sort`.
pub const SORT_KEYS_MAX: usize = 3;

/// A value in the form that orders records.
#[derive(Clone, Debug, PartialEq, PartialOrd)]
pub enum SortValue {
    /// A number; every number of a record is exact in a double.
    Number(f64),
    /// The number of an id.
    Id(u64),
    /// The folded form of a text, then the text.
    Text(String, String),
    /// A date or a timestamp without trailing zeros in its fraction.
    Moment(String),
}

/// Converts a value into the form that orders records.
pub fn sort_value(key: &Key, value: &Value) -> Option<SortValue> {
    let text = value.as_str();
    match key.kind {
        Kind::Integer | Kind::Fraction => value.as_f64().map(SortValue::Number),
        Kind::Hx | Kind::Level(_) => {
            let id = text.map_or_else(|| value.to_string(), str::to_owned);
            Some(SortValue::Id(number(&id)))
        }
        Kind::Date => text.map(|text| {
            let is_fractional = text.contains('.');
            let text = if is_fractional { text.trim_end_matches('0') } else { text };
            SortValue::Moment(text.to_owned())
        }),
        _ => text.map(|text| SortValue::Text(fold(text), text.to_owned())),
    }
}

/// The number in an id.
pub fn number(id: &str) -> u64 {
    id.trim_start_matches(|c: char| !c.is_ascii_digit()).parse().unwrap_or(u64::MAX)
}

/// The number of distinct smaller values, per record; `None` for a record without a value.
pub fn ranks(values: &[Option<SortValue>]) -> Vec<Option<u32>> {
    let mut present: Vec<&SortValue> = values.iter().flatten().collect();
    let compared = |a: &SortValue, b: &SortValue| a.partial_cmp(b).unwrap_or(Ordering::Equal);
    present.sort_by(|a, b| compared(a, b));
    present.dedup();
    let rank = |value: &SortValue| present.partition_point(|other| compared(other, value).is_lt());
    values.iter().map(|value| value.as_ref().map(|value| rank(value) as u32)).collect()
}

/// Parses a `sort` into indexes of `keys`, each with `true` for descending order.
pub fn parse(sort: &str, keys: &[Key]) -> Result<Vec<(usize, bool)>, Refused> {
    let mut parsed: Vec<(usize, bool)> = Vec::new();
    for one in sort.split(',') {
        let (name, direction) = one.split_once(':').unwrap_or((one, "asc"));
        let name = without_spaces(name);
        let is_descending = match without_spaces(direction) {
            "asc" => false,
            "desc" => true,
            _ => return Err(Refused("no direction of sorting")),
        };
        let at = keys.iter().position(|key| key.is_sort && key.name == name);
        let at = at.ok_or(Refused("no sort key of this list"))?;
        if parsed.iter().any(|(other, _)| *other == at) {
            return Err(Refused("a sort key twice"));
        }
        parsed.push((at, is_descending));
    }
    if parsed.len() > SORT_KEYS_MAX {
        return Err(Refused("too many sort keys"));
    }
    Ok(parsed)
}

/// Compares two ranks; records without a rank are last in both directions.
pub fn compare(a: Option<u32>, b: Option<u32>, is_descending: bool) -> Ordering {
    match (a, b) {
        (Some(a), Some(b)) if is_descending => b.cmp(&a),
        (Some(a), Some(b)) => a.cmp(&b),
        (a, b) => a.is_none().cmp(&b.is_none()),
    }
}
