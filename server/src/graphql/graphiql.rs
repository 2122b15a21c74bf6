//! The GraphiQL page at `/graphiql`.

use std::sync::LazyLock;

use crate::http::static_page::{HTML, Page, Part, SCRIPT, STYLE, TEXT};

pub static PAGE: LazyLock<Page> = LazyLock::new(|| Page {
    parts: vec![
        Part::plain("index.html", HTML, include_bytes!("../../graphiql/index.html")),
        Part::plain("page.js", SCRIPT, include_bytes!("../../graphiql/page.js")),
        Part::packed("graphiql.js", SCRIPT, include_bytes!("../../graphiql/graphiql.js.gz")),
        Part::packed("graphiql.css", STYLE, include_bytes!("../../graphiql/graphiql.css.gz")),
        Part::packed("react.js", SCRIPT, include_bytes!("../../graphiql/react.js.gz")),
        Part::packed("react-dom.js", SCRIPT, include_bytes!("../../graphiql/react-dom.js.gz")),
        Part::packed("licences.txt", TEXT, include_bytes!("../../graphiql/licences.txt.gz")),
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
