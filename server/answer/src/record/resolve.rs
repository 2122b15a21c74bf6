//! `/resolve/{identifier}`: from an identifier in any spelling to the record that has it.

use http::StatusCode;
use pinakes_format::autocomplete::{Candidates, ENTITIES, Identifier, find_identified};
use pinakes_format::entity::{CATALOG, Entity, IdFormat};
use pinakes_format::schema::without_repeated_prefix;
use pinakes_format::storage::ReadError;
use pinakes_format::text::fold::fold;
use serde_json::{Value, json};

use crate::complete::candidates;
use crate::define::{Answer, Call, Charge, Cost, Endpoint, Planned, Planning, RoutePath};
use crate::openapi::{AUTOCOMPLETE_TAG, Document, Operation, json_content, path_parameter};
use crate::referring;
use crate::referring::referring_lists;
use crate::reply::{Detail, JSON, Reply};
use crate::request::path::{decode, echo};

pub const RESOLVE: Endpoint = Endpoint {
    describe: Some(describe),
    ..Endpoint::new("/resolve/{identifier}", Charge::Minute, plan)
};

/// Parses the rest of a path as an identifier: bare, with its label, or as a URL, raw or percent-encoded, also with two
/// labels or URLs before it.
pub fn parse(raw: &str) -> Option<Identifier> {
    let decoded = decode(raw)?;
    let text = decoded.trim();
    // Proxies merge the two slashes of a raw URL.
    let merged = ["https:/", "http:/"].iter().find_map(|protocol| text.strip_prefix(protocol));
    Identifier::parse(text)
        .or_else(|| Identifier::parse(merged?))
        .or_else(|| Identifier::parse(without_repeated_prefix(text)))
}

/// Whether the rest of a path is an identifier, in a spelling that no path of a record has.
pub fn is_foreign(raw: &str) -> bool {
    parse(raw).is_some()
}

/// The detail of a 400 to an identifier in place of an id: where its record is.
pub fn detail(raw: &str) -> Option<Detail> {
    let reason = match parse(raw)? {
        Identifier::Record(entity, id) => format!(
            "is an id in the spelling of another service; the record is `{}`",
            path_of(entity, id)
        ),
        Identifier::External(..) => {
            "is an identifier of another system; `/resolve/` and the identifier finds its record"
                .to_owned()
        }
    };
    Some(Detail::new("id", &echo(raw), reason))
}

/// The path of a record.
fn path_of(entity: Entity, id: u64) -> String {
    format!("/{}/{}", entity.facts().route, entity.id_text(id))
}

/// 404 to a text that is no identifier, or an identifier that no record has.
fn not_found(raw: &str) -> Reply {
    let message = format!("Nothing with identifier {} found", echo(raw));
    Reply::error(StatusCode::NOT_FOUND, message)
}

fn plan(planning: &Planning<'_>) -> Result<Planned, Reply> {
    let segment = planning.segment;
    let identifier = parse(planning.segment()).ok_or_else(|| not_found(planning.segment()))?;
    Ok(Planned::work(Cost::Small, move |call| {
        answer(&identifier, segment.text_in(call.path), call)
    }))
}

/// 303 to the record that has the identifier, or 300 with candidates where several records have it.
///
/// Cost: one look-up for each entity, and the best ten of the records found.
fn answer(identifier: &Identifier, raw: &str, call: &Call<'_>) -> Answer {
    let (snapshot, limits) = (call.snapshot, call.limits());
    let folded = decode(raw).map(|text| fold(&text)).unwrap_or_default();
    // Awards have identifiers, and their names are not completed.
    let is_other = |entity: &Entity| entity.facts().has_single && !ENTITIES.contains(entity);
    let entities: Vec<Entity> =
        ENTITIES.iter().copied().chain(Entity::all().filter(is_other)).collect();
    let mut found = Candidates::default();
    for spelling in identifier.spellings() {
        if found.count == 0 {
            found = limits.run(|deadline| {
                find_identified(&spelling, &entities, &folded, snapshot, deadline)
            })?;
        }
    }
    match found.best.as_slice() {
        [] => {
            let lists = limits.run(|deadline| referring_lists(identifier, snapshot, deadline))?;
            Ok(not_found(raw).with_details(referring::details(&lists, raw)))
        }
        [record] if found.count == 1 => {
            let location = path_of(record.entity, snapshot.row_id(record.entity, record.row)?);
            let id = location.rsplit('/').next().unwrap_or_default();
            let label = record.entity.facts().label;
            let message = format!("{label} with identifier {} is {id}", echo(raw));
            Ok(Reply::redirect(StatusCode::SEE_OTHER, &location, message))
        }
        _ => {
            let candidates = candidates::render(&found, &[], snapshot)?;
            Ok(Reply::text(StatusCode::MULTIPLE_CHOICES, JSON, candidates))
        }
    }
}

fn describe(_: &RoutePath, document: &mut Document<'_>) -> Result<Value, ReadError> {
    let facts = &CATALOG[0];
    let sample = document.sample(facts.entity)?;
    let identifier = json!({ "type": "string" });
    let doc = "A DOI, ORCID, ROR id, ISSN, PMID, MAG id, OpenAlex id or `HX_` id: bare, with its label such as \
               `doi:`, or as a URL. Slashes may stay as they are. Numbers of PubMed and MAG need \
               `pmid:` or `mag:`.";
    let id = sample.id(&IdFormat::CURRENT, facts.entity).map(Value::from);
    let operation = Operation {
        tag: AUTOCOMPLETE_TAG,
        description: "One record gets 303, several records 300 with candidates.",
        parameters: vec![path_parameter("identifier", doc, identifier, id)],
        success: StatusCode::MULTIPLE_CHOICES,
        headers: Vec::new(),
        statuses: vec![StatusCode::SEE_OTHER, StatusCode::NOT_FOUND, StatusCode::TOO_MANY_REQUESTS],
        ..Operation::new(
            "resolve",
            "The record with an identifier of any system",
            json_content(candidates::describe_page(&mut document.schemas)),
        )
    };
    Ok(operation.into_path_item())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identifier_is_parsed_raw_encoded_and_with_merged_slashes() {
        let expected = Identifier::parse("10.1000/a(b)");
        assert!(expected.is_some());
        for raw in [
            "10.1000/a(b)",
            "10.1000%2Fa%28b%29",
            "https://doi.org/10.1000/a(b)",
            "https:/doi.org/10.1000/a(b)",
            "https%3A%2F%2Fdoi.org%2F10.1000%2Fa(b)",
            "doi:10.1000/a(b)",
            "https://doi.org/https:/doi.org/10.1000/a(b)",
            "%20DOI:10.1000/A(B)%20",
        ] {
            assert_eq!(parse(raw), expected, "{raw}");
        }
        for raw in ["", "x", "17", "%zz", "%ff", "https://example.org/10.1000/a"] {
            assert_eq!(parse(raw), None, "{raw}");
        }
    }
}
