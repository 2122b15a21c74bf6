//! Queries made at random of keys, operators, values, sorting and pages.

use std::collections::BTreeSet;

use crate::Seeded;
use pinakes_oracle::{Key, Kind, Library, Lists};
use serde_json::Value;

use crate::values::{chance, encoded, one, value, written, wrong};

/// Whether words of names are searched for, too.
pub const SEARCH: bool = true;

/// Longest query that is asked, in bytes.
const QUERY_BYTES_MAX: usize = 12_000;

/// What an expression does with its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    Equal,
    Quoted,
    Alternatives,
    Not,
    NotAlternatives,
    Null,
    NotNull,
    Above,
    From,
    Below,
    To,
    Range,
    RangeFrom,
    RangeTo,
    Refused,
}

use Operation::*;

const ON_ALL: &[Operation] = &[Equal, Quoted, Alternatives, Not, NotAlternatives, Refused];
const ON_MEMBERS: &[Operation] = &[Null, NotNull];
const ON_ORDERED: &[Operation] = &[Above, From, Below, To];
const ON_WHOLE: &[Operation] = &[Range, RangeFrom, RangeTo];

/// The operations that a key takes, and `Refused`.
pub fn operations(kind: Kind) -> Vec<Operation> {
    let sets: &[&[Operation]] = match kind {
        Kind::Integer | Kind::Date => &[ON_ALL, ON_MEMBERS, ON_ORDERED, ON_WHOLE],
        Kind::Fraction => &[ON_ALL, ON_MEMBERS, ON_ORDERED],
        Kind::From | Kind::To | Kind::Search => &[ON_ALL],
        _ => &[ON_ALL, ON_MEMBERS],
    };
    sets.concat()
}

/// The keys of one list that are asked for.
pub struct Asker {
    pub route: &'static str,
    pub filters: Vec<FilterKey>,
    pub sorts: Vec<&'static str>,
    merged: Vec<String>,
    rows: usize,
}

/// A filter key and the values that records have, by record.
pub struct FilterKey {
    pub key: Key,
    values: Vec<Vec<String>>,
    /// The records that have any.
    holders: Vec<usize>,
}

/// What has been asked.
#[derive(Default)]
pub struct Covered {
    pub operations: BTreeSet<(&'static str, &'static str, Operation)>,
    pub directions: BTreeSet<(&'static str, &'static str, &'static str)>,
}

impl Asker {
    /// Askers of all lists.
    pub fn all(library: &Library, lists: &Lists<'_>) -> Vec<Asker> {
        let merges = library.redirects.iter().filter(|redirect| redirect.to.is_some());
        let merged: Vec<String> = merges.map(|redirect| redirect.from.clone()).collect();
        let asker = |route| {
            let keys = lists.keys(route);
            let filters =
                keys.iter().filter(|key| key.is_filter && (SEARCH || key.kind != Kind::Search));
            let filters = filters.map(|key| FilterKey::new(*key, lists.values(route, key)));
            let sorts = keys.iter().filter(|key| key.is_sort).map(|key| key.name);
            Asker {
                sorts: sorts.collect(),
                merged: merged.clone(),
                rows: library.entities.get(route).map_or(0, Vec::len),
                ..Asker::of(route, filters.collect())
            }
        };
        lists.routes().map(asker).collect()
    }

    /// The asker of a list by these filter keys alone.
    pub fn of(route: &'static str, filters: Vec<FilterKey>) -> Asker {
        Asker { route, filters, sorts: Vec::new(), merged: Vec::new(), rows: 0 }
    }

    /// Every operation of every key alone, and every direction of every sort key alone.
    pub fn each(&self, seeded: &mut Seeded, covered: &mut Covered) -> Vec<String> {
        let mut queries = Vec::new();
        for filter in &self.filters {
            for operation in operations(filter.key.kind) {
                let row = filter.holder(seeded);
                let expression = self.expression(seeded, covered, filter, operation, row);
                queries.push(format!("filter={}&per_page=10", encoded(seeded, &expression)));
            }
        }
        for sort in &self.sorts {
            for direction in ["", ":asc", ":desc"] {
                covered.directions.insert((self.route, sort, direction));
                let page = 1 + seeded.below(self.rows / 10 + 1);
                queries.push(format!("sort={sort}{direction}&per_page=10&page={page}"));
            }
        }
        queries
    }

    /// A query of up to four expressions, which one record mostly answers, and up to three sort keys.
    pub fn query(&self, seeded: &mut Seeded, covered: &mut Covered, lists: &Lists<'_>) -> String {
        loop {
            let mut parameters = Vec::new();
            if !self.filters.is_empty() && chance(seeded, 90) {
                let expressions = self.expressions(seeded, covered);
                parameters.push(format!("filter={}", encoded(seeded, &expressions)));
            }
            if !self.sorts.is_empty() && chance(seeded, 70) {
                let sort = self.sort(seeded, covered);
                parameters.push(format!("sort={}", encoded(seeded, &sort)));
            }
            if SEARCH && !self.filters.is_empty() && chance(seeded, 10) {
                let name = self.filters.iter().find(|filter| filter.key.kind == Kind::Search);
                if let Some(name) = name {
                    let own = name.own(seeded, None);
                    let words = value(seeded, &name.key, own, &[]);
                    parameters.push(format!("search={}", encoded(seeded, &words)));
                }
            }
            self.paging(seeded, lists, &mut parameters);
            let turns = seeded.below(parameters.len() + 1);
            parameters.rotate_left(turns);
            let query = parameters.join("&");
            if query.len() <= QUERY_BYTES_MAX {
                return query;
            }
        }
    }

    /// Up to four expressions, which one record mostly answers.
    pub fn expressions(&self, seeded: &mut Seeded, covered: &mut Covered) -> String {
        let count = *one(seeded, &[1, 1, 1, 2, 2, 3, 4]);
        let row = one(seeded, &self.filters).holder(seeded);
        let expression = |_| {
            let mut filter = one(seeded, &self.filters);
            // A key that the record has, if one is found soon.
            for _ in 0..3 {
                if row.is_none_or(|row| filter.values[row].is_empty()) {
                    filter = one(seeded, &self.filters);
                }
            }
            let mut operation = *one(seeded, &operations(filter.key.kind));
            if operation == Refused && chance(seeded, 60) {
                operation = Equal;
            }
            let row = if chance(seeded, 85) { row } else { filter.holder(seeded) };
            self.expression(seeded, covered, filter, operation, row)
        };
        (0..count).map(expression).collect::<Vec<_>>().join(",")
    }

    fn expression(
        &self,
        seeded: &mut Seeded,
        covered: &mut Covered,
        filter: &FilterKey,
        operation: Operation,
        row: Option<usize>,
    ) -> String {
        let key = &filter.key;
        covered.operations.insert((self.route, key.name, operation));
        let raw = |seeded: &mut Seeded, row| {
            let own = filter.own(seeded, row);
            value(seeded, key, own, &self.merged)
        };
        let several = |seeded: &mut Seeded| {
            let mut all = vec![written(&raw(seeded, row), false)];
            for _ in 0..1 + seeded.below(3) {
                let other = written(&raw(seeded, None), chance(seeded, 10));
                let is_nullable = operations(key.kind).contains(&Null);
                all.push(if is_nullable && chance(seeded, 10) { "null".to_owned() } else { other });
            }
            let turns = seeded.below(all.len());
            all.rotate_left(turns);
            all.join("|")
        };
        let year = |value: String| match key.kind {
            Kind::Date => value[..4].to_owned(),
            _ => value.trim_start_matches('-').to_owned(),
        };
        let asked = match operation {
            Equal => written(&raw(seeded, row), false),
            Quoted => written(&raw(seeded, row), true),
            Alternatives => several(seeded),
            Not => format!("!{}", written(&raw(seeded, row), false)),
            NotAlternatives => format!("!{}", several(seeded)),
            Null => "null".to_owned(),
            NotNull => "!null".to_owned(),
            Above => format!(">{}", raw(seeded, row)),
            From => format!(">={}", raw(seeded, row)),
            Below => format!("<{}", raw(seeded, row)),
            To => format!("<={}", raw(seeded, row)),
            Range => {
                let (low, high) = (year(raw(seeded, row)), year(raw(seeded, None)));
                let numbers = (low.parse::<u64>().ok(), high.parse::<u64>().ok());
                match numbers.0 > numbers.1 && chance(seeded, 90) {
                    true => format!("{high}-{low}"),
                    false => format!("{low}-{high}"),
                }
            }
            RangeFrom => format!("{}-", year(raw(seeded, row))),
            RangeTo => format!("-{}", year(raw(seeded, row))),
            Refused => wrong(seeded, key.kind).to_owned(),
        };
        format!("{}:{asked}", key.name)
    }

    fn sort(&self, seeded: &mut Seeded, covered: &mut Covered) -> String {
        let mut keys: Vec<&'static str> = Vec::new();
        for _ in 0..*one(seeded, &[1, 1, 2, 3]) {
            let key = *one(seeded, &self.sorts);
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        let directed = |key: &'static str| {
            let direction = *one(seeded, &["", ":asc", ":desc", ":desc"]);
            covered.directions.insert((self.route, key, direction));
            format!("{key}{direction}")
        };
        keys.into_iter().map(directed).collect::<Vec<_>>().join(",")
    }

    /// Mostly small pages, and any of them up to the last and past it.
    fn paging(&self, seeded: &mut Seeded, lists: &Lists<'_>, parameters: &mut Vec<String>) {
        let size = *one(seeded, &[10, 10, 10, 10, 10, 10, 10, 25, 25, 25, 50, 100]);
        if size != 25 || chance(seeded, 50) {
            parameters
                .push(format!("{}={size}", one(seeded, &["per_page", "per_page", "per-page"])));
        }
        if chance(seeded, 50) {
            return;
        }
        let count =
            lists.answer(self.route, &parameters.join("&")).map_or(0, |answer| answer.count);
        let pages = count.div_ceil(size);
        let page = match seeded.below(8) {
            0 => 1,
            1 => pages.max(1),
            2 => pages + 1,
            3 => 2_147_483_647,
            _ => 1 + seeded.below(pages + 1),
        };
        parameters.push(format!("page={page}"));
    }
}

impl FilterKey {
    /// A key and the values of the records, by record.
    pub fn new(key: Key, values: Vec<Vec<&Value>>) -> FilterKey {
        let text = |value: &&Value| match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let values: Vec<Vec<String>> =
            values.iter().map(|values| values.iter().map(text).collect()).collect();
        let holders = (0..values.len()).filter(|row| !values[*row].is_empty()).collect();
        FilterKey { key, values, holders }
    }

    /// A record that has a value.
    fn holder(&self, seeded: &mut Seeded) -> Option<usize> {
        if self.holders.is_empty() { None } else { Some(*one(seeded, &self.holders)) }
    }

    /// A value of this record, else of any that has one.
    fn own(&self, seeded: &mut Seeded, row: Option<usize>) -> Option<&str> {
        let row =
            row.filter(|row| !self.values[*row].is_empty()).or_else(|| self.holder(seeded))?;
        Some(one(seeded, &self.values[row]).as_str())
    }
}
