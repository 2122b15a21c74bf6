//! The front end for native dumps: one JSON line, one record, as the interface serves it alone.
//!
//! What a line may hold is not said here: the declarations of the records read what they render
//! ([`pinakes_format::record::build`]). Nothing is derived from a line, since a native dump holds
//! whatever the snapshot it came from had derived.

pub(crate) mod source;

use pinakes_format::entity::Entity;
use pinakes_format::record::Record;
use pinakes_format::with_record;
use serde::Deserialize;

use crate::frontend::detect::{NAME, OPENALEX_NAME};
use crate::frontend::native::source::{TreeCursor, warn_of_unknown_members};
use crate::frontend::reader::{BadRecord, Identity, LineReader, require_name};
use crate::read::json_tree::{JsonMembers, JsonValue};
use crate::read::lenient::IdText;
use crate::read::strict::JsonError;
use crate::read::{identifier, strict, times};

/// Reads one line of an entity's part into the object under way.
///
/// # Errors
///
/// Why the line is set aside, or that the object cannot be written.
pub fn read_line(entity: Entity, text: &str, reader: &mut LineReader<'_>) -> Result<(), BadRecord> {
    let line: JsonValue<'_> = strict::from_str(text)?;
    let Some(members) = line.members() else {
        return Err(BadRecord::Quarantine { code: "not_a_record", id: None });
    };
    with_record!(entity, R => keep::<R>(&line, members, reader))
}

fn keep<R: Record>(
    line: &JsonValue<'_>,
    members: &JsonMembers<'_>,
    reader: &mut LineReader<'_>,
) -> Result<(), BadRecord> {
    let id: IdText<'_> = member(members, "id");
    // These are read again as members of the record, and what is bad is counted then.
    let updated =
        members.get("updated_date").and_then(JsonValue::text).and_then(times::parse_moment);
    let identity = Identity::parse(R::ENTITY, &id, updated)?;
    if members.get(OPENALEX_NAME).is_some() {
        return Err(BadRecord::Quarantine { code: "not_native", id: id.0.to_owned() });
    }
    // What others refer to must have a name.
    if R::ENTITY.facts().is_referenced {
        require_name(&id, &member(members, NAME))?;
    }
    let topic = members.get("primary_topic").and_then(JsonValue::members);
    let topic = topic.and_then(|topic| topic.get("id")).and_then(JsonValue::text);
    let topic = topic.and_then(|id| identifier::parse(Entity::Topic, id).ok());
    reader.keep(identity, topic, |segment| {
        let record = R::build(&mut TreeCursor::new(line, segment));
        warn_of_unknown_members(line);
        record.expect("a record with an id can be without all else")
    })
}

fn member<'t, T: Default + Deserialize<'t>>(members: &'t JsonMembers<'_>, name: &str) -> T {
    let value = members.get(name);
    value.and_then(|value| T::deserialize(value).ok()).unwrap_or_default()
}

/// Parses one line and throws it away: what reading a dump costs at the least.
///
/// # Errors
///
/// Where the line is no JSON.
pub fn parse_line(text: &str) -> Result<(), JsonError> {
    strict::from_str::<JsonValue<'_>>(text).map(drop)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::frontend::derived::DerivedNodes;
    use crate::object::ObjectWriter;

    #[test]
    fn a_record_of_every_entity_can_be_without_all_but_its_id_and_name() {
        let place = tempfile::tempdir().unwrap();
        for entity in Entity::all() {
            let mut object = ObjectWriter::create(&place.path().join("object")).unwrap();
            let mut id = Vec::new();
            entity.write_id(7, &mut id);
            let line = format!(r#"{{"id":"{}","name":"x"}}"#, String::from_utf8(id).unwrap());
            let mut reader = LineReader {
                object: &mut object,
                derived: &mut DerivedNodes::default(),
                line_hash: Default::default(),
                line: &line,
            };
            read_line(entity, &line, &mut reader).unwrap();
        }
    }
}
