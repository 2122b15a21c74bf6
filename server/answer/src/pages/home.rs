//! The first page: whose collection it is, examples, the lists with their counts, and the snapshot.

use askama::Template;
use pinakes_format::entity::Entity;
use pinakes_format::formats::rich::Rich;
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::ReadError;

use crate::define::{Answer, Call, Collection, Cost, Planned, Planning};
use crate::pages::html::Frame;
use crate::pages::labels::{plural, thousands};
use crate::pages::members::record_path;
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
    collection: Collection,
    /// Searches and records to begin with: text and address.
    examples: Vec<(String, String)>,
}

impl HomePage {
    fn heading(&self) -> &str {
        self.collection.name.as_deref().unwrap_or("Scholarly metadata, to read and to query")
    }

    /// The address of the contact.
    fn contact_href(&self) -> Option<String> {
        let contact = self.collection.contact.as_deref()?;
        let is_mail = contact.contains('@') && !contact.contains("://");
        Some(if is_mail { format!("mailto:{contact}") } else { contact.to_owned() })
    }
}

/// Plans the first page. The operator's options change the page, so that it is not cached.
pub fn plan(_: &Planning<'_>) -> Result<Planned, Reply> {
    Ok(Planned::work(Cost::Small, answer))
}

fn answer(call: &Call<'_>) -> Answer {
    let Call { served, settings, snapshot, .. } = *call;
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
        collection: settings.collection.as_deref().cloned().unwrap_or_default(),
        examples: examples(snapshot)?,
    };
    Ok(html::uncached(&page))
}

/// The first record of an entity's list, and its name.
fn first_of(entity: Entity, snapshot: &Snapshot) -> Result<Option<(String, String)>, ReadError> {
    let is_shown = |row: &u32| !snapshot.suppressed().has(entity, *row);
    let Some(row) = (0..snapshot.count(entity)).find(is_shown) else { return Ok(None) };
    // On a mirror, the names of all examples are fetched together.
    let id = snapshot.or_noted(snapshot.row_id(entity, row))?;
    let name = snapshot.or_noted(snapshot.name(entity, row))?;
    Ok(name.map(|name| (entity.id_text(id), Rich::of(name).text())))
}

/// Links to begin with: the best known output, topic and institution.
fn examples(snapshot: &Snapshot) -> Result<Vec<(String, String)>, ReadError> {
    let mut examples = Vec::new();
    if let Some((id, name)) = first_of(Entity::Output, snapshot)? {
        examples.push((format!("“{name}”, and who cites it"), record_path(Entity::Output, &id)));
    }
    if let Some((id, name)) = first_of(Entity::Topic, snapshot)? {
        let list = format!("/browse/outputs?filter=topics.id:{id}&sort=date:desc");
        examples.push((format!("The newest outputs about {name}"), list));
    }
    if let Some((id, name)) = first_of(Entity::Institution, snapshot)? {
        let list = format!("/browse/authors?filter=last_known_institutions.id:{id}");
        examples.push((format!("Authors at {name}"), list));
    }
    Ok(examples)
}
