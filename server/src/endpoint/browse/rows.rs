//! The records of a list, a few members of each.

use askama::Template;
use pinakes_format::entity::Entity;
use pinakes_format::json::render::{JsonWriter, Shape};
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::error::ReadError;

use crate::endpoint::browse::html::emphasized;
use crate::endpoint::browse::members::{Member, Node, declaration, member_at, record_path};
use crate::endpoint::browse::tables;
use crate::endpoint::browse::value::Value;

/// Items that the leading member of a row shows, such as authors.
const LEAD_ITEMS_MAX: usize = 6;

/// A record in a list.
#[derive(Debug, Template)]
#[template(path = "browse/row.html")]
pub struct Row {
    /// The page of the record; `None` where the record has none.
    pub href: Option<String>,
    /// HTML of the name.
    pub name: String,
    /// The word for the record, in lists of several entities.
    pub kind: Option<&'static str>,
    pub lead: Option<Node>,
    pub members: Vec<Member>,
}

impl Row {
    /// The row of a record's value.
    fn new(entity: Entity, value: &Value) -> Row {
        let (shown, declared) = (tables::of(entity), declaration(entity));
        let member = |path: &str| member_at(declared, value, path);
        let id = value.get("id").text().unwrap_or_default();
        Row {
            href: entity.facts().has_single.then(|| record_path(entity, &id)),
            name: name_html(value),
            kind: None,
            lead: lead(entity, value),
            members: shown.members.iter().filter_map(|path| member(path)).collect(),
        }
    }
}

/// The leading member of a record's value: of a list, the first items.
pub fn lead(entity: Entity, value: &Value) -> Option<Node> {
    let member = member_at(declaration(entity), value, tables::of(entity).lead?)?;
    Some(member.node.beginning(LEAD_ITEMS_MAX))
}

/// The HTML of a record's name, or of the words that stand for it.
pub fn name_html(value: &Value) -> String {
    emphasized(&name_of(value))
}

/// A record's name, or the words that stand for it.
pub fn name_of(value: &Value) -> String {
    value.get("name").text().unwrap_or_else(|| "Without a title".to_owned())
}

/// The rows of an entity's records.
///
/// Cost: the JSON of one record at a time.
pub fn rows(entity: Entity, rows: &[u32], snapshot: &Snapshot) -> Result<Vec<Row>, ReadError> {
    snapshot.fetch_page(entity, rows, Shape::List, Snapshot::render)?;
    let mut writer = JsonWriter::new(snapshot, Shape::List);
    let row = |row: &u32| {
        writer.out.clear();
        snapshot.render(entity, *row, &mut writer)?;
        Ok(Row::new(entity, &Value::parse(&writer.out)))
    };
    rows.iter().map(row).collect()
}
