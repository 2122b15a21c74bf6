//! Exports of Journal Citation Reports: one row per journal, category and edition.

use std::collections::BTreeMap;

use pinakes_format::record::{NamedIndex, WebOfScience};

use crate::frontend::side::cell::TableCell;
use crate::frontend::side::journal_list::{
    CombineRows, JournalList, MetricColumns, best_first, column, combined, fill_members,
    replace_metrics,
};
use crate::frontend::side::keys::format_issn;
use crate::frontend::side::read::read_list;
use crate::frontend::side::table::{Extend, SideTable};

pub static TABLE: SideTable = SideTable {
    name: "jcr",
    expected: "a CSV with the columns `ISSN` or `eISSN` and `Journal name`, and a JIF or an `Edition`",
    is_header: |headings| LIST.is_header(headings),
    is_record: |_| false,
    read: |path, limits, diagnostics, object| {
        read_list(&TABLE, &LIST, |row| row, path, limits, diagnostics, object)
    },
    extend: Extend::Source(|source, rows| {
        Some(replace_metrics(
            source,
            |metrics| &mut metrics.web_of_science,
            combined(rows, &TABLE)?,
        ))
    }),
};

/// The names of the indexes, by the codes in the `Edition` column.
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

/// The headings that tell the reports from other lists.
const OWN_HEADINGS: [&str; 10] = [
    "JIF",
    "Journal Impact Factor",
    "Journal Impact Factor (IF)",
    "Impact Factor",
    "IF",
    "JIF Quartile",
    "IF Quartile",
    "JCR Year",
    "Edition",
    "Web of Science Categories",
];

/// The headings of the impact factor, which are the first of [`OWN_HEADINGS`].
const IMPACT_FACTOR: &[&str] = OWN_HEADINGS.split_at(5).0;

/// The headings of all editions of the reports.
static LIST: JournalList<WebOfScience> = JournalList {
    header_groups: &[
        &["Journal name", "Full Journal Title", "Journal title", "Journal"],
        &["ISSN", "eISSN"],
        &OWN_HEADINGS,
    ],
    columns: &[
        column(&["ISSN", "Print ISSN"], |row, cell| {
            row.value.issn = row.take_issns(cell).map(format_issn)
        }),
        column(&["eISSN"], |row, cell| row.value.eissn = row.take_issns(cell).map(format_issn)),
        column(&["JCR Year", "Year"], |row, cell| row.vintage = cell.vintage().or(row.vintage)),
        column(&["Issues per year", "Issues/Year", "Number of issues per year"], |row, cell| {
            row.value.issues_per_year = cell.count()
        }),
        column(
            &["Start year", "First year", "1st Electronic JCR Year", "First Electronic JCR Year"],
            |row, cell| row.value.start_year = cell.year(),
        ),
        column(IMPACT_FACTOR, |row, cell| row.value.jif = cell.number()),
        column(
            &[
                "5 Year JIF",
                "Five Year JIF",
                "5-Year Journal Impact Factor",
                "5-Year Impact Factor",
                "5-Year IF",
            ],
            |row, cell| row.value.five_year_jif = cell.number(),
        ),
        column(&["JIF Rank", "IF Rank", "Category Rank", "Rank"], |row, cell| {
            row.value.best_ranking = rank_position(cell)
        }),
        column(&["Active", "Status"], |row, cell| row.value.active = cell.activity()),
        column(&["JIF Quartile", "IF Quartile", "Quartile", "Best Quartile"], |row, cell| {
            row.value.quartile = cell.quartile()
        }),
        column(
            &["Edition", "Editions", "Web of Science Index", "Web of Science", "Index"],
            |row, cell| row.value.index = indexes(cell),
        ),
        column(
            &["Category", "Categories", "Web of Science Categories", "JIF Category"],
            |row, cell| row.value.subject_category = cell.text(),
        ),
        column(&["Open Access Status", "OA Status", "Open Access"], |row, cell| {
            row.value.open_access_status = cell.text()
        }),
    ],
    metrics: Some(MetricColumns { spellings: IMPACT_FACTOR, missing: "jcr_without_jif" }),
};

/// Parses the 12 of `12/404`.
fn rank_position(cell: TableCell<'_>) -> Option<f64> {
    let text = cell.text()?;
    let position = text.split('/').next().unwrap_or_default();
    TableCell { text: position.trim(), ..cell }.number()
}

fn indexes(cell: TableCell<'_>) -> Option<Vec<NamedIndex>> {
    let codes = cell.list(&[',', ';', '|', '/'])?;
    let index = |code: String| {
        let upper = code.to_uppercase().replace('&', "");
        let name = INDEXES.iter().find(|(known, _)| *known == upper).map(|(_, name)| *name);
        NamedIndex { code: Some(upper), name: name.map(str::to_owned) }
    };
    Some(codes.into_iter().map(index).collect())
}

impl CombineRows for WebOfScience {
    /// Unites the indexes, sorted by code, and keeps the best position. Every other member comes
    /// from the best row that has it: the best quartile first, then the best position.
    fn combine(rows: Vec<WebOfScience>) -> WebOfScience {
        // The bits of positive floats order like the floats.
        let order = |position: Option<f64>| {
            position.map_or(u64::MAX, |position| position.max(0.0).to_bits())
        };
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
}
