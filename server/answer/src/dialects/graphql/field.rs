//! Fields of object types, and the source of each field's value.

use pinakes_format::entity::{Entity, Facts};
use pinakes_format::schema::{Direction, keys_of};

use crate::list::parameters::CURRENT;

/// A field of an object type.
pub struct Field {
    /// The name in REST, with a `_` before a leading digit.
    pub name: String,
    /// The description in the schema.
    pub doc: String,
    /// The type in SDL.
    pub type_text: String,
    /// In the order of the schema.
    pub arguments: Vec<Argument>,
    /// Where the executor finds the value.
    pub source: FieldSource,
}

impl Field {
    /// The name of the type without `[`, `]` and `!`.
    pub fn type_name(&self) -> &str {
        self.type_text.trim_matches(['[', ']', '!'])
    }
}

/// An argument: name, type and description.
pub type Argument = (&'static str, &'static str, &'static str);

/// The source of a field's value.
#[derive(Clone, Debug)]
pub enum FieldSource {
    /// A member of the record's declaration, by its index.
    Member(usize),
    /// A part of the member with this index, whose parts appear in the enclosing object.
    Flat(usize, Box<FieldSource>),
    /// The id of a reference.
    Id,
    /// The name of a reference or a code.
    Name,
    /// A code from a fixed vocabulary, such as a country.
    Code,
    /// The record that a reference points to.
    Record(Entity),
    /// The score of a record in a list by relevance.
    Score,
    /// A list of all records, or of the records that refer to the enclosing record by this filter key.
    List(Entity, Option<&'static str>),
    /// A record by the argument `id`.
    ById(Entity),
    /// The candidates for a typed text.
    Autocomplete,
    /// `meta` of a page.
    Meta,
    /// `results` of a page.
    Results,
    /// A member of `meta` or of a candidate, by its name in REST.
    Named(&'static str),
}

/// A field without arguments. A name that begins with a digit gets a `_`, since GraphQL forbids such names.
pub fn plain(name: &str, doc: &str, type_text: String, source: FieldSource) -> Field {
    let is_name = !name.starts_with(|first: char| first.is_ascii_digit());
    let name = if is_name { name.to_owned() } else { format!("_{name}") };
    Field { name, doc: doc.to_owned(), type_text, arguments: Vec::new(), source }
}

/// The root field of a record by its identifier.
pub fn by_id(facts: &Facts, type_text: String) -> Field {
    let doc = "The record's identifier.";
    Field {
        arguments: vec![("id", "ID!", doc)],
        ..plain(
            facts.singular,
            &format!("The {} with an identifier.", facts.singular.replace('_', " ")),
            type_text,
            FieldSource::ById(facts.entity),
        )
    }
}

fn list_arguments(facts: &Facts) -> Vec<Argument> {
    let keys = keys_of(facts.entity);
    let arguments = CURRENT.arguments(keys);
    arguments.map(|(_, of)| (of.name, of.type_name, (of.doc)(keys))).collect()
}

/// The field of a list: of all records, or of the records that refer to the enclosing record by a key.
pub fn list(facts: &Facts, page: String, key: Option<&'static str>) -> Field {
    let doc = match key {
        None => format!("A page of {}.", facts.plural.replace('-', " ")),
        Some(_) => format!("A page of the {} that refer to this record.", facts.plural),
    };
    Field {
        arguments: list_arguments(facts),
        ..plain(&facts.plural.replace('-', "_"), &doc, page, FieldSource::List(facts.entity, key))
    }
}

/// The field of the records that a record refers to, or that refer to it: those that match a key.
pub fn linked(facts: &Facts, direction: Direction, page: String, key: &'static str) -> Field {
    let doc = match direction {
        Direction::References => "that this record refers to",
        Direction::Citations => "that refer to this record",
    };
    let doc = format!("A page of the {} {doc}.", facts.plural);
    Field {
        arguments: list_arguments(facts),
        ..plain(direction.name(), &doc, page, FieldSource::List(facts.entity, Some(key)))
    }
}

/// The fields of a member that appear as fields of the enclosing object.
pub fn flat(at: usize, fields: Vec<Field>) -> impl Iterator<Item = Field> {
    let inside = move |field: Field| Field {
        source: FieldSource::Flat(at, Box::new(field.source)),
        ..field
    };
    fields.into_iter().map(inside)
}

/// The fields `meta` and `results` of a page.
pub fn page_fields(meta: &str, of: &str) -> Vec<Field> {
    vec![
        plain("meta", "Size and position of the page.", format!("{meta}!"), FieldSource::Meta),
        plain("results", "The records of the page.", format!("[{of}!]!"), FieldSource::Results),
    ]
}

pub fn meta_field(name: &'static str) -> Field {
    let (type_text, doc) = match name {
        "count" => ("Count!", "Number of matching records, on all pages."),
        "page" => ("Int!", "Number of this page, from 1."),
        "search" => (
            "JSON",
            "Which words of the search match, and which were corrected, as in REST; null without a search.",
        ),
        "hint" => (
            "String",
            "The key that finds words, if nothing matches and the filter compares the whole of a text; or how to write \
             what the search has of the syntax of another database.",
        ),
        _ => ("Int!", "Largest number of records on a page."),
    };
    plain(name, doc, type_text.to_owned(), FieldSource::Named(name))
}

/// The type of an entity's identifiers: `Int` in the taxonomy, except in a reference to a parent.
pub fn id_type(entity: Entity, is_text: bool) -> &'static str {
    if is_text || entity.facts().letter.is_some() { "ID" } else { "Int" }
}

/// Adds `!` to a type that is never null.
pub fn bang(text: String, is_nullable: bool) -> String {
    if is_nullable { text } else { format!("{text}!") }
}
