//! Sums up the matching records: moments and quantiles of numbers, and citation indexes.
//!
//! A number's statistics come from its histogram, the number of matching rows for each distinct value,
//! which is counted as groups are:
//!
//! ```text
//! values       0 0 0 1 1 4 9 25              histogram   0 × 3, 1 × 2, 4, 9, 25
//! sum 40, mean 5, minimum 0, maximum 25
//! quartiles    0, 1, 5.25                    at the positions 1.75, 3.5 and 5.25, counted from 0
//! h 3          3 records have at least 3     i10 1     g 6: the first 6 have 40 ≥ 6²
//! ```
//!
//! Rows stand in citation order, so the citation indexes look at the first rows only. Records without a
//! value have no part in a number's statistics; without citations they count as uncited.
//!
//! A statistic is a line of [`MEASURES`] or [`INDEXES`]: replies and the OpenAPI document have it from there.

use std::time::Duration;

use crate::index::kept_sets::CountedSet;
use crate::index::orders::{Order, integer_of, number_of};
use crate::query::groups::count::count_codes;
use crate::query::groups::counter::Counted;
use crate::query::groups::estimate::check;
use crate::query::groups::source::Source;
use crate::query::groups::value::GroupValue;
use crate::query::page::walk::OrderWalk;
use crate::query::parse::grouping::Grouping;
use crate::query::parse::query::Query;
use crate::query::parse::statistics_keys::{CITATIONS, StatisticsKeys};
use crate::query::rows::deadline::{Deadline, QueryError};
use crate::query::rows::intersection::Intersection;
use crate::schema::Values;
use crate::snapshot::Snapshot;
use crate::storage::ReadError;

/// The keys by which outputs are shared out.
const STATUS: &str = "open_access.oa_status";
const YEAR: &str = "year";
/// Citations from which an output counts in the i10-index.
const I10: i64 = 10;

/// The statistics of a query's matching records.
#[derive(Clone, Debug, PartialEq)]
pub struct Statistics {
    /// Number of matching records.
    pub count: u64,
    /// The statistics of each key.
    pub of: Vec<KeyStatistics>,
    /// What outputs alone have.
    pub outputs: Option<OutputStatistics>,
}

/// The statistics of one key.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyStatistics {
    /// The name of the key.
    pub key: &'static str,
    /// Records with a value.
    pub count: u64,
    /// Records without a value.
    pub null: u64,
    /// Of the values, for each of [`MEASURES`]; `None` if there are none.
    pub measured: Option<[Measured; MEASURES.len()]>,
}

/// The numbers of one key that the records of a group have.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupNumbers {
    /// The name of the key.
    pub key: &'static str,
    /// Records with a value.
    pub count: u64,
    /// Records without a value.
    pub null: u64,
    /// Of the values, for each of [`GROUP_MEASURES`]; `None` if there are none.
    pub numbers: Option<[Number; GROUP_MEASURES.len()]>,
}

/// The statistics of the numbers of a group, in the order of their members.
pub const GROUP_MEASURES: [&str; 3] = ["sum", "mean", "median"];

/// Sums up the numbers of a group.
pub(in crate::query) fn group_numbers(
    key: &'static str,
    order: Order<'_>,
    counted: &Counted,
) -> Result<GroupNumbers, ReadError> {
    let (values, count) = histogram_of(order, counted)?;
    let numbers = (count > 0).then(|| {
        let sum = sum_of(&values);
        let mean = Number::Fraction(sum.as_f64() / count as f64);
        [sum, mean, Number::Fraction(quantile(&values, count, 0.5))]
    });
    Ok(GroupNumbers { key, count, null: counted.null, numbers })
}

/// A statistic of the values of one key.
pub struct Measure {
    /// The name of the statistic's member in replies.
    pub name: &'static str,
    /// The statistic's definition, for the OpenAPI document.
    pub doc: &'static str,
    /// The count of the statistic's numbers: one, or three in an array.
    pub numbers: usize,
    of: fn(&Histogram<'_>) -> Measured,
}

/// The value of a statistic.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Measured {
    /// Of a statistic with one number.
    One(Number),
    /// Of a statistic with three numbers, which replies show as an array.
    Three([Number; 3]),
}

const fn one(name: &'static str, doc: &'static str, of: fn(&Histogram<'_>) -> Measured) -> Measure {
    Measure { name, doc, numbers: 1, of }
}

/// The statistics of the values of a key, in the order of their members.
pub const MEASURES: [Measure; 7] = [
    one("sum", "The sum of the values.", |of| Measured::One(of.sum)),
    one("mean", "The sum divided by the number of values.", |of| {
        Measured::One(Number::Fraction(of.sum.as_f64() / of.count as f64))
    }),
    one("min", "The least value.", |of| Measured::One(of.min)),
    one("max", "The greatest value.", |of| Measured::One(of.max)),
    Measure {
        name: "quartiles",
        doc: "The first quartile, the median and the third quartile, interpolated.",
        numbers: 3,
        of: |of| Measured::Three([0.25, 0.5, 0.75].map(|share| of.quantile(share))),
    },
    one("p90", "The 90th percentile, interpolated.", |of| Measured::One(of.quantile(0.9))),
    one("p99", "The 99th percentile, interpolated.", |of| Measured::One(of.quantile(0.99))),
];

/// Ascending values, each with the number of its records.
struct Histogram<'h> {
    values: &'h [(Number, u64)],
    /// The number of records, at least 1.
    count: u64,
    sum: Number,
    min: Number,
    max: Number,
}

/// A number in the type of its key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// Of a key of integers.
    Integer(i128),
    /// Of a key of fractional numbers.
    Fraction(f64),
}

/// A citation index of outputs.
pub struct CitationIndex {
    /// The name of the index's member in replies.
    pub name: &'static str,
    /// The index's definition, for the OpenAPI document.
    pub doc: &'static str,
    /// Reads the index from the statistics of outputs.
    pub of: fn(&OutputStatistics) -> u64,
}

/// The citation indexes of outputs, in the order of their members.
pub const INDEXES: [CitationIndex; 3] = [
    CitationIndex {
        name: "h_index",
        doc: "The greatest h such that h records have at least h citations each.",
        of: |outputs| outputs.h_index,
    },
    CitationIndex {
        name: "i10_index",
        doc: "Records with at least ten citations.",
        of: |outputs| outputs.i10_index,
    },
    CitationIndex {
        name: "g_index",
        doc: "The greatest g such that the g most cited records have at least g² citations together.",
        of: |outputs| outputs.g_index,
    },
];

/// Statistics of outputs.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputStatistics {
    /// The greatest h such that h outputs have at least h citations each.
    pub h_index: u64,
    /// Outputs with at least ten citations.
    pub i10_index: u64,
    /// The greatest g such that the g most cited outputs have at least g² citations together; at most
    /// the number of outputs.
    pub g_index: u64,
    /// The outputs of each status of open access, most outputs first.
    pub open_access: Vec<(GroupValue, u64)>,
    /// The outputs of each year, ascending; of no year last.
    pub by_year: Vec<(Option<i64>, u64)>,
}

impl Query {
    /// Computes the statistics of all matching records. Page and sort of the query have no effect.
    ///
    /// Cost: for each key, the matching rows.
    pub fn statistics(
        &self,
        keys: &StatisticsKeys,
        snapshot: &Snapshot,
        deadline: Deadline<'_>,
        time: Duration,
    ) -> Result<Statistics, QueryError> {
        let matches = self.resolve(snapshot, deadline)?;
        let set = self.matching_set(&matches, snapshot, deadline)?.set;
        let rows = snapshot.count(self.entity);
        let orders: Result<Vec<Order<'_>>, ReadError> =
            keys.orders().map(|order| snapshot.order(self.entity, order)).collect();
        let orders = orders?;
        // Each key is checked before the first is counted, so a refusal costs little.
        for order in &orders {
            check(&[Source::Order(*order)], &set.rows, rows, time)
                .map_err(|reason| QueryError::refused("of", keys.text(), reason))?;
        }
        let mut of = Vec::with_capacity(orders.len());
        for (key, order) in keys.names().zip(orders) {
            let counted =
                count_codes(&mut Source::Order(order), &set.rows, rows, snapshot, deadline);
            let summed = counted.and_then(|counted| Ok(key_statistics(key, order, &counted)?));
            of.extend(snapshot.or_noted(summed.map(Some))?);
        }
        // Outputs alone have this key.
        let outputs = match self.keys.filter(STATUS) {
            Some(_) => {
                let summed = self.output_statistics(snapshot, &matches, &set, rows, deadline);
                snapshot.or_noted(summed.map(Some))?
            }
            None => None,
        };
        Ok(Statistics { count: set.rows.count(), of, outputs })
    }

    /// The h-index and the g-index of the matching records, where rows stand in citation order.
    ///
    /// Cost: the first matching rows, up to the greater index, and the chunks that they lie in.
    pub fn citation_indexes(&self, snapshot: &Snapshot) -> Result<[u64; 2], QueryError> {
        let matches = self.resolve(snapshot, Deadline::NEVER)?;
        Ok(citation_indexes(&matches, snapshot.order_by(self.entity, CITATIONS)?)?)
    }

    fn output_statistics(
        &self,
        snapshot: &Snapshot,
        matches: &Intersection<'_>,
        set: &CountedSet,
        rows: u32,
        deadline: Deadline<'_>,
    ) -> Result<OutputStatistics, QueryError> {
        let cited = snapshot.order_by(self.entity, CITATIONS)?;
        let [h_index, g_index] = snapshot.or_noted(citation_indexes(matches, cited))?;
        let count_from_ten = || {
            let from_ten = cited.ranks_of(cited.codes_between(
                crate::index::orders::sortable_integer(I10),
                crate::index::orders::sortable_integer(i64::MAX),
            )?)?;
            // The order descends, so the outputs with ten citations and more precede this rank.
            let walk = OrderWalk::new(set, cited, snapshot.ids(self.entity), deadline);
            walk.count_before(from_ten.end)
        };
        let i10_index = snapshot.or_noted(count_from_ten())?;
        let grouped = |key: &str| -> Result<Vec<(GroupValue, u64)>, QueryError> {
            let index = Grouping::index_of(self.keys, key)
                .ok_or(ReadError::Internal("a key of statistics does not group"))?;
            let mut source = Source::open(&index, snapshot, self.entity, deadline)?;
            let counted = count_codes(&mut source, &set.rows, rows, snapshot, deadline)?;
            let mut groups = Vec::with_capacity(counted.codes.len() + 1);
            for (code, count) in counted.codes {
                groups.push((snapshot.or_noted(source.value(code))?, count));
            }
            groups.extend((counted.null > 0).then_some((GroupValue::Null, counted.null)));
            Ok(groups)
        };
        let mut open_access = snapshot.or_noted(grouped(STATUS))?;
        open_access.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let years =
            snapshot.or_noted(grouped(YEAR))?.into_iter().map(|(value, count)| match value {
                GroupValue::Integer(year) => (Some(year), count),
                _ => (None, count),
            });
        let mut by_year: Vec<(Option<i64>, u64)> = years.collect();
        // Outputs without a year come last.
        by_year.sort_by_key(|(year, _)| (year.is_none(), *year));
        Ok(OutputStatistics { h_index, i10_index, g_index, open_access, by_year })
    }
}

/// The h-index and the g-index of matching rows, which stand in citation order.
fn citation_indexes(matches: &Intersection<'_>, cited: Order<'_>) -> Result<[u64; 2], ReadError> {
    let mut indexes = CitationIndexes {
        cited,
        last_code: u64::MAX,
        last_citations: 0,
        number: 0,
        sum: 0,
        h: 0,
        g: 0,
    };
    for chunk in 0..matches.chunks() {
        let mut outcome = Ok(true);
        matches.chunk(chunk)?.each(|low| {
            outcome = indexes.add(chunk << 16 | u32::from(low));
            matches!(outcome, Ok(true))
        });
        if !outcome? {
            break;
        }
    }
    Ok([indexes.h, indexes.g])
}

/// The citation indexes of the rows so far.
struct CitationIndexes<'s> {
    cited: Order<'s>,
    /// The code of the row before.
    last_code: u64,
    last_citations: u64,
    number: u64,
    /// All citations.
    sum: u128,
    h: u64,
    g: u64,
}

impl CitationIndexes<'_> {
    /// Adds the next row; false once no further row can raise an index.
    fn add(&mut self, row: u32) -> Result<bool, ReadError> {
        let code = self.cited.code_of(row)?;
        if code != self.last_code {
            let is_descending = self.cited.spec().is_descending();
            let value = self.cited.value(code)?.map(|value| integer_of(value, is_descending));
            self.last_code = code;
            self.last_citations = value.map_or(0, |value| value.max(0) as u64);
        }
        let citations = self.last_citations;
        self.number += 1;
        self.sum += u128::from(citations);
        let (raises_h, raises_g) =
            (citations >= self.number, self.sum >= u128::from(self.number).pow(2));
        if raises_h {
            self.h = self.number;
        }
        if raises_g {
            self.g = self.number;
        }
        Ok(raises_h || raises_g)
    }
}

fn key_statistics(
    key: &'static str,
    order: Order<'_>,
    counted: &Counted,
) -> Result<KeyStatistics, ReadError> {
    let (values, count) = histogram_of(order, counted)?;
    Ok(KeyStatistics { key, count, null: counted.null, measured: measured(&values, count) })
}

/// The ascending values of counted codes, each with the number of its records, and the number of all.
fn histogram_of(
    order: Order<'_>,
    counted: &Counted,
) -> Result<(Vec<(Number, u64)>, u64), ReadError> {
    let is_descending = order.spec().is_descending();
    let number = |value: u64| match order.spec().values {
        Values::Integers => Number::Integer(integer_of(value, is_descending).into()),
        _ => Number::Fraction(number_of(value, is_descending)),
    };
    let mut histogram = Vec::with_capacity(counted.codes.len());
    for (code, count) in &counted.codes {
        let value =
            order.value(*code)?.ok_or(ReadError::Internal("a counted code has no value"))?;
        histogram.push((number(value), *count));
    }
    if is_descending {
        histogram.reverse();
    }
    let count = histogram.iter().map(|(_, count)| count).sum();
    Ok((histogram, count))
}

impl Number {
    /// The nearest binary fraction.
    pub fn as_f64(self) -> f64 {
        match self {
            Number::Integer(value) => value as f64,
            Number::Fraction(value) => value,
        }
    }
}

/// Computes all statistics of an ascending histogram of `count` values; `None` without values.
fn measured(values: &[(Number, u64)], count: u64) -> Option<[Measured; MEASURES.len()]> {
    let (min, max) = (values.first()?.0, values.last()?.0);
    let histogram = Histogram { values, count, sum: sum_of(values), min, max };
    Some(MEASURES.map(|measure| (measure.of)(&histogram)))
}

/// The sum, of fractions with twice the precision of one.
fn sum_of(histogram: &[(Number, u64)]) -> Number {
    let (mut integers, mut sum, mut rest, mut is_fraction) = (0i128, 0.0f64, 0.0f64, false);
    for (value, count) in histogram {
        match *value {
            Number::Integer(value) => integers += value * i128::from(*count),
            Number::Fraction(value) => {
                is_fraction = true;
                let count = *count as f64;
                let product = value * count;
                let next = sum + product;
                // What rounding took from the product and from the sum.
                let added = next - sum;
                rest +=
                    value.mul_add(count, -product) + ((sum - (next - added)) + (product - added));
                sum = next;
            }
        }
    }
    if is_fraction { Number::Fraction(sum + rest) } else { Number::Integer(integers) }
}

impl Histogram<'_> {
    fn quantile(&self, share: f64) -> Number {
        Number::Fraction(quantile(self.values, self.count, share))
    }
}

/// The value below which a share of `count` values lies: at position (count − 1) × share, counted from
/// 0, interpolated between the neighbours of a fractional position.
fn quantile(histogram: &[(Number, u64)], count: u64, share: f64) -> f64 {
    let position = (count - 1) as f64 * share;
    let below = position.floor();
    let part = position - below;
    let at = |position: u64| {
        let mut before = 0;
        let found = histogram.iter().find(|(_, count)| {
            before += count;
            before > position
        });
        found.or(histogram.last()).map_or(0.0, |(value, _)| value.as_f64())
    };
    let (low, high) = (at(below as u64), at((below as u64 + 1).min(count - 1)));
    match part {
        0.0 => low,
        part if part < 0.5 => low + (high - low) * part,
        // Rounds as the other half does, mirrored.
        part => high - (high - low) * (1.0 - part),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(values: &[i128]) -> (Vec<(Number, u64)>, u64) {
        let mut sorted = values.to_vec();
        sorted.sort_unstable();
        let runs = sorted.chunk_by(|one, other| one == other);
        let counted = runs.map(|run| (Number::Integer(run[0]), run.len() as u64)).collect();
        (counted, values.len() as u64)
    }

    #[test]
    fn quantiles_lie_between_their_neighbours() {
        let check = |values: &[i128], expected: [f64; 5]| {
            let (counted, count) = histogram(values);
            let found = [0.25, 0.5, 0.75, 0.9, 0.99].map(|share| quantile(&counted, count, share));
            for (found, expected) in found.into_iter().zip(expected) {
                assert!((found - expected).abs() < 1e-9, "{values:?}: {found}, not {expected}");
            }
        };
        check(&[7], [7.0; 5]);
        check(&[1, 2], [1.25, 1.5, 1.75, 1.9, 1.99]);
        check(&[0, 0, 0, 1, 1, 4, 9, 25], [0.0, 1.0, 5.25, 13.8, 23.88]);
        check(&(0..=100).collect::<Vec<i128>>(), [25.0, 50.0, 75.0, 90.0, 99.0]);
        check(&[-5, 5], [-2.5, 0.0, 2.5, 4.0, 4.9]);
    }

    #[test]
    fn sums_keep_what_rounding_takes() {
        let tenth = [(Number::Fraction(0.1), 10)];
        assert_eq!(sum_of(&tenth), Number::Fraction(1.0));
        let far = [(-1e16, 1), (1.0, 3), (1e16, 1)].map(|(value, n)| (Number::Fraction(value), n));
        assert_eq!(sum_of(&far), Number::Fraction(3.0));
        let (counted, count) = histogram(&[i128::from(i64::MAX), i128::from(i64::MAX), 1]);
        assert_eq!(sum_of(&counted), Number::Integer(2 * i128::from(i64::MAX) + 1));
        assert_eq!(measured(&[], 0), None);
        let min = measured(&counted, count).map(|measured| measured[2]);
        assert_eq!(min, Some(Measured::One(Number::Integer(1))));
    }
}
