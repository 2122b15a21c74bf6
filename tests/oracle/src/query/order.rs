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

/// The least and the greatest rank of a record's values. A rank is the number of distinct smaller values.
pub type Ranks = (u32, u32);

/// The ranks of each record; `None` for a record without a value.
pub fn ranks(values: &[Vec<SortValue>]) -> Vec<Option<Ranks>> {
    let mut present: Vec<&SortValue> = values.iter().flatten().collect();
    let compared = |a: &SortValue, b: &SortValue| a.partial_cmp(b).unwrap_or(Ordering::Equal);
    present.sort_by(|a, b| compared(a, b));
    present.dedup();
    let rank = |value: &SortValue| present.partition_point(|other| compared(other, value).is_lt());
    let of_record = |values: &Vec<SortValue>| {
        let ranks: Vec<u32> = values.iter().map(|value| rank(value) as u32).collect();
        Some((*ranks.iter().min()?, *ranks.iter().max()?))
    };
    values.iter().map(of_record).collect()
}

/// Parses a `sort` into indexes of `keys`, each with `true` for descending order.
pub fn parse(sort: &str, keys: &[Key], is_dialect: bool) -> Result<Vec<(usize, bool)>, Refused> {
    let mut parsed: Vec<(usize, bool)> = Vec::new();
    for one in sort.split(',') {
        let (name, direction) = one.split_once(':').unwrap_or((one, "asc"));
        let name = without_spaces(name);
        let is_descending = match without_spaces(direction) {
            "asc" => false,
            "desc" => true,
            _ => return Err(Refused("no direction of sorting")),
        };
        let is_sort = |key: &&Key| key.is_sort || is_dialect && key.is_dialect_sort;
        let at = keys.iter().position(|key| is_sort(&key) && key.name == name);
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

/// Compares two records by their least ranks, or descending by their greatest. Records without a rank are last either way.
pub fn compare(a: Option<Ranks>, b: Option<Ranks>, is_descending: bool) -> Ordering {
    match (a, b) {
        (Some(a), Some(b)) if is_descending => b.1.cmp(&a.1),
        (Some(a), Some(b)) => a.0.cmp(&b.0),
        (a, b) => a.is_none().cmp(&b.is_none()),
    }
}
