//! The table of keys, one line per key.

use crate::entity::Entity;
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
}

/// A key that filters.
const fn f(name: &'static str) -> Line {
    Line { name, path: name, filter: true, sort: false, aspect: Aspect::Value, is_listed: false }
}

/// A key that filters and sorts.
const fn fs(name: &'static str) -> Line {
    Line { sort: true, ..f(name) }
}

/// A key that sorts.
const fn s(name: &'static str) -> Line {
    Line { filter: false, ..fs(name) }
}

impl Line {
    const fn at(self, path: &'static str) -> Line {
        Line { path, ..self }
    }

    const fn listed(self) -> Line {
        Line { is_listed: true, ..self }
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

    const fn counts_references(self) -> Line {
        Line { aspect: Aspect::ReferenceCount, ..self }
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

/// Keys of every entity with filters. Authors have them without sorting.
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
    f("language.code"),
    f("indexed_in"),
    f("has_fulltext"),
    f("is_retracted"),
    f("is_paratext"),
    f("is_xpac"),
    f("is_oa").at("open_access.is_oa"),
    f("open_access.is_oa"),
    f("has_doi").present("doi"),
    f("has_abstract").present("abstract"),
    f("has_orcid").present("authors.orcid"),
    f("open_access.oa_status"),
    f("ids.mag").identifier(),
    f("ids.pmid").identifier(),
    f("ids.pmcid").identifier(),
    f("primary_venue.id").identifier(),
    f("primary_venue.source.id"),
    f("primary_venue.source.name"),
    f("primary_venue.source.name.search").words("primary_venue.source.name"),
    f("primary_venue.source.type"),
    f("primary_venue.license"),
    f("primary_venue.version"),
    f("primary_venue.is_oa"),
    f("primary_venue.is_accepted"),
    f("primary_venue.is_published"),
    f("additional_venues.source.id"),
    f("authors.id"),
    f("authors.orcid"),
    f("authors.name"),
    f("authors.name.search").words("authors.name"),
    f("authors.author_position"),
    f("authors.is_corresponding"),
    f("authors.affiliations.id"),
    f("authors.affiliations.name"),
    f("authors.affiliations.name.search").words("authors.affiliations.name"),
    f("authors.countries.code"),
    f("primary_topic.id"),
    f("topics.id"),
    f("primary_topic.subfield.id"),
    f("primary_topic.field.id"),
    f("primary_topic.domain.id"),
    f("sustainable_development_goals.id"),
    f("funders.id"),
    f("funders.awards.id").identifier(),
    f("funders.awards.funder_award_id").identifier(),
    f("keywords"),
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
    f("references").follows(Direction::Citations),
    f("referenced_by").follows(Direction::References),
    fs("references.count").counts_references(),
];

const AUTHORS: &[Line] = &[
    f("updated_date"),
    f("created_date"),
    f("orcid"),
    f("has_orcid").present("orcid"),
    f("full_name"),
    f("display_name_alternatives"),
    fs("outputs_count"),
    fs("cited_by_count"),
    f("summary_stats.2yr_mean_citedness"),
    f("summary_stats.h_index"),
    f("summary_stats.i10_index"),
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
    f("apc_prices.price"),
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
    f("repositories.id"),
    f("associated_institutions.id"),
    f("roles.id"),
    f("ids.grid").identifier(),
    f("associated_institutions.relationship"),
    f("roles.role"),
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
    f("roles.id"),
    fs("grants_count"),
    fs("awards_count"),
];

const TOPICS: &[Line] = &[f("keywords"), f("subfield.id"), f("field.id"), f("domain.id")];

const DOMAINS: &[Line] = &[f("fields.id")];

const SORTS_ONLY: &[Line] = &[
    s("id"),
    s("name"),
    s("updated_date"),
    s("created_date"),
    s("outputs_count"),
    s("cited_by_count"),
];

/// The lines of an entity, in the order of the documentation.
pub(super) fn lines(entity: Entity) -> Vec<Line> {
    let parts: &[&[Line]] = match entity {
        Entity::Output => &[&NAMES, &DATES, &BOUNDS, OUTPUTS],
        Entity::Author => &[&NAMES, &BOUNDS, AUTHORS],
        Entity::Source => &[&NAMES, &DATES, &BOUNDS, SOURCES, &COUNTS, &STATISTICS],
        Entity::Institution => &[&NAMES, &DATES, &BOUNDS, INSTITUTIONS, &COUNTS, &STATISTICS],
        Entity::Publisher => &[&NAMES, &DATES, &BOUNDS, PUBLISHERS, &COUNTS, &STATISTICS],
        Entity::Funder => &[&NAMES, &DATES, &BOUNDS, FUNDERS, &COUNTS, &STATISTICS],
        Entity::Topic => &[&NAMES, &DATES, &BOUNDS, TOPICS, &COUNTS],
        Entity::Domain => &[&NAMES, &DATES, &BOUNDS, DOMAINS, &COUNTS],
        Entity::Field | Entity::Subfield => &[SORTS_ONLY],
        Entity::InstitutionType => &[],
    };
    parts.concat()
}
