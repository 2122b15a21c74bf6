//! The table of entities: every kind of record a snapshot holds, and the facts by which they differ.
//!
//! [`CATALOG`] has one row per entity. Routes, identifiers, error texts, dump folders, taxonomy
//! levels, external identifiers and the order of autocomplete are columns of that table, and
//! [`with_record!`](crate::with_record) maps each row to its record type. Adding an entity adds one
//! row at the end: files hold the discriminants. The macro expands where it is called, so this
//! module imports nothing.
//!
//! A new entity touches six files: this table, `record/<new>.rs`, `record/mod.rs`,
//! `schema/keys/lines.rs`, and in the compiler `frontend/openalex/<new>.rs` and its `mod.rs`.
//! FORMAT.md and the OpenAPI and GraphQL documents that tests compare change with it.
//!
//! Three kinds of code still name an entity, because they hold logic or lists of their own:
//!
//! - `schema::keys::lines` lists the filter and sort keys of each entity;
//! - `record::legacy` declares what the legacy interface shows of topics and domains;
//! - members of one record, such as the host of a source, name the entities they refer to. In the
//!   compiler the front ends and the steps that fill in members of one record do the same.

use std::fmt;

/// Defines [`Entity`], [`CATALOG`], the constants of [`number`] and `with_record!` from the rows of
/// the table.
///
/// A row names the variant, which is also the record type in [`record`](crate::record), its
/// constant in [`number`], and the columns of [`Facts`] that differ from [`DEFAULTS`]. `$` is
/// passed in because the macro defines another macro.
macro_rules! entities {
    ($d:tt $(
        $(#[doc = $doc:literal])*
        $name:ident as $number:ident { $($column:ident: $value:expr,)* }
    )*) => {
        /// A kind of record a snapshot holds. The discriminant is written in files.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Entity {
            $($(#[doc = $doc])* $name,)*
        }

        impl Entity {
            /// Number of entities.
            pub const COUNT: usize = [$(Entity::$name),*].len();
        }

        /// The table, in the order of the discriminants.
        pub static CATALOG: [Facts; Entity::COUNT] = [
            $(Facts { entity: Entity::$name, $($column: $value,)* ..DEFAULTS },)*
        ];

        /// The discriminants as constants: const parameters cannot be of type [`Entity`].
        pub mod number {
            use crate::entity::Entity;

            $(
                #[doc = concat!("Discriminant of [`Entity::", stringify!($name), "`].")]
                pub const $number: u8 = Entity::$name as u8;
            )*
        }

        /// Evaluates `$body` with `$type` naming the record type of an entity known only at run
        /// time.
        #[macro_export]
        macro_rules! with_record {
            ($d entity:expr, $d type:ident => $d body:expr) => {
                match $d entity {
                    $($crate::entity::Entity::$name => {
                        type $d type = $crate::record::$name;
                        $d body
                    })*
                }
            };
        }
        // By this path, since a macro that a macro defines has no path of its own in its crate.
        pub(crate) use with_record;
    };
}

/// The columns of the table: how one entity differs from the others.
#[derive(Debug)]
pub struct Facts {
    /// The entity this row describes.
    pub entity: Entity,
    /// Its directory in a snapshot and its name in reports and in replies.
    pub plural: &'static str,
    /// Its name in autocomplete and GraphQL.
    pub singular: &'static str,
    /// Its name in messages: the singular with a capital letter.
    pub label: &'static str,
    /// The letter after `HX_` in identifiers; `None` where the identifier is a bare number.
    pub letter: Option<u8>,
    /// URL path of its list, without the leading slash.
    pub route: &'static str,
    /// Whether the server answers `{route}/{id}`.
    pub has_single: bool,
    /// Whether records of other entities refer to it. Its names are then also stored in a file of
    /// their own, and a record must have a name.
    pub is_referenced: bool,
    /// Whether the linker makes its records from a fixed list and rewrites those of the input.
    pub is_generated: bool,
    /// Folder names that a dump may use for it; the first is the usual one.
    pub dump_names: &'static [&'static str],
    /// Members that hold names besides `name`; autocomplete and `name.search` search them too.
    pub other_names: &'static [&'static str],
    /// Members from which autocomplete fills `external_id`: the first that has a value.
    pub external_ids: &'static [&'static str],
    /// Filter keys of the identifiers by which autocomplete and `/resolve` find a record. The last
    /// segment of a key names the scheme, such as `doi`.
    pub searched_ids: &'static [&'static str],
    /// Position among otherwise equal autocomplete candidates, first is 0; `None` where
    /// autocomplete does not search the entity.
    pub autocomplete_order: Option<u8>,
    /// Depth in the taxonomy, 0 for domains; `None` outside the taxonomy.
    pub taxonomy_level: Option<u8>,
    /// Lists of the records that refer to a record of this entity: the entity listed, and the
    /// filter key that selects them.
    pub reverse_lists: &'static [(Entity, &'static str)],
}

/// The columns that a row does not give.
const DEFAULTS: Facts = Facts {
    entity: Entity::Output,
    plural: "",
    singular: "",
    label: "",
    letter: None,
    route: "",
    has_single: true,
    is_referenced: true,
    is_generated: false,
    dump_names: &[],
    other_names: &[],
    external_ids: &[],
    searched_ids: &[],
    autocomplete_order: None,
    taxonomy_level: None,
    reverse_lists: &[],
};

entities! { $
    /// Scholarly works.
    Output as OUTPUT {
        plural: "outputs",
        singular: "output",
        label: "Output",
        letter: Some(b'W'),
        route: "outputs",
        is_referenced: false,
        dump_names: &["works", "outputs"],
        external_ids: &["doi"],
        searched_ids: &["doi", "ids.pmid", "ids.pmcid", "ids.mag"],
        autocomplete_order: Some(2),
    }
    /// Authors.
    Author as AUTHOR {
        plural: "authors",
        singular: "author",
        label: "Author",
        letter: Some(b'A'),
        route: "authors",
        dump_names: &["authors"],
        other_names: &["display_name_alternatives"],
        external_ids: &["orcid"],
        searched_ids: &["orcid"],
        autocomplete_order: Some(1),
        reverse_lists: &[(Entity::Output, "authors.id")],
    }
    /// Journals, repositories and other venues.
    Source as SOURCE {
        plural: "sources",
        singular: "source",
        label: "Source",
        letter: Some(b'S'),
        route: "sources",
        dump_names: &["sources"],
        other_names: &["alternate_titles"],
        external_ids: &["issn_l"],
        searched_ids: &["issn", "issn_l", "ids.mag"],
        autocomplete_order: Some(3),
        reverse_lists: &[(Entity::Output, "primary_venue.source.id")],
    }
    /// Institutions.
    Institution as INSTITUTION {
        plural: "institutions",
        singular: "institution",
        label: "Institution",
        letter: Some(b'I'),
        route: "institutions",
        dump_names: &["institutions"],
        other_names: &["display_name_acronyms", "display_name_alternatives"],
        external_ids: &["ror"],
        searched_ids: &["ror"],
        autocomplete_order: Some(0),
        reverse_lists: &[(Entity::Output, "authors.affiliations.id")],
    }
    /// Publishers.
    Publisher as PUBLISHER {
        plural: "publishers",
        singular: "publisher",
        label: "Publisher",
        letter: Some(b'P'),
        route: "publishers",
        dump_names: &["publishers"],
        other_names: &["alternate_titles"],
        external_ids: &["ids.ror", "ids.wikidata"],
        searched_ids: &["ids.ror"],
        autocomplete_order: Some(4),
    }
    /// Funders.
    Funder as FUNDER {
        plural: "funders",
        singular: "funder",
        label: "Funder",
        letter: Some(b'F'),
        route: "funders",
        dump_names: &["funders"],
        other_names: &["alternate_titles"],
        external_ids: &["ids.ror", "ids.doi"],
        searched_ids: &["ids.doi", "ids.ror"],
        autocomplete_order: Some(5),
        reverse_lists: &[(Entity::Output, "funders.id"), (Entity::Award, "funder.id")],
    }
    /// Topics, the leaves of the taxonomy.
    Topic as TOPIC {
        plural: "topics",
        singular: "topic",
        label: "Topic",
        letter: Some(b'T'),
        route: "topics",
        dump_names: &["topics"],
        external_ids: &["ids.wikipedia"],
        autocomplete_order: Some(6),
        taxonomy_level: Some(3),
        reverse_lists: &[(Entity::Output, "topics.id")],
    }
    /// Domains, the top of the taxonomy.
    Domain as DOMAIN {
        plural: "domains",
        singular: "domain",
        label: "Domain",
        route: "domains",
        dump_names: &["domains"],
        other_names: &["display_name_alternatives"],
        external_ids: &["ids.wikidata"],
        autocomplete_order: Some(7),
        taxonomy_level: Some(0),
    }
    /// Fields, the children of domains.
    Field as FIELD {
        plural: "fields",
        singular: "field",
        label: "Field",
        route: "fields",
        dump_names: &["fields"],
        other_names: &["display_name_alternatives"],
        external_ids: &["ids.wikidata"],
        autocomplete_order: Some(8),
        taxonomy_level: Some(1),
    }
    /// Subfields, the children of fields.
    Subfield as SUBFIELD {
        plural: "subfields",
        singular: "subfield",
        label: "Subfield",
        route: "subfields",
        dump_names: &["subfields"],
        other_names: &["display_name_alternatives"],
        external_ids: &["ids.wikidata"],
        autocomplete_order: Some(9),
        taxonomy_level: Some(2),
    }
    /// The reference list of institution types.
    InstitutionType as INSTITUTION_TYPE {
        plural: "institution-types",
        singular: "institution_type",
        label: "Institution type",
        route: "references/institution-types",
        has_single: false,
        is_referenced: false,
        is_generated: true,
        dump_names: &["institution-types", "institution_types"],
    }
    /// Awards of funders, such as grants.
    Award as AWARD {
        plural: "awards",
        singular: "award",
        label: "Award",
        letter: Some(b'G'),
        route: "awards",
        is_referenced: false,
        dump_names: &["awards"],
        searched_ids: &["doi"],
        reverse_lists: &[(Entity::Output, "funders.awards.id")],
    }
}

impl Entity {
    /// Every entity, in the order of the discriminants.
    pub fn all() -> impl DoubleEndedIterator<Item = Entity> + ExactSizeIterator {
        CATALOG.iter().map(|facts| facts.entity)
    }

    /// The entity's row of the table.
    pub fn facts(self) -> &'static Facts {
        &CATALOG[self as usize]
    }

    /// The entity with this discriminant.
    pub fn from_index(index: u8) -> Option<Entity> {
        CATALOG.get(usize::from(index)).map(|facts| facts.entity)
    }

    /// The entity whose dump folder or file is called `name`.
    pub fn from_dump_name(name: &str) -> Option<Entity> {
        CATALOG.iter().find(|facts| facts.dump_names.contains(&name)).map(|facts| facts.entity)
    }

    /// The taxonomy's entities from the leaves up: topics, subfields, fields, domains.
    pub fn taxonomy() -> impl Iterator<Item = Entity> {
        let level = |level: u8| Entity::all().find(|e| e.facts().taxonomy_level == Some(level));
        let top_down: Vec<Entity> = (0..).map_while(level).collect();
        top_down.into_iter().rev()
    }

    /// The entity one level up in the taxonomy; `None` for domains and outside the taxonomy.
    pub fn taxonomy_parent(self) -> Option<Entity> {
        let above = self.facts().taxonomy_level?.checked_sub(1)?;
        Entity::all().find(|entity| entity.facts().taxonomy_level == Some(above))
    }

    /// The entity one level down in the taxonomy; `None` for topics and outside the taxonomy.
    pub fn taxonomy_child(self) -> Option<Entity> {
        Entity::all().find(|entity| entity.taxonomy_parent() == Some(self))
    }

    /// Parses an identifier as a path or a filter spells it: `HX_W12`, or `12` in the taxonomy.
    ///
    /// Leading zeros, signs and other spellings are rejected, so that a record has one address.
    pub fn parse_id(self, text: &str) -> Option<u64> {
        IdFormat::CURRENT.parse(self, text)
    }

    /// Appends the identifier's text, without quotes.
    pub fn write_id(self, id: u64, out: &mut Vec<u8>) {
        IdFormat::CURRENT.write(self, id, out);
    }

    /// The identifier's text.
    pub fn id_text(self, id: u64) -> String {
        IdFormat::CURRENT.text(self, id)
    }
}

/// How one variant of the interface spells identifiers.
#[derive(Debug)]
pub struct IdFormat {
    /// Prefix of identifiers with a letter.
    lettered: &'static str,
    /// Prefix of identifiers that are a number alone.
    numbered: &'static str,
}

impl IdFormat {
    /// `HX_W12`, or `12` in the taxonomy.
    pub const CURRENT: IdFormat = IdFormat { lettered: "HX_", numbered: "" };

    /// The legacy interface's spelling: `OA:T12`, or `OA:3` in the taxonomy.
    pub const LEGACY: IdFormat = IdFormat { lettered: "OA:", numbered: "OA:" };

    /// The prefix of an entity's identifiers; empty where they are bare numbers.
    pub fn prefix(&self, entity: Entity) -> &'static str {
        if entity.facts().letter.is_some() { self.lettered } else { self.numbered }
    }

    /// Parses an identifier, as [`Entity::parse_id`] does.
    pub fn parse(&self, entity: Entity, text: &str) -> Option<u64> {
        let rest = text.strip_prefix(self.prefix(entity))?;
        parse_digits(match entity.facts().letter {
            Some(letter) => rest.strip_prefix(char::from(letter))?,
            None => rest,
        })
    }

    /// Appends the identifier's text, without quotes.
    pub fn write(&self, entity: Entity, id: u64, out: &mut Vec<u8>) {
        out.extend_from_slice(self.prefix(entity).as_bytes());
        out.extend(entity.facts().letter);
        out.extend_from_slice(itoa::Buffer::new().format(id).as_bytes());
    }

    /// The identifier's text in this spelling.
    pub fn text(&self, entity: Entity, id: u64) -> String {
        let mut text = Vec::new();
        self.write(entity, id, &mut text);
        String::from_utf8_lossy(&text).into_owned()
    }
}

impl fmt::Display for Entity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.facts().plural)
    }
}

/// Parses plain ASCII digits without leading zeros, at most [`ID_MAX`].
pub fn parse_digits(digits: &str) -> Option<u64> {
    let has_leading_zero = digits.len() > 1 && digits.starts_with('0');
    if digits.is_empty() || digits.len() > DIGITS_MAX || has_leading_zero {
        return None;
    }
    digits
        .bytes()
        .try_fold(0, |id, byte| byte.is_ascii_digit().then(|| id * 10 + u64::from(byte - b'0')))
}

/// The digits of [`ID_MAX`].
const DIGITS_MAX: usize = 19;

/// The largest number of an identifier: nineteen nines, which is below [`NO_ID`].
pub const ID_MAX: u64 = 9_999_999_999_999_999_999;

/// The id of a reference that has a name but no identifier.
pub const NO_ID: u64 = u64::MAX;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_discriminants_and_complete() {
        for (index, facts) in CATALOG.iter().enumerate() {
            assert_eq!(facts.entity as usize, index);
            for text in [facts.plural, facts.singular, facts.label, facts.route] {
                assert!(!text.is_empty(), "{facts:?}");
            }
            assert!(!facts.dump_names.is_empty(), "{facts:?}");
        }
    }

    #[test]
    fn the_taxonomy_goes_from_topics_up_to_domains() {
        let levels: Vec<Entity> = Entity::taxonomy().collect();
        assert_eq!(levels, [Entity::Topic, Entity::Subfield, Entity::Field, Entity::Domain]);
        for pair in levels.windows(2) {
            assert_eq!(pair[0].taxonomy_parent(), Some(pair[1]));
            assert_eq!(pair[1].taxonomy_child(), Some(pair[0]));
        }
        assert_eq!(Entity::Domain.taxonomy_parent(), None);
        assert_eq!(Entity::Topic.taxonomy_child(), None);
        assert_eq!(Entity::Output.taxonomy_child(), None);
    }

    #[test]
    fn a_record_has_one_address() {
        let check = |entity: Entity, text: &str, expected: Option<u64>| {
            assert_eq!(entity.parse_id(text), expected, "{text}");
        };
        check(Entity::Author, "HX_A1", Some(1));
        check(Entity::Author, "HX_A", None);
        check(Entity::Author, "HX_A01", None);
        check(Entity::Author, "HX_A+1", None);
        check(Entity::Author, "HX_A１", None);
        check(Entity::Author, "hx_a1", None);
        check(Entity::Author, "HX_W1", None);
        check(Entity::Author, "HX_A18446744073709551616", None);
        check(Entity::Domain, "3", Some(3));
        check(Entity::Domain, "0", Some(0));
        check(Entity::Domain, "03", None);
        check(Entity::Domain, "", None);
        check(Entity::Domain, "HX_3", None);
    }
}
