//! The keys of every list: name, type, use in `filter` and `sort`, and the path of the values.

use Kind::*;

/// The type of a key, which decides how its values are parsed and compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A whole number, with comparisons and ranges.
    Integer,
    /// A number with a fraction.
    Fraction,
    /// `true` or `false`.
    Flag,
    /// Whether a record has any value at the path.
    Presence,
    /// An id with `HX_`, of any entity.
    Hx,
    /// The id of an award, which is no record.
    Award,
    /// The number of a taxonomy node, in the level with this route.
    Level(&'static str),
    /// An identifier with one spelling.
    Plain,
    /// A DOI, bare or with its URL.
    Doi,
    /// The beginning of a DOI, bare or with its URL.
    DoiBeginning,
    /// The id of a work that may be no record.
    Work,
    /// An ORCID iD, bare or with its URL.
    Orcid,
    /// A ROR id, bare or with its URL.
    Ror,
    /// An ISSN, with or without hyphen, bare or with its URL.
    Issn,
    /// A PubMed number, bare or with its URL.
    Pmid,
    /// The name or the id of a keyword, compared in folded form without a parenthesis at the end.
    Keyword,
    /// A short word, compared without case.
    Code,
    /// Text, compared in folded form.
    Text,
    /// A day, or a timestamp compared by its day.
    Date,
    /// A day on or after the value in the filter.
    From,
    /// A day on or before the value in the filter.
    To,
    /// The words of names, matched by prefix.
    Search,
    /// The words of the names of one record referred to, or of the name in the reference, matched by prefix.
    ReferenceSearch,
}

/// One key of a list.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// The name in queries.
    pub name: &'static str,
    /// The type of the values.
    pub kind: Kind,
    /// Whether `filter` accepts the key.
    pub is_filter: bool,
    /// Whether `sort` accepts the key.
    pub is_sort: bool,
    /// Whether `sort` accepts the key in OpenAlex's dialect alone.
    pub is_dialect_sort: bool,
    /// Paths of the values in the single record, separated by spaces. The path before a `>` gives ids;
    /// the path after it is looked up in the records with those ids. [`DERIVED`] for values that no path leads to.
    pub path: &'static str,
}

/// Stands for the path of values that are computed.
pub(super) const DERIVED: &str = "=";

impl Key {
    /// Whether the values of a date key are timestamps.
    pub fn has_times(&self) -> bool {
        matches!(self.kind, Date | From | To) && self.path != "date"
    }

    const fn at(self, path: &'static str) -> Key {
        Key { path, ..self }
    }

    const fn sorts_in_dialect(self) -> Key {
        Key { is_dialect_sort: true, ..self }
    }
}

const fn f(name: &'static str, kind: Kind) -> Key {
    Key { name, kind, is_filter: true, is_sort: false, is_dialect_sort: false, path: name }
}

/// A key of values that are computed.
const fn d(name: &'static str, kind: Kind) -> Key {
    f(name, kind).at(DERIVED)
}

const fn fs(name: &'static str, kind: Kind) -> Key {
    Key { is_sort: true, ..f(name, kind) }
}

/// The keys of a list; empty for an unknown route.
pub fn keys(route: &str) -> Vec<Key> {
    let (id, alternatives, own) = match route {
        "outputs" => (Hx, "name", OUTPUTS),
        "authors" => (Hx, "name display_name_alternatives", AUTHORS),
        "sources" => (Hx, "name alternate_titles", SOURCES),
        "institutions" => (Hx, INSTITUTION_NAMES, INSTITUTIONS),
        "publishers" => (Hx, "name alternate_titles", PUBLISHERS),
        "funders" => (Hx, "name alternate_titles", FUNDERS),
        "topics" => (Hx, "name display_name_alternatives", TOPICS),
        "domains" => (Level("domains"), "name display_name_alternatives", DOMAINS),
        "fields" => (Level("fields"), "name", COUNTS),
        "subfields" => (Level("subfields"), "name", COUNTS),
        _ => return Vec::new(),
    };
    let mut keys = vec![fs("id", id), f("name.search", Search).at(alternatives)];
    keys.extend_from_slice(COMMON);
    keys.extend_from_slice(own);
    if matches!(route, "authors" | "sources" | "institutions" | "publishers" | "funders") {
        keys.extend_from_slice(STATS);
    }
    for key in &mut keys {
        if matches!(route, "fields" | "subfields") {
            key.is_filter = false;
        }
        if route == "authors" {
            key.is_sort = ["cited_by_count", "outputs_count", "id", "name"].contains(&key.name);
        }
    }
    keys.retain(|key| key.is_filter || key.is_sort);
    keys
}

const INSTITUTION_NAMES: &str = "name display_name_acronyms display_name_alternatives";

const COMMON: &[Key] = &[
    fs("name", Text),
    fs("updated_date", Date),
    fs("created_date", Date),
    f("from_updated_date", From).at("updated_date"),
    f("to_updated_date", To).at("updated_date"),
    f("from_created_date", From).at("created_date"),
    f("to_created_date", To).at("created_date"),
];

const COUNTS: &[Key] = &[fs("outputs_count", Integer), fs("cited_by_count", Integer)];

const STATS: &[Key] = &[
    fs("summary_stats.2yr_mean_citedness", Fraction),
    fs("summary_stats.h_index", Integer),
    fs("summary_stats.i10_index", Integer),
];

const OUTPUTS: &[Key] = &[
    f("doi", Doi),
    f("doi_starts_with", DoiBeginning).at("doi"),
    fs("title", Text),
    fs("year", Integer),
    fs("cited_by_count", Integer),
    fs("cites", Integer),
    fs("venues_count", Integer),
    fs("date", Date),
    f("from_date", From).at("date"),
    f("to_date", To).at("date"),
    fs("fwci", Fraction),
    fs("type", Code),
    f("type_crossref", Code),
    f("fulltext_origin", Code),
    f("has_content.pdf", Flag),
    f("has_content.grobid_xml", Flag),
    f("concepts_count", Integer).sorts_in_dialect(),
    f("datasets", Work),
    d("authors.raw_orcid", Orcid),
    f("authors.raw_affiliation_strings", Text),
    f("institution_assertions.id", Hx),
    f("institution_assertions.type", Code).at("institution_assertions.id>type"),
    f("institution_assertions.ror", Ror).at("institution_assertions.id>ror"),
    f("institution_assertions.lineage.id", Hx).at("institution_assertions.id>lineage.id"),
    f("institution_assertions.country.code", Code).at("institution_assertions.id>country.code"),
    f("primary_venue.landing_page_url", Text),
    f("venues.landing_page_url", Text)
        .at("primary_venue.landing_page_url additional_venues.landing_page_url"),
    d("best_oa_venue.landing_page_url", Text),
    f("primary_venue.raw_type", Code),
    f("additional_venues.raw_type", Code),
    f("venues.raw_type", Code).at("primary_venue.raw_type additional_venues.raw_type"),
    d("best_oa_venue.raw_type", Code),
    f("sustainable_development_goals.score", Fraction).sorts_in_dialect(),
    f("language.code", Code),
    f("indexed_in", Code),
    f("has_fulltext", Flag),
    f("is_retracted", Flag),
    f("is_paratext", Flag),
    f("is_oa", Flag).at("open_access.is_oa"),
    f("open_access.is_oa", Flag),
    f("has_doi", Presence).at("doi"),
    f("has_abstract", Presence).at("abstract"),
    f("has_orcid", Presence).at("authors.orcid"),
    f("open_access.oa_status", Code),
    f("ids.mag", Plain),
    f("ids.pmid", Pmid),
    f("has_pmid", Presence).at("ids.pmid"),
    f("has_pmcid", Presence).at("ids.pmcid"),
    d("has_references", Flag),
    d("has_pdf_url", Flag),
    d("has_raw_affiliation_strings", Flag),
    f("is_xpac", Flag),
    f("primary_venue.id", Plain),
    f("primary_venue.source.id", Hx),
    f("primary_venue.source.name", Text),
    f("primary_venue.source.name.search", ReferenceSearch).at("primary_venue.source.name"),
    f("primary_venue.source.type", Code),
    f("primary_venue.license", Code),
    f("primary_venue.version", Code),
    f("primary_venue.is_oa", Flag),
    f("primary_venue.is_accepted", Flag),
    f("primary_venue.is_published", Flag),
    f("additional_venues.source.id", Hx),
    f("additional_venues.source.type", Code),
    f("additional_venues.license", Code),
    f("additional_venues.version", Code),
    f("additional_venues.is_oa", Flag),
    f("additional_venues.is_accepted", Flag),
    f("additional_venues.is_published", Flag),
    d("open_venues.version", Code),
    d("open_venues.source.type", Code),
    d("has_submitted_version", Flag),
    d("has_accepted_or_published_version", Flag),
    d("is_in_open_repository", Flag),
    d("best_oa_venue.source.id", Hx),
    d("best_oa_venue.source.type", Code),
    d("best_oa_venue.license", Code),
    d("best_oa_venue.version", Code),
    d("best_oa_venue.is_oa", Flag),
    d("best_oa_venue.is_accepted", Flag),
    d("best_oa_venue.is_published", Flag),
    f("best_oa_venue.source.issn", Issn).at("best_oa_venue.source.id>issn"),
    f("best_oa_venue.source.is_oa", Flag).at("best_oa_venue.source.id>is_oa"),
    f("best_oa_venue.source.is_in_doaj", Flag).at("best_oa_venue.source.id>is_in_doaj"),
    f("best_oa_venue.source.host_organization", Hx).at("best_oa_venue.source.id>host_organization"),
    f("best_oa_venue.source.host_organization.lineage", Hx)
        .at("best_oa_venue.source.id>host_organization.lineage"),
    f("venues.source.id", Hx).at("primary_venue.source.id additional_venues.source.id"),
    f("venues.source.type", Code).at("primary_venue.source.type additional_venues.source.type"),
    f("venues.license", Code).at("primary_venue.license additional_venues.license"),
    f("venues.version", Code).at("primary_venue.version additional_venues.version"),
    f("venues.is_oa", Flag).at("primary_venue.is_oa additional_venues.is_oa"),
    f("venues.is_accepted", Flag).at("primary_venue.is_accepted additional_venues.is_accepted"),
    f("venues.is_published", Flag).at("primary_venue.is_published additional_venues.is_published"),
    f("primary_venue.source.issn", Issn).at("primary_venue.source.id>issn"),
    f("primary_venue.source.has_issn", Flag).at("primary_venue.source.id>has_issn"),
    f("primary_venue.source.is_oa", Flag).at("primary_venue.source.id>is_oa"),
    f("primary_venue.source.is_in_doaj", Flag).at("primary_venue.source.id>is_in_doaj"),
    f("primary_venue.source.is_core", Flag).at("primary_venue.source.id>is_core"),
    f("primary_venue.source.host_organization", Hx).at("primary_venue.source.id>host_organization"),
    f("primary_venue.source.host_organization.lineage", Hx)
        .at("primary_venue.source.id>host_organization.lineage"),
    f("venues.source.issn", Issn)
        .at("primary_venue.source.id>issn additional_venues.source.id>issn"),
    f("venues.source.has_issn", Flag)
        .at("primary_venue.source.id>has_issn additional_venues.source.id>has_issn"),
    f("venues.source.is_oa", Flag)
        .at("primary_venue.source.id>is_oa additional_venues.source.id>is_oa"),
    f("venues.source.is_in_doaj", Flag)
        .at("primary_venue.source.id>is_in_doaj additional_venues.source.id>is_in_doaj"),
    f("venues.source.is_core", Flag)
        .at("primary_venue.source.id>is_core additional_venues.source.id>is_core"),
    f("venues.source.host_organization", Hx).at(
        "primary_venue.source.id>host_organization additional_venues.source.id>host_organization",
    ),
    f("venues.source.host_organization.lineage", Hx)
        .at("primary_venue.source.id>host_organization.lineage \
         additional_venues.source.id>host_organization.lineage"),
    f("authors.id", Hx),
    f("authors.orcid", Orcid),
    f("authors.name", Text),
    f("authors.name.search", ReferenceSearch).at("authors.name"),
    f("authors.author_position", Code),
    f("authors.is_corresponding", Flag),
    f("authors.affiliations.id", Hx),
    f("authors.affiliations.name", Text),
    f("authors.affiliations.name.search", ReferenceSearch).at("authors.affiliations.name"),
    f("authors.countries.code", Code),
    d("authors.count", Integer).sorts_in_dialect(),
    d("authors.affiliations.count", Integer).sorts_in_dialect(),
    d("authors.countries.count", Integer).sorts_in_dialect(),
    d("authors.countries.continent", Code),
    d("authors.countries.is_global_south", Flag),
    d("corresponding_authors.id", Hx),
    d("corresponding_institutions.id", Hx),
    f("authors.affiliations.type", Code).at("authors.affiliations.id>type"),
    f("authors.affiliations.ror", Ror).at("authors.affiliations.id>ror"),
    f("authors.affiliations.lineage.id", Hx).at("authors.affiliations.id>lineage.id"),
    d("topics.count", Integer).sorts_in_dialect(),
    f("topics.subfield.id", Level("subfields")).at("topics.id>subfield.id"),
    f("topics.field.id", Level("fields")).at("topics.id>field.id"),
    f("topics.domain.id", Level("domains")).at("topics.id>domain.id"),
    f("primary_topic.id", Hx),
    f("topics.id", Hx),
    f("primary_topic.subfield.id", Level("subfields")).at("primary_topic.id>subfield.id"),
    f("primary_topic.field.id", Level("fields")).at("primary_topic.id>field.id"),
    f("primary_topic.domain.id", Level("domains")).at("primary_topic.id>domain.id"),
    f("sustainable_development_goals.id", Integer),
    f("funders.id", Hx),
    f("funders.awards.id", Award),
    f("funders.awards.funder_award_id", Plain),
    f("funders.name", Text),
    f("funders.awards.doi", Doi),
    d("keywords", Keyword),
    d("keywords.id", Keyword),
    f("biblio.volume", Text),
    f("biblio.issue", Text),
    f("biblio.first_page", Text),
    f("biblio.last_page", Text),
    fs("citation_normalized_percentile.value", Fraction),
    f("citation_normalized_percentile.is_in_top_1_percent", Flag),
    f("citation_normalized_percentile.is_in_top_10_percent", Flag),
    fs("cited_by_percentile_year.min", Integer),
    fs("cited_by_percentile_year.max", Integer),
    fs("apc_paid.value", Integer),
    fs("apc_paid.value_usd", Integer),
    f("apc_paid.currency", Code),
    f("apc_paid.provenance", Code),
    f("apc_list.value", Integer).sorts_in_dialect(),
    f("apc_list.value_usd", Integer).sorts_in_dialect(),
    f("apc_list.currency", Code),
    f("apc_list.provenance", Code),
    f("references", Hx).at("references.id"),
    f("referenced_by", Hx),
    fs("references.count", Integer),
    f("is_version_of", Hx),
];

const AUTHORS: &[Key] = &[
    f("orcid", Orcid).at("orcid.id"),
    f("has_orcid", Presence).at("orcid.id"),
    f("full_name", Text),
    d("full_name.first", Text),
    d("full_name.middle", Text),
    d("full_name.last", Text),
    d("full_name.suffix", Text),
    f("display_name_alternatives", Text),
    fs("outputs_count", Integer),
    fs("cited_by_count", Integer),
    f("ids.scopus", Plain),
    f("affiliations.country.code", Code).at("affiliations.id>country.code"),
    f("affiliations.type", Code).at("affiliations.id>type"),
    f("affiliations.ror", Ror).at("affiliations.id>ror"),
    f("affiliations.lineage.id", Hx).at("affiliations.id>lineage.id"),
    f("last_known_institutions.country.code", Code).at("last_known_institutions.id>country.code"),
    f("last_known_institutions.type", Code).at("last_known_institutions.id>type"),
    f("last_known_institutions.ror", Ror).at("last_known_institutions.id>ror"),
    f("last_known_institutions.lineage.id", Hx).at("last_known_institutions.id>lineage.id"),
    d("last_known_institutions.continent", Code),
    d("last_known_institutions.is_global_south", Flag),
    f("last_known_institutions.id", Hx),
    f("affiliations.id", Hx),
    f("last_known_institutions.name", Text),
    f("affiliations.name", Text),
    f("last_known_institutions.name.search", ReferenceSearch).at("last_known_institutions.name"),
    f("affiliations.name.search", ReferenceSearch).at("affiliations.name"),
    f("affiliations.years", Integer),
    f("topics.id", Hx),
];

const SOURCES: &[Key] = &[
    f("issn", Issn),
    f("issn_l", Issn),
    f("has_issn", Presence).at("issn"),
    fs("type", Code),
    f("host_organization", Hx),
    d("host_organization.lineage", Hx),
    d("country.continent", Code),
    d("country.is_global_south", Flag),
    f("host_organization_name", Text),
    f("host_organization_name.search", Search).at("host_organization_name"),
    f("alternate_titles", Text),
    fs("outputs_count", Integer),
    fs("oa_outputs_count", Integer),
    fs("cited_by_count", Integer),
    fs("apc_usd", Integer),
    fs("first_publication_year", Integer),
    fs("last_publication_year", Integer),
    fs("oa_flip_year", Integer),
    fs("is_in_doaj_since_year", Integer),
    fs("is_high_oa_rate_since_year", Integer),
    f("is_oa", Flag),
    f("is_in_doaj", Flag),
    f("is_high_oa_rate", Flag),
    f("is_in_scielo", Flag),
    f("is_ojs", Flag),
    f("is_preprint_repository", Flag),
    f("is_core", Flag),
    f("country.code", Code),
    f("concepts.id", Integer).at("concepts"),
    f("apc_prices.price", Integer).sorts_in_dialect(),
    f("apc_prices.currency", Code),
    f("societies.organization", Text),
    f("ids.mag", Plain),
    f("topics.id", Hx),
];

const INSTITUTIONS: &[Key] = &[
    f("ror", Ror),
    f("has_ror", Presence).at("ror"),
    fs("type", Code),
    f("country.code", Code),
    f("display_name_acronyms", Text),
    f("display_name_alternatives", Text),
    fs("outputs_count", Integer),
    fs("cited_by_count", Integer),
    f("lineage.id", Hx),
    d("country.continent", Code),
    d("country.is_global_south", Flag),
    f("repositories.host_organization", Hx).at("repositories.id>host_organization"),
    f("repositories.host_organization.lineage", Hx).at("repositories.id>host_organization.lineage"),
    f("repositories.id", Hx),
    f("associated_institutions.id", Hx),
    f("roles.id", Hx),
    f("ids.grid", Plain),
    f("associated_institutions.relationship", Code),
    f("roles.role", Code),
    f("is_super_system", Flag),
    f("concepts.id", Integer).at("concepts"),
    f("geo.city", Text),
    f("geo.region", Text),
    f("geo.country_code", Code),
    f("geo.geonames_city_id", Plain),
    fs("geo.latitude", Fraction),
    fs("geo.longitude", Fraction),
    f("topics.id", Hx),
];

const PUBLISHERS: &[Key] = &[
    f("alternate_titles", Text),
    fs("hierarchy_level", Integer),
    f("parent_publisher.id", Hx),
    f("lineage.id", Hx),
    f("ids.ror", Ror),
    f("ids.wikidata", Plain),
    f("roles.id", Hx),
    f("countries.code", Code),
    d("countries.continent", Code),
    d("countries.is_global_south", Flag),
    fs("outputs_count", Integer),
    fs("cited_by_count", Integer),
];

const FUNDERS: &[Key] = &[
    f("alternate_titles", Text),
    f("country.code", Code),
    f("ids.doi", Doi),
    f("ids.ror", Ror),
    f("ids.crossref", Plain),
    f("ids.wikidata", Plain),
    d("country.continent", Code),
    d("country.is_global_south", Flag),
    f("roles.id", Hx),
    fs("grants_count", Integer),
    fs("awards_count", Integer),
    fs("outputs_count", Integer),
    fs("cited_by_count", Integer),
];

const TOPICS: &[Key] = &[
    f("keywords", Text),
    f("subfield.id", Level("subfields")),
    f("field.id", Level("fields")),
    f("domain.id", Level("domains")),
    fs("outputs_count", Integer),
    fs("cited_by_count", Integer),
];

const DOMAINS: &[Key] =
    &[f("fields.id", Level("fields")), fs("outputs_count", Integer), fs("cited_by_count", Integer)];
