//! The ABDC journal quality list.

use pinakes_format::record::Abdc;

use crate::frontend::side::SideTable;
use crate::frontend::side::cell::Cell;
use crate::frontend::side::journal_list::{Column, List, best_first, fill_members};

/// Spellings of headings that the list has had.
pub static LIST: List<Abdc> = List {
    table: SideTable::Abdc,
    known_by: &[
        &["ISSN", "ISSN Online"],
        &["# rating", "rating", "rating #", "ABDC rating", "ABDC # rating", "# ABDC rating"],
    ],
    columns: &[
        Column {
            spellings: &["ISSN"],
            take: |row, cell| {
                row.take_issns(cell);
            },
        },
        Column {
            spellings: &["ISSN Online", "eISSN"],
            take: |row, cell| {
                row.take_issns(cell);
            },
        },
        Column {
            spellings: &["Year"],
            take: |row, cell| row.vintage = cell.vintage().or(row.vintage),
        },
        Column {
            spellings: &[
                "# rating",
                "rating #",
                "ABDC # rating",
                "# ABDC rating",
                "ABDC rating",
                "rating",
            ],
            take: |row, cell| row.value.rating = rating(cell),
        },
    ],
    notes: &[],
};

/// What stands in place of a rating where a journal has none, as letters alone.
const UNRATED: [&str; 6] = ["NR", "NOTRANKED", "NOTRATED", "UNRANKED", "UNRATED", "REMOVED"];

fn rating(cell: Cell<'_>) -> Option<String> {
    let rating = cell.text()?.to_uppercase();
    let letters: String = rating.chars().filter(|c| c.is_alphabetic()).collect();
    let is_none = UNRATED.contains(&letters.as_str());
    (!is_none).then_some(rating)
}

/// What all rows of one journal give together: the best rating, `A*` before `A` before `B`.
pub fn combine(rows: Vec<Abdc>) -> Abdc {
    let rows = best_first(rows, |row| {
        let rating = row.rating.clone();
        (rating.is_none(), rating.as_deref() != Some("A*"), rating)
    });
    let mut abdc = Abdc::default();
    fill_members!(abdc, &rows, rating);
    abdc
}
