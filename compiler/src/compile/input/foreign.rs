//! Files that people give in place of a dump or a table, and what to do with them.

use std::{
    io::{BufRead, Read},
    path::Path,
};

use serde::{Deserialize, de::IgnoredAny};

use crate::read::lenient::Diagnostics;
use crate::read::limits::ReadLimits;
use crate::read::lines::Lines;

/// The beginnings of spreadsheets: a zip archive (.xlsx, .ods), and a compound file (.xls).
const SPREADSHEETS: [&[u8]; 2] = [b"PK\x03\x04", &[0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1]];
/// The largest page that is recognised.
const PAGE_BYTES_MAX: u64 = 16 << 20;

/// The members under which APIs return the records of a page.
#[derive(Deserialize)]
struct Page {
    results: Option<Vec<IgnoredAny>>,
    items: Option<Vec<IgnoredAny>>,
}

/// Explains why a file cannot be read, if it is a spreadsheet or a page of an API. `None` for other files,
/// also unreadable ones.
pub(crate) fn explain(path: &Path) -> Option<String> {
    let diagnostics = Diagnostics::default();
    let lines = Lines::open_decoded(path, &ReadLimits::for_detection(), &diagnostics).ok()?;
    let mut reader = lines.into_reader().ok()?;
    let beginning = reader.fill_buf().ok()?;
    if SPREADSHEETS.iter().any(|magic| beginning.starts_with(magic)) {
        return Some("is a spreadsheet; save its sheet as `CSV UTF-8` and give that file".into());
    }
    if !beginning.trim_ascii_start().starts_with(b"{") {
        return None;
    }
    let page = serde_json::Deserializer::from_reader(reader.take(PAGE_BYTES_MAX));
    let Page { results, items } = page.into_iter().next()?.ok()?;
    let member = results.map(|_| "results").or(items.map(|_| "items"))?;
    Some(format!("is a page of an API; give one record a line (`jq -c '.{member}[]'` makes it so)"))
}
