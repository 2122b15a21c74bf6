//! Journal Citation Reports, as they are exported: a row for each category and edition of a
//! journal.

use std::collections::BTreeMap;

use pinakes_format::record::{NamedIndex, WebOfScience};

use crate::frontend::side::SideTable;
use crate::frontend::side::cell::Cell;
use crate::frontend::side::journal_list::{Column, List, best_first, fill_members};
use crate::frontend::side::keys::issn_text;

/// The indexes by the codes that the reports call editions.
const INDEXES: [(&str, &str); 9] = [
    ("AHCI", "Arts & Humanities Citation Index"),
    ("BKCI-S", "Book Citation Index – Science"),
    ("BKCI-SSH", "Book Citation Index – Social Sciences & Humanities"),
    ("CPCI-S", "Conference Proceedings Citation Index – Science"),
    ("CPCI-SSH", "Conference Proceedings Citation Index – Social Sciences & Humanities"),
    ("ESCI", "Emerging Sources Citation Index"),
    ("SCI", "Science Citation Index"),
    ("SCIE", "Science Citation Index Expanded"),
    ("SSCI", "Social Sciences Citation Index"),
];

/// Spellings of headings that the reports have had.
pub static LIST: List<WebOfScience> = List {
    table: SideTable::Jcr,
    known_by: &[
        &["Journal name", "Full Journal Title", "Journal title", "Journal"],
        &["ISSN", "eISSN"],
        &[
            "# JIF",
            "JIF",
            "Journal Impact Factor",
            "Journal Impact Factor #",
            "JIF Quartile",
            "JCR Year",
            "Edition",
            "Web of Science Categories",
        ],
    ],
    columns: &[
        Column {
            spellings: &["ISSN", "Print ISSN"],
            take: |row, cell| row.value.issn = row.take_issns(cell).map(issn_text),
        },
        Column {
            spellings: &["eISSN"],
            take: |row, cell| row.value.eissn = row.take_issns(cell).map(issn_text),
        },
        Column {
            spellings: &["JCR Year", "Year"],
            take: |row, cell| row.vintage = cell.vintage().or(row.vintage),
        },
        Column {
            spellings: &["Issues per year", "Issues/Year", "Number of issues per year"],
            take: |row, cell| row.value.issues_per_year = cell.count(),
        },
        Column {
            spellings: &[
                "Start year",
                "First year",
                "1st Electronic JCR Year",
                "First Electronic JCR Year",
            ],
            take: |row, cell| row.value.start_year = cell.year(),
        },
        Column {
            spellings: &[
                "# JIF",
                "JIF",
                "Journal Impact Factor",
                "Journal Impact Factor #",
                "Impact Factor",
            ],
            take: |row, cell| row.value.jif = cell.number(),
        },
        Column {
            spellings: &[
                "5 Year JIF",
                "Five Year JIF",
                "5-Year Journal Impact Factor",
                "5-Year Impact Factor",
            ],
            take: |row, cell| row.value.five_year_jif = cell.number(),
        },
        Column {
            spellings: &["JIF Rank", "Rank", "Category Rank"],
            take: |row, cell| row.value.best_ranking = position(cell),
        },
        Column {
            spellings: &["Active", "Status"],
            take: |row, cell| row.value.active = cell.activity(),
        },
        Column {
            spellings: &["JIF Quartile", "Quartile", "Best Quartile"],
            take: |row, cell| row.value.quartile = cell.quartile(),
        },
        Column {
            spellings: &["Edition", "Editions", "Web of Science Index", "Index"],
            take: |row, cell| row.value.index = indexes(cell),
        },
        Column {
            spellings: &["Category", "Categories", "Web of Science Categories", "JIF Category"],
            take: |row, cell| row.value.subject_category = cell.text(),
        },
        Column {
            spellings: &["Open Access Status", "OA Status", "Open Access"],
            take: |row, cell| row.value.open_access_status = cell.text(),
        },
    ],
    notes: &["Copyright", "By exporting"],
};

/// The position of a rank: 12 of `12/404`.
fn position(cell: Cell<'_>) -> Option<f64> {
    let position = cell.text.split('/').next().unwrap_or_default();
    Cell { text: position.trim(), ..cell }.number()
}

fn indexes(cell: Cell<'_>) -> Option<Vec<NamedIndex>> {
    let codes = cell.list(&[',', ';', '|', '/'])?;
    let index = |code: String| {
        let upper = code.to_uppercase().replace('&', "");
        let name = INDEXES.iter().find(|(known, _)| *known == upper).map(|(_, name)| *name);
        NamedIndex { code: Some(upper), name: name.map(str::to_owned) }
    };
    Some(codes.into_iter().map(index).collect())
}

/// What all rows of one journal give together: the indexes of all, by code; the best position of
/// all; every other member from the best row that has it, which is the one with the best quartile,
/// then the best position.
pub fn combine(rows: Vec<WebOfScience>) -> WebOfScience {
    // Positions are positive, and the bits of positive numbers order as they do.
    let order =
        |position: Option<f64>| position.map_or(u64::MAX, |position| position.max(0.0).to_bits());
    let rows = best_first(rows, |row| {
        (row.quartile.is_none(), row.quartile.clone(), order(row.best_ranking))
    });
    let mut whole = WebOfScience {
        best_ranking: rows.iter().filter_map(|row| row.best_ranking).min_by(f64::total_cmp),
        ..WebOfScience::default()
    };
    let indexes = rows.iter().filter_map(|row| row.index.as_ref()).flatten();
    let by_code: BTreeMap<_, _> = indexes.map(|index| (index.code.clone(), index)).collect();
    if !by_code.is_empty() {
        whole.index = Some(by_code.into_values().cloned().collect());
    }
    fill_members!(
        whole, &rows,
        issn eissn issues_per_year start_year jif five_year_jif active quartile subject_category
        open_access_status
    );
    whole
}
