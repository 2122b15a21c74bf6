//! The style sheet, the script and the picture that pages load.

use std::sync::LazyLock;

use http::{HeaderValue, header};

use crate::define::plan::{Planned, Planning};
use crate::pages::machines;
use crate::reply::Reply;
use crate::reply::static_body::StaticBody;
use crate::reply::static_page::{SCRIPT, STYLE};

const STYLE_SHEET: &str = include_str!("../../templates/browse/style.css");
const PAGE_SCRIPT: &str = include_str!("../../templates/browse/page.js");
const ICON: &str = include_str!("../../templates/browse/icon.svg");

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
    let (_, body) = file.ok_or_else(|| planning.call.not_found())?;
    // A picture that a client opens as a page loads and runs nothing.
    let policy = HeaderValue::from_static("default-src 'none'");
    let headers = vec![(header::CONTENT_SECURITY_POLICY, policy)];
    Ok(Planned::Reply(body.reply(planning.call.headers, headers)))
}
