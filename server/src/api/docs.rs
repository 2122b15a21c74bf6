//! The documentation page at `/docs`: Swagger UI, which reads `/openapi.json`.

use std::sync::LazyLock;

use crate::http::static_page::{Asset, HTML, SCRIPT, STYLE, StaticPage, TEXT};

pub static PAGE: LazyLock<StaticPage> = LazyLock::new(|| StaticPage {
    assets: vec![
        Asset::new("index.html", HTML, include_bytes!("../../docs/index.html")),
        Asset::new("page.js", SCRIPT, include_bytes!("../../docs/page.js")),
        Asset::from_gzip("swagger-ui.js", SCRIPT, include_bytes!("../../docs/swagger-ui.js.gz")),
        Asset::from_gzip("swagger-ui.css", STYLE, include_bytes!("../../docs/swagger-ui.css.gz")),
        Asset::from_gzip("licences.txt", TEXT, include_bytes!("../../docs/licences.txt.gz")),
    ],
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_unpacks_and_the_page_names_no_other_part() {
        PAGE.check("/docs");
    }
}
