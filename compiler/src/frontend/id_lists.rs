//! Lists of ids that a dump no longer has: merged into other ids, or deleted.
//!
//! ```text
//! merge_date,id,merge_into_id              work_id,deleted_date
//! 2026-01-15,W1,W2                         W3,2026-08-01
//! ```

use std::path::Path;

use csv::StringRecord;
use pinakes_format::entity::{Entity, parse_digits};

use crate::error::{Error, Result};
use crate::object::{Deletion, Merge, ObjectWriter};
use crate::read::csv_rows::CsvRow;
use crate::read::{CsvRows, Diagnostics, Line, ReadLimits, first_record, identifier, times};

/// The name of lists of deleted ids in reports.
pub const DELETED_IDS: &str = "deleted_ids";

fn column(header: &StringRecord, name: &str) -> Option<usize> {
    header.iter().position(|cell| cell.trim() == name)
}

/// The positions of the columns in a list of merged ids.
struct MergeColumns {
    date: Option<usize>,
    from: usize,
    to: usize,
}

impl MergeColumns {
    fn find(header: &StringRecord) -> Option<MergeColumns> {
        let (from, to) = (column(header, "id")?, column(header, "merge_into_id")?);
        Some(MergeColumns { date: column(header, "merge_date"), from, to })
    }

    fn read(&self, entity: Entity, row: &StringRecord) -> Option<Merge> {
        let cell = |column: usize| row.get(column).unwrap_or_default().trim();
        let id = |column: usize| identifier::parse(entity, cell(column)).ok();
        let day = self.date.and_then(|date| times::parse_moment(cell(date)));
        Some(Merge {
            from: id(self.from)?,
            to: id(self.to)?,
            micros: day.map_or(i64::MIN, |day| day.micros),
        })
    }
}

/// Reads a list of merged ids. A bad row is a warning. Returns the number of uncompressed bytes.
pub(crate) fn read_merged(
    path: &Path,
    entity: Entity,
    limits: &ReadLimits,
    diagnostics: &Diagnostics,
    object: &mut ObjectWriter,
) -> Result<u64> {
    let mut rows = CsvRows::open(path, None, limits, diagnostics)?;
    let Some(header) = rows.header()? else { return Ok(rows.offset_bytes()) };
    let columns = MergeColumns::find(&header.cells.unwrap_or_default()).ok_or_else(|| {
        let reason = "is not a list of merged ids; expected the columns `merge_date`, `id` and \
                      `merge_into_id`";
        Error::Input { path: path.to_path_buf(), reason: reason.into() }
    })?;
    while let Some(row) = rows.next_row()? {
        match row.cells.ok().and_then(|cells| columns.read(entity, &cells)) {
            Some(merge) => object.merge(entity, merge)?,
            None => diagnostics.warn("bad_merge"),
        }
    }
    Ok(rows.offset_bytes())
}

/// The positions of the columns in a list of deleted ids.
struct DeletionColumns {
    id: usize,
    date: usize,
    /// The entity that the name of the id's column states: outputs for `work_id`.
    entity: Option<Entity>,
}

impl DeletionColumns {
    fn find(header: &StringRecord) -> Option<DeletionColumns> {
        let date = column(header, "deleted_date")?;
        let id =
            header.iter().position(|cell| cell.trim() == "id" || cell.trim().ends_with("_id"))?;
        let singular = header.get(id)?.trim().strip_suffix("_id").unwrap_or_default();
        let names = [format!("{singular}s"), singular.replace('_', "-") + "s"];
        let entity = names.iter().find_map(|name| Entity::from_dump_name(name));
        Some(DeletionColumns { id, date, entity })
    }

    /// Reads a row. Of a bare number, `entity` is the entity; the letter or address of any other id has
    /// to agree with it.
    fn read(&self, entity: Option<Entity>, row: &StringRecord) -> Option<(Entity, Deletion)> {
        let cell = |column: usize| row.get(column).unwrap_or_default().trim();
        let text = cell(self.id);
        let (entity, id) = match (entity, parse_digits(text)) {
            (Some(entity), Some(id)) => (entity, id),
            (Some(entity), None) => (entity, identifier::parse(entity, text).ok()?),
            (None, _) => identifier::parse_any(text)?,
        };
        let micros = match cell(self.date) {
            "" => i64::MAX,
            date => times::parse_moment(date)?.micros,
        };
        Some((entity, Deletion { id, micros }))
    }
}

/// Whether a line is the header of a list of deleted ids.
pub fn is_deleted_header(line: &str) -> bool {
    first_record(line).is_some_and(|header| DeletionColumns::find(&header).is_some())
}

/// Reads a list of deleted ids. `of_folder` is the entity whose folder holds the list. Bad rows are
/// quarantined. Returns the number of uncompressed bytes.
pub(crate) fn read_deleted(
    path: &Path,
    of_folder: Option<Entity>,
    limits: &ReadLimits,
    diagnostics: &Diagnostics,
    object: &mut ObjectWriter,
) -> Result<u64> {
    let mut rows = CsvRows::open(path, None, limits, diagnostics)?;
    let Some(header) = rows.header()? else { return Ok(rows.offset_bytes()) };
    let columns = DeletionColumns::find(&header.cells.unwrap_or_default())
        .ok_or_else(|| not_deleted_ids(path))?;
    let entity = columns.entity.or(of_folder);
    while let Some(row) = rows.next_row()? {
        object.report.count_read(DELETED_IDS);
        let CsvRow { number, byte_offset, raw, cells } = row;
        match cells.map(|cells| columns.read(entity, &cells)) {
            Ok(Some((entity, deletion))) => object.delete(entity, deletion)?,
            bad => {
                let code = bad.err().unwrap_or("bad_deletion");
                let line = Line { number, byte_offset, bytes: &raw, is_too_long: false };
                object.set_aside(DELETED_IDS, &line, code, None)?;
            }
        }
    }
    Ok(rows.offset_bytes())
}

/// Calls `visit` with each id of a list of deleted ids.
///
/// # Errors
///
/// The file cannot be read, is no such list, or has a bad row.
pub(crate) fn each_deleted(
    path: &Path,
    mut visit: impl FnMut(Entity, u64) -> Result<()>,
) -> Result<()> {
    let limits = ReadLimits::default();
    let diagnostics = Diagnostics::new(&limits);
    let mut rows = CsvRows::open(path, None, &limits, &diagnostics)?;
    let Some(header) = rows.header()? else { return Ok(()) };
    let columns = DeletionColumns::find(&header.cells.unwrap_or_default())
        .ok_or_else(|| not_deleted_ids(path))?;
    while let Some(row) = rows.next_row()? {
        let read = row.cells.ok().and_then(|cells| columns.read(columns.entity, &cells));
        let (entity, deletion) = read.ok_or_else(|| {
            let reason = format!("row {} has no id or no date", row.number);
            Error::Input { path: path.to_path_buf(), reason }
        })?;
        visit(entity, deletion.id)?;
    }
    Ok(())
}

/// The error for a file that `deleted:` names and that is no list of deleted ids.
pub fn not_deleted_ids(path: &Path) -> Error {
    let reason = "is not a list of deleted ids; expected the columns `work_id` and `deleted_date`";
    Error::Input { path: path.to_path_buf(), reason: reason.into() }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_deleted_ids_is_known_by_its_header() {
        for header in ["work_id,deleted_date", "\u{feff}deleted_date;id", " id , deleted_date "] {
            let header = header.trim_start_matches('\u{feff}');
            assert!(is_deleted_header(header), "{header}");
        }
        for header in ["", "merge_date,id,merge_into_id", "deleted_date", "work_id,date"] {
            assert!(!is_deleted_header(header), "{header}");
        }
    }

    #[test]
    fn a_row_names_its_entity_by_column_folder_or_letter() {
        let read = |header: &[&str], of_folder: Option<Entity>, row: &[&str]| {
            let columns = DeletionColumns::find(&StringRecord::from(header.to_vec())).unwrap();
            let entity = columns.entity.or(of_folder);
            let found = columns.read(entity, &StringRecord::from(row.to_vec()));
            found.map(|(entity, deletion)| (entity, deletion.id, deletion.micros))
        };
        let output = |id, micros| Some((Entity::Output, id, micros));
        let header = ["work_id", "deleted_date"];
        for id in ["7", "W7", "https://openalex.org/W7", " hx_w7 "] {
            assert_eq!(read(&header, None, &[id, "1970-01-02"]), output(7, 86_400_000_000), "{id}");
        }
        assert_eq!(read(&header, None, &["W7", "1970-01-01T00:00:01"]), output(7, 1_000_000));
        assert_eq!(read(&header, None, &["W7", ""]), output(7, i64::MAX));
        assert_eq!(read(&header, None, &["A7", "1970-01-01"]), None);
        assert_eq!(read(&header, None, &["W7", "soon"]), None);
        let header = ["deleted_date", "id"];
        let author = Some((Entity::Author, 7, 0));
        assert_eq!(read(&header, Some(Entity::Author), &["1970-01-01", "7"]), author);
        assert_eq!(read(&header, None, &["1970-01-01", "A7"]), author);
        assert_eq!(read(&header, None, &["1970-01-01", "7"]), None);
    }
}
