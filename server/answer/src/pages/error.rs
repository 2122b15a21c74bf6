//! Errors as pages: the status, the message of the interface, and advice.

use std::mem;

use askama::Template;
use http::{HeaderMap, Method, StatusCode};

use crate::define::{OtherPages, Reader};
use crate::pages::html;
use crate::pages::html::{Frame, with_code};
use crate::pages::labels::{label, plural, thousands};
use crate::referring::ReferringList;
use crate::reply::{Body, Detail, Reply, reason_phrase};
use crate::request::accept::prefers;

#[derive(Template)]
#[template(path = "browse/error.html")]
struct ErrorPage {
    frame: Frame,
    status: u16,
    reason: &'static str,
    /// HTML of the message.
    message: String,
    details: Vec<ErrorDetail>,
    /// Lists of the records that refer to what was not found: text and address.
    lists: Vec<(String, String)>,
    /// The name that these records give it.
    name: Option<String>,
    advice: &'static str,
}

/// A parameter, and why it is refused.
struct ErrorDetail {
    parameter: String,
    value: String,
    /// HTML of the reason.
    reason: String,
}

/// The page instead of a reply that is an error; other replies as they are.
///
/// Other methods than those of browsers get the error of the interface.
pub fn as_page(mut reply: Reply, reader: &Reader<'_>) -> Reply {
    let status = reply.status;
    let is_error = status.is_client_error() || status.is_server_error();
    let is_read = matches!(*reader.method, Method::GET | Method::HEAD);
    if reader.settings.has_browse && is_read && is_error && matches!(reply.body, Body::Message(_)) {
        error_page(&mut reply, Ways::default(), reader.settings.other_pages());
    }
    reply
}

/// The page of an id without a record, which offers the lists of the records that refer to the id.
pub fn without_record(
    mut reply: Reply,
    lists: &[ReferringList],
    name: Option<String>,
    others: OtherPages,
) -> Reply {
    error_page(&mut reply, Ways { lists: page_links(lists), name, ..Ways::default() }, others);
    reply
}

/// The page for wrong parameters of a search, with the text in the search box.
pub fn refused_search(details: Vec<Detail>, searched: String, others: OtherPages) -> Reply {
    let mut reply = Reply::bad_query(details);
    error_page(&mut reply, Ways { searched, ..Ways::default() }, others);
    reply
}

/// Text and address of the pages of lists.
pub fn page_links(lists: &[ReferringList]) -> Vec<(String, String)> {
    let link = |list: &ReferringList| {
        let (plural, key) = (plural(list.facts), label(list.key));
        let count = thousands(list.count);
        let text = match &list.name {
            Some(name) if list.count == 1 => format!("{name}: 1 {}", list.facts.singular),
            Some(name) => format!("{name}: {count} {}", plural.to_lowercase()),
            None => format!("{plural} by “{key}”: {count}"),
        };
        (text, list.path("/browse"))
    };
    lists.iter().map(link).collect()
}

/// Where an error page leads to.
#[derive(Default)]
struct Ways {
    lists: Vec<(String, String)>,
    name: Option<String>,
    /// A wrong text of the search box.
    searched: String,
}

/// Replaces the message of a reply by its page.
fn error_page(reply: &mut Reply, ways: Ways, others: OtherPages) {
    let (status, Body::Message(message)) = (reply.status, &mut reply.body) else { return };
    let message = mem::take(message);
    let reason = reason_phrase(status);
    let details = message.details.unwrap_or_default().into_iter().map(|detail| ErrorDetail {
        reason: with_code(&detail.reason),
        parameter: detail.parameter,
        value: detail.value,
    });
    let page = ErrorPage {
        frame: Frame {
            is_search_wrong: !ways.searched.is_empty(),
            searched: ways.searched,
            ..Frame::new(reason, others)
        },
        status: status.as_u16(),
        reason,
        message: with_code(&message.text),
        details: details.collect(),
        lists: ways.lists,
        name: ways.name,
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
            "This service gives each reader so many pages a minute and a day. What you have open stays, and the next page comes \
             when the time above is over."
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
