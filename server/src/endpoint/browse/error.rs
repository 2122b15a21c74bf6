//! Errors as pages: the status, the message of the interface, and advice.

use std::mem;

use askama::Template;
use http::{HeaderMap, StatusCode};

use crate::endpoint::browse::html::{self, Frame, OtherPages};
use crate::http::accept::prefers;
use crate::reply::detail::Detail;
use crate::reply::{Body, Reply, reason_phrase};

#[derive(Template)]
#[template(path = "browse/error.html")]
struct ErrorPage {
    frame: Frame,
    status: u16,
    reason: &'static str,
    message: String,
    details: Vec<Detail>,
    advice: &'static str,
}

/// The page instead of a reply that is an error; other replies as they are.
pub fn as_page(mut reply: Reply, others: OtherPages) -> Reply {
    let status = reply.status;
    let is_error = status.is_client_error() || status.is_server_error();
    let Body::Message(message) = &mut reply.body else { return reply };
    if !is_error {
        return reply;
    }
    let message = mem::take(message);
    let reason = reason_phrase(status);
    let page = ErrorPage {
        frame: Frame { title: reason.to_owned(), searched: String::new(), entity: None, others },
        status: status.as_u16(),
        reason,
        message: message.text,
        details: message.details.unwrap_or_default(),
        advice: advice(status),
    };
    reply.body = html::with_status(status, &page, Vec::new()).body;
    reply.with_headers(html::page_headers())
}

/// The advice to a person who gets this status.
fn advice(status: StatusCode) -> &'static str {
    match status {
        StatusCode::BAD_REQUEST => "Correct the address, or begin again with the list.",
        StatusCode::NOT_FOUND => "Search for the name, or choose a list above.",
        StatusCode::TOO_MANY_REQUESTS => {
            "These are the limits of the service. On a server of your own, the option --no-limits turns \
             them off."
        }
        StatusCode::SERVICE_UNAVAILABLE => {
            "Try again in half a minute. A narrower filter takes less time."
        }
        _ => "Begin again with the first page.",
    }
}

/// Whether a request is for a page for people, or for a path below theirs.
pub fn is_below(path: &str) -> bool {
    path.strip_prefix("/browse").is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether `/` leads to the pages: the client names HTML, as browsers do, and prefers it to JSON.
pub fn is_for_people(headers: &HeaderMap) -> bool {
    prefers(headers, "text/html")
}
