//! The members of OpenAlex's records, by list: a table for each list, and the functions that make members.

use std::collections::{HashMap, HashSet};

use pinakes_format::entity::Entity;
use pinakes_format::record::keyword_id;
use pinakes_format::storage::error::ReadError;
use pinakes_format::text::json;
use serde_json::{Map, Value, json};

use crate::dialects::openalex::stored::Stored;
use crate::dialects::openalex::values::{ADDRESS, Object, address_of, node, reference, write_json};

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
    /// A function of the members at some paths, separated by commas; `None` of a member that the snapshot does not hold.
    By(&'static str, fn(&mut Stored<'_>) -> Result<Option<Value>, ReadError>),
    /// A list, each element of an element of the list at a path: elements are written one after the other, since there may
    /// be thousands.
    Each(&'static str, WriteElement),
    /// Written by a function of the members at some paths.
    Write(&'static str, fn(&mut Stored<'_>, &mut Vec<u8>) -> Result<(), ReadError>),
}

/// Appends an element of a list.
pub type WriteElement = fn(&mut Stored<'_>, &Value, &mut Vec<u8>) -> Result<(), ReadError>;

impl Member {
    /// The paths in the stored record that the member needs.
    pub fn read(&self) -> impl Iterator<Item = &'static str> {
        let (Make::Of(paths)
        | Make::Known(paths)
        | Make::Id(paths)
        | Make::By(paths, _)
        | Make::Each(paths, _)
        | Make::Write(paths, _)) = self.make;
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

const fn by(
    name: &'static str,
    paths: &'static str,
    make: fn(&mut Stored<'_>) -> Result<Option<Value>, ReadError>,
) -> Member {
    Member { name, make: Make::By(paths, make) }
}

const fn written(
    name: &'static str,
    paths: &'static str,
    write: fn(&mut Stored<'_>, &mut Vec<u8>) -> Result<(), ReadError>,
) -> Member {
    Member { name, make: Make::Write(paths, write) }
}

const ID: Member = Member { name: "id", make: Make::Id("id") };
const NAME: Member = of("display_name", "name");
const WORKS_COUNT: Member = of("works_count", "outputs_count");
const COUNTRY: Member = of("country_code", "country.code");
const COUNTS: Member = by("counts_by_year", "counts_by_year", counts_by_year);
const TOPICS: Member = by("topics", "topics", topics);
const TOPIC_SHARE: Member = by("topic_share", "topics", topic_share);
const ROLES: Member = by("roles", "roles", roles);

/// The members of the records of an entity, in OpenAlex's order.
pub fn members(entity: Entity) -> &'static [Member] {
    match entity {
        Entity::Output => &WORK,
        Entity::Author => &AUTHOR,
        Entity::Source => &SOURCE,
        Entity::Institution => &INSTITUTION,
        Entity::Publisher => &PUBLISHER,
        Entity::Funder => &FUNDER,
        Entity::Topic => &TOPIC,
        Entity::Subfield => &SUBFIELD,
        Entity::Field => &FIELD,
        Entity::Domain => &DOMAIN,
        Entity::InstitutionType => &[],
    }
}

static WORK: [Member; 45] = [
    ID,
    same("doi"),
    same("title"),
    NAME,
    of("publication_year", "year"),
    of("publication_date", "date"),
    by("ids", "id,ids,doi", |work| Ok(Some(ids(work, &["doi", "mag", "pmid", "pmcid"]).into()))),
    of("language", "language.code"),
    written("primary_location", "primary_venue", |work, out| {
        work.with("primary_venue", |work, venue| location(work, venue, out))
    }),
    same("type"),
    known("indexed_in"),
    known("open_access"),
    Member { name: "authorships", make: Make::Each("authors", authorship) },
    by("institutions_distinct_count", "authors.affiliations.id", |work| {
        Ok(Some(distinct(work, "affiliations", "id")))
    }),
    by("countries_distinct_count", "authors.countries.code", |work| {
        Ok(Some(distinct(work, "countries", "code")))
    }),
    by("corresponding_author_ids", "authors.id,authors.is_corresponding", |work| {
        let ids = corresponding(work).map(|author| address_of(&author["id"]));
        Ok(Some(ids.filter(|id| !id.is_null()).collect()))
    }),
    by(
        "corresponding_institution_ids",
        "authors.affiliations.id,authors.is_corresponding",
        |work| {
            let mut ids: Vec<Value> = Vec::new();
            for author in corresponding(work) {
                for institution in author["affiliations"].as_array().into_iter().flatten() {
                    let id = address_of(&institution["id"]);
                    if !id.is_null() && !ids.contains(&id) {
                        ids.push(id);
                    }
                }
            }
            Ok(Some(ids.into()))
        },
    ),
    known("apc_list"),
    same("apc_paid"),
    same("fwci"),
    same("has_fulltext"),
    same("cited_by_count"),
    same("citation_normalized_percentile"),
    same("cited_by_percentile_year"),
    known("biblio"),
    same("is_retracted"),
    same("is_paratext"),
    // Exports leave out what is false.
    by("is_xpac", "is_xpac", |work| Ok(Some((work.at("is_xpac") == true).into()))),
    written("primary_topic", "primary_topic", |work, out| {
        work.with("primary_topic", |work, primary| topic_of_work(work, primary, out))
    }),
    Member { name: "topics", make: Make::Each("topics", topic_of_work) },
    by("keywords", "keywords,keyword_ids", keywords),
    of("locations_count", "venues_count"),
    written("locations", "primary_venue,additional_venues", |work, out| {
        out.push(b'[');
        let begin = out.len();
        work.with("primary_venue", |work, venue| match venue.is_null() {
            true => Ok(()),
            false => location(work, venue, out),
        })?;
        work.visit_list("additional_venues", |work, venue| {
            if out.len() > begin {
                out.push(b',');
            }
            location(work, venue, out)
        })?;
        out.push(b']');
        Ok(())
    }),
    written("best_oa_location", "best_oa_venue,primary_venue,additional_venues", |work, out| {
        match work.at("best_oa_venue").as_u64() {
            Some(0) => work.with("primary_venue", |work, venue| location(work, venue, out)),
            Some(at) => work.with("additional_venues", |work, venues| {
                location(work, &venues[at as usize - 1], out)
            }),
            None => location(work, &Value::Null, out),
        }
    }),
    by("sustainable_development_goals", "sustainable_development_goals", |work| {
        work.each("sustainable_development_goals", |_, goal| {
            let id = goal["id"].as_u64().map(|id| format!("https://metadata.un.org/sdg/{id}"));
            Ok(json!({ "id": id, "display_name": (goal["name"]) }))
        })
    }),
    by("awards", "funders", awards),
    by("funders", "funders", |work| {
        work.each("funders", |work, funder| {
            let mut made = reference(funder);
            let found = work.referred(Entity::Funder, &funder["id"])?;
            add(&mut made, "ror", found["ids"].get("ror").cloned());
            Ok(made.into())
        })
    }),
    of("referenced_works_count", "cites"),
    written("referenced_works", "references", |work, out| {
        work.write_references(out);
        Ok(())
    }),
    by("related_works", "", |_| Ok(Some(json!([])))),
    written("abstract_inverted_index", "abstract", |work, out| {
        match work.at("abstract").as_str() {
            Some(text) => inverted_index(text, out),
            None => out.extend_from_slice(b"null"),
        }
        Ok(())
    }),
    known("counts_by_year"),
    by("cited_by_api_url", "id", |work| Ok(Some(work.list_address("works", "cites")))),
    same("updated_date"),
    same("created_date"),
];

static AUTHOR: [Member; 18] = [
    ID,
    by("orcid", "orcid", |author| Ok(Some(orcid(author)))),
    NAME,
    known("display_name_alternatives"),
    WORKS_COUNT,
    same("cited_by_count"),
    known("summary_stats"),
    by("ids", "id,ids,orcid", |author| {
        let mut ids = ids(author, &["scopus"]);
        add(&mut ids, "orcid", Some(orcid(author)));
        Ok(Some(ids.into()))
    }),
    by("affiliations", "affiliations", |author| {
        author.each("affiliations", |author, affiliation| {
            let institution = institution(author, affiliation)?;
            Ok(json!({ "institution": institution, "years": (affiliation["years"]) }))
        })
    }),
    by("last_known_institutions", "last_known_institutions", |author| {
        let made = author.each("last_known_institutions", |author, known| {
            institution(author, known).map(Value::Object)
        })?;
        Ok(Some(made.unwrap_or_default()))
    }),
    TOPICS,
    TOPIC_SHARE,
    COUNTS,
    // The longest name has two names among dumps.
    same("full_name"),
    of("longest_name", "full_name"),
    by("works_api_url", "id", |author| Ok(Some(author.list_address("works", "author.id")))),
    same("updated_date"),
    same("created_date"),
];

static SOURCE: [Member; 37] = [
    ID,
    same("issn_l"),
    same("issn"),
    NAME,
    by("host_organization", "host_organization", |source| {
        Ok(Some(address_of(source.at("host_organization"))))
    }),
    same("host_organization_name"),
    by("host_organization_lineage", "host_organization", |source| {
        let host = source.at("host_organization").clone();
        host_lineage(source, &host)
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
    by("ids", "id,ids,issn_l,issn", |source| {
        let ids = ids(source, &["issn_l", "issn", "mag", "wikidata"]);
        Ok(Some(ids.into()))
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
    by("works_api_url", "id", |source| {
        Ok(Some(source.list_address("works", "primary_location.source.id")))
    }),
    same("updated_date"),
    same("created_date"),
    same("is_preprint_repository"),
];

static INSTITUTION: [Member; 27] = [
    ID,
    same("ror"),
    NAME,
    COUNTRY,
    same("type"),
    by("type_id", "type", |institution| {
        let code = institution.at("type").as_str();
        Ok(Some(code.map(|code| format!("{ADDRESS}institution-types/{code}")).into()))
    }),
    by("lineage", "lineage", |institution| {
        Ok(held(institution, "lineage").map(|lineage| addresses(&lineage)))
    }),
    same("homepage_url"),
    same("image_url"),
    same("image_thumbnail_url"),
    known("display_name_acronyms"),
    known("display_name_alternatives"),
    by("repositories", "repositories", |institution| {
        institution.each("repositories", |institution, repository| {
            let mut made = reference(repository);
            let found = institution.referred(Entity::Source, &repository["id"])?;
            add_host(institution, &mut made, &found)?;
            Ok(made.into())
        })
    }),
    WORKS_COUNT,
    same("cited_by_count"),
    known("summary_stats"),
    by("ids", "id,ids,ror", |institution| {
        let ids = ids(institution, &["ror", "mag", "grid", "wikipedia", "wikidata"]);
        Ok(Some(ids.into()))
    }),
    known("geo"),
    known("international"),
    by("associated_institutions", "associated_institutions", |own| {
        own.each("associated_institutions", |own, other| {
            let mut made = institution(own, other)?;
            made.shift_remove("lineage");
            made.insert("relationship".into(), other["relationship"].clone());
            Ok(made.into())
        })
    }),
    COUNTS,
    ROLES,
    TOPICS,
    TOPIC_SHARE,
    by("works_api_url", "id", |own| Ok(Some(own.list_address("works", "institutions.id")))),
    same("updated_date"),
    same("created_date"),
];

static PUBLISHER: [Member; 18] = [
    ID,
    NAME,
    known("alternate_titles"),
    same("hierarchy_level"),
    by("parent_publisher", "parent_publisher", |publisher| {
        let parent = publisher.at("parent_publisher");
        Ok(Some(if parent.is_null() { Value::Null } else { reference(parent).into() }))
    }),
    by("lineage", "lineage", |publisher| Ok(Some(addresses(publisher.at("lineage"))))),
    by("country_codes", "countries", |publisher| {
        publisher.each("countries", |_, country| Ok(country["code"].clone()))
    }),
    same("homepage_url"),
    same("image_url"),
    same("image_thumbnail_url"),
    WORKS_COUNT,
    same("cited_by_count"),
    known("summary_stats"),
    by("ids", "id,ids", |publisher| Ok(Some(ids(publisher, &["ror", "wikidata"]).into()))),
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
    by("ids", "id,ids", |funder| {
        Ok(Some(ids(funder, &["ror", "wikidata", "crossref", "doi"]).into()))
    }),
    COUNTS,
    ROLES,
    same("updated_date"),
    same("created_date"),
];

static TOPIC: [Member; 14] = [
    ID,
    NAME,
    same("description"),
    known("keywords"),
    by("ids", "id,ids", |topic| Ok(Some(ids(topic, &["wikipedia"]).into()))),
    SUBFIELD_OF,
    FIELD_OF,
    DOMAIN_OF,
    by("siblings", "siblings", |topic| {
        topic.each("siblings", |_, sibling| Ok(reference(sibling).into()))
    }),
    WORKS_COUNT,
    same("cited_by_count"),
    by("works_api_url", "id", |topic| Ok(Some(topic.list_address("works", "topics.id")))),
    same("updated_date"),
    same("created_date"),
];

const SUBFIELD_OF: Member =
    by("subfield", "subfield", |of| Ok(Some(node("subfields", of.at("subfield")))));
const FIELD_OF: Member = by("field", "field", |of| Ok(Some(node("fields", of.at("field")))));
const DOMAIN_OF: Member = by("domain", "domain", |of| Ok(Some(node("domains", of.at("domain")))));
const ALTERNATIVES: Member = known("display_name_alternatives");

static SUBFIELD: [Member; 13] = [
    by("id", "id", |own| Ok(Some(own_node(own, "subfields")))),
    NAME,
    same("description"),
    by("ids", "id,ids", |own| Ok(Some(node_ids(own, "subfields")))),
    ALTERNATIVES,
    FIELD_OF,
    DOMAIN_OF,
    by("topics", "topics", |own| own.each("topics", |_, topic| Ok(reference(topic).into()))),
    by("siblings", "siblings", |own| own.each("siblings", |_, other| Ok(node("subfields", other)))),
    WORKS_COUNT,
    same("cited_by_count"),
    same("updated_date"),
    same("created_date"),
];

static FIELD: [Member; 12] = [
    by("id", "id", |own| Ok(Some(own_node(own, "fields")))),
    NAME,
    same("description"),
    by("ids", "id,ids", |own| Ok(Some(node_ids(own, "fields")))),
    ALTERNATIVES,
    DOMAIN_OF,
    by("subfields", "subfields", |own| {
        own.each("subfields", |_, child| Ok(node("subfields", child)))
    }),
    by("siblings", "siblings", |own| own.each("siblings", |_, other| Ok(node("fields", other)))),
    WORKS_COUNT,
    same("cited_by_count"),
    same("updated_date"),
    same("created_date"),
];

static DOMAIN: [Member; 11] = [
    by("id", "id", |own| Ok(Some(own_node(own, "domains")))),
    NAME,
    same("description"),
    by("ids", "id,ids", |own| Ok(Some(node_ids(own, "domains")))),
    ALTERNATIVES,
    by("fields", "fields", |own| own.each("fields", |_, child| Ok(node("fields", child)))),
    by("siblings", "siblings", |own| own.each("siblings", |_, other| Ok(node("domains", other)))),
    WORKS_COUNT,
    same("cited_by_count"),
    same("updated_date"),
    same("created_date"),
];

/// A member of the line that the snapshot may not hold.
fn held(of: &Stored<'_>, path: &str) -> Option<Value> {
    Some(of.at(path).clone()).filter(|value| !value.is_null())
}

/// Adds a member that is known.
fn add(object: &mut Object, name: &str, value: Option<Value>) {
    if let Some(value) = value.filter(|value| !value.is_null()) {
        object.insert(name.to_owned(), value);
    }
}

/// The identifiers of a record, its own first.
fn ids(of: &Stored<'_>, names: &[&str]) -> Object {
    let mut ids = Map::new();
    ids.insert("openalex".into(), address_of(of.at("id")));
    for name in names {
        let nested = of.at("ids").get(*name);
        let value = nested.or_else(|| Some(of.at(name)));
        let (before, after) = match *name {
            "pmid" => ("https://pubmed.ncbi.nlm.nih.gov/", ""),
            "pmcid" => ("https://www.ncbi.nlm.nih.gov/pmc/articles/", ""),
            "scopus" => {
                ("http://www.scopus.com/inward/authorDetails.url?authorID=", "&partnerID=MN8TOARS")
            }
            _ => ("", ""),
        };
        let value = match value {
            Some(Value::String(text)) => Some(format!("{before}{text}{after}").into()),
            other => other.cloned(),
        };
        add(&mut ids, name, value);
    }
    ids
}

fn orcid(author: &Stored<'_>) -> Value {
    author.at("orcid.id").as_str().map(|id| format!("https://orcid.org/{id}")).into()
}

/// The address of a node of the taxonomy.
fn own_node(own: &Stored<'_>, level: &str) -> Value {
    format!("{ADDRESS}{level}/{}", own.short_id()).into()
}

fn node_ids(own: &Stored<'_>, level: &str) -> Value {
    let mut ids = ids(own, &["wikidata", "wikipedia"]);
    ids.insert("openalex".into(), own_node(own, level));
    ids.into()
}

/// The addresses of a list of references.
fn addresses(references: &Value) -> Value {
    let list = references.as_array().into_iter().flatten();
    list.map(|reference| address_of(&reference["id"])).collect()
}

/// An institution as other records show it. Of one that the snapshot does not have, the name is known.
fn institution(of: &mut Stored<'_>, given: &Value) -> Result<Object, ReadError> {
    let mut made = reference(given);
    let found = of.referred(Entity::Institution, &given["id"])?;
    if !found.is_null() {
        made.insert("ror".into(), found["ror"].clone());
        made.insert("country_code".into(), found["country"]["code"].clone());
        made.insert("type".into(), found["type"].clone());
        add(&mut made, "lineage", found.get("lineage").map(addresses));
    }
    Ok(made)
}

/// Appends the members of an object, which is begun; members that are not known are left out.
fn write_members(out: &mut Vec<u8>, members: &[(&str, Option<&Value>)]) -> Result<(), ReadError> {
    for (name, value) in members {
        if let Some(value) = value {
            write_name(name, out);
            write_json(value, out)?;
        }
    }
    Ok(())
}

/// Appends the name of a member of an object, which is begun.
fn write_name(name: &str, out: &mut Vec<u8>) {
    if out.last() != Some(&b'{') {
        out.push(b',');
    }
    json::string(out, name);
    out.push(b':');
}

fn authorship(work: &mut Stored<'_>, author: &Value, out: &mut Vec<u8>) -> Result<(), ReadError> {
    let mut who = reference(author);
    who.insert("orcid".into(), author["orcid"].clone());
    out.push(b'{');
    write_members(
        out,
        &[("author_position", Some(&author["author_position"])), ("author", Some(&who.into()))],
    )?;
    write_name("institutions", out);
    out.push(b'[');
    let begin = out.len();
    // OpenAlex shows no institution without an id.
    let affiliations = author["affiliations"].as_array().into_iter().flatten();
    for affiliation in affiliations.filter(|affiliation| !affiliation["id"].is_null()) {
        if out.len() > begin {
            out.push(b',');
        }
        work.write_fragment(&affiliation["id"], out, |work| {
            let made = institution(work, affiliation)?;
            let is_whole = made.contains_key("ror");
            Ok((made.into(), is_whole))
        })?;
    }
    out.push(b']');
    let countries = author["countries"].as_array().map(|countries| {
        countries.iter().map(|country| country["code"].clone()).collect::<Value>()
    });
    let known = |name: &str| author.get(name).filter(|value| !value.is_null());
    write_members(
        out,
        &[
            ("countries", countries.as_ref()),
            ("is_corresponding", Some(&author["is_corresponding"])),
            ("raw_author_name", known("raw_author_name")),
            ("raw_affiliation_strings", known("raw_affiliation_strings")),
        ],
    )?;
    out.push(b'}');
    Ok(())
}

/// How many different values the authors of a work have at a member of a list of theirs.
fn distinct(work: &Stored<'_>, list: &str, member: &str) -> Value {
    let authors = work.at("authors").as_array().into_iter().flatten();
    let elements = authors.filter_map(|author| author[list].as_array()).flatten();
    let values: HashSet<String> = elements.map(|element| element[member].to_string()).collect();
    values.len().into()
}

fn corresponding<'w>(work: &'w Stored<'_>) -> impl Iterator<Item = &'w Value> {
    let authors = work.at("authors").as_array().into_iter().flatten();
    authors.filter(|author| author["is_corresponding"] == true)
}

/// Appends a venue; null of none.
fn location(work: &mut Stored<'_>, venue: &Value, out: &mut Vec<u8>) -> Result<(), ReadError> {
    if !venue.is_object() {
        out.extend_from_slice(b"null");
        return Ok(());
    }
    let license = venue["license"].as_str();
    let license_id: Value = license.map(|code| format!("{ADDRESS}licenses/{code}")).into();
    out.push(b'{');
    let own = ["id", "is_oa", "landing_page_url", "pdf_url"].map(|name| (name, Some(&venue[name])));
    write_members(out, &own)?;
    write_name("source", out);
    source_of_venue(work, &venue["source"], out)?;
    // Kept of primary locations without a source.
    let printed = venue.get("raw_source_name").filter(|printed| !printed.is_null());
    write_members(
        out,
        &[
            ("license", Some(&venue["license"])),
            ("license_id", Some(&license_id)),
            ("version", Some(&venue["version"])),
            ("is_accepted", Some(&venue["is_accepted"])),
            ("is_published", Some(&venue["is_published"])),
            ("raw_source_name", printed),
        ],
    )?;
    out.push(b'}');
    Ok(())
}

fn source_of_venue(
    work: &mut Stored<'_>,
    source: &Value,
    out: &mut Vec<u8>,
) -> Result<(), ReadError> {
    if source["id"].is_null() && source["name"].is_null() {
        out.extend_from_slice(b"null");
        return Ok(());
    }
    work.write_fragment(&source["id"], out, |work| {
        let mut made = reference(source);
        let found = work.referred(Entity::Source, &source["id"])?;
        for name in ["issn_l", "issn", "is_oa", "is_in_doaj", "is_core"] {
            if let Some(value) = found.get(name) {
                made.insert(name.into(), value.clone());
            }
        }
        add_host(work, &mut made, &found)?;
        made.insert("type".into(), source["type"].clone());
        let is_whole = made.contains_key("host_organization_lineage");
        Ok((made.into(), is_whole))
    })
}

/// Adds the organisation behind a source, as the source's record names it.
fn add_host(of: &mut Stored<'_>, made: &mut Object, source: &Value) -> Result<(), ReadError> {
    if let Some(host) = source.get("host_organization") {
        made.insert("host_organization".into(), address_of(host));
        made.insert("host_organization_name".into(), source["host_organization_name"].clone());
        let lineage = host_lineage(of, host)?;
        add(made, "host_organization_lineage", lineage);
    }
    Ok(())
}

/// A host and the publishers above it; `None` of a publisher that the snapshot does not have. An institution stands alone.
fn host_lineage(of: &mut Stored<'_>, host: &Value) -> Result<Option<Value>, ReadError> {
    if host.is_null() {
        return Ok(Some(json!([])));
    }
    let is_publisher = host.as_str().is_some_and(|id| id.starts_with("HX_P"));
    if !is_publisher {
        return Ok(Some(json!([(address_of(host))])));
    }
    let found = of.referred(Entity::Publisher, host)?;
    Ok(found.get("lineage").filter(|lineage| lineage.is_array()).map(addresses))
}

/// A topic, and the nodes above it.
fn topic(of: &mut Stored<'_>, given: &Value) -> Result<Value, ReadError> {
    if given.is_null() {
        return Ok(Value::Null);
    }
    let mut made = reference(given);
    add(&mut made, "count", given.get("count").cloned());
    add_levels(of, &mut made, given)?;
    Ok(made.into())
}

fn add_levels(of: &mut Stored<'_>, made: &mut Object, topic: &Value) -> Result<(), ReadError> {
    let found = of.referred(Entity::Topic, &topic["id"])?;
    for (level, levels) in [("subfield", "subfields"), ("field", "fields"), ("domain", "domains")] {
        if let Some(parent) = found.get(level) {
            made.insert(level.into(), node(levels, parent));
        }
    }
    Ok(())
}

/// Appends a topic of a work, which has no count; null of none.
fn topic_of_work(work: &mut Stored<'_>, given: &Value, out: &mut Vec<u8>) -> Result<(), ReadError> {
    if given.is_null() {
        out.extend_from_slice(b"null");
        return Ok(());
    }
    work.write_fragment(&given["id"], out, |work| {
        let made = topic(work, given)?;
        let is_whole = made.get("domain").is_some();
        Ok((made, is_whole))
    })
}

fn topics(of: &mut Stored<'_>) -> Result<Option<Value>, ReadError> {
    of.each("topics", topic)
}

fn topic_share(of: &mut Stored<'_>) -> Result<Option<Value>, ReadError> {
    if of.at("topics").is_null() {
        return Ok(None);
    }
    let mut shares = Vec::new();
    for topic in of.list("topics") {
        if topic["share"].is_null() {
            continue;
        }
        let mut made = reference(&topic);
        made.insert("value".into(), topic["share"].clone());
        add_levels(of, &mut made, &topic)?;
        shares.push(Value::Object(made));
    }
    Ok(Some(shares.into()))
}

fn counts_by_year(of: &mut Stored<'_>) -> Result<Option<Value>, ReadError> {
    of.each("counts_by_year", |_, counts| {
        Ok(json!({
            "year": (counts["year"]),
            "works_count": (counts["outputs_count"]),
            "oa_works_count": (counts["oa_outputs_count"]),
            "cited_by_count": (counts["cited_by_count"]),
        }))
    })
}

fn roles(of: &mut Stored<'_>) -> Result<Option<Value>, ReadError> {
    of.each("roles", |_, role| {
        let id = address_of(&role["id"]);
        Ok(json!({ "role": (role["role"]), "id": id, "works_count": (role["outputs_count"]) }))
    })
}

fn keywords(work: &mut Stored<'_>) -> Result<Option<Value>, ReadError> {
    if work.at("keywords").is_null() {
        return Ok(None);
    }
    // Ids are stored where the names do not give all of them.
    let given = work.list("keyword_ids");
    let keywords = work.list("keywords").into_iter().enumerate().map(|(at, name)| {
        let own = given.get(at).and_then(Value::as_str);
        let id = own.map_or_else(|| keyword_id(name.as_str().unwrap_or_default()), str::to_owned);
        json!({ "id": (format!("{ADDRESS}keywords/{id}")), "display_name": name })
    });
    Ok(Some(keywords.collect()))
}

fn awards(work: &mut Stored<'_>) -> Result<Option<Value>, ReadError> {
    if work.at("funders").is_null() {
        return Ok(None);
    }
    let mut awards = Vec::new();
    for funder in work.list("funders") {
        for award in funder["awards"].as_array().into_iter().flatten() {
            awards.push(json!({
                "id": (address_of(&award["id"])),
                "display_name": (award["name"]),
                "funder_award_id": (award["funder_award_id"]),
                "funder_id": (address_of(&funder["id"])),
                "funder_display_name": (funder["name"]),
                "doi": (award["doi"]),
            }));
        }
    }
    Ok(Some(awards.into()))
}

/// Appends the words of an abstract, each with its positions, in the order of their first.
fn inverted_index(text: &str, out: &mut Vec<u8>) {
    let mut index: Vec<(&str, Vec<usize>)> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for (at, word) in text.split(' ').enumerate() {
        let place = *places.entry(word).or_insert(index.len());
        match index.get_mut(place) {
            Some((_, positions)) => positions.push(at),
            None => index.push((word, vec![at])),
        }
    }
    out.push(b'{');
    for (word, positions) in &index {
        write_name(word, out);
        for (at, position) in positions.iter().enumerate() {
            out.push(if at > 0 { b',' } else { b'[' });
            json::unsigned(out, *position as u64);
        }
        out.push(b']');
    }
    out.push(b'}');
}
