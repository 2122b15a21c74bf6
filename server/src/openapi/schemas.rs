//! The schemas of records, worked out from their declarations: a member added there appears here.

use pinakes_format::entity::{Entity, ID_MAX, IdFormat};
use pinakes_format::json::render::Shape;
use pinakes_format::record::legacy::LegacyEntity;
use pinakes_format::record::schema::{Member, Object, Schema, Shown};
use pinakes_format::record::schema_of;
use pinakes_format::record::value::Table;
use serde_json_bytes::{ByteString, Map, Value};

use crate::openapi::patterns;

/// The largest integer that every reader of JSON holds exactly.
const INTEGER_MAX: i64 = (1 << 53) - 1;
/// A moment without its zone.
const MOMENT: &str = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?$";
/// What stands after a schema's name where lists show less than single records.
const LISTED: &str = "InList";
/// What stands before the name of a schema of the older variant.
const LEGACY: &str = "Older";

/// The schemas so far, by their names.
#[derive(Default)]
pub struct Schemas {
    /// In the order they are met.
    pub named: Map<ByteString, Value>,
}

/// A reference to a schema.
pub fn schema_at(name: &str) -> Value {
    json!({ "$ref": (format!("#/components/schemas/{name}")) })
}

/// The same value, or null.
pub fn or_null(value: Value) -> Value {
    match value {
        Value::Object(mut object) if object.contains_key("type") => {
            let known = object.insert("type", Value::Null).unwrap_or_default();
            // What may be null already stays as it is.
            let both = if known.is_array() { known } else { json!([known, "null"]) };
            object.insert("type", both);
            Value::Object(object)
        }
        other => json!({ "anyOf": [other, { "type": "null" }] }),
    }
}

/// An object all of whose members are always there.
pub fn object(doc: &str, members: Map<ByteString, Value>) -> Value {
    let names: Vec<Value> = members.keys().cloned().map(Value::String).collect();
    json!({ "description": doc, "type": "object", "required": names, "properties": members })
}

/// A value with what it is said to be.
pub fn described(doc: &str, value: Value) -> Value {
    let mut described = Map::new();
    if !doc.is_empty() {
        described.insert("description", doc.into());
    }
    match value {
        Value::Object(object) => described.extend(object),
        other => return other,
    }
    Value::Object(described)
}

impl Schemas {
    /// A record in one shape.
    pub fn record(&mut self, entity: Entity, shape: Shape) -> Value {
        self.of(&schema_of(entity), shape)
    }

    /// Adds a schema under a name, unless there is one; a reference to it.
    pub fn name(&mut self, name: &str, make: impl FnOnce(&mut Schemas) -> Value) -> Value {
        if !self.named.contains_key(name) {
            // Its place is before those that it refers to.
            self.named.insert(name, Value::Null);
            let made = make(self);
            self.named.insert(name, made);
        }
        schema_at(name)
    }

    fn of(&mut self, schema: &Schema, shape: Shape) -> Value {
        match schema {
            Schema::Nullable(inner) => or_null(self.of(inner, shape)),
            Schema::List(inner) => json!({ "type": "array", "items": (self.of(inner, shape)) }),
            Schema::ByShape { single, list } => match shape {
                Shape::Single => self.of(single, shape),
                Shape::List => self.of(list, shape),
            },
            Schema::YearMap(inner) => json!({
                "type": "object",
                "propertyNames": { "pattern": "^-?[0-9]+$" },
                "additionalProperties": (self.of(inner, shape)),
            }),
            Schema::Object(object) => {
                let is_less = shape == Shape::List && is_shaped(schema);
                let name = format!("{}{}", object.name, if is_less { LISTED } else { "" });
                self.name(&name, |schemas| schemas.object(object, shape))
            }
            Schema::Reference(entity) => self.reference(*entity, false),
            Schema::ParentReference(entity) => self.reference(*entity, true),
            Schema::NamedCode(table) => self.code(*table),
            Schema::Id(entity) => own_id(*entity),
            leaf => plain(leaf),
        }
    }

    fn object(&mut self, declared: &Object, shape: Shape) -> Value {
        let members = self.members(declared, shape);
        object(declared.doc, members)
    }

    fn members(&mut self, declared: &Object, shape: Shape) -> Map<ByteString, Value> {
        let mut members = Map::new();
        for member in &declared.members {
            match (member.shown, &member.schema) {
                (Shown::Single, _) if shape == Shape::List => {}
                (Shown::Flat, Schema::Object(inner)) => members.extend(self.members(inner, shape)),
                (Shown::Flat, Schema::Reference(entity)) => {
                    members.extend(reference_members(*entity, false));
                }
                _ => {
                    let value = described(member.doc, self.of(&member.schema, shape));
                    members.insert(member.name, value);
                }
            }
        }
        members
    }

    fn reference(&mut self, entity: Entity, is_parent: bool) -> Value {
        let name = format!("{}{}", word(entity), if is_parent { "Parent" } else { "Reference" });
        let doc = format!("The {} referred to.", entity.facts().singular);
        self.name(&name, |_| object(&doc, reference_members(entity, is_parent)))
    }

    fn code(&mut self, table: Table) -> Value {
        self.name(&format!("{table:?}"), |_| {
            let mut members = Map::new();
            members.insert("code", json!({ "description": "The code.", "type": "string" }));
            let name = json!({ "description": "What it stands for.", "type": ["string", "null"] });
            members.insert("name", name);
            object("A code and what it stands for.", members)
        })
    }

    /// A record of the older variant in one shape.
    pub fn older(&mut self, older: &LegacyEntity, shape: Shape) -> Value {
        let listed = if shape == Shape::List { LISTED } else { "" };
        let name = format!("{LEGACY}{}{listed}", word(older.entity));
        let doc = format!("A {} of the older variant.", older.entity.facts().singular);
        self.name(&name, |schemas| {
            let mut members = Map::new();
            for (name, path) in older.members {
                let is_shown = shape == Shape::Single || !older.singles.contains(name);
                if let Some(member) = member_at(&schema_of(older.entity), path).filter(|_| is_shown)
                {
                    let value = schemas.legacy_value(&member.schema, shape);
                    members.insert(*name, described(member.doc, value));
                }
            }
            object(&doc, members)
        })
    }

    fn legacy_value(&mut self, schema: &Schema, shape: Shape) -> Value {
        let names = || json!({ "type": "array", "items": { "type": "string" } });
        match (schema, shape) {
            (Schema::Nullable(inner), _) => or_null(self.legacy_value(inner, shape)),
            (Schema::Id(entity), _) => older_id(*entity),
            (Schema::ParentReference(_), Shape::List) => names(),
            (Schema::List(inner), _) => match (&**inner, shape) {
                (Schema::Reference(_), Shape::List) => names(),
                (inner, _) => {
                    json!({ "type": "array", "items": (self.legacy_value(inner, shape)) })
                }
            },
            (Schema::Reference(entity) | Schema::ParentReference(entity), Shape::Single) => {
                let doc = format!("The {} referred to.", entity.facts().singular);
                self.name(&format!("{LEGACY}{}Reference", word(*entity)), |_| {
                    let mut members = Map::new();
                    members.insert("id", or_null(older_id(*entity)));
                    members.insert("name", json!({ "type": ["string", "null"] }));
                    object(&doc, members)
                })
            }
            (other, _) => self.of(other, shape),
        }
    }
}

/// The members of a reference: each may be all that is known.
fn reference_members(entity: Entity, is_text: bool) -> Map<ByteString, Value> {
    let singular = entity.facts().singular;
    let id = if is_text { text_id(&IdFormat::CURRENT, entity) } else { own_id(entity) };
    let mut members = Map::new();
    members.insert("id", described(&format!("The identifier of the {singular}."), or_null(id)));
    let name = json!({ "description": (format!("The name of the {singular}.")), "type": ["string", "null"] });
    members.insert("name", name);
    members
}

/// A record's own identifier: a string with its prefix, an integer in the taxonomy.
pub fn own_id(entity: Entity) -> Value {
    match entity.facts().letter {
        Some(_) => text_id(&IdFormat::CURRENT, entity),
        None => json!({ "type": "integer", "minimum": 0, "maximum": ID_MAX }),
    }
}

/// The same in the older variant.
pub fn older_id(entity: Entity) -> Value {
    text_id(&IdFormat::LEGACY, entity)
}

fn text_id(spelling: &IdFormat, entity: Entity) -> Value {
    json!({ "type": "string", "pattern": (patterns::id(spelling, entity)) })
}

/// The name of an entity's schema: that of its declaration.
pub fn word(entity: Entity) -> &'static str {
    match schema_of(entity) {
        Schema::Object(object) => object.name,
        // Every record is declared as an object.
        _ => entity.facts().label,
    }
}

/// Whether a value is another in lists than in single records.
fn is_shaped(schema: &Schema) -> bool {
    match schema {
        Schema::ByShape { .. } => true,
        Schema::Nullable(inner) | Schema::List(inner) | Schema::YearMap(inner) => is_shaped(inner),
        Schema::Object(object) => object
            .members
            .iter()
            .any(|member| member.shown == Shown::Single || is_shaped(&member.schema)),
        _ => false,
    }
}

/// The member at a dotted path.
fn member_at(schema: &Schema, path: &str) -> Option<Member> {
    let (name, rest) = path.split_once('.').unwrap_or((path, ""));
    let object = match schema {
        Schema::Nullable(inner) => return member_at(inner, path),
        Schema::Object(object) => object,
        _ => return None,
    };
    let member = object.members.iter().find(|member| member.name == name)?;
    if rest.is_empty() { Some(member.clone()) } else { member_at(&member.schema, rest) }
}

/// Values without a schema of their own.
fn plain(schema: &Schema) -> Value {
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
