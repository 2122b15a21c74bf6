//! Errors as pages: the status, the message of the interface, and advice.

use askama::Template;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};

use crate::browse::html::{self, Frame, OtherPages};
use crate::http::accept::prefers;
use crate::http::parameters::Detail;
use crate::http::reply::{BAD_QUERY_MESSAGE, RETRY_SECONDS, Reply, reason_phrase};

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
pub fn as_page(reply: Reply, others: OtherPages) -> Reply {
    let mut headers: Vec<(HeaderName, HeaderValue)> = Vec::new();
    let (status, message, details) = match reply {
        Reply::Closing(reply) => return as_page(*reply, others).closing(),
        Reply::BadQuery(details) => {
            (StatusCode::BAD_REQUEST, BAD_QUERY_MESSAGE.to_owned(), details)
        }
        Reply::BadId { message, details } => (StatusCode::BAD_REQUEST, message, details),
        Reply::TooMany { message, retry_seconds, .. } => {
            headers.push((header::RETRY_AFTER, HeaderValue::from(retry_seconds)));
            (StatusCode::TOO_MANY_REQUESTS, message, Vec::new())
        }
        Reply::Error { status, message, allow } => {
            if let Some(allow) = allow {
                headers.push((header::ALLOW, HeaderValue::from_static(allow)));
            }
            if status == StatusCode::SERVICE_UNAVAILABLE {
                headers.push((header::RETRY_AFTER, HeaderValue::from_static(RETRY_SECONDS)));
            }
            (status, message, Vec::new())
        }
        other => return other,
    };
    let reason = reason_phrase(status);
    let page = ErrorPage {
        frame: Frame { title: reason.to_owned(), searched: String::new(), entity: None, others },
        status: status.as_u16(),
        reason,
        message,
        details,
        advice: advice(status),
    };
    headers.extend(html::page_headers());
    html::with_status(status, &page, headers)
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
