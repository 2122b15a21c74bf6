//! Errors as pages: the status, the message of the interface, and advice.

use std::mem;

use askama::Template;
use http::{HeaderMap, StatusCode};

use crate::endpoint::browse::html::{self, Frame, OtherPages};
use crate::endpoint::browse::labels::{label, plural, thousands};
use crate::endpoint::referring::ReferringList;
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
    /// Lists of the records that refer to what was not found: text and address.
    lists: Vec<(String, String)>,
    advice: &'static str,
}

/// The page instead of a reply that is an error; other replies as they are.
pub fn as_page(mut reply: Reply, others: OtherPages) -> Reply {
    let status = reply.status;
    let is_error = status.is_client_error() || status.is_server_error();
    if !is_error || !matches!(reply.body, Body::Message(_)) {
        return reply;
    }
    error_page(&mut reply, Vec::new(), others);
    reply
}

/// The page of an id without a record, which offers the lists of the records that refer to the id.
pub fn without_record(mut reply: Reply, lists: &[ReferringList], others: OtherPages) -> Reply {
    error_page(&mut reply, page_links(lists), others);
    reply
}

/// Text and address of the pages of lists.
pub fn page_links(lists: &[ReferringList]) -> Vec<(String, String)> {
    let link = |list: &ReferringList| {
        let (plural, key) = (plural(list.facts), label(list.key));
        let count = thousands(i64::try_from(list.count).unwrap_or(i64::MAX));
        (format!("{plural} by “{key}”: {count}"), list.path("/browse"))
    };
    lists.iter().map(link).collect()
}

/// Replaces the message of a reply by its page.
fn error_page(reply: &mut Reply, lists: Vec<(String, String)>, others: OtherPages) {
    let (status, Body::Message(message)) = (reply.status, &mut reply.body) else { return };
    let message = mem::take(message);
    let reason = reason_phrase(status);
    let page = ErrorPage {
        frame: Frame { title: reason.to_owned(), searched: String::new(), entity: None, others },
        status: status.as_u16(),
        reason,
        message: message.text,
        details: message.details.unwrap_or_default(),
        lists,
        advice: advice(status),
    };
    reply.body = html::with_status(status, &page, Vec::new()).body;
    reply.headers.extend(html::page_headers());
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
