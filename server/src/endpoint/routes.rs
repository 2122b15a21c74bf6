//! The routes: one for each path of the table, and for each list that the path stands for.

use std::{borrow::Cow, collections::HashMap, sync::LazyLock};

use http::Method;
use pinakes_format::entity::{CATALOG, Facts};
use pinakes_format::record::legacy::{LEGACY, LegacyEntity};

use crate::admission::gate::Charge;
use crate::endpoint::{ENDPOINTS, Endpoint, Lists, record, resolve};
use crate::http::path::{SEGMENTS_MAX, Segment, decode, segments};

/// The part of a path that stands for a list.
const LIST: &str = "{list}";

/// A path of the interface.
pub struct Route {
    /// The row of the table.
    pub endpoint: &'static Endpoint,
    /// The list that the path is of.
    pub subject: Subject,
    /// The path, with the names of segments that clients choose in braces.
    pub path: String,
    segments: Vec<SegmentPattern>,
    number: usize,
}

/// The list that a path is of.
#[derive(Clone, Copy, Debug)]
pub enum Subject {
    None,
    Entity(&'static Facts),
    Legacy(&'static LegacyEntity),
}

/// The segments of a request that fit one segment of a route.
#[derive(Debug)]
enum SegmentPattern {
    Text(String),
    Any,
    /// A segment with a dot.
    File,
    /// The rest of the path, with its slashes.
    Rest,
}

/// A request's route.
#[derive(Clone, Copy)]
pub struct Matched {
    /// The row of the table, for the list that the path names.
    pub route: &'static Route,
    /// The segment that the client chose, such as an identifier; empty if the route has none.
    pub segment: Segment,
}

/// All routes, by number, and the routes that begin with a segment.
struct Routes {
    all: Vec<Route>,
    by_first: HashMap<String, Vec<usize>>,
}

static ROUTES: LazyLock<Routes> = LazyLock::new(|| {
    let mut all = Vec::new();
    let mut rows = ENDPOINTS.iter().peekable();
    while let Some(endpoint) = rows.next() {
        // Rows whose paths begin alike with a list stand together for each list, as in the document.
        let beginning = endpoint.path.split_inclusive(LIST).next().unwrap_or_default();
        let is_alike =
            |next: &&Endpoint| endpoint.path.contains(LIST) && next.path.starts_with(beginning);
        let mut alike = vec![endpoint];
        while let Some(next) = rows.next_if(is_alike) {
            alike.push(next);
        }
        for subject in subjects(endpoint.lists) {
            for endpoint in alike.iter().filter(|of| subject.is_of(of.lists)) {
                all.push(Route::new(endpoint, subject, all.len()));
            }
        }
    }
    let mut by_first: HashMap<String, Vec<usize>> = HashMap::new();
    for route in &all {
        let first = match route.segments.first() {
            Some(SegmentPattern::Text(first)) => first.clone(),
            _ => String::new(),
        };
        by_first.entry(first).or_default().push(route.number);
    }
    Routes { all, by_first }
});

/// Every list that a path may stand for.
fn subjects(lists: Lists) -> Vec<Subject> {
    match lists {
        Lists::None => vec![Subject::None],
        Lists::Of(_) => CATALOG.iter().map(Subject::Entity).collect(),
        Lists::Legacy => LEGACY.iter().map(Subject::Legacy).collect(),
    }
}

impl Subject {
    fn is_of(self, lists: Lists) -> bool {
        match (self, lists) {
            (Subject::None, Lists::None) | (Subject::Legacy(_), Lists::Legacy) => true,
            (Subject::Entity(facts), Lists::Of(has)) => has(facts),
            _ => false,
        }
    }

    /// The path of the list, without the first slash.
    fn list(self) -> &'static str {
        match self {
            Subject::None => "",
            Subject::Entity(facts) => facts.route,
            Subject::Legacy(legacy) => legacy.route,
        }
    }
}

impl Route {
    fn new(endpoint: &'static Endpoint, subject: Subject, number: usize) -> Route {
        let path = endpoint.path.replace(LIST, subject.list());
        let inner = path.split('/').filter(|segment| !segment.is_empty());
        let segments = inner
            .map(|segment| match segment {
                "{file}" => SegmentPattern::File,
                "{identifier}" => SegmentPattern::Rest,
                name if name.starts_with('{') => SegmentPattern::Any,
                text => SegmentPattern::Text(text.to_owned()),
            })
            .collect();
        Route { endpoint, subject, path, segments, number }
    }

    /// All routes, by number.
    pub fn all() -> &'static [Route] {
        &ROUTES.all
    }

    /// The index of the route among all.
    pub fn number(&self) -> usize {
        self.number
    }

    /// The entity whose list the path names.
    ///
    /// # Panics
    ///
    /// If the path names no list.
    pub fn facts(&self) -> &'static Facts {
        match self.subject {
            Subject::Entity(facts) => facts,
            Subject::Legacy(legacy) => legacy.entity.facts(),
            Subject::None => panic!("`{}` names no list", self.path),
        }
    }

    /// The legacy list that the path names.
    ///
    /// # Panics
    ///
    /// If the path names no legacy list.
    pub fn legacy(&self) -> &'static LegacyEntity {
        match self.subject {
            Subject::Legacy(legacy) => legacy,
            Subject::None | Subject::Entity(_) => panic!("`{}` names no legacy list", self.path),
        }
    }

    /// The label in metrics.
    pub fn label(&self) -> &str {
        self.endpoint.label.unwrap_or(&self.path)
    }

    /// Matches the decoded segments of a path.
    fn matches(&'static self, names: &[&str], path: &str) -> Option<Matched> {
        if names.len() != self.segments.len() {
            return None;
        }
        let mut segment = Segment::default();
        for (at, (name, pattern)) in names.iter().zip(&self.segments).enumerate() {
            match pattern {
                SegmentPattern::Text(text) if text == name => continue,
                SegmentPattern::File if !name.contains('.') => return None,
                // Only paths that are split first fit the rest of a path.
                SegmentPattern::Text(_) | SegmentPattern::Rest => return None,
                SegmentPattern::Any | SegmentPattern::File => segment = Segment::nth_in(path, at),
            }
        }
        Some(Matched { route: self, segment })
    }
}

/// Finds the route of a path; `None` for an unknown path.
///
/// The service calls this once for each request, and once more for a POST, to learn whether the route takes
/// a body. Cost: allocates only to decode a percent escape.
pub fn find(path: &str) -> Option<Matched> {
    find_by_segments(path).or_else(|| find_by_beginning(path)).or_else(|| find_foreign_id(path))
}

/// Finds the route whose one segment is followed by an identifier, which may contain slashes.
fn find_by_beginning(path: &str) -> Option<Matched> {
    let (first, _) = path.strip_prefix('/')?.split_once('/')?;
    let segment = Segment::rest_of(path, first.len() + 2);
    let numbers = ROUTES.by_first.get(&*decode(first)?)?;
    let mut routes = numbers.iter().map(|number| &ROUTES.all[*number]);
    let route = routes.find(|route| matches!(route.segments[..], [_, SegmentPattern::Rest]))?;
    (!segment.text_in(path).is_empty()).then_some(Matched { route, segment })
}

fn find_by_segments(path: &str) -> Option<Matched> {
    let segments = segments(path)?;
    let mut names: [Cow<'_, str>; SEGMENTS_MAX] = Default::default();
    for (name, segment) in names.iter_mut().zip(segments.iter()) {
        *name = decode(segment).unwrap_or_default();
    }
    let names = names.each_ref().map(|name| &**name);
    let names = &names[..segments.len()];
    let numbers = ROUTES.by_first.get(names.first().copied().unwrap_or_default())?;
    numbers.iter().find_map(|number| ROUTES.all[*number].matches(names, path))
}

/// The route of an identifier of another system in place of an id, such as `/outputs/https://doi.org/…`.
/// The reply names `/resolve/`.
fn find_foreign_id(path: &str) -> Option<Matched> {
    let is_record = |route: &&Route| {
        matches!(route.subject, Subject::Entity(_)) && route.endpoint.path == record::RECORD.path
    };
    ROUTES.all.iter().filter(is_record).find_map(|route| {
        let rest = path.strip_prefix('/')?.strip_prefix(route.subject.list())?.strip_prefix('/')?;
        let segment = Segment::rest_of(path, path.len() - rest.len());
        resolve::is_foreign(segment.text_in(path)).then_some(Matched { route, segment })
    })
}

/// The limits that a request counts towards, whatever its outcome; `None` is an unknown path. A daily limit
/// counts the methods that the route takes.
pub fn charge(method: &Method, matched: Option<Matched>) -> Charge {
    let Some(matched) = matched else {
        return if *method == Method::OPTIONS { Charge::None } else { Charge::Minute };
    };
    let endpoint = matched.route.endpoint;
    match endpoint.charge {
        _ if *method == Method::OPTIONS => Charge::None,
        Charge::Daily(_) | Charge::Completion if !endpoint.takes(method) => Charge::Minute,
        charge => charge,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_has_its_route_and_others_have_none() {
        let check = |path: &str, expected: &str, segment: &str| {
            let found = find(path);
            let route = found.map_or("nowhere", |found| &found.route.path);
            assert_eq!(route, expected, "{path}");
            let found = found.map_or("", |found| found.segment.text_in(path));
            assert_eq!(found, segment, "{path}");
        };
        check("/", "/", "");
        check("/health", "/health", "");
        check("/changes/", "/changes", "");
        check("/openapi.json", "/openapi.json", "");
        check("/docs/", "/docs", "");
        check("/docs/page.js", "/docs/{part}", "page.js");
        check("/graphql/", "/graphql", "");
        check("/graphql/schema", "/graphql/schema", "");
        check("/graphiql", "/graphiql", "");
        check("/graphiql/page.js", "/graphiql/{part}", "page.js");
        check("/autocomplete", "/autocomplete", "");
        check("/autocomplete/x", "/autocomplete/{entity_type}", "x");
        for facts in &CATALOG {
            let path = format!("/{}", facts.route);
            check(&path, &path, "");
            check(&format!("/browse{path}/"), &format!("/browse{path}"), "");
        }
        check("/authors/HX_A1", "/authors/{id}", "HX_A1");
        check("/authors/HX%5FA1/", "/authors/{id}", "HX%5FA1");
        check("/authors/HX_A1%2F..%2Fetc", "/authors/{id}", "HX_A1%2F..%2Fetc");
        check("/outputs/HX_W1/references", "/outputs/{id}/references", "HX_W1");
        check("/outputs/HX%5FW1/cit%61tions/", "/outputs/{id}/citations", "HX%5FW1");
        check("/statistics/outputs", "/statistics/outputs", "");
        check("/statistics/fields/", "/statistics/fields", "");
        check("/resolve/10.1000/x", "/resolve/{identifier}", "10.1000/x");
        let doi = "https://doi.org/10.1000/x";
        check(&format!("/%72esolve/{doi}/"), "/resolve/{identifier}", doi);
        check(&format!("/outputs/{doi}"), "/outputs/{id}", doi);
        check("/outputs/10.1000/x", "/outputs/{id}", "10.1000/x");
        check("/robots.txt", "/robots.txt", "");
        check("/browse", "/browse", "");
        check("/%62rowse/", "/browse", "");
        check("/browse/search", "/browse/search", "");
        check("/browse/complete", "/browse/complete", "");
        check("/browse/taxonomy/", "/browse/taxonomy", "");
        check("/browse/style.css", "/browse/{file}", "style.css");
        check("/browse/outputs/HX%5FW1/", "/browse/outputs/{id}", "HX%5FW1");
        check("/browse/domains/3", "/browse/domains/{id}", "3");
        check("/legacy/topics", "/legacy/topics", "");
        check("/%6cegacy/domains/", "/legacy/domains", "");
        check("/legacy/topics/OA%3AT1", "/legacy/topics/{id}", "OA%3AT1");
        check("/legacy/domains/x/", "/legacy/domains/{id}", "x");
        check("/openalex/", "/openalex", "");
        check("/openalex/works", "/openalex/{name}", "works");
        check("/openalex/autocomplete/works", "/openalex/autocomplete/{name}", "works");
        check("/openalex/works/W1", "/openalex/{identifier}", "works/W1");
        check(&format!("/openalex/works/{doi}"), "/openalex/{identifier}", &format!("works/{doi}"));
        for path in [
            "/nope",
            "/resolve",
            "/resolve/",
            "/resolve//",
            "/outputs/https://example.org/1",
            "/legacy",
            "/legacy/fields",
            "/legacy/outputs/OA:W1",
            "/legacy/topics/OA:T1/x",
            "/legacy/x",
            "/legacy%2Ftopics",
            "/Legacy/topics",
            "/Authors/HX_A1",
            "/references",
            "/references%2Finstitution-types",
            "/authors%2FHX_A1",
            "/institution-types",
            "/references/institution-types/1",
            "/authors/HX_A1/extra",
            "/authors/HX_A1/references",
            "/outputs/HX_W1/authors",
            "/statistics",
            "/statistics/references/institution-types",
            "/statistics/outputs/HX_W1",
            "/outputs/HX_W1/references/HX_W2",
            "/authors/../authors/HX_A1",
            "//authors//HX_A1",
            "/.env",
            "/browse/nothing",
            "/browse/outputs/HX_W1/references",
            "/browse/references/institution-types/1",
        ] {
            check(path, "nowhere", "");
        }
    }

    #[test]
    fn each_route_has_a_number_and_paths_of_pages_share_a_label() {
        for (number, route) in Route::all().iter().enumerate() {
            assert_eq!(route.number(), number);
            let list = ["{list}", "{file}"].iter().any(|name| route.label().contains(name));
            assert_eq!(list, route.label() != route.path || route.path == "/browse/{file}");
        }
        let label = |path| find(path).map_or("none", |found| found.route.label());
        assert_eq!(label("/browse/outputs/HX_W1"), "/browse/{list}/{id}");
        assert_eq!(label("/browse/authors"), "/browse/{list}");
    }
}
