//! Where requests for the dialect enter.

use http::Uri;
use http::request::Parts;
use http::uri::PathAndQuery;

use crate::dialects::openalex::names::ROOT;
use crate::dialects::openalex::query::Cursor;
use crate::request::named_snapshot::NamedSnapshot;
use crate::request::parameters::{query_pairs, without_ignored};

/// The head of a request as the service answers it; `None` if that is the head as sent.
///
/// A request to an address that speaks the dialect alone gets its root, and one with a cursor gets the
/// snapshot that the cursor names. Keys that clients have for OpenAlex are dropped.
///
/// ```text
/// /works?cursor=0123456789abcdef-25    /@0123456789abcdef/openalex/works?cursor=0123456789abcdef-25
/// ```
pub fn entered(head: &Parts, is_dialect_alone: bool) -> Option<Parts> {
    let (named, path) = NamedSnapshot::split(head.uri.path());
    let is_below =
        path.strip_prefix(ROOT).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    let root = match is_below {
        true => "",
        false if is_dialect_alone => ROOT,
        false => return None,
    };
    let sent = head.uri.query().unwrap_or_default();
    let kept = without_ignored(sent);
    let prefix = match named {
        Some(_) => head.uri.path().strip_suffix(path).unwrap_or_default().to_owned(),
        None => snapshot_of_cursor(sent).map_or(String::new(), |id| format!("/@{id}")),
    };
    let is_as_sent = root.is_empty() && (named.is_some() || prefix.is_empty()) && kept.is_none();
    if is_as_sent {
        return None;
    }
    let path = if path == "/" && !root.is_empty() { "" } else { path };
    let query = kept.as_deref().unwrap_or(sent);
    let mark = if query.is_empty() { "" } else { "?" };
    let sent: PathAndQuery = format!("{prefix}{root}{path}{mark}{query}").parse().ok()?;
    let mut entered = head.clone();
    let mut uri = std::mem::take(&mut entered.uri).into_parts();
    uri.path_and_query = Some(sent);
    entered.uri = Uri::from_parts(uri).ok()?;
    Some(entered)
}

/// The snapshot that the cursor of a query names.
fn snapshot_of_cursor(query: &str) -> Option<String> {
    if !query.contains("cursor") {
        return None;
    }
    let mut pairs = query_pairs(query).flatten();
    let (_, cursor) = pairs.find(|(name, _)| name == "cursor")?;
    Cursor::parse(&cursor).map(|cursor| cursor.snapshot)
}
