//! Pages for people: `/browse` and below, rendered by the server. They work without JavaScript; a script
//! completes names while they are typed.
//!
//! ```text
//! request   /browse/outputs?filter=type:article     a route of the table
//! checked   Query                                   [`list`]: the query of REST, nothing else reads the text
//! records   JSON of 25 rows                         [`value`]: long lists and texts cut
//! tree      links, texts, entries                   [`members`]: by the declaration of the record
//! HTML      templates/browse/list.html              escaped by the templates, which are checked when compiled
//! ```
//!
//! - A record: [`profile`] is what identifies it, [`beginnings`] what it leads to, [`citation`] its reference.
//! - A list: [`filters`] is the form, [`groups`] the counts beside it, [`orders`] the names of orders, [`found`] the
//!   marked words.
//! - [`machines`] is for programs that read pages: the site map, the search of browsers, the text for language models.
//!
//! Entities differ by the rows of [`tables`] and the words of [`labels`]. A page takes the time of one list,
//! whatever it shows: groups that would take longer are left out.
//!
//! Imports `complete`, `define`, `list`, `openapi`, `record`, `referring`, `reply`, `request`.

mod address;
mod beginnings;
mod chart;
mod citation;
mod error;
mod filters;
mod found;
mod groups;
mod home;
mod html;
mod labels;
mod list;
pub(crate) mod list_rows;
pub(crate) mod machines;
mod members;
mod orders;
mod preview;
mod profile;
mod record;
mod referred;
mod search;
mod tables;
mod taxonomy;

use std::sync::LazyLock;

use http::{HeaderValue, StatusCode, header};

use crate::complete::candidates;
use crate::define::charge::QuotaClass;
use crate::define::{Charge, Endpoint, Lists, Plan, Planned, Planning};
use crate::openapi::Operation;
use crate::reply::Reply;
use crate::reply::static_body::StaticBody;
use crate::reply::static_page::{SCRIPT, STYLE};

pub use crate::pages::error::{as_page, is_below, is_for_people};
pub use crate::pages::machines::{llms_text, robots};

pub const HOME: Endpoint = Endpoint {
    describe: Some(|_, _| {
        let operation = Operation {
            description: "The first of the pages for people, which lead to each other. The operator can \
                          disable them.",
            headers: vec!["Cache-Control"],
            statuses: vec![StatusCode::NOT_FOUND],
            ..Operation::html_page("browse", "Pages for people, over the same data")
        };
        Ok(operation.into_path_item())
    }),
    ..page("/browse", Charge::Free, |planning| if_on(planning, home::plan))
};

/// An endpoint whose errors are pages.
const fn page(path: &'static str, charge: Charge, plan: Plan) -> Endpoint {
    Endpoint { errors: as_page, ..Endpoint::new(path, charge, plan) }
}

/// The limits of a page that shows records. Readers use up no quota of programs, and programs none of readers.
const CHARGE: Charge = Charge::Daily(QuotaClass::Browse);

pub const SEARCH: Endpoint =
    page("/browse/search", CHARGE, |planning| if_on(planning, search::plan));

/// `/autocomplete` for the search box of the pages.
pub const COMPLETE: Endpoint = page("/browse/complete", Charge::Completion, |planning| {
    if_on(planning, |planning| candidates::plan(None, planning))
});

/// `/autocomplete/{entity_type}` for the fields of forms.
pub const COMPLETE_ONE: Endpoint =
    page("/browse/complete/{entity_type}", Charge::Completion, |planning| {
        if_on(planning, |planning| candidates::plan(Some(planning.segment()), planning))
    });

pub const SITE_MAP: Endpoint =
    Endpoint::new("/sitemap.xml", CHARGE, |planning| if_on(planning, machines::plan_site_map));

pub const TAXONOMY: Endpoint =
    page("/browse/taxonomy", CHARGE, |planning| if_on(planning, taxonomy::plan));

pub const FILE: Endpoint =
    page("/browse/{file}", Charge::Free, |planning| if_on(planning, plan_file));

pub const LIST: Endpoint = Endpoint {
    lists: Lists::Of(|_| true),
    label: Some("/browse/{list}"),
    ..page("/browse/{list}", CHARGE, |planning| if_on(planning, list::plan))
};

/// The page of a record shows the beginnings of lists.
pub const RECORD: Endpoint = Endpoint {
    lists: Lists::Of(|facts| facts.has_single),
    label: Some("/browse/{list}/{id}"),
    ..page("/browse/{list}/{id}", CHARGE, |planning| if_on(planning, record::plan))
};

/// Plans a page, unless the operator turned the pages off.
fn if_on(planning: &Planning<'_>, plan: Plan) -> Result<Planned, Reply> {
    match planning.call.settings.has_browse {
        true => plan(planning),
        false => Err(planning.call.not_found()),
    }
}

/// The reply to `/` for people: 303 to the first page.
pub fn redirect() -> Reply {
    let message = "Pages for people begin at /browse".to_owned();
    Reply::redirect(StatusCode::SEE_OTHER, "/browse", message).with((header::VARY, "Accept"))
}

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
fn plan_file(planning: &Planning<'_>) -> Result<Planned, Reply> {
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
