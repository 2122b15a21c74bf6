//! DOAJ's list of open-access journals: the CSV that DOAJ publishes, of any year since 2015.

use pinakes_format::record::{Doaj, DoajApc, DoajLicense, DoajReference};

use crate::frontend::side::SideTable;
use crate::frontend::side::cell::Cell;
use crate::frontend::side::journal_list::{Column, Journal, List, fill_members};
use crate::frontend::side::keys::issn_text;

/// What stands between several values of one cell.
const SEPARATORS: [char; 2] = [',', ';'];

/// A row of the list and what its cells need of one another.
#[derive(Clone, Debug, Default)]
pub struct Entry {
    /// What the row gives.
    pub doaj: Doaj,
    eissn: Option<String>,
    license_url: Option<String>,
    currency: Option<String>,
}

/// A column that is an address.
macro_rules! address {
    ($name:literal: $($spelling:literal),*) => {
        Column {
            spellings: &[$($spelling),*],
            take: |row, cell| row.value.refer($name, cell),
        }
    };
}

/// How the list is spelt.
pub static LIST: List<Entry> = List {
    table: SideTable::Doaj,
    known_by: &[
        &["Journal title", "Title"],
        &["Journal ISSN (print version)", "Journal EISSN (online version)"],
    ],
    columns: &[
        Column {
            spellings: &["Journal ISSN (print version)", "ISSN"],
            take: |row, cell| row.value.doaj.issn = row.take_issns(cell).map(issn_text),
        },
        Column {
            spellings: &["Journal EISSN (online version)", "EISSN"],
            take: |row, cell| row.value.eissn = row.take_issns(cell).map(issn_text),
        },
        Column {
            spellings: &["Last updated Date", "Added on Date"],
            take: |row, cell| row.vintage = cell.vintage().or(row.vintage),
        },
        Column {
            spellings: &[
                "Languages in which the journal accepts manuscripts",
                "Full text language",
            ],
            take: |row, cell| row.value.doaj.languages = cell.list(&SEPARATORS),
        },
        Column {
            spellings: &["Journal license", "CC license"],
            take: |row, cell| row.value.doaj.licenses = licenses(cell),
        },
        Column {
            spellings: &["Subjects", "Subject"],
            take: |row, cell| row.value.doaj.subjects = cell.list(&['|']),
        },
        Column {
            spellings: &[
                "When did the journal start to publish all content using an open license?",
                "First calendar year journal provided online Open Access content",
            ],
            take: |row, cell| {
                row.value.doaj.open_access_since = cell.year().map(|year| year.to_string());
            },
        },
        Column {
            spellings: &[
                "Average number of weeks between article submission and publication",
                "Average number of weeks between submission and publication",
            ],
            take: |row, cell| row.value.doaj.publication_weeks = cell.text(),
        },
        Column { spellings: &["APC amount"], take: |row, cell| row.value.doaj.apc = charges(cell) },
        Column {
            spellings: &["Currency", "APC currency"],
            take: |row, cell| row.value.currency = cell.text(),
        },
        address!("journal": "Journal URL"),
        address!("doaj": "URL in DOAJ"),
        address!("aims_scope": "URL for journal's aims & scope"),
        address!("editorial_board": "URL for the Editorial Board page"),
        address!("author_instructions": "URL for journal's instructions for authors"),
        address!("oa_statement": "URL for journal's Open Access statement"),
        Column {
            spellings: &["URL for license terms"],
            take: |row, cell| row.value.take_license_url(cell),
        },
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
    notes: &[],
};

impl Entry {
    fn refer(&mut self, name: &str, cell: Cell<'_>) {
        let Some(url) = cell.text() else { return };
        let reference = DoajReference { name: Some(name.to_owned()), url: Some(url) };
        self.doaj.reference.get_or_insert_default().push(reference);
    }

    fn take_license_url(&mut self, cell: Cell<'_>) {
        self.license_url = cell.text();
        self.refer("license_terms", cell);
    }
}

/// What a row gives, its cells taken.
pub fn settle(row: Journal<Entry>) -> Journal<Doaj> {
    let Journal { keys, has_bad_issn, vintage, value } = row;
    let Entry { mut doaj, eissn, license_url, currency } = value;
    doaj.issn = doaj.issn.or(eissn);
    for license in doaj.licenses.iter_mut().flatten() {
        license.url.clone_from(&license_url);
    }
    // Before 2020 the currency stood in a column of its own, as `EUR - Euro`.
    let code = currency.as_deref().and_then(|text| text.split(" - ").next()).map(str::trim);
    for charge in doaj.apc.iter_mut().flatten().filter(|charge| charge.currency.is_none()) {
        charge.currency = code.map(str::to_owned);
    }
    Journal { keys, has_bad_issn, vintage, value: doaj }
}

fn licenses(cell: Cell<'_>) -> Option<Vec<DoajLicense>> {
    let kinds = cell.list(&SEPARATORS)?;
    let license = |kind| DoajLicense { kind: Some(kind), url: None, icon_urls: None };
    Some(kinds.into_iter().map(license).collect())
}

/// `1000 USD; 900 EUR`, or a price alone.
fn charges(cell: Cell<'_>) -> Option<Vec<DoajApc>> {
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

/// What all rows of one journal give together, greatest hash first: each member from the first that
/// has it.
pub fn combine(rows: Vec<Doaj>) -> Doaj {
    let mut doaj = Doaj::default();
    fill_members!(
        doaj, &rows,
        issn languages licenses subjects open_access_since reference publication_weeks apc
    );
    doaj
}
