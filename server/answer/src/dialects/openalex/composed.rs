//! Members that OpenAlex composes of several values, or of the records that a record refers to.

use pinakes_format::entity::Entity;
use pinakes_format::record::{keyword_id, name_parts};
use pinakes_format::storage::ReadError;
use pinakes_format::text::fold::fold;
use pinakes_format::text::json;

use crate::dialects::openalex::stored::Stored;
use crate::dialects::openalex::tape::Value;
use crate::dialects::openalex::values::{ADDRESS, Object, write_address, write_reference};

pub fn api_url(
    of: &Stored<'_>,
    list: &str,
    key: &str,
    out: &mut Vec<u8>,
) -> Result<bool, ReadError> {
    of.write_list_address(list, key, out);
    Ok(true)
}

/// Appends the identifiers of a record, its own first.
pub fn ids(of: &Stored<'_>, names: &[&'static str], out: &mut Vec<u8>) -> Result<bool, ReadError> {
    begin_ids(of, names, out)?.end();
    Ok(true)
}

pub fn begin_ids<'o>(
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

pub fn orcid(author: &Stored<'_>) -> Option<String> {
    author.at("orcid.id").text().map(|id| format!("https://orcid.org/{id}"))
}

pub fn node_ids(own: &Stored<'_>, level: &str, out: &mut Vec<u8>) -> Result<bool, ReadError> {
    let mut ids = Object::begin(out);
    ids.address("openalex", level, own.at("id"));
    add_ids(own, &["wikidata", "wikipedia"], &mut ids)?;
    ids.end();
    Ok(true)
}

/// Appends the addresses of those ids that are not null.
pub fn addresses<'v>(
    ids: impl Iterator<Item = Value<'v>>,
    out: &mut Vec<u8>,
) -> Result<bool, ReadError> {
    json::list(out, ids.filter(|id| !id.is_null()), |id, out| write_address("", id, out));
    Ok(true)
}

/// Appends the addresses of a list of references.
pub fn addresses_of(references: Value<'_>, out: &mut Vec<u8>) -> Result<bool, ReadError> {
    addresses(references.elements().map(|reference| reference.get("id")), out)
}

/// Appends an institution as other records show it, and tells whether the snapshot has the institution. Of others, the name
/// is known.
pub fn write_institution(
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
pub fn add_institution(made: &mut Object<'_>, given: Value<'_>, found: Value<'_>) {
    made.reference(given);
    if !found.is_null() {
        made.value("ror", found.get("ror"));
        made.value("country_code", found.get("country").get("code"));
        made.value("type", found.get("type"));
    }
}

/// Appends the parts of an author's longest name.
pub fn parsed_name(author: &Stored<'_>, out: &mut Vec<u8>) -> Result<bool, ReadError> {
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
pub fn authorship(
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
    json::try_list(made.name("institutions"), affiliations, |affiliation, out| {
        work.write_fragment(affiliation.get("id"), out, |out| {
            write_institution(work, affiliation, out)
        })
    })?;
    let countries = author.get("countries");
    if countries.is_list() {
        json::list(made.name("countries"), countries.elements(), |country, out| {
            out.extend_from_slice(country.get("code").json());
        });
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

/// Appends how many different values the authors of a work have at one of two members of a list of theirs: at the second
/// where the first is absent, as the id of an institution without a record is.
pub fn distinct(
    work: &Stored<'_>,
    list: &'static str,
    [member, other]: [&'static str; 2],
    out: &mut Vec<u8>,
) -> Result<bool, ReadError> {
    let listed = work.list("authors").flat_map(|author| author.get(list).elements());
    let mut values: Vec<&[u8]> = listed
        .map(|element| match element.get(member) {
            value if value.is_null() => element.get(other).json(),
            value => value.json(),
        })
        .collect();
    values.sort_unstable();
    values.dedup();
    json::unsigned(out, values.len() as u64);
    Ok(true)
}

pub fn corresponding<'w>(work: &'w Stored<'_>) -> impl Iterator<Item = Value<'w>> {
    work.list("authors").filter(|author| author.get("is_corresponding").is_true())
}

/// Appends a venue; null of none.
pub fn location(work: &Stored<'_>, venue: Value<'_>, out: &mut Vec<u8>) -> Result<(), ReadError> {
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
pub fn add_host(
    of: &Stored<'_>,
    made: &mut Object<'_>,
    source: Value<'_>,
) -> Result<bool, ReadError> {
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
pub fn host_lineage(
    of: &Stored<'_>,
    host: Value<'_>,
    out: &mut Vec<u8>,
) -> Result<bool, ReadError> {
    let is_publisher = host.escaped().is_some_and(|id| id.starts_with(b"HX_P"));
    if !is_publisher {
        return addresses(std::iter::once(host), out);
    }
    let found = of.referred(Entity::Publisher, host)?;
    let lineage = found.value().get("lineage");
    Ok(lineage.is_list() && addresses_of(lineage, out)?)
}

/// Appends a topic, and the nodes above it.
pub fn topic(of: &Stored<'_>, given: Value<'_>, out: &mut Vec<u8>) -> Result<(), ReadError> {
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
            write_reference(level, parent, made.name(name));
        }
    }
    Ok(found.member("domain").is_some())
}

/// Appends a topic of a work or an award, which has no count; null of none.
pub fn topic_of_work(
    work: &Stored<'_>,
    given: Value<'_>,
    out: &mut Vec<u8>,
) -> Result<(), ReadError> {
    if given.is_null() {
        out.extend_from_slice(b"null");
        return Ok(());
    }
    work.write_fragment(given.get("id"), out, |out| write_topic(work, given, out))
}

pub fn topic_share(of: &Stored<'_>, out: &mut Vec<u8>) -> Result<bool, ReadError> {
    if of.at("topics").is_null() {
        return Ok(false);
    }
    let shared = of.list("topics").filter(|topic| !topic.get("share").is_null());
    json::try_list(out, shared, |topic, out| {
        let mut made = Object::begin(out);
        made.reference(topic);
        made.value("value", topic.get("share"));
        add_levels(of, &mut made, topic)?;
        made.end();
        Ok(())
    })
    .map(|()| true)
}

pub fn counts_of_year(
    _: &Stored<'_>,
    counts: Value<'_>,
    out: &mut Vec<u8>,
) -> Result<(), ReadError> {
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

pub fn role(_: &Stored<'_>, role: Value<'_>, out: &mut Vec<u8>) -> Result<(), ReadError> {
    let mut made = Object::begin(out);
    made.value("role", role.get("role"));
    made.address("id", "", role.get("id"));
    made.value("works_count", role.get("outputs_count"));
    made.end();
    Ok(())
}

pub fn keywords(work: &Stored<'_>, out: &mut Vec<u8>) -> Result<bool, ReadError> {
    if work.at("keywords").is_null() {
        return Ok(false);
    }
    // Ids are stored where the names do not give all of them.
    let mut given = work.list("keyword_ids");
    json::list(out, work.list("keywords"), |name, out| {
        let own = given.next().and_then(Value::text);
        let id = own.unwrap_or_else(|| keyword_id(&name.text().unwrap_or_default()).into());
        let mut made = Object::begin(out);
        made.text("id", Some(&format!("{ADDRESS}keywords/{id}")));
        made.value("display_name", name);
        made.end();
    });
    Ok(true)
}

pub fn awards(work: &Stored<'_>, out: &mut Vec<u8>) -> Result<bool, ReadError> {
    if work.at("funders").is_null() {
        return Ok(false);
    }
    let funders = work.list("funders");
    let awards = funders
        .flat_map(|funder| funder.get("awards").elements().map(move |award| (funder, award)));
    json::list(out, awards, |(funder, award), out| {
        let mut made = Object::begin(out);
        made.address("id", "", award.get("id"));
        made.value("display_name", award.get("name"));
        made.value("funder_award_id", award.get("funder_award_id"));
        made.address("funder_id", "", funder.get("id"));
        made.value("funder_display_name", funder.get("name"));
        made.value("doi", award.get("doi"));
        made.end();
    });
    Ok(true)
}
