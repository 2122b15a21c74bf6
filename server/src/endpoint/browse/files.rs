//! The style sheet, the script and the picture that pages load.

use std::sync::LazyLock;

use http::{HeaderValue, header};

use crate::endpoint::browse::machines;
use crate::endpoint::call::{Planned, Planning};
use crate::endpoint::service::not_found;
use crate::reply::Reply;
use crate::reply::static_body::StaticBody;
use crate::reply::static_page::{SCRIPT, STYLE};

const STYLE_SHEET: &str = include_str!("../../../templates/browse/style.css");
const PAGE_SCRIPT: &str = include_str!("../../../templates/browse/page.js");
const ICON: &str = include_str!("../../../templates/browse/icon.svg");

/// The sources of pages; a change of one changes the pages of the same snapshot.
const TEMPLATES: [&str; 14] = [
    include_str!("../../../templates/browse/base.html"),
    include_str!("../../../templates/browse/error.html"),
    include_str!("../../../templates/browse/home.html"),
    include_str!("../../../templates/browse/list.html"),
    include_str!("../../../templates/browse/node.html"),
    include_str!("../../../templates/browse/note.html"),
    include_str!("../../../templates/browse/nothing.html"),
    include_str!("../../../templates/browse/filters.html"),
    include_str!("../../../templates/browse/group.html"),
    include_str!("../../../templates/browse/record.html"),
    include_str!("../../../templates/browse/row.html"),
    include_str!("../../../templates/browse/search.html"),
    include_str!("../../../templates/browse/taxonomy.html"),
    env!("CARGO_PKG_VERSION"),
];
/// Hex digits of the hash of all templates.
const DIGITS: usize = 12;

static FILES: LazyLock<[(&str, StaticBody); 3]> = LazyLock::new(|| {
    [
        ("style.css", StaticBody::new(STYLE, STYLE_SHEET)),
        ("page.js", StaticBody::new(SCRIPT, PAGE_SCRIPT)),
        ("icon.svg", StaticBody::new("image/svg+xml", ICON)),
    ]
});

/// Plans a file.
pub fn plan(planning: &Planning<'_>) -> Result<Planned, Reply> {
    if planning.segment() == machines::OPEN_SEARCH {
        return Ok(Planned::Reply(machines::open_search(&planning.call)));
    }
    let file = FILES.iter().find(|(known, _)| *known == planning.segment());
    let (_, body) = file.ok_or_else(|| not_found(&planning.call))?;
    // A picture that a client opens as a page loads and runs nothing.
    let policy = HeaderValue::from_static("default-src 'none'");
    let headers = vec![(header::CONTENT_SECURITY_POLICY, policy)];
    Ok(Planned::Reply(body.reply(planning.call.headers, headers)))
}

/// Digits that stand for the templates of this program.
pub fn digits() -> String {
    let mut hasher = blake3::Hasher::new();
    for template in TEMPLATES {
        hasher.update(template.as_bytes());
    }
    hasher.finalize().to_hex()[..DIGITS].to_owned()
}
