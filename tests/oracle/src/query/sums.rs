//! Groups and statistics of lists, by a look at every matching record.
//!
//! # Where the rules are silent
//!
//! - **Groups.** A record counts once for each different value; codes and identifiers differ without regard
//!   to case, an ORCID iD
//!   has its address, and ids of the taxonomy are texts. Ids and numbers are ordered as numbers, other values as their bytes; null comes last.
//! - **Quantiles** are interpolated between the neighbours of position (count − 1) × share.

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::keys::{Key, Kind};
use super::{Lists, Refused, gathered, order, parameters};

/// A group: the value of each key, as the first matching record shows it, and the number of records.
pub type Group = (Vec<Value>, u64);

/// The statistics of a set of numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Numbers {
    /// Records with a number.
    pub count: u64,
    /// Records without.
    pub null: u64,
    /// The sum.
    pub sum: f64,
    /// The least number; 0 without numbers.
    pub min: f64,
    /// The greatest number; 0 without numbers.
    pub max: f64,
    /// The quartiles, the 90th and the 99th percentile.
    pub quantiles: [f64; 5],
}

impl Key {
    /// Whether lists can be grouped by the key.
    pub fn is_grouping(&self) -> bool {
        // Versions are looked up for the records that a filter names.
        // A name of another record is no value of its own, and a list of fractions has no order.
        let is_of_others = self.kind == Kind::Text && self.name.ends_with(".name");
        let is_other = ["is_version_of", "sustainable_development_goals.score"];
        let has_values = !matches!(
            self.kind,
            Kind::Date
                | Kind::From
                | Kind::To
                | Kind::Search
                | Kind::ReferenceSearch
                | Kind::DoiBeginning
        );
        self.is_filter && has_values && !is_of_others && !is_other.contains(&self.name)
    }
}

impl Lists<'_> {
    /// The rows that a raw query matches.
    fn rows(&self, route: &str, raw_query: &str) -> Result<Vec<usize>, Refused> {
        let list = self.lists.get(route).ok_or(Refused("no such list"))?;
        Ok(self.matching(route, list, &parameters::parse(raw_query)?)?.0)
    }

    /// Counts the groups of a raw query by the values of keys, largest first.
    ///
    /// # Errors
    ///
    /// If the server must reply 400 to the query.
    pub fn groups(
        &self,
        route: &str,
        raw_query: &str,
        keys: &[&Key],
    ) -> Result<Vec<Group>, Refused> {
        // By key and text: the value as the first matching record has it, whatever group that record is in.
        let mut spellings: Vec<BTreeMap<String, Value>> = vec![BTreeMap::new(); keys.len()];
        // A code is spelled as in the first of all records that have it.
        for (known, key) in spellings.iter_mut().zip(keys).filter(|(_, key)| key.kind == Kind::Code)
        {
            for entry in &self.library.entities[route] {
                for (text, value) in normal_values(key, &gathered(key, entry, &self.by_id)) {
                    known.entry(text).or_insert(value);
                }
            }
        }
        let mut counts: BTreeMap<Vec<String>, (Vec<Value>, u64)> = BTreeMap::new();
        for row in self.rows(route, raw_query)? {
            let entry = &self.library.entities[route][row];
            let of_key = |key: &&Key| normal_values(key, &gathered(key, entry, &self.by_id));
            let of_keys: Vec<BTreeMap<String, Value>> = keys.iter().map(of_key).collect();
            for (known, values) in spellings.iter_mut().zip(&of_keys) {
                for (text, value) in values {
                    known.entry(text.clone()).or_insert_with(|| value.clone());
                }
            }
            let is_same_key = keys.len() == 2 && keys[0].name == keys[1].name;
            let mut tuples: BTreeSet<Vec<&String>> = BTreeSet::from([Vec::new()]);
            for values in &of_keys {
                let longer = tuples.iter().flat_map(|tuple| {
                    values.keys().map(|value| [tuple.as_slice(), &[value]].concat())
                });
                tuples = longer.collect();
            }
            if is_same_key {
                // Pairs of different values.
                tuples.retain(|pair| pair[0] < pair[1]);
            }
            for tuple in tuples {
                let spelled = tuple.iter().zip(&spellings);
                let values = spelled.map(|(text, spellings)| spellings[*text].clone());
                let mut values: Vec<Value> = values.collect();
                if is_same_key {
                    // The lesser comes first.
                    values.sort_by(|one, other| compare(keys[0], one, other));
                }
                let texts = tuple.iter().map(|text| (*text).clone()).collect();
                counts.entry(texts).or_insert((values, 0)).1 += 1;
            }
        }
        let mut groups: Vec<Group> = counts.into_values().collect();
        groups.sort_by(|one, other| {
            let by_count = Reverse(one.1).cmp(&Reverse(other.1));
            let pairs = one.0.iter().zip(&other.0).zip(keys);
            let by_keys = pairs.map(|((one, other), key)| compare(key, one, other));
            by_count.then(by_keys.fold(Ordering::Equal, Ordering::then))
        });
        Ok(groups)
    }

    /// The numbers of the records that a raw query matches.
    ///
    /// # Errors
    ///
    /// If the server must reply 400 to the query.
    pub fn numbers(&self, route: &str, raw_query: &str, key: &Key) -> Result<Numbers, Refused> {
        Ok(self.numbers_of_rows(route, &self.rows(route, raw_query)?, key))
    }

    /// The numbers of the records that a raw query matches and that have a value of a key: of null, that have none.
    ///
    /// # Errors
    ///
    /// If the server must reply 400 to the query.
    pub fn group_numbers(
        &self,
        route: &str,
        raw_query: &str,
        group: (&Key, &Value),
        key: &Key,
    ) -> Result<Numbers, Refused> {
        let mut rows = self.rows(route, raw_query)?;
        rows.retain(|row| {
            let entry = &self.library.entities[route][*row];
            let values = normal_values(group.0, &gathered(group.0, entry, &self.by_id));
            let normal = |value: &Value| match (group.0.kind, value.as_str()) {
                (Kind::Text, Some(text)) => super::fold::fold(text),
                (_, Some(text)) => text.to_lowercase(),
                (_, None) => value.to_string(),
            };
            values.values().any(|value| normal(value) == normal(group.1))
        });
        Ok(self.numbers_of_rows(route, &rows, key))
    }

    fn numbers_of_rows(&self, route: &str, rows: &[usize], key: &Key) -> Numbers {
        let mut numbers: Vec<f64> = rows
            .iter()
            .filter_map(|row| {
                let entry = &self.library.entities[route][*row];
                gathered(key, entry, &self.by_id).first().and_then(|value| value.as_f64())
            })
            .collect();
        numbers.sort_by(f64::total_cmp);
        let quantile = |share: f64| {
            let position = numbers.len().saturating_sub(1) as f64 * share;
            let at = |position: f64| numbers.get(position as usize).copied().unwrap_or_default();
            at(position.floor()) + (at(position.ceil()) - at(position.floor())) * position.fract()
        };
        Numbers {
            count: numbers.len() as u64,
            null: (rows.len() - numbers.len()) as u64,
            sum: numbers.iter().sum(),
            min: numbers.first().copied().unwrap_or_default(),
            max: numbers.last().copied().unwrap_or_default(),
            quantiles: [0.25, 0.5, 0.75, 0.9, 0.99].map(quantile),
        }
    }

    /// The h-index, the i10-index and the g-index of the outputs that a raw query matches.
    ///
    /// # Errors
    ///
    /// If the server must reply 400 to the query.
    pub fn citation_indexes(&self, raw_query: &str) -> Result<[u64; 3], Refused> {
        let entries = &self.library.entities["outputs"];
        let rows = self.rows("outputs", raw_query)?;
        let cited = rows.iter().map(|row| entries[*row].single["cited_by_count"].as_u64());
        let mut cited: Vec<u64> = cited.map(Option::unwrap_or_default).collect();
        cited.sort_unstable_by_key(|count| Reverse(*count));
        let all = 0..=cited.len();
        let h =
            all.clone().filter(|h| cited.iter().filter(|count| **count >= *h as u64).count() >= *h);
        let g = all.filter(|g| cited[..*g].iter().sum::<u64>() >= (*g * *g) as u64);
        let [h, g] = [h.max(), g.max()].map(|index| index.unwrap_or_default() as u64);
        Ok([h, cited.iter().filter(|count| **count >= 10).count() as u64, g])
    }
}

/// The values of a record, each once; null if there are none. The text tells equal values.
fn normal_values(key: &Key, values: &[&Value]) -> BTreeMap<String, Value> {
    if key.kind == Kind::Presence {
        let is_present = !values.is_empty();
        return BTreeMap::from([(is_present.to_string(), is_present.into())]);
    }
    let mut normal: BTreeMap<String, Value> = BTreeMap::new();
    for value in values {
        let text = match (key.kind, value.as_str()) {
            (Kind::Keyword, Some(text)) => super::atoms::keyword(text),
            (Kind::Text, Some(text)) => super::fold::fold(text),
            (_, Some(text)) => text.to_lowercase(),
            (_, None) => value.to_string(),
        };
        let shown = match (key.kind, value.as_str()) {
            (Kind::Orcid, Some(bare)) if !bare.starts_with("https") => {
                format!("https://orcid.org/{bare}").into()
            }
            (Kind::Level(_), None) => value.to_string().into(),
            _ => (*value).clone(),
        };
        normal.entry(text).or_insert(shown);
    }
    match normal.is_empty() {
        // A text may fold to nothing, and is a value.
        true => BTreeMap::from([("\0".to_owned(), Value::Null)]),
        false => normal,
    }
}

fn compare(key: &Key, one: &Value, other: &Value) -> Ordering {
    let is_number = |value: &Value| {
        let is_parsed = |text: &str| text.len() <= 4 && text.parse::<u64>().is_ok();
        matches!(key.kind, Kind::Level(_)) && value.as_str().is_some_and(is_parsed)
    };
    let is_id = |value: &Value| value.as_str().is_some_and(|text| text.starts_with("HX_"));
    match (one, other) {
        (Value::Null, _) | (_, Value::Null) => one.is_null().cmp(&other.is_null()),
        (Value::Bool(one), Value::Bool(other)) => one.cmp(other),
        (Value::String(a), Value::String(b)) if is_number(one) && is_number(other) => {
            a.parse::<u64>().ok().cmp(&b.parse().ok())
        }
        (Value::String(a), Value::String(b)) if is_id(one) && is_id(other) => {
            order::number(a).cmp(&order::number(b))
        }
        (Value::String(one), Value::String(other)) => one.cmp(other),
        _ => one.as_f64().partial_cmp(&other.as_f64()).unwrap_or(Ordering::Equal),
    }
}
