//! What the schema says of itself.
//!
//! Asked once for all of it, it is a JSON document in which types are named; answering is walking
//! from name to type in it, for as long as the bounds of any answer allow.

use std::collections::HashMap;

use apollo_compiler::{
    ExecutableDocument, Name, Schema, introspection::partial_execute,
    request::coerce_variable_values, response::JsonMap, schema::Implementers, validation::Valid,
};
use pinakes_format::{
    json,
    render::Page,
    select::{Beyond, SelectError},
};
use serde_json::Value;

use super::document::Asked;

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

/// The schema's own description.
pub struct Introspection {
    schema: Value,
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
        let data = serde_json::to_value(&answer.data).map_err(|error| error.to_string())?;
        let schema = data["__schema"].clone();
        let types = schema["types"].as_array().ok_or("the schema has no types")?;
        let places = types
            .iter()
            .enumerate()
            .filter_map(|(at, known)| known["name"].as_str().map(|name| (name.to_owned(), at)));
        let places = places.collect();
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
        beyond: &mut dyn Beyond,
    ) -> Result<(), SelectError> {
        let value = match type_name {
            None => &self.schema,
            Some(name) => self.named(name).unwrap_or(&Value::Null),
        };
        self.write(value, asked, page, beyond)
    }

    fn named(&self, name: &str) -> Option<&Value> {
        self.schema["types"].get(*self.places.get(name)?)
    }

    fn write(
        &self,
        value: &Value,
        asked: &Asked<'_>,
        page: &mut Page<'_>,
        beyond: &mut dyn Beyond,
    ) -> Result<(), SelectError> {
        match value {
            Value::Null => page.null(),
            Value::Bool(is) => page.out.extend_from_slice(if *is { b"true" } else { b"false" }),
            Value::Number(number) => page.out.extend_from_slice(number.to_string().as_bytes()),
            Value::String(text) => json::string(&mut page.out, text),
            Value::Array(items) => {
                page.out.push(b'[');
                for (at, item) in items.iter().enumerate() {
                    if at > 0 {
                        page.out.push(b',');
                    }
                    self.write(item, asked, page, beyond)?;
                }
                page.out.push(b']');
            }
            Value::Object(_) => self.object(value, asked, page, beyond)?,
        }
        beyond.grown(page.out.len())
    }

    fn object(
        &self,
        value: &Value,
        asked: &Asked<'_>,
        page: &mut Page<'_>,
        beyond: &mut dyn Beyond,
    ) -> Result<(), SelectError> {
        // Where a type is named, the type itself answers.
        let has_kind = value.get("kind").is_some();
        let named = value.get("name").and_then(Value::as_str).filter(|_| has_kind);
        let value = named.and_then(|name| self.named(name)).unwrap_or(value);
        page.open_object();
        for child in &asked.children {
            page.key(&format!("\"{}\":", child.key));
            match child.field.name.as_str() {
                "__typename" => json::string(&mut page.out, child.of),
                name => self.write(value.get(name).unwrap_or(&Value::Null), child, page, beyond)?,
            }
        }
        page.close_object();
        Ok(())
    }
}
