//! Fields of object types, and what of an archived value stands in each.

use pinakes_format::entity::{Entity, Facts};

use crate::api::list_query::arguments;

/// A field of an object type.
pub struct Field {
    /// Its name: REST's, where GraphQL can spell it.
    pub name: String,
    /// What it is.
    pub doc: String,
    /// Its type, as SDL writes it.
    pub type_text: String,
    /// What it takes: a name, a type and a description each.
    pub arguments: Vec<Argument>,
    /// What stands there.
    pub way: Way,
}

impl Field {
    /// The name of its type, without lists and `!`.
    pub fn type_name(&self) -> &str {
        self.type_text.trim_matches(['[', ']', '!'])
    }
}

/// An argument: its name, its type and what it is.
pub type Argument = (&'static str, &'static str, &'static str);

/// What stands in a field.
#[derive(Clone, Debug)]
pub enum Way {
    /// A member of the declaration, by its place.
    Member(usize),
    /// A part of such a member, where that shows as parts of the object around it.
    Flat(usize, Box<Way>),
    /// The id of a reference.
    Id,
    /// The name of a reference or a code.
    Name,
    /// A code.
    Code,
    /// The record referred to.
    Record(Entity),
    /// A list, of all records or of those that refer to the one around it by this key.
    List(Entity, Option<&'static str>),
    /// A record by its id.
    ById(Entity),
    /// What a text being typed may mean.
    Autocomplete,
    /// `meta` of a page.
    Meta,
    /// `results` of a page.
    Results,
    /// A member of `meta`, or of a candidate, by its name in REST.
    Named(&'static str),
}

/// A field without arguments; a name that begins with a digit gains a `_`, as GraphQL has none such.
pub fn plain(name: &str, doc: &str, type_text: String, way: Way) -> Field {
    let is_name = !name.starts_with(|first: char| first.is_ascii_digit());
    let name = if is_name { name.to_owned() } else { format!("_{name}") };
    Field { name, doc: doc.to_owned(), type_text, arguments: Vec::new(), way }
}

/// The root that finds a record by its id.
pub fn by_id(facts: &Facts, type_text: String) -> Field {
    let doc = "The record's identifier.";
    Field {
        arguments: vec![("id", "ID!", doc)],
        ..plain(
            facts.singular,
            &format!("The {} with an identifier.", facts.singular.replace('_', " ")),
            type_text,
            Way::ById(facts.entity),
        )
    }
}

/// A list: of all records, or of those that refer to the one around it by a key.
pub fn list(facts: &Facts, page: String, key: Option<&'static str>) -> Field {
    let doc = match key {
        None => format!("A page of {}.", facts.plural.replace('-', " ")),
        Some(_) => format!("A page of the {} that refer to this record.", facts.plural),
    };
    Field {
        arguments: arguments(facts.entity).collect(),
        ..plain(&facts.plural.replace('-', "_"), &doc, page, Way::List(facts.entity, key))
    }
}

/// Fields of a member that show as fields of the object around it.
pub fn flat(at: usize, fields: Vec<Field>) -> impl Iterator<Item = Field> {
    let inside = move |field: Field| Field { way: Way::Flat(at, Box::new(field.way)), ..field };
    fields.into_iter().map(inside)
}

/// The two fields of a page.
pub fn page_fields(meta: &str, of: &str) -> Vec<Field> {
    vec![
        plain("meta", "How many there are.", format!("{meta}!"), Way::Meta),
        plain("results", "The page.", format!("[{of}!]!"), Way::Results),
    ]
}

/// A field of `meta`.
pub fn meta_field(name: &'static str) -> Field {
    let (type_text, doc) = match name {
        "count" => ("Count!", "How many match, on all pages together."),
        "page" => ("Int!", "Which page this is, from 1."),
        _ => ("Int!", "How many records a page has."),
    };
    plain(name, doc, type_text.to_owned(), Way::Named(name))
}

/// The type of an entity's identifiers: a number in the taxonomy, but where a child names its parent.
pub fn id_type(entity: Entity, is_text: bool) -> &'static str {
    if is_text || entity.facts().letter.is_some() { "ID" } else { "Int" }
}

/// A type with `!`, where it is never null.
pub fn bang(text: String, is_null: bool) -> String {
    if is_null { text } else { format!("{text}!") }
}
