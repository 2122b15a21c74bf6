//! The table of endpoints. A new endpoint is a file and a row.

use std::sync::LazyLock;

use http::Method;
use pinakes_format::storage::ReadError;

use crate::complete::candidates;
use crate::define::route::{Matched, Route, Routes};
use crate::define::{
    Answer, Call, Charge, Endpoint, Failure, Interface, Planned, Planning, Subject,
};
use crate::dialects::{graphql, legacy, mcp, openalex};
use crate::list::{linked, page, search_form, statistics};
use crate::meta::{docs, openapi, service};
use crate::openapi::Document;
use crate::record::{resolve, single};
use crate::{changes, matching, pages, reconcile};

/// Every endpoint, in the order of the OpenAPI document. Of two paths that fit a request, the first counts.
pub static ENDPOINTS: [Endpoint; 45] = [
    page::LIST,
    search_form::SEARCH,
    single::RECORD,
    linked::REFERENCES,
    linked::CITATIONS,
    statistics::STATISTICS,
    reconcile::RECONCILE,
    reconcile::SUGGEST,
    reconcile::PROPERTIES,
    reconcile::PREVIEW,
    resolve::RESOLVE,
    matching::MATCH,
    candidates::OF_ALL,
    candidates::OF_ONE,
    legacy::LIST,
    legacy::RECORD,
    graphql::OPERATION,
    mcp::MCP,
    openalex::TABLES,
    openalex::COMPLETE,
    openalex::COMPLETE_ONE,
    openalex::LIST,
    openalex::RECORD,
    changes::CHANGES,
    graphql::SCHEMA,
    graphql::PAGE,
    graphql::PAGE_PART,
    service::RATE_LIMIT,
    service::INDEX,
    service::HEALTH,
    service::READY,
    openapi::OPENAPI,
    docs::DOCS,
    docs::DOCS_PART,
    pages::HOME,
    pages::SEARCH,
    pages::COMPLETE,
    pages::COMPLETE_ONE,
    pages::TAXONOMY,
    pages::FILE,
    pages::LIST,
    pages::RECORD,
    pages::SITE_MAP,
    service::ROBOTS,
    service::LLMS,
];

static ROUTES: LazyLock<Routes> = LazyLock::new(|| Routes::new(&ENDPOINTS));

/// All routes, by number.
pub fn routes() -> &'static [Route] {
    ROUTES.all()
}

/// Finds the route of a path; `None` for an unknown path.
///
/// A host calls this once for each request, and once more for a POST, to learn whether the route takes a body.
pub fn find(path: &str) -> Option<Matched> {
    ROUTES.find(path).or_else(|| find_foreign_id(path))
}

/// The route of an identifier of another system in place of an id, such as `/outputs/https://doi.org/…`.
/// The reply names `/resolve/`.
fn find_foreign_id(path: &str) -> Option<Matched> {
    let found = ROUTES.find_rest(&single::RECORD, path)?;
    resolve::is_foreign(found.segment.text_in(path)).then_some(found)
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

/// All endpoints of the table.
pub(crate) struct Table;

impl Interface for Table {
    fn answer(&self, call: &Call<'_>) -> Answer {
        let Some(matched) = find(call.path) else { return Ok(call.not_found()) };
        let Matched { route, segment } = matched;
        match (route.endpoint.plan)(&Planning { call: *call, path: &route.path, segment }) {
            Ok(Planned::Reply(reply)) | Err(reply) => Ok(reply),
            Ok(Planned::Work(work)) => match (work.run)(call) {
                Err(Failure::Refused(reply)) => Ok(*reply),
                answer => answer,
            },
        }
    }

    fn describe(&self, document: &mut Document<'_>) -> Result<(), ReadError> {
        // Of a mirror, all that the paths lack is noted first, and fetched together.
        let mut absent = None;
        for route in routes() {
            let Some(describe) = route.endpoint.describe else { continue };
            // Programs link records to paths by the names of parameters, and ids of the legacy variant are others.
            let path = match route.path.subject {
                Subject::Legacy(_) => route.path.path.replace("{id}", "{older_id}"),
                Subject::None | Subject::Entity(_) => route.path.path.clone(),
            };
            match describe(&route.path, document) {
                Err(error @ ReadError::Absent { .. }) => _ = absent.get_or_insert(error),
                described => _ = document.paths.insert(path, described?),
            }
        }
        absent.map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use pinakes_format::entity::CATALOG;

    use super::*;

    #[test]
    fn every_path_has_its_route_and_others_have_none() {
        let check = |path: &str, expected: &str, segment: &str| {
            let found = find(path);
            let route = found.map_or("nowhere", |found| &found.route.path.path);
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
        for (number, route) in routes().iter().enumerate() {
            assert_eq!(route.number(), number);
            let list = ["{list}", "{file}"].iter().any(|name| route.label().contains(name));
            assert_eq!(
                list,
                route.label() != route.path.path || route.path.path == "/browse/{file}"
            );
        }
        let label = |path| find(path).map_or("none", |found| found.route.label());
        assert_eq!(label("/browse/outputs/HX_W1"), "/browse/{list}/{id}");
        assert_eq!(label("/browse/authors"), "/browse/{list}");
    }
}
