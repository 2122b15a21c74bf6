//! Counts by year, as a drawing and as a table.

use std::collections::BTreeMap;

use crate::pages::labels::{label, thousands};
use crate::pages::preview::Preview;

/// Size of the drawing without the years below, about that of a phone: text in it keeps its size there.
const WIDTH: usize = 400;
const HEIGHT: usize = 100;
/// Height of the largest count above the bars, and of the years below.
const TOP: usize = 15;
const YEARS_HEIGHT: usize = 18;
/// Years of a drawing; older years stand in the table alone.
const YEARS_MAX: usize = 40;
/// Years that are named below their bars; of more, every so many.
const NAMED_YEARS: usize = 12;

/// Counts that are drawn; the table has all.
const DRAWN: [&str; 2] = ["outputs_count", "cited_by_count"];

/// A drawing of one count.
#[derive(Debug, PartialEq)]
pub struct Chart {
    pub heading: String,
    /// The count at the top of the drawing.
    pub largest: String,
    /// Whether the last bar is of the running year.
    pub is_partial: bool,
    pub bars: Vec<YearBar>,
    pub width: usize,
    /// The top of the highest bar, and the foot of all.
    pub top: usize,
    pub foot: usize,
    pub height: usize,
}

/// The bar of a year.
#[derive(Debug, PartialEq)]
pub struct YearBar {
    pub year: i64,
    pub count: String,
    pub x: usize,
    pub y: usize,
    pub width: usize,
    pub height: usize,
    /// Middle of the bar.
    pub middle: usize,
    /// Whether records of the year are still to come.
    pub is_partial: bool,
    /// Whether the year stands below the bar.
    pub is_named: bool,
}

/// Counts by year.
#[derive(Debug, Default, PartialEq)]
pub struct ByYear {
    pub charts: Vec<Chart>,
    /// Headings of the table, and its lines from the newest year on.
    pub headings: Vec<String>,
    pub lines: Vec<(i64, Vec<String>)>,
}

/// Reads a list of objects with a year and counts. Of the running year, and of years to come, the counts are partial.
pub fn by_year(list: &Preview, running: Option<i64>) -> Option<ByYear> {
    let mut years: Vec<(i64, &Preview)> = list
        .items()
        .iter()
        .filter_map(|counts| Some((counts.get("year").integer()?, counts)))
        .collect();
    years.sort_by_key(|(year, _)| *year);
    let Preview::Object(members) = years.first()?.1 else { return None };
    let names = members.iter().map(|(name, _)| name.as_str()).filter(|name| *name != "year");
    let is_known = |name: &&str| years.iter().any(|(_, of)| of.get(name).integer().is_some());
    let names: Vec<&str> = names.filter(is_known).collect();
    let count = |of: &Preview, name: &str| of.get(name).integer().unwrap_or(0).max(0);
    let line = |(year, of): &(i64, &Preview)| {
        (*year, names.iter().map(|name| thousands(count(of, name))).collect())
    };
    let lines: Vec<(i64, Vec<String>)> = years.iter().rev().map(line).collect();
    let newest = &years[years.len().saturating_sub(YEARS_MAX)..];
    // Of zeros alone there is nothing to draw.
    let charts = names.iter().filter(|name| DRAWN.contains(name)).filter_map(|name| {
        let known: BTreeMap<i64, i64> =
            newest.iter().map(|(year, of)| (*year, count(of, name))).collect();
        let (first, last) = (*known.keys().next()?, *known.keys().next_back()?);
        // A year without a line has a bar of no height, so that years are as far apart as they are.
        let years = first.max(last.saturating_sub(YEARS_MAX as i64 - 1))..=last;
        let counts: Vec<(i64, i64)> =
            years.map(|year| (year, known.get(&year).copied().unwrap_or(0))).collect();
        counts.iter().any(|(_, count)| *count > 0).then(|| chart(name, &counts, running))
    });
    Some(ByYear {
        charts: charts.collect(),
        headings: names.iter().map(|name| label(name)).collect(),
        lines,
    })
}

fn chart(name: &str, counts: &[(i64, i64)], running: Option<i64>) -> Chart {
    let is_partial = |year: i64| running.is_some_and(|running| year >= running);
    let largest = counts.iter().map(|(_, count)| *count).max().unwrap_or(0).max(1) as u64;
    let pitch = WIDTH / counts.len().max(NAMED_YEARS);
    let step = counts.len().div_ceil(NAMED_YEARS);
    let bar = |(at, (year, count)): (usize, &(i64, i64))| {
        // Less than the height, which fits.
        let height = (*count as u64 * HEIGHT as u64).div_ceil(largest) as usize;
        YearBar {
            year: *year,
            count: thousands(*count),
            x: at * pitch + 2,
            y: TOP + HEIGHT - height,
            width: pitch.saturating_sub(4).max(1),
            height,
            middle: at * pitch + pitch / 2,
            is_partial: is_partial(*year),
            is_named: (counts.len() - 1 - at).is_multiple_of(step),
        }
    };
    Chart {
        heading: label(name),
        largest: thousands(largest as i64),
        is_partial: counts.last().is_some_and(|(year, _)| is_partial(*year)),
        bars: counts.iter().enumerate().map(bar).collect(),
        width: WIDTH,
        top: TOP,
        foot: TOP + HEIGHT,
        height: TOP + HEIGHT + YEARS_HEIGHT,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_count_is_the_highest_bar() {
        let list = Preview::parse(
            br#"[{"year":2025,"outputs_count":null,"cited_by_count":5},
                {"year":2024,"outputs_count":null,"cited_by_count":1000},
                {"year":null,"cited_by_count":7}]"#,
        );
        let found = by_year(&list, Some(2025)).unwrap();
        assert_eq!(found.headings, ["Citations"]);
        assert_eq!(found.lines, [(2025, vec!["5".into()]), (2024, vec!["1\u{202f}000".into()])]);
        let bars = &found.charts[0].bars;
        assert_eq!((bars[0].year, bars[0].height, bars[0].y), (2024, HEIGHT, TOP));
        assert_eq!((bars[1].year, bars[1].height), (2025, 1));
        assert!(bars.iter().all(|bar| bar.x + bar.width <= WIDTH));
        assert_eq!((bars[0].is_partial, bars[1].is_partial), (false, true));
        assert_eq!(by_year(&Preview::Null, None), None);
    }
}
