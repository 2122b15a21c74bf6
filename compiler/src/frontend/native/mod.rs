//! The front end for native dumps, which `export` writes: one JSON record per line, as the interface
//! serves it.
//!
//! The declarations of the records read the members that they render, see
//! [`pinakes_format::record::build`]. This front end derives no taxonomy nodes: a native dump holds
//! the nodes of the snapshot it came from.

pub(crate) mod tree_cursor;

use pinakes_format::changes::REFERENCES;
use pinakes_format::entity::Entity;
use pinakes_format::record::Record;
use pinakes_format::schema::keys_of;
use pinakes_format::with_record;

use crate::frontend::detect::{NAME, OPENALEX_NAME};
use crate::frontend::native::tree_cursor::{TreeCursor, warn_of_unknown_members};
use crate::frontend::reader::{BadRecord, Identity, LineReader, require_name};
use crate::read::{
    Diagnostics, JsonFault, JsonMembers, JsonValue, Lenient, MaybeId, MaybeList, Row, RowFault,
    identifier, parse_reference, times,
};

/// Reads one line of an entity's part into the object.
pub fn read_line(entity: Entity, text: &str, reader: &mut LineReader<'_>) -> Result<(), BadRecord> {
    let line = JsonValue::parse(text, reader.diagnostics)?;
    // Parsing has counted the whole tree.
    let _counted = reader.diagnostics.begin_record(0);
    let Some(members) = line.members() else {
        return Err(BadRecord::Quarantine { code: "not_a_record", id: None });
    };
    with_record!(entity, R => keep::<R>(&line, members, reader))
}

/// Reads one row of an entity's part into the object.
pub fn read_row(
    entity: Entity,
    row: Row<'_, '_>,
    reader: &mut LineReader<'_>,
) -> Result<(), BadRecord> {
    let tree = JsonValue::read(row, reader.diagnostics)?;
    let _counted = reader.diagnostics.begin_record(0);
    let Some(members) = tree.members() else {
        return Err(BadRecord::Quarantine { code: "not_a_record", id: None });
    };
    with_record!(entity, R => keep::<R>(&tree, members, reader))
}

/// Parses one row and drops it.
pub fn parse_row(row: Row<'_, '_>) -> Result<(), RowFault> {
    JsonValue::read(row, &Diagnostics::default()).map(drop)
}

fn keep<R: Record>(
    line: &JsonValue<'_>,
    members: &JsonMembers<'_>,
    reader: &mut LineReader<'_>,
) -> Result<(), BadRecord> {
    let diagnostics = reader.diagnostics;
    let id: MaybeId<'_> = member(members, "id", diagnostics);
    // `R::make` reads these members again and counts their warnings.
    let updated =
        members.get("updated_date").and_then(JsonValue::text).and_then(times::parse_moment);
    let identity = Identity::parse(R::ENTITY, &id, updated)?;
    if members.get(OPENALEX_NAME).is_some() {
        return Err(BadRecord::Quarantine { code: "not_native", id: id.0.to_owned() });
    }
    // A record that other records refer to must have a name.
    if R::ENTITY.facts().is_referenced {
        require_name(&id, &member(members, NAME, diagnostics))?;
    }
    let topic = members.get("primary_topic").and_then(JsonValue::members);
    let topic = topic.and_then(|topic| topic.get("id")).and_then(JsonValue::text);
    let topic = topic.and_then(|id| identifier::parse(Entity::Topic, id).ok());
    let references: Vec<u64> = match keys_of(R::ENTITY).has_citations() {
        true => {
            let list: MaybeList<MaybeId<'_>> = member(members, REFERENCES, diagnostics);
            let parsed = list.as_slice().iter();
            parsed.filter_map(|id| parse_reference(R::ENTITY, id, diagnostics)).collect()
        }
        false => Vec::new(),
    };
    reader.keep(identity, topic, |segment| {
        segment.refer_to(&references);
        let record = R::build(&mut TreeCursor::new(line, segment, diagnostics));
        warn_of_unknown_members(line, diagnostics);
        record.expect("a record needs no member but its id")
    })
}

fn member<'t, T: Lenient<'t>>(
    members: &'t JsonMembers<'_>,
    name: &str,
    diagnostics: &Diagnostics,
) -> T {
    let value = members.get(name);
    value.and_then(|value| T::read(value, diagnostics).ok()).unwrap_or_default()
}

/// Parses one line and drops it.
pub fn parse_line(text: &str) -> Result<(), JsonFault> {
    JsonValue::parse(text, &Diagnostics::default()).map(drop)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::object::ObjectWriter;

    #[test]
    fn a_record_of_every_entity_needs_only_an_id_and_a_name() {
        let folder = tempfile::tempdir().unwrap();
        for entity in Entity::all() {
            let mut object = ObjectWriter::create(&folder.path().join("object"), None).unwrap();
            let mut id = Vec::new();
            entity.write_id(7, &mut id);
            let line = format!(r#"{{"id":"{}","name":"x"}}"#, String::from_utf8(id).unwrap());
            let mut reader = LineReader {
                object: &mut object,
                line_hash: None,
                diagnostics: &Diagnostics::default(),
                line: &line,
            };
            read_line(entity, &line, &mut reader).unwrap();
        }
    }
}
