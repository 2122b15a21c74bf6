//! The operations of `/match/{list}` in the OpenAPI document.

use http::StatusCode;
use pinakes_format::entity::Entity;
use pinakes_format::matching::{CANDIDATES_MAX, Question, TEXT_BYTES_MAX};
use pinakes_format::schema::keys::keys_of;
use pinakes_format::storage::error::ReadError;
use serde_json::{Map, Value, json};

use crate::endpoint::matching::BODY_BYTES_MAX;
use crate::endpoint::matching::lines::{KEY, LINES_MAX};
use crate::endpoint::routes::Route;
use crate::openapi::document::Document;
use crate::openapi::operation::{LIST_STATUSES, Operation, json_content, page, page_meta, responses};
use crate::openapi::parameters::query_parameter;
use crate::openapi::responses::{CACHE_HEADERS, headers};
use crate::openapi::samples::Sample;
use crate::openapi::schemas::{Schemas, object_of, text};

/// Adds the operations of a list.
pub fn describe(route: &Route, document: &mut Document<'_>) -> Result<(), ReadError> {
    let facts = route.facts();
    let sample = Sample::read(document.snapshot, facts.entity, keys_of(facts.entity))?;
    let parameters = Question::names(facts.entity).map(|name| {
        let schema = json!({ "type": "string", "maxLength": TEXT_BYTES_MAX });
        let example = sample.word.clone().filter(|_| name == "text").map(|word| ("word", word));
        query_parameter(name, doc_of(name, facts.entity), schema, [example])
    });
    let operation = Operation {
        tag: facts.plural,
        description: "At most one candidate has `match`, except for affiliations that name several institutions. \
                      It counts as a page of a list.",
        parameters: parameters.collect(),
        headers: CACHE_HEADERS.to_vec(),
        statuses: LIST_STATUSES.to_vec(),
        ..Operation::new(
            format!("match_{}", facts.plural),
            format!("The {} that a text may mean", facts.plural),
            json_content(describe_page(&mut document.schemas)),
        )
    };
    let mut item = operation.into_path_item();
    // The parameters are those of the GET; a POST has its texts in its body.
    if let Some(members) = item.as_object_mut()
        && let Some(parameters) = members.shift_remove("parameters")
    {
        for method in ["get", "head"] {
            members[method]["parameters"] = parameters.clone();
        }
        members.insert("post".into(), describe_post(facts.entity, &mut document.schemas));
    }
    document.paths.insert(route.path.clone(), item);
    Ok(())
}

/// The text of a part, for people.
fn doc_of(name: &str, entity: Entity) -> &'static str {
    match (name, entity) {
        ("text", Entity::Output) => "A citation in any style, or a title.",
        ("text", Entity::Institution) => "An affiliation as authors write it.",
        ("text", Entity::Source) => "A name, an abbreviation, or an ISSN.",
        ("text", Entity::Author) => "A name; one of the other parameters decides between people with it.",
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

fn describe_post(entity: Entity, schemas: &mut Schemas) -> Value {
    let plural = entity.facts().plural;
    let answer = schemas.define("MatchedLine", |_| describe_line());
    let mut members = Map::new();
    members.insert(KEY.into(), json!({ "description": "Repeated in the reply." }));
    for name in Question::names(entity) {
        let schema = json!({
            "description": (doc_of(name, entity)),
            "type": ["string", "number", "null"],
            "maxLength": TEXT_BYTES_MAX,
        });
        members.insert(name.into(), schema);
    }
    let line = json!({ "type": "object", "properties": members });
    let lines = json!({ "type": "string", "description": "One JSON object on each line." });
    let table = json!({ "type": "string", "description": "A row of names of columns, and rows." });
    let example = json!({ "value": "{\"key\":1,\"text\":\"…\"}\n" });
    let success = json!({
        "description": "One line for each line of the body, in order.",
        "headers": (headers(&["Cache-Control"])),
        "content": {
            "application/x-ndjson": { "schema": lines.clone(), "itemSchema": answer },
            "text/csv": { "schema": { "type": "string" } },
        },
    });
    let statuses = [
        StatusCode::PAYLOAD_TOO_LARGE,
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        StatusCode::TOO_MANY_REQUESTS,
    ];
    json!({
        "tags": [plural],
        "operationId": (format!("match_many_{plural}")),
        "summary": (format!("The best of the {plural} for each of many texts")),
        "description": (format!(
            "A body has at most {LINES_MAX} lines and {BODY_BYTES_MAX} bytes. Each line counts as a page of a list. \
             A line that is wrong gets an `error`, and the others are answered."
        )),
        "requestBody": {
            "required": true,
            "content": {
                "application/x-ndjson": { "schema": lines, "itemSchema": line, "examples": { "line": example } },
                "text/csv": { "schema": table },
            },
        },
        "responses": (responses((StatusCode::OK, success), &statuses)),
    })
}

fn describe_page(schemas: &mut Schemas) -> Value {
    schemas.define("MatchPage", |schemas| {
        let candidate = schemas.define("MatchCandidate", |_| {
            object_of("A record that the text may mean.", members_of_candidate(text()))
        });
        let meta = schemas.define("MatchMeta", |_| page_meta(&["count"]));
        let mut page = page(meta, candidate);
        page["properties"]["results"]["maxItems"] = CANDIDATES_MAX.into();
        page
    })
}

/// The members of a candidate, with the schema of its texts.
fn members_of_candidate(text: Value) -> [(&'static str, &'static str, Value); 5] {
    let evidence = object_of(
        "Something that the text states.",
        [
            ("what", "What it is, such as `year`.", json!({ "type": "string" })),
            ("agrees", "Whether the record agrees.", json!({ "type": "boolean" })),
        ],
    );
    let nullable_name = json!({ "type": ["string", "null"] });
    [
        ("id", "The identifier.", text),
        ("name", "The display name.", nullable_name),
        (
            "score",
            "How well the record agrees.",
            json!({ "type": "number", "minimum": 0, "maximum": 1 }),
        ),
        ("match", "Whether the decision is sure.", json!({ "type": "boolean" })),
        ("why", "What agrees, and what does not.", json!({ "type": "array", "items": evidence })),
    ]
}

fn describe_line() -> Value {
    let mut line = object_of(
        "The best candidate for a line; `id` is null without one.",
        members_of_candidate(json!({ "type": ["string", "null"] })),
    );
    line["properties"][KEY] = json!({ "description": "The key of the line." });
    line["properties"]["error"] =
        json!({ "description": "What is wrong with the line.", "type": "string" });
    line
}
