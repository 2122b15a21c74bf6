//! The texts of records that full-text searches look into.

use std::sync::LazyLock;

use crate::entity::Entity;
use crate::record::gather::find_path;
use crate::record::{PathTarget, PathTree, Schema, schema_of};
use crate::text::analyzer::ANALYZER_VERSION;

/// A field of a record's texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Field {
    /// Name and title.
    Title,
    /// Abstract.
    Abstract,
    /// Names of authors.
    Authors,
    /// Names of sources.
    Venue,
    /// Keywords, and names of topics.
    Subjects,
    /// Year, volume, issue and pages. Only words without a field look here.
    Imprint,
}

/// The number of fields.
pub const FIELDS: usize = 6;

/// The set of all fields, by their bits.
pub const ANY_FIELD: u8 = (1 << FIELDS) - 1;

impl Field {
    /// The fields in the order of their numbers.
    pub const ALL: [Field; FIELDS] = [
        Field::Title,
        Field::Abstract,
        Field::Authors,
        Field::Venue,
        Field::Subjects,
        Field::Imprint,
    ];

    /// The fields of a set, by their bits.
    #[inline]
    pub fn of_set(fields: u8) -> impl Iterator<Item = Field> {
        let mut left = fields;
        std::iter::from_fn(move || {
            let field = Field::ALL.get(left.trailing_zeros() as usize).copied();
            left &= left.wrapping_sub(1);
            field
        })
    }

    /// The bit of the field in a set of fields.
    pub const fn bit(self) -> u8 {
        1 << self as u8
    }

    /// The name of the field in queries; `None` of a field that queries do not name.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Field::Title => Some("title"),
            Field::Abstract => Some("abstract"),
            Field::Authors => Some("author"),
            Field::Venue => Some("venue"),
            Field::Subjects => Some("subject"),
            Field::Imprint => None,
        }
    }
}

/// The searched members of an output, by field, in the order of the declaration. A name that repeats the title is left out.
const OUTPUTS: [(Field, &str); 13] = [
    (Field::Title, "title"),
    (Field::Title, "name"),
    (Field::Abstract, "abstract"),
    (Field::Authors, "authors.name"),
    (Field::Venue, "primary_venue.source.name"),
    (Field::Venue, "additional_venues.source.name"),
    (Field::Subjects, "keywords"),
    (Field::Subjects, "topics.name"),
    (Field::Imprint, "year"),
    (Field::Imprint, "biblio.volume"),
    (Field::Imprint, "biblio.issue"),
    (Field::Imprint, "biblio.first_page"),
    (Field::Imprint, "biblio.last_page"),
];

/// The member with the language of an output, by which its words are stemmed.
const LANGUAGE: &str = "language.code";

/// The version of the rule by which a word weighs in a record. Each change of an impact raises the version.
const IMPACTS_VERSION: u32 = 2;

/// The paths of the searched texts of an entity.
pub struct TextPaths {
    /// The paths, merged. The number of an end is a place in `fields`.
    pub tree: PathTree,
    /// The field of each path.
    pub fields: Vec<Field>,
    /// The path of the code of a record's language.
    pub language: PathTree,
    /// The texts that are names of other records.
    pub names: Vec<NameTexts>,
}

/// Names of the records that a record refers to, among its searched texts.
pub struct NameTexts {
    /// The field of the names.
    pub field: Field,
    /// The entity of the records.
    pub entity: Entity,
    /// The filter key of the references.
    pub key: String,
}

/// The searched texts of an entity; `None` of an entity without full-text search.
///
/// # Panics
///
/// If the table names no member. Every test that builds a snapshot finds this mistake.
pub fn text_paths(entity: Entity) -> Option<&'static TextPaths> {
    static PATHS: LazyLock<TextPaths> = LazyLock::new(|| {
        let schema = schema_of(Entity::Output);
        let (mut tree, mut names) = (PathTree::default(), Vec::new());
        for (number, (field, path)) in OUTPUTS.iter().enumerate() {
            let Some(end) = find_path(&schema, path) else { panic!("no member `{path}`") };
            tree.add(&end.path, number);
            if let (Schema::Reference(entity), PathTarget::Name) = (end.schema, end.target) {
                let key = path.replace(".name", ".id");
                names.push(NameTexts { field: *field, entity, key });
            }
        }
        let mut language = PathTree::default();
        let Some(end) = find_path(&schema, LANGUAGE) else { panic!("no member `{LANGUAGE}`") };
        language.add(&end.path, 0);
        TextPaths { tree, fields: OUTPUTS.map(|(field, _)| field).to_vec(), language, names }
    });
    (entity == Entity::Output).then(|| &*PATHS)
}

/// Describes the searched texts of an entity: the version of the analyzer, and one line per member. Empty if the entity has no
/// full-text search.
pub(super) fn describe_texts(entity: Entity) -> String {
    let Some(_) = text_paths(entity) else { return String::new() };
    let mut text = format!(
        "  texts      analyzer {ANALYZER_VERSION}, impacts {IMPACTS_VERSION}, stems by {LANGUAGE}\n"
    );
    for (field, path) in OUTPUTS {
        let name = field.name().unwrap_or("imprint");
        text.push_str(&format!("  text       {name}: {path}\n"));
    }
    text
}
