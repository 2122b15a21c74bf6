//! The GraphiQL page at `/graphiql`.

use std::sync::LazyLock;

use crate::define::{Charge, Endpoint, Planning, page_or_not_found};
use crate::openapi::{GRAPHQL_TAG, Operation};
use crate::reply::static_page::{Asset, HTML, SCRIPT, STYLE, StaticPage, TEXT, packed};

pub const PAGE: Endpoint = Endpoint {
    describe: Some(|_, _| {
        let operation = Operation::html_page("graphiql", "A page to write GraphQL queries in");
        Ok(Operation { tag: GRAPHQL_TAG, ..operation }.into_path_item())
    }),
    ..Endpoint::new("/graphiql", Charge::Free, |planning| {
        page_or_not_found(&FILES, is_on(planning), None, planning)
    })
};

pub const PAGE_PART: Endpoint = Endpoint::new("/graphiql/{part}", Charge::Free, |planning| {
    page_or_not_found(&FILES, is_on(planning), Some(planning.segment()), planning)
});

fn is_on(planning: &Planning<'_>) -> bool {
    planning.call.settings.graphql.has_page
}

static FILES: LazyLock<StaticPage> = LazyLock::new(|| StaticPage {
    assets: vec![
        Asset::new("index.html", HTML, include_bytes!("../../../graphiql/index.html")),
        Asset::new("page.js", SCRIPT, include_bytes!("../../../graphiql/page.js")),
        Asset::from_gzip("graphiql.js", SCRIPT, packed!("../../../graphiql/graphiql.js.gz")),
        Asset::from_gzip("graphiql.css", STYLE, packed!("../../../graphiql/graphiql.css.gz")),
        Asset::from_gzip("react.js", SCRIPT, packed!("../../../graphiql/react.js.gz")),
        Asset::from_gzip("react-dom.js", SCRIPT, packed!("../../../graphiql/react-dom.js.gz")),
        Asset::from_gzip("licences.txt", TEXT, packed!("../../../graphiql/licences.txt.gz")),
    ],
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_unpacks_and_the_page_names_no_other_part() {
        FILES.check("graphiql", &["licences.txt"]);
    }
}
