//! The route of each path, and the limits that a request for the route counts towards.

use std::borrow::Cow;

use http::Method;
use pinakes_format::entity::{CATALOG, Facts};
use pinakes_format::query::StatisticsKeys;
use pinakes_format::record::legacy::{LEGACY, LegacyEntity};
use pinakes_format::schema::keys::{Direction, keys_of};

use crate::admission::gate::Charge;
use crate::admission::limits::QuotaClass;
use crate::api::resolve;
use crate::http::head::READ_METHODS;
use crate::http::path::{SEGMENTS_MAX, Segment, decode, segments};

/// Methods of `/graphql`.
const POST_METHODS: &str = "POST, OPTIONS";

/// The target of a path.
#[derive(Clone, Copy, Debug)]
pub enum Route {
    /// `/`
    Index,
    /// `/health`
    Health,
    /// `/ready`
    Ready,
    /// `/rate-limit`
    RateLimit,
    /// Autocomplete of all entities, or of the entity in the last segment.
    Autocomplete(Option<Segment>),
    /// `/openapi.json`
    Openapi,
    /// The documentation page, or the file of the page in the last segment.
    Docs(Option<Segment>),
    /// A route of GraphQL.
    Graphql(GraphqlRoute),
    /// `GET /outputs` and the lists of the other entities.
    List(&'static Facts),
    /// `GET /resolve/{identifier}`; the identifier is the rest of the path.
    Resolve(Segment),
    /// A record, by the identifier in the last segment.
    Record(&'static Facts, Segment),
    /// `GET /outputs/{id}/references` and `GET /outputs/{id}/citations`, by the identifier in the segment
    /// before the last.
    Linked(&'static Facts, Segment, Direction),
    /// `/changes`
    Changes,
    /// `GET /statistics/outputs` and the statistics of the other entities with numbers.
    Statistics(&'static Facts),
    /// `GET /legacy/topics` or `GET /legacy/domains`.
    LegacyList(&'static LegacyEntity),
    /// A legacy record, by the identifier in the last segment.
    LegacyRecord(&'static LegacyEntity, Segment),
    /// A page for people.
    Browse(BrowseRoute),
    /// `/robots.txt`
    Robots,
}

impl Route {
    fn charge(self) -> Charge {
        match self {
            Route::RateLimit => Charge::None,
            Route::Index | Route::Health | Route::Ready => Charge::Free,
            Route::Openapi | Route::Docs(_) | Route::Robots => Charge::Free,
            Route::Browse(route) => route.charge(),
            Route::Graphql(GraphqlRoute::Questions) => Charge::Minute,
            Route::Graphql(GraphqlRoute::Schema | GraphqlRoute::Page(_)) => Charge::Free,
            Route::Autocomplete(_) => Charge::Daily(QuotaClass::Search),
            Route::List(_) | Route::LegacyList(_) | Route::Linked(..) => {
                Charge::Daily(QuotaClass::List)
            }
            Route::Statistics(_) | Route::Changes => Charge::Daily(QuotaClass::List),
            Route::Record(..) | Route::LegacyRecord(..) | Route::Resolve(_) => Charge::Minute,
        }
    }

    /// The methods that the route takes, as `Allow` lists them.
    pub fn methods(self) -> &'static str {
        match self {
            Route::Graphql(GraphqlRoute::Questions) => POST_METHODS,
            _ => READ_METHODS,
        }
    }
}

/// Finds the route of a path; `None` for an unknown path.
///
/// The service calls this once for each request, and once more for a POST, to learn whether the route takes
/// a body. Cost: allocates only to decode a percent escape.
pub fn find(path: &str) -> Option<Route> {
    if let Some(identifier) = resolved_identifier(path) {
        return Some(Route::Resolve(identifier));
    }
    find_in_segments(path).or_else(|| find_foreign_id(path))
}

fn find_in_segments(path: &str) -> Option<Route> {
    let segments = segments(path)?;
    let mut names: [Cow<'_, str>; SEGMENTS_MAX] = Default::default();
    for (name, segment) in names.iter_mut().zip(segments.iter()) {
        *name = decode(segment).unwrap_or_default();
    }
    let names = names.each_ref().map(|name| &**name);
    let names = &names[..segments.len()];
    let last = || Segment::last_in(path);
    let legacy_list = |names: &[&str]| {
        LEGACY.iter().find(|legacy| legacy.route.split('/').eq(names.iter().copied()))
    };
    match names {
        [] => Some(Route::Index),
        ["health"] => Some(Route::Health),
        ["ready"] => Some(Route::Ready),
        ["rate-limit"] => Some(Route::RateLimit),
        ["autocomplete"] => Some(Route::Autocomplete(None)),
        ["autocomplete", _] => Some(Route::Autocomplete(Some(last()))),
        ["changes"] => Some(Route::Changes),
        ["openapi.json"] => Some(Route::Openapi),
        ["docs"] => Some(Route::Docs(None)),
        ["docs", _] => Some(Route::Docs(Some(last()))),
        ["graphql"] => Some(Route::Graphql(GraphqlRoute::Questions)),
        ["graphql", "schema"] => Some(Route::Graphql(GraphqlRoute::Schema)),
        ["graphiql"] => Some(Route::Graphql(GraphqlRoute::Page(None))),
        ["graphiql", _] => Some(Route::Graphql(GraphqlRoute::Page(Some(last())))),
        ["statistics", list @ ..] => {
            current_list(list).filter(has_statistics).map(Route::Statistics)
        }
        ["robots.txt"] => Some(Route::Robots),
        ["browse", below @ ..] => browse_route(below, path).map(Route::Browse),
        names => {
            if let Some(facts) = current_list(names) {
                return Some(Route::List(facts));
            }
            if let Some(legacy) = legacy_list(names) {
                return Some(Route::LegacyList(legacy));
            }
            let (last_name, list) = names.split_last()?;
            if let [list @ .., _] = list
                && let Some(facts) = current_list(list)
                && let Some(direction) = directions(facts).find(|at| at.name() == *last_name)
            {
                return Some(Route::Linked(facts, Segment::before_last_in(path), direction));
            }
            if let Some(legacy) = legacy_list(list) {
                return Some(Route::LegacyRecord(legacy, last()));
            }
            let facts = current_list(list).filter(|facts| facts.has_single)?;
            Some(Route::Record(facts, last()))
        }
    }
}

/// The entity whose list has these decoded segments. An escaped slash does not separate segments.
fn current_list(names: &[&str]) -> Option<&'static Facts> {
    CATALOG.iter().find(|facts| facts.route.split('/').eq(names.iter().copied()))
}

/// The route of the decoded segments after `/browse`.
fn browse_route(below: &[&str], path: &str) -> Option<BrowseRoute> {
    Some(match below {
        [] => BrowseRoute::Home,
        ["search"] => BrowseRoute::Search,
        ["taxonomy"] => BrowseRoute::Taxonomy,
        [file] if file.contains('.') => BrowseRoute::File(Segment::last_in(path)),
        names => match current_list(names) {
            Some(facts) => BrowseRoute::List(facts),
            None => {
                let (_, list) = names.split_last()?;
                let facts = current_list(list).filter(|facts| facts.has_single)?;
                BrowseRoute::Record(facts, Segment::last_in(path))
            }
        },
    })
}

/// Whether records of an entity have numbers to sum up.
pub fn has_statistics(facts: &&'static Facts) -> bool {
    StatisticsKeys::names(keys_of(facts.entity)).next().is_some()
}

/// The directions in which records of an entity lead to others of it.
pub fn directions(facts: &Facts) -> impl Iterator<Item = Direction> {
    let has_citations = keys_of(facts.entity).has_citations();
    Direction::ALL.into_iter().filter(move |_| has_citations)
}

/// The identifier after `/resolve/`, which may contain slashes.
fn resolved_identifier(path: &str) -> Option<Segment> {
    let (first, _) = path.strip_prefix('/')?.split_once('/')?;
    let is_resolve = decode(first).is_some_and(|first| first == "resolve");
    let identifier = Segment::rest_of(path, first.len() + 2);
    (is_resolve && !identifier.text_in(path).is_empty()).then_some(identifier)
}

/// The route of an identifier of another system in place of an id, such as `/outputs/https://doi.org/…`.
/// The reply names `/resolve/`.
fn find_foreign_id(path: &str) -> Option<Route> {
    CATALOG.iter().filter(|facts| facts.has_single).find_map(|facts| {
        let rest = path.strip_prefix('/')?.strip_prefix(facts.route)?.strip_prefix('/')?;
        let id = Segment::rest_of(path, path.len() - rest.len());
        resolve::is_foreign(id.text_in(path)).then_some(Route::Record(facts, id))
    })
}

/// The limits that a request counts towards, whatever its outcome; `None` is an unknown path. A daily limit
/// counts the methods that the route takes.
pub fn charge(method: &Method, route: Option<Route>) -> Charge {
    let is_read = matches!(*method, Method::GET | Method::HEAD);
    match route.map_or(Charge::Minute, Route::charge) {
        _ if *method == Method::OPTIONS => Charge::None,
        Charge::Daily(_) if !is_read => Charge::Minute,
        charge => charge,
    }
}

/// A route of GraphQL.
#[derive(Clone, Copy, Debug)]
pub enum GraphqlRoute {
    /// `POST /graphql`
    Questions,
    /// `/graphql/schema`
    Schema,
    /// The GraphiQL page, or the file of the page in the last segment.
    Page(Option<Segment>),
}

/// A page for people.
#[derive(Clone, Copy, Debug)]
pub enum BrowseRoute {
    /// `/browse`
    Home,
    /// `/browse/search`
    Search,
    /// `/browse/taxonomy`
    Taxonomy,
    /// A style sheet, script or picture, by its name in the last segment.
    File(Segment),
    /// `/browse/outputs` and the lists of the other entities.
    List(&'static Facts),
    /// The page of a record, by the identifier in the last segment.
    Record(&'static Facts, Segment),
}

impl BrowseRoute {
    /// A page counts as what it shows: a search, a list, or no records at all. The page of a record
    /// shows the beginnings of lists.
    fn charge(self) -> Charge {
        match self {
            BrowseRoute::Home | BrowseRoute::File(_) => Charge::Free,
            BrowseRoute::Search => Charge::Daily(QuotaClass::Search),
            BrowseRoute::Taxonomy | BrowseRoute::List(_) | BrowseRoute::Record(..) => {
                Charge::Daily(QuotaClass::List)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_documented_path_has_its_route_and_others_have_none() {
        let check = |path: &str, expected: &str| {
            let found = match find(path) {
                None => "nowhere".to_owned(),
                Some(Route::List(facts)) => format!("list {}", facts.plural),
                Some(Route::Record(facts, id)) => {
                    format!("{} {}", facts.singular, id.text_in(path))
                }
                Some(Route::Linked(facts, id, direction)) => {
                    format!("{} of {} {}", direction.name(), facts.singular, id.text_in(path))
                }
                Some(Route::Resolve(identifier)) => {
                    format!("Resolve {}", identifier.text_in(path))
                }
                Some(Route::Statistics(facts)) => format!("statistics of {}", facts.plural),
                Some(Route::LegacyList(legacy)) => format!("legacy list {}", legacy.entity),
                Some(Route::LegacyRecord(legacy, id)) => {
                    format!("legacy {} {}", legacy.entity, id.text_in(path))
                }
                Some(Route::Docs(Some(part))) => format!("Docs {}", part.text_in(path)),
                Some(Route::Browse(BrowseRoute::File(file))) => {
                    format!("Browse file {}", file.text_in(path))
                }
                Some(Route::Browse(BrowseRoute::List(facts))) => format!("browse {}", facts.plural),
                Some(Route::Browse(BrowseRoute::Record(facts, id))) => {
                    format!("browse {} {}", facts.singular, id.text_in(path))
                }
                Some(Route::Graphql(GraphqlRoute::Page(Some(part)))) => {
                    format!("Graphql page {}", part.text_in(path))
                }
                Some(other) => format!("{other:?}"),
            };
            assert_eq!(found, expected, "{path}");
        };
        check("/", "Index");
        check("/health", "Health");
        check("/changes/", "Changes");
        check("/openapi.json", "Openapi");
        check("/docs/", "Docs(None)");
        check("/docs/page.js", "Docs page.js");
        check("/graphql/", "Graphql(Questions)");
        check("/graphql/schema", "Graphql(Schema)");
        check("/graphiql", "Graphql(Page(None))");
        check("/graphiql/page.js", "Graphql page page.js");
        for facts in &CATALOG {
            check(&format!("/{}", facts.route), &format!("list {}", facts.plural));
        }
        check("/authors/HX_A1", "author HX_A1");
        check("/authors/HX%5FA1/", "author HX%5FA1");
        check("/authors/HX_A1%2F..%2Fetc", "author HX_A1%2F..%2Fetc");
        check("/outputs/HX_W1/references", "references of output HX_W1");
        check("/outputs/HX%5FW1/cit%61tions/", "citations of output HX%5FW1");
        check("/statistics/outputs", "statistics of outputs");
        check("/statistics/fields/", "statistics of fields");
        check("/resolve/10.1000/x", "Resolve 10.1000/x");
        check("/%72esolve/https://doi.org/10.1000/x/", "Resolve https://doi.org/10.1000/x");
        check("/outputs/https://doi.org/10.1000/x", "output https://doi.org/10.1000/x");
        check("/outputs/10.1000/x", "output 10.1000/x");
        check("/robots.txt", "Robots");
        check("/browse", "Browse(Home)");
        check("/%62rowse/", "Browse(Home)");
        check("/browse/search", "Browse(Search)");
        check("/browse/taxonomy/", "Browse(Taxonomy)");
        check("/browse/style.css", "Browse file style.css");
        check("/browse/outputs", "browse outputs");
        check("/browse/references/institution-types", "browse institution-types");
        check("/browse/outputs/HX%5FW1/", "browse output HX%5FW1");
        check("/browse/domains/3", "browse domain 3");
        check("/legacy/topics", "legacy list topics");
        check("/%6cegacy/domains/", "legacy list domains");
        check("/legacy/topics/OA%3AT1", "legacy topics OA%3AT1");
        check("/legacy/domains/x/", "legacy domains x");
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
            check(path, "nowhere");
        }
    }
}
