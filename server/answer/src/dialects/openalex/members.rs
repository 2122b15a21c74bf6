//! The members of OpenAlex's records, by list: a table for each list, and the functions that make members.

use pinakes_format::entity::Entity;
use pinakes_format::record::{keyword_id, name_parts};
use pinakes_format::storage::ReadError;
use pinakes_format::text::fold::fold;
use pinakes_format::text::{inverted_index, json};

use crate::dialects::openalex::stored::Stored;
use crate::dialects::openalex::tape::Value;
use crate::dialects::openalex::values::{
    ADDRESS, Object, write_address, write_list, write_node, write_reference,
};

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
    /// The address of the id at a path.
    Id(&'static str),
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
        let (Make::Of(paths)
        | Make::Known(paths)
        | Make::Id(paths)
        | Make::Each(paths, _)
        | Make::By(paths, _)) = self.make;
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

const ID: Member = Member { name: "id", make: Make::Id("id") };
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
        write_list((0..).zip(work.list("authors")), out, |(at, author), out| {
            let is_of = |printed: &Value<'_>| printed.get("author").number() == Some(at);
            authorship(work, author, printed.clone().find(is_of), out)
        })
        .map(|()| true)
    }),
    by("institution_assertions", "institution_assertions", |work, out| {
        write_list(work.list("institution_assertions"), out, |asserted, out| {
            write_institution(work, asserted, out).map(|_| ())
        })?;
        Ok(!work.at("institution_assertions").is_null())
    }),
    by("institutions_distinct_count", "authors.affiliations.id", |work, out| {
        distinct(work, "affiliations", "id", out)
    }),
    by("countries_distinct_count", "authors.countries.code", |work, out| {
        distinct(work, "countries", "code", out)
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
        write_list(venues, out, |venue, out| location(work, venue, out)).map(|()| true)
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
        match orcid(author) {
            Some(address) => json::string(out, &address),
            None => out.extend_from_slice(b"null"),
        }
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
            true => write_list(author.list("last_known_institutions"), out, |known, out| {
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
    Member { name: "host_organization", make: Make::Id("host_organization") },
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
            false => write_reference(parent, out),
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
    each("siblings", "siblings", element_reference),
    WORKS_COUNT,
    same("cited_by_count"),
    by("works_api_url", "id", |topic, out| api_url(topic, "works", "topics.id", out)),
    same("updated_date"),
    same("created_date"),
];

const SUBFIELD_OF: Member =
    by("subfield", "subfield", |of, out| node("subfields/", of.at("subfield"), out));
const FIELD_OF: Member = by("field", "field", |of, out| node("fields/", of.at("field"), out));
const DOMAIN_OF: Member = by("domain", "domain", |of, out| node("domains/", of.at("domain"), out));
const ALTERNATIVES: Member = known("display_name_alternatives");

static SUBFIELD: [Member; 13] = [
    by("id", "id", |own, out| own_node(own, "subfields/", out)),
    NAME,
    same("description"),
    by("ids", "id,ids", |own, out| node_ids(own, "subfields/", out)),
    ALTERNATIVES,
    FIELD_OF,
    DOMAIN_OF,
    each("topics", "topics", element_reference),
    each("siblings", "siblings", element_subfield),
    WORKS_COUNT,
    same("cited_by_count"),
    same("updated_date"),
    same("created_date"),
];

static FIELD: [Member; 12] = [
    by("id", "id", |own, out| own_node(own, "fields/", out)),
    NAME,
    same("description"),
    by("ids", "id,ids", |own, out| node_ids(own, "fields/", out)),
    ALTERNATIVES,
    DOMAIN_OF,
    each("subfields", "subfields", element_subfield),
    each("siblings", "siblings", element_field),
    WORKS_COUNT,
    same("cited_by_count"),
    same("updated_date"),
    same("created_date"),
];

static DOMAIN: [Member; 11] = [
    by("id", "id", |own, out| own_node(own, "domains/", out)),
    NAME,
    same("description"),
    by("ids", "id,ids", |own, out| node_ids(own, "domains/", out)),
    ALTERNATIVES,
    each("fields", "fields", element_field),
    each("siblings", "siblings", element_domain),
    WORKS_COUNT,
    same("cited_by_count"),
    same("updated_date"),
    same("created_date"),
];

fn element_reference(_: &Stored<'_>, value: Value<'_>, out: &mut Vec<u8>) -> Result<(), ReadError> {
    write_reference(value, out);
    Ok(())
}

fn element_subfield(_: &Stored<'_>, value: Value<'_>, out: &mut Vec<u8>) -> Result<(), ReadError> {
    write_node("subfields/", value, out);
    Ok(())
}

fn element_field(_: &Stored<'_>, value: Value<'_>, out: &mut Vec<u8>) -> Result<(), ReadError> {
    write_node("fields/", value, out);
    Ok(())
}

fn element_domain(_: &Stored<'_>, value: Value<'_>, out: &mut Vec<u8>) -> Result<(), ReadError> {
    write_node("domains/", value, out);
    Ok(())
}

fn api_url(of: &Stored<'_>, list: &str, key: &str, out: &mut Vec<u8>) -> Result<bool, ReadError> {
    of.write_list_address(list, key, out);
    Ok(true)
}

/// Appends the identifiers of a record, its own first.
fn ids(of: &Stored<'_>, names: &[&'static str], out: &mut Vec<u8>) -> Result<bool, ReadError> {
    begin_ids(of, names, out)?.end();
    Ok(true)
}

fn begin_ids<'o>(
    of: &Stored<'_>,
    names: &[&'static str],
    out: &'o mut Vec<u8>,
) -> Result<Object<'o>, ReadError> {
    let mut ids = Object::begin(out);
    ids.address("openalex", "", of.at("id"));
    add_ids(of, names, &mut ids)?;
    Ok(ids)
}

fn add_ids(of: &Stored<'_>, names: &[&'static str], ids: &mut Object<'_>) -> Result<(), ReadError> {
    for name in names {
        let value = of.at("ids").member(name).unwrap_or_else(|| of.at(name));
        let (before, after) = match *name {
            "pmid" => ("https://pubmed.ncbi.nlm.nih.gov/", ""),
            "pmcid" => ("https://www.ncbi.nlm.nih.gov/pmc/articles/", ""),
            "scopus" => {
                ("http://www.scopus.com/inward/authorDetails.url?authorID=", "&partnerID=MN8TOARS")
            }
            _ => ("", ""),
        };
        match value.text() {
            Some(text) if !before.is_empty() => {
                ids.text(name, Some(&format!("{before}{text}{after}")));
            }
            _ => ids.known(name, value),
        }
    }
    Ok(())
}

fn orcid(author: &Stored<'_>) -> Option<String> {
    author.at("orcid.id").text().map(|id| format!("https://orcid.org/{id}"))
}

fn node(level: &str, value: Value<'_>, out: &mut Vec<u8>) -> Result<bool, ReadError> {
    write_node(level, value, out);
    Ok(true)
}

/// Appends the address of a node of the taxonomy.
fn own_node(own: &Stored<'_>, level: &str, out: &mut Vec<u8>) -> Result<bool, ReadError> {
    write_address(level, own.at("id"), out);
    Ok(true)
}

fn node_ids(own: &Stored<'_>, level: &str, out: &mut Vec<u8>) -> Result<bool, ReadError> {
    let mut ids = Object::begin(out);
    ids.address("openalex", level, own.at("id"));
    add_ids(own, &["wikidata", "wikipedia"], &mut ids)?;
    ids.end();
    Ok(true)
}

/// Appends the addresses of those ids that are not null.
fn addresses<'v>(
    ids: impl Iterator<Item = Value<'v>>,
    out: &mut Vec<u8>,
) -> Result<bool, ReadError> {
    write_list(ids.filter(|id| !id.is_null()), out, |id, out| {
        write_address("", id, out);
        Ok(())
    })?;
    Ok(true)
}

/// Appends the addresses of a list of references.
fn addresses_of(references: Value<'_>, out: &mut Vec<u8>) -> Result<bool, ReadError> {
    addresses(references.elements().map(|reference| reference.get("id")), out)
}

/// Appends an institution as other records show it, and tells whether the snapshot has the institution. Of others, the name
/// is known.
fn write_institution(
    of: &Stored<'_>,
    given: Value<'_>,
    out: &mut Vec<u8>,
) -> Result<bool, ReadError> {
    let found = of.referred(Entity::Institution, given.get("id"))?;
    let found = found.value();
    let mut made = Object::begin(out);
    add_institution(&mut made, given, found);
    if let Some(lineage) = found.member("lineage") {
        addresses_of(lineage, made.name("lineage"))?;
    }
    made.end();
    Ok(found.is_object())
}

/// Adds the members of an institution but its lineage.
fn add_institution(made: &mut Object<'_>, given: Value<'_>, found: Value<'_>) {
    made.reference(given);
    if !found.is_null() {
        made.value("ror", found.get("ror"));
        made.value("country_code", found.get("country").get("code"));
        made.value("type", found.get("type"));
    }
}

/// Appends the parts of an author's longest name.
fn parsed_name(author: &Stored<'_>, out: &mut Vec<u8>) -> Result<bool, ReadError> {
    if author.at("name_parts").is_null() {
        return Ok(false);
    }
    let given = author.at("name_parts");
    let members = ["first", "middle", "last", "suffix"];
    let follow = members.iter().all(|member| given.get(member).is_null());
    let name = author.at("full_name").text().unwrap_or_default();
    let mut made = Object::begin(out);
    for (member, part) in members.into_iter().zip(name_parts(&name)) {
        let text = match follow {
            // OpenAlex writes parts in small letters without accents.
            true => fold(part),
            false => given.get(member).text().unwrap_or_default().into_owned(),
        };
        made.text(member, Some(&text));
    }
    made.end();
    Ok(true)
}

/// Appends an author of a work, and the ORCID iD that the work prints.
fn authorship(
    work: &Stored<'_>,
    author: Value<'_>,
    printed: Option<Value<'_>>,
    out: &mut Vec<u8>,
) -> Result<(), ReadError> {
    let mut made = Object::begin(out);
    made.value("author_position", author.get("author_position"));
    let mut who = Object::begin(made.name("author"));
    who.reference(author);
    who.value("orcid", author.get("orcid"));
    who.end();
    // OpenAlex shows no institution without an id.
    let affiliations = author.get("affiliations").elements();
    let affiliations = affiliations.filter(|affiliation| !affiliation.get("id").is_null());
    write_list(affiliations, made.name("institutions"), |affiliation, out| {
        work.write_fragment(affiliation.get("id"), out, |out| {
            write_institution(work, affiliation, out)
        })
    })?;
    let countries = author.get("countries");
    if countries.is_list() {
        write_list(countries.elements(), made.name("countries"), |country, out| {
            out.extend_from_slice(country.get("code").json());
            Ok(())
        })?;
    }
    made.value("is_corresponding", author.get("is_corresponding"));
    made.known("raw_author_name", author.get("raw_author_name"));
    if let Some(printed) = printed {
        let own = printed.get("orcid");
        made.value("raw_orcid", if own.is_null() { author.get("orcid") } else { own });
    }
    made.known("raw_affiliation_strings", author.get("raw_affiliation_strings"));
    made.end();
    Ok(())
}

/// Appends how many different values the authors of a work have at a member of a list of theirs.
fn distinct(
    work: &Stored<'_>,
    list: &'static str,
    member: &'static str,
    out: &mut Vec<u8>,
) -> Result<bool, ReadError> {
    let listed = work.list("authors").flat_map(|author| author.get(list).elements());
    let mut values: Vec<&[u8]> = listed.map(|element| element.get(member).json()).collect();
    values.sort_unstable();
    values.dedup();
    json::unsigned(out, values.len() as u64);
    Ok(true)
}

fn corresponding<'w>(work: &'w Stored<'_>) -> impl Iterator<Item = Value<'w>> {
    work.list("authors").filter(|author| author.get("is_corresponding").is_true())
}

/// Appends a venue; null of none.
fn location(work: &Stored<'_>, venue: Value<'_>, out: &mut Vec<u8>) -> Result<(), ReadError> {
    if !venue.is_object() {
        out.extend_from_slice(b"null");
        return Ok(());
    }
    let mut made = Object::begin(out);
    for name in ["id", "is_oa", "landing_page_url", "pdf_url"] {
        made.value(name, venue.get(name));
    }
    source_of_venue(work, venue.get("source"), made.name("source"))?;
    let license = venue.get("license");
    made.value("license", license);
    made.address("license_id", "licenses/", license);
    for name in ["version", "is_accepted", "is_published"] {
        made.value(name, venue.get(name));
    }
    // Kept of primary locations without a source.
    made.known("raw_source_name", venue.get("raw_source_name"));
    made.known("raw_type", venue.get("raw_type"));
    made.end();
    Ok(())
}

fn source_of_venue(
    work: &Stored<'_>,
    source: Value<'_>,
    out: &mut Vec<u8>,
) -> Result<(), ReadError> {
    if source.get("id").is_null() && source.get("name").is_null() {
        out.extend_from_slice(b"null");
        return Ok(());
    }
    work.write_fragment(source.get("id"), out, |out| {
        let found = work.referred(Entity::Source, source.get("id"))?;
        let found = found.value();
        let mut made = Object::begin(out);
        made.reference(source);
        for name in ["issn_l", "issn", "is_oa", "is_in_doaj", "is_core"] {
            if let Some(value) = found.member(name) {
                made.value(name, value);
            }
        }
        let is_whole = add_host(work, &mut made, found)?;
        made.value("type", source.get("type"));
        made.end();
        Ok(is_whole)
    })
}

/// Adds the organisation behind a source, as the source's record names it; tells whether all of it is known.
fn add_host(of: &Stored<'_>, made: &mut Object<'_>, source: Value<'_>) -> Result<bool, ReadError> {
    let Some(host) = source.member("host_organization") else { return Ok(false) };
    made.address("host_organization", "", host);
    made.value("host_organization_name", source.get("host_organization_name"));
    let end = made.out.len();
    let is_known = host_lineage(of, host, made.name("host_organization_lineage"))?;
    if !is_known {
        made.out.truncate(end);
    }
    Ok(is_known)
}

/// Appends a host and the publishers above it; tells whether the snapshot has the publisher. An institution stands alone.
fn host_lineage(of: &Stored<'_>, host: Value<'_>, out: &mut Vec<u8>) -> Result<bool, ReadError> {
    let is_publisher = host.escaped().is_some_and(|id| id.starts_with(b"HX_P"));
    if !is_publisher {
        return addresses(std::iter::once(host), out);
    }
    let found = of.referred(Entity::Publisher, host)?;
    let lineage = found.value().get("lineage");
    Ok(lineage.is_list() && addresses_of(lineage, out)?)
}

/// Appends a topic, and the nodes above it.
fn topic(of: &Stored<'_>, given: Value<'_>, out: &mut Vec<u8>) -> Result<(), ReadError> {
    if given.is_null() {
        out.extend_from_slice(b"null");
        return Ok(());
    }
    write_topic(of, given, out).map(|_| ())
}

/// Appends a topic; tells whether the snapshot has all nodes above it.
fn write_topic(of: &Stored<'_>, given: Value<'_>, out: &mut Vec<u8>) -> Result<bool, ReadError> {
    let mut made = Object::begin(out);
    made.reference(given);
    made.known("count", given.get("count"));
    let is_whole = add_levels(of, &mut made, given)?;
    made.end();
    Ok(is_whole)
}

/// Adds the nodes above a topic; tells whether the domain is known.
fn add_levels(of: &Stored<'_>, made: &mut Object<'_>, topic: Value<'_>) -> Result<bool, ReadError> {
    let found = of.referred(Entity::Topic, topic.get("id"))?;
    let found = found.value();
    for (name, level) in [("subfield", "subfields/"), ("field", "fields/"), ("domain", "domains/")]
    {
        if let Some(parent) = found.member(name) {
            write_node(level, parent, made.name(name));
        }
    }
    Ok(found.member("domain").is_some())
}

/// Appends a topic of a work or an award, which has no count; null of none.
fn topic_of_work(work: &Stored<'_>, given: Value<'_>, out: &mut Vec<u8>) -> Result<(), ReadError> {
    if given.is_null() {
        out.extend_from_slice(b"null");
        return Ok(());
    }
    work.write_fragment(given.get("id"), out, |out| write_topic(work, given, out))
}

fn topic_share(of: &Stored<'_>, out: &mut Vec<u8>) -> Result<bool, ReadError> {
    if of.at("topics").is_null() {
        return Ok(false);
    }
    let shared = of.list("topics").filter(|topic| !topic.get("share").is_null());
    write_list(shared, out, |topic, out| {
        let mut made = Object::begin(out);
        made.reference(topic);
        made.value("value", topic.get("share"));
        add_levels(of, &mut made, topic)?;
        made.end();
        Ok(())
    })?;
    Ok(true)
}

fn counts_of_year(_: &Stored<'_>, counts: Value<'_>, out: &mut Vec<u8>) -> Result<(), ReadError> {
    let mut made = Object::begin(out);
    for (name, stored) in [
        ("year", "year"),
        ("works_count", "outputs_count"),
        ("oa_works_count", "oa_outputs_count"),
        ("cited_by_count", "cited_by_count"),
    ] {
        made.value(name, counts.get(stored));
    }
    made.end();
    Ok(())
}

fn role(_: &Stored<'_>, role: Value<'_>, out: &mut Vec<u8>) -> Result<(), ReadError> {
    let mut made = Object::begin(out);
    made.value("role", role.get("role"));
    made.address("id", "", role.get("id"));
    made.value("works_count", role.get("outputs_count"));
    made.end();
    Ok(())
}

fn keywords(work: &Stored<'_>, out: &mut Vec<u8>) -> Result<bool, ReadError> {
    if work.at("keywords").is_null() {
        return Ok(false);
    }
    // Ids are stored where the names do not give all of them.
    let mut given = work.list("keyword_ids");
    write_list(work.list("keywords"), out, |name, out| {
        let own = given.next().and_then(Value::text);
        let id = own.unwrap_or_else(|| keyword_id(&name.text().unwrap_or_default()).into());
        let mut made = Object::begin(out);
        made.text("id", Some(&format!("{ADDRESS}keywords/{id}")));
        made.value("display_name", name);
        made.end();
        Ok(())
    })?;
    Ok(true)
}

fn awards(work: &Stored<'_>, out: &mut Vec<u8>) -> Result<bool, ReadError> {
    if work.at("funders").is_null() {
        return Ok(false);
    }
    let funders = work.list("funders");
    let awards = funders
        .flat_map(|funder| funder.get("awards").elements().map(move |award| (funder, award)));
    write_list(awards, out, |(funder, award), out| {
        let mut made = Object::begin(out);
        made.address("id", "", award.get("id"));
        made.value("display_name", award.get("name"));
        made.value("funder_award_id", award.get("funder_award_id"));
        made.address("funder_id", "", funder.get("id"));
        made.value("funder_display_name", funder.get("name"));
        made.value("doi", award.get("doi"));
        made.end();
        Ok(())
    })?;
    Ok(true)
}
