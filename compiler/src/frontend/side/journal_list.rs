//! A list of journals as data: how its columns are spelt, and which member each gives.

use csv::StringRecord;

use crate::frontend::side::SideTable;
use crate::frontend::side::cell::{Cell, vintage_of};
use crate::frontend::side::header::Heading;
use crate::read::lenient::warn;

/// A list of journals.
pub struct List<V: 'static> {
    /// Which one.
    pub table: SideTable,
    /// Spellings of headings, in groups: a header of this list has one of each group.
    pub known_by: &'static [&'static [&'static str]],
    /// Its columns; any others are left alone.
    pub columns: &'static [Column<V>],
    /// How rows begin that are no journals but notes below the table.
    pub notes: &'static [&'static str],
}

/// A column: where its cells go.
pub struct Column<V: 'static> {
    /// How its heading is spelt, `#` where a year stands; the first that is there is taken, and of
    /// that the newest year.
    pub spellings: &'static [&'static str],
    /// Takes a cell, which is not blank.
    pub take: fn(&mut Journal<V>, Cell<'_>),
}

/// A row, as its cells are taken.
#[derive(Clone, Debug, Default)]
pub struct Journal<V> {
    /// The ISSNs it is joined by.
    pub keys: Vec<u64>,
    /// Whether a cell for ISSNs held something else.
    pub has_bad_issn: bool,
    /// When it was true: a day as a number that orders, see [`Cell::vintage`].
    pub vintage: Option<i64>,
    /// What it gives.
    pub value: V,
}

impl<V> Journal<V> {
    /// Takes the ISSNs of a cell as keys.
    pub fn take_issns(&mut self, cell: Cell<'_>) -> Option<u64> {
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

/// Where a list's columns are in one table.
pub struct Places<V: 'static> {
    columns: Vec<(usize, &'static Column<V>)>,
    /// How many cells a row has, up to the last heading that is not blank.
    count: usize,
    /// The newest year that a heading in use names.
    vintage: Option<i64>,
}

impl<V> List<V> {
    /// Finds the columns in a header. Two of the same heading count as a warning, and the first
    /// is taken.
    pub fn places(&self, header: &StringRecord) -> Places<V> {
        let headings: Vec<Heading> = header.iter().map(Heading::read).collect();
        let columns: Vec<(usize, &'static Column<V>)> = self
            .columns
            .iter()
            .filter_map(|column| Some((column.place(&headings)?, column)))
            .collect();
        let years = columns.iter().filter_map(|(at, _)| headings[*at].year);
        let vintage = years.max().map(|year| vintage_of(year, 0, 0));
        // Some publishers end the header with one delimiter more than rows, or less.
        let blank = headings.iter().rev().take_while(|heading| heading.name.is_empty()).count();
        Places { columns, count: headings.len() - blank, vintage }
    }

    /// Whether a row is a note.
    pub fn is_note(&self, cells: &StringRecord) -> bool {
        let first = text_at(cells, 0);
        self.notes.iter().any(|note| first.starts_with(note))
            && (1..cells.len()).all(|at| text_at(cells, at).is_empty())
    }
}

/// The cell at a place, without the white space around it; blank where there is none.
fn text_at(cells: &StringRecord, at: usize) -> &str {
    cells.get(at).unwrap_or_default().trim()
}

impl<V> Column<V> {
    fn place(&self, headings: &[Heading]) -> Option<usize> {
        self.spellings.iter().find_map(|spelling| {
            let name = Heading::of_spelling(spelling);
            let same = headings.iter().enumerate().filter(|(_, heading)| heading.name == name);
            let newest = same.clone().map(|(_, heading)| heading.year).max()?;
            let mut newest = same.filter(|(_, heading)| heading.year == newest);
            let (first, _) = newest.next()?;
            newest.for_each(|_| warn("duplicate_heading"));
            Some(first)
        })
    }
}

impl<V: Default> Places<V> {
    /// Takes a row.
    ///
    /// # Errors
    ///
    /// The code of what is wrong with it.
    pub fn read(
        &self,
        cells: &StringRecord,
        has_decimal_comma: bool,
    ) -> Result<Journal<V>, &'static str> {
        let has_more = (self.count..cells.len()).any(|at| !text_at(cells, at).is_empty());
        if cells.len() < self.count || has_more {
            return Err("ragged_row");
        }
        let mut journal = Journal {
            keys: Vec::new(),
            has_bad_issn: false,
            vintage: self.vintage,
            value: V::default(),
        };
        for (at, column) in &self.columns {
            let cell = Cell { text: text_at(cells, *at), has_decimal_comma };
            if !cell.text.is_empty() {
                (column.take)(&mut journal, cell);
            }
        }
        match (journal.has_bad_issn, journal.keys.is_empty()) {
            (true, true) => return Err("bad_issn"),
            (true, false) => warn("bad_issn"),
            _ => {}
        }
        Ok(journal)
    }
}

/// The rows of one journal by a key, least first; as they came where two have the same.
pub fn best_first<V, K: Ord>(rows: Vec<V>, mut key: impl FnMut(&V) -> K) -> Vec<V> {
    let mut rows = rows;
    rows.sort_by_cached_key(|row| key(row));
    rows
}

/// Gives each member that is null the value of the first of `others` that has one.
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
