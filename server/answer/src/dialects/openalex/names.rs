//! OpenAlex's names of lists, filter keys and sort keys, beside the interface's.

use pinakes_format::entity::Entity;

/// The path of the dialect.
pub const ROOT: &str = "/openalex";
/// A list of OpenAlex.
pub struct List {
    pub entity: Entity,
    /// The keys with other names than the interface's. Keys without a line have the same name, and a key without
    /// names has none.
    keys: &'static [(&'static str, &'static [&'static str])],
    /// Keys that compare an identifier of the record that another key refers to: the other key, and the entity.
    looked_up: &'static [(&'static str, (&'static str, Entity))],
}

/// The lists, in OpenAlex's order.
pub static LISTS: [List; 10] = [
    List {
        entity: Entity::Output,
        keys: &[
            ("id", &["id", "openalex", "openalex_id", "ids.openalex"]),
            ("name", &["display_name"]),
            ("name.search", &[]),
            ("title.search", &["title.search", "display_name.search"]),
            ("default.search", &["default.search", "text.search"]),
            ("author.search", &[]),
            ("doi", &["doi", "ids.doi"]),
            ("year", &["publication_year"]),
            ("date", &["publication_date"]),
            ("from_date", &["from_publication_date"]),
            ("to_date", &["to_publication_date"]),
            ("references", &["cites", "referenced_works"]),
            ("referenced_by", &["cited_by"]),
            ("references.count", &[]),
            ("cites", &["referenced_works_count"]),
            ("venues_count", &["locations_count"]),
            ("language.code", &["language"]),
            ("open_access.oa_status", &["open_access.oa_status", "oa_status"]),
            ("ids.mag", &["ids.mag", "mag"]),
            ("ids.pmid", &["ids.pmid", "pmid"]),
            ("primary_venue.id", &["primary_location.id"]),
            (
                "primary_venue.source.id",
                &["primary_location.source.id", "host_venue", "host_venue.id", "journal"],
            ),
            ("primary_venue.source.name", &["primary_location.source.display_name"]),
            ("primary_venue.source.name.search", &["primary_location.source.display_name.search"]),
            ("primary_venue.source.type", &["primary_location.source.type", "host_venue.type"]),
            ("primary_venue.license", &["primary_location.license", "host_venue.license"]),
            ("primary_venue.version", &["primary_location.version"]),
            ("primary_venue.is_oa", &["primary_location.is_oa"]),
            ("primary_venue.is_accepted", &["primary_location.is_accepted"]),
            ("primary_venue.is_published", &["primary_location.is_published"]),
            ("additional_venues.source.id", &[]),
            ("authors.id", &["authorships.author.id", "author.id"]),
            ("authors.orcid", &["authorships.author.orcid", "author.orcid"]),
            ("authors.name", &["authorships.author.display_name"]),
            ("authors.name.search", &["authorships.author.display_name.search"]),
            ("authors.author_position", &["authorships.author_position"]),
            ("authors.is_corresponding", &["authorships.is_corresponding", "is_corresponding"]),
            ("authors.affiliations.id", &["authorships.institutions.id", "institutions.id"]),
            ("authors.affiliations.name", &["authorships.institutions.display_name"]),
            ("authors.affiliations.name.search", &["authorships.institutions.display_name.search"]),
            (
                "authors.countries.code",
                &[
                    "authorships.countries",
                    "authorships.institutions.country_code",
                    "institutions.country_code",
                ],
            ),
            ("sustainable_development_goals.id", &["sustainable_development_goals.id", "sdgs.id"]),
            ("funders.id", &["funders.id", "grants.funder", "awards.funder_id"]),
            ("funders.awards.id", &["awards.id"]),
            ("funders.awards.funder_award_id", &["awards.funder_award_id", "grants.award_id"]),
            ("keywords", &["keywords.display_name"]),
        ],
        looked_up: &[
            ("authorships.institutions.ror", ("authors.affiliations.id", Entity::Institution)),
            ("institutions.ror", ("authors.affiliations.id", Entity::Institution)),
            ("primary_location.source.issn", ("primary_venue.source.id", Entity::Source)),
            ("journal.issn", ("primary_venue.source.id", Entity::Source)),
        ],
    },
    List {
        entity: Entity::Author,
        keys: &[
            ("id", OWN_ID),
            ("name", &["display_name"]),
            ("name.search", NAME_SEARCH),
            ("orcid", &["orcid", "ids.orcid"]),
            ("full_name", &[]),
            ("outputs_count", WORKS_COUNT),
            (
                "last_known_institutions.id",
                &["last_known_institutions.id", "last_known_institution.id"],
            ),
            ("last_known_institutions.name", &["last_known_institutions.display_name"]),
            (
                "last_known_institutions.name.search",
                &["last_known_institutions.display_name.search"],
            ),
            ("affiliations.id", &["affiliations.institution.id"]),
            ("affiliations.name", &["affiliations.institution.display_name"]),
            ("affiliations.name.search", &["affiliations.institution.display_name.search"]),
        ],
        looked_up: &[
            ("last_known_institutions.ror", ("last_known_institutions.id", Entity::Institution)),
            ("last_known_institution.ror", ("last_known_institutions.id", Entity::Institution)),
            ("affiliations.institution.ror", ("affiliations.id", Entity::Institution)),
        ],
    },
    List {
        entity: Entity::Source,
        keys: &[
            ("id", OWN_ID),
            ("name", &["display_name"]),
            ("name.search", NAME_SEARCH),
            ("outputs_count", WORKS_COUNT),
            ("oa_outputs_count", &["oa_works_count"]),
            ("issn", &["issn", "ids.issn"]),
            ("issn_l", &["issn_l", "ids.issn_l"]),
            ("country.code", &["country_code"]),
        ],
        looked_up: &[],
    },
    List {
        entity: Entity::Institution,
        keys: &[
            ("id", OWN_ID),
            ("name", &["display_name"]),
            ("name.search", NAME_SEARCH),
            ("ror", &["ror", "ids.ror"]),
            ("outputs_count", WORKS_COUNT),
            ("country.code", &["country_code"]),
        ],
        looked_up: &[],
    },
    List {
        entity: Entity::Topic,
        keys: &[
            ("id", OWN_ID),
            ("name", &["display_name"]),
            ("name.search", NAME_SEARCH),
            ("outputs_count", WORKS_COUNT),
        ],
        looked_up: &[],
    },
    List {
        entity: Entity::Publisher,
        keys: &[
            ("id", OWN_ID),
            ("name", &["display_name"]),
            ("name.search", NAME_SEARCH),
            ("outputs_count", WORKS_COUNT),
            ("countries.code", &["country_codes"]),
            ("ids.ror", &["ids.ror", "ror"]),
            ("lineage.id", &["lineage"]),
            ("parent_publisher.id", &["parent_publisher"]),
        ],
        looked_up: &[],
    },
    List {
        entity: Entity::Funder,
        keys: &[
            ("id", OWN_ID),
            ("name", &["display_name"]),
            ("name.search", NAME_SEARCH),
            ("outputs_count", WORKS_COUNT),
            ("ids.ror", &["ids.ror", "ror"]),
            ("country.code", &["country_code"]),
        ],
        looked_up: &[],
    },
    List { entity: Entity::Domain, keys: NODE, looked_up: &[] },
    List { entity: Entity::Field, keys: NODE, looked_up: &[] },
    List { entity: Entity::Subfield, keys: NODE, looked_up: &[] },
];

const OWN_ID: &[&str] = &["id", "openalex", "openalex_id", "ids.openalex"];
const NAME_SEARCH: &[&str] = &["display_name.search", "default.search"];
const WORKS_COUNT: &[&str] = &["works_count"];
/// The keys of the taxonomy above topics.
const NODE: &[(&str, &[&str])] = &[
    ("id", OWN_ID),
    ("name", &["display_name"]),
    ("name.search", NAME_SEARCH),
    ("outputs_count", WORKS_COUNT),
];

/// The interface's name of a key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum KeyName<'a> {
    Same(&'a str),
    /// The key compares ids of records of an entity that have the identifier asked for.
    LookedUp(&'static str, Entity),
}

impl List {
    /// The list with a name.
    pub fn named(name: &str) -> Option<&'static List> {
        LISTS.iter().find(|list| list.name() == name)
    }

    /// The name in paths, which dumps also have.
    pub fn name(&self) -> &'static str {
        self.entity.facts().dump_names.first().copied().unwrap_or_default()
    }

    /// The name of one record, in autocomplete.
    pub fn singular(&self) -> &'static str {
        if self.entity == Entity::Output { "work" } else { self.entity.facts().singular }
    }

    /// The list of an entity; `None` of institution types, which OpenAlex has no list of.
    pub fn of(entity: Entity) -> Option<&'static List> {
        LISTS.iter().find(|list| list.entity == entity)
    }

    /// The interface's name of a key with one of OpenAlex's names; `None` of a name that OpenAlex does not have, or the
    /// snapshot has no index for.
    pub fn key<'a>(&'static self, name: &'a str) -> Option<KeyName<'a>> {
        if let Some((_, (key, entity))) = self.looked_up.iter().find(|(known, _)| *known == name) {
            return Some(KeyName::LookedUp(key, *entity));
        }
        if let Some((key, _)) = self.keys.iter().find(|(_, names)| names.contains(&name)) {
            return Some(KeyName::Same(key));
        }
        let is_renamed = self.keys.iter().any(|(key, _)| *key == name);
        (!is_renamed).then_some(KeyName::Same(name))
    }

    /// OpenAlex's names of a key of the interface.
    pub fn names(&'static self, key: &'static str) -> Vec<&'static str> {
        let renamed = self.keys.iter().find(|(known, _)| *known == key);
        renamed.map_or(vec![key], |(_, names)| names.to_vec())
    }

    /// The keys that compare an identifier of the record that another key refers to.
    pub fn looked_up(&'static self) -> impl Iterator<Item = (&'static str, String)> {
        self.looked_up.iter().map(|(name, (key, entity))| {
            (*name, format!("{key}, by an identifier of the {}", entity.facts().singular))
        })
    }
}
