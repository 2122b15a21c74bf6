//! The first page: the lists with their counts, and the snapshot.

use askama::Template;

use crate::browse::html::{self, Frame, OtherPages};
use crate::browse::labels::{plural, thousands};
use crate::browse::tables;
use crate::http::reply::Reply;
use crate::snapshots::manager::ServedSnapshot;

#[derive(Template)]
#[template(path = "browse/home.html")]
struct HomePage {
    frame: Frame,
    /// Heading, path and number of records of each list.
    lists: Vec<(String, String, String)>,
    snapshot_id: String,
    newest: Option<String>,
    licence: String,
    selection: Vec<String>,
}

/// The reply with the first page. The operator's options change it, so that it is not cached.
pub fn reply(served: &ServedSnapshot, data_licence: Option<&str>, others: OtherPages) -> Reply {
    let manifest = served.snapshot.manifest();
    let lists = tables::all().map(|shown| shown.entity.facts()).map(|facts| {
        let count = thousands(served.snapshot.visible_count(facts.entity).into());
        (plural(facts), format!("/browse/{}", facts.route), count)
    });
    let selection = manifest.selection.iter().map(|selection| {
        let filters = selection.filters.iter();
        filters.map(|(list, filters)| format!("{list}: {}", filters.join(", "))).collect::<Vec<_>>()
    });
    let page = HomePage {
        frame: Frame { title: "Pinakes".to_owned(), searched: String::new(), entity: None, others },
        lists: lists.collect(),
        snapshot_id: manifest.id.clone(),
        newest: manifest.source.newest_updated_date.clone(),
        licence: served.freshness.licence(data_licence),
        selection: selection.into_iter().flatten().collect(),
    };
    html::uncached(&page)
}
