//! The members of OpenAlex's records: a table for each list.

use pinakes_format::entity::Entity;
use pinakes_format::storage::ReadError;
use pinakes_format::text::{inverted_index, json};

use crate::dialects::openalex::composed::*;
use crate::dialects::openalex::stored::Stored;
use crate::dialects::openalex::tape::Value;
use crate::dialects::openalex::values::{Object, write_address, write_reference};

/// A member of a record.
pub struct Member {
    pub name: &'static str,
    pub make: Make,
}

/// How a member is made of the stored record.
pub enum Make {
    /// The value at a path.
    Of(&'static str),
    /// The value at a path, if it is known.
    Known(&'static str),
    /// The address of the id at a path, below a level of the taxonomy.
    Id(&'static str, &'static str),
    /// The reference at a path, whose address stands below a level of the taxonomy.
    Reference(&'static str, &'static str),
    /// The list of such references. Left out if the list is not known.
    References(&'static str, &'static str),
    /// A list of as many elements as the list at a path has, each made by a function. Left out if the list is not known.
    Each(&'static str, WriteElement),
    /// Made by a function of the members at some paths, separated by commas.
    By(&'static str, Write),
}

/// Appends an element of a list.
pub type WriteElement = fn(&Stored<'_>, Value<'_>, &mut Vec<u8>) -> Result<(), ReadError>;

/// Appends a member's value, and tells whether the record has the member. If not, the caller takes back the bytes.
pub type Write = fn(&Stored<'_>, &mut Vec<u8>) -> Result<bool, ReadError>;

impl Member {
    /// The paths in the stored record that the member needs.
    pub fn read(&self) -> impl Iterator<Item = &'static str> {
        let paths = match self.make {
            Make::Of(paths)
            | Make::Known(paths)
            | Make::Id(paths, _)
            | Make::Reference(paths, _)
            | Make::References(paths, _)
            | Make::Each(paths, _)
            | Make::By(paths, _) => paths,
        };
        paths.split(',').filter(|path| !path.is_empty())
    }
}

const fn same(name: &'static str) -> Member {
    Member { name, make: Make::Of(name) }
}

const fn of(name: &'static str, path: &'static str) -> Member {
    Member { name, make: Make::Of(path) }
}

/// A list or an object, left out where it is not known: OpenAlex has none that is null.
const fn known(name: &'static str) -> Member {
    Member { name, make: Make::Known(name) }
}

const fn by(name: &'static str, paths: &'static str, write: Write) -> Member {
    Member { name, make: Make::By(paths, write) }
}

const fn each(name: &'static str, path: &'static str, write: WriteElement) -> Member {
    Member { name, make: Make::Each(path, write) }
}

const fn id_below(level: &'static str) -> Member {
    Member { name: "id", make: Make::Id("id", level) }
}

const fn node(name: &'static str, level: &'static str) -> Member {
    Member { name, make: Make::Reference(name, level) }
}

const fn nodes(name: &'static str, level: &'static str) -> Member {
    Member { name, make: Make::References(name, level) }
}

const ID: Member = id_below("");
const NAME: Member = of("display_name", "name");
const WORKS_COUNT: Member = of("works_count", "outputs_count");
const COUNTRY: Member = of("country_code", "country.code");
const COUNTS: Member = each("counts_by_year", "counts_by_year", counts_of_year);
const TOPICS: Member = each("topics", "topics", topic);
const TOPIC_SHARE: Member = by("topic_share", "topics", topic_share);
const ROLES: Member = each("roles", "roles", role);

/// The members of the records of an entity, in OpenAlex's order.
pub fn members(entity: Entity) -> &'static [Member] {
    match entity {
        Entity::Output => &WORK,
        Entity::Author => &AUTHOR,
        Entity::Source => &SOURCE,
        Entity::Institution => &INSTITUTION,
        Entity::Publisher => &PUBLISHER,
        Entity::Funder => &FUNDER,
        Entity::Award => &AWARD,
        Entity::Topic => &TOPIC,
        Entity::Subfield => &SUBFIELD,
        Entity::Field => &FIELD,
        Entity::Domain => &DOMAIN,
        Entity::InstitutionType => &[],
    }
}

static WORK: [Member; 50] = [
    ID,
    same("doi"),
    same("title"),
    NAME,
    of("publication_year", "year"),
    of("publication_date", "date"),
    by("ids", "id,ids,doi", |work, out| ids(work, &["doi", "mag", "pmid", "pmcid"], out)),
    of("language", "language.code"),
    by("primary_location", "primary_venue", |work, out| {
        location(work, work.at("primary_venue"), out).map(|()| true)
    }),
    same("type"),
    known("type_crossref"),
    known("indexed_in"),
    known("open_access"),
    by("authorships", "authors,raw_orcids", |work, out| {
        let printed = work.list("raw_orcids");
        if work.at("authors").is_null() {
            return Ok(false);
        }
        json::try_list(out, (0..).zip(work.list("authors")), |(at, author), out| {
            let is_of = |printed: &Value<'_>| printed.get("author").number() == Some(at);
            authorship(work, author, printed.clone().find(is_of), out)
        })
        .map(|()| true)
    }),
    by("institution_assertions", "institution_assertions", |work, out| {
        json::try_list(out, work.list("institution_assertions"), |asserted, out| {
            write_institution(work, asserted, out).map(|_| ())
        })?;
        Ok(!work.at("institution_assertions").is_null())
    }),
    by(
        "institutions_distinct_count",
        "authors.affiliations.id,authors.affiliations.name",
        |work, out| distinct(work, "affiliations", ["id", "name"], out),
    ),
    by("countries_distinct_count", "authors.countries.code,authors.countries.name", |work, out| {
        distinct(work, "countries", ["code", "name"], out)
    }),
    by("corresponding_author_ids", "authors.id,authors.is_corresponding", |work, out| {
        addresses(corresponding(work).map(|author| author.get("id")), out)
    }),
    by(
        "corresponding_institution_ids",
        "authors.affiliations.id,authors.is_corresponding",
        |work, out| {
            let mut ids: Vec<Value<'_>> = Vec::new();
            let affiliations =
                corresponding(work).flat_map(|author| author.get("affiliations").elements());
            for id in affiliations.map(|institution| institution.get("id")) {
                if ids.iter().all(|known| known.json() != id.json()) {
                    ids.push(id);
                }
            }
            addresses(ids.into_iter(), out)
        },
    ),
    known("apc_list"),
    same("apc_paid"),
    same("fwci"),
    same("has_fulltext"),
    known("fulltext_origin"),
    known("has_content"),
    same("cited_by_count"),
    same("citation_normalized_percentile"),
    same("cited_by_percentile_year"),
    known("biblio"),
    same("is_retracted"),
    same("is_paratext"),
    // Exports leave out what is false.
    by("is_xpac", "is_xpac", |work, out| {
        let is_xpac = work.at("is_xpac").is_true();
        out.extend_from_slice(if is_xpac { b"true" } else { b"false" });
        Ok(true)
    }),
    by("primary_topic", "primary_topic", |work, out| {
        topic_of_work(work, work.at("primary_topic"), out).map(|()| true)
    }),
    each("topics", "topics", topic_of_work),
    by("keywords", "keywords,keyword_ids", keywords),
    of("locations_count", "venues_count"),
    by("locations", "primary_venue,additional_venues", |work, out| {
        let primary = Some(work.at("primary_venue")).filter(|venue| !venue.is_null());
        let venues = primary.into_iter().chain(work.list("additional_venues"));
        json::try_list(out, venues, |venue, out| location(work, venue, out)).map(|()| true)
    }),
    by("best_oa_location", "best_oa_venue,primary_venue,additional_venues", |work, out| {
        let best = match work.at("best_oa_venue").number() {
            Some(0) => Some(work.at("primary_venue")),
            Some(at) => work.list("additional_venues").nth(at as usize - 1),
            None => None,
        };
        match best {
            Some(best) => location(work, best, out)?,
            None => out.extend_from_slice(b"null"),
        }
        Ok(true)
    }),
    each("sustainable_development_goals", "sustainable_development_goals", |_, goal, out| {
        let mut made = Object::begin(out);
        let id = goal.get("id").number().map(|id| format!("https://metadata.un.org/sdg/{id}"));
        made.text("id", id.as_deref());
        made.value("display_name", goal.get("name"));
        made.known("score", goal.get("score"));
        made.end();
        Ok(())
    }),
    by("awards", "funders", awards),
    each("funders", "funders", |work, funder, out| {
        work.write_fragment(funder.get("id"), out, |out| {
            let found = work.referred(Entity::Funder, funder.get("id"))?;
            let mut made = Object::begin(out);
            made.reference(funder);
            made.known("ror", found.value().get("ids").get("ror"));
            made.end();
            Ok(found.value().is_object())
        })
    }),
    by("datasets", "datasets", |work, out| {
        addresses(work.list("datasets"), out)?;
        Ok(!work.at("datasets").is_null())
    }),
    of("referenced_works_count", "cites"),
    by("referenced_works", "references", |work, out| work.write_references(out).map(|()| true)),
    by("related_works", "", |_, out| {
        out.extend_from_slice(b"[]");
        Ok(true)
    }),
    by("abstract_inverted_index", "abstract", |work, out| {
        match work.at("abstract").escaped() {
            Some(text) => inverted_index::write(text, out),
            None => out.extend_from_slice(b"null"),
        }
        Ok(true)
    }),
    known("counts_by_year"),
    by("cited_by_api_url", "id", |work, out| api_url(work, "works", "cites", out)),
    same("updated_date"),
    same("created_date"),
];

static AUTHOR: [Member; 19] = [
    ID,
    by("orcid", "orcid", |author, out| {
        json::string_or_null(out, orcid(author).as_deref());
        Ok(true)
    }),
    NAME,
    known("display_name_alternatives"),
    WORKS_COUNT,
    same("cited_by_count"),
    known("summary_stats"),
    by("ids", "id,ids,orcid", |author, out| {
        let mut made = begin_ids(author, &["scopus"], out)?;
        if let Some(orcid) = orcid(author) {
            made.text("orcid", Some(&orcid));
        }
        made.end();
        Ok(true)
    }),
    each("affiliations", "affiliations", |author, affiliation, out| {
        let mut made = Object::begin(out);
        write_institution(author, affiliation, made.name("institution"))?;
        made.value("years", affiliation.get("years"));
        made.end();
        Ok(())
    }),
    by("last_known_institutions", "last_known_institutions", |author, out| {
        match author.at("last_known_institutions").is_list() {
            true => json::try_list(out, author.list("last_known_institutions"), |known, out| {
                write_institution(author, known, out).map(|_| ())
            })?,
            false => out.extend_from_slice(b"null"),
        }
        Ok(true)
    }),
    TOPICS,
    TOPIC_SHARE,
    COUNTS,
    // The longest name has two names among dumps.
    same("full_name"),
    of("longest_name", "full_name"),
    by("parsed_longest_name", "full_name,name_parts", parsed_name),
    by("works_api_url", "id", |author, out| api_url(author, "works", "author.id", out)),
    same("updated_date"),
    same("created_date"),
];

static SOURCE: [Member; 37] = [
    ID,
    same("issn_l"),
    same("issn"),
    NAME,
    Member { name: "host_organization", make: Make::Id("host_organization", "") },
    same("host_organization_name"),
    by("host_organization_lineage", "host_organization", |source, out| {
        host_lineage(source, source.at("host_organization"), out)
    }),
    WORKS_COUNT,
    of("oa_works_count", "oa_outputs_count"),
    same("cited_by_count"),
    known("summary_stats"),
    same("is_oa"),
    same("is_in_doaj"),
    same("is_in_doaj_since_year"),
    same("is_high_oa_rate"),
    same("is_high_oa_rate_since_year"),
    same("is_in_scielo"),
    same("is_ojs"),
    same("is_core"),
    same("oa_flip_year"),
    same("first_publication_year"),
    same("last_publication_year"),
    by("ids", "id,ids,issn_l,issn", |source, out| {
        ids(source, &["issn_l", "issn", "mag", "wikidata"], out)
    }),
    same("homepage_url"),
    same("apc_prices"),
    same("apc_usd"),
    COUNTRY,
    known("societies"),
    known("alternate_titles"),
    same("type"),
    TOPICS,
    TOPIC_SHARE,
    COUNTS,
    by("works_api_url", "id", |source, out| {
        api_url(source, "works", "primary_location.source.id", out)
    }),
    same("updated_date"),
    same("created_date"),
    same("is_preprint_repository"),
];

static INSTITUTION: [Member; 28] = [
    ID,
    same("ror"),
    NAME,
    COUNTRY,
    known("is_super_system"),
    same("type"),
    by("type_id", "type", |institution, out| {
        write_address("institution-types/", institution.at("type"), out);
        Ok(true)
    }),
    by("lineage", "lineage", |institution, out| {
        let lineage = institution.at("lineage");
        Ok(!lineage.is_null() && addresses_of(lineage, out)?)
    }),
    same("homepage_url"),
    same("image_url"),
    same("image_thumbnail_url"),
    known("display_name_acronyms"),
    known("display_name_alternatives"),
    each("repositories", "repositories", |institution, repository, out| {
        let mut made = Object::begin(out);
        made.reference(repository);
        let found = institution.referred(Entity::Source, repository.get("id"))?;
        add_host(institution, &mut made, found.value())?;
        made.end();
        Ok(())
    }),
    WORKS_COUNT,
    same("cited_by_count"),
    known("summary_stats"),
    by("ids", "id,ids,ror", |institution, out| {
        ids(institution, &["ror", "mag", "grid", "wikipedia", "wikidata"], out)
    }),
    known("geo"),
    known("international"),
    each("associated_institutions", "associated_institutions", |own, other, out| {
        let mut made = Object::begin(out);
        let found = own.referred(Entity::Institution, other.get("id"))?;
        add_institution(&mut made, other, found.value());
        made.value("relationship", other.get("relationship"));
        made.end();
        Ok(())
    }),
    COUNTS,
    ROLES,
    TOPICS,
    TOPIC_SHARE,
    by("works_api_url", "id", |own, out| api_url(own, "works", "institutions.id", out)),
    same("updated_date"),
    same("created_date"),
];

static PUBLISHER: [Member; 18] = [
    ID,
    NAME,
    known("alternate_titles"),
    same("hierarchy_level"),
    by("parent_publisher", "parent_publisher", |publisher, out| {
        let parent = publisher.at("parent_publisher");
        match parent.is_null() {
            true => out.extend_from_slice(b"null"),
            false => write_reference("", parent, out),
        }
        Ok(true)
    }),
    by("lineage", "lineage", |publisher, out| addresses_of(publisher.at("lineage"), out)),
    each("country_codes", "countries", |_, country, out| {
        out.extend_from_slice(country.get("code").json());
        Ok(())
    }),
    same("homepage_url"),
    same("image_url"),
    same("image_thumbnail_url"),
    WORKS_COUNT,
    same("cited_by_count"),
    known("summary_stats"),
    by("ids", "id,ids", |publisher, out| ids(publisher, &["ror", "wikidata"], out)),
    COUNTS,
    ROLES,
    same("updated_date"),
    same("created_date"),
];

static FUNDER: [Member; 18] = [
    ID,
    NAME,
    known("alternate_titles"),
    COUNTRY,
    same("description"),
    same("homepage_url"),
    same("image_url"),
    same("image_thumbnail_url"),
    same("grants_count"),
    same("awards_count"),
    WORKS_COUNT,
    same("cited_by_count"),
    known("summary_stats"),
    by("ids", "id,ids", |funder, out| ids(funder, &["ror", "wikidata", "crossref", "doi"], out)),
    COUNTS,
    ROLES,
    same("updated_date"),
    same("created_date"),
];

static AWARD: [Member; 26] = [
    ID,
    NAME,
    same("description"),
    same("funder_award_id"),
    by("funder", "funder", |award, out| {
        let funder = award.at("funder");
        if funder.is_null() {
            out.extend_from_slice(b"null");
            return Ok(true);
        }
        let found = award.referred(Entity::Funder, funder.get("id"))?;
        let ids = found.value().get("ids");
        let mut made = Object::begin(out);
        made.reference(funder);
        made.known("ror", ids.get("ror"));
        made.known("doi", ids.get("doi"));
        made.end();
        Ok(true)
    }),
    of("funded_outputs_count", "outputs_count"),
    same("amount"),
    same("currency"),
    same("funding_type"),
    same("funder_scheme"),
    same("start_date"),
    same("end_date"),
    same("start_year"),
    same("end_year"),
    same("landing_page_url"),
    same("doi"),
    same("provenance"),
    same("lead_investigator"),
    same("co_lead_investigator"),
    same("investigators"),
    each("institution_awarded", "institutions", |award, institution, out| {
        write_institution(award, institution, out).map(|_| ())
    }),
    by("primary_topic", "primary_topic", |award, out| {
        topic_of_work(award, award.at("primary_topic"), out).map(|()| true)
    }),
    each("topics", "topics", topic_of_work),
    by("works_api_url", "id", |award, out| api_url(award, "works", "awards.id", out)),
    same("updated_date"),
    same("created_date"),
];

static TOPIC: [Member; 14] = [
    ID,
    NAME,
    same("description"),
    known("keywords"),
    by("ids", "id,ids", |topic, out| ids(topic, &["wikipedia"], out)),
    SUBFIELD_OF,
    FIELD_OF,
    DOMAIN_OF,
    nodes("siblings", ""),
    WORKS_COUNT,
    same("cited_by_count"),
    by("works_api_url", "id", |topic, out| api_url(topic, "works", "topics.id", out)),
    same("updated_date"),
    same("created_date"),
];

const SUBFIELD_OF: Member = node("subfield", "subfields/");
const FIELD_OF: Member = node("field", "fields/");
const DOMAIN_OF: Member = node("domain", "domains/");
const ALTERNATIVES: Member = known("display_name_alternatives");

static SUBFIELD: [Member; 13] = [
    id_below("subfields/"),
    NAME,
    same("description"),
    by("ids", "id,ids", |own, out| node_ids(own, "subfields/", out)),
    ALTERNATIVES,
    FIELD_OF,
    DOMAIN_OF,
    nodes("topics", ""),
    nodes("siblings", "subfields/"),
    WORKS_COUNT,
    same("cited_by_count"),
    same("updated_date"),
    same("created_date"),
];

static FIELD: [Member; 12] = [
    id_below("fields/"),
    NAME,
    same("description"),
    by("ids", "id,ids", |own, out| node_ids(own, "fields/", out)),
    ALTERNATIVES,
    DOMAIN_OF,
    nodes("subfields", "subfields/"),
    nodes("siblings", "fields/"),
    WORKS_COUNT,
    same("cited_by_count"),
    same("updated_date"),
    same("created_date"),
];

static DOMAIN: [Member; 11] = [
    id_below("domains/"),
    NAME,
    same("description"),
    by("ids", "id,ids", |own, out| node_ids(own, "domains/", out)),
    ALTERNATIVES,
    nodes("fields", "fields/"),
    nodes("siblings", "domains/"),
    WORKS_COUNT,
    same("cited_by_count"),
    same("updated_date"),
    same("created_date"),
];
