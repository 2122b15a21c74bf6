//! A journal list declared as data: the spellings of its columns, and the member of each column.

use csv::StringRecord;
use pinakes_format::record::{Metrics, Source};

use crate::frontend::side::cell::{TableCell, vintage_from};
use crate::frontend::side::header::Heading;
use crate::frontend::side::keys;
use crate::frontend::side::table::{JoinedRows, SideTable, SideValue};
use crate::read::Diagnostics;

pub struct JournalList<V: 'static> {
    /// Groups of spellings; a header of this list has a spelling of every group.
    pub header_groups: &'static [&'static [&'static str]],
    /// The columns that are read; all others are ignored.
    pub columns: &'static [ListColumn<V>],
    /// The columns for which people give the list; `None` where `header_groups` requires them.
    pub metrics: Option<MetricColumns>,
}

pub struct MetricColumns {
    pub spellings: &'static [&'static str],
    /// The warning about a list that has none of the columns and may be another list.
    pub missing: &'static str,
}

pub struct ListColumn<V: 'static> {
    /// The spellings of the heading, without its year. The first spelling in the header wins; among
    /// several years the latest wins.
    pub spellings: &'static [&'static str],
    /// Stores a cell that is not blank in the row.
    pub take: fn(&mut JournalRow<V>, TableCell<'_>),
}

/// A column with these spellings, whose cells `take` stores.
pub const fn column<V>(
    spellings: &'static [&'static str],
    take: fn(&mut JournalRow<V>, TableCell<'_>),
) -> ListColumn<V> {
    ListColumn { spellings, take }
}

#[derive(Clone, Debug, Default)]
pub struct JournalRow<V> {
    /// The ISSNs that join the row to sources.
    pub keys: Vec<u64>,
    /// Whether an ISSN cell held text without an ISSN.
    pub has_bad_issn: bool,
    /// The date of the row's data, see [`TableCell::vintage`].
    pub vintage: Option<i64>,
    pub value: V,
}

/// A value that combines the rows of one journal in one list.
pub trait CombineRows: Sized {
    /// `rows` are in descending order of their hashes.
    fn combine(rows: Vec<Self>) -> Self;
}

/// Combines the rows of one list that join a source; `None` if a row cannot be decoded.
pub fn combined<V: SideValue + CombineRows>(rows: &JoinedRows<'_>, table: &SideTable) -> Option<V> {
    rows.values(table).map(V::combine)
}

/// Replaces one group of a source's metrics, unless `metrics` is empty. Returns whether it did.
pub fn replace_metrics<V: Default + PartialEq>(
    source: &mut Source,
    group: fn(&mut Metrics) -> &mut Option<V>,
    metrics: V,
) -> bool {
    let has_metrics = metrics != V::default();
    if has_metrics {
        *group(source.metrics.get_or_insert_default()) = Some(metrics);
    }
    has_metrics
}

impl<V> JournalRow<V> {
    /// Adds the ISSNs of a cell to the keys, and returns the first.
    pub fn take_issns(&mut self, cell: TableCell<'_>) -> Option<u64> {
        match cell.issns() {
            Ok(keys) => {
                let first = keys.first().copied();
                let fresh = keys.into_iter().filter(|key| !self.keys.contains(key));
                let fresh: Vec<u64> = fresh.collect();
                self.keys.extend(fresh);
                first
            }
            Err(()) => {
                self.has_bad_issn = true;
                None
            }
        }
    }
}

/// The positions of a list's columns in one file.
pub struct ListLayout<V: 'static> {
    columns: Vec<(usize, &'static ListColumn<V>)>,
    /// Cells of a row, up to the last heading that is not blank.
    cell_count: usize,
    /// The latest year in the headings of the columns.
    vintage: Option<i64>,
}

impl<V> JournalList<V> {
    /// Whether these headings have a spelling of every group in `header_groups`.
    pub fn is_header(&self, headings: &[Heading]) -> bool {
        self.header_groups.iter().all(|group| Heading::has_any(headings, group))
    }

    /// Finds the columns in a header. A repeated heading is a warning; its first column is read. So is
    /// the lack of all metric columns.
    pub fn layout(&self, header: &StringRecord, diagnostics: &Diagnostics) -> ListLayout<V> {
        let headings: Vec<Heading> = header.iter().map(Heading::parse).collect();
        let columns: Vec<(usize, &'static ListColumn<V>)> = self
            .columns
            .iter()
            .filter_map(|column| Some((column.position(&headings, diagnostics)?, column)))
            .collect();
        let years = columns.iter().filter_map(|(at, _)| headings[*at].year);
        let vintage = years.max().map(|year| vintage_from(year, 0, 0));
        // Some publishers end the header with one delimiter more or fewer than the rows.
        let blank = headings.iter().rev().take_while(|heading| heading.is_blank()).count();
        if let Some(MetricColumns { spellings, missing }) = &self.metrics
            && !Heading::has_any(&headings, spellings)
        {
            diagnostics.warn(missing);
        }
        ListLayout { columns, cell_count: headings.len() - blank, vintage }
    }
}

/// The beginnings of notes below a table, in lower case.
const NOTES: [&str; 4] = ["copyright", "©", "(c)", "by exporting"];

/// Whether a row is a note below the table: it begins as one, and has no ISSN. Commas may split a note
/// into several cells.
pub fn is_note(cells: &StringRecord) -> bool {
    let first = text_at(cells, 0).to_lowercase();
    NOTES.iter().any(|note| first.starts_with(note))
        && cells.iter().all(|cell| keys::parse_issn(cell).is_none())
}

/// The trimmed text of a cell; blank beyond the last cell.
fn text_at(cells: &StringRecord, at: usize) -> &str {
    cells.get(at).unwrap_or_default().trim()
}

impl<V> ListColumn<V> {
    fn position(&self, headings: &[Heading], diagnostics: &Diagnostics) -> Option<usize> {
        self.spellings.iter().find_map(|spelling| {
            let name = Heading::parse(spelling).name;
            let same = headings.iter().enumerate().filter(|(_, heading)| heading.name == name);
            let newest = same.clone().map(|(_, heading)| heading.year).max()?;
            let mut newest = same.filter(|(_, heading)| heading.year == newest);
            let (first, _) = newest.next()?;
            newest.for_each(|_| diagnostics.warn("duplicate_heading"));
            Some(first)
        })
    }
}

impl<V: Default> ListLayout<V> {
    /// Reads a row; fails with the report code of a bad row.
    pub fn read(
        &self,
        cells: &StringRecord,
        has_decimal_comma: bool,
        diagnostics: &Diagnostics,
    ) -> Result<JournalRow<V>, &'static str> {
        let has_more = (self.cell_count..cells.len()).any(|at| !text_at(cells, at).is_empty());
        if cells.len() < self.cell_count || has_more {
            return Err("ragged_row");
        }
        let mut journal = JournalRow {
            keys: Vec::new(),
            has_bad_issn: false,
            vintage: self.vintage,
            value: V::default(),
        };
        for (at, column) in &self.columns {
            let cell = TableCell { text: text_at(cells, *at), has_decimal_comma, diagnostics };
            if !cell.text.is_empty() {
                (column.take)(&mut journal, cell);
            }
        }
        match (journal.has_bad_issn, journal.keys.is_empty()) {
            (true, true) => return Err("bad_issn"),
            (true, false) => diagnostics.warn("bad_issn"),
            _ => {}
        }
        Ok(journal)
    }
}

/// Sorts the rows of one journal by a key, least first; the sort is stable.
pub fn best_first<V, K: Ord>(rows: Vec<V>, mut key: impl FnMut(&V) -> K) -> Vec<V> {
    let mut rows = rows;
    rows.sort_by_cached_key(|row| key(row));
    rows
}

/// Fills each member that is null with the first value among `others`.
macro_rules! fill_members {
    ($into:expr, $others:expr, $($member:ident)*) => {
        for other in $others {
            $(if $into.$member.is_none() {
                $into.$member.clone_from(&other.$member);
            })*
        }
    };
}

pub(crate) use fill_members;
