//! Random list queries: filters, searches, sort keys and pages.

use std::collections::BTreeSet;

use pinakes_oracle::{Key, Kind, Library, Lists};
use serde_json::Value;

use crate::SeededRng;
use crate::values::{chance, invalid_value, percent_encode, pick, quote, random_value};

/// Whether queries may search words of names.
pub const SEARCH: bool = true;

/// Longest generated query, in bytes.
const QUERY_BYTES_MAX: usize = 12_000;

/// How a filter expression uses its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    Equal,
    Quoted,
    Alternatives,
    Not,
    NotAlternatives,
    Null,
    NotNull,
    GreaterThan,
    AtLeast,
    LessThan,
    AtMost,
    Range,
    RangeFrom,
    RangeTo,
    Invalid,
}

use Operation::*;

const FOR_ALL_KEYS: &[Operation] = &[Equal, Quoted, Alternatives, Not, NotAlternatives, Invalid];
const FOR_NULLABLE_KEYS: &[Operation] = &[Null, NotNull];
const FOR_ORDERED_KEYS: &[Operation] = &[GreaterThan, AtLeast, LessThan, AtMost];
const FOR_RANGE_KEYS: &[Operation] = &[Range, RangeFrom, RangeTo];

/// Returns the operations that a key accepts, and `Invalid`.
pub fn operations(kind: Kind) -> Vec<Operation> {
    let sets: &[&[Operation]] = match kind {
        Kind::Integer | Kind::Date => {
            &[FOR_ALL_KEYS, FOR_NULLABLE_KEYS, FOR_ORDERED_KEYS, FOR_RANGE_KEYS]
        }
        Kind::Fraction => &[FOR_ALL_KEYS, FOR_NULLABLE_KEYS, FOR_ORDERED_KEYS],
        Kind::From | Kind::To | Kind::Search | Kind::ReferenceSearch => &[FOR_ALL_KEYS],
        _ => &[FOR_ALL_KEYS, FOR_NULLABLE_KEYS],
    };
    sets.concat()
}

/// Generates queries for one list.
pub struct QueryGenerator {
    pub route: &'static str,
    pub filters: Vec<FilterKey>,
    pub sorts: Vec<&'static str>,
    merged: Vec<String>,
    rows: usize,
}

/// A filter key and its values in each record.
pub struct FilterKey {
    pub key: Key,
    values: Vec<Vec<String>>,
    /// Rows of the records that have a value.
    rows_with_value: Vec<usize>,
}

/// Operations and sort directions that generated queries have used.
#[derive(Default)]
pub struct Coverage {
    pub operations: BTreeSet<(&'static str, &'static str, Operation)>,
    pub directions: BTreeSet<(&'static str, &'static str, &'static str)>,
}

impl QueryGenerator {
    /// Makes a generator for every list.
    pub fn all(library: &Library, lists: &Lists<'_>) -> Vec<QueryGenerator> {
        let merges = library.redirects.iter().filter(|redirect| redirect.to.is_some());
        let merged: Vec<String> = merges.map(|redirect| redirect.from.clone()).collect();
        let generator = |route| {
            let keys = lists.keys(route);
            let filters =
                keys.iter().filter(|key| key.is_filter && (SEARCH || key.kind != Kind::Search));
            let filters = filters.map(|key| FilterKey::new(*key, lists.values(route, key)));
            let sorts = keys.iter().filter(|key| key.is_sort).map(|key| key.name);
            QueryGenerator {
                sorts: sorts.collect(),
                merged: merged.clone(),
                rows: library.entities.get(route).map_or(0, Vec::len),
                ..QueryGenerator::from_filters(route, filters.collect())
            }
        };
        lists.routes().map(generator).collect()
    }

    /// Makes a generator for a list from these filter keys, without sort keys.
    pub fn from_filters(route: &'static str, filters: Vec<FilterKey>) -> QueryGenerator {
        QueryGenerator { route, filters, sorts: Vec::new(), merged: Vec::new(), rows: 0 }
    }

    /// Generates one query for each operation of each key and each direction of each sort key.
    pub fn every_operation(&self, rng: &mut SeededRng, coverage: &mut Coverage) -> Vec<String> {
        let mut queries = Vec::new();
        for filter in &self.filters {
            for operation in operations(filter.key.kind) {
                let row = filter.row_with_value(rng);
                let expression = self.expression(rng, coverage, filter, operation, row);
                queries.push(format!("filter={}&per_page=10", percent_encode(rng, &expression)));
            }
        }
        for sort in &self.sorts {
            for direction in ["", ":asc", ":desc"] {
                coverage.directions.insert((self.route, sort, direction));
                let page = 1 + rng.below(self.rows / 10 + 1);
                queries.push(format!("sort={sort}{direction}&per_page=10&page={page}"));
            }
        }
        queries
    }

    /// Generates a query of up to four expressions and three sort keys; one record usually matches
    /// all expressions.
    pub fn query(&self, rng: &mut SeededRng, coverage: &mut Coverage, lists: &Lists<'_>) -> String {
        loop {
            let mut parameters = Vec::new();
            if !self.filters.is_empty() && chance(rng, 90) {
                let expressions = self.expressions(rng, coverage);
                parameters.push(format!("filter={}", percent_encode(rng, &expressions)));
            }
            if !self.sorts.is_empty() && chance(rng, 70) {
                let sort = self.sort(rng, coverage);
                parameters.push(format!("sort={}", percent_encode(rng, &sort)));
            }
            if SEARCH && !self.filters.is_empty() && chance(rng, 10) {
                let name = self.filters.iter().find(|filter| filter.key.name == "name.search");
                if let Some(name) = name {
                    let own = name.value_of(rng, None);
                    let words = random_value(rng, &name.key, own, &[]);
                    parameters.push(format!("search={}", percent_encode(rng, &words)));
                }
            }
            self.paging(rng, lists, &mut parameters);
            let turns = rng.below(parameters.len() + 1);
            parameters.rotate_left(turns);
            let query = parameters.join("&");
            if query.len() <= QUERY_BYTES_MAX {
                return query;
            }
        }
    }

    /// Generates up to four expressions; one record usually matches all of them.
    pub fn expressions(&self, rng: &mut SeededRng, coverage: &mut Coverage) -> String {
        let count = *pick(rng, &[1, 1, 1, 2, 2, 3, 4]);
        let row = pick(rng, &self.filters).row_with_value(rng);
        let expression = |_| {
            let mut filter = pick(rng, &self.filters);
            // Up to three attempts to pick a key for which the record has a value.
            for _ in 0..3 {
                if row.is_none_or(|row| filter.values[row].is_empty()) {
                    filter = pick(rng, &self.filters);
                }
            }
            let mut operation = *pick(rng, &operations(filter.key.kind));
            if operation == Invalid && chance(rng, 60) {
                operation = Equal;
            }
            let row = if chance(rng, 85) { row } else { filter.row_with_value(rng) };
            self.expression(rng, coverage, filter, operation, row)
        };
        (0..count).map(expression).collect::<Vec<_>>().join(",")
    }

    fn expression(
        &self,
        rng: &mut SeededRng,
        coverage: &mut Coverage,
        filter: &FilterKey,
        operation: Operation,
        row: Option<usize>,
    ) -> String {
        let key = &filter.key;
        coverage.operations.insert((self.route, key.name, operation));
        let raw = |rng: &mut SeededRng, row| {
            let own = filter.value_of(rng, row);
            random_value(rng, key, own, &self.merged)
        };
        let several = |rng: &mut SeededRng| {
            let mut all = vec![quote(&raw(rng, row), false)];
            for _ in 0..1 + rng.below(3) {
                let other = quote(&raw(rng, None), chance(rng, 10));
                let is_nullable = operations(key.kind).contains(&Null);
                all.push(if is_nullable && chance(rng, 10) { "null".to_owned() } else { other });
            }
            let turns = rng.below(all.len());
            all.rotate_left(turns);
            all.join(if chance(rng, 10) { " | " } else { "|" })
        };
        let year = |value: String| match key.kind {
            Kind::Date => value[..4].to_owned(),
            _ => value.trim_start_matches('-').to_owned(),
        };
        let written = match operation {
            Equal => quote(&raw(rng, row), false),
            Quoted => quote(&raw(rng, row), true),
            Alternatives => several(rng),
            Not => format!("!{}", quote(&raw(rng, row), false)),
            NotAlternatives => format!("!{}", several(rng)),
            Null => "null".to_owned(),
            NotNull => "!null".to_owned(),
            GreaterThan => format!(">{}", raw(rng, row)),
            AtLeast => format!(">={}", raw(rng, row)),
            LessThan => format!("<{}", raw(rng, row)),
            AtMost => format!("<={}", raw(rng, row)),
            Range => {
                let (low, high) = (year(raw(rng, row)), year(raw(rng, None)));
                let numbers = (low.parse::<u64>().ok(), high.parse::<u64>().ok());
                match numbers.0 > numbers.1 && chance(rng, 90) {
                    true => format!("{high}-{low}"),
                    false => format!("{low}-{high}"),
                }
            }
            RangeFrom => format!("{}-", year(raw(rng, row))),
            RangeTo => format!("-{}", year(raw(rng, row))),
            Invalid => invalid_value(rng, key.kind).to_owned(),
        };
        match chance(rng, 10) {
            true => format!(" {} :  {written} ", key.name),
            false => format!("{}:{written}", key.name),
        }
    }

    fn sort(&self, rng: &mut SeededRng, coverage: &mut Coverage) -> String {
        let mut keys: Vec<&'static str> = Vec::new();
        for _ in 0..*pick(rng, &[1, 1, 2, 3]) {
            let key = *pick(rng, &self.sorts);
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        let directed = |key: &'static str| {
            let direction = *pick(rng, &["", ":asc", ":desc", ":desc"]);
            coverage.directions.insert((self.route, key, direction));
            format!("{key}{direction}")
        };
        let directed: Vec<String> = keys.into_iter().map(directed).collect();
        directed.join(if chance(rng, 10) { ", " } else { "," })
    }

    /// Adds a page, usually small, between the first page and the page after the last.
    fn paging(&self, rng: &mut SeededRng, lists: &Lists<'_>, parameters: &mut Vec<String>) {
        let size = *pick(rng, &[10, 10, 10, 10, 10, 10, 10, 25, 25, 25, 50, 100]);
        if size != 25 || chance(rng, 50) {
            parameters.push(format!("{}={size}", pick(rng, &["per_page", "per_page", "per-page"])));
        }
        if chance(rng, 50) {
            return;
        }
        let count =
            lists.answer(self.route, &parameters.join("&")).map_or(0, |answer| answer.count);
        let pages = count.div_ceil(size);
        let page = match rng.below(8) {
            0 => 1,
            1 => pages.max(1),
            2 => pages + 1,
            3 => 2_147_483_647,
            _ => 1 + rng.below(pages + 1),
        };
        parameters.push(format!("page={page}"));
    }
}

impl FilterKey {
    /// Collects the values of a key by row.
    pub fn new(key: Key, values: Vec<Vec<&Value>>) -> FilterKey {
        let text = |value: &&Value| match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let values: Vec<Vec<String>> =
            values.iter().map(|values| values.iter().map(text).collect()).collect();
        let rows_with_value = (0..values.len()).filter(|row| !values[*row].is_empty()).collect();
        FilterKey { key, values, rows_with_value }
    }

    /// Picks the row of a record that has a value.
    fn row_with_value(&self, rng: &mut SeededRng) -> Option<usize> {
        if self.rows_with_value.is_empty() { None } else { Some(*pick(rng, &self.rows_with_value)) }
    }

    /// Picks a value of this record, or of any record if this record has none.
    fn value_of(&self, rng: &mut SeededRng, row: Option<usize>) -> Option<&str> {
        let row =
            row.filter(|row| !self.values[*row].is_empty()).or_else(|| self.row_with_value(rng))?;
        Some(pick(rng, &self.values[row]).as_str())
    }
}

/// The sorts along which a snapshot counts the rows of frequent terms, and those of the rows.
const COUNTED_SORTS: [&str; 7] = [
    "",
    "cited_by_count:desc",
    "date:desc",
    "fwci:desc",
    "year:desc,cited_by_count:desc",
    "year:desc,fwci:desc",
    "date:desc,cited_by_count:desc",
];

/// Filters by terms that many outputs have. `YEAR` stands for a year.
const FREQUENT: [&str; 14] = [
    "",
    "type:article",
    "type:!article",
    "type:article|preprint",
    "type:article|article",
    "type:!article|preprint",
    "is_oa:true",
    "is_oa:false",
    "language.code:en",
    "year:YEAR",
    "year:YEAR,type:article",
    "is_oa:true,year:YEAR",
    "year:YEAR,type:!article",
    "type:article,is_oa:true",
];

/// A page at a random position of a list of outputs by a counted sort, filtered by frequent terms.
pub fn counted_query(rng: &mut SeededRng) -> String {
    let filter = pick(rng, &FREQUENT).replace("YEAR", &(1_990 + rng.below(37)).to_string());
    let sort = *pick(rng, &COUNTED_SORTS);
    let per_page = *pick(rng, &[1, 10, 25, 100]);
    // Half of the pages are among the first, and some behind the last.
    let page = 1 + if chance(rng, 50) { rng.below(4) } else { rng.below(2_000 / per_page) };
    let filter = percent_encode(rng, &filter);
    let parameters = [("filter", filter.as_str()), ("sort", sort)];
    let given = parameters.iter().filter(|(_, value)| !value.is_empty());
    let given: String = given.map(|(name, value)| format!("{name}={value}&")).collect();
    format!("{given}per_page={per_page}&page={page}")
}
