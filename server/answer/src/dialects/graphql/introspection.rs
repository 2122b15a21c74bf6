//! Answers `__schema` and `__type` from a description of the schema that is made once, at start.
//!
//! In the tree of the description, fields refer to types by name. The writer follows a name to its type
//! when the operation selects members of the type. The limits of any answer apply.

use std::collections::HashMap;

use apollo_compiler::introspection::partial_execute;
use apollo_compiler::request::coerce_variable_values;
use apollo_compiler::response::{JsonMap, JsonValue};
use apollo_compiler::schema::Implementers;
use apollo_compiler::validation::Valid;
use apollo_compiler::{ExecutableDocument, Name, Schema};
use pinakes_format::json::render::JsonWriter;
use pinakes_format::json::select::{PathStep, Resolver, SelectError};
use pinakes_format::text::json;

use crate::dialects::graphql::document::SelectedField;

/// Selects the whole schema. A type in a field stands as its kind, its name and the types that it wraps.
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

/// The names of all members of a description.
const MEMBER_NAMES: [&str; 22] = [
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

/// A value of the description. The server keeps the description while it runs; as JSON values it took
/// 2 MB more.
enum Node {
    Null,
    Boolean(bool),
    Text(Box<str>),
    List(Box<[Node]>),
    Object(Box<[(&'static str, Node)]>),
}

impl Node {
    fn from_json(value: &JsonValue) -> Node {
        match value {
            JsonValue::Bool(is) => Node::Boolean(*is),
            JsonValue::String(text) => Node::Text(text.as_str().into()),
            JsonValue::Array(items) => Node::List(items.iter().map(Node::from_json).collect()),
            JsonValue::Object(members) => {
                let known = members.iter().filter_map(|(name, value)| {
                    let name = MEMBER_NAMES.iter().find(|known| **known == name.as_str())?;
                    Some((*name, Node::from_json(value)))
                });
                Node::Object(known.collect())
            }
            // A description has no numbers.
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
    /// For each type's name, its index in `types` of the schema.
    type_indexes: HashMap<String, usize>,
}

impl Introspection {
    /// Executes an introspection query that selects the whole schema.
    pub fn new(schema: &Valid<Schema>) -> Result<Introspection, String> {
        let document = ExecutableDocument::parse_and_validate(schema, EVERYTHING, "introspection")
            .map_err(|invalid| invalid.to_string())?;
        let message = |error: apollo_compiler::request::RequestError| error.message().to_string();
        let operation = document.operations.get(None).map_err(message)?;
        let variables =
            coerce_variable_values(schema, operation, &JsonMap::new()).map_err(message)?;
        // Empty: the schema has no interfaces.
        let implementers: HashMap<Name, Implementers, _> = schema.implementers_map();
        let answer = partial_execute(schema, &implementers, &document, operation, &variables)
            .map_err(message)?;
        let data = answer.data.ok_or("the introspection query has no data")?;
        let schema = Node::from_json(data.get("__schema").unwrap_or(&JsonValue::Null));
        let types = schema.get("types").map_or(&[][..], Node::items).iter().enumerate();
        let named = types.filter_map(|(at, known)| Some((known.get("name")?.text()?.into(), at)));
        let type_indexes = named.collect();
        Ok(Introspection { schema, type_indexes })
    }

    /// Appends the members selected of the schema, or of the type with a name; `null` for an unknown name.
    pub fn write(
        &self,
        type_name: Option<&str>,
        field: &SelectedField<'_>,
        writer: &mut JsonWriter<'_>,
        resolver: &mut dyn Resolver,
    ) -> Result<(), SelectError> {
        let value = match type_name {
            None => &self.schema,
            Some(name) => self.type_named(name).unwrap_or(&Node::Null),
        };
        self.write_node(value, field, writer, resolver)
    }

    fn type_named(&self, name: &str) -> Option<&Node> {
        self.schema.get("types")?.items().get(*self.type_indexes.get(name)?)
    }

    fn write_node(
        &self,
        value: &Node,
        field: &SelectedField<'_>,
        writer: &mut JsonWriter<'_>,
        resolver: &mut dyn Resolver,
    ) -> Result<(), SelectError> {
        match value {
            Node::Null => writer.null(),
            Node::Boolean(is) => writer.out.extend_from_slice(if *is { b"true" } else { b"false" }),
            Node::Text(text) => json::string(&mut writer.out, text),
            Node::List(items) => {
                writer.out.push(b'[');
                for (at, item) in items.iter().enumerate() {
                    if at > 0 {
                        writer.out.push(b',');
                    }
                    resolver.enter(PathStep::Item(at));
                    self.write_node(item, field, writer, resolver)?;
                    resolver.leave();
                }
                writer.out.push(b']');
            }
            Node::Object(_) => self.write_object(value, field, writer, resolver)?,
        }
        resolver.check_size(writer.out.len())
    }

    fn write_object(
        &self,
        value: &Node,
        field: &SelectedField<'_>,
        writer: &mut JsonWriter<'_>,
        resolver: &mut dyn Resolver,
    ) -> Result<(), SelectError> {
        // A node with a kind and a name stands for the type of that name.
        let has_kind = value.get("kind").is_some();
        let named = value.get("name").and_then(Node::text).filter(|_| has_kind);
        let value = named.and_then(|name| self.type_named(name)).unwrap_or(value);
        writer.open_object();
        for child in &field.children {
            let key = child.written_key();
            writer.key(&key);
            resolver.enter(PathStep::Field(&key));
            match child.field.name.as_str() {
                "__typename" => json::string(&mut writer.out, child.type_name),
                name => {
                    let value = value.get(name).unwrap_or(&Node::Null);
                    self.write_node(value, child, writer, resolver)?;
                }
            }
            resolver.leave();
        }
        writer.close_object();
        Ok(())
    }
}
