//! Messages and errors of JSON-RPC 2.0.

use bytes::Bytes;
use http::{Method, StatusCode};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use crate::define::Reader;
use crate::reply::{Body, JSON, Reply};

/// Errors of JSON-RPC.
pub const PARSE_ERROR: i32 = -32_700;
/// The error of a message that is no request.
pub const INVALID_REQUEST: i32 = -32_600;
pub const UNKNOWN_METHOD: i32 = -32_601;
pub const INVALID_PARAMS: i32 = -32_602;
const INTERNAL_ERROR: i32 = -32_603;
/// Errors of the Model Context Protocol.
pub const UNSUPPORTED_VERSION: i32 = -32_022;
pub const UNKNOWN_RESOURCE: i32 = -32_002;

/// A message of a client.
#[derive(Deserialize)]
pub struct Message {
    /// The version of JSON-RPC.
    pub jsonrpc: String,
    /// Absent in a notification, which has no answer.
    #[serde(default)]
    pub id: Option<Value>,
    /// Absent in a reply, to which there is no answer either; never null.
    #[serde(default, deserialize_with = "not_null")]
    pub method: Option<String>,
    /// Null without parameters.
    #[serde(default)]
    pub params: Value,
}

/// Reads a text that may be absent, but not null.
fn not_null<'de, D: Deserializer<'de>>(member: D) -> Result<Option<String>, D::Error> {
    String::deserialize(member).map(Some)
}

/// Whether a value is the id of a message.
pub fn is_id(value: &Value) -> bool {
    matches!(value, Value::String(_) | Value::Number(_) | Value::Null)
}

/// The error of a request.
pub struct RpcError {
    code: i32,
    message: String,
    /// Null for none.
    data: Value,
}

impl RpcError {
    /// An error without more for programs.
    pub fn new(code: i32, message: impl Into<String>) -> RpcError {
        RpcError::with(code, message, Value::Null)
    }

    /// An error with more for programs.
    pub fn with(code: i32, message: impl Into<String>, data: Value) -> RpcError {
        RpcError { code, message: message.into(), data }
    }

    /// The answer to the message with an id; null is the id of a message that cannot be read.
    pub fn answer(self, id: Value) -> Bytes {
        let mut error = json!({ "code": (self.code), "message": (self.message) });
        if !self.data.is_null() {
            error["data"] = self.data;
        }
        json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string().into()
    }

    /// The reply to the message with an id.
    pub fn refusal(self, id: Value) -> Reply {
        Reply::text(StatusCode::BAD_REQUEST, JSON, self.answer(id))
    }
}

/// The reply as a client of the protocol reads it. An error of the interface, such as 429, keeps its status and headers,
/// and its body becomes an error of JSON-RPC about the posted message. A notification gets no body.
pub fn as_rpc(mut reply: Reply, reader: &Reader<'_>) -> Reply {
    if !reader.settings.has_mcp || *reader.method != Method::POST {
        return reply;
    }
    let Body::Message(message) = &reply.body else { return reply };
    let is_temporary =
        reply.status.is_server_error() || reply.status == StatusCode::TOO_MANY_REQUESTS;
    let code = if is_temporary { INTERNAL_ERROR } else { INVALID_REQUEST };
    let data = json!({ "statusCode": (reply.status.as_u16()) });
    let error = RpcError::with(code, message.in_lines(), data);
    // A refused body is not read.
    let read = reader.posted.and_then(|posted| serde_json::from_slice::<Message>(posted.text).ok());
    reply.body = match read.map(|message| message.id) {
        Some(None) => Body::None,
        id => {
            let id = id.flatten().filter(is_id);
            Body::Text { media_type: JSON, bytes: error.answer(id.into()) }
        }
    };
    reply
}
