//! The ABDC journal quality list.

use pinakes_format::record::Abdc;

use crate::frontend::side::cell::TableCell;
use crate::frontend::side::journal_list::{
    CombineRows, JournalList, best_first, column, combined, fill_members, replace_metrics,
};
use crate::frontend::side::read::read_list;
use crate::frontend::side::table::{Extend, SideTable};

pub static TABLE: SideTable = SideTable {
    name: "abdc",
    expected: "a CSV with the columns `ISSN` or `ISSN Online` and `rating`, as `2022 rating`, `ABDC Ranking` \
               or `ABDC List`",
    is_header: |headings| LIST.is_header(headings),
    is_record: |_| false,
    read: |path, limits, diagnostics, object| {
        read_list(&TABLE, &LIST, |row| row, path, limits, diagnostics, object)
    },
    extend: Extend::Source(|source, rows| {
        Some(replace_metrics(source, |metrics| &mut metrics.abdc, combined(rows, &TABLE)?))
    }),
};

/// The headings of the rating: of today, of 2010 and of 2013.
const RATING: [&str; 4] = ["rating", "ABDC rating", "ABDC Ranking", "ABDC List"];

/// The headings of all editions of the list.
static LIST: JournalList<Abdc> = JournalList {
    header_groups: &[&["ISSN", "ISSN Online"], &RATING],
    columns: &[
        column(&["ISSN"], |row, cell| {
            row.take_issns(cell);
        }),
        column(&["ISSN Online", "eISSN"], |row, cell| {
            row.take_issns(cell);
        }),
        column(&["Year"], |row, cell| row.vintage = cell.vintage().or(row.vintage)),
        column(&RATING, |row, cell| row.value.rating = rating(cell)),
    ],
    metrics: None,
};

/// The entries for a journal without a rating, reduced to their letters.
const UNRATED: [&str; 6] = ["NR", "NOTRANKED", "NOTRATED", "UNRANKED", "UNRATED", "REMOVED"];

fn rating(cell: TableCell<'_>) -> Option<String> {
    let rating = cell.text()?.to_uppercase();
    let letters: String = rating.chars().filter(|c| c.is_alphabetic()).collect();
    let is_none = UNRATED.contains(&letters.as_str());
    (!is_none).then_some(rating)
}

impl CombineRows for Abdc {
    /// Keeps the best rating: `A*`, then `A`, then `B`.
    fn combine(rows: Vec<Abdc>) -> Abdc {
        let rows = best_first(rows, |row| {
            let rating = row.rating.clone();
            (rating.is_none(), rating.as_deref() != Some("A*"), rating)
        });
        let mut abdc = Abdc::default();
        fill_members!(abdc, &rows, rating);
        abdc
    }
}
