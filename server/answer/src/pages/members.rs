//! From a record's JSON and its declaration to the tree that a page shows.
//!
//! The declaration knows which members are references, codes or years, so that no page names the members
//! of an entity:
//!
//! ```text
//! declaration                       JSON                              tree
//! authors: [{@flat author: Ref,     [{"id":"HX_A1","name":"Ada",      Entries
//!            is_corresponding}]       "is_corresponding":true}]         Entry: Link Ada → /browse/authors/HX_A1
//!                                                                               Is corresponding: yes
//! ```

#![allow(unused_qualifications, reason = "the code of derived templates qualifies all names")]

use std::sync::LazyLock;

use askama::Template;
use pinakes_format::entity::{CATALOG, Entity};
use pinakes_format::record::{ObjectSchema, Schema, Shown, schema_of};
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::ReadError;

use crate::pages::labels::{label, thousands};
use crate::pages::preview::Preview;
use crate::pages::referred::Referred;
use crate::pages::{html, tables};

/// Bytes of a text that stands in a line with others; a longer text is a paragraph.
const LINE_BYTES_MAX: usize = 120;
/// Items of a line, and entries one below another, of which the rest is folded.
const LINE_ITEMS_OPEN: usize = 24;
const ENTRIES_OPEN: usize = 8;
/// Hosts that people know by other names.
const HOSTS: [(&str, &str); 6] = [
    ("doi.org", "DOI"),
    ("openalex.org", "OpenAlex"),
    ("orcid.org", "ORCID"),
    ("pubmed.ncbi.nlm.nih.gov", "PubMed"),
    ("ror.org", "ROR"),
    ("wikidata.org", "Wikidata"),
];
/// Members whose values say what they are.
const PLAIN: [&str; 12] = [
    "year",
    "type",
    "source",
    "country",
    "countries",
    "host_organization_name",
    "parent_publisher",
    "subfield",
    "field",
    "domain",
    "orcid",
    "relationship",
];

/// A part of a record, as a page shows it.
#[derive(Debug, PartialEq, Template)]
#[template(path = "browse/node.html")]
pub enum Node {
    Text(String),
    /// A text of several lines.
    Paragraph(String),
    /// The page of another record.
    Link {
        entity: Entity,
        id: String,
        text: String,
    },
    /// A name without a record, and the list of the records that refer to it.
    Unresolved {
        text: String,
        href: Option<String>,
    },
    /// A page of another host.
    Outside {
        href: String,
    },
    /// Items in a line, and how many the page leaves out.
    Line(Vec<Node>, usize),
    /// Items one below another, and how many the page leaves out.
    Entries(Vec<Node>, usize),
    /// A reference with more about it.
    Entry {
        head: Box<Node>,
        members: Vec<LabelledMember>,
    },
    Members(Vec<LabelledMember>),
}

/// A member of an object, with its human name.
#[derive(Debug, PartialEq)]
pub struct LabelledMember {
    /// The member's name in JSON.
    pub name: String,
    pub label: String,
    pub node: Node,
}

static SCHEMAS: LazyLock<Vec<Schema>> = LazyLock::new(|| Entity::all().map(schema_of).collect());

/// The declaration of an entity's record.
pub fn declaration(entity: Entity) -> &'static ObjectSchema {
    static EMPTY: ObjectSchema =
        ObjectSchema { name: "", doc: "", members: Vec::new(), list_order: &[] };
    match &SCHEMAS[entity as usize] {
        Schema::Object(object) => object,
        // Every record is declared as an object.
        _ => &EMPTY,
    }
}

/// The path of a record's page, by the record's id.
pub fn record_path(entity: Entity, id: &str) -> String {
    format!("/browse/{}/{id}", entity.facts().route)
}

/// The name of an id, which may be merged, or have no record: as in groups.
pub fn record_name(
    entity: Entity,
    id: u64,
    snapshot: &Snapshot,
) -> Result<Option<String>, ReadError> {
    let (id, found) = snapshot.find_merged(entity, id)?;
    if let Some(row) = found {
        return Ok(snapshot.name(entity, row)?.map(str::to_owned));
    }
    let unresolved = snapshot.unresolved_rows(entity, id)?.next();
    let name = unresolved.map(|row| snapshot.name_of_id(entity, row)).transpose()?.flatten();
    Ok(name.map(str::to_owned))
}

impl Node {
    /// The tree of a value; `None` of a value that says nothing: null, or an empty list or object.
    pub fn new(name: &str, schema: &Schema, value: &Preview) -> Option<Node> {
        match (schema, value) {
            (_, Preview::Null) => None,
            (Schema::Nullable(inner), _) => Node::new(name, inner, value),
            (Schema::ByShape { single, list }, _) => match value {
                Preview::Object(_) => Node::new(name, single, value),
                _ => Node::new(name, list, value),
            },
            (Schema::List(inner), Preview::List { items, left_out }) => {
                let items: Vec<Node> =
                    items.iter().filter_map(|item| Node::new(name, inner, item)).collect();
                // Short values stand on one line, others have an entry each.
                let is_line = items.iter().all(Node::is_short);
                match (items.is_empty(), is_line) {
                    (true, _) => None,
                    (false, true) => Some(Node::Line(items, *left_out)),
                    (false, false) => Some(Node::Entries(items, *left_out)),
                }
            }
            (Schema::Object(object), Preview::Object(_)) => Node::of_object(object, value),
            (Schema::Reference(entity) | Schema::ParentReference(entity), _) => {
                Node::link(*entity, value)
            }
            (Schema::AnyReference, Preview::Text(id)) => Some(Node::link_by_letter(id)),
            (Schema::NamedCode(_), Preview::Object(_)) => {
                let shown = [value.get("name"), value.get("code")];
                shown.into_iter().find_map(Preview::text).map(Node::Text)
            }
            (Schema::Timestamp | Schema::UtcTimestamp, Preview::Text(moment)) => {
                Some(Node::Text(moment.chars().take(10).collect()))
            }
            (Schema::YearMap(inner), Preview::Object(years)) => {
                let years = years.iter().map(|(year, value)| (year.as_str(), inner, value));
                Node::of_years(years.map(|(year, inner, value)| (year, &**inner, value)))
            }
            (_, value) => Node::of_value(name, value),
        }
    }

    /// Replaces links to records that the snapshot lacks by their texts and lists.
    pub fn without_dead_links(self, referred: &Referred<'_>) -> Node {
        let of_all = |nodes: Vec<Node>| -> Vec<Node> {
            nodes.into_iter().map(|node| node.without_dead_links(referred)).collect()
        };
        match self {
            Node::Link { entity, id, text } => match entity.parse_id(&id) {
                Some(number) if referred.is_dead(entity, number) => {
                    // The record is absent, but lists of the records that refer to it may have some.
                    let list = |(_, listed, key): (&'static str, Entity, &str)| {
                        let route = listed.facts().route;
                        format!("/browse/{route}?filter={key}:{id}")
                    };
                    let href = tables::lists_from(entity).map(list).next();
                    Node::Unresolved { text, href }
                }
                _ => Node::Link { entity, id, text },
            },
            Node::Line(items, left_out) => Node::Line(of_all(items), left_out),
            Node::Entries(items, left_out) => Node::Entries(of_all(items), left_out),
            Node::Entry { head, members } => Node::Entry {
                head: Box::new(head.without_dead_links(referred)),
                members: LabelledMember::without_dead_links(members, referred),
            },
            Node::Members(members) => {
                Node::Members(LabelledMember::without_dead_links(members, referred))
            }
            Node::Text(_) | Node::Paragraph(_) | Node::Unresolved { .. } | Node::Outside { .. } => {
                self
            }
        }
    }

    /// The reference of an entry alone, and other nodes as they are.
    pub fn brief(self) -> Node {
        match self {
            Node::Entry { head, .. } => *head,
            other => other,
        }
    }

    /// The first items of a list, each without more about it, in a line.
    pub fn beginning(self, items_max: usize) -> Node {
        let (Node::Line(mut items, left_out) | Node::Entries(mut items, left_out)) = self else {
            return self.brief();
        };
        let dropped = items.len().saturating_sub(items_max);
        items.truncate(items_max);
        Node::Line(items.into_iter().map(Node::brief).collect(), left_out + dropped)
    }

    /// The address of a record, for the template.
    fn path(entity: &Entity, id: &str) -> String {
        record_path(*entity, id)
    }

    /// Says how many items of a list a page leaves out.
    fn rest(left_out: &usize) -> String {
        match left_out {
            0 => String::new(),
            left_out => format!(" and {} more", thousands(*left_out as u64)),
        }
    }

    /// The open items of a list, and the folded ones.
    fn folded(items: &[Node], open_max: usize) -> (&[Node], &[Node]) {
        // Folding a few items saves no room.
        if items.len() <= open_max + open_max / 2 { (items, &[]) } else { items.split_at(open_max) }
    }

    /// The text of a link to another host: where it leads.
    fn host(href: &str) -> &str {
        let rest = href.split_once("://").map_or(href, |(_, rest)| rest);
        let host = rest.split(['/', '?', '#']).next().unwrap_or(rest);
        let host = host.strip_prefix("www.").unwrap_or(host);
        let named = HOSTS.iter().find(|(known, _)| *known == host);
        named.map_or(host, |(_, name)| name)
    }

    fn is_short(&self) -> bool {
        match self {
            Node::Text(text) => text.len() <= LINE_BYTES_MAX,
            Node::Link { .. } | Node::Unresolved { .. } | Node::Outside { .. } => true,
            _ => false,
        }
    }

    /// A value without a declaration of its own. False has no row.
    fn of_value(name: &str, value: &Preview) -> Option<Node> {
        Some(match value {
            Preview::Null | Preview::Boolean(false) => return None,
            Preview::Boolean(true) => Node::Text("yes".to_owned()),
            Preview::Integer(number) if is_year(name) => Node::Text(number.to_string()),
            Preview::Integer(number) => Node::Text(thousands(*number)),
            Preview::Number(number) => Node::Text(decimals(*number)),
            Preview::Text(text) if is_web_url(text) => Node::Outside { href: text.clone() },
            Preview::Text(text) if text.len() > LINE_BYTES_MAX => Node::Paragraph(text.clone()),
            Preview::Text(text) => Node::Text(text.clone()),
            Preview::List { items, left_out } => {
                let items: Vec<Node> =
                    items.iter().filter_map(|item| Node::of_value(name, item)).collect();
                if items.is_empty() {
                    return None;
                }
                Node::Line(items, *left_out)
            }
            Preview::Object(members) => {
                let members: Vec<LabelledMember> = members
                    .iter()
                    .filter_map(|(name, value)| {
                        Some(LabelledMember::new(name, Node::of_value(name, value)?))
                    })
                    .collect();
                if members.is_empty() {
                    return None;
                }
                Node::Members(members)
            }
        })
    }

    fn of_years<'v>(
        years: impl Iterator<Item = (&'v str, &'v Schema, &'v Preview)>,
    ) -> Option<Node> {
        let member = |(year, schema, value): (&str, &Schema, &Preview)| {
            let node = Node::new(year, schema, value)?;
            Some(LabelledMember { name: year.to_owned(), label: year.to_owned(), node })
        };
        let members: Vec<LabelledMember> = years.filter_map(member).collect();
        (!members.is_empty()).then_some(Node::Members(members))
    }

    fn of_object(object: &ObjectSchema, value: &Preview) -> Option<Node> {
        let head = reference_in(object).and_then(|entity| Node::link(entity, value));
        let mut members = Vec::new();
        add_members(object, value, &mut members);
        match head {
            Some(head) if members.is_empty() => Some(head),
            Some(head) => Some(Node::Entry { head: Box::new(head), members }),
            None if members.is_empty() => None,
            None => Some(Node::Members(members)),
        }
    }

    /// The link of a value with the members `id` and `name`; a text where the reference has no id.
    fn link(entity: Entity, value: &Preview) -> Option<Node> {
        let (id, name) = (value.get("id").text(), value.get("name").text());
        Some(match (id, name) {
            (None, None) => return None,
            (None, Some(name)) => Node::Text(name),
            (Some(id), name) => Node::Link { entity, text: name.unwrap_or_else(|| id.clone()), id },
        })
    }

    /// The link of an id whose letter names its entity.
    fn link_by_letter(id: &str) -> Node {
        let letter = id.strip_prefix("HX_").and_then(|rest| rest.bytes().next());
        let facts = CATALOG.iter().find(|facts| facts.letter.is_some() && facts.letter == letter);
        match facts {
            Some(facts) => {
                Node::Link { entity: facts.entity, id: id.to_owned(), text: id.to_owned() }
            }
            None => Node::Text(id.to_owned()),
        }
    }
}

impl LabelledMember {
    /// Replaces links to records that the snapshot lacks, as [`Node::without_dead_links`] does.
    pub fn without_dead_links(
        members: Vec<LabelledMember>,
        referred: &Referred<'_>,
    ) -> Vec<LabelledMember> {
        let of_one = |member: LabelledMember| LabelledMember {
            node: member.node.without_dead_links(referred),
            ..member
        };
        members.into_iter().map(of_one).collect()
    }

    /// Whether the value says what it is, so that its label need not be seen.
    pub fn is_plain(&self) -> bool {
        PLAIN.contains(&self.name.as_str())
    }

    fn new(name: &str, node: Node) -> LabelledMember {
        LabelledMember { name: name.to_owned(), label: label(name), node }
    }
}

/// The members of an object that say something, in the order of the declaration, with those of its flat
/// members; without the reference that the object itself is.
pub fn members(object: &ObjectSchema, value: &Preview) -> Vec<LabelledMember> {
    let mut found = Vec::new();
    add_members(object, value, &mut found);
    found
}

fn add_members(object: &ObjectSchema, value: &Preview, found: &mut Vec<LabelledMember>) {
    for member in &object.members {
        match (member.shown, &member.schema) {
            (Shown::KeyOnly, _) | (Shown::Flat, Schema::Reference(_)) => {}
            (Shown::Flat, Schema::Object(inner)) => add_members(inner, value, found),
            (_, schema) => {
                let node = Node::new(member.name, schema, value.get(member.name));
                found.extend(node.map(|node| LabelledMember::new(member.name, node)));
            }
        }
    }
}

/// The entity of the reference whose members an object has among its own.
fn reference_in(object: &ObjectSchema) -> Option<Entity> {
    object.members.iter().find_map(|member| match (member.shown, &member.schema) {
        (Shown::Flat, Schema::Reference(entity)) => Some(*entity),
        _ => None,
    })
}

/// The member at a dotted path.
pub fn member_at(object: &ObjectSchema, value: &Preview, path: &str) -> Option<LabelledMember> {
    let (name, rest) = path.split_once('.').map_or((path, None), |(name, rest)| (name, Some(rest)));
    let schema = schema_in(object, name)?;
    match (without_null(schema), rest) {
        (Schema::Object(inner), Some(rest)) => member_at(inner, value.get(name), rest),
        (_, Some(_)) => None,
        (_, None) => {
            Some(LabelledMember::new(name, Node::new(name, schema, value.get(name))?.brief()))
        }
    }
}

fn schema_in<'o>(object: &'o ObjectSchema, name: &str) -> Option<&'o Schema> {
    let own = object.members.iter().find(|member| member.name == name);
    own.map(|member| &member.schema).or_else(|| {
        object.members.iter().find_map(|member| match (member.shown, &member.schema) {
            (Shown::Flat, Schema::Object(inner)) => schema_in(inner, name),
            _ => None,
        })
    })
}

fn without_null(schema: &Schema) -> &Schema {
    match schema {
        Schema::Nullable(inner) => without_null(inner),
        other => other,
    }
}

/// Whether a member holds years, which have no thousands.
fn is_year(name: &str) -> bool {
    matches!(name.rsplit('_').next(), Some("year" | "years"))
}

/// Whether a text is a URL that a page may link to.
fn is_web_url(text: &str) -> bool {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    rest.is_some_and(|rest| {
        !rest.is_empty() && !rest.chars().any(|of| of.is_whitespace() || of.is_control())
    })
}

/// A number with at most three decimals.
fn decimals(number: f64) -> String {
    if number.abs() >= 1e15 {
        return format!("{number:e}");
    }
    let text = format!("{number:.3}");
    let shown = text.trim_end_matches('0').trim_end_matches('.');
    if shown.trim_start_matches('-') == "0" && number != 0.0 {
        format!("{number:.1e}")
    } else {
        shown.to_owned()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn references_lead_to_their_pages_and_urls_of_the_web_elsewhere() {
        let value = Preview::parse(
            br#"{"id":"HX_W1","name":"T","year":2024,"cited_by_count":12345,"fwci":0.5,
                "doi":"https://doi.org/10.1/x","is_retracted":false,"keywords":[],
                "authors":[{"id":"HX_A1","name":"Ada","is_corresponding":true,
                            "affiliations":[{"id":"HX_I1","name":null}]}],
                "open_access":{"is_oa":true,"oa_url":"javascript:alert(1)"},
                "primary_venue":{"source":{"id":"HX_S1","name":"J","type":"journal"}},
                "language":{"code":"en","name":"English"}}"#,
        );
        let declared = declaration(Entity::Output);
        let found = members(declared, &value);
        let node = |name: &str| &found.iter().find(|member| member.name == name).unwrap().node;
        let link = |entity: Entity, id: &str, text: &str| Node::Link {
            entity,
            id: id.into(),
            text: text.into(),
        };
        assert_eq!(node("doi"), &Node::Outside { href: "https://doi.org/10.1/x".into() });
        assert_eq!(node("year"), &Node::Text("2024".into()));
        assert_eq!(node("cited_by_count"), &Node::Text("12\u{202f}345".into()));
        assert_eq!(node("language"), &Node::Text("English".into()));
        assert!(found.iter().all(|member| member.name != "keywords"));
        let Node::Entries(authors, 0) = node("authors") else { panic!("{:?}", node("authors")) };
        let Node::Entry { head, members } = &authors[0] else { panic!("{authors:?}") };
        assert_eq!(**head, link(Entity::Author, "HX_A1", "Ada"));
        let affiliations = Node::Line(vec![link(Entity::Institution, "HX_I1", "HX_I1")], 0);
        assert_eq!(members[0].node, affiliations);
        let Node::Members(access) = node("open_access") else { panic!() };
        assert_eq!(access[1].node, Node::Text("javascript:alert(1)".into()));
        assert!(found.iter().all(|member| member.name != "is_retracted"), "false says nothing");
        let venue = member_at(declared, &value, "primary_venue.source").unwrap();
        assert_eq!(venue.node, link(Entity::Source, "HX_S1", "J"));
        assert_eq!(member_at(declared, &value, "primary_venue.pdf_url"), None);
    }

    #[test]
    fn only_whole_urls_of_the_web_are_links() {
        for url in ["https://a", "http://a/b?c#d"] {
            assert!(is_web_url(url), "{url}");
        }
        for text in
            ["javascript:alert(1)", "https://", "ftp://a", "//a", "https://a b", " http://a"]
        {
            assert!(!is_web_url(text), "{text}");
        }
    }

    #[test]
    fn a_number_has_few_decimals() {
        for (number, expected) in [
            (0.5, "0.5"),
            (2.0, "2"),
            (1.23456, "1.235"),
            (0.00001, "1.0e-5"),
            (-0.5, "-0.5"),
            (0.0, "0"),
        ] {
            assert_eq!(decimals(number), expected);
        }
    }
}
