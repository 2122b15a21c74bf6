//! The types of GraphQL, worked out from the declarations of the records: a member added there
//! appears here.
//!
//! Names are REST's. Each field knows its [`Way`]: what of an archived value stands there, so that
//! nothing is looked up by name once a question is read.

use std::collections::HashMap;

use pinakes_format::entity::{CATALOG, Entity, Facts};
use pinakes_format::record::schema::{Schema, Shown};
use pinakes_format::record::{schema, schema_of};

use crate::graphql::field::{
    Argument, Field, Way, bang, by_id, flat, id_type, list, meta_field, page_fields, plain,
};

/// Every object type there is, `Query` first.
pub struct Types {
    /// In the order they are met.
    pub objects: Vec<Object>,
    by_name: HashMap<String, usize>,
}

/// An object type.
pub struct Object {
    /// Its name.
    pub name: String,
    /// What it is.
    pub doc: String,
    /// Its fields, in the interface's order.
    pub fields: Vec<Field>,
}

/// Arguments of `autocomplete`.
const AUTOCOMPLETE_ARGUMENTS: [Argument; 2] = [
    ("query", "String!", "What is being typed; at most 256 bytes."),
    ("entity_type", "String", "Of one entity alone, by the name of its list; of all without it."),
];
/// Members of a candidate: name, type and what it is.
const CANDIDATE: [Argument; 6] = [
    ("id", "ID!", "The record's identifier."),
    ("name", "String", "Its name."),
    ("cited_by_count", "Count", "Citations received."),
    ("entity_type", "String!", "Its kind."),
    ("external_id", "String", "Its identifier elsewhere, such as a DOI."),
    ("outputs_count", "Count", "Indexed outputs."),
];

impl Types {
    /// The types of all records.
    pub fn new() -> Types {
        let mut types = Types { objects: Vec::new(), by_name: HashMap::new() };
        let query = types.open("Query", "Every question there is.");
        let mut roots = Vec::new();
        for facts in &CATALOG {
            let (type_text, _) = types.of(&schema_of(facts.entity), true);
            types.reverse_lists(facts.entity, &type_text);
            if facts.has_single {
                roots.push(by_id(facts, type_text.clone()));
            }
            let page = types.page(&type_text);
            roots.push(list(facts, page, None));
        }
        roots.push(Field {
            name: "autocomplete".to_owned(),
            doc: "The ten likeliest records for what is being typed.".to_owned(),
            type_text: types.candidates(),
            arguments: AUTOCOMPLETE_ARGUMENTS.to_vec(),
            way: Way::Autocomplete,
        });
        types.objects[query].fields = roots;
        types
    }

    /// The object type with a name.
    pub fn get(&self, name: &str) -> Option<&Object> {
        self.by_name.get(name).map(|at| &self.objects[*at])
    }

    /// The way of a field of a type.
    pub fn way(&self, type_name: &str, field: &str) -> Option<&Way> {
        let object = self.get(type_name)?;
        object.fields.iter().find(|known| known.name == field).map(|known| &known.way)
    }

    fn open(&mut self, name: &str, doc: &str) -> usize {
        let at = self.objects.len();
        let object = Object { name: name.to_owned(), doc: doc.to_owned(), fields: Vec::new() };
        self.objects.push(object);
        self.by_name.insert(name.to_owned(), at);
        at
    }

    /// The object type of this name, which is made by what follows where there is none yet.
    fn object(&mut self, name: &str, doc: &str, fields: impl FnOnce(&mut Types) -> Vec<Field>) {
        if !self.by_name.contains_key(name) {
            let at = self.open(name, doc);
            self.objects[at].fields = fields(self);
        }
    }

    /// The type of a value: its name or list, and `!` where it is never null.
    fn of(&mut self, schema: &Schema, is_null: bool) -> (String, bool) {
        let named = |name: &str| (name.to_owned(), is_null);
        match schema {
            Schema::Nullable(inner) => self.of(inner, true),
            Schema::List(inner) => {
                let (item, is_item_null) = self.of(inner, false);
                (format!("[{}]", bang(item, is_item_null)), is_null)
            }
            Schema::ByShape { single, .. } => self.of(single, is_null),
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

    fn members(&mut self, object: &schema::Object) -> Vec<Field> {
        let mut fields = Vec::new();
        for (at, member) in object.members.iter().enumerate() {
            match (member.shown, &member.schema) {
                (Shown::Flat, Schema::Object(inner)) => {
                    fields.extend(flat(at, self.members(inner)));
                }
                (Shown::Flat, Schema::Reference(entity)) => {
                    fields.extend(flat(at, self.reference_fields(*entity, false)));
                }
                _ => {
                    let (text, is_null) = self.of(&member.schema, false);
                    fields.push(plain(
                        member.name,
                        member.doc,
                        bang(text, is_null),
                        Way::Member(at),
                    ));
                }
            }
        }
        fields
    }

    /// The type of a reference: its id and name, and the record.
    fn reference(&mut self, entity: Entity, is_parent: bool) -> String {
        let of = object_name(entity);
        let name = if is_parent { format!("{of}Parent") } else { format!("{of}Reference") };
        let doc = format!("The {} referred to.", entity.facts().singular);
        self.object(&name, &doc, |types| types.reference_fields(entity, is_parent));
        name
    }

    fn reference_fields(&mut self, entity: Entity, is_parent: bool) -> Vec<Field> {
        let Facts { singular, .. } = entity.facts();
        let (record, _) = self.of(&schema_of(entity), true);
        let id_doc = format!("The identifier of the {singular}.");
        let name_doc = format!("The name of the {singular}.");
        let record_doc = format!("The whole record of the {singular}, if there is one.");
        vec![
            plain("id", &id_doc, id_type(entity, is_parent).to_owned(), Way::Id),
            plain("name", &name_doc, "String".to_owned(), Way::Name),
            plain(singular, &record_doc, record, Way::Record(entity)),
        ]
    }

    fn code(&mut self, name: &str) -> String {
        self.object(name, "A code and what it stands for.", |_| {
            vec![
                plain("code", "The code.", "String!".to_owned(), Way::Code),
                plain("name", "What it stands for.", "String".to_owned(), Way::Name),
            ]
        });
        name.to_owned()
    }

    fn page(&mut self, of: &str) -> String {
        self.object("PageMeta", "What page this is, and of how many records.", |_| {
            ["count", "page", "per_page"].map(meta_field).into()
        });
        let name = format!("{of}Page");
        self.object(&name, "A page of a list.", |_| page_fields("PageMeta", of));
        name
    }

    fn candidates(&mut self) -> String {
        self.object("CandidateMeta", "How many records match.", |_| vec![meta_field("count")]);
        self.object("Candidate", "A record that may be meant.", |_| {
            let of = |(name, text, doc): Argument| plain(name, doc, text.into(), Way::Named(name));
            CANDIDATE.into_iter().map(of).collect()
        });
        let name = "CandidatePage";
        let doc = "What a text being typed may mean.";
        self.object(name, doc, |_| page_fields("CandidateMeta", "Candidate"));
        name.to_owned()
    }

    /// Gives a record's type the lists of what refers to it.
    fn reverse_lists(&mut self, entity: Entity, type_name: &str) {
        for (listed, key) in entity.facts().reverse_lists {
            let page = self.page(&object_name(*listed));
            let at = self.by_name[type_name];
            self.objects[at].fields.push(list(listed.facts(), page, Some(key)));
        }
    }
}

impl Default for Types {
    fn default() -> Types {
        Types::new()
    }
}

/// The name of an entity's type: that of its declaration.
pub fn object_name(entity: Entity) -> String {
    match schema_of(entity) {
        Schema::Object(object) => object.name.to_owned(),
        // Every record is declared as an object.
        _ => entity.facts().label.to_owned(),
    }
}
