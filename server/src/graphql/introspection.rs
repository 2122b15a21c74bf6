//! What the schema says of itself.
//!
//! Asked once for all of it, it is a tree in which types are named; answering is walking
//! from name to type in it, for as long as the bounds of any answer allow.

use std::collections::HashMap;

use apollo_compiler::{
    ExecutableDocument, Name, Schema,
    introspection::partial_execute,
    request::coerce_variable_values,
    response::{JsonMap, JsonValue},
    schema::Implementers,
    validation::Valid,
};
use pinakes_format::json::render::Page;
use pinakes_format::json::select::{Resolver, SelectError};
use pinakes_format::text::json;

use crate::graphql::document::Asked;

/// Everything, with a type's name and what it wraps wherever a type stands.
const EVERYTHING: &str = r"
{ __schema {
    description
    queryType { ...Type } mutationType { ...Type } subscriptionType { ...Type }
    directives { name description isRepeatable locations args { ...Input } }
    types {
      kind name description specifiedByURL
      fields(includeDeprecated: true) {
        name description isDeprecated deprecationReason
        args(includeDeprecated: true) { ...Input } type { ...Type }
      }
      inputFields(includeDeprecated: true) { ...Input }
      interfaces { ...Type } possibleTypes { ...Type }
      enumValues(includeDeprecated: true) { name description isDeprecated deprecationReason }
    }
} }
fragment Input on __InputValue {
  name description defaultValue isDeprecated deprecationReason type { ...Type }
}
fragment Type on __Type {
  kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name } } } }
}";

/// What a description may have, and nothing else has a place in one.
const MEMBERS: [&str; 22] = [
    "description",
    "queryType",
    "mutationType",
    "subscriptionType",
    "directives",
    "types",
    "name",
    "isRepeatable",
    "locations",
    "args",
    "kind",
    "specifiedByURL",
    "fields",
    "isDeprecated",
    "deprecationReason",
    "type",
    "inputFields",
    "interfaces",
    "possibleTypes",
    "enumValues",
    "defaultValue",
    "ofType",
];

/// A part of a description, kept for as long as the server runs: as JSON values the process took
/// 2 MB more.
enum Node {
    Null,
    Boolean(bool),
    Text(Box<str>),
    List(Box<[Node]>),
    Object(Box<[(&'static str, Node)]>),
}

impl Node {
    fn of(value: &JsonValue) -> Node {
        match value {
            JsonValue::Bool(is) => Node::Boolean(*is),
            JsonValue::String(text) => Node::Text(text.as_str().into()),
            JsonValue::Array(items) => Node::List(items.iter().map(Node::of).collect()),
            JsonValue::Object(members) => {
                let known = members.iter().filter_map(|(name, value)| {
                    let name = MEMBERS.iter().find(|known| **known == name.as_str())?;
                    Some((*name, Node::of(value)))
                });
                Node::Object(known.collect())
            }
            // A description holds no numbers.
            JsonValue::Null | JsonValue::Number(_) => Node::Null,
        }
    }

    fn get(&self, name: &str) -> Option<&Node> {
        let Node::Object(members) = self else { return None };
        members.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    fn text(&self) -> Option<&str> {
        if let Node::Text(text) = self { Some(text) } else { None }
    }

    fn items(&self) -> &[Node] {
        if let Node::List(items) = self { items } else { &[] }
    }
}

/// The schema's own description.
pub struct Introspection {
    schema: Node,
    /// Where in its `types` each is.
    places: HashMap<String, usize>,
}

impl Introspection {
    /// Asks a schema for everything.
    ///
    /// # Errors
    ///
    /// Where it has no answer.
    pub fn new(schema: &Valid<Schema>) -> Result<Introspection, String> {
        let document = ExecutableDocument::parse_and_validate(schema, EVERYTHING, "introspection")
            .map_err(|invalid| invalid.to_string())?;
        let told = |error: apollo_compiler::request::RequestError| error.message().to_string();
        let operation = document.operations.get(None).map_err(told)?;
        let variables = coerce_variable_values(schema, operation, &JsonMap::new()).map_err(told)?;
        // No interface has an implementer: there is none.
        let none: HashMap<Name, Implementers, _> = schema.implementers_map();
        let answer =
            partial_execute(schema, &none, &document, operation, &variables).map_err(told)?;
        let data = answer.data.ok_or("the schema says nothing of itself")?;
        let schema = Node::of(data.get("__schema").unwrap_or(&JsonValue::Null));
        let types = schema.get("types").map_or(&[][..], Node::items).iter().enumerate();
        let named = types.filter_map(|(at, known)| Some((known.get("name")?.text()?.into(), at)));
        let places = named.collect();
        Ok(Introspection { schema, places })
    }

    /// Appends what is asked of the schema, or of a type of it; `null` where there is none.
    ///
    /// # Errors
    ///
    /// Where whoever asks had enough.
    pub fn answer(
        &self,
        type_name: Option<&str>,
        asked: &Asked<'_>,
        page: &mut Page<'_>,
        resolver: &mut dyn Resolver,
    ) -> Result<(), SelectError> {
        let value = match type_name {
            None => &self.schema,
            Some(name) => self.named(name).unwrap_or(&Node::Null),
        };
        self.write(value, asked, page, resolver)
    }

    fn named(&self, name: &str) -> Option<&Node> {
        self.schema.get("types")?.items().get(*self.places.get(name)?)
    }

    fn write(
        &self,
        value: &Node,
        asked: &Asked<'_>,
        page: &mut Page<'_>,
        resolver: &mut dyn Resolver,
    ) -> Result<(), SelectError> {
        match value {
            Node::Null => page.null(),
            Node::Boolean(is) => page.out.extend_from_slice(if *is { b"true" } else { b"false" }),
            Node::Text(text) => json::string(&mut page.out, text),
            Node::List(items) => {
                page.out.push(b'[');
                for (at, item) in items.iter().enumerate() {
                    if at > 0 {
                        page.out.push(b',');
                    }
                    self.write(item, asked, page, resolver)?;
                }
                page.out.push(b']');
            }
            Node::Object(_) => self.object(value, asked, page, resolver)?,
        }
        resolver.check_size(page.out.len())
    }

    fn object(
        &self,
        value: &Node,
        asked: &Asked<'_>,
        page: &mut Page<'_>,
        resolver: &mut dyn Resolver,
    ) -> Result<(), SelectError> {
        // Where a type is named, the type itself answers.
        let has_kind = value.get("kind").is_some();
        let named = value.get("name").and_then(Node::text).filter(|_| has_kind);
        let value = named.and_then(|name| self.named(name)).unwrap_or(value);
        page.open_object();
        for child in &asked.children {
            page.key(&format!("\"{}\":", child.key));
            match child.field.name.as_str() {
                "__typename" => json::string(&mut page.out, child.of),
                name => {
                    self.write(value.get(name).unwrap_or(&Node::Null), child, page, resolver)?
                }
            }
        }
        page.close_object();
        Ok(())
    }
}
