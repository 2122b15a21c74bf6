//! `format=atom`: the newest records of a list as a feed, which feed readers and Zotero follow.
//!
//! ```text
//! <feed><id>http://host/outputs?search=malaria</id><title>Outputs</title>…
//!   <entry><id>http://host/outputs/HX_W7</id><title>On DNA</title><author><name>Ada van Berg</name></author>…</entry>
//! ```

use std::fmt::Write;

use pinakes_format::entity::{Entity, Facts};
use pinakes_format::formats::reference::{FEED_MEMBERS, Reference};
use pinakes_format::formats::xml::escaped;
use pinakes_format::query::{Query, parse_select};
use pinakes_format::record::{Members, View};
use pinakes_format::schema::keys_of;
use pinakes_format::storage::ReadError;
use serde_json::Value;

use crate::define::{Answer, Call};
use crate::reply::Reply;
use crate::request::parameters::query_pairs;

/// The value of `format`.
pub const NAME: &str = "atom";
/// The media type of a feed.
pub const MEDIA_TYPE: &str = "application/atom+xml; charset=utf-8";
/// Records of a feed.
const RECORDS: u32 = 50;
/// Authors of an entry.
const AUTHORS_MAX: usize = 20;
/// The order of the records, unless the client asks for another.
const NEWEST: &str = "created_date";
/// Distinguishes the tags of feeds from those of other formats.
const TAG: &str = "4";

/// Whether the list of an entity has a feed.
pub fn is_of(entity: Entity) -> bool {
    keys_of(entity).sort(NEWEST).is_some()
}

/// Answers with the newest records of a list.
pub fn answer(query: &Query, call: &Call<'_>) -> Answer {
    let etags = call.served.reply_headers().etags_of_version(TAG);
    if let Some(coding) = etags.matching_coding(call.headers) {
        return Ok(Reply::not_modified_tagged(&etags, coding));
    }
    let mut query = query.clone();
    if query.sort.is_empty() {
        // Every list with a feed has the key, as a test checks.
        let _ = query.set_sort(&format!("{NEWEST}:desc"));
    }
    query.per_page = RECORDS;
    let found = call.limits().run(|deadline| query.execute(call.snapshot, deadline))?;
    let facts = query.entity.facts();
    let members = members(query.entity);
    call.snapshot.fetch_page(
        query.entity,
        &found.rows,
        members.view().shape(),
        |_, _, row, writer| members.render(row, writer),
    )?;
    let (mut entries, mut newest) = (String::new(), String::new());
    let mut writer = members.writer(call.snapshot);
    for row in &found.rows {
        writer.out.clear();
        members.render(*row, &mut writer)?;
        let changed = write_entry(facts, &writer.out, call, &mut entries)?;
        newest = newest.max(changed);
    }
    if newest.is_empty() {
        newest = moment(call.snapshot.manifest().source.newest_updated_date.as_deref());
    }
    let address = escaped(&format!("{}{}?{}", call.origin(), call.path, call.query));
    let title = format!("{}: {}", call.path.trim_start_matches('/'), query_words(call.query));
    let text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\">\n<id>{address}</id>\n\
         <title>{}</title>\n<updated>{newest}</updated>\n<link rel=\"self\" href=\"{address}\"/>\n\
         <generator>Pinakes</generator>\n{entries}</feed>\n",
        escaped(title.trim_end_matches(": "))
    );
    Ok(Reply::tagged(MEDIA_TYPE, text.into_bytes(), etags))
}

/// The members that an entry shows.
fn members(entity: Entity) -> Members {
    let names = match entity {
        Entity::Output => FEED_MEMBERS,
        _ => "id,name,created_date,updated_date",
    };
    // A test reads them for every entity.
    parse_select(entity, View::Export, names)
        .unwrap_or_else(|_| Members::all(entity, View::Export).clone())
}

/// Appends the entry of a record; returns when the record changed.
fn write_entry(
    facts: &Facts,
    json: &[u8],
    call: &Call<'_>,
    out: &mut String,
) -> Result<String, ReadError> {
    let record: Value = serde_json::from_slice(json).unwrap_or_default();
    let text = |name: &str| record[name].as_str();
    // Nodes of the taxonomy have numbers.
    let id = text("id").map_or_else(|| record["id"].to_string(), str::to_owned);
    let origin = call.origin();
    let pages = if call.settings.has_browse { "/browse" } else { "" };
    let changed = moment(text("updated_date").or(text("created_date")));
    let route = facts.route;
    out.push_str("<entry>\n");
    let mut add = |element: &str, value: &str| {
        let _ = writeln!(out, "  <{element}>{}</{element}>", escaped(value));
    };
    let mut title = text("name").unwrap_or("Without a title").to_owned();
    let (mut authors, mut summary, mut doi) = (Vec::new(), None, None);
    if facts.entity == Entity::Output {
        let reference = Reference::read(json)?;
        title = reference.title().map_or(title, |title| title.text());
        let names = reference.authors().filter_map(|(_, author)| author.name().map(str::to_owned));
        authors = names.take(AUTHORS_MAX).collect();
        summary = reference.r#abstract();
        doi = reference.doi_url().map(str::to_owned);
    }
    add("id", &format!("{origin}/{route}/{id}"));
    add("title", &title);
    add("updated", &changed);
    if let Some(created) = text("created_date") {
        add("published", &moment(Some(created)));
    }
    if let Some(summary) = summary {
        add("summary", &summary);
    }
    for name in &authors {
        let _ = writeln!(out, "  <author><name>{}</name></author>", escaped(name));
    }
    if authors.is_empty() {
        // An entry without an author, in a feed without one, is invalid.
        out.push_str("  <author><name>unknown</name></author>\n");
    }
    let page = escaped(&format!("{origin}{pages}/{route}/{id}"));
    let _ = writeln!(out, "  <link rel=\"alternate\" href=\"{page}\"/>");
    if let Some(doi) = doi {
        let _ = writeln!(out, "  <link rel=\"related\" href=\"{}\"/>", escaped(&doi));
    }
    out.push_str("</entry>\n");
    Ok(changed)
}

/// A date or a time of a record as RFC 3339 has times; the first moment of 1970 for none.
fn moment(text: Option<&str>) -> String {
    match text.unwrap_or_default() {
        time if time.len() >= 19 => format!("{}Z", &time[..19]),
        date if date.len() == 10 => format!("{date}T00:00:00Z"),
        _ => "1970-01-01T00:00:00Z".to_owned(),
    }
}

/// The values of the filter and of the search, for the title.
fn query_words(query: &str) -> String {
    let pairs = query_pairs(query).flatten();
    let told = pairs.filter(|(name, _)| name != "format" && name != "sort");
    told.map(|(_, value)| value).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn every_list_has_the_members_and_the_order_of_its_feed() {
        for entity in Entity::all().filter(|entity| is_of(*entity)) {
            assert!(members(entity).members().len() >= 4, "{entity}");
            Query::new(entity).set_sort(&format!("{NEWEST}:desc")).unwrap();
        }
    }

    #[test]
    fn times_are_those_of_rfc_3339() {
        for (given, expected) in [
            (Some("2026-01-10"), "2026-01-10T00:00:00Z"),
            (Some("2026-01-10T05:06:07.123456"), "2026-01-10T05:06:07Z"),
            (None, "1970-01-01T00:00:00Z"),
        ] {
            assert_eq!(moment(given), expected);
        }
    }
}
