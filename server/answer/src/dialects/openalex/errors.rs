//! Errors in OpenAlex's shape.

use http::StatusCode;
use serde_json::json;

use crate::define::{Call, Reader};
use crate::dialects::openalex::names::{LISTS, List, SMALL_LISTS};
use crate::reply::{Body, Detail, JSON, Reply, reason_phrase};
use crate::request::path::{decode, echo};

/// An error of the interface in OpenAlex's shape, where the dialect is spoken.
pub fn in_dialect(mut reply: Reply, reader: &Reader<'_>) -> Reply {
    let status = reply.status;
    let is_error = status.is_client_error() || status.is_server_error();
    if let Body::Message(message) = &reply.body
        && is_error
        && reader.settings.has_openalex
    {
        let (error, message) = match &message.details {
            Some(details) if status == StatusCode::BAD_REQUEST => {
                ("Invalid query parameters error.", in_sentences(details))
            }
            _ => (reason_phrase(status), message.in_lines()),
        };
        let body = json!({ "error": error, "message": message });
        reply.body = Body::Text { media_type: JSON, bytes: body.to_string().into() };
    }
    reply
}

fn in_sentences(details: &[Detail]) -> String {
    let lines: Vec<String> = details
        .iter()
        .map(|Detail { parameter, value, reason }| match value.is_empty() {
            true => format!("{parameter} {reason}"),
            false => format!("{parameter} `{value}` {reason}"),
        })
        .collect();
    format!("{}.", lines.join(". "))
}

pub fn absent(message: impl Into<String>) -> Reply {
    Reply::error(StatusCode::NOT_FOUND, message)
}

/// 404 to everything where the operator leaves the dialect out.
pub fn refuse_absent(call: &Call<'_>) -> Result<(), Reply> {
    match call.settings.has_openalex {
        true => Ok(()),
        false => Err(call.not_found()),
    }
}

/// The list with a name; of others, why there is none.
pub fn list_named(name: &str) -> Result<&'static List, Reply> {
    let decoded = decode(name).unwrap_or_default();
    List::named(&decoded).ok_or_else(|| {
        let small = SMALL_LISTS.iter().map(|list| list.name);
        let lists: Vec<&str> = LISTS.iter().map(List::name).chain(small).collect();
        absent(format!(
            "`{}` is no list of this snapshot; the lists are {}",
            echo(name),
            lists.join(", ")
        ))
    })
}
