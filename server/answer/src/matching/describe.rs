//! The operations of `/match/{list}` in the OpenAPI document.

use pinakes_format::entity::{Entity, Facts};
use pinakes_format::matching::{CANDIDATES_MAX, Question};
use pinakes_format::storage::ReadError;
use serde_json::{Value, json};

use crate::define::RoutePath;
use crate::matching::lines::{BODY_BYTES_MAX, KEY, LINES_MAX};
use crate::openapi::operation::PostOperation;
use crate::openapi::{
    CACHE_HEADERS, Document, LIST_STATUSES, Operation, Schemas, json_content, object_of, own_id,
    page, page_meta, patterns, query_parameter, required, text,
};

/// Describes the operations of a list.
pub fn describe(route: &RoutePath, document: &mut Document<'_>) -> Result<Value, ReadError> {
    let Facts { entity, plural, .. } = *route.facts();
    let sample = document.sample(entity)?;
    let parameters = Question::names(entity).map(|name| {
        let is_required = name == "text" && entity != Entity::Output;
        let mut schema = text();
        if is_required {
            schema["pattern"] = patterns::filled().into();
        }
        // A name alone is no question about authors.
        let has_example = name == "text" && entity != Entity::Author;
        let example = sample.word.clone().filter(|_| has_example).map(|word| ("word", word));
        let parameter = query_parameter(name, doc_of(name, entity), schema, [example]);
        if is_required { required(parameter) } else { parameter }
    });
    let get = Operation {
        tag: plural,
        description: "At most one candidate has `match`, except for affiliations that name several institutions. \
                      Counts as a page of a list.",
        parameters: parameters.collect(),
        headers: CACHE_HEADERS.to_vec(),
        statuses: LIST_STATUSES.to_vec(),
        ..Operation::new(
            format!("match_{plural}"),
            format!("The {plural} that a text may mean"),
            json_content(describe_page(entity, &mut document.schemas)),
        )
    };
    let text_of = |doc: &str| json!({ "type": "string", "description": doc });
    let (lines, table) =
        (text_of("A JSON object on each line."), text_of("A row of names of columns, and rows."));
    let mut posted_lines = lines.clone();
    posted_lines["pattern"] = r"[^\t\n\f\r ]".into();
    let post = PostOperation {
        id: format!("match_many_{plural}"),
        tag: plural,
        summary: format!("The best of the {plural} for each of many texts"),
        description: format!(
            "Takes {LINES_MAX} lines in {BODY_BYTES_MAX} bytes, each with `{KEY}` and the parameters of the GET. The reply \
             has a line for each, in order, with the best candidate. A line that is wrong gets an `error`, and the \
             others are answered. Each line counts as a page of a list."
        ),
        request: json!({
            "application/x-ndjson": {
                "schema": posted_lines,
                "examples": { "line": { "value": "{\"key\":1,\"text\":\"open access\"}\n" } },
            },
            "text/csv": {
                "schema": (table.clone()),
                "examples": { "row": { "value": "key,text\r\n1,open access\r\n" } },
            },
        }),
        content: json!({ "application/x-ndjson": { "schema": lines }, "text/csv": { "schema": table } }),
    };
    Ok(get.with_post(post))
}

/// The meaning of a parameter.
fn doc_of(name: &str, entity: Entity) -> &'static str {
    match (name, entity) {
        ("text", Entity::Output) => "A citation in any style, a title, or an identifier.",
        ("text", Entity::Institution) => "An affiliation as authors write it.",
        ("text", Entity::Source) => "A name, an abbreviation, or an ISSN.",
        ("text", Entity::Author) => {
            "A name. One of the other parameters decides between people of one name."
        }
        ("text", _) => "A name.",
        ("title", Entity::Output) => "The title, in place of `text`.",
        ("title", _) => "The title of a work.",
        ("author", _) => "The names of the authors, or of the first.",
        ("year", _) => "The year of publication.",
        ("venue", _) => "The journal or another venue.",
        ("volume", _) => "The volume.",
        ("first_page", _) => "The first page.",
        ("doi", _) => "The DOI.",
        ("orcid", _) => "The ORCID iD.",
        ("affiliation", _) => "An affiliation.",
        _ => "The country, as a name or a code of two letters.",
    }
}

/// Describes a page of candidates. Ids of the taxonomy are numbers in other replies, and texts here.
fn describe_page(entity: Entity, schemas: &mut Schemas) -> Value {
    let id = match entity.facts().letter {
        Some(_) => own_id(entity),
        None => text(),
    };
    let evidence = schemas.define("MatchEvidence", |_| {
        object_of(
            "A statement of the text about the record.",
            [
                ("what", "The member, such as `year`.", text()),
                ("agrees", "Whether the record agrees.", json!({ "type": "boolean" })),
            ],
        )
    });
    let candidate = object_of(
        "A record that the text may mean.",
        [
            ("id", "The identifier.", id),
            ("name", "The display name.", json!({ "type": ["string", "null"] })),
            (
                "score",
                "How well the record agrees.",
                json!({ "type": "number", "minimum": 0, "maximum": 1 }),
            ),
            ("match", "Whether the decision is sure.", json!({ "type": "boolean" })),
            (
                "why",
                "What agrees, and what does not.",
                json!({ "type": "array", "items": evidence }),
            ),
        ],
    );
    let meta = schemas.define("MatchMeta", |_| page_meta(&["count"]));
    let mut page = page(meta, candidate);
    page["properties"]["results"]["maxItems"] = CANDIDATES_MAX.into();
    page
}
