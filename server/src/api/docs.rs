//! The documentation page at `/docs`: Swagger UI, which reads `/openapi.json`.

use std::sync::LazyLock;

use crate::http::static_page::{HTML, Page, Part, SCRIPT, STYLE, TEXT};

pub static PAGE: LazyLock<Page> = LazyLock::new(|| Page {
    parts: vec![
        Part::plain("index.html", HTML, include_bytes!("../../docs/index.html")),
        Part::plain("page.js", SCRIPT, include_bytes!("../../docs/page.js")),
        Part::packed("swagger-ui.js", SCRIPT, include_bytes!("../../docs/swagger-ui.js.gz")),
        Part::packed("swagger-ui.css", STYLE, include_bytes!("../../docs/swagger-ui.css.gz")),
        Part::packed("licences.txt", TEXT, include_bytes!("../../docs/licences.txt.gz")),
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
