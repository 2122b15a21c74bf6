//! Detection of a side table by the content of a file.

use std::path::Path;

use crate::error::{Error, Result};
use crate::frontend::side::table::{RecordShape, SideTable};
use crate::frontend::side::{SIDE_TABLES, header, ror};
use crate::read::{Diagnostics, Elements, ReadLimits, lenient};

/// The side table of a file, if it holds one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DetectedTable {
    Table(&'static SideTable),
    /// ROR records of schema 1, which the compiler does not read.
    RorSchema1,
    Nothing,
}

impl DetectedTable {
    pub fn is_ror_schema_1(self) -> bool {
        self == DetectedTable::RorSchema1
    }
}

/// The side table in a file that the command line names.
///
/// With `required`, the file must be of that table. Without, `None` means that the file is of no
/// side table.
///
/// # Errors
///
/// Where the file cannot be read, is not of the required table, or is of ROR schema 1.
pub fn require_side_table(
    path: &Path,
    required: Option<&'static SideTable>,
) -> Result<Option<&'static SideTable>> {
    let detected = match detect_side_table(path) {
        // A damaged file may be of another kind, whose front end reports the damage.
        Err(Error::Damaged { .. }) if required.is_none() => DetectedTable::Nothing,
        detected => detected?,
    };
    match (required, detected) {
        (_, DetectedTable::RorSchema1) => Err(Error::Input {
            path: path.to_path_buf(),
            reason: "is ROR schema 1, which is not read; fetch the same release in schema 2".into(),
        }),
        (None, DetectedTable::Table(table)) => Ok(Some(table)),
        (None, DetectedTable::Nothing) => Ok(None),
        (Some(required), DetectedTable::Table(table)) if required == table => Ok(Some(table)),
        (Some(required), _) => {
            let is_header =
                |headings: &[header::Heading]| (required.is_header)(headings).then_some(());
            match header::find(path, &Diagnostics::default(), is_header)? {
                Some(_) => Ok(Some(required)),
                None => Err(required.mismatch(path)),
            }
        }
    }
}

/// Detects the side table of a file by its header, or by the members of its first JSON object.
pub fn detect_side_table(path: &Path) -> Result<DetectedTable> {
    let diagnostics = Diagnostics::default();
    let mut elements = Elements::open(path, &ReadLimits::for_detection(), &diagnostics)?;
    let Some(first) = elements.next_element()? else { return Ok(DetectedTable::Nothing) };
    let first = first.bytes.trim_ascii_start();
    if first.starts_with(b"{") {
        let text = String::from_utf8_lossy(first);
        let shape = lenient::from_str_skipping_unread(&text, &diagnostics);
        return Ok(shape.map_or(DetectedTable::Nothing, |shape| table_of_shape(&shape)));
    }
    if elements.is_array() {
        return Ok(DetectedTable::Nothing);
    }
    let header = header::find(path, &diagnostics, |headings| {
        SIDE_TABLES.into_iter().find(|table| (table.is_header)(headings))
    })?;
    Ok(header.map_or(DetectedTable::Nothing, |header| DetectedTable::Table(header.list)))
}

fn table_of_shape(shape: &RecordShape<'_>) -> DetectedTable {
    if ror::is_schema_1(shape) {
        return DetectedTable::RorSchema1;
    }
    let table = SIDE_TABLES.into_iter().find(|table| (table.is_record)(shape));
    table.map_or(DetectedTable::Nothing, DetectedTable::Table)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::frontend::side::orcid;

    #[test]
    fn an_object_is_detected_by_its_members() {
        for (json, expected) in [
            (r#"{"id":"https://ror.org/013meh722","names":[]}"#, DetectedTable::Table(&ror::TABLE)),
            (r#"{"id":"https://ror.org/013meh722","name":"a"}"#, DetectedTable::RorSchema1),
            (r#"{"orcid-identifier":{}}"#, DetectedTable::Table(&orcid::TABLE)),
            (r#"{"orcid":"0000-0002-1825-0097"}"#, DetectedTable::Table(&orcid::TABLE)),
            (r#"{"id":"0000-0002-1825-0097"}"#, DetectedTable::Table(&orcid::TABLE)),
            (r#"{"path":"/0000-0002-1825-0097/person"}"#, DetectedTable::Table(&orcid::TABLE)),
            (
                r#"{"id":"https://openalex.org/A1","orcid":"0000-0002-1825-0097"}"#,
                DetectedTable::Nothing,
            ),
            (r#"{"display_name":"a","orcid":"0000-0002-1825-0097"}"#, DetectedTable::Nothing),
            (r#"{"id":7}"#, DetectedTable::Nothing),
            ("{}", DetectedTable::Nothing),
        ] {
            let shape = lenient::from_str(json, &Diagnostics::default()).unwrap();
            assert_eq!(table_of_shape(&shape), expected, "{json}");
        }
    }
}
