//! A workbook of Office Open XML (xlsx), written row by row.
//!
//! ```text
//! xl/worksheets/sheet1.xml      the rows; the first of them, the header, stays in view
//! xl/worksheets/sheet2.xml      begins with the header, after 3 GiB of XML or 1,048,576 rows
//! xl/workbook.xml, xl/_rels/workbook.xml.rels, _rels/.rels, [Content_Types].xml      name the sheets
//! ```
//!
//! The files are deflated while they are written, so a workbook of any length takes the memory of a compressor. Text
//! stands in its cells, not in a table of the workbook.

use std::fmt::Write as _;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};
use std::{io, mem};

use zip::write::{SimpleFileOptions, StreamWriter};
use zip::{CompressionMethod, DateTime, ZipWriter};

use crate::formats::xml;
use crate::storage::ReadError;

/// Most rows of a sheet, by the specification of Excel.
pub const SHEET_ROWS_MAX: u64 = 1_048_576;
/// Most characters of a cell, by the same, in UTF-16.
pub const SHEET_CELL_MAX: usize = 32_767;
/// Bytes of XML after which the next sheet begins: a file of an archive has at most 4 GiB, and a row is far shorter than the rest.
const SHEET_BYTES: u64 = 3 << 30;
/// Most digits of a number that a cell holds exactly.
const EXACT_DIGITS: usize = 15;
/// Level of Deflate: text shrinks to a fourth, and is deflated as fast as records are rendered.
const LEVEL: i64 = 3;

const DECLARATION: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n";
const SHEET_BEGIN: &str = r#"<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetViews><sheetView workbookViewId="0"><pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews><sheetData>"#;
const SHEET_END: &str = "</sheetData></worksheet>";
const RELATIONS: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const PACKAGE: &str = "http://schemas.openxmlformats.org/package/2006";
const MAIN: &str = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
const MEDIA_TYPE: &str = "application/vnd.openxmlformats-officedocument.spreadsheetml";

/// A workbook that is being written.
pub struct Workbook {
    /// `None` after the end.
    zip: Option<ZipWriter<StreamWriter<Shared>>>,
    written: Shared,
    /// Number of sheets that have begun.
    sheets: u32,
    /// Bytes of XML, and rows, in the current sheet.
    sheet_bytes: u64,
    sheet_rows: u64,
    /// The XML of the first row.
    header: Vec<u8>,
    /// The XML of the current row.
    row: Vec<u8>,
}

/// The bytes that the archive has written and nobody has taken yet.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Shared {
    fn take(&self) -> Vec<u8> {
        mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Workbook {
    /// Most bytes that a workbook holds between two rows: the window and the tables of Deflate.
    pub const BYTES_MAX: usize = 512 << 10;

    /// A workbook without rows.
    pub fn new() -> Workbook {
        let written = Shared::default();
        let zip = Some(ZipWriter::new_stream(written.clone()));
        Workbook {
            zip,
            written,
            sheets: 0,
            sheet_bytes: 0,
            sheet_rows: 0,
            header: Vec::new(),
            row: Vec::new(),
        }
    }

    /// Adds a row, of which the first is the header, and appends the bytes that are complete.
    ///
    /// # Errors
    ///
    /// If the archive refuses its own files.
    pub fn write_row<'c>(
        &mut self,
        cells: impl Iterator<Item = &'c [u8]>,
        out: &mut Vec<u8>,
    ) -> Result<(), ReadError> {
        self.row.clear();
        self.row.extend_from_slice(b"<row>");
        cells.for_each(|cell| write_cell(cell, &mut self.row));
        self.row.extend_from_slice(b"</row>");
        self.add_row().map_err(refused)?;
        out.append(&mut self.written.take());
        Ok(())
    }

    /// Ends the workbook, and appends the rest of its bytes.
    pub fn finish(&mut self, out: &mut Vec<u8>) -> Result<(), ReadError> {
        if let Some(zip) = self.zip.take() {
            end(zip, self.sheets).map_err(refused)?;
        }
        out.append(&mut self.written.take());
        Ok(())
    }

    fn add_row(&mut self) -> io::Result<()> {
        let Some(zip) = &mut self.zip else { return Ok(()) };
        let is_first = self.sheets == 0;
        let is_full = self.sheet_bytes >= SHEET_BYTES || self.sheet_rows >= SHEET_ROWS_MAX;
        if is_first || is_full {
            if !is_first {
                zip.write_all(SHEET_END.as_bytes())?;
            }
            self.sheets += 1;
            begin_file(zip, &format!("xl/worksheets/sheet{}.xml", self.sheets))?;
            zip.write_all(SHEET_BEGIN.as_bytes())?;
            zip.write_all(&self.header)?;
            self.sheet_bytes = 0;
            self.sheet_rows = u64::from(!is_first);
        }
        if is_first {
            self.header.clone_from(&self.row);
        }
        self.sheet_bytes += self.row.len() as u64;
        self.sheet_rows += 1;
        zip.write_all(&self.row)
    }
}

impl Default for Workbook {
    fn default() -> Workbook {
        Workbook::new()
    }
}

/// Begins a file of the archive. The same rows give the same bytes at any time.
fn begin_file(zip: &mut ZipWriter<StreamWriter<Shared>>, name: &str) -> io::Result<()> {
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .compression_level(Some(LEVEL))
        .last_modified_time(DateTime::DEFAULT);
    zip.start_file(name, options)?;
    zip.write_all(DECLARATION.as_bytes())
}

/// Ends the last sheet, and writes the files that name the sheets.
fn end(mut zip: ZipWriter<StreamWriter<Shared>>, sheets: u32) -> io::Result<()> {
    zip.write_all(SHEET_END.as_bytes())?;
    // The number of sheets is known now, so these files follow the sheets in the archive.
    let (mut names, mut relations, mut types) = (String::new(), String::new(), String::new());
    for sheet in 1..=sheets {
        let _ =
            write!(names, r#"<sheet name="Records {sheet}" sheetId="{sheet}" r:id="rId{sheet}"/>"#);
        let _ = write!(
            relations,
            r#"<Relationship Id="rId{sheet}" Type="{RELATIONS}/worksheet" Target="worksheets/sheet{sheet}.xml"/>"#
        );
        let _ = write!(
            types,
            r#"<Override PartName="/xl/worksheets/sheet{sheet}.xml" ContentType="{MEDIA_TYPE}.worksheet+xml"/>"#
        );
    }
    let relationships = |inner: &str| {
        format!(r#"<Relationships xmlns="{PACKAGE}/relationships">{inner}</Relationships>"#)
    };
    let files = [
        (
            "xl/workbook.xml",
            format!(
                r#"<workbook xmlns="{MAIN}" xmlns:r="{RELATIONS}"><sheets>{names}</sheets></workbook>"#
            ),
        ),
        ("xl/_rels/workbook.xml.rels", relationships(&relations)),
        (
            "_rels/.rels",
            relationships(&format!(
                r#"<Relationship Id="rId1" Type="{RELATIONS}/officeDocument" Target="xl/workbook.xml"/>"#
            )),
        ),
        (
            "[Content_Types].xml",
            format!(
                r#"<Types xmlns="{PACKAGE}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="{MEDIA_TYPE}.sheet.main+xml"/>{types}</Types>"#
            ),
        ),
    ];
    for (name, text) in files {
        begin_file(&mut zip, name)?;
        zip.write_all(text.as_bytes())?;
    }
    zip.finish()?;
    Ok(())
}

fn refused(_: io::Error) -> ReadError {
    ReadError::Internal("a workbook cannot be packed")
}

/// Writes a number as a number, so that it sorts as one, and all else as text.
fn write_cell(cell: &[u8], out: &mut Vec<u8>) {
    if cell.is_empty() {
        return out.extend_from_slice(b"<c/>");
    }
    if is_number(cell) {
        out.extend_from_slice(b"<c><v>");
        out.extend_from_slice(cell);
        return out.extend_from_slice(b"</v></c>");
    }
    out.extend_from_slice(br#"<c t="inlineStr"><is><t xml:space="preserve">"#);
    // Cells are cut between characters.
    write_text(&String::from_utf8_lossy(cell), out);
    out.extend_from_slice(b"</t></is></c>");
}

/// Whether a spreadsheet shows the number as it is written: `07`, `1.50` and long identifiers stay text.
fn is_number(cell: &[u8]) -> bool {
    let digits = cell.strip_prefix(b"-").unwrap_or(cell);
    let (whole, fraction) = match memchr::memchr(b'.', digits) {
        Some(point) => (&digits[..point], Some(&digits[point + 1..])),
        None => (digits, None),
    };
    let are_digits = |text: &[u8]| !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    digits.len() <= EXACT_DIGITS
        && are_digits(whole)
        && (whole == b"0" || whole[0] != b'0')
        && fraction.is_none_or(|text| are_digits(text) && text.last() != Some(&b'0'))
}

/// Writes text of XML. A character that XML cannot hold stands as `_x0001_`, and a text `_x0001_` as `_x005F_x0001_`.
fn write_text(text: &str, out: &mut Vec<u8>) {
    for (at, letter) in text.char_indices() {
        if letter == '_' && looks_escaped(&text.as_bytes()[at..]) {
            out.extend_from_slice(b"_x005F_");
        } else if !xml::push(letter, out) {
            out.extend_from_slice(format!("_x{:04X}_", letter as u32).as_bytes());
        }
    }
}

/// Whether a text begins with `_xHHHH_`.
fn looks_escaped(text: &[u8]) -> bool {
    matches!(text, [b'_', b'x', digits @ .., ] if digits.len() >= 5
        && digits[..4].iter().all(u8::is_ascii_hexdigit) && digits[4] == b'_')
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::{Cursor, Read};

    use zip::ZipArchive;

    use super::*;

    fn sheet(rows: &[&[&str]]) -> String {
        let mut workbook = Workbook::new();
        let mut out = Vec::new();
        for row in rows {
            workbook.write_row(row.iter().map(|cell| cell.as_bytes()), &mut out).unwrap();
        }
        workbook.finish(&mut out).unwrap();
        let mut sheet = String::new();
        let mut archive = ZipArchive::new(Cursor::new(out)).unwrap();
        archive.by_name("xl/worksheets/sheet1.xml").unwrap().read_to_string(&mut sheet).unwrap();
        let rows = sheet
            .strip_prefix(DECLARATION)
            .unwrap()
            .strip_prefix(SHEET_BEGIN)
            .unwrap()
            .strip_suffix(SHEET_END)
            .unwrap();
        rows.replace(r#" t="inlineStr"><is><t xml:space="preserve">"#, ">'")
            .replace("</t></is>", "")
    }

    #[test]
    fn numbers_that_are_shown_as_written_are_numbers() {
        let cells = ["2020", "-1", "0", "0.5", "76.448", "", "07", "1.50", "1e5", "=1+1", "-", "."];
        assert_eq!(
            sheet(&[&cells]),
            "<row><c><v>2020</v></c><c><v>-1</v></c><c><v>0</v></c><c><v>0.5</v></c><c><v>76.448</v></c><c/>\
             <c>'07</c><c>'1.50</c><c>'1e5</c><c>'=1+1</c><c>'-</c><c>'.</c></row>"
        );
        assert_eq!(sheet(&[&["1234567890123456"]]), "<row><c>'1234567890123456</c></row>");
    }

    #[test]
    fn text_is_escaped_for_xml() {
        assert_eq!(
            sheet(&[&["a<b & c>d"], &["x\u{1}\n_x0041_ _x_ é\u{ffff}"]]),
            "<row><c>'a&lt;b &amp; c&gt;d</c></row><row><c>'x_x0001_\n_x005F_x0041_ _x_ é_xFFFF_</c></row>"
        );
    }

    #[test]
    fn the_same_rows_give_the_same_bytes() {
        let bytes = || {
            let mut workbook = Workbook::new();
            let mut out = Vec::new();
            workbook.write_row([b"a".as_slice()].into_iter(), &mut out).unwrap();
            workbook.finish(&mut out).unwrap();
            out
        };
        assert_eq!(bytes(), bytes());
    }
}
