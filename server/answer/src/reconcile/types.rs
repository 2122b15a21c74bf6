//! The types of the protocol, and the identifiers of their records.

use pinakes_format::entity::{CATALOG, Entity, Facts};
use pinakes_format::matching::Question;
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::ReadError;
use serde_json::{Value, json};

/// The types: the entities whose records have a path of their own.
pub fn types() -> impl Iterator<Item = &'static Facts> + Clone {
    CATALOG.iter().filter(|facts| Question::is_about(facts.entity))
}

/// The type as an object.
pub fn type_value(facts: &Facts) -> Value {
    let mut name = facts.plural.to_owned();
    name[..1].make_ascii_uppercase();
    json!({ "id": (facts.route), "name": name })
}

/// The identifier of a record in this protocol, where all types share one space: `HX_W1`, or `fields/17`.
pub fn id_text(entity: Entity, id: u64) -> String {
    let text = entity.id_text(id);
    match entity.facts().letter {
        Some(_) => text,
        None => format!("{}/{text}", entity.facts().route),
    }
}

/// Finds the record with an identifier, also where the identifier was merged.
pub fn find(text: &str, snapshot: &Snapshot) -> Result<Option<(Entity, u32)>, ReadError> {
    let named = types().find_map(|facts| {
        let rest = match facts.letter {
            Some(_) => text,
            None => text.strip_prefix(facts.route)?.strip_prefix('/')?,
        };
        Some((facts.entity, facts.entity.parse_id(rest)?))
    });
    let Some((entity, id)) = named else { return Ok(None) };
    Ok(snapshot.find_merged(entity, id)?.1.map(|row| (entity, row)))
}
