//! Renders a candidate as JSON.

use std::sync::LazyLock;

use crate::entity::{Entity, with_record};
use crate::record::gather::find_path;
use crate::record::{Gather, Gathered, PathTree, schema_of};
use crate::snapshot::Snapshot;
use crate::storage::ReadError;
use crate::text::json;

/// Ends of the tree of a candidate's members. The sources of `external_id` follow from 4 on.
const NAME: usize = 0;
const CITED_BY_COUNT: usize = 1;
const OUTPUTS_COUNT: usize = 2;
const ID: usize = 3;
const EXTERNAL_IDS: usize = 4;

/// The tree of the members that candidates show, by entity.
static TREES: LazyLock<Vec<PathTree>> = LazyLock::new(|| {
    let tree_of = |entity: Entity| {
        let mut tree = PathTree::default();
        let paths = ["name", "cited_by_count", "outputs_count", "id"];
        for (end, path) in paths.iter().chain(entity.facts().external_ids).enumerate() {
            // Outputs have no `outputs_count`.
            if let Some(found) = find_path(&schema_of(entity), path) {
                tree.add(&found.path, end);
            }
        }
        tree
    };
    Entity::all().map(tree_of).collect()
});

/// The members of a candidate.
#[derive(Default)]
struct CandidateMembers<'s> {
    id: u64,
    name: Option<&'s str>,
    cited_by_count: Option<i64>,
    outputs_count: Option<i64>,
    /// With the end that the value was read from.
    external_id: Option<(usize, &'s str)>,
}

/// Appends the JSON of the candidate in a row to `out`.
///
/// # Errors
///
/// If there is no such row or the bytes are damaged.
pub fn render(
    snapshot: &Snapshot,
    entity: Entity,
    row: u32,
    out: &mut Vec<u8>,
) -> Result<(), ReadError> {
    let mut members = CandidateMembers::default();
    with_record!(entity, R => {
        let no_record = ReadError::corrupt("records", "the row has no record");
        let mut from = snapshot.reader(entity, row)?.ok_or(no_record)?;
        R::gather(&mut from, &TREES[entity as usize], &mut |end, value| match (end, value) {
            // The record is read in any case; `ids` is another place on disk.
            (ID, Gathered::Id(id)) => members.id = id,
            (NAME, Gathered::Text(name)) => members.name = Some(name),
            (CITED_BY_COUNT, Gathered::Integer(count)) => members.cited_by_count = Some(count),
            (OUTPUTS_COUNT, Gathered::Integer(count)) => members.outputs_count = Some(count),
            (end, Gathered::Text(id)) if end >= EXTERNAL_IDS => {
                let is_first = members.external_id.is_none_or(|(known, _)| end < known);
                if is_first {
                    members.external_id = Some((end, id));
                }
            }
            _ => {}
        })?;
    });
    out.extend_from_slice(b"{\"id\":\"");
    entity.write_id(members.id, out);
    out.extend_from_slice(b"\",\"name\":");
    json::string_or_null(out, members.name);
    out.extend_from_slice(b",\"cited_by_count\":");
    integer(out, members.cited_by_count);
    out.extend_from_slice(b",\"entity_type\":");
    json::string(out, entity.facts().singular);
    out.extend_from_slice(b",\"external_id\":");
    match members.external_id {
        // Records keep a bare ORCID; clients get a URL.
        Some((end, orcid)) if entity.facts().external_ids[end - EXTERNAL_IDS] == "orcid" => {
            json::string(out, &format!("https://orcid.org/{orcid}"))
        }
        id => json::string_or_null(out, id.map(|(_, id)| id)),
    }
    out.extend_from_slice(b",\"outputs_count\":");
    integer(out, members.outputs_count);
    out.push(b'}');
    Ok(())
}

fn integer(out: &mut Vec<u8>, number: Option<i64>) {
    match number {
        Some(number) => json::signed(out, number),
        None => out.extend_from_slice(b"null"),
    }
}
