//! OpenAlex's names of lists, filter keys and sort keys, beside the interface's.

use pinakes_format::entity::Entity;

/// The path of the dialect.
pub const ROOT: &str = "/openalex";

/// A list of OpenAlex.
pub struct List {
    pub entity: Entity,
    /// The keys with other names than the interface's. Keys without a row have the same name, and a key without
    /// names has none.
    keys: &'static [KeyRow],
    /// Names of OpenAlex that are no keys here, and why.
    refused: &'static [(&'static [&'static str], &'static str)],
}

/// A key of the interface under OpenAlex's names.
pub struct KeyRow {
    /// The interface's name.
    own: &'static str,
    names: &'static [&'static str],
    reads: Reads,
}

/// How a value of OpenAlex reads as one of the interface, and how the values of groups print.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// As it is written, without the address and the collection of a code.
    Same,
    /// A continent: `europe`, `north_america`, or the number that Wikidata has for it.
    Continent,
    /// A keyword, by its id or its name.
    Keyword,
    /// The version that the best open location has at least: `any`, `acceptedOrPublished` or `published`.
    OpenVersion,
    /// The name of a record that another key refers to. Groups are those of that key.
    NameOf(&'static str),
    /// A concept, `C41008148`, whose number the key has.
    Concept,
    /// A source that is a repository. Not for groups, which would count journals too.
    Repository,
}

const fn row(own: &'static str, names: &'static [&'static str]) -> KeyRow {
    KeyRow { own, names, reads: Reads::Same }
}

const fn reads(own: &'static str, names: &'static [&'static str], reads: Reads) -> KeyRow {
    KeyRow { own, names, reads }
}

const fn continent(own: &'static str, names: &'static [&'static str]) -> KeyRow {
    reads(own, names, Reads::Continent)
}

/// A continent's name in keys, its number in Wikidata, and its name for people.
pub const CONTINENTS: [(&str, &str, &str); 7] = [
    ("africa", "Q15", "Africa"),
    ("antarctica", "Q51", "Antarctica"),
    ("asia", "Q48", "Asia"),
    ("europe", "Q46", "Europe"),
    ("north-america", "Q49", "North America"),
    ("oceania", "Q55643", "Oceania"),
    ("south-america", "Q18", "South America"),
];

/// The lists, in OpenAlex's order.
pub static LISTS: [List; 11] = [
    List { entity: Entity::Output, keys: WORKS, refused: WORKS_REFUSED },
    List { entity: Entity::Author, keys: AUTHORS, refused: AUTHORS_REFUSED },
    List { entity: Entity::Source, keys: SOURCES, refused: SOURCES_REFUSED },
    List { entity: Entity::Institution, keys: INSTITUTIONS, refused: INSTITUTIONS_REFUSED },
    List { entity: Entity::Topic, keys: NODE, refused: &[] },
    List { entity: Entity::Publisher, keys: PUBLISHERS, refused: &[] },
    List { entity: Entity::Funder, keys: FUNDERS, refused: &[] },
    List { entity: Entity::Award, keys: AWARDS, refused: AWARDS_REFUSED },
    List { entity: Entity::Domain, keys: NODE, refused: &[] },
    List { entity: Entity::Field, keys: NODE, refused: &[] },
    List { entity: Entity::Subfield, keys: NODE, refused: &[] },
];

/// A small list, whose records are the values of a key.
pub struct SmallList {
    pub name: &'static str,
    /// The list whose records have the values, and the key.
    pub list: &'static str,
    pub key: &'static str,
}

impl SmallList {
    pub fn named(name: &str) -> Option<&'static SmallList> {
        SMALL_LISTS.iter().find(|list| list.name == name)
    }
}

const fn of_works(name: &'static str, key: &'static str) -> SmallList {
    SmallList { name, list: "works", key }
}

/// The small lists, in OpenAlex's order.
pub static SMALL_LISTS: [SmallList; 12] = [
    of_works("keywords", "keywords.id"),
    of_works("types", "type"),
    of_works("work-types", "type"),
    of_works("languages", "language"),
    of_works("countries", "institutions.country_code"),
    of_works("continents", "institutions.continent"),
    of_works("licenses", "primary_location.license"),
    of_works("sdgs", "sustainable_development_goals.id"),
    of_works("oa-statuses", "open_access.oa_status"),
    of_works("indexes", "indexed_in"),
    SmallList { name: "institution-types", list: "institutions", key: "type" },
    SmallList { name: "source-types", list: "sources", key: "type" },
];

const WORKS: &[KeyRow] = &[
    row("id", OWN_ID),
    row("name", &["display_name"]),
    row("name.search", &[]),
    row("title.search", &["title.search", "display_name.search"]),
    row("default.search", &["default.search", "text.search"]),
    row("author.search", &[]),
    row("doi", &["doi", "ids.doi"]),
    row("year", &["publication_year"]),
    row("date", &["publication_date"]),
    row("from_date", &["from_publication_date"]),
    row("to_date", &["to_publication_date"]),
    row("references", &["cites", "referenced_works"]),
    row("referenced_by", &["cited_by"]),
    row("references.count", &[]),
    row("cites", &["referenced_works_count"]),
    row("venues_count", &["locations_count"]),
    row("language.code", &["language"]),
    row("open_access.oa_status", &["open_access.oa_status", "oa_status"]),
    row("is_in_open_repository", &["open_access.any_repository_has_fulltext"]),
    row("has_submitted_version", &["has_oa_submitted_version"]),
    row("has_accepted_or_published_version", &["has_oa_accepted_or_published_version"]),
    row(
        "has_raw_affiliation_strings",
        &["has_raw_affiliation_strings", "has_raw_affiliation_string"],
    ),
    row("ids.mag", &["ids.mag", "mag"]),
    row("ids.pmid", &["ids.pmid", "pmid"]),
    row("ids.pmcid", &["ids.pmcid", "pmcid"]),
    row("primary_venue.id", &["primary_location.id"]),
    row(
        "primary_venue.source.id",
        &["primary_location.source.id", "host_venue", "host_venue.id", "journal"],
    ),
    row("primary_venue.source.name", &["primary_location.source.display_name"]),
    row("primary_venue.source.name.search", &["primary_location.source.display_name.search"]),
    row("primary_venue.source.type", &["primary_location.source.type", "host_venue.type"]),
    row(
        "primary_venue.source.issn",
        &["primary_location.source.issn", "journal.issn", "host_venue.issn"],
    ),
    row("primary_venue.source.has_issn", &["primary_location.source.has_issn"]),
    row("primary_venue.source.is_oa", &["primary_location.source.is_oa"]),
    row("primary_venue.source.is_in_doaj", &["primary_location.source.is_in_doaj"]),
    row("primary_venue.source.is_core", &["primary_location.source.is_core"]),
    row("primary_venue.source.host_organization", &["primary_location.source.host_organization"]),
    row(
        "primary_venue.source.host_organization.lineage",
        &["primary_location.source.host_organization_lineage"],
    ),
    row("primary_venue.landing_page_url", &["primary_location.landing_page_url"]),
    row("primary_venue.raw_type", &["primary_location.raw_type"]),
    row("primary_venue.license", &["primary_location.license", "host_venue.license"]),
    row("primary_venue.version", &["primary_location.version"]),
    row("primary_venue.is_oa", &["primary_location.is_oa"]),
    row("primary_venue.is_accepted", &["primary_location.is_accepted"]),
    row("primary_venue.is_published", &["primary_location.is_published"]),
    row("additional_venues.source.id", &[]),
    row("additional_venues.source.type", &[]),
    row("additional_venues.raw_type", &[]),
    row("additional_venues.license", &[]),
    row("additional_venues.version", &[]),
    row("additional_venues.is_oa", &[]),
    row("additional_venues.is_accepted", &[]),
    row("additional_venues.is_published", &[]),
    row("open_venues.version", &[]),
    row("open_venues.source.type", &[]),
    row("venues.source.id", &["locations.source.id"]),
    reads("venues.source.id", &["repository"], Reads::Repository),
    row("venues.source.type", &["locations.source.type"]),
    row("venues.source.issn", &["locations.source.issn"]),
    row("venues.source.has_issn", &["locations.source.has_issn"]),
    row("venues.source.is_oa", &["locations.source.is_oa"]),
    row("venues.source.is_in_doaj", &["locations.source.is_in_doaj"]),
    row("venues.source.is_core", &["locations.source.is_core"]),
    row("venues.source.host_organization", &["locations.source.host_organization"]),
    row("venues.source.host_organization.lineage", &["locations.source.host_organization_lineage"]),
    row("venues.landing_page_url", &["locations.landing_page_url"]),
    row("venues.raw_type", &["locations.raw_type"]),
    row("venues.license", &["locations.license"]),
    row("venues.version", &["locations.version"]),
    row("venues.is_oa", &["locations.is_oa"]),
    row("venues.is_accepted", &["locations.is_accepted"]),
    row("venues.is_published", &["locations.is_published"]),
    row("best_oa_venue.source.id", &["best_oa_location.source.id"]),
    row("best_oa_venue.source.type", &["best_oa_location.source.type"]),
    row("best_oa_venue.source.issn", &["best_oa_location.source.issn"]),
    row("best_oa_venue.source.is_oa", &["best_oa_location.source.is_oa"]),
    row("best_oa_venue.source.is_in_doaj", &["best_oa_location.source.is_in_doaj"]),
    row("best_oa_venue.source.host_organization", &["best_oa_location.source.host_organization"]),
    row(
        "best_oa_venue.source.host_organization.lineage",
        &["best_oa_location.source.host_organization_lineage"],
    ),
    row("best_oa_venue.landing_page_url", &["best_oa_location.landing_page_url"]),
    row("best_oa_venue.raw_type", &["best_oa_location.raw_type"]),
    row("best_oa_venue.license", &["best_oa_location.license"]),
    row("best_oa_venue.version", &["best_oa_location.version"]),
    reads("best_oa_venue.version", &["best_open_version"], Reads::OpenVersion),
    row("best_oa_venue.is_oa", &["best_oa_location.is_oa"]),
    row("best_oa_venue.is_accepted", &["best_oa_location.is_accepted"]),
    row("best_oa_venue.is_published", &["best_oa_location.is_published"]),
    row("authors.count", &["authors_count"]),
    row("authors.id", &["authorships.author.id", "author.id"]),
    row("authors.orcid", &["authorships.author.orcid", "author.orcid"]),
    row("authors.raw_orcid", &["authorships.raw_orcid"]),
    row("authors.raw_affiliation_strings", &["raw_affiliation_strings"]),
    row("authors.name", &["authorships.author.display_name"]),
    row("authors.name.search", &["authorships.author.display_name.search"]),
    row("authors.author_position", &["authorships.author_position"]),
    row("authors.is_corresponding", &["authorships.is_corresponding", "is_corresponding"]),
    row("corresponding_authors.id", &["corresponding_author_ids"]),
    row("corresponding_institutions.id", &["corresponding_institution_ids"]),
    row(
        "authors.affiliations.id",
        &[
            "authorships.institutions.id",
            "institutions.id",
            "authorships.affiliations.institution_ids",
        ],
    ),
    row("authors.affiliations.name", &["authorships.institutions.display_name"]),
    row("authors.affiliations.name.search", &["authorships.institutions.display_name.search"]),
    row("authors.affiliations.ror", &["authorships.institutions.ror", "institutions.ror"]),
    row("authors.affiliations.type", &["authorships.institutions.type", "institutions.type"]),
    row(
        "authors.affiliations.lineage.id",
        &["authorships.institutions.lineage", "institutions.lineage"],
    ),
    row("authors.affiliations.count", &["institutions_distinct_count"]),
    row(
        "authors.countries.code",
        &[
            "authorships.countries",
            "authorships.institutions.country_code",
            "institutions.country_code",
        ],
    ),
    row("authors.countries.count", &["countries_distinct_count"]),
    continent(
        "authors.countries.continent",
        &["authorships.institutions.continent", "institutions.continent"],
    ),
    row(
        "authors.countries.is_global_south",
        &["authorships.institutions.is_global_south", "institutions.is_global_south"],
    ),
    row("institution_assertions.lineage.id", &["institution_assertions.lineage"]),
    row("institution_assertions.country.code", &["institution_assertions.country_code"]),
    row("topics.count", &["topics_count"]),
    row("sustainable_development_goals.id", &["sustainable_development_goals.id", "sdgs.id"]),
    row("funders.id", &["funders.id", "grants.funder", "awards.funder_id"]),
    reads("funders.name", &["awards.funder_display_name"], Reads::NameOf("funders.id")),
    row("funders.awards.id", &["awards.id"]),
    row("funders.awards.doi", &["awards.doi"]),
    row("funders.awards.funder_award_id", &["awards.funder_award_id", "grants.award_id"]),
    reads("keywords", &["keywords.display_name"], Reads::Keyword),
    reads("keywords.id", &["keywords.id", "keyword", "keywords.keyword"], Reads::Keyword),
];

const WORKS_REFUSED: &[(&[&str], &str)] = &[
    (
        &["concepts.id", "concepts.wikidata", "concept.id"],
        "records keep no concepts, which topics replaced and which would take 80 bytes for each work; `concepts_count` filters by their number",
    ),
    (
        &["raw_affiliation_strings.search"],
        "the words of affiliations as printed are in no index; `authorships.institutions.display_name.search` searches names",
    ),
    (&["related_to"], "records keep no related works, which would take 50 bytes for each work"),
    (&["has_embeddings", "has_old_authors", "mag_only"], "works of the dumps have no such member"),
];

const AUTHORS: &[KeyRow] = &[
    row("id", OWN_ID),
    row("name", &["display_name"]),
    row("name.search", NAME_SEARCH),
    row("orcid", &["orcid", "ids.orcid"]),
    row("ids.scopus", &["scopus", "ids.scopus"]),
    row("full_name", &[]),
    row("full_name.first", &["parsed_longest_name.first"]),
    row("full_name.middle", &["parsed_longest_name.middle"]),
    row("full_name.last", &["parsed_longest_name.last"]),
    row("full_name.suffix", &["parsed_longest_name.suffix"]),
    row("outputs_count", WORKS_COUNT),
    row("last_known_institutions.id", &["last_known_institutions.id", "last_known_institution.id"]),
    row("last_known_institutions.name", &["last_known_institutions.display_name"]),
    row("last_known_institutions.name.search", &["last_known_institutions.display_name.search"]),
    row(
        "last_known_institutions.ror",
        &["last_known_institutions.ror", "last_known_institution.ror"],
    ),
    row(
        "last_known_institutions.type",
        &["last_known_institutions.type", "last_known_institution.type"],
    ),
    row(
        "last_known_institutions.country.code",
        &["last_known_institutions.country_code", "last_known_institution.country_code"],
    ),
    row(
        "last_known_institutions.lineage.id",
        &["last_known_institutions.lineage", "last_known_institution.lineage"],
    ),
    continent(
        "last_known_institutions.continent",
        &["last_known_institutions.continent", "last_known_institution.continent"],
    ),
    row(
        "last_known_institutions.is_global_south",
        &["last_known_institutions.is_global_south", "last_known_institution.is_global_south"],
    ),
    row("affiliations.id", &["affiliations.institution.id"]),
    row("affiliations.name", &["affiliations.institution.display_name"]),
    row("affiliations.name.search", &["affiliations.institution.display_name.search"]),
    row("affiliations.ror", &["affiliations.institution.ror"]),
    row("affiliations.type", &["affiliations.institution.type"]),
    row("affiliations.country.code", &["affiliations.institution.country_code"]),
    row("affiliations.lineage.id", &["affiliations.institution.lineage"]),
    row("topics.id", TOPICS),
];

const AUTHORS_REFUSED: &[(&[&str], &str)] = &[
    (
        &["block_key"],
        "records keep no block keys; `parsed_longest_name.last` filters by last names",
    ),
    (
        &["x_concepts.id"],
        "records keep no concepts of authors, which would take 60 bytes for each; `topics.id` filters by topics",
    ),
];

const SOURCES: &[KeyRow] = &[
    row("id", OWN_ID),
    row("name", &["display_name"]),
    row("name.search", NAME_SEARCH),
    row("outputs_count", WORKS_COUNT),
    row("oa_outputs_count", &["oa_works_count"]),
    row("issn", &["issn", "ids.issn"]),
    row("issn_l", &["issn_l", "ids.issn_l"]),
    row("country.code", &["country_code"]),
    continent("country.continent", &["continent"]),
    row("country.is_global_south", &["is_global_south"]),
    row("host_organization", &["host_organization", "host_organization.id"]),
    row("host_organization.lineage", &["host_organization_lineage"]),
    reads("concepts.id", X_CONCEPTS, Reads::Concept),
    row("topics.id", TOPICS),
];

const SOURCES_REFUSED: &[(&[&str], &str)] =
    &[(&["is_in_jstage", "is_in_jstage_since_year"], "sources of the dumps have no such member")];

const INSTITUTIONS: &[KeyRow] = &[
    row("id", OWN_ID),
    row("name", &["display_name"]),
    row("name.search", NAME_SEARCH),
    row("ror", &["ror", "ids.ror"]),
    row("outputs_count", WORKS_COUNT),
    row("country.code", &["country_code"]),
    continent("country.continent", &["continent"]),
    row("country.is_global_south", &["is_global_south"]),
    row("lineage.id", &["lineage"]),
    reads("concepts.id", X_CONCEPTS, Reads::Concept),
    row("repositories.host_organization.lineage", &["repositories.host_organization_lineage"]),
    row("topics.id", TOPICS),
];

const INSTITUTIONS_REFUSED: &[(&[&str], &str)] =
    &[(&["status"], "institutions of the dumps have no such member")];

const PUBLISHERS: &[KeyRow] = &[
    row("id", OWN_ID),
    row("name", &["display_name"]),
    row("name.search", NAME_SEARCH),
    row("outputs_count", WORKS_COUNT),
    row("countries.code", &["country_codes"]),
    continent("countries.continent", &["continent"]),
    row("countries.is_global_south", &["is_global_south"]),
    row("ids.ror", &["ids.ror", "ror"]),
    row("lineage.id", &["lineage"]),
    row("parent_publisher.id", &["parent_publisher"]),
];

const FUNDERS: &[KeyRow] = &[
    row("id", OWN_ID),
    row("name", &["display_name"]),
    row("name.search", NAME_SEARCH),
    row("outputs_count", WORKS_COUNT),
    row("ids.ror", &["ids.ror", "ror"]),
    row("country.code", &["country_code"]),
    continent("country.continent", &["continent"]),
    row("country.is_global_south", &["is_global_south"]),
];

const AWARDS: &[KeyRow] = &[
    row("id", OWN_ID),
    row("name", &["display_name"]),
    row("name.search", &["display_name.search", "default.search", "text.search"]),
    reads("funder.name", &["funder_name"], Reads::NameOf("funder.id")),
    row("outputs_count", &["funded_outputs_count"]),
    row("institutions.id", &["institution_awarded.id"]),
    row("institutions.ror", &["institution_awarded.ror"]),
    row("institutions.type", &["institution_awarded.type"]),
    row("institutions.country.code", &["institution_awarded.country_code"]),
    continent("institutions.continent", &["institution_awarded.continent"]),
    row("institutions.lineage.id", &["institution_awarded.lineage"]),
];

const AWARDS_REFUSED: &[(&[&str], &str)] = &[
    (
        &["funded_outputs"],
        "records keep no list of works, which would repeat what works keep; `/works?filter=awards.id:G…` lists them, and a work has its `awards`",
    ),
    (
        &["description.search"],
        "the words of descriptions are in no index; `display_name.search` searches titles",
    ),
];

const OWN_ID: &[&str] = &["id", "openalex", "openalex_id", "ids.openalex"];
const NAME_SEARCH: &[&str] = &["display_name.search", "default.search"];
const WORKS_COUNT: &[&str] = &["works_count"];
const X_CONCEPTS: &[&str] = &["x_concepts.id"];
/// A record has a share of each of its topics.
const TOPICS: &[&str] = &["topics.id", "topic_share.id"];
/// The keys of the taxonomy.
const NODE: &[KeyRow] = &[
    row("id", OWN_ID),
    row("name", &["display_name"]),
    row("name.search", NAME_SEARCH),
    row("outputs_count", WORKS_COUNT),
];

/// The interface's name of a key, and how its values read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KeyName<'a> {
    pub own: &'a str,
    pub reads: Reads,
}

impl List {
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
        if let Some(row) = self.keys.iter().find(|row| row.names.contains(&name)) {
            return Some(KeyName { own: row.own, reads: row.reads });
        }
        let is_renamed = self.keys.iter().any(|row| row.own == name);
        (!is_renamed).then_some(KeyName { own: name, reads: Reads::Same })
    }

    /// Why a name of OpenAlex is no key here; `None` of other names.
    pub fn refusal(&'static self, name: &str) -> Option<&'static str> {
        let row = self.refused.iter().find(|(names, _)| names.contains(&name));
        row.map(|(_, reason)| *reason)
    }

    /// The names of OpenAlex that are no keys here, each with the reason.
    pub fn refusals(&'static self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.refused.iter().flat_map(|(names, reason)| names.iter().map(|name| (*name, *reason)))
    }

    /// OpenAlex's names of a key of the interface.
    pub fn names(&'static self, key: &'static str) -> Vec<&'static str> {
        let rows = self.keys.iter().filter(|row| row.own == key);
        let renamed: Vec<_> = rows.map(|row| row.names).collect();
        if renamed.is_empty() { vec![key] } else { renamed.concat() }
    }
}
