//! Pages for people: `/browse` and below, rendered by the server. They work without JavaScript; a script
//! completes names while they are typed.
//!
//! ```text
//! request   /browse/outputs?filter=type:article     api/route
//! checked   Page::List(Query)                       [`plan`]: the query of REST, nothing else reads the text
//! records   JSON of 25 rows                         [`value`]: long lists and texts cut
//! tree      links, texts, entries                   [`members`]: by the declaration of the record
//! HTML      templates/browse/list.html              escaped by the templates, which are checked when compiled
//! ```
//!
//! Entities differ by the rows of [`tables`] and the words of [`labels`]. A page takes the time of one list,
//! whatever it shows, and counts as one: groups that would take longer are left out.
//!
//! The folder may import `api` and what `api` imports.

mod address;
mod chart;
mod error;
mod files;
mod groups;
mod home;
mod html;
mod labels;
mod list;
mod members;
mod record;
mod rows;
mod search;
mod tables;
mod taxonomy;
mod value;

use http::StatusCode;
use pinakes_format::entity::Facts;
use pinakes_format::query::Query;

use crate::api::handlers::{Answer, CURRENT, parse_id};
use crate::api::request::Request;
use crate::api::route::BrowseRoute;
use crate::api::work_limits::WorkLimits;
use crate::browse::search::Search;
use crate::http::path::Segment;
use crate::http::reply::Reply;
use crate::snapshots::manager::ServedSnapshot;

pub use crate::browse::error::{as_page, is_below, is_for_people};
pub use crate::browse::files::robots;
pub use crate::browse::html::OtherPages;

/// A page that a valid request asks for.
pub enum Page {
    Search(Search),
    Taxonomy,
    List(Query),
    /// The page of a record, by an identifier that is also given as sent.
    Record {
        facts: &'static Facts,
        id: u64,
        raw_id: Segment,
    },
}

/// Checks a request for a page. Reads nothing of the snapshot's files.
///
/// # Errors
///
/// The finished reply to a request that needs no work: the first page, a file of the pages, an invalid
/// request, or a client that has the current page. `None` is an unknown file.
pub fn plan(
    route: BrowseRoute,
    request: &Request<'_>,
    served: &ServedSnapshot,
    (others, data_licence): (OtherPages, Option<&str>),
) -> Result<Option<Page>, Reply> {
    let unless_current = |page: Page| match html::not_modified(request.headers, served, others) {
        Some(reply) => Err(reply),
        None => Ok(Some(page)),
    };
    match route {
        BrowseRoute::Home => Err(home::reply(served, data_licence, others)),
        BrowseRoute::File(name) => {
            match files::reply(name.text_in(request.path), request.headers) {
                Some(reply) => Err(reply),
                None => Ok(None),
            }
        }
        BrowseRoute::Search => unless_current(Page::Search(Search::parse(request.query, others)?)),
        BrowseRoute::Taxonomy => unless_current(Page::Taxonomy),
        BrowseRoute::List(facts) => {
            let query = list::parse(facts, request.query).map_err(Reply::BadQuery)?;
            unless_current(Page::List(query))
        }
        BrowseRoute::Record(facts, raw_id) => {
            let id = parse_id(&CURRENT, facts, raw_id.text_in(request.path))?;
            Ok(Some(Page::Record { facts, id, raw_id }))
        }
    }
}

/// Makes a page from one snapshot.
pub fn run(
    page: &Page,
    request: &Request<'_>,
    served: &ServedSnapshot,
    (limits, others): (WorkLimits, OtherPages),
) -> Answer {
    match page {
        Page::Search(search) => search::page(search, request, served, (limits, others)),
        Page::Taxonomy => taxonomy::page(request, served, (limits, others)),
        Page::List(query) => list::page(query, request, served, (limits, others)),
        Page::Record { facts, id, raw_id } => {
            let ids = (*id, raw_id.text_in(request.path));
            record::page(facts, ids, request, served, (limits, others))
        }
    }
}

/// The reply to `/` for people: 303 to the first page.
pub fn redirect() -> Reply {
    Reply::Redirect {
        status: StatusCode::SEE_OTHER,
        location: "/browse".to_owned(),
        message: "Pages for people begin at /browse".to_owned(),
        vary: Some("Accept"),
    }
}
