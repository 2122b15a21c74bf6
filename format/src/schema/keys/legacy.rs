//! The keys of the legacy lists: the keys of the current lists under their legacy names.

use crate::record::{LEGACY, LegacyEntity};
use crate::schema::keys::{Index, Key, Keys, Kind, Terms, keys_of};

/// The keys of each legacy entity, in the order of [`LEGACY`].
pub(super) fn all() -> Vec<Keys> {
    LEGACY.iter().map(of_entity).collect()
}

fn of_entity(legacy: &'static LegacyEntity) -> Keys {
    let now = keys_of(legacy.entity);
    let mut keys = Keys { route: legacy.route, keys: Vec::new(), ..now.clone() };
    for key in &now.keys {
        keys.keys.push(renamed(legacy, key));
        keys.keys.extend(names_of_parents(legacy, now, key));
    }
    keys
}

/// The key under its legacy name, with identifiers in the legacy spelling.
fn renamed(legacy: &LegacyEntity, key: &Key) -> Key {
    let name = legacy.members.iter().find(|(_, path)| *path == key.name).map(|(name, _)| *name);
    let kind = match key.kind {
        Kind::Id(entity) => Kind::LegacyId(entity),
        kind => kind,
    };
    Key { name: name.unwrap_or(key.name), kind, ..key.clone() }
}

/// For a key of referenced ids such as `domain.id`, a key `domain` of the names of the same
/// records.
fn names_of_parents(legacy: &LegacyEntity, now: &Keys, key: &Key) -> Option<Key> {
    let member = key.name.strip_suffix(".id")?;
    let (name, _) = legacy.members.iter().find(|(_, path)| *path == member)?;
    let Some(Index::Lists(rows)) = key.filter else { return None };
    let Terms::Rows(entity) = now.lists.get(rows)?.terms else { return None };
    let filter = Some(Index::NamesScanned { entity, rows });
    Some(Key { name, kind: Kind::Text, filter, sort: None, ..key.clone() })
}

#[cfg(test)]
mod tests {
    use crate::entity::Entity;
    use crate::query::{Operand, Query};
    use crate::record::legacy::LEGACY;
    use crate::schema::keys::keys_of_legacy;

    #[test]
    fn keys_have_only_their_legacy_names() {
        let names = |at: usize| {
            let keys = keys_of_legacy(&LEGACY[at]);
            keys.filters().collect::<Vec<_>>().join(" ")
        };
        let common = "id name name.search updated_date created_date from_updated_date \
                      to_updated_date from_created_date to_created_date";
        let topics = "keywords subfield.id subfield field.id field domain.id domain";
        assert_eq!(names(0), format!("{common} {topics} outputs citations"));
        assert_eq!(names(1), format!("{common} fields.id fields outputs citations"));
    }

    #[test]
    fn identifiers_are_parsed_with_the_legacy_prefix_or_as_numbers() {
        let check = |filter: &str, expected: Option<Operand>| {
            let mut query = Query::legacy(&LEGACY[0]);
            let read = query.add_filter(filter).ok().map(|()| query.filter[0].operands[0].clone());
            assert_eq!(read, expected, "{filter}");
        };
        let topic = Some(Operand::Record(Entity::Topic, 12));
        let domain = Some(Operand::Record(Entity::Domain, 3));
        for (filter, expected) in [
            ("id:OA:T12", &topic),
            ("id:oa:t12", &topic),
            ("id:12", &topic),
            ("id: 12 ", &topic),
            ("id:\"OA:T12\"", &topic),
            ("id:T12", &topic),
            ("id:HX_T12", &topic),
            ("id:https://openalex.org/T12", &topic),
            ("domain.id:https://openalex.org/domains/3", &domain),
            ("domain.id:OA:3", &domain),
            ("domain.id:oa:3", &domain),
            ("domain.id:3", &domain),
        ] {
            check(filter, expected.clone());
        }
        for nothing in [
            "id:OA:T012",
            "id:OA:W12",
            "id:OA:12",
            "id:OA:",
            "id:OA:Tx",
            "id:012",
            "id:99999999999999999999",
            "domain.id:03",
            "domain.id:OA:03",
        ] {
            check(nothing, Some(Operand::Nothing));
        }
        for wrong in [
            "id:T012",
            "id:OA",
            "id:x",
            "id:-1",
            "id:1 2",
            "domain.id:OA:",
            "id:>1",
            "domain.id:OA:T3",
            "domain.id:HX_3",
            "domain.id:x",
            "domain.id:-3",
            "domain.id:3.0",
        ] {
            check(wrong, None);
        }
    }
}
