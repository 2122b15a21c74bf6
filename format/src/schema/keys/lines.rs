//! The table of keys, one line per key.

use crate::entity::Entity;
use crate::schema::countries::{CONTINENTS, Class, GLOBAL_SOUTH};
use crate::schema::keys::Direction;
use crate::schema::texts::{ANY_FIELD, Field};

/// A key as the table declares it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    pub name: &'static str,
    /// Path of the member; the name, unless the line gives another.
    pub path: &'static str,
    pub filter: bool,
    pub sort: bool,
    pub aspect: Aspect,
    /// Whether integers also have posting lists: worth their bytes where filters ask for single values
    /// that many records share.
    pub is_listed: bool,
    /// Whether integers have posting lists alone, and no order: worth their bytes for few different values that little is
    /// sorted by.
    pub is_unordered: bool,
}

/// A key whose rows follow from indexes that other keys have. It costs no bytes in a snapshot.
#[derive(Clone, Copy, Debug)]
pub(super) struct Follower {
    pub name: &'static str,
    pub from: Source,
}

/// The keys of a [`Follower`]'s values.
#[derive(Clone, Copy, Debug)]
pub(super) enum Source {
    /// A value of any of these keys of ids or codes.
    Any(&'static [&'static str]),
    /// The value of a key of the entity, in the records that any of these keys refer to.
    Through(&'static [&'static str], Entity, &'static str),
    /// Through more than one entity.
    Either(&'static [&'static str], [(Entity, &'static str); 2]),
    /// Whether a value of this key of codes is one of the codes.
    OneOf(&'static str, &'static [&'static str]),
    /// The classes of the values of this key of codes.
    Classes(&'static str, &'static [Class]),
}

/// The aspect of its member that a key compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aspect {
    /// The value, as the member declares its type.
    Value,
    /// A text that is an identifier: compared exactly except for ASCII case.
    Identifier,
    /// Whether the member has a value.
    Presence,
    /// The day of the value: the given day or later.
    From,
    /// The day of the value: the given day or earlier.
    To,
    /// The words of a name: of the record's own and alternative names, of a name in a reference, or of a text.
    Words,
    /// The texts of a set of fields, by full-text search.
    Texts(u8),
    /// The records that one of the named records leads to, in this direction of the citation graph.
    Citations(Direction),
    /// The number of records that the record refers to.
    ReferenceCount,
    /// The other versions of one of the named records, which have the same title.
    Versions,
    /// Values that are read from the records which the other expressions of a filter find, because indexes would take more bytes
    /// than they are worth.
    Scanned,
    /// As [`Scanned`](Self::Scanned), of identifiers that begin with a text.
    Beginning,
    /// References that are read from the records which another key of references finds, because posting lists of their own
    /// would take more bytes than they are worth.
    Read { among: &'static str },
}

/// A key that filters.
const fn f(name: &'static str) -> Line {
    Line {
        name,
        path: name,
        filter: true,
        sort: false,
        aspect: Aspect::Value,
        is_listed: false,
        is_unordered: false,
    }
}

/// A key that filters and sorts: by an order, or in OpenAlex's dialect by values that are read from the records, if the line says
/// that no order is built.
const fn fs(name: &'static str) -> Line {
    Line { sort: true, ..f(name) }
}

impl Line {
    const fn at(self, path: &'static str) -> Line {
        Line { path, ..self }
    }

    const fn listed(self) -> Line {
        Line { is_listed: true, ..self }
    }

    const fn unordered(self) -> Line {
        Line { is_unordered: true, ..self }
    }

    const fn identifier(self) -> Line {
        Line { aspect: Aspect::Identifier, ..self }
    }

    const fn present(self, path: &'static str) -> Line {
        Line { path, aspect: Aspect::Presence, ..self }
    }

    const fn from(self, path: &'static str) -> Line {
        Line { path, aspect: Aspect::From, ..self }
    }

    const fn to(self, path: &'static str) -> Line {
        Line { path, aspect: Aspect::To, ..self }
    }

    const fn follows(self, direction: Direction) -> Line {
        Line { aspect: Aspect::Citations(direction), ..self }
    }

    const fn versions(self, titles: &'static str) -> Line {
        Line { path: titles, aspect: Aspect::Versions, ..self }
    }

    const fn counts_references(self) -> Line {
        Line { aspect: Aspect::ReferenceCount, ..self }
    }

    const fn read(self, among: &'static str) -> Line {
        Line { aspect: Aspect::Read { among }, ..self }
    }

    const fn scanned(self) -> Line {
        Line { aspect: Aspect::Scanned, ..self }
    }

    const fn begins(self, path: &'static str) -> Line {
        Line { path, aspect: Aspect::Beginning, ..self }
    }

    const fn searches(self, path: &'static str, fields: u8) -> Line {
        Line { path, aspect: Aspect::Texts(fields), ..self }
    }

    const fn words(self, path: &'static str) -> Line {
        Line { path, aspect: Aspect::Words, ..self }
    }
}

/// Keys of every entity with filters.
const NAMES: [Line; 3] = [fs("id"), fs("name"), f("name.search").words("name")];

const fn any(name: &'static str, keys: &'static [&'static str]) -> Follower {
    Follower { name, from: Source::Any(keys) }
}

const fn through(
    name: &'static str,
    references: &'static [&'static str],
    entity: Entity,
    key: &'static str,
) -> Follower {
    Follower { name, from: Source::Through(references, entity, key) }
}

const fn south(name: &'static str, countries: &'static str) -> Follower {
    Follower { name, from: Source::OneOf(countries, &GLOBAL_SOUTH) }
}

const fn continent(name: &'static str, countries: &'static str) -> Follower {
    Follower { name, from: Source::Classes(countries, &CONTINENTS) }
}

/// Keys of every entity with filters.
const DATES: [Line; 2] = [fs("updated_date"), fs("created_date")];

/// Bounds of the dates of a record.
const BOUNDS: [Line; 4] = [
    f("from_updated_date").from("updated_date"),
    f("to_updated_date").to("updated_date"),
    f("from_created_date").from("created_date"),
    f("to_created_date").to("created_date"),
];

const OUTPUTS: &[Line] = &[
    f("default.search").searches("title", ANY_FIELD),
    f("title.search").searches("title", Field::Title.bit()),
    f("abstract.search").searches("abstract", Field::Abstract.bit()),
    f("title_and_abstract.search").searches("title", Field::Title.bit() | Field::Abstract.bit()),
    f("author.search").searches("authors.name", Field::Authors.bit()),
    f("doi").identifier(),
    f("doi_starts_with").begins("doi"),
    fs("title"),
    fs("year").listed(),
    fs("date"),
    f("from_date").from("date"),
    f("to_date").to("date"),
    fs("cited_by_count"),
    fs("cites"),
    fs("venues_count"),
    fs("fwci"),
    fs("type"),
    f("type_crossref"),
    f("language.code"),
    f("indexed_in"),
    f("has_fulltext"),
    f("fulltext_origin"),
    f("has_content.pdf"),
    f("has_content.grobid_xml"),
    f("is_retracted"),
    f("is_paratext"),
    f("is_xpac"),
    f("is_oa").at("open_access.is_oa"),
    f("open_access.is_oa"),
    f("has_doi").present("doi"),
    f("has_abstract").present("abstract"),
    f("has_orcid").present("authors.orcid"),
    f("has_references"),
    f("has_pdf_url"),
    f("has_raw_affiliation_strings"),
    f("open_access.oa_status"),
    f("ids.mag").identifier(),
    f("ids.pmid").identifier(),
    f("ids.pmcid").identifier(),
    f("has_pmid").present("ids.pmid"),
    f("has_pmcid").present("ids.pmcid"),
    f("primary_venue.id").identifier(),
    f("primary_venue.source.id"),
    f("primary_venue.source.name"),
    f("primary_venue.source.name.search").words("primary_venue.source.name"),
    f("primary_venue.source.type"),
    f("primary_venue.landing_page_url").scanned(),
    f("primary_venue.raw_type"),
    f("primary_venue.license"),
    f("primary_venue.version"),
    f("primary_venue.is_oa"),
    f("primary_venue.is_accepted"),
    f("primary_venue.is_published"),
    f("additional_venues.source.id"),
    f("additional_venues.source.type"),
    f("additional_venues.raw_type"),
    f("additional_venues.license"),
    f("additional_venues.version"),
    f("additional_venues.is_oa"),
    f("additional_venues.is_accepted"),
    f("additional_venues.is_published"),
    f("venues.landing_page_url").scanned(),
    f("open_venues.version"),
    f("open_venues.source.type"),
    f("best_oa_venue.source.id"),
    f("best_oa_venue.source.type"),
    f("best_oa_venue.landing_page_url").scanned(),
    f("best_oa_venue.raw_type"),
    f("best_oa_venue.license"),
    f("best_oa_venue.version"),
    f("best_oa_venue.is_oa"),
    f("best_oa_venue.is_accepted"),
    f("best_oa_venue.is_published"),
    fs("authors.count").unordered(),
    f("authors.id"),
    f("authors.orcid"),
    f("authors.raw_orcid"),
    f("authors.name"),
    f("authors.name.search").words("authors.name"),
    f("authors.author_position"),
    f("authors.is_corresponding"),
    f("authors.affiliations.id"),
    f("authors.affiliations.name"),
    f("authors.affiliations.name.search").words("authors.affiliations.name"),
    fs("authors.affiliations.count").unordered(),
    f("authors.raw_affiliation_strings").scanned(),
    f("authors.countries.code"),
    fs("authors.countries.count").unordered(),
    f("corresponding_authors.id").read("authors.id"),
    f("corresponding_institutions.id"),
    f("institution_assertions.id"),
    f("primary_topic.id"),
    f("topics.id"),
    fs("topics.count").unordered(),
    fs("concepts_count").scanned(),
    f("primary_topic.subfield.id"),
    f("primary_topic.field.id"),
    f("primary_topic.domain.id"),
    f("sustainable_development_goals.id"),
    fs("sustainable_development_goals.score").scanned(),
    f("funders.id"),
    f("funders.awards.id").identifier(),
    f("funders.awards.funder_award_id").identifier(),
    f("funders.name"),
    f("funders.awards.doi").identifier(),
    f("keywords").at("keywords.id").identifier(),
    f("keywords.id").identifier(),
    f("biblio.volume"),
    f("biblio.issue"),
    f("biblio.first_page"),
    f("biblio.last_page"),
    fs("citation_normalized_percentile.value"),
    f("citation_normalized_percentile.is_in_top_1_percent"),
    f("citation_normalized_percentile.is_in_top_10_percent"),
    fs("cited_by_percentile_year.min"),
    fs("cited_by_percentile_year.max"),
    fs("apc_paid.value"),
    fs("apc_paid.value_usd"),
    f("apc_paid.currency"),
    f("apc_paid.provenance"),
    fs("apc_list.value").unordered(),
    fs("apc_list.value_usd").unordered(),
    f("apc_list.currency"),
    f("apc_list.provenance"),
    f("datasets").identifier(),
    f("references").follows(Direction::Citations),
    f("referenced_by").follows(Direction::References),
    f("is_version_of").versions("title"),
    fs("references.count").counts_references(),
];

const AUTHORS: &[Line] = &[
    f("orcid"),
    f("has_orcid").present("orcid"),
    f("full_name"),
    f("full_name.first"),
    f("full_name.middle"),
    f("full_name.last"),
    f("full_name.suffix"),
    f("display_name_alternatives"),
    fs("outputs_count"),
    fs("cited_by_count"),
    f("ids.scopus").identifier(),
    f("last_known_institutions.id"),
    f("affiliations.id"),
    f("last_known_institutions.name"),
    f("last_known_institutions.name.search").words("last_known_institutions.name"),
    f("affiliations.name"),
    f("affiliations.name.search").words("affiliations.name"),
    f("affiliations.years"),
    f("topics.id"),
];

const STATISTICS: [Line; 3] = [
    fs("summary_stats.2yr_mean_citedness"),
    fs("summary_stats.h_index"),
    fs("summary_stats.i10_index"),
];

const COUNTS: [Line; 2] = [fs("outputs_count"), fs("cited_by_count")];

const SOURCES: &[Line] = &[
    f("issn").identifier(),
    f("issn_l").identifier(),
    f("has_issn").present("issn"),
    fs("type"),
    f("host_organization"),
    f("host_organization_name"),
    f("host_organization_name.search").words("host_organization_name"),
    f("alternate_titles"),
    fs("oa_outputs_count"),
    fs("apc_usd"),
    fs("first_publication_year"),
    fs("last_publication_year"),
    fs("oa_flip_year"),
    fs("is_in_doaj_since_year"),
    fs("is_high_oa_rate_since_year"),
    f("is_oa"),
    f("is_in_doaj"),
    f("is_high_oa_rate"),
    f("is_in_scielo"),
    f("is_ojs"),
    f("is_preprint_repository"),
    f("is_core"),
    f("country.code"),
    f("concepts.id").at("concepts"),
    fs("apc_prices.price"),
    f("apc_prices.currency"),
    f("societies.organization"),
    f("ids.mag").identifier(),
    f("topics.id"),
];

const INSTITUTIONS: &[Line] = &[
    f("ror").identifier(),
    f("has_ror").present("ror"),
    fs("type"),
    f("country.code"),
    f("display_name_acronyms"),
    f("display_name_alternatives"),
    f("lineage.id"),
    f("repositories.id"),
    f("associated_institutions.id"),
    f("roles.id"),
    f("ids.grid").identifier(),
    f("associated_institutions.relationship"),
    f("roles.role"),
    f("is_super_system"),
    f("concepts.id").at("concepts"),
    f("geo.city"),
    f("geo.region"),
    f("geo.country_code"),
    f("geo.geonames_city_id").identifier(),
    fs("geo.latitude"),
    fs("geo.longitude"),
    f("topics.id"),
];

const PUBLISHERS: &[Line] = &[
    f("alternate_titles"),
    fs("hierarchy_level"),
    f("parent_publisher.id"),
    f("lineage.id"),
    f("ids.ror").identifier(),
    f("ids.wikidata").identifier(),
    f("roles.id"),
    f("countries.code"),
];

const FUNDERS: &[Line] = &[
    f("alternate_titles"),
    f("country.code"),
    f("ids.doi").identifier(),
    f("ids.ror").identifier(),
    f("ids.crossref").identifier(),
    f("ids.wikidata").identifier(),
    f("roles.id"),
    fs("grants_count"),
    fs("awards_count"),
];

const AWARDS: &[Line] = &[
    f("doi").identifier(),
    f("funder_award_id").identifier(),
    f("funder.id"),
    f("funder.name"),
    fs("amount"),
    f("currency"),
    f("funding_type"),
    f("funder_scheme"),
    f("provenance"),
    fs("start_year").listed(),
    fs("end_year").listed(),
    f("lead_investigator.given_name"),
    f("lead_investigator.family_name"),
    f("lead_investigator.orcid"),
    f("lead_investigator.affiliation.name"),
    f("lead_investigator.affiliation.country"),
    f("institutions.id"),
    f("primary_topic.id"),
    f("topics.id"),
    fs("outputs_count"),
];

const TOPICS: &[Line] = &[f("keywords"), f("subfield.id"), f("field.id"), f("domain.id")];

const DOMAINS: &[Line] = &[f("fields.id")];

const FIELDS: &[Line] = &[f("subfields.id"), f("domain.id")];

const SUBFIELDS: &[Line] = &[f("topics.id"), f("field.id"), f("domain.id")];

const PRIMARY: &[&str] = &["primary_venue.source.id"];
const VENUES: &[&str] = &["primary_venue.source.id", "additional_venues.source.id"];
const BEST: &[&str] = &["best_oa_venue.source.id"];
const AFFILIATIONS: &[&str] = &["authors.affiliations.id"];
const ASSERTED: &[&str] = &["institution_assertions.id"];
const TOPIC_IDS: &[&str] = &["topics.id"];

const OUTPUT_FOLLOWERS: &[Follower] = &[
    any("venues.source.id", VENUES),
    any("venues.source.type", &["primary_venue.source.type", "additional_venues.source.type"]),
    any("venues.raw_type", &["primary_venue.raw_type", "additional_venues.raw_type"]),
    any("venues.license", &["primary_venue.license", "additional_venues.license"]),
    any("venues.version", &["primary_venue.version", "additional_venues.version"]),
    any("venues.is_oa", &["primary_venue.is_oa", "additional_venues.is_oa"]),
    any("venues.is_accepted", &["primary_venue.is_accepted", "additional_venues.is_accepted"]),
    any("venues.is_published", &["primary_venue.is_published", "additional_venues.is_published"]),
    through("primary_venue.source.issn", PRIMARY, Entity::Source, "issn"),
    through("primary_venue.source.has_issn", PRIMARY, Entity::Source, "has_issn"),
    through("primary_venue.source.is_oa", PRIMARY, Entity::Source, "is_oa"),
    through("primary_venue.source.is_in_doaj", PRIMARY, Entity::Source, "is_in_doaj"),
    through("primary_venue.source.is_core", PRIMARY, Entity::Source, "is_core"),
    through("primary_venue.source.host_organization", PRIMARY, Entity::Source, "host_organization"),
    through(
        "primary_venue.source.host_organization.lineage",
        PRIMARY,
        Entity::Source,
        "host_organization.lineage",
    ),
    through("venues.source.issn", VENUES, Entity::Source, "issn"),
    through("venues.source.has_issn", VENUES, Entity::Source, "has_issn"),
    through("venues.source.is_oa", VENUES, Entity::Source, "is_oa"),
    through("venues.source.is_in_doaj", VENUES, Entity::Source, "is_in_doaj"),
    through("venues.source.is_core", VENUES, Entity::Source, "is_core"),
    through("venues.source.host_organization", VENUES, Entity::Source, "host_organization"),
    through(
        "venues.source.host_organization.lineage",
        VENUES,
        Entity::Source,
        "host_organization.lineage",
    ),
    through("best_oa_venue.source.issn", BEST, Entity::Source, "issn"),
    through("best_oa_venue.source.is_oa", BEST, Entity::Source, "is_oa"),
    through("best_oa_venue.source.is_in_doaj", BEST, Entity::Source, "is_in_doaj"),
    through("best_oa_venue.source.host_organization", BEST, Entity::Source, "host_organization"),
    through(
        "best_oa_venue.source.host_organization.lineage",
        BEST,
        Entity::Source,
        "host_organization.lineage",
    ),
    Follower {
        name: "has_submitted_version",
        from: Source::OneOf("open_venues.version", &["submittedVersion"]),
    },
    Follower {
        name: "has_accepted_or_published_version",
        from: Source::OneOf("open_venues.version", &["acceptedVersion", "publishedVersion"]),
    },
    Follower {
        name: "is_in_open_repository",
        from: Source::OneOf("open_venues.source.type", &["repository"]),
    },
    through("authors.affiliations.type", AFFILIATIONS, Entity::Institution, "type"),
    through("authors.affiliations.ror", AFFILIATIONS, Entity::Institution, "ror"),
    through("authors.affiliations.lineage.id", AFFILIATIONS, Entity::Institution, "lineage.id"),
    through("institution_assertions.type", ASSERTED, Entity::Institution, "type"),
    through("institution_assertions.ror", ASSERTED, Entity::Institution, "ror"),
    through("institution_assertions.lineage.id", ASSERTED, Entity::Institution, "lineage.id"),
    through("institution_assertions.country.code", ASSERTED, Entity::Institution, "country.code"),
    continent("authors.countries.continent", "authors.countries.code"),
    south("authors.countries.is_global_south", "authors.countries.code"),
    through("topics.subfield.id", TOPIC_IDS, Entity::Topic, "subfield.id"),
    through("topics.field.id", TOPIC_IDS, Entity::Topic, "field.id"),
    through("topics.domain.id", TOPIC_IDS, Entity::Topic, "domain.id"),
];

const LAST_KNOWN: &[&str] = &["last_known_institutions.id"];
const ONCE: &[&str] = &["affiliations.id"];

const AUTHOR_FOLLOWERS: &[Follower] = &[
    through("affiliations.country.code", ONCE, Entity::Institution, "country.code"),
    through("affiliations.type", ONCE, Entity::Institution, "type"),
    through("affiliations.ror", ONCE, Entity::Institution, "ror"),
    through("affiliations.lineage.id", ONCE, Entity::Institution, "lineage.id"),
    through(
        "last_known_institutions.country.code",
        LAST_KNOWN,
        Entity::Institution,
        "country.code",
    ),
    through("last_known_institutions.type", LAST_KNOWN, Entity::Institution, "type"),
    through("last_known_institutions.ror", LAST_KNOWN, Entity::Institution, "ror"),
    through("last_known_institutions.lineage.id", LAST_KNOWN, Entity::Institution, "lineage.id"),
    continent("last_known_institutions.continent", "last_known_institutions.country.code"),
    south("last_known_institutions.is_global_south", "last_known_institutions.country.code"),
];

const HOST: &[&str] = &["host_organization"];

const SOURCE_FOLLOWERS: &[Follower] = &[
    Follower {
        name: "host_organization.lineage",
        from: Source::Either(
            HOST,
            // The lineage of an institution is the institution alone.
            [(Entity::Publisher, "lineage.id"), (Entity::Institution, "id")],
        ),
    },
    continent("country.continent", "country.code"),
    south("country.is_global_south", "country.code"),
];

const REPOSITORIES: &[&str] = &["repositories.id"];

const INSTITUTION_FOLLOWERS: &[Follower] = &[
    through("repositories.host_organization", REPOSITORIES, Entity::Source, "host_organization"),
    through(
        "repositories.host_organization.lineage",
        REPOSITORIES,
        Entity::Source,
        "host_organization.lineage",
    ),
    continent("country.continent", "country.code"),
    south("country.is_global_south", "country.code"),
];

const PUBLISHER_FOLLOWERS: &[Follower] = &[
    continent("countries.continent", "countries.code"),
    south("countries.is_global_south", "countries.code"),
];

const FUNDER_FOLLOWERS: &[Follower] = &[
    continent("country.continent", "country.code"),
    south("country.is_global_south", "country.code"),
];

const AWARDER: &[&str] = &["funder.id"];
const AWARDED: &[&str] = &["institutions.id"];
const PRIMARY_TOPIC: &[&str] = &["primary_topic.id"];

const AWARD_FOLLOWERS: &[Follower] = &[
    through("funder.ror", AWARDER, Entity::Funder, "ids.ror"),
    through("funder.doi", AWARDER, Entity::Funder, "ids.doi"),
    through("institutions.ror", AWARDED, Entity::Institution, "ror"),
    through("institutions.type", AWARDED, Entity::Institution, "type"),
    through("institutions.country.code", AWARDED, Entity::Institution, "country.code"),
    continent("institutions.continent", "institutions.country.code"),
    through("institutions.lineage.id", AWARDED, Entity::Institution, "lineage.id"),
    through("primary_topic.subfield.id", PRIMARY_TOPIC, Entity::Topic, "subfield.id"),
    through("primary_topic.field.id", PRIMARY_TOPIC, Entity::Topic, "field.id"),
    through("primary_topic.domain.id", PRIMARY_TOPIC, Entity::Topic, "domain.id"),
    through("topics.subfield.id", TOPIC_IDS, Entity::Topic, "subfield.id"),
    through("topics.field.id", TOPIC_IDS, Entity::Topic, "field.id"),
    through("topics.domain.id", TOPIC_IDS, Entity::Topic, "domain.id"),
];

/// The entities with followers, each after those whose keys its followers follow from.
pub(super) const FOLLOWING: [Entity; 7] = [
    Entity::Publisher,
    Entity::Funder,
    Entity::Source,
    Entity::Institution,
    Entity::Author,
    Entity::Award,
    Entity::Output,
];

/// The keys of an entity that follow from others, in the order of the documentation.
pub(super) fn followers(entity: Entity) -> &'static [Follower] {
    match entity {
        Entity::Output => OUTPUT_FOLLOWERS,
        Entity::Author => AUTHOR_FOLLOWERS,
        Entity::Source => SOURCE_FOLLOWERS,
        Entity::Institution => INSTITUTION_FOLLOWERS,
        Entity::Publisher => PUBLISHER_FOLLOWERS,
        Entity::Funder => FUNDER_FOLLOWERS,
        Entity::Award => AWARD_FOLLOWERS,
        _ => &[],
    }
}

/// Whether the lists of the interface take filters; those of OpenAlex all do.
pub(super) fn is_filtered(entity: Entity) -> bool {
    !matches!(entity, Entity::Field | Entity::Subfield)
}

/// Whether the lists of the interface sort by a key that sorts those of OpenAlex.
pub(super) fn is_sorted(entity: Entity, key: &str) -> bool {
    entity != Entity::Author || ["id", "name", "outputs_count", "cited_by_count"].contains(&key)
}

/// The lists that filters combine most: the rows of their frequent terms are counted.
pub(super) fn crossed(entity: Entity) -> &'static [&'static str] {
    match entity {
        Entity::Output => &[
            "year",
            "type",
            "language.code",
            "indexed_in",
            "has_fulltext",
            "is_retracted",
            "is_paratext",
            "open_access.is_oa",
            "has_references",
            "open_access.oa_status",
            "primary_venue.source.type",
            "authors.countries.code",
            "primary_topic.field.id",
            "primary_topic.domain.id",
        ],
        _ => &[],
    }
}

/// The orders that lists with filters use most: by one key, or by two. Along them the rows of frequent terms are counted.
pub(super) fn counted(entity: Entity) -> &'static [(Option<&'static str>, &'static str)] {
    match entity {
        Entity::Output => &[
            (None, "date"),
            (None, "fwci"),
            (Some("year"), "cited_by_count"),
            (Some("year"), "fwci"),
            (Some("date"), "cited_by_count"),
        ],
        _ => &[],
    }
}

/// The lines of an entity, in the order of the documentation.
pub(super) fn lines(entity: Entity) -> Vec<Line> {
    let parts: &[&[Line]] = match entity {
        Entity::Output => &[&NAMES, &DATES, &BOUNDS, OUTPUTS],
        Entity::Author => &[&NAMES, &DATES, &BOUNDS, AUTHORS, &STATISTICS],
        Entity::Source => &[&NAMES, &DATES, &BOUNDS, SOURCES, &COUNTS, &STATISTICS],
        Entity::Institution => &[&NAMES, &DATES, &BOUNDS, INSTITUTIONS, &COUNTS, &STATISTICS],
        Entity::Publisher => &[&NAMES, &DATES, &BOUNDS, PUBLISHERS, &COUNTS, &STATISTICS],
        Entity::Funder => &[&NAMES, &DATES, &BOUNDS, FUNDERS, &COUNTS, &STATISTICS],
        Entity::Topic => &[&NAMES, &DATES, &BOUNDS, TOPICS, &COUNTS],
        Entity::Domain => &[&NAMES, &DATES, &BOUNDS, DOMAINS, &COUNTS],
        Entity::Field => &[&NAMES, &DATES, &BOUNDS, FIELDS, &COUNTS],
        Entity::Subfield => &[&NAMES, &DATES, &BOUNDS, SUBFIELDS, &COUNTS],
        Entity::Award => &[&NAMES, &DATES, &BOUNDS, AWARDS],
        Entity::InstitutionType => &[],
    };
    parts.concat()
}
