//! The table of pages: members, groups and lists, in one row for each entity.

use pinakes_format::entity::Entity;
use pinakes_format::schema::keys::{Direction, Index, Key, keys_of};

use crate::endpoint::linked::directions;

/// The heading of the outputs that an output refers to.
pub const REFERENCES: &str = "References";

/// One row of the table.
pub struct Shown {
    pub entity: Entity,
    /// Member of a row of a list that stands by itself, such as the authors of an output.
    pub lead: Option<&'static str>,
    /// Further members of a row, by their dotted paths.
    pub members: &'static [&'static str],
    /// Keys whose groups stand beside the list.
    pub groups: &'static [&'static str],
    /// Lists that a record begins, besides its citations: heading, entity, and the filter key that takes
    /// the record's id.
    pub lists: &'static [(&'static str, Entity, &'static str)],
}

const NOTHING: Shown = Shown {
    entity: Entity::InstitutionType,
    lead: None,
    members: &["outputs_count", "cited_by_count"],
    groups: &[],
    lists: &[],
};

/// The rows, in the order of navigation.
const SHOWN: [Shown; Entity::COUNT] = [
    Shown {
        entity: Entity::Output,
        lead: Some("authors"),
        members: &["year", "type", "primary_venue.source", "cited_by_count"],
        groups: &["year", "type", "open_access.oa_status", "primary_topic.field.id"],
        ..NOTHING
    },
    Shown {
        entity: Entity::Author,
        lead: Some("last_known_institutions"),
        members: &["outputs_count", "cited_by_count", "orcid"],
        groups: &["has_orcid", "last_known_institutions.id"],
        lists: &[("Outputs", Entity::Output, "authors.id")],
    },
    Shown {
        entity: Entity::Institution,
        members: &["type", "country", "outputs_count", "cited_by_count"],
        groups: &["type", "country.code"],
        lists: &[
            ("Outputs", Entity::Output, "authors.affiliations.id"),
            ("Authors", Entity::Author, "last_known_institutions.id"),
        ],
        ..NOTHING
    },
    Shown {
        entity: Entity::Source,
        members: &["type", "host_organization_name", "issn_l", "outputs_count", "cited_by_count"],
        groups: &["type", "is_oa", "is_in_doaj", "country.code"],
        lists: &[("Outputs", Entity::Output, "primary_venue.source.id")],
        ..NOTHING
    },
    Shown {
        entity: Entity::Publisher,
        members: &["parent_publisher", "countries", "outputs_count", "cited_by_count"],
        groups: &["countries.code", "hierarchy_level"],
        lists: &[("Imprints", Entity::Publisher, "parent_publisher.id")],
        ..NOTHING
    },
    Shown {
        entity: Entity::Funder,
        members: &["country", "outputs_count", "cited_by_count"],
        groups: &["country.code"],
        lists: &[("Outputs", Entity::Output, "funders.id")],
        ..NOTHING
    },
    Shown {
        entity: Entity::Topic,
        members: &["subfield", "field", "domain", "outputs_count", "cited_by_count"],
        groups: &["domain.id", "field.id"],
        lists: &[("Outputs", Entity::Output, "topics.id")],
        ..NOTHING
    },
    Shown {
        entity: Entity::Domain,
        lists: &[("Outputs", Entity::Output, "primary_topic.domain.id")],
        ..NOTHING
    },
    Shown {
        entity: Entity::Field,
        members: &["domain", "outputs_count", "cited_by_count"],
        lists: &[("Outputs", Entity::Output, "primary_topic.field.id")],
        ..NOTHING
    },
    Shown {
        entity: Entity::Subfield,
        members: &["field", "domain", "outputs_count", "cited_by_count"],
        lists: &[("Outputs", Entity::Output, "primary_topic.subfield.id")],
        ..NOTHING
    },
    NOTHING,
];

/// All rows, in the order of navigation.
pub fn all() -> impl Iterator<Item = &'static Shown> {
    SHOWN.iter()
}

/// The row of an entity.
pub fn of(entity: Entity) -> &'static Shown {
    SHOWN.iter().find(|shown| shown.entity == entity).unwrap_or(&NOTHING)
}

/// The lists that a record of an entity begins, its citations first.
pub fn lists_from(entity: Entity) -> impl Iterator<Item = (&'static str, Entity, &'static str)> {
    let linked = directions(entity.facts()).filter_map(move |direction| {
        let heading = match direction {
            Direction::References => REFERENCES,
            Direction::Citations => "Cited by",
        };
        let is_key = |key: &&Key| key.filter == Some(Index::Citations(direction));
        let key = keys_of(entity).keys.iter().find(is_key)?;
        Some((heading, entity, key.name))
    });
    linked.chain(of(entity).lists.iter().copied())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use pinakes_format::query::Query;
    use pinakes_format::record::gather::find_path;
    use pinakes_format::record::schema_of;

    use super::*;

    #[test]
    fn every_entity_has_one_row_of_members_and_keys_that_exist() {
        for entity in Entity::all() {
            assert_eq!(all().filter(|shown| shown.entity == entity).count(), 1, "{entity}");
            let (shown, schema) = (of(entity), schema_of(entity));
            for path in shown.lead.iter().chain(shown.members) {
                // A reference is found by a part of it.
                let is_there = ["", ".id", ".code", ".source.id"]
                    .iter()
                    .any(|part| find_path(&schema, &format!("{path}{part}")).is_some());
                assert!(is_there, "{entity}: {path}");
            }
            for key in shown.groups {
                Query::new(entity).set_group_by(key).unwrap();
            }
            let id =
                entity.facts().letter.map_or("1".into(), |of| format!("HX_{}1", char::from(of)));
            for (_, listed, key) in shown.lists {
                Query::new(*listed).add_filter(&format!("{key}:{id}")).unwrap();
            }
        }
    }
}
