//! Operations: the GET of a path, its HEAD twin, the POST of a path, and the schemas of pages.

use http::StatusCode;
use serde_json::{Map, Value, json};

use crate::openapi::responses::{CACHE_HEADERS, STATUSES_OF_ANY_REQUEST, headers, response_at};
use crate::openapi::schemas::{object, object_of, schema_at};

/// The version of the interface, which changes apart from the program.
pub const INTERFACE_VERSION: &str = "1.0";

pub const AUTOCOMPLETE_TAG: &str = "autocomplete";
pub const GRAPHQL_TAG: &str = "GraphQL";
pub const LEGACY_TAG: &str = "older variant";
pub const MCP_TAG: &str = "language models";
pub const RECONCILE_TAG: &str = "reconciliation";
pub const SERVICE_TAG: &str = "service";

const JSON: &str = "application/json";

/// The GET operation of a path. Each such path also has the HEAD operation.
pub struct Operation {
    /// The `operationId`, unique in the document.
    pub id: String,
    /// The tag that groups the operation with others.
    pub tag: &'static str,
    /// One line without a full stop.
    pub summary: String,
    /// Further rules; empty where the summary says all.
    pub description: &'static str,
    pub parameters: Vec<Value>,
    /// The status of a reply with the body below: 200, except for `/resolve`.
    pub success: StatusCode,
    /// The body of that reply, by media type.
    pub content: Value,
    /// Headers of that reply besides the headers of every reply.
    pub headers: Vec<&'static str>,
    /// Statuses besides `success` and [`STATUSES_OF_ANY_REQUEST`].
    pub statuses: Vec<StatusCode>,
    /// Links to operations on the records of the reply; null for none.
    pub links: Value,
}

impl Operation {
    /// An operation of the service itself, without parameters, that succeeds with 200.
    pub fn new(id: impl Into<String>, summary: impl Into<String>, content: Value) -> Operation {
        Operation {
            id: id.into(),
            tag: SERVICE_TAG,
            summary: summary.into(),
            description: "",
            parameters: Vec::new(),
            success: StatusCode::OK,
            content,
            headers: vec!["Cache-Control"],
            statuses: Vec::new(),
            links: Value::Null,
        }
    }

    /// The operation of a page for people, which the operator can disable.
    pub fn html_page(id: &'static str, summary: &'static str) -> Operation {
        Operation {
            description: "The operator can disable this page.",
            headers: CACHE_HEADERS.to_vec(),
            statuses: vec![StatusCode::NOT_MODIFIED, StatusCode::NOT_FOUND],
            ..Operation::new(id, summary, text_content("text/html"))
        }
    }

    /// The path item with the POST of the path beside GET and HEAD. The parameters are those of the GET.
    pub fn with_post(self, post: PostOperation) -> Value {
        let mut item =
            json!({ "get": (self.get()), "head": (self.head()), "post": (post.into_value()) });
        for method in ["get", "head"] {
            item[method]["parameters"] = self.parameters.clone().into();
        }
        item
    }

    /// The path item: parameters, GET and HEAD.
    pub fn into_path_item(self) -> Value {
        let operations = json!({ "get": (self.get()), "head": (self.head()) });
        if self.parameters.is_empty() {
            return operations;
        }
        json!({ "parameters": (self.parameters), "get": (self.get()), "head": (self.head()) })
    }

    fn get(&self) -> Value {
        let mut operation =
            json!({ "tags": [(self.tag)], "operationId": (self.id), "summary": (self.summary) });
        if !self.description.is_empty() {
            operation["description"] = self.description.into();
        }
        let headers = headers(&self.headers);
        let mut success =
            json!({ "description": "The answer.", "headers": headers, "content": (self.content) });
        if !self.links.is_null() {
            success["links"] = self.links.clone();
        }
        operation["responses"] = responses((self.success, success), &self.statuses);
        operation
    }

    fn head(&self) -> Value {
        json!({
            "tags": [(self.tag)],
            "operationId": (format!("head_{}", self.id)),
            "summary": "GET without the body",
            "responses": {
                (self.success.as_str()): { "description": "Status and headers of GET." },
                "default": { "description": "Status and headers of GET." },
            },
        })
    }
}

/// The POST operation of a path: a request in a body, whose reply no cache keeps.
pub struct PostOperation {
    /// The `operationId`, unique in the document.
    pub id: String,
    /// The tag that groups the operation with others.
    pub tag: &'static str,
    /// One line without a full stop.
    pub summary: String,
    pub description: String,
    /// The body of the request, by media type.
    pub request: Value,
    /// The body of the reply 200, by media type.
    pub content: Value,
}

impl PostOperation {
    /// The path item of a path that takes no GET.
    pub fn into_path_item(self) -> Value {
        json!({ "post": (self.into_value()) })
    }

    pub fn into_value(self) -> Value {
        let success = json!({
            "description": "The answer.",
            "headers": (headers(&["Cache-Control"])),
            "content": (self.content),
        });
        let statuses = [
            StatusCode::PAYLOAD_TOO_LARGE,
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            StatusCode::TOO_MANY_REQUESTS,
        ];
        json!({
            "tags": [(self.tag)],
            "operationId": (self.id),
            "summary": (self.summary),
            "description": (self.description),
            "requestBody": { "required": true, "content": (self.request) },
            "responses": (responses((StatusCode::OK, success), &statuses)),
        })
    }
}

/// Statuses of a request for one record, besides 200 and the statuses of any request.
pub const RECORD_STATUSES: [StatusCode; 4] = [
    StatusCode::MOVED_PERMANENTLY,
    StatusCode::NOT_MODIFIED,
    StatusCode::NOT_FOUND,
    StatusCode::TOO_MANY_REQUESTS,
];
/// Statuses of a request for a list, besides 200 and the statuses of any request.
pub const LIST_STATUSES: [StatusCode; 2] =
    [StatusCode::NOT_MODIFIED, StatusCode::TOO_MANY_REQUESTS];

/// Responses by status: that of success, some shared responses, and the responses of any request.
pub fn responses((status, success): (StatusCode, Value), statuses: &[StatusCode]) -> Value {
    let mut statuses: Vec<StatusCode> =
        statuses.iter().chain(&STATUSES_OF_ANY_REQUEST).copied().collect();
    statuses.sort_unstable();
    let shared = statuses.iter().map(|status| (status.as_str().into(), response_at(*status)));
    Value::Object([(status.as_str().into(), success)].into_iter().chain(shared).collect())
}

/// A JSON body with a schema, as the `content` of a response.
pub fn json_content(schema: Value) -> Value {
    json!({ JSON: { "schema": schema } })
}

/// A body of text, as the `content` of a response.
pub fn text_content(media_type: &str) -> Value {
    json!({ media_type: { "schema": { "type": "string" } } })
}

/// A JSON body whose schema the document defines under a name.
pub fn named_content(name: &str) -> Value {
    json_content(schema_at(name))
}

/// The schema of a page's `meta`, with the members that this kind of page has.
pub fn page_meta(names: &[&str]) -> Value {
    let docs = [
        ("count", "Exact number of matching records."),
        ("groups_count", "Exact number of groups."),
        ("page", "Number of this page, from 1."),
        ("per_page", "Largest number of records on a page."),
    ];
    let members = docs.iter().filter(|(name, _)| names.contains(name)).map(|(name, doc)| {
        let value = json!({ "description": (*doc), "type": "integer", "minimum": 0 });
        (String::from(*name), value)
    });
    object("Size and position of a page.", members.collect())
}

/// The schema of a page of items.
pub fn page(meta: Value, item: Value) -> Value {
    let results = json!({ "type": "array", "items": item });
    object_of("A page of a list.", [("meta", "", meta), ("results", "", results)])
}

pub fn path_parameter(name: &str, doc: &str, schema: Value, example: Option<Value>) -> Value {
    let mut parameter = json!({ "name": name, "in": "path", "required": true, "description": doc, "schema": schema });
    if let Some(example) = example {
        parameter["example"] = example;
    }
    parameter
}

pub fn query_parameter(
    name: &str,
    doc: &str,
    schema: Value,
    examples: impl IntoIterator<Item = Option<(&'static str, String)>>,
) -> Value {
    let mut parameter =
        json!({ "name": name, "in": "query", "description": doc, "schema": schema });
    let examples = examples.into_iter().flatten();
    let examples: Map<String, Value> =
        examples.map(|(name, text)| (name.into(), json!({ "value": text }))).collect();
    if !examples.is_empty() {
        parameter["examples"] = examples.into();
    }
    parameter
}

/// A parameter that each request has.
pub fn required(mut parameter: Value) -> Value {
    parameter["required"] = true.into();
    parameter
}
