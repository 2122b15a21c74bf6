//! The operation of `POST /graphql` in the OpenAPI document.

use pinakes_format::entity::CATALOG;
use serde_json::{Value, json};

use crate::openapi::operation::PostOperation;
use crate::openapi::{GRAPHQL_TAG, Schemas, headers, schema_at};

/// The media type that GraphQL over HTTP defines.
const GRAPHQL_RESPONSE: &str = "application/graphql-response+json";

/// The path item of `/graphql`.
pub fn path_item(schemas: &mut Schemas) -> Value {
    let request = schemas.define("GraphqlRequest", |_| request_schema());
    let response = schemas.define("GraphqlResponse", |_| response_schema());
    let list = CATALOG[0].plural;
    let query = format!("{{ {list}(per_page: 10) {{ meta {{ count }} results {{ id name }} }} }}");
    let post = PostOperation {
        id: "ask".to_owned(),
        tag: GRAPHQL_TAG,
        summary: "Selected members of records and of the records they refer to".to_owned(),
        description: "A body has at most 65,536 bytes. The server bounds the levels, fields, records, bytes and time of \
                      an operation."
            .to_owned(),
        request: json!({
            "application/json": {
                "schema": request,
                "examples": { "list": { "value": { "query": query } } },
            },
        }),
        content: json!({
            "application/json": { "schema": (response.clone()) },
            GRAPHQL_RESPONSE: { "schema": (response.clone()) },
        }),
    };
    let mut operation = post.into_value();
    operation["responses"]["400"] = json!({
        "description": "The body is not a GraphQL request. Clients that accept \
                        `application/graphql-response+json` also get 400 for an operation that does \
                        not parse or validate, or exceeds a bound.",
        "headers": (headers(&[])),
        "content": {
            "application/json": { "schema": (schema_at("BadRequest")) },
            GRAPHQL_RESPONSE: { "schema": response },
        },
    });
    json!({ "post": operation })
}

fn request_schema() -> Value {
    json!({
        "description": "A GraphQL request; `/graphql/schema` has the schema.",
        "type": "object",
        "required": ["query"],
        "properties": {
            "query": { "description": "The document.", "type": "string" },
            "variables": {
                "description": "Values of the document's variables.",
                "type": ["object", "null"],
            },
            "operationName": {
                "description": "Name of the operation to run, in a document with several.",
                "type": ["string", "null"],
            },
        },
    })
}

fn response_schema() -> Value {
    json!({
        "description": "Data and errors. A response without `data` means that the server ran no \
                        operation.",
        "type": "object",
        "properties": {
            "data": { "description": "The selected fields.", "type": ["object", "null"] },
            "errors": {
                "description": "Errors of the request and of fields.",
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["message"],
                    "properties": {
                        "message": { "type": "string" },
                        "locations": {
                            "description": "Places in the document.",
                            "type": "array",
                            "items": {
                                "type": "object",
                                "required": ["line", "column"],
                                "properties": {
                                    "line": { "type": "integer" },
                                    "column": { "type": "integer" },
                                },
                            },
                        },
                        "path": {
                            "description": "The response keys and list indexes that lead to the \
                                            field.",
                            "type": "array",
                            "items": { "type": ["string", "integer"] },
                        },
                        "extensions": { "type": "object" },
                    },
                },
            },
        },
    })
}
