//! The front end for native dumps: one JSON line, one record, as the interface serves it alone.
//!
//! What a line may hold is not said here: the declarations of the records read what they render
//! ([`pinakes_format::record::build`]). Nothing is derived from a line, since a native dump holds
//! whatever the snapshot it came from had derived.

pub(crate) mod source;
pub(crate) mod value;

use pinakes_format::entity::Entity;
use pinakes_format::record::schema::Schema;
use pinakes_format::record::{Record, schema_of};
use pinakes_format::with_record;
use serde::Deserialize;

use crate::frontend::native::source::{Cursor, note_unknown};
use crate::frontend::native::value::{Members, Value};
use crate::frontend::openalex::{BadRecord, Reader};
use crate::read::lenient::IdText;
use crate::read::strict::JsonError;
use crate::read::{identifier, strict, times};

/// The member that every record here has and no record of OpenAlex.
const NAME: &str = "name";
/// The same of OpenAlex.
const OPENALEX_NAME: &str = "display_name";

/// Reads one line of an entity's part into the object under way.
///
/// # Errors
///
/// Why the line is set aside, or that the object cannot be written.
pub fn read_line(entity: Entity, text: &str, reader: &mut Reader<'_>) -> Result<(), BadRecord> {
    let line: Value<'_> = strict::from_str(text)?;
    let Some(members) = line.members() else {
        return Err(BadRecord::Quarantine { code: "not_a_record", id: None });
    };
    with_record!(entity, R => keep::<R>(&line, members, reader))
}

fn keep<R: Record>(
    line: &Value<'_>,
    members: &Members<'_>,
    reader: &mut Reader<'_>,
) -> Result<(), BadRecord> {
    let id: IdText<'_> = member(members, "id");
    // These are read again as members of the record, and what is bad is counted then.
    let updated = members.get("updated_date").and_then(Value::text).and_then(times::parse_moment);
    let identity = Reader::identity(R::ENTITY, &id, updated)?;
    if members.get(OPENALEX_NAME).is_some() {
        return Err(BadRecord::Quarantine { code: "not_native", id: id.0.to_owned() });
    }
    // What others refer to must have a name.
    if R::ENTITY.facts().is_referenced {
        Reader::require_name(&id, &member(members, NAME))?;
    }
    let topic = members.get("primary_topic").and_then(Value::members);
    let topic = topic.and_then(|topic| topic.get("id")).and_then(Value::text);
    let topic = topic.and_then(|id| identifier::parse(Entity::Topic, id).ok());
    reader.keep(identity, topic, |segment| {
        let record = R::make(&mut Cursor::new(line, segment));
        note_unknown(line);
        record.expect("a record with an id can be without all else")
    })
}

fn member<'t, T: Default + Deserialize<'t>>(members: &'t Members<'_>, name: &str) -> T {
    let value = members.get(name);
    value.and_then(|value| T::deserialize(value).ok()).unwrap_or_default()
}

/// What a line says of the dump it is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// It is not native.
    Other,
    /// It is native, and of this entity, where its id or its members tell.
    Native(Option<Entity>),
}

/// What a line says of the dump it is of.
pub fn tell(text: &str) -> Told {
    let Ok(line) = serde_json::from_str::<Value<'_>>(text) else { return Told::Other };
    let Some(members) = line.members() else { return Told::Other };
    let has = |name: &str| members.keys().any(|key| key == name);
    if !has(NAME) || has(OPENALEX_NAME) {
        return Told::Other;
    }
    match members.get("id") {
        Some(Value::Text(id)) if identifier::bare(id).is_some() => {
            Told::Native(identifier::parse_any(id).map(|(entity, _)| entity))
        }
        // A bare number says nothing of what it numbers: the members must.
        Some(Value::Unsigned(_)) => {
            let mut fitting = Entity::all()
                .filter(|entity| entity.facts().letter.is_none() && declares_all(*entity, members));
            Told::Native(fitting.next().filter(|_| fitting.next().is_none()))
        }
        _ => Told::Other,
    }
}

fn declares_all(entity: Entity, members: &Members<'_>) -> bool {
    let Schema::Object(object) = schema_of(entity) else { return false };
    members.keys().all(|key| object.members.iter().any(|member| member.name == key))
}

/// Parses one line and throws it away: what reading a dump costs at the least.
///
/// # Errors
///
/// Where the line is no JSON.
pub fn parse_line(text: &str) -> Result<(), JsonError> {
    strict::from_str::<Value<'_>>(text).map(drop)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::frontend::derived::Derived;
    use crate::object::ObjectWriter;

    #[test]
    fn a_record_of_every_entity_can_be_without_all_but_its_id_and_name() {
        let place = tempfile::tempdir().unwrap();
        for entity in Entity::all() {
            let mut object = ObjectWriter::create(&place.path().join("object")).unwrap();
            let mut id = Vec::new();
            entity.write_id(7, &mut id);
            let line = format!(r#"{{"id":"{}","name":"x"}}"#, String::from_utf8(id).unwrap());
            let mut reader = Reader {
                object: &mut object,
                derived: &mut Derived::default(),
                line_hash: Default::default(),
                line: &line,
            };
            read_line(entity, &line, &mut reader).unwrap();
        }
    }

    #[test]
    fn a_native_line_is_told_by_its_id_and_name() {
        let check = |line: &str, expected: Told| assert_eq!(tell(line), expected, "{line}");
        check(r#"{"id":"HX_A1","name":null}"#, Told::Native(Some(Entity::Author)));
        check(r#"{"id":"hx_a1","name":null}"#, Told::Native(Some(Entity::Author)));
        check(r#"{"id":"HX_G1","name":"x"}"#, Told::Native(None));
        check(r#"{"id":3,"name":"x"}"#, Told::Native(None));
        check(r#"{"id":3,"name":"x","fields":[]}"#, Told::Native(Some(Entity::Domain)));
        check(r#"{"id":3,"name":"x","subfields":[]}"#, Told::Native(Some(Entity::Field)));
        check(r#"{"id":3,"name":"x","topics":[]}"#, Told::Native(Some(Entity::Subfield)));
        check(r#"{"id":3,"name":"x","code":"y"}"#, Told::Native(Some(Entity::InstitutionType)));
        check(r#"{"id":3,"name":"x","odd":1,"code":"y"}"#, Told::Native(None));
        check(r#"{"id":"HX_A1","name":"x","display_name":"x"}"#, Told::Other);
        check(r#"{"id":"HX_A1","works_count":1}"#, Told::Other);
        check(r#"{"id":"https://openalex.org/A1","name":"x"}"#, Told::Other);
        check(r#"{"id":"3","name":"x"}"#, Told::Other);
        check(r#"{"name":"x"}"#, Told::Other);
        check(r#"["HX_A1"]"#, Told::Other);
        check("HX_A1", Told::Other);
    }
}
