//! The path where questions of GraphQL are posted.

use http::StatusCode;
use pinakes_format::entity::CATALOG;
use serde_json_bytes::Value;

use crate::openapi::paths::responses;
use crate::openapi::responses::headers;
use crate::openapi::schemas::{Schemas, schema_at};
use crate::openapi::service::GRAPHQL;

/// The media type GraphQL has of its own.
const OWN: &str = "application/graphql-response+json";

/// What is said of the path.
pub fn graphql(schemas: &mut Schemas) -> Value {
    let request = schemas.name("GraphqlRequest", |_| request_schema());
    let response = schemas.name("GraphqlResponse", |_| response_schema());
    let list = CATALOG[0].plural;
    let question =
        format!("{{ {list}(per_page: 10) {{ meta {{ count }} results {{ id name }} }} }}");
    json!({
        "post": {
            "tags": [GRAPHQL],
            "operationId": "ask",
            "summary": "Parts of records, and of the records they refer to",
            "description": "At most 65,536 bytes. What a question may come to is bounded: levels, fields, \
                            records, bytes and time.",
            "requestBody": {
                "required": true,
                "content": {
                    "application/json": {
                        "schema": request,
                        "examples": { "list": { "value": { "query": question } } },
                    },
                },
            },
            "responses": (answers(response)),
        },
    })
}

/// What may become of a question.
fn answers(response: Value) -> Value {
    let answer = json!({
        "description": "The answer, errors among it.",
        "headers": (headers(&["Cache-Control"])),
        "content": {
            "application/json": { "schema": (response.clone()) },
            OWN: { "schema": (response.clone()) },
        },
    });
    let others = [
        StatusCode::PAYLOAD_TOO_LARGE,
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        StatusCode::TOO_MANY_REQUESTS,
    ];
    let mut responses = responses(answer, &others);
    let refused = json!({
        "description": "The body is no question; or, to clients that accept `application/graphql-response+json`, \
                        the question does not parse, validate, or come within bounds.",
        "headers": (headers(&[])),
        "content": {
            "application/json": { "schema": (schema_at("BadRequest")) },
            OWN: { "schema": response },
        },
    });
    if let Some(responses) = responses.as_object_mut() {
        responses.insert("400", refused);
    }
    responses
}

fn request_schema() -> Value {
    json!({
        "description": "A question; the schema is at `/graphql/schema`.",
        "type": "object",
        "required": ["query"],
        "properties": {
            "query": { "description": "The document.", "type": "string" },
            "variables": {
                "description": "Values of its variables.",
                "type": ["object", "null"],
            },
            "operationName": {
                "description": "Which of its operations is meant.",
                "type": ["string", "null"],
            },
        },
    })
}

fn response_schema() -> Value {
    json!({
        "description": "What was asked for, and what was wrong. Where nothing was begun there is no \
                        `data`.",
        "type": "object",
        "properties": {
            "data": { "description": "What was asked for.", "type": ["object", "null"] },
            "errors": {
                "description": "What was wrong.",
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["message"],
                    "properties": {
                        "message": { "type": "string" },
                        "locations": { "type": "array" },
                        "path": { "type": "array" },
                        "extensions": { "type": "object" },
                    },
                },
            },
        },
    })
}
