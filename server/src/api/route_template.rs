//! Route templates such as `/outputs/{id}`: the closed set of labels for metrics.

use std::sync::LazyLock;

use pinakes_format::entity::{CATALOG, Entity};
use pinakes_format::record::legacy::LEGACY;

use crate::api::route::{BrowseRoute, GraphqlRoute, Route, directions, has_statistics};

/// A route without the identifiers and names that clients choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Template(u16);

/// Templates without an entity; the first stands for unknown paths.
const FIXED: [&str; 23] = [
    "none",
    "/",
    "/health",
    "/ready",
    "/rate-limit",
    "/autocomplete",
    "/autocomplete/{entity_type}",
    "/openapi.json",
    "/docs",
    "/docs/{part}",
    "/graphql",
    "/graphql/schema",
    "/graphiql",
    "/graphiql/{part}",
    "/resolve/{identifier}",
    "/robots.txt",
    "/browse",
    "/browse/search",
    "/browse/taxonomy",
    "/browse/{file}",
    "/browse/{list}",
    "/browse/{list}/{id}",
    "/changes",
];

/// Templates for each entity: list, record, legacy list, legacy record, references, citations,
/// statistics.
const TEMPLATES_PER_ENTITY: usize = 7;
/// The first of the templates of references and citations.
const LINKED: usize = 4;
/// The template of statistics.
const STATISTICS: usize = 6;

static TEXTS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let mut texts: Vec<String> = FIXED.map(str::to_owned).to_vec();
    texts.resize(Template::COUNT, String::new());
    let mut set =
        |kind, entity: Entity, text| texts[Template::of_entity(kind, entity).number()] = text;
    for facts in &CATALOG {
        set(0, facts.entity, format!("/{}", facts.route));
        set(1, facts.entity, format!("/{}/{{id}}", facts.route));
        if has_statistics(&facts) {
            set(STATISTICS, facts.entity, format!("/statistics/{}", facts.route));
        }
        for direction in directions(facts) {
            let text = format!("/{}/{{id}}/{}", facts.route, direction.name());
            set(LINKED + direction as usize, facts.entity, text);
        }
    }
    for legacy in &LEGACY {
        set(2, legacy.entity, format!("/{}", legacy.route));
        set(3, legacy.entity, format!("/{}/{{id}}", legacy.route));
    }
    texts
});

impl Template {
    /// Number of templates.
    pub const COUNT: usize = FIXED.len() + TEMPLATES_PER_ENTITY * CATALOG.len();

    /// The template of a route; `None` is an unknown path.
    pub fn of(route: Option<Route>) -> Template {
        let Some(route) = route else { return Template(0) };
        Template(match route {
            Route::Index => 1,
            Route::Health => 2,
            Route::Ready => 3,
            Route::RateLimit => 4,
            Route::Autocomplete(None) => 5,
            Route::Autocomplete(Some(_)) => 6,
            Route::Openapi => 7,
            Route::Docs(None) => 8,
            Route::Docs(Some(_)) => 9,
            Route::Graphql(GraphqlRoute::Questions) => 10,
            Route::Graphql(GraphqlRoute::Schema) => 11,
            Route::Graphql(GraphqlRoute::Page(None)) => 12,
            Route::Graphql(GraphqlRoute::Page(Some(_))) => 13,
            Route::Resolve(_) => 14,
            Route::Robots => 15,
            Route::Browse(BrowseRoute::Home) => 16,
            Route::Browse(BrowseRoute::Search) => 17,
            Route::Browse(BrowseRoute::Taxonomy) => 18,
            Route::Browse(BrowseRoute::File(_)) => 19,
            Route::Browse(BrowseRoute::List(_)) => 20,
            Route::Browse(BrowseRoute::Record(..)) => 21,
            Route::Changes => 22,
            Route::List(facts) => return Template::of_entity(0, facts.entity),
            Route::Record(facts, _) => return Template::of_entity(1, facts.entity),
            Route::Linked(facts, _, direction) => {
                return Template::of_entity(LINKED + direction as usize, facts.entity);
            }
            Route::Statistics(facts) => return Template::of_entity(STATISTICS, facts.entity),
            Route::LegacyList(legacy) => return Template::of_entity(2, legacy.entity),
            Route::LegacyRecord(legacy, _) => return Template::of_entity(3, legacy.entity),
        })
    }

    fn of_entity(kind: usize, entity: Entity) -> Template {
        // Fits: there are fewer than 100 templates.
        Template((FIXED.len() + kind * CATALOG.len() + entity as usize) as u16)
    }

    /// The index of the template, less than [`Template::COUNT`].
    pub fn number(self) -> usize {
        usize::from(self.0)
    }

    /// The path in the OpenAPI document; `none` for unknown paths.
    pub fn text(self) -> String {
        TEXTS[self.number()].clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::route::find;

    #[test]
    fn paths_of_one_route_have_one_template() {
        let check = |path: &str, expected: &str| {
            assert_eq!(Template::of(find(path)).text(), expected, "{path}");
        };
        for (number, text) in FIXED.iter().enumerate().skip(1) {
            let path = text.replace("{entity_type}", "x").replace("{part}", "x.js");
            let path = path.replace("{identifier}", "10.1000/x").replace("{file}", "x.css");
            let path = path.replace("{list}", "outputs").replace("{id}", "HX_W1");
            let template = Template::of(find(&path));
            assert_eq!((template.number(), template.text().as_str()), (number, *text));
        }
        for facts in &CATALOG {
            check(&format!("/{}/", facts.route), &format!("/{}", facts.route));
        }
        check("/authors/HX%5FA1", "/authors/{id}");
        check("/outputs/x/references", "/outputs/{id}/references");
        check("/outputs/HX_W1/citations/", "/outputs/{id}/citations");
        check("/statistics/topics", "/statistics/topics");
        check("/legacy/topics", "/legacy/topics");
        check("/legacy/domains/OA:1", "/legacy/domains/{id}");
        for path in ["/nope", "/authors/x/y", "//", "/references/institution-types/1"] {
            check(path, "none");
        }
    }
}
