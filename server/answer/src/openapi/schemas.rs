//! The schemas of records, generated from their declarations; a new member needs no change here.

use pinakes_format::entity::{Entity, ID_MAX, IdFormat};
use pinakes_format::formats::ReferenceFormat;
use pinakes_format::json::render::Shape;
use pinakes_format::query::RELEVANCE_SCORE;
use pinakes_format::record::schema::MemberSchema;
use pinakes_format::record::{LegacyEntity, ObjectSchema, Schema, Shown, Table, schema_of};
use pinakes_format::schema::keys_of;
use serde_json::{Map, Value, json};

use crate::openapi::patterns;

/// The largest integer that a double holds exactly, as JavaScript reads JSON numbers.
const INTEGER_MAX: i64 = (1 << 53) - 1;
/// Pattern of a timestamp without a time zone.
const MOMENT: &str = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?$";
/// Suffix of a schema that shows fewer members in lists than in single records.
const LIST_SUFFIX: &str = "InList";
/// Prefix of schemas of the legacy variant.
const LEGACY_PREFIX: &str = "Older";

/// The schemas defined so far.
#[derive(Default)]
pub struct Schemas {
    /// By name, in the order of their first use.
    pub named: Map<String, Value>,
}

/// The schema of a file of references, of a whole list or of one output.
pub fn reference_file(format: ReferenceFormat, is_list: bool) -> Value {
    let item = || json!({ "description": "An item of CSL-JSON.", "type": "object" });
    match (format, is_list) {
        (ReferenceFormat::Csl, true) => json!({ "type": "array", "items": (item()) }),
        (ReferenceFormat::Csl, false) => item(),
        _ => json!({ "type": "string" }),
    }
}

/// A reference to a defined schema.
pub fn schema_at(name: &str) -> Value {
    json!({ "$ref": (format!("#/components/schemas/{name}")) })
}

/// Adds null to the types of a schema.
pub fn or_null(value: Value) -> Value {
    match value {
        Value::Object(mut object) if object.contains_key("type") => {
            let known = object.insert("type".into(), Value::Null).unwrap_or_default();
            // An array of types has null already.
            let types = if known.is_array() { known } else { json!([known, "null"]) };
            object.insert("type".into(), types);
            Value::Object(object)
        }
        other => json!({ "anyOf": [other, { "type": "null" }] }),
    }
}

/// An object schema that requires all of its members.
pub fn object(doc: &str, members: Map<String, Value>) -> Value {
    let names: Vec<&String> = members.keys().collect();
    described(doc, json!({ "type": "object", "required": names, "properties": members }))
}

/// Puts a description before the other members of a schema.
pub fn described(doc: &str, value: Value) -> Value {
    let mut described = Map::new();
    if !doc.is_empty() {
        described.insert("description".into(), doc.into());
    }
    match value {
        Value::Object(object) => described.extend(object),
        other => return other,
    }
    Value::Object(described)
}

/// An object schema from names, descriptions and schemas of its members.
pub fn object_of<const N: usize>(doc: &str, members: [(&str, &str, Value); N]) -> Value {
    let members = members.into_iter();
    object(doc, members.map(|(name, doc, value)| (name.into(), described(doc, value))).collect())
}

/// Adds members that an object may lack.
pub fn add_optional<const N: usize>(object: &mut Value, members: [(&str, &str, Value); N]) {
    if let Some(known) = object["properties"].as_object_mut() {
        let members = members.into_iter();
        known.extend(members.map(|(name, doc, value)| (name.into(), described(doc, value))));
    }
}

/// The schema of a text.
pub fn text() -> Value {
    json!({ "type": "string" })
}

/// The schema of a number of things.
pub fn count() -> Value {
    json!({ "type": "integer", "minimum": 0 })
}

impl Schemas {
    /// The schema of an entity's records in one shape.
    pub fn record(&mut self, entity: Entity, shape: Shape) -> Value {
        let reference = self.value(&schema_of(entity), shape);
        let name = reference["$ref"].as_str().and_then(|path| path.rsplit('/').next());
        if shape == Shape::List
            && keys_of(entity).has_full_text()
            && let Some(record) = name.and_then(|name| self.named.get_mut(name))
        {
            let doc = "How well the record fits the search; only in lists with relevance among their sort keys.";
            let score = json!({ "type": "number", "minimum": 0, "maximum": 999_999 });
            add_optional(record, [(RELEVANCE_SCORE, doc, score)]);
        }
        reference
    }

    /// Defines a schema under a name unless the name is defined, and returns a reference to it.
    pub fn define(&mut self, name: &str, make: impl FnOnce(&mut Schemas) -> Value) -> Value {
        if !self.named.contains_key(name) {
            // Reserves the position: a schema stands before the schemas that it refers to.
            self.named.insert(name.into(), Value::Null);
            let made = make(self);
            self.named.insert(name.into(), made);
        }
        schema_at(name)
    }

    fn value(&mut self, schema: &Schema, shape: Shape) -> Value {
        match schema {
            Schema::Nullable(inner) => or_null(self.value(inner, shape)),
            Schema::List(inner) => json!({ "type": "array", "items": (self.value(inner, shape)) }),
            Schema::ByShape { single, list } => match shape {
                Shape::Single => self.value(single, shape),
                Shape::List => self.value(list, shape),
            },
            Schema::YearMap(inner) => json!({
                "type": "object",
                "propertyNames": { "pattern": "^-?[0-9]+$" },
                "additionalProperties": (self.value(inner, shape)),
            }),
            Schema::Object(object) => {
                let is_reduced = shape == Shape::List && differs_by_shape(schema);
                let name = format!("{}{}", object.name, if is_reduced { LIST_SUFFIX } else { "" });
                self.define(&name, |schemas| schemas.object(object, shape))
            }
            Schema::Reference(entity) => self.reference(*entity, false),
            Schema::ParentReference(entity) => self.reference(*entity, true),
            Schema::NamedCode(table) => self.code(*table),
            Schema::Id(entity) => own_id(*entity),
            leaf => leaf_schema(leaf),
        }
    }

    fn object(&mut self, declared: &ObjectSchema, shape: Shape) -> Value {
        let members = self.members(declared, shape);
        object(declared.doc, members)
    }

    fn members(&mut self, declared: &ObjectSchema, shape: Shape) -> Map<String, Value> {
        let mut members = Map::new();
        for member in &declared.members {
            match (member.shown, &member.schema) {
                (Shown::KeyOnly, _) => {}
                (Shown::Single, _) if shape == Shape::List => {}
                (Shown::Flat, Schema::Object(inner)) => members.extend(self.members(inner, shape)),
                (Shown::Flat, Schema::Reference(entity)) => {
                    members.extend(reference_members(*entity, false));
                }
                _ => {
                    let value = described(member.doc, self.value(&member.schema, shape));
                    members.insert(member.name.into(), value);
                }
            }
        }
        members
    }

    fn reference(&mut self, entity: Entity, is_parent: bool) -> Value {
        let name =
            format!("{}{}", schema_name(entity), if is_parent { "Parent" } else { "Reference" });
        let doc = format!("The {} that the record refers to.", entity.facts().singular);
        self.define(&name, |_| object(&doc, reference_members(entity, is_parent)))
    }

    fn code(&mut self, table: Table) -> Value {
        self.define(&format!("{table:?}"), |_| {
            let name = ("name", "The meaning of the code.", or_null(text()));
            object_of("A code and its meaning.", [("code", "The code.", text()), name])
        })
    }

    /// The schema of a legacy record in one shape.
    pub fn legacy_record(&mut self, legacy: &LegacyEntity, shape: Shape) -> Value {
        let suffix = if shape == Shape::List { LIST_SUFFIX } else { "" };
        let name = format!("{LEGACY_PREFIX}{}{suffix}", schema_name(legacy.entity));
        let doc = format!("A {} in the legacy shape.", legacy.entity.facts().singular);
        self.define(&name, |schemas| {
            let mut members = Map::new();
            for (name, path) in legacy.members {
                let is_shown = shape == Shape::Single || !legacy.singles.contains(name);
                if let Some(member) =
                    member_at(&schema_of(legacy.entity), path).filter(|_| is_shown)
                {
                    let value = schemas.legacy_value(&member.schema, shape);
                    members.insert((*name).into(), described(member.doc, value));
                }
            }
            object(&doc, members)
        })
    }

    fn legacy_value(&mut self, schema: &Schema, shape: Shape) -> Value {
        let names = || json!({ "type": "array", "items": (text()) });
        match (schema, shape) {
            (Schema::Nullable(inner), _) => or_null(self.legacy_value(inner, shape)),
            (Schema::Id(entity), _) => legacy_id(*entity),
            (Schema::ParentReference(_), Shape::List) => names(),
            (Schema::List(inner), _) => match (&**inner, shape) {
                (Schema::Reference(_), Shape::List) => names(),
                (inner, _) => {
                    json!({ "type": "array", "items": (self.legacy_value(inner, shape)) })
                }
            },
            (Schema::Reference(entity) | Schema::ParentReference(entity), Shape::Single) => {
                let doc = format!("The {} that the record refers to.", entity.facts().singular);
                self.define(&format!("{LEGACY_PREFIX}{}Reference", schema_name(*entity)), |_| {
                    let id = or_null(legacy_id(*entity));
                    object_of(&doc, [("id", "", id), ("name", "", or_null(text()))])
                })
            }
            (other, _) => self.value(other, shape),
        }
    }
}

/// The members of a reference. Either may be null: some references have only an id or only a name.
fn reference_members(entity: Entity, is_text: bool) -> Map<String, Value> {
    let singular = entity.facts().singular;
    let id = if is_text { text_id(&IdFormat::CURRENT, entity) } else { own_id(entity) };
    let id = described(&format!("The identifier of the {singular}."), or_null(id));
    let name = described(&format!("The name of the {singular}."), or_null(text()));
    Map::from_iter([("id".to_owned(), id), ("name".to_owned(), name)])
}

/// The schema of a record's `id`: a prefixed string, or an integer in the taxonomy.
pub fn own_id(entity: Entity) -> Value {
    match entity.facts().letter {
        Some(_) => text_id(&IdFormat::CURRENT, entity),
        None => json!({ "type": "integer", "minimum": 0, "maximum": ID_MAX }),
    }
}

/// The schema of a legacy record's `id`.
pub fn legacy_id(entity: Entity) -> Value {
    text_id(&IdFormat::LEGACY, entity)
}

fn text_id(spelling: &IdFormat, entity: Entity) -> Value {
    json!({ "type": "string", "pattern": (patterns::id(spelling, entity)) })
}

/// The name of an entity's schema, which is the name of its declaration.
pub fn schema_name(entity: Entity) -> &'static str {
    match schema_of(entity) {
        Schema::Object(object) => object.name,
        // Unreachable: every record is declared as an object.
        _ => entity.facts().label,
    }
}

/// Whether lists show a value differently than single records do.
fn differs_by_shape(schema: &Schema) -> bool {
    match schema {
        Schema::ByShape { .. } => true,
        Schema::Nullable(inner) | Schema::List(inner) | Schema::YearMap(inner) => {
            differs_by_shape(inner)
        }
        Schema::Object(object) => object
            .members
            .iter()
            .any(|member| member.shown == Shown::Single || differs_by_shape(&member.schema)),
        _ => false,
    }
}

/// Finds the member at a dotted path.
fn member_at(schema: &Schema, path: &str) -> Option<MemberSchema> {
    let (name, rest) = path.split_once('.').unwrap_or((path, ""));
    let object = match schema {
        Schema::Nullable(inner) => return member_at(inner, path),
        Schema::Object(object) => object,
        _ => return None,
    };
    let member = object.members.iter().find(|member| member.name == name)?;
    if rest.is_empty() { Some(member.clone()) } else { member_at(&member.schema, rest) }
}

/// The schema of a value without members.
fn leaf_schema(schema: &Schema) -> Value {
    match schema {
        Schema::Integer { bits: 32, .. } => json!({ "type": "integer", "format": "int32" }),
        Schema::Integer { signed, .. } => {
            let least = if *signed { -INTEGER_MAX } else { 0 };
            json!({ "type": "integer", "minimum": least, "maximum": INTEGER_MAX })
        }
        Schema::Number => json!({ "type": "number" }),
        Schema::Boolean => json!({ "type": "boolean" }),
        Schema::Json => json!({ "type": "object" }),
        Schema::Date => json!({ "type": "string", "format": "date" }),
        Schema::Timestamp => json!({ "type": "string", "pattern": MOMENT }),
        Schema::UtcTimestamp => json!({ "type": "string", "format": "date-time" }),
        Schema::OrcidUrl => json!({ "type": "string", "pattern": "^https://orcid\\.org/" }),
        _ => json!({ "type": "string" }),
    }
}
