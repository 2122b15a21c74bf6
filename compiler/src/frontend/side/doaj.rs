//! DOAJ's list of open-access journals: the CSV that DOAJ has published since 2015.

use pinakes_format::record::{Doaj, DoajApc, DoajLicense, DoajReference};

use crate::frontend::side::cell::TableCell;
use crate::frontend::side::journal_list::{
    CombineRows, JournalList, JournalRow, column, combined, fill_members,
};
use crate::frontend::side::keys::format_issn;
use crate::frontend::side::read::read_list;
use crate::frontend::side::table::{Extend, SideTable};

pub static TABLE: SideTable = SideTable {
    name: "doaj",
    expected: "a CSV with the columns `Journal title` and `Journal ISSN (print version)` or \
               `Journal EISSN (online version)`",
    is_header: |headings| LIST.is_header(headings),
    is_record: |_| false,
    read: |path, limits, diagnostics, object| {
        read_list(&TABLE, &LIST, finish_row, path, limits, diagnostics, object)
    },
    extend: Extend::Source(|source, rows| {
        let doaj: Doaj = combined(rows, &TABLE)?;
        let has_entry = doaj != Doaj::default();
        if has_entry {
            source.doaj = Some(doaj);
        }
        Some(has_entry)
    }),
};

/// The separators between the values of one cell.
const SEPARATORS: [char; 2] = [',', ';'];

/// A row whose cells still depend on one another.
#[derive(Clone, Debug, Default)]
struct DoajRow {
    doaj: Doaj,
    eissn: Option<String>,
    license_url: Option<String>,
    currency: Option<String>,
}

/// A column that holds a URL, and the name of the reference it becomes.
macro_rules! address {
    ($name:literal: $($spelling:literal),*) => {
        column(&[$($spelling),*], |row, cell| row.value.refer($name, cell))
    };
}

/// The headings of all years of the list.
static LIST: JournalList<DoajRow> = JournalList {
    header_groups: &[
        &["Journal title", "Title"],
        &["Journal ISSN (print version)", "Journal EISSN (online version)"],
    ],
    columns: &[
        column(&["Journal ISSN (print version)", "ISSN"], |row, cell| {
            row.value.doaj.issn = row.take_issns(cell).map(format_issn)
        }),
        column(&["Journal EISSN (online version)", "EISSN"], |row, cell| {
            row.value.eissn = row.take_issns(cell).map(format_issn)
        }),
        column(&["Last updated Date", "Added on Date"], |row, cell| {
            row.vintage = cell.vintage().or(row.vintage)
        }),
        column(
            &["Languages in which the journal accepts manuscripts", "Full text language"],
            |row, cell| row.value.doaj.languages = cell.list(&SEPARATORS),
        ),
        column(&["Journal license", "CC license"], |row, cell| {
            row.value.doaj.licenses = licenses(cell)
        }),
        column(&["Subjects", "Subject"], |row, cell| row.value.doaj.subjects = cell.list(&['|'])),
        column(
            &[
                "When did the journal start to publish all content using an open license?",
                "First calendar year journal provided online Open Access content",
            ],
            |row, cell| {
                row.value.doaj.open_access_since = cell.year().map(|year| year.to_string());
            },
        ),
        column(
            &[
                "Average number of weeks between article submission and publication",
                "Average number of weeks between submission and publication",
            ],
            |row, cell| row.value.doaj.publication_weeks = cell.text(),
        ),
        column(&["APC amount"], |row, cell| row.value.doaj.apc = charges(cell)),
        column(&["Currency", "APC currency"], |row, cell| row.value.currency = cell.text()),
        address!("journal": "Journal URL"),
        address!("doaj": "URL in DOAJ"),
        address!("aims_scope": "URL for journal's aims & scope"),
        address!("editorial_board": "URL for the Editorial Board page"),
        address!("author_instructions": "URL for journal's instructions for authors"),
        address!("oa_statement": "URL for journal's Open Access statement"),
        column(&["URL for license terms"], |row, cell| row.value.take_license_url(cell)),
        address!("review_process": "Review process information URL"),
        address!("plagiarism": "Plagiarism information URL"),
        address!("copyright": "Copyright information URL"),
        address!("apc": "APC information URL"),
        address!("waiver": "Waiver policy information URL"),
        address!("other_fees": "Other fees information URL", "Submission fee URL"),
        address!("preservation": "Preservation information URL", "Archiving infomation URL",
                 "Archiving information URL"),
        address!("deposit_policy": "URL for deposit policy"),
    ],
    metrics: None,
};

impl DoajRow {
    fn refer(&mut self, name: &str, cell: TableCell<'_>) {
        let Some(url) = cell.text() else { return };
        let reference = DoajReference { name: Some(name.to_owned()), url: Some(url) };
        self.doaj.reference.get_or_insert_default().push(reference);
    }

    fn take_license_url(&mut self, cell: TableCell<'_>) {
        self.license_url = cell.text();
        self.refer("license_terms", cell);
    }
}

/// Completes a row: an EISSN replaces a missing ISSN, each licence gets the licence URL, and each
/// charge without a currency gets the currency.
fn finish_row(row: JournalRow<DoajRow>) -> JournalRow<Doaj> {
    let JournalRow { keys, has_bad_issn, vintage, value } = row;
    let DoajRow { mut doaj, eissn, license_url, currency } = value;
    doaj.issn = doaj.issn.or(eissn);
    for license in doaj.licenses.iter_mut().flatten() {
        license.url.clone_from(&license_url);
    }
    // Until 2020 a separate column held the currency, as `EUR - Euro`.
    let code = currency.as_deref().and_then(|text| text.split(" - ").next()).map(str::trim);
    for charge in doaj.apc.iter_mut().flatten().filter(|charge| charge.currency.is_none()) {
        charge.currency = code.map(str::to_owned);
    }
    JournalRow { keys, has_bad_issn, vintage, value: doaj }
}

fn licenses(cell: TableCell<'_>) -> Option<Vec<DoajLicense>> {
    let kinds = cell.list(&SEPARATORS)?;
    let license = |kind| DoajLicense { kind: Some(kind), url: None, icon_urls: None };
    Some(kinds.into_iter().map(license).collect())
}

/// Parses `1000 USD; 900 EUR`, or a price alone.
fn charges(cell: TableCell<'_>) -> Option<Vec<DoajApc>> {
    let parts = cell.list(&[';'])?;
    let charge = |part: String| {
        let is_number = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit());
        let price = part.split_whitespace().find(is_number).map(str::to_owned);
        let is_code = |word: &&str| word.len() == 3 && word.bytes().all(|b| b.is_ascii_uppercase());
        let currency = part.split_whitespace().find(is_code).map(str::to_owned);
        (price.is_some() || currency.is_some()).then_some(DoajApc { currency, price })
    };
    let charges: Vec<DoajApc> = parts.into_iter().filter_map(charge).collect();
    (!charges.is_empty()).then_some(charges)
}

impl CombineRows for Doaj {
    /// Takes each member from the first row that has it.
    fn combine(rows: Vec<Doaj>) -> Doaj {
        let mut doaj = Doaj::default();
        fill_members!(
            doaj, &rows,
            issn languages licenses subjects open_access_since reference publication_weeks apc
        );
        doaj
    }
}
