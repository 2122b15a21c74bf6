//! The first page: the lists with their counts, and the snapshot.

use askama::Template;

use crate::define::call::Call;
use crate::define::plan::{Planned, Planning};
use crate::pages::html::Frame;
use crate::pages::labels::{plural, thousands};
use crate::pages::{html, tables};
use crate::reply::Reply;

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

/// Plans the first page. The operator's options change the page, so that it is not cached.
pub fn plan(planning: &Planning<'_>) -> Result<Planned, Reply> {
    let Call { served, settings, snapshot, .. } = planning.call;
    let manifest = snapshot.manifest();
    let lists = tables::all().map(|shown| shown.entity.facts()).map(|facts| {
        let count = thousands(snapshot.visible_count(facts.entity));
        (plural(facts), format!("/browse/{}", facts.route), count)
    });
    let selection = manifest.selection.iter().map(|selection| {
        let filters = selection.filters.iter();
        filters.map(|(list, filters)| format!("{list}: {}", filters.join(", "))).collect::<Vec<_>>()
    });
    let page = HomePage {
        frame: Frame {
            description: "Works, authors, institutions, sources, publishers, funders and topics of scholarship, \
                          to search, read and cite"
                .to_owned(),
            canonical: Some("/browse".to_owned()),
            ..Frame::new("Pinakes", settings.other_pages())
        },
        lists: lists.collect(),
        snapshot_id: manifest.id.clone(),
        newest: manifest.source.newest_updated_date.clone(),
        licence: served.freshness.licence(settings.data_licence()),
        selection: selection.into_iter().flatten().collect(),
    };
    Ok(Planned::Reply(html::uncached(&page)))
}
