//! Scopus's source list, its CiteScore table, and SCImago's journal ranking.

use std::cmp::Reverse;

use pinakes_format::record::{Scopus, Source};

use crate::frontend::side::cell::TableCell;
use crate::frontend::side::journal_list::{
    CombineRows, JournalList, JournalRow, MetricColumns, best_first, column, combined,
    fill_members, replace_metrics,
};
use crate::frontend::side::read::read_list;
use crate::frontend::side::table::{Extend, JoinedRows, SideTable};

pub static SCOPUS_TABLE: SideTable = SideTable {
    name: "scopus",
    expected: "a CSV with an ISSN column and `Sourcerecord ID`, `Active or Inactive` or `CiteScore`",
    is_header: |headings| SCOPUS.is_header(headings),
    is_record: |_| false,
    read: |path, limits, diagnostics, object| {
        read_list(&SCOPUS_TABLE, &SCOPUS, finish_row, path, limits, diagnostics, object)
    },
    extend: Extend::Source(extend),
};

pub static SCIMAGO_TABLE: SideTable = SideTable {
    name: "scimago",
    expected: "a CSV with the columns `Issn`, `SJR` and `SJR Best Quartile`",
    is_header: |headings| SCIMAGO.is_header(headings),
    is_record: |_| false,
    read: |path, limits, diagnostics, object| {
        read_list(&SCIMAGO_TABLE, &SCIMAGO, finish_row, path, limits, diagnostics, object)
    },
    extend: Extend::Source(extend),
};

/// A row whose cells still depend on one another.
#[derive(Clone, Debug, Default)]
struct ScopusRow {
    scopus: Scopus,
    rank_out_of: Option<i64>,
}

/// The headings of all editions of the source list and the CiteScore table.
static SCOPUS: JournalList<ScopusRow> = JournalList {
    header_groups: &[
        &["ISSN", "EISSN", "Print-ISSN", "pISSN"],
        &[
            "Sourcerecord ID",
            "Scopus SourceID",
            "Scopus Source ID",
            "Active or Inactive",
            "CiteScore",
        ],
    ],
    columns: &[
        column(&["Print-ISSN", "ISSN", "pISSN"], issns),
        column(&["E-ISSN"], issns),
        column(&["Year", "CiteScore year"], |row, cell| {
            row.vintage = cell.vintage().or(row.vintage)
        }),
        column(&["Active or Inactive", "Status", "Active"], |row, cell| {
            row.value.scopus.active = cell.activity()
        }),
        column(
            &["Coverage", "Years currently covered by Scopus", "Scopus coverage years"],
            |row, cell| row.value.scopus.coverage = cell.text(),
        ),
        column(&["Scholarly Output", "Documents", "Document count"], |row, cell| {
            row.value.scopus.doc_count = cell.count()
        }),
        column(&["Highest percentile"], |row, cell| row.value.take_highest(cell)),
        column(&["Percentile", "CiteScore Percentile"], |row, cell| {
            row.value.scopus.percent = cell.percent(f64::floor)
        }),
        column(&["Rank", "CiteScore Rank"], |row, cell| row.value.scopus.rank = cell.text()),
        column(&["Rank Out Of"], |row, cell| row.value.rank_out_of = cell.count()),
        column(&["Citation Count", "Citations"], |row, cell| {
            row.value.scopus.citations = cell.count()
        }),
        column(&["SNIP"], |row, cell| row.value.scopus.snip = cell.number()),
        column(&["SJR"], |row, cell| row.value.scopus.sjr = cell.number()),
        column(&["CiteScore"], |row, cell| row.value.scopus.citescore = cell.number()),
        column(&["Percent Cited", "% Cited"], |row, cell| {
            row.value.scopus.percent_cited = cell.percent(f64::round)
        }),
        column(&["Quartile", "CiteScore Quartile", "Best Quartile"], |row, cell| {
            row.value.scopus.quartile = cell.quartile()
        }),
        column(
            &["Scopus Sub-Subject Area", "Scopus Subject Area", "Subject category", "Subject Area"],
            |row, cell| row.value.scopus.subject_category = cell.text(),
        ),
        column(&["Source Type", "Type"], |row, cell| row.value.scopus.kind = source_type(cell)),
    ],
    metrics: Some(MetricColumns {
        spellings: &["CiteScore", "SNIP", "SJR"],
        missing: "scopus_without_metrics",
    }),
};

/// The headings of all years of SCImago's ranking.
static SCIMAGO: JournalList<ScopusRow> = JournalList {
    header_groups: &[&["Issn"], &["SJR"], &["SJR Best Quartile", "SJR Quartile", "H index"]],
    columns: &[
        column(&["Issn"], issns),
        column(&["Year"], |row, cell| row.vintage = cell.vintage().or(row.vintage)),
        column(&["Coverage"], |row, cell| row.value.scopus.coverage = cell.text()),
        column(&["Total Docs."], |row, cell| row.value.scopus.doc_count = cell.count()),
        column(&["Rank"], |row, cell| row.value.scopus.rank = cell.text()),
        column(&["Total Citations (3years)", "Total Cites (3years)"], |row, cell| {
            row.value.scopus.citations = cell.count()
        }),
        column(&["SJR"], |row, cell| row.value.scopus.sjr = cell.number()),
        column(&["SJR Best Quartile", "SJR Quartile"], |row, cell| {
            row.value.scopus.quartile = cell.quartile()
        }),
        column(&["Categories", "Category"], |row, cell| {
            row.value.scopus.subject_category = best_category(cell)
        }),
        column(&["Type"], |row, cell| row.value.scopus.kind = source_type(cell)),
    ],
    metrics: None,
};

/// The source types in the words of the Scopus source list, by the letters of the CiteScore table and by
/// the words of SCImago that differ.
const SOURCE_TYPES: [(&str, &str); 7] = [
    ("j", "Journal"),
    ("b", "Book"),
    ("k", "Book Series"),
    ("p", "Conference Proceedings"),
    ("conference and proceedings", "Conference Proceedings"),
    ("d", "Trade Journal"),
    ("r", "Report"),
];

/// The source type in the words of [`SOURCE_TYPES`]; an unknown type as it is.
fn source_type(cell: TableCell<'_>) -> Option<String> {
    let text = cell.text()?;
    let known = SOURCE_TYPES
        .iter()
        .find(|(other, word)| [other, word].iter().any(|known| text.eq_ignore_ascii_case(known)));
    Some(known.map_or(text, |(_, word)| (*word).to_owned()))
}

fn issns(row: &mut JournalRow<ScopusRow>, cell: TableCell<'_>) {
    row.take_issns(cell);
}

impl ScopusRow {
    /// Reads a cell of three lines: `99.0%`, `1/404` and a category.
    fn take_highest(&mut self, cell: TableCell<'_>) {
        let mut lines = cell.text.lines().map(|line| TableCell { text: line.trim(), ..cell });
        self.scopus.percent = lines.next().and_then(|line| line.percent(f64::floor));
        self.scopus.rank = lines.next().and_then(TableCell::text);
        self.scopus.subject_category = lines.next().and_then(TableCell::text);
    }
}

/// Completes a row: joins a rank and the number of ranked journals to `12/404`.
fn finish_row(row: JournalRow<ScopusRow>) -> JournalRow<Scopus> {
    let JournalRow { keys, has_bad_issn, vintage, value } = row;
    let ScopusRow { mut scopus, rank_out_of } = value;
    if let (Some(rank), Some(out_of)) = (&mut scopus.rank, rank_out_of)
        && rank.bytes().all(|byte| byte.is_ascii_digit())
    {
        *rank = format!("{rank}/{out_of}");
    }
    JournalRow { keys, has_bad_issn, vintage, value: scopus }
}

/// The first category with the best quartile of `Oncology (Q1); Hematology (Q2)`.
fn best_category(cell: TableCell<'_>) -> Option<String> {
    let categories = cell.list(&[';'])?;
    let parsed = categories.iter().map(|category| match category.rsplit_once(" (Q") {
        Some((name, quartile)) => (quartile.trim_end_matches(')'), name.trim()),
        None => ("9", category.as_str()),
    });
    parsed.min_by_key(|(quartile, _)| *quartile).map(|(_, name)| name.to_owned())
}

/// Replaces the Scopus metrics of a source. The Scopus list takes precedence over SCImago, which fills
/// its gaps; so the rows of either table add those of both.
fn extend(source: &mut Source, rows: &JoinedRows<'_>) -> Option<bool> {
    let mut scopus = combined(rows, &SCOPUS_TABLE)?;
    fill(&mut scopus, &combined(rows, &SCIMAGO_TABLE)?);
    Some(replace_metrics(source, |metrics| &mut metrics.scopus, scopus))
}

impl CombineRows for Scopus {
    /// Takes each member from the best row that has it. The best row has the best quartile, then
    /// the highest percentile.
    fn combine(rows: Vec<Scopus>) -> Scopus {
        let rows = best_first(rows, |row| {
            (row.quartile.is_none(), row.quartile.clone(), Reverse(row.percent))
        });
        let mut scopus = Scopus::default();
        for row in &rows {
            fill(&mut scopus, row);
        }
        scopus
    }
}

/// Fills each member that is null from `other`.
fn fill(scopus: &mut Scopus, other: &Scopus) {
    fill_members!(
        scopus, [other],
        active coverage doc_count percent rank citations snip sjr citescore percent_cited quartile
        subject_category kind
    );
}
