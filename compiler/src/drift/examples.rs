//! The value of a member in an example: its JSON, shortened.

use pinakes_format::changes::{REFERENCES, add_all_references};
use pinakes_format::entity::Entity;
use pinakes_format::query::parse_select;
use pinakes_format::record::members::View;
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::error::ReadError;

/// Most characters of a value.
const CHARS_MAX: usize = 80;

/// The value at a path of the record in a row.
pub(super) fn value(
    snapshot: &Snapshot,
    entity: Entity,
    path: &str,
    row: u32,
) -> Result<String, ReadError> {
    let mut json = Vec::new();
    if path == REFERENCES {
        json.extend_from_slice(b"{}");
        add_all_references(snapshot, entity, row, &mut json)?;
    } else {
        let members = parse_select(entity, View::Export, path);
        let members = members.map_err(|_| ReadError::Internal("a compared member has no path"))?;
        let mut writer = members.writer(snapshot);
        members.render(row, &mut writer)?;
        json = writer.out;
    }
    // The object has the outermost member alone.
    let json = String::from_utf8_lossy(&json);
    let value = json.split_once(':').map_or(&*json, |(_, value)| value);
    let value = value.strip_suffix('}').unwrap_or(value);
    let mut shown: String = value.chars().take(CHARS_MAX).collect();
    if shown.len() < value.len() {
        shown.push('…');
    }
    Ok(shown)
}
