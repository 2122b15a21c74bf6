//! The table of pages: members, groups, filters and lists, in one row for each entity.

use pinakes_format::entity::Entity;
use pinakes_format::schema::{Direction, Index, Key, keys_of};

use crate::list::linked::directions;

/// The heading of the outputs that an output refers to.
pub const REFERENCES: &str = "References";
/// The heading of the outputs that refer to an output.
pub const CITED_BY: &str = "Cited by";
/// The heading of the outputs of a record.
pub const OUTPUTS: &str = "Outputs";

/// One row of the table.
pub struct Shown {
    pub entity: Entity,
    /// Member of a row of a list that stands by itself, such as the authors of an output.
    pub lead: Option<&'static str>,
    /// Further members of a row, by their dotted paths.
    pub members: &'static [&'static str],
    /// Keys whose groups stand beside the list.
    pub groups: &'static [&'static str],
    /// Keys that people filter by first. The kind of a key decides its field in the form.
    pub filters: &'static [&'static str],
    /// Members of the line below a record's name.
    pub about: &'static [&'static str],
    /// Members whose addresses are links above the record, and the words of the links.
    pub links: &'static [(&'static str, &'static str)],
    /// Members that are numbers above the record, the words for them, and the heading of the list that has the part in
    /// the snapshot.
    pub numbers: &'static [(&'static str, &'static str, Option<&'static str>)],
    /// Members that stand on the page; all others stand in its closed part.
    pub sections: &'static [&'static str],
    /// Keys by which a page groups the outputs of a record, and the headings of the groups.
    pub output_groups: &'static [(&'static str, &'static str)],
    /// Lists that a record begins, besides its citations: heading, entity, and the filter key that takes
    /// the record's id.
    pub lists: &'static [(&'static str, Entity, &'static str)],
}

const NOTHING: Shown = Shown {
    entity: Entity::InstitutionType,
    lead: None,
    members: &["outputs_count", "cited_by_count"],
    groups: &[],
    filters: &[],
    about: &[],
    links: &[],
    numbers: &[("outputs_count", "outputs", Some(OUTPUTS)), ("cited_by_count", "citations", None)],
    sections: &[],
    output_groups: &[YEARS],
    lists: &[],
};

/// Numbers of authors and organisations.
const NUMBERS: &[(&str, &str, Option<&str>)] = &[
    ("outputs_count", "outputs", Some(OUTPUTS)),
    ("cited_by_count", "citations", None),
    ("summary_stats.h_index", "h-index", None),
];
const YEARS: (&str, &str) = ("year", "Outputs by year");
const TOPICS: (&str, &str) = ("topics.id", "Topics");
const AUTHORS: (&str, &str) = ("authors.id", "Authors");
const INSTITUTIONS: (&str, &str) = ("authors.affiliations.id", "Institutions");

/// The rows, in the order of navigation.
const SHOWN: [Shown; Entity::COUNT] = [
    Shown {
        entity: Entity::Output,
        lead: Some("authors"),
        members: &["year", "type", "primary_venue.source"],
        groups: &["year", "type", "open_access.oa_status", "primary_topic.field.id"],
        filters: &[
            "year",
            "authors.id",
            "authors.affiliations.id",
            "primary_venue.source.id",
            "topics.id",
            "funders.id",
            "type",
            "authors.countries.code",
            "language.code",
            "is_oa",
            "has_abstract",
        ],
        about: &["date", "type", "language"],
        links: &[
            ("open_access.oa_url", "Free copy"),
            ("doi", "DOI"),
            ("primary_venue.landing_page_url", "Publisher’s page"),
            ("ids.pmid", "PubMed"),
        ],
        numbers: &[
            ("cited_by_count", "citations", Some(CITED_BY)),
            ("cites", "references", Some(REFERENCES)),
            ("fwci", "field-weighted citation impact", None),
        ],
        sections: &["topics", "keywords", "funders", "sustainable_development_goals"],
        output_groups: &[],
        lists: &[("Other versions", Entity::Output, "is_version_of")],
    },
    Shown {
        entity: Entity::Author,
        lead: Some("last_known_institutions"),
        members: &["outputs_count", "cited_by_count", "orcid"],
        groups: &["has_orcid", "last_known_institutions.id"],
        filters: &["last_known_institutions.id", "affiliations.id", "topics.id", "has_orcid"],
        links: &[("orcid", "ORCID")],
        numbers: NUMBERS,
        sections: &["affiliations", "display_name_alternatives"],
        output_groups: &[YEARS, TOPICS, ("authors.id", "Co-authors")],
        lists: &[(OUTPUTS, Entity::Output, "authors.id")],
        ..NOTHING
    },
    Shown {
        entity: Entity::Institution,
        members: &["type", "country", "outputs_count", "cited_by_count"],
        groups: &["type", "country.code"],
        filters: &["type", "country.code", "topics.id", "has_ror"],
        about: &["type", "geo.city", "geo.region", "country", "display_name_acronyms"],
        links: &[
            ("homepage_url", "Homepage"),
            ("ror", "ROR"),
            ("ids.wikipedia", "Wikipedia"),
            ("image_url", "Picture"),
        ],
        numbers: NUMBERS,
        sections: &["associated_institutions", "display_name_alternatives"],
        output_groups: &[
            YEARS,
            TOPICS,
            ("authors.affiliations.id", "Collaborating institutions"),
            AUTHORS,
        ],
        lists: &[
            (OUTPUTS, Entity::Output, "authors.affiliations.id"),
            ("Authors", Entity::Author, "last_known_institutions.id"),
        ],
        ..NOTHING
    },
    Shown {
        entity: Entity::Source,
        members: &["type", "host_organization_name", "issn_l", "outputs_count", "cited_by_count"],
        groups: &["type", "is_oa", "is_in_doaj", "country.code"],
        filters: &["type", "country.code", "topics.id", "is_oa", "is_in_doaj", "is_core"],
        about: &["type", "host_organization_name", "country", "issn"],
        links: &[("homepage_url", "Homepage")],
        numbers: NUMBERS,
        sections: &["societies", "alternate_titles"],
        output_groups: &[YEARS, TOPICS, INSTITUTIONS],
        lists: &[(OUTPUTS, Entity::Output, "primary_venue.source.id")],
        ..NOTHING
    },
    Shown {
        entity: Entity::Publisher,
        members: &["parent_publisher", "countries", "outputs_count", "cited_by_count"],
        groups: &["countries.code", "hierarchy_level"],
        filters: &["countries.code", "parent_publisher.id"],
        about: &["parent_publisher", "countries"],
        links: &[
            ("homepage_url", "Homepage"),
            ("ids.ror", "ROR"),
            ("ids.wikidata", "Wikidata"),
            ("image_url", "Picture"),
        ],
        numbers: NUMBERS,
        sections: &["alternate_titles"],
        lists: &[("Imprints", Entity::Publisher, "parent_publisher.id")],
        ..NOTHING
    },
    Shown {
        entity: Entity::Funder,
        members: &["country", "outputs_count", "cited_by_count"],
        groups: &["country.code"],
        filters: &["country.code"],
        about: &["country", "alternate_titles"],
        links: &[
            ("homepage_url", "Homepage"),
            ("ids.ror", "ROR"),
            ("ids.doi", "DOI"),
            ("image_url", "Picture"),
        ],
        numbers: &[
            ("outputs_count", "outputs", Some(OUTPUTS)),
            ("cited_by_count", "citations", None),
            ("awards_count", "awards", None),
            ("grants_count", "grants", None),
        ],
        output_groups: &[YEARS, TOPICS, INSTITUTIONS],
        lists: &[(OUTPUTS, Entity::Output, "funders.id"), ("Awards", Entity::Award, "funder.id")],
        ..NOTHING
    },
    Shown {
        entity: Entity::Award,
        lead: Some("funder"),
        members: &["funder_award_id", "start_year", "funding_type", "outputs_count"],
        groups: &["start_year", "funder.id", "funding_type", "currency"],
        filters: &["funder.id", "institutions.id", "start_year", "funding_type", "topics.id"],
        about: &["funder", "funder_award_id", "funder_scheme", "start_date", "end_date"],
        links: &[("landing_page_url", "Landing page"), ("doi", "DOI")],
        numbers: &[("outputs_count", "outputs", Some(OUTPUTS)), ("amount", "amount", None)],
        sections: &["lead_investigator", "institutions", "topics"],
        output_groups: &[YEARS, TOPICS, AUTHORS],
        lists: &[(OUTPUTS, Entity::Output, "funders.awards.id")],
    },
    Shown {
        entity: Entity::Topic,
        members: &["subfield", "field", "domain", "outputs_count", "cited_by_count"],
        groups: &["domain.id", "field.id"],
        filters: &["domain.id", "field.id", "subfield.id"],
        about: &["subfield", "field", "domain"],
        links: &[("ids.wikipedia", "Wikipedia")],
        sections: &["keywords"],
        output_groups: &[YEARS, AUTHORS, INSTITUTIONS],
        lists: &[(OUTPUTS, Entity::Output, "topics.id")],
        ..NOTHING
    },
    Shown {
        entity: Entity::Domain,
        sections: &["fields"],
        lists: &[(OUTPUTS, Entity::Output, "primary_topic.domain.id")],
        ..NOTHING
    },
    Shown {
        entity: Entity::Field,
        members: &["domain", "outputs_count", "cited_by_count"],
        about: &["domain"],
        sections: &["subfields"],
        lists: &[(OUTPUTS, Entity::Output, "primary_topic.field.id")],
        ..NOTHING
    },
    Shown {
        entity: Entity::Subfield,
        members: &["field", "domain", "outputs_count", "cited_by_count"],
        about: &["field", "domain"],
        sections: &["topics"],
        output_groups: &[YEARS, TOPICS],
        lists: &[(OUTPUTS, Entity::Output, "primary_topic.subfield.id")],
        ..NOTHING
    },
    NOTHING,
];

/// All rows, in the order of navigation.
pub fn all() -> impl Iterator<Item = &'static Shown> {
    SHOWN.iter()
}

/// The rows of navigation: the lists without those that the taxonomy leads to.
pub fn navigated() -> impl Iterator<Item = &'static Shown> {
    let is_taxonomy = |entity| {
        matches!(
            entity,
            Entity::Domain | Entity::Field | Entity::Subfield | Entity::InstitutionType
        )
    };
    all().filter(move |shown| !is_taxonomy(shown.entity))
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
            Direction::Citations => CITED_BY,
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
    use crate::pages::filters::field_kind;

    #[test]
    fn every_entity_has_one_row_of_members_and_keys_that_exist() {
        for entity in Entity::all() {
            assert_eq!(all().filter(|shown| shown.entity == entity).count(), 1, "{entity}");
            let (shown, schema) = (of(entity), schema_of(entity));
            // A reference, a place and a person are found by a part of them.
            let is_member = |path: &str| {
                ["", ".id", ".code", ".organization", ".source.id", ".family_name"]
                    .iter()
                    .any(|part| find_path(&schema, &format!("{path}{part}")).is_some())
            };
            for path in shown.lead.iter().chain(shown.members) {
                assert!(is_member(path), "{entity}: {path}");
            }
            for path in shown.about.iter().chain(shown.sections) {
                assert!(is_member(path), "{entity}: {path}");
            }
            let links = shown.links.iter().map(|(path, _)| path);
            for path in links.chain(shown.numbers.iter().map(|(path, ..)| path)) {
                assert!(is_member(path), "{entity}: {path}");
            }
            for key in shown.groups {
                Query::new(entity).set_group_by(key).unwrap();
            }
            for (key, _) in shown.output_groups {
                Query::new(Entity::Output).set_group_by(key).unwrap();
            }
            for name in shown.filters {
                let key = keys_of(entity).filter(name).unwrap().0;
                assert!(field_kind(key).is_some(), "{entity}: {name}");
            }
            let id =
                entity.facts().letter.map_or("1".into(), |of| format!("HX_{}1", char::from(of)));
            for (_, listed, key) in shown.lists {
                Query::new(*listed).add_filter(&format!("{key}:{id}")).unwrap();
            }
        }
    }
}
