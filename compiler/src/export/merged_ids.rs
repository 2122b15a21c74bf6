//! Lists of merged ids, as OpenAlex dumps have them.

use std::io::Write;

use pinakes_format::entity::Entity;
use pinakes_format::snapshot::Snapshot;

use crate::error::{Error, Result};
use crate::export::Exported;
use crate::export::output::Output;
use crate::export::write_error::damaged;

/// Directory of the lists.
const MERGED_IDS: &str = "merged_ids";

/// Writes the merged ids of an entity, with the ids they were merged into.
///
/// Snapshots do not store merge dates. Each row gets the newest `updated_date` of the snapshot, so that
/// only a record newer than the whole snapshot overrides a merge.
pub(crate) fn write(snapshot: &Snapshot, entity: Entity, output: &Output) -> Result<Exported> {
    let name = format!("{MERGED_IDS}/{entity}.csv");
    let path = output.path_of(&name);
    let redirects = snapshot.redirects(entity);
    let date = snapshot.manifest().source.newest_updated_date.as_deref().unwrap_or_default();
    let mut file = output.create(&name)?;
    let mut row = b"merge_date,id,merge_into_id".to_vec();
    for at in 0..=redirects.count() {
        row.push(b'\n');
        file.write_all(&row).map_err(Error::output(&path))?;
        if at < redirects.count() {
            let (from, to) = redirects.pair(at).map_err(|error| damaged(entity, at, &error))?;
            row.clear();
            row.extend_from_slice(date.as_bytes());
            for id in [from, to] {
                row.push(b',');
                entity.write_id(id, &mut row);
            }
        }
    }
    let bytes = file.finish().map_err(Error::output(&path))?;
    Ok(Exported { name, records: redirects.count() as u64, bytes })
}
