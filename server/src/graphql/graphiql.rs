//! The GraphiQL page at `/graphiql`.

use std::sync::LazyLock;

use crate::http::static_page::{Asset, HTML, SCRIPT, STYLE, StaticPage, TEXT};

pub static PAGE: LazyLock<StaticPage> = LazyLock::new(|| StaticPage {
    assets: vec![
        Asset::new("index.html", HTML, include_bytes!("../../graphiql/index.html")),
        Asset::new("page.js", SCRIPT, include_bytes!("../../graphiql/page.js")),
        Asset::from_gzip("graphiql.js", SCRIPT, include_bytes!("../../graphiql/graphiql.js.gz")),
        Asset::from_gzip("graphiql.css", STYLE, include_bytes!("../../graphiql/graphiql.css.gz")),
        Asset::from_gzip("react.js", SCRIPT, include_bytes!("../../graphiql/react.js.gz")),
        Asset::from_gzip("react-dom.js", SCRIPT, include_bytes!("../../graphiql/react-dom.js.gz")),
        Asset::from_gzip("licences.txt", TEXT, include_bytes!("../../graphiql/licences.txt.gz")),
    ],
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_unpacks_and_the_page_names_no_other_part() {
        PAGE.check("/graphiql");
    }
}
