//! Pages for people: `/browse` and below, rendered by the server. They work without JavaScript; a script
//! completes names while they are typed.
//!
//! ```text
//! request   /browse/outputs?filter=type:article     endpoint/routes
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
//! The folder imports the endpoints that its pages show, and what they import.

mod address;
mod beginnings;
mod chart;
mod citation;
mod error;
mod files;
mod filters;
mod found;
mod groups;
mod home;
mod html;
mod labels;
mod list;
pub(crate) mod list_rows;
mod machines;
mod members;
mod orders;
mod preview;
mod profile;
mod record;
mod search;
mod tables;
mod taxonomy;

use http::{StatusCode, header};

use crate::admission::gate::Charge;
use crate::admission::limits::QuotaClass;
use crate::endpoint::call::{Plan, Planned, Planning};
use crate::endpoint::service::not_found;
use crate::endpoint::{Endpoint, Lists, complete};
use crate::openapi::operation::Operation;
use crate::reply::Reply;

pub use crate::endpoint::browse::address::encoded;
pub use crate::endpoint::browse::error::{as_page, is_below, is_for_people};
pub use crate::endpoint::browse::html::OtherPages;
pub use crate::endpoint::browse::machines::{llms_text, robots};

pub const HOME: Endpoint = Endpoint {
    describe: Some(|route, document| {
        let operation = Operation {
            description: "The first of the pages for people, which lead to each other. The operator can \
                          disable them.",
            headers: vec!["Cache-Control"],
            statuses: vec![StatusCode::NOT_FOUND],
            ..Operation::html_page("browse", "Pages for people, over the same data")
        };
        document.add(&route.path, operation);
        Ok(())
    }),
    ..Endpoint::new("/browse", Charge::Free, |planning| if_on(planning, home::plan))
};

/// The limits of a page that shows records. Readers use up no quota of programs, and programs none of readers.
const CHARGE: Charge = Charge::Daily(QuotaClass::Browse);

pub const SEARCH: Endpoint =
    Endpoint::new("/browse/search", CHARGE, |planning| if_on(planning, search::plan));

/// `/autocomplete` for the search box of the pages.
pub const COMPLETE: Endpoint = Endpoint::new("/browse/complete", Charge::Completion, |planning| {
    if_on(planning, |planning| complete::plan(None, planning))
});

/// `/autocomplete/{entity_type}` for the fields of forms.
pub const COMPLETE_ONE: Endpoint =
    Endpoint::new("/browse/complete/{entity_type}", Charge::Completion, |planning| {
        if_on(planning, |planning| complete::plan(Some(planning.segment()), planning))
    });

pub const SITE_MAP: Endpoint =
    Endpoint::new("/sitemap.xml", CHARGE, |planning| if_on(planning, machines::plan_site_map));

pub const TAXONOMY: Endpoint =
    Endpoint::new("/browse/taxonomy", CHARGE, |planning| if_on(planning, taxonomy::plan));

pub const FILE: Endpoint =
    Endpoint::new("/browse/{file}", Charge::Free, |planning| if_on(planning, files::plan));

pub const LIST: Endpoint = Endpoint {
    lists: Lists::Of(|_| true),
    label: Some("/browse/{list}"),
    ..Endpoint::new("/browse/{list}", CHARGE, |planning| if_on(planning, list::plan))
};

/// The page of a record shows the beginnings of lists.
pub const RECORD: Endpoint = Endpoint {
    lists: Lists::Of(|facts| facts.has_single),
    label: Some("/browse/{list}/{id}"),
    ..Endpoint::new("/browse/{list}/{id}", CHARGE, |planning| if_on(planning, record::plan))
};

/// Plans a page, unless the operator turned the pages off.
fn if_on(planning: &Planning<'_>, plan: Plan) -> Result<Planned, Reply> {
    match planning.call.site.settings.has_browse {
        true => plan(planning),
        false => Err(not_found(&planning.call)),
    }
}

/// The reply to `/` for people: 303 to the first page.
pub fn redirect() -> Reply {
    let message = "Pages for people begin at /browse".to_owned();
    Reply::redirect(StatusCode::SEE_OTHER, "/browse", message).with((header::VARY, "Accept"))
}
