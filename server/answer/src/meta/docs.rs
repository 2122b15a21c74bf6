//! `/docs`, the documentation page: Swagger UI, which reads `/openapi.json`.

use std::sync::LazyLock;

use crate::define::{Charge, Endpoint, Planning, page_or_not_found};
use crate::openapi::Operation;
use crate::reply::static_page::{Asset, HTML, SCRIPT, STYLE, StaticPage, TEXT, packed};

pub const DOCS: Endpoint = Endpoint {
    describe: Some(|_, _| {
        Ok(Operation::html_page("docs", "This document as a page").into_path_item())
    }),
    ..Endpoint::new("/docs", Charge::Free, |planning| {
        page_or_not_found(&PAGE, is_on(planning), None, planning)
    })
};

pub const DOCS_PART: Endpoint = Endpoint::new("/docs/{part}", Charge::Free, |planning| {
    page_or_not_found(&PAGE, is_on(planning), Some(planning.segment()), planning)
});

fn is_on(planning: &Planning<'_>) -> bool {
    planning.call.settings.has_docs
}

/// The guide to the interface, as it stands in the repository.
const MARKDOWN: &str = "text/markdown; charset=utf-8";

static PAGE: LazyLock<StaticPage> = LazyLock::new(|| StaticPage {
    assets: vec![
        Asset::new("index.html", HTML, include_bytes!("../../docs/index.html")),
        Asset::new("page.js", SCRIPT, include_bytes!("../../docs/page.js")),
        Asset::new("page.css", STYLE, include_bytes!("../../docs/page.css")),
        Asset::new("guide", HTML, include_bytes!(concat!(env!("OUT_DIR"), "/guide.html"))),
        Asset::new("guide.css", STYLE, include_bytes!("../../docs/guide.css")),
        Asset::new("API.md", MARKDOWN, include_bytes!("../../API.md")),
        Asset::from_gzip("swagger-ui.js", SCRIPT, packed!("../../docs/swagger-ui.js.gz")),
        Asset::from_gzip("swagger-ui.css", STYLE, packed!("../../docs/swagger-ui.css.gz")),
        Asset::from_gzip("licences.txt", TEXT, packed!("../../docs/licences.txt.gz")),
    ],
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_unpacks_and_the_page_names_its_own() {
        PAGE.check("docs", &["guide.css", "API.md", "licences.txt"]);
    }
}
