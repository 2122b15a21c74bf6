//! The records of a list, a few members of each.

use askama::Template;
use pinakes_format::entity::Entity;
use pinakes_format::formats::reference::Reference;
use pinakes_format::json::render::Shape;
use pinakes_format::snapshot::{RecordLookup, Snapshot};
use pinakes_format::storage::ReadError;

use crate::pages::citation::RowLinks;
use crate::pages::found::Highlighter;
use crate::pages::html::emphasized;
use crate::pages::members::{LabelledMember, Node, declaration, member_at, record_path};
use crate::pages::preview::Preview;
use crate::pages::referred::Referred;
use crate::pages::tables;

/// Items that the leading member of a row shows, such as authors.
pub const LEAD_ITEMS_MAX: usize = 6;

/// A record in a list.
#[derive(Debug, Template)]
#[template(path = "browse/row.html")]
pub struct ListRow {
    /// The page of the record; `None` where the record has none.
    pub href: Option<String>,
    /// HTML of the name.
    pub name: String,
    pub lead: Option<Node>,
    /// HTML of the part of the abstract that a search found.
    pub excerpt: Option<String>,
    pub members: Vec<LabelledMember>,
    /// Citations, a free copy and the reference, of an output.
    pub links: Option<RowLinks>,
}

impl ListRow {
    /// The row of a record's value.
    fn new(entity: Entity, value: &Preview, referred: &Referred<'_>) -> ListRow {
        let (shown, declared) = (tables::of(entity), declaration(entity));
        let member = |path: &str| member_at(declared, value, path);
        let id = value.get("id").text().unwrap_or_default();
        let members = shown.members.iter().filter_map(|path| member(path)).collect();
        ListRow {
            href: entity.facts().has_single.then(|| record_path(entity, &id)),
            name: name_html(value),
            lead: lead(entity, value, LEAD_ITEMS_MAX, referred),
            excerpt: None,
            members: LabelledMember::without_dead_links(members, referred),
            links: None,
        }
    }
}

/// The leading member of a record's value: of a list, the first items.
pub fn lead(
    entity: Entity,
    value: &Preview,
    items_max: usize,
    referred: &Referred<'_>,
) -> Option<Node> {
    let member = member_at(declaration(entity), value, tables::of(entity).lead?)?;
    Some(member.node.beginning(items_max).without_dead_links(referred))
}

/// The HTML of a record's name, or of the words that stand for it.
pub fn name_html(value: &Preview) -> String {
    emphasized(&name_of(value))
}

/// A record's name, or the words that stand for it.
pub fn name_of(value: &Preview) -> String {
    value.get("name").text().unwrap_or_else(|| "Without a title".to_owned())
}

/// The rows of an entity's records.
///
/// Cost: the JSON of one record at a time.
pub fn rows(entity: Entity, rows: &[u32], snapshot: &Snapshot) -> Result<Vec<ListRow>, ReadError> {
    found_rows(entity, rows, None, snapshot)
}

/// The rows of an entity's records, with the words of a search marked.
///
/// Cost: as [`rows`], and the abstract of each record.
pub fn found_rows(
    entity: Entity,
    rows: &[u32],
    highlighter: Option<&Highlighter>,
    snapshot: &Snapshot,
) -> Result<Vec<ListRow>, ReadError> {
    let is_cited = |row: &u32| match entity {
        Entity::Output => snapshot.or_noted(snapshot.is_cited(entity, *row)),
        _ => Ok(false),
    };
    // On a mirror, citations and records are fetched together.
    let cited = rows.iter().map(is_cited).collect::<Result<Vec<bool>, ReadError>>()?;
    snapshot.fetch_page(entity, rows, Shape::List, Snapshot::render)?;
    let referred = Referred::new(snapshot);
    let row = |(row, is_cited): (&u32, &bool)| -> Result<Option<ListRow>, ReadError> {
        let json = referred.render(entity, *row, Shape::List)?;
        let value = Preview::parse(&json);
        let mut listed = ListRow::new(entity, &value, &referred);
        if entity == Entity::Output {
            let reference = Reference::read(&json)?;
            let id = reference.id.as_deref().unwrap_or_default();
            listed.links = Some(RowLinks::new(&reference, id, *is_cited));
        }
        if let Some(highlighter) = highlighter {
            let language = value.get("language").get("code").text();
            listed.name = highlighter.name(&name_of(&value), language.as_deref());
            listed.excerpt = highlighter.excerpt(*row, language.as_deref(), snapshot)?;
        }
        Ok(Some(listed))
    };
    rows.iter().zip(&cited).filter_map(|at| snapshot.or_noted(row(at)).transpose()).collect()
}
