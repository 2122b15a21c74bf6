//! The object types of GraphQL, generated from the declarations of records; a new member needs no change
//! here.
//!
//! Names are the names of REST. Each field has a [`FieldSource`], so that the executor compares no names.

use std::{collections::HashMap, fmt::Write};

use pinakes_format::entity::{CATALOG, Entity, Facts};
use pinakes_format::query::RELEVANCE_SCORE;
use pinakes_format::record::{Schema, Shown, schema, schema_of};
use pinakes_format::schema::{Index, keys_of};

use crate::dialects::graphql::field::{
    Argument, Field, FieldSource, bang, by_id, flat, id_type, linked, list, meta_field,
    page_fields, plain,
};
use crate::list::linked::directions;

/// All object types.
pub struct Types {
    /// In the order of first use, `Query` first.
    pub objects: Vec<ObjectType>,
    by_name: HashMap<String, usize>,
}

/// A GraphQL object type: one record, or an object inside records.
pub struct ObjectType {
    /// The name in the schema.
    pub name: String,
    /// The description in the schema.
    pub doc: String,
    /// In the order of REST.
    pub fields: Vec<Field>,
}

const AUTOCOMPLETE_ARGUMENTS: [Argument; 2] = [
    ("query", "String!", "The typed text, at most 256 bytes."),
    (
        "entity_type",
        "String",
        "The name of one list; without this argument, candidates of all entities.",
    ),
];
/// Members of a candidate: name, type and description.
const CANDIDATE: [Argument; 6] = [
    ("id", "ID!", "The record's identifier."),
    ("name", "String", "The display name."),
    ("cited_by_count", "Count", "Citations received."),
    ("entity_type", "String!", "The entity of the record."),
    ("external_id", "String", "The identifier in another system, such as a DOI."),
    ("outputs_count", "Count", "Indexed outputs."),
];

impl Types {
    /// Generates the types.
    pub fn new() -> Types {
        let mut types = Types { objects: Vec::new(), by_name: HashMap::new() };
        let query = types.open("Query", "The root fields of every operation.");
        let mut roots = Vec::new();
        for facts in &CATALOG {
            let (type_text, _) = types.type_of(&schema_of(facts.entity), true);
            types.score(facts.entity, &type_text);
            types.reverse_lists(facts.entity, &type_text);
            if facts.has_single {
                roots.push(by_id(facts, type_text.clone()));
            }
            let page = types.page(&type_text);
            roots.push(list(facts, page, None));
        }
        roots.push(Field {
            name: "autocomplete".to_owned(),
            doc: "The ten likeliest records for a typed text.".to_owned(),
            type_text: types.candidates(),
            arguments: AUTOCOMPLETE_ARGUMENTS.to_vec(),
            source: FieldSource::Autocomplete,
        });
        types.objects[query].fields = roots;
        types
    }

    pub fn get(&self, name: &str) -> Option<&ObjectType> {
        self.by_name.get(name).map(|at| &self.objects[*at])
    }

    pub fn source(&self, type_name: &str, field: &str) -> Option<&FieldSource> {
        let object = self.get(type_name)?;
        object.fields.iter().find(|known| known.name == field).map(|known| &known.source)
    }

    /// Adds a type without fields; returns its index.
    fn open(&mut self, name: &str, doc: &str) -> usize {
        let at = self.objects.len();
        let object = ObjectType { name: name.to_owned(), doc: doc.to_owned(), fields: Vec::new() };
        self.objects.push(object);
        self.by_name.insert(name.to_owned(), at);
        at
    }

    /// Adds a type unless the name is taken.
    fn object(&mut self, name: &str, doc: &str, fields: impl FnOnce(&mut Types) -> Vec<Field>) {
        if !self.by_name.contains_key(name) {
            let at = self.open(name, doc);
            self.objects[at].fields = fields(self);
        }
    }

    /// The type of a value without its `!`, and whether the value may be null.
    fn type_of(&mut self, schema: &Schema, is_nullable: bool) -> (String, bool) {
        let named = |name: &str| (name.to_owned(), is_nullable);
        match schema {
            Schema::Nullable(inner) => self.type_of(inner, true),
            Schema::List(inner) => {
                let (item, is_item_nullable) = self.type_of(inner, false);
                (format!("[{}]", bang(item, is_item_nullable)), is_nullable)
            }
            Schema::ByShape { single, .. } => self.type_of(single, is_nullable),
            Schema::Object(object) => {
                self.object(object.name, object.doc, |types| types.members(object));
                named(object.name)
            }
            Schema::Reference(entity) => named(&self.reference(*entity, false)),
            Schema::ParentReference(entity) => named(&self.reference(*entity, true)),
            Schema::NamedCode(table) => named(&self.code(&format!("{table:?}"))),
            Schema::Id(entity) => named(id_type(*entity, false)),
            Schema::AnyReference => named("ID"),
            Schema::Integer { bits: 32, .. } => named("Int"),
            Schema::Integer { .. } => named("Count"),
            Schema::Number => named("Float"),
            Schema::Boolean => named("Boolean"),
            Schema::Json | Schema::YearMap(_) => named("JSON"),
            Schema::Text
            | Schema::LongText
            | Schema::Code(_)
            | Schema::Date
            | Schema::Timestamp
            | Schema::UtcTimestamp
            | Schema::OrcidUrl => named("String"),
        }
    }

    fn members(&mut self, object: &schema::ObjectSchema) -> Vec<Field> {
        let mut fields = Vec::new();
        for (at, member) in object.members.iter().enumerate() {
            match (member.shown, &member.schema) {
                (Shown::KeyOnly, _) => {}
                (Shown::Flat, Schema::Object(inner)) => {
                    fields.extend(flat(at, self.members(inner)));
                }
                (Shown::Flat, Schema::Reference(entity)) => {
                    fields.extend(flat(at, self.reference_fields(*entity, false)));
                }
                _ => {
                    let (text, is_nullable) = self.type_of(&member.schema, false);
                    fields.push(plain(
                        member.name,
                        member.doc,
                        bang(text, is_nullable),
                        FieldSource::Member(at),
                    ));
                }
            }
        }
        fields
    }

    /// Adds the type of references to an entity: id, name and record. Returns its name.
    fn reference(&mut self, entity: Entity, is_parent: bool) -> String {
        let record_type = object_name(entity);
        let suffix = if is_parent { "Parent" } else { "Reference" };
        let name = format!("{record_type}{suffix}");
        let doc = format!("The {} that the record refers to.", entity.facts().singular);
        self.object(&name, &doc, |types| types.reference_fields(entity, is_parent));
        name
    }

    fn reference_fields(&mut self, entity: Entity, is_parent: bool) -> Vec<Field> {
        let Facts { singular, .. } = entity.facts();
        let (record, _) = self.type_of(&schema_of(entity), true);
        let id_doc = format!("The identifier of the {singular}.");
        let name_doc = format!("The name of the {singular}.");
        let record_doc = format!("The record of the {singular}, if the snapshot has one.");
        vec![
            plain("id", &id_doc, id_type(entity, is_parent).to_owned(), FieldSource::Id),
            plain("name", &name_doc, "String".to_owned(), FieldSource::Name),
            plain(singular, &record_doc, record, FieldSource::Record(entity)),
        ]
    }

    fn code(&mut self, name: &str) -> String {
        self.object(name, "A code and its meaning.", |_| {
            vec![
                plain("code", "The code.", "String!".to_owned(), FieldSource::Code),
                plain("name", "The meaning of the code.", "String".to_owned(), FieldSource::Name),
            ]
        });
        name.to_owned()
    }

    fn page(&mut self, record_type: &str) -> String {
        let mut of_page = CATALOG.iter().filter(|facts| object_name(facts.entity) == record_type);
        let is_searched = of_page.any(has_full_text);
        let meta = if is_searched { "SearchedPageMeta" } else { "PageMeta" };
        self.object(meta, "Size and position of a page.", |_| {
            let search = is_searched.then_some("search");
            let names = ["count", "page", "per_page"].into_iter().chain(search).chain(["hint"]);
            names.map(meta_field).collect()
        });
        let name = format!("{record_type}Page");
        self.object(&name, "A page of a list.", |_| page_fields(meta, record_type));
        name
    }

    /// Adds the score to a record's type, if its lists have a full-text search.
    fn score(&mut self, entity: Entity, type_name: &str) {
        if has_full_text(entity.facts()) {
            let doc =
                "How well the record fits the search of its list; null in lists of another order.";
            let at = self.by_name[type_name];
            let field = plain(RELEVANCE_SCORE, doc, "Float".to_owned(), FieldSource::Score);
            self.objects[at].fields.push(field);
        }
    }

    fn candidates(&mut self) -> String {
        self.object("CandidateMeta", "Number of matching records.", |_| vec![meta_field("count")]);
        self.object("Candidate", "A record whose name may complete the typed text.", |_| {
            let field = |(name, text, doc): Argument| {
                plain(name, doc, text.into(), FieldSource::Named(name))
            };
            CANDIDATE.into_iter().map(field).collect()
        });
        let name = "CandidatePage";
        let doc = "Candidates for a typed text.";
        self.object(name, doc, |_| page_fields("CandidateMeta", "Candidate"));
        name.to_owned()
    }

    /// Adds to a record's type the lists of the records that refer to it, and of those that it refers to.
    fn reverse_lists(&mut self, entity: Entity, type_name: &str) {
        for (listed, key) in entity.facts().reverse_lists {
            let page = self.page(&object_name(*listed));
            let at = self.by_name[type_name];
            self.objects[at].fields.push(list(listed.facts(), page, Some(key)));
        }
        for direction in directions(entity.facts()) {
            let follows = Some(Index::Citations(direction));
            let key = keys_of(entity).keys.iter().find(|key| key.filter == follows);
            let page = self.page(type_name);
            let at = self.by_name[type_name];
            let field = key.map(|key| linked(entity.facts(), direction, page, key.name));
            self.objects[at].fields.extend(field);
        }
    }
}

impl Default for Types {
    fn default() -> Types {
        Types::new()
    }
}

fn has_full_text(facts: &Facts) -> bool {
    keys_of(facts.entity).has_full_text()
}

/// The name of an entity's type, which is the name of its declaration.
pub fn object_name(entity: Entity) -> String {
    match schema_of(entity) {
        Schema::Object(object) => object.name.to_owned(),
        // Unreachable: every record is declared as an object.
        _ => entity.facts().label.to_owned(),
    }
}

/// The definitions of the custom scalars.
const SCALARS: &str = r#""An integer of at most 53 bits."
scalar Count

"Any JSON value."
scalar JSON
"#;

/// Prints the scalars, then the object types in the order of [`Types::objects`].
pub fn sdl(types: &Types) -> String {
    let mut text = SCALARS.to_owned();
    for object in &types.objects {
        let fields: String = object.fields.iter().map(print_field).collect();
        let (doc, name) = (quote(&object.doc), &object.name);
        // Writing to a `String` cannot fail.
        let _ = write!(text, "\n{doc}\ntype {name} {{\n{fields}}}\n");
    }
    text
}

fn print_field(field: &Field) -> String {
    let (doc, name, type_text) = (quote(&field.doc), &field.name, &field.type_text);
    if field.arguments.is_empty() {
        return format!("  {doc}\n  {name}: {type_text}\n");
    }
    let arguments: String = field
        .arguments
        .iter()
        .map(|(name, type_text, doc)| format!("    {}\n    {name}: {type_text}\n", quote(doc)))
        .collect();
    format!("  {doc}\n  {name}(\n{arguments}  ): {type_text}\n")
}

/// Quotes a description.
fn quote(doc: &str) -> String {
    format!("\"{}\"", doc.replace('\\', "\\\\").replace('"', "\\\""))
}
