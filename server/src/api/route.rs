//! The route of each path, and what a request for the route counts as.

use std::borrow::Cow;

use http::Method;
use pinakes_format::entity::{CATALOG, Facts};
use pinakes_format::record::legacy::{LEGACY, LegacyEntity};

use crate::admission::gate::Charge;
use crate::admission::limits::Daily;
use crate::http::head::READ_METHODS;
use crate::http::path::{SEGMENTS_MAX, Segment, decode, segments};

/// Methods of where questions are posted.
const POST_METHODS: &str = "POST, OPTIONS";

/// What a path leads to.
#[derive(Clone, Copy, Debug)]
pub enum Route {
    /// What the service is.
    Index,
    /// Whether the process lives.
    Health,
    /// Whether it has something to answer from.
    Ready,
    /// How the caller stands with the limits.
    RateLimit,
    /// Candidates of all entities, or of the one whose name was sent.
    Autocomplete(Option<Segment>),
    /// The description of the interface.
    Openapi,
    /// The same as a page, or a part of that by its name.
    Docs(Option<Segment>),
    /// A place of GraphQL.
    Graphql(GraphqlRoute),
    /// A list.
    List(&'static Facts),
    /// A record by its identifier, as it was sent.
    Record(&'static Facts, Segment),
    /// A list of the older variant.
    LegacyList(&'static LegacyEntity),
    /// A record of the older variant, by its identifier as it was sent.
    LegacyRecord(&'static LegacyEntity, Segment),
}

impl Route {
    /// What a request for it counts as.
    fn charge(self) -> Charge {
        match self {
            Route::Index | Route::Health | Route::Ready | Route::RateLimit => Charge::Free,
            Route::Openapi | Route::Docs(_) => Charge::Free,
            Route::Graphql(GraphqlRoute::Questions) => Charge::Minute,
            Route::Graphql(GraphqlRoute::Schema | GraphqlRoute::Page(_)) => Charge::Free,
            Route::Autocomplete(_) => Charge::Daily(Daily::Search),
            Route::List(_) | Route::LegacyList(_) => Charge::Daily(Daily::List),
            Route::Record(..) | Route::LegacyRecord(..) => Charge::Minute,
        }
    }

    /// The methods it takes.
    pub fn methods(self) -> &'static str {
        match self {
            Route::Graphql(GraphqlRoute::Questions) => POST_METHODS,
            _ => READ_METHODS,
        }
    }
}

/// The route of a path; `None` where it leads nowhere.
///
/// Cost: nothing is allocated, unless an escape is decoded. Asked once of each request, by whoever admits it.
pub fn find(path: &str) -> Option<Route> {
    let segments = segments(path)?;
    let mut names: [Cow<'_, str>; SEGMENTS_MAX] = Default::default();
    for (name, segment) in names.iter_mut().zip(segments.iter()) {
        *name = decode(segment).unwrap_or_default();
    }
    let names = names.each_ref().map(|name| &**name);
    let names = &names[..segments.len()];
    let last = || Segment::last_of(path);
    // Compared part by part: an escaped slash separates nothing.
    let of_list = |names: &[&str]| {
        CATALOG.iter().find(|facts| facts.route.split('/').eq(names.iter().copied()))
    };
    let older_list = |names: &[&str]| {
        LEGACY.iter().find(|older| older.route.split('/').eq(names.iter().copied()))
    };
    match names {
        [] => Some(Route::Index),
        ["health"] => Some(Route::Health),
        ["ready"] => Some(Route::Ready),
        ["rate-limit"] => Some(Route::RateLimit),
        ["autocomplete"] => Some(Route::Autocomplete(None)),
        ["autocomplete", _] => Some(Route::Autocomplete(Some(last()))),
        ["openapi.json"] => Some(Route::Openapi),
        ["docs"] => Some(Route::Docs(None)),
        ["docs", _] => Some(Route::Docs(Some(last()))),
        ["graphql"] => Some(Route::Graphql(GraphqlRoute::Questions)),
        ["graphql", "schema"] => Some(Route::Graphql(GraphqlRoute::Schema)),
        ["graphiql"] => Some(Route::Graphql(GraphqlRoute::Page(None))),
        ["graphiql", _] => Some(Route::Graphql(GraphqlRoute::Page(Some(last())))),
        names => {
            if let Some(facts) = of_list(names) {
                return Some(Route::List(facts));
            }
            if let Some(older) = older_list(names) {
                return Some(Route::LegacyList(older));
            }
            let (_, list) = names.split_last()?;
            if let Some(older) = older_list(list) {
                return Some(Route::LegacyRecord(older, last()));
            }
            let facts = of_list(list).filter(|facts| facts.has_single)?;
            Some(Route::Record(facts, last()))
        }
    }
}

/// What a request counts as, whatever becomes of it; `None` is a path that leads nowhere.
pub fn charge(method: &Method, route: Option<Route>) -> Charge {
    if *method == Method::OPTIONS {
        return Charge::Free;
    }
    route.map_or(Charge::Minute, Route::charge)
}

/// What lies at a route of GraphQL.
#[derive(Clone, Copy, Debug)]
pub enum GraphqlRoute {
    /// Questions are posted here.
    Questions,
    /// The schema's text.
    Schema,
    /// The page to ask from, or a part of it by its name.
    Page(Option<Segment>),
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
                Some(Route::Record(facts, id)) => format!("{} {}", facts.singular, id.of(path)),
                Some(Route::LegacyList(older)) => format!("older list {}", older.entity),
                Some(Route::LegacyRecord(older, id)) => {
                    format!("older {} {}", older.entity, id.of(path))
                }
                Some(Route::Docs(Some(part))) => format!("Docs {}", part.of(path)),
                Some(Route::Graphql(GraphqlRoute::Page(Some(part)))) => {
                    format!("Graphql page {}", part.of(path))
                }
                Some(other) => format!("{other:?}"),
            };
            assert_eq!(found, expected, "{path}");
        };
        check("/", "Index");
        check("/health", "Health");
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
        check("/legacy/topics", "older list topics");
        check("/%6cegacy/domains/", "older list domains");
        check("/legacy/topics/OA%3AT1", "older topics OA%3AT1");
        check("/legacy/domains/x/", "older domains x");
        for path in [
            "/nope",
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
            "/authors/../authors/HX_A1",
            "//authors//HX_A1",
            "/.env",
        ] {
            check(path, "nowhere");
        }
    }
}
