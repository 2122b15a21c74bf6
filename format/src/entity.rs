//! The catalog: the kinds of record, and every fact in which they differ.
//!
//! Routes, identifiers, error words and default orders are read from here; no other module
//! branches on an entity's name.

use std::fmt;

/// A kind of record a snapshot holds. The discriminant is written in files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Entity {
    /// Scholarly works.
    Output = 0,
    /// Authors.
    Author = 1,
    /// Journals, repositories and other venues.
    Source = 2,
    /// Institutions.
    Institution = 3,
    /// Publishers.
    Publisher = 4,
    /// Funders.
    Funder = 5,
    /// Topics, the leaves of the taxonomy.
    Topic = 6,
    /// Domains, the top of the taxonomy.
    Domain = 7,
    /// Fields, the children of domains.
    Field = 8,
    /// Subfields, the children of fields.
    Subfield = 9,
    /// The reference list of institution types.
    InstitutionType = 10,
}

/// What the catalog says of one kind of record.
#[derive(Debug)]
pub struct Facts {
    /// The kind itself.
    pub entity: Entity,
    /// Its directory in a snapshot, its name in reports, and (but for institution types) its route.
    pub plural: &'static str,
    /// Its singular name, as autocomplete and GraphQL say it.
    pub singular: &'static str,
    /// The word error messages use.
    pub word: &'static str,
    /// The letter after `HX_`; `None` where the identifier is a bare number.
    pub letter: Option<u8>,
    /// The path of its list.
    pub route: &'static str,
    /// Whether `{route}/{id}` answers.
    pub has_single: bool,
    /// Whether records of other kinds refer to it, so that its names are kept apart.
    pub is_referenced: bool,
    /// The folder names a dump may use for it.
    pub dump_names: &'static [&'static str],
}

const fn facts(
    entity: Entity,
    plural: &'static str,
    singular: &'static str,
    word: &'static str,
    letter: Option<u8>,
    dump_names: &'static [&'static str],
) -> Facts {
    let is_output = matches!(entity, Entity::Output);
    Facts {
        entity,
        plural,
        singular,
        word,
        letter,
        route: plural,
        has_single: true,
        is_referenced: !is_output,
        dump_names,
    }
}

/// The catalog, in the order of the discriminants.
pub static CATALOG: [Facts; Entity::COUNT] = [
    facts(Entity::Output, "outputs", "output", "Output", Some(b'W'), &["works", "outputs"]),
    facts(Entity::Author, "authors", "author", "Author", Some(b'A'), &["authors"]),
    facts(Entity::Source, "sources", "source", "Source", Some(b'S'), &["sources"]),
    facts(
        Entity::Institution,
        "institutions",
        "institution",
        "Institution",
        Some(b'I'),
        &["institutions"],
    ),
    facts(Entity::Publisher, "publishers", "publisher", "Publisher", Some(b'P'), &["publishers"]),
    facts(Entity::Funder, "funders", "funder", "Funder", Some(b'F'), &["funders"]),
    facts(Entity::Topic, "topics", "topic", "Topic", Some(b'T'), &["topics"]),
    facts(Entity::Domain, "domains", "domain", "Domain", None, &["domains"]),
    facts(Entity::Field, "fields", "field", "Field", None, &["fields"]),
    facts(Entity::Subfield, "subfields", "subfield", "Subfield", None, &["subfields"]),
    Facts {
        route: "references/institution-types",
        has_single: false,
        is_referenced: false,
        ..facts(
            Entity::InstitutionType,
            "institution-types",
            "institution_type",
            "Institution type",
            None,
            &["institution-types", "institution_types"],
        )
    },
];

/// Lists of what refers to a record: its kind, the list, and the key of that list that finds them.
pub static REVERSE_LISTS: [(Entity, Entity, &str); 5] = [
    (Entity::Author, Entity::Output, "authors.id"),
    (Entity::Source, Entity::Output, "primary_venue.source.id"),
    (Entity::Institution, Entity::Output, "authors.affiliations.id"),
    (Entity::Funder, Entity::Output, "funders.id"),
    (Entity::Topic, Entity::Output, "topics.id"),
];

impl Entity {
    /// How many kinds there are.
    pub const COUNT: usize = 11;

    /// Every kind, in the order of the discriminants.
    pub fn all() -> impl DoubleEndedIterator<Item = Entity> + ExactSizeIterator {
        CATALOG.iter().map(|facts| facts.entity)
    }

    /// What the catalog says of this kind.
    pub fn facts(self) -> &'static Facts {
        &CATALOG[self as usize]
    }

    /// The kind with this discriminant, if there is one.
    pub fn from_index(index: u8) -> Option<Entity> {
        CATALOG.get(usize::from(index)).map(|facts| facts.entity)
    }

    /// The kind whose dump folder or file is called `name`.
    pub fn from_dump_name(name: &str) -> Option<Entity> {
        CATALOG.iter().find(|facts| facts.dump_names.contains(&name)).map(|facts| facts.entity)
    }

    /// Reads an identifier as a path or a filter gives it: `HX_W12`, or `12` in the taxonomy.
    ///
    /// Leading zeros, signs and other spellings are not identifiers: one record has one address.
    pub fn parse_id(self, text: &str) -> Option<u64> {
        Spelling::CURRENT.parse(self, text)
    }

    /// Appends the identifier's text, without quotes.
    pub fn write_id(self, id: u64, out: &mut Vec<u8>) {
        Spelling::CURRENT.write(self, id, out);
    }
}

/// How a variant of the interface writes identifiers.
#[derive(Debug)]
pub struct Spelling {
    /// What stands before a letter and a number.
    lettered: &'static str,
    /// What stands before a number alone.
    numbered: &'static str,
}

impl Spelling {
    /// `HX_W12`, or `12` in the taxonomy.
    pub const CURRENT: Spelling = Spelling { lettered: "HX_", numbered: "" };

    /// `OA:T12`, and `OA:3` in the taxonomy: as the older variant has them.
    pub const OLDER: Spelling = Spelling { lettered: "OA:", numbered: "OA:" };

    /// What an identifier of an entity begins with; empty where it is a bare number.
    pub fn prefix(&self, entity: Entity) -> &'static str {
        if entity.facts().letter.is_some() { self.lettered } else { self.numbered }
    }

    /// Reads an identifier, as [`Entity::parse_id`] does.
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
}

impl fmt::Display for Entity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.facts().plural)
    }
}

/// The number that `digits` spells, if it is plain ASCII digits without leading zeros and at most
/// [`ID_MAX`].
pub fn parse_digits(digits: &str) -> Option<u64> {
    let plain = !digits.is_empty()
        && digits.len() <= 19
        && digits.bytes().all(|byte| byte.is_ascii_digit())
        && (digits.len() == 1 || !digits.starts_with('0'));
    if !plain {
        return None;
    }
    digits.parse().ok().filter(|id| *id <= ID_MAX)
}

/// The largest number an identifier may have: nineteen nines, which is below [`NO_ID`].
pub const ID_MAX: u64 = 9_999_999_999_999_999_999;

/// Stands where a reference has a name but no identifier.
pub const NO_ID: u64 = u64::MAX;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_catalog_stands_in_the_order_of_the_discriminants() {
        for (index, facts) in CATALOG.iter().enumerate() {
            assert_eq!(facts.entity as usize, index);
        }
    }

    #[test]
    fn one_record_has_one_address() {
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
