//! The operation of `POST /mcp` in the OpenAPI document.

use pinakes_format::storage::ReadError;
use serde_json::{Value, json};

use crate::define::RoutePath;
use crate::openapi::operation::PostOperation;
use crate::openapi::{Document, MCP_TAG, add_optional, headers, json_content, object_of, text};

/// Describes the operation. Programs find the tools by the protocol, so that the document does not repeat them.
pub fn describe(_: &RoutePath, document: &mut Document<'_>) -> Result<Value, ReadError> {
    let version = || json!({ "type": "string", "const": "2.0" });
    let any = || json!({});
    let id = || json!({ "type": ["string", "number", "null"] });
    let mut message =
        object_of("A message of JSON-RPC.", [("jsonrpc", "The version of JSON-RPC.", version())]);
    add_optional(
        &mut message,
        [
            ("id", "The answer repeats it. A message without an `id` has no answer.", id()),
            ("method", "The method, such as `tools/list`.", text()),
            ("params", "The parameters of the method.", any()),
        ],
    );
    let code = json!({ "type": "integer" });
    let mut error = object_of(
        "An error.",
        [("code", "The kind of error.", code), ("message", "What to do.", text())],
    );
    add_optional(&mut error, [("data", "Facts for programs, such as `statusCode`.", any())]);
    let answer = |name: &'static str, value: Value| {
        object_of(
            "An answer of JSON-RPC.",
            [
                ("jsonrpc", "", version()),
                ("id", "The `id` of the message.", id()),
                (name, "", value),
            ],
        )
    };
    // A schema with a name, because every status of a refusal refers to it.
    let refused = document.schemas.define("RpcError", |_| answer("error", error));
    let answered = answer("result", json!({ "type": "object" }));
    // Examples of both kinds: a list of tools without parameters, and a call with them.
    let call = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "search", "arguments": { "query": "open access" } },
    });
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    let post = PostOperation {
        id: "mcp".to_owned(),
        tag: MCP_TAG,
        summary: "The Model Context Protocol over streamable HTTP".to_owned(),
        description: "Each POST has one message, and its reply one answer; there are no sessions and no events. \
                      `tools/list` describes the tools. A message counts as a page of a list. The operator can \
                      disable this path."
            .to_owned(),
        request: json!({
            "application/json": {
                "schema": message,
                "examples": { "list": { "value": list }, "call": { "value": call } },
            },
        }),
        content: json_content(json!({ "oneOf": [answered, refused] })),
    };
    let mut operation = post.into_value();
    let error = |description: &str, own: &[&str]| {
        let content = json_content(refused.clone());
        json!({ "description": description, "headers": (headers(own)), "content": content })
    };
    operation["responses"] = json!({
        "200": (operation["responses"]["200"]),
        "202": { "description": "The message has no answer.", "headers": (headers(&[])) },
        "400": (error("The body is no message, or its version of the protocol is unknown.", &[])),
        "403": (error("A browser on the server's machine shows a page of another host.", &[])),
        "429": (error("A limit is reached.", &["Retry-After"])),
        "default": (error("The request is refused, or the server failed.", &[])),
    });
    Ok(json!({ "post": operation }))
}
