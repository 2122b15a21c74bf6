//! Scopus: its source list and CiteScore table, and SCImago's journal ranking.

use std::cmp::Reverse;

use pinakes_format::record::Scopus;

use crate::frontend::side::SideTable;
use crate::frontend::side::cell::Cell;
use crate::frontend::side::journal_list::{Column, Journal, List, best_first, fill_members};

/// A row of either list and what its cells need of one another.
#[derive(Clone, Debug, Default)]
pub struct Entry {
    /// What the row gives.
    pub scopus: Scopus,
    rank_out_of: Option<i64>,
}

/// Spellings of headings that the source list and the CiteScore table have had.
pub static SCOPUS: List<Entry> = List {
    table: SideTable::Scopus,
    known_by: &[
        &["ISSN", "EISSN", "Print-ISSN", "pISSN"],
        &[
            "Sourcerecord ID",
            "Sourcerecord id",
            "Scopus SourceID",
            "Scopus Source ID",
            "Active or Inactive",
            "CiteScore",
            "CiteScore #",
            "# CiteScore",
        ],
    ],
    columns: &[
        Column { spellings: &["Print-ISSN", "ISSN", "pISSN"], take: issns },
        Column { spellings: &["E-ISSN"], take: issns },
        Column {
            spellings: &["Year", "CiteScore year"],
            take: |row, cell| row.vintage = cell.vintage().or(row.vintage),
        },
        Column {
            spellings: &["Active or Inactive", "Status", "Active"],
            take: |row, cell| row.value.scopus.active = cell.activity(),
        },
        Column {
            spellings: &["Coverage", "Years currently covered by Scopus", "Scopus coverage years"],
            take: |row, cell| row.value.scopus.coverage = cell.text(),
        },
        Column {
            spellings: &["Scholarly Output", "# Documents", "Documents", "Document count"],
            take: |row, cell| row.value.scopus.doc_count = cell.count(),
        },
        Column {
            spellings: &["Highest percentile"],
            take: |row, cell| row.value.take_highest(cell),
        },
        Column {
            spellings: &["Percentile", "CiteScore Percentile", "# CiteScore Percentile"],
            take: |row, cell| row.value.scopus.percent = cell.percent(f64::floor),
        },
        Column {
            spellings: &["Rank", "CiteScore Rank", "# Rank"],
            take: |row, cell| row.value.scopus.rank = cell.text(),
        },
        Column {
            spellings: &["Rank Out Of", "# Rank Out Of"],
            take: |row, cell| row.value.rank_out_of = cell.count(),
        },
        Column {
            spellings: &["Citation Count", "# Citations", "Citations"],
            take: |row, cell| row.value.scopus.citations = cell.count(),
        },
        Column {
            spellings: &["SNIP", "# SNIP", "SNIP #"],
            take: |row, cell| row.value.scopus.snip = cell.number(),
        },
        Column {
            spellings: &["SJR", "# SJR", "SJR #"],
            take: |row, cell| row.value.scopus.sjr = cell.number(),
        },
        Column {
            spellings: &["CiteScore", "# CiteScore", "CiteScore #"],
            take: |row, cell| row.value.scopus.citescore = cell.number(),
        },
        Column {
            spellings: &["Percent Cited", "% Cited", "# Percent Cited"],
            take: |row, cell| row.value.scopus.percent_cited = cell.percent(f64::round),
        },
        Column {
            spellings: &["Quartile", "CiteScore Quartile", "Best Quartile"],
            take: |row, cell| row.value.scopus.quartile = cell.quartile(),
        },
        Column {
            spellings: &[
                "Scopus Sub-Subject Area",
                "Scopus Subject Area",
                "Subject category",
                "Subject Area",
            ],
            take: |row, cell| row.value.scopus.subject_category = cell.text(),
        },
        Column {
            spellings: &["Source Type", "Type"],
            take: |row, cell| row.value.scopus.kind = kind(cell),
        },
    ],
    notes: &[],
};

/// Spellings of headings that SCImago's ranking has had.
pub static SCIMAGO: List<Entry> = List {
    table: SideTable::Scimago,
    known_by: &[&["Issn"], &["SJR", "SJR #"], &["SJR Best Quartile", "SJR Quartile", "H index"]],
    columns: &[
        Column { spellings: &["Issn"], take: issns },
        Column {
            spellings: &["Year"],
            take: |row, cell| row.vintage = cell.vintage().or(row.vintage),
        },
        Column {
            spellings: &["Coverage"],
            take: |row, cell| row.value.scopus.coverage = cell.text(),
        },
        Column {
            spellings: &["Total Docs. (#)", "Total Docs."],
            take: |row, cell| row.value.scopus.doc_count = cell.count(),
        },
        Column { spellings: &["Rank"], take: |row, cell| row.value.scopus.rank = cell.text() },
        Column {
            spellings: &["Total Citations (3years)", "Total Cites (3years)"],
            take: |row, cell| row.value.scopus.citations = cell.count(),
        },
        Column {
            spellings: &["SJR", "SJR #"],
            take: |row, cell| row.value.scopus.sjr = cell.number(),
        },
        Column {
            spellings: &["SJR Best Quartile", "SJR Quartile"],
            take: |row, cell| row.value.scopus.quartile = cell.quartile(),
        },
        Column {
            spellings: &["Categories", "Category"],
            take: |row, cell| row.value.scopus.subject_category = best_category(cell),
        },
        Column { spellings: &["Type"], take: |row, cell| row.value.scopus.kind = cell.text() },
    ],
    notes: &[],
};

/// The letters that the CiteScore table has for the types of sources, with the source list's words.
const KINDS: [(&str, &str); 6] = [
    ("j", "Journal"),
    ("b", "Book"),
    ("k", "Book Series"),
    ("p", "Conference Proceedings"),
    ("d", "Trade Journal"),
    ("r", "Report"),
];

fn kind(cell: Cell<'_>) -> Option<String> {
    let text = cell.text()?;
    let known = KINDS.iter().find(|(letter, _)| text.eq_ignore_ascii_case(letter));
    Some(known.map_or(text, |(_, word)| (*word).to_owned()))
}

fn issns(row: &mut Journal<Entry>, cell: Cell<'_>) {
    row.take_issns(cell);
}

impl Entry {
    /// `99.0%`, `1/404` and a category, each on a line of one cell.
    fn take_highest(&mut self, cell: Cell<'_>) {
        let mut lines = cell.text.lines().map(|line| Cell { text: line.trim(), ..cell });
        self.scopus.percent = lines.next().and_then(|line| line.percent(f64::floor));
        self.scopus.rank = lines.next().and_then(Cell::text);
        self.scopus.subject_category = lines.next().and_then(Cell::text);
    }
}

/// What a row gives, its cells taken: a rank in one column and how many are ranked in another are
/// one text, `12/404`.
pub fn settle(row: Journal<Entry>) -> Journal<Scopus> {
    let Journal { keys, has_bad_issn, vintage, value } = row;
    let Entry { mut scopus, rank_out_of } = value;
    if let (Some(rank), Some(out_of)) = (&mut scopus.rank, rank_out_of)
        && rank.bytes().all(|byte| byte.is_ascii_digit())
    {
        *rank = format!("{rank}/{out_of}");
    }
    Journal { keys, has_bad_issn, vintage, value: scopus }
}

/// The first category with the best quartile of `Oncology (Q1); Hematology (Q2)`.
fn best_category(cell: Cell<'_>) -> Option<String> {
    let categories = cell.list(&[';'])?;
    let parsed = categories.iter().map(|category| match category.rsplit_once(" (Q") {
        Some((name, quartile)) => (quartile.trim_end_matches(')'), name.trim()),
        None => ("9", category.as_str()),
    });
    parsed.min_by_key(|(quartile, _)| *quartile).map(|(_, name)| name.to_owned())
}

/// What all rows of one journal in one list give together: each member from the best row that has
/// it, which is the one with the best quartile, then the highest percentile.
pub fn combine(rows: Vec<Scopus>) -> Scopus {
    let rows = best_first(rows, |row| {
        (row.quartile.is_none(), row.quartile.clone(), Reverse(row.percent))
    });
    let mut scopus = Scopus::default();
    for row in &rows {
        fill(&mut scopus, row);
    }
    scopus
}

/// Gives each member that is null the other's.
pub fn fill(scopus: &mut Scopus, other: &Scopus) {
    fill_members!(
        scopus, [other],
        active coverage doc_count percent rank citations snip sjr citescore percent_cited quartile
        subject_category kind
    );
}
