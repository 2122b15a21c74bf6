//! Tables of a list: lines of CSV, or the sheet of a workbook.
//!
//! ```text
//! {"id":"HX_W1","title":"On DNA",…} ─► columns: members, or those of references ─► cells ─► a line, or a row
//! ```

use std::{borrow::Cow, num::NonZeroU32};

use crate::formats::names::Name;
use crate::formats::reference::Reference;
use crate::formats::workbook::{SHEET_CELL_MAX, Workbook};
use crate::record::{CsvTable, write_line};
use crate::storage::ReadError;

/// A mark by which Excel knows that a file of CSV is UTF-8.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();
/// Ends a cell that was cut.
const CUT: &str = "…";
/// Between the items of a cell.
const SEPARATOR: &str = "; ";

/// The columns of a reference, which programs for reviews read: ASReview, Rayyan, bibliometrix.
const REFERENCE_COLUMNS: [&str; 18] = [
    "id",
    "doi",
    "title",
    "authors",
    "year",
    "date",
    "journal",
    "volume",
    "issue",
    "pages",
    "type",
    "language",
    "keywords",
    "abstract",
    "url",
    "is_retracted",
    "cited_by_count",
    "database",
];

/// The kind of the columns of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Columns {
    /// The members of records, by their paths.
    #[default]
    Members,
    /// The parts of references to outputs.
    References,
}

impl Columns {
    /// All columns.
    pub const ALL: [Columns; 2] = [Columns::Members, Columns::References];

    /// The value of the parameter `columns`.
    pub fn name(self) -> &'static str {
        match self {
            Columns::Members => "members",
            Columns::References => "references",
        }
    }
}

/// How a table is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableOptions {
    /// A workbook instead of CSV.
    pub is_workbook: bool,
    /// Whether CSV begins with a byte order mark.
    pub has_bom: bool,
    /// Most characters of a cell, in UTF-16 as spreadsheets count them; longer ones are cut.
    pub cell_max: Option<NonZeroU32>,
}

/// Writes rows of cells, the header among them.
pub struct RowWriter {
    options: TableOptions,
    /// Large: it holds a compressor.
    workbook: Option<Box<Workbook>>,
    /// Cells that are longer than a spreadsheet holds, or that were cut.
    pub long_cells: u64,
}

impl RowWriter {
    /// A table without rows.
    pub fn new(options: TableOptions) -> RowWriter {
        let workbook = options.is_workbook.then(|| Box::new(Workbook::new()));
        RowWriter { options, workbook, long_cells: 0 }
    }

    /// Most bytes that the writer holds between two rows.
    pub fn held_bytes(&self) -> usize {
        if self.workbook.is_some() { Workbook::BYTES_MAX } else { 0 }
    }

    /// Writes what precedes the rows.
    pub fn begin(&self, out: &mut Vec<u8>) {
        if self.options.has_bom && self.workbook.is_none() {
            out.extend_from_slice(BYTE_ORDER_MARK);
        }
    }

    /// Writes a row.
    pub fn write<'c>(
        &mut self,
        cells: impl Iterator<Item = &'c [u8]>,
        out: &mut Vec<u8>,
    ) -> Result<(), ReadError> {
        let long_cells = &mut self.long_cells;
        let asked = self.options.cell_max.map(|most| most.get() as usize);
        let most = match (asked, &self.workbook) {
            (None, None) => {
                // Nothing is cut.
                let counted = cells.inspect(|cell| {
                    *long_cells += u64::from(is_longer(cell, SHEET_CELL_MAX));
                });
                write_line(counted, out);
                return Ok(());
            }
            (Some(asked), None) => asked,
            (asked, Some(_)) => asked.unwrap_or(SHEET_CELL_MAX).min(SHEET_CELL_MAX),
        };
        let cells = cells.map(|cell| {
            let shown = shortened(cell, most);
            let is_long = matches!(shown, Cow::Owned(_)) || is_longer(cell, SHEET_CELL_MAX);
            *long_cells += u64::from(is_long);
            shown
        });
        let cells: Vec<Cow<'_, [u8]>> = cells.collect();
        let cells = cells.iter().map(AsRef::as_ref);
        match &mut self.workbook {
            Some(workbook) => workbook.write_row(cells, out),
            None => {
                write_line(cells, out);
                Ok(())
            }
        }
    }

    /// Ends the table.
    pub fn finish(&mut self, out: &mut Vec<u8>) -> Result<(), ReadError> {
        self.workbook.as_mut().map_or(Ok(()), |workbook| workbook.finish(out))
    }
}

/// Whether a text has more than so many characters of UTF-16, which are never more than its bytes.
fn is_longer(cell: &[u8], most: usize) -> bool {
    cell.len() > most && String::from_utf8_lossy(cell).encode_utf16().count() > most
}

/// A cell of at most so many characters: what is cut ends with `…`.
fn shortened(cell: &[u8], most: usize) -> Cow<'_, [u8]> {
    if !is_longer(cell, most) {
        return Cow::Borrowed(cell);
    }
    let mut left = most.saturating_sub(CUT.chars().count());
    let kept = String::from_utf8_lossy(cell).into_owned();
    let kept = kept.chars().take_while(|letter| {
        let fits = letter.len_utf16() <= left;
        left = left.saturating_sub(letter.len_utf16());
        fits
    });
    Cow::Owned(kept.chain(CUT.chars()).collect::<String>().into_bytes())
}

/// Makes the cells of records.
#[derive(Clone)]
pub enum TableCells {
    /// Of the members of records.
    Members(CsvTable),
    /// Of references to outputs; the database is named in each.
    References {
        /// The database that references name.
        database: String,
    },
}

impl TableCells {
    /// Writes the row of the names of the columns.
    pub fn write_header(&self, writer: &mut RowWriter, out: &mut Vec<u8>) -> Result<(), ReadError> {
        match self {
            TableCells::Members(table) => {
                writer.write(table.names().iter().map(String::as_bytes), out)
            }
            TableCells::References { .. } => {
                writer.write(REFERENCE_COLUMNS.iter().map(|name| name.as_bytes()), out)
            }
        }
    }

    /// Writes the row of a record, given the JSON of its members.
    ///
    /// # Errors
    ///
    /// If the JSON is that of other members, and as [`RowWriter::write`].
    pub fn write(
        &mut self,
        json: &[u8],
        writer: &mut RowWriter,
        out: &mut Vec<u8>,
    ) -> Result<(), ReadError> {
        match self {
            TableCells::Members(table) => writer.write(table.cells(json)?, out),
            TableCells::References { database } => {
                let cells = reference_cells(&Reference::read(json)?, database);
                writer.write(cells.iter().map(String::as_bytes), out)
            }
        }
    }
}

/// The cells of [`REFERENCE_COLUMNS`].
fn reference_cells(reference: &Reference, database: &str) -> [String; REFERENCE_COLUMNS.len()] {
    let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
    let number = |number: Option<i64>| number.map(|number| number.to_string()).unwrap_or_default();
    let authors: Vec<String> = reference.names().map(|name| inverted(&name)).collect();
    let date = match reference.date().as_slice() {
        [year, month, day] => format!("{year}-{month:02}-{day:02}"),
        _ => String::new(),
    };
    [
        text(reference.id.as_deref()),
        text(reference.doi()),
        reference.title().map(|title| title.text()).unwrap_or_default(),
        authors.join(SEPARATOR),
        number(reference.year),
        date,
        reference.container().unwrap_or_default(),
        text(reference.volume()),
        text(reference.issue()),
        reference.pages("-").unwrap_or_default(),
        text(reference.type_name()),
        text(reference.language()),
        reference.keywords().collect::<Vec<_>>().join(SEPARATOR),
        reference.r#abstract().unwrap_or_default(),
        text(reference.address()),
        reference.is_retracted.to_string(),
        number(reference.cited_by_count),
        database.to_owned(),
    ]
}

/// The family name, a comma and the rest; organisations as they are.
fn inverted(name: &Name<'_>) -> String {
    match name {
        Name::Whole(name) => (*name).to_owned(),
        Name::Person { given, suffix: "", .. } => format!("{}, {given}", name.family()),
        Name::Person { given, suffix, .. } => format!("{}, {given}, {suffix}", name.family()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn written(options: TableOptions, cells: &[&str]) -> (String, u64) {
        let mut out = Vec::new();
        let mut writer = RowWriter::new(options);
        writer.begin(&mut out);
        writer.write(cells.iter().map(|cell| cell.as_bytes()), &mut out).unwrap();
        writer.finish(&mut out).unwrap();
        (String::from_utf8(out).unwrap(), writer.long_cells)
    }

    #[test]
    fn cells_are_cut_as_spreadsheets_count_them() {
        let options = TableOptions { cell_max: NonZeroU32::new(4), ..TableOptions::default() };
        let (line, cut) = written(options, &["four", "fives", "ééééé", "🙂🙂", "🙂🙂🙂", "a,bcd"]);
        assert_eq!(line, "four,fiv…,ééé…,🙂🙂,🙂…,\"a,b…\"\r\n");
        assert_eq!(cut, 4);
    }

    #[test]
    fn long_cells_are_counted_where_none_is_cut() {
        let long = "x".repeat(SHEET_CELL_MAX + 1);
        let options = TableOptions { has_bom: true, ..TableOptions::default() };
        let (line, count) = written(options, &["a", &long]);
        assert_eq!((line.len(), count), (3 + 2 + long.len() + 2, 1));
        assert!(line.starts_with('\u{feff}'));
    }

    #[test]
    fn references_have_the_columns_of_programs_for_reviews() {
        let json = r#"{"id":"HX_W7","doi":"https://doi.org/10.5/a","title":"On <i>DNA</i> &amp; RNA","year":2020,
            "date":"2020-03-02","type":"article","language":{"code":"en"},"keywords":["a","b"],
            "authors":[{"name":"Ada van Berg"},{"name":null,"raw_author_name":"Known, Nobody"}],
            "biblio":{"volume":"3","first_page":"1","last_page":"9"},"abstract":"Text.","cited_by_count":4}"#;
        let mut out = Vec::new();
        let mut writer = RowWriter::new(TableOptions::default());
        let mut cells = TableCells::References { database: "Pinakes snapshot 0123".to_owned() };
        cells.write_header(&mut writer, &mut out).unwrap();
        cells.write(json.as_bytes(), &mut writer, &mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "id,doi,title,authors,year,date,journal,volume,issue,pages,type,language,keywords,abstract,url,is_retracted,\
             cited_by_count,database\r\nHX_W7,10.5/a,On DNA & RNA,\"van Berg, Ada; Known, Nobody\",2020,2020-03-02,,3,,\
             1-9,article,en,a; b,Text.,https://doi.org/10.5/a,false,4,Pinakes snapshot 0123\r\n"
        );
    }
}
