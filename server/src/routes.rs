//! The route table: every path there is, and what answers it.

use http::{HeaderMap, Method, StatusCode};
use pinakes_format::entity::{CATALOG, Facts};

use crate::{
    handlers,
    library::Served,
    path::{URI_BYTES_MAX, decode, echo_path, segments},
    reply::Reply,
};

/// Methods of everything that is read.
const READ_METHODS: &str = "GET, HEAD, OPTIONS";

/// A request, as far as routing and handlers look at it.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The method.
    pub method: &'a Method,
    /// The path as it was sent.
    pub path: &'a str,
    /// What stands after the `?`, as it was sent.
    pub query: &'a str,
    /// The headers.
    pub headers: &'a HeaderMap,
}

/// What a path leads to.
#[derive(Clone, Copy, Debug)]
pub enum Route<'a> {
    /// What the service is.
    Index,
    /// Whether the process lives.
    Health,
    /// Whether it has something to answer from.
    Ready,
    /// A list.
    List(&'static Facts),
    /// A record by its identifier, as it was sent.
    Record(&'static Facts, &'a str),
}

/// The route of a path; `None` where it leads nowhere.
pub fn find(path: &str) -> Option<Route<'_>> {
    let segments = segments(path)?;
    let names: Vec<String> =
        segments.iter().map(|segment| decode(segment).unwrap_or_default()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let of_route = |route: &str| CATALOG.iter().find(|facts| facts.route == route);
    match names.as_slice() {
        [] => Some(Route::Index),
        ["health"] => Some(Route::Health),
        ["ready"] => Some(Route::Ready),
        [list] => of_route(list).map(Route::List),
        [list, _] => {
            let record = of_route(list).filter(|facts| facts.has_single);
            let record = record.map(|facts| Route::Record(facts, segments[1]));
            record.or_else(|| of_route(&names.join("/")).map(Route::List))
        }
        _ => None,
    }
}

/// Whether a request's answer may take a while, so that it must not hold up others.
pub fn may_block(request: &Request<'_>) -> bool {
    matches!(find(request.path), Some(Route::List(_)))
}

/// Answers a request from one snapshot.
///
/// # Errors
///
/// Where the snapshot proved damaged.
pub fn answer(
    request: &Request<'_>,
    served: &Served,
) -> Result<Reply, pinakes_format::render::RenderError> {
    let question_mark = usize::from(!request.query.is_empty());
    let uri_bytes = request.path.len() + question_mark + request.query.len();
    if uri_bytes > URI_BYTES_MAX {
        let message = format!("URI exceeds {URI_BYTES_MAX} bytes");
        return Ok(Reply::error(StatusCode::URI_TOO_LONG, message));
    }
    let Some(route) = find(request.path) else {
        let message = format!("Cannot {} {}", method_word(request.method), echo_path(request.path));
        return Ok(Reply::error(StatusCode::NOT_FOUND, message));
    };
    match *request.method {
        Method::GET | Method::HEAD => {}
        Method::OPTIONS => return Ok(Reply::Options { allow: READ_METHODS }),
        _ => {
            return Ok(Reply::Error {
                status: StatusCode::METHOD_NOT_ALLOWED,
                message: "Method Not Allowed".into(),
                allow: Some(READ_METHODS),
            });
        }
    }
    if served.is_poisoned() && !matches!(route, Route::Health) {
        return Ok(Reply::unavailable());
    }
    match route {
        Route::Index => Ok(handlers::index(&served.snapshot)),
        Route::Health => Ok(handlers::health()),
        Route::Ready => Ok(handlers::ready(&served.snapshot)),
        Route::List(facts) => handlers::list(facts, request, &served.snapshot),
        Route::Record(facts, id) => handlers::record(facts, id, request, &served.snapshot),
    }
}

/// The method as a message shows it: GET for HEAD, which asks for the same.
fn method_word(method: &Method) -> &str {
    if *method == Method::HEAD { "GET" } else { method.as_str() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_leads_where_the_interface_says() {
        let check = |path: &str, expected: &str| {
            let found = match find(path) {
                None => "nowhere".to_owned(),
                Some(Route::List(facts)) => format!("list {}", facts.plural),
                Some(Route::Record(facts, id)) => format!("{} {id}", facts.singular),
                Some(other) => format!("{other:?}"),
            };
            assert_eq!(found, expected, "{path}");
        };
        check("/", "Index");
        check("/health", "Health");
        for facts in &CATALOG {
            check(&format!("/{}", facts.route), &format!("list {}", facts.plural));
        }
        check("/authors/HX_A1", "author HX_A1");
        check("/authors/HX%5FA1/", "author HX%5FA1");
        check("/authors/HX_A1%2F..%2Fetc", "author HX_A1%2F..%2Fetc");
        for path in [
            "/nope",
            "/Authors/HX_A1",
            "/references",
            "/institution-types",
            "/references/institution-types/1",
            "/authors/HX_A1/extra",
            "/authors/../authors/HX_A1",
            "//authors//HX_A1",
            "/.env",
        ] {
            check(path, "nowhere");
        }
    }
}
