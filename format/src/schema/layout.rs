//! Text descriptions of the layout of records and of their indexes, derived from the declarations.
//!
//! The tables of FORMAT.md and the schema hash in file headers come from these texts, so the words
//! in them are part of the format.

use std::{fmt::Write, sync::LazyLock};

use crate::entity::Entity;
use crate::record::schema::MemberSchema;
use crate::record::{ObjectSchema, Schema, Shown, schema_of};
use crate::schema::keys::{CountedOrder, Order, TermLists, Terms, Values, keys_of};
use crate::schema::texts::describe_texts;

/// Describes the layout of a record, one line per member: its first flag, its flags, name and type. An
/// object follows the objects it contains.
pub fn describe(entity: Entity) -> String {
    let mut text = String::new();
    let mut done = Vec::new();
    object_of(&schema_of(entity), &mut text, &mut done);
    text
}

fn object_of(schema: &Schema, text: &mut String, done: &mut Vec<&'static str>) {
    match schema {
        Schema::Object(object) if !done.contains(&object.name) => {
            done.push(object.name);
            for member in &object.members {
                object_of(&member.schema, text, done);
            }
            write_object(object, text);
        }
        Schema::Nullable(inner) | Schema::List(inner) => object_of(inner, text, done),
        Schema::ByShape { single, .. } => object_of(single, text, done),
        _ => {}
    }
}

fn write_object(object: &ObjectSchema, text: &mut String) {
    let bits: u32 = object.members.iter().map(|member| member.flag_bits).sum();
    let _ = writeln!(text, "{} ({} bytes of flags)", object.name, bits.div_ceil(8));
    let mut first = 0;
    for MemberSchema { name, shown, schema, flag_bits, .. } in &object.members {
        let mark = match shown {
            Shown::Always => "",
            Shown::Single => "  [single records only]",
            Shown::KeyOnly => "  [exports only]",
            Shown::Flat => "  [members of the object around it]",
        };
        let _ = writeln!(text, "  {first:>2} {flag_bits}  {name}: {}{mark}", name_of(schema));
        first += flag_bits;
    }
}

/// The name of a type in FORMAT.md.
pub fn name_of(schema: &Schema) -> String {
    match schema {
        Schema::Integer { signed: true, bits } => format!("i{bits}"),
        Schema::Integer { signed: false, bits } => format!("u{bits}"),
        Schema::Number => "f64".into(),
        Schema::Boolean => "bool".into(),
        Schema::Text => "string".into(),
        Schema::LongText => "long_text".into(),
        Schema::Id(entity) => format!("id of {entity}"),
        Schema::Reference(entity) => format!("row of {entity}"),
        Schema::ParentReference(entity) => format!("parent row of {entity}"),
        Schema::AnyReference => "entity and row".into(),
        Schema::Code(table) => format!("code {table:?}"),
        Schema::NamedCode(table) => format!("named code {table:?}"),
        Schema::Date => "date".into(),
        Schema::Timestamp => "timestamp".into(),
        Schema::UtcTimestamp => "UTC timestamp".into(),
        Schema::OrcidUrl => "orcid".into(),
        Schema::Json => "JSON text".into(),
        Schema::Nullable(inner) => format!("{}?", name_of(inner)),
        Schema::List(inner) => format!("[{}]", name_of(inner)),
        Schema::Object(object) => object.name.into(),
        Schema::ByShape { single, list } => {
            format!("{} (in lists {})", name_of(single), name_of(list))
        }
        Schema::YearMap(inner) => format!("year → {}", name_of(inner)),
    }
}

/// Describes the indexes of an entity: one line per posting lists, order, counted order, path of target rows and searched
/// text. The crossed lists have one line together, and so have the paths of the searched names. Empty if the entity has no index.
pub fn describe_keys(entity: Entity) -> String {
    let keys = keys_of(entity);
    let mut text = String::new();
    if keys.lists.is_empty() && keys.orders.is_empty() {
        return text;
    }
    let _ = writeln!(text, "{entity}");
    for (number, TermLists { path, terms }) in keys.lists.iter().enumerate() {
        let (bytes, name) = (terms.bytes(), name_of_terms(*terms));
        let _ = writeln!(text, "  lists {number:>3}  {path}: {name}, {bytes} bytes");
    }
    for (number, order) in keys.orders.iter().enumerate() {
        let Order { path, values, is_row_order, .. } = order;
        let name = name_of_values(*values);
        let direction = if order.is_descending() { "descending" } else { "ascending" };
        let mark = if *is_row_order { ", the rows' own" } else { "" };
        let _ = writeln!(text, "  order {number:>3}  {path}: {name}, {direction}{mark}");
    }
    if !keys.crossed.is_empty() {
        let paths = keys.crossed.iter().map(|number| keys.lists[*number].path.as_str());
        let _ = writeln!(text, "  crossed    {}", paths.collect::<Vec<_>>().join(", "));
    }
    for (number, CountedOrder { first, order }) in keys.counted.iter().enumerate() {
        let paths = first.iter().chain([order]).map(|number| keys.orders[*number].path.as_str());
        let _ = writeln!(text, "  counted {number:>1}  {}", paths.collect::<Vec<_>>().join(", "));
    }
    for (number, lists) in keys.targets.iter().enumerate() {
        let TermLists { path, terms } = &keys.lists[*lists];
        let _ = writeln!(text, "  targets {number:>1}  {path}: {}", name_of_terms(*terms));
    }
    if !keys.names.is_empty() {
        let _ = writeln!(text, "  names      {}", keys.names.join(", "));
    }
    text + &describe_texts(entity)
}

fn name_of_terms(terms: Terms) -> String {
    match terms {
        Terms::Rows(entity) => format!("row of {entity}"),
        Terms::AnyRows => "entity and row".into(),
        Terms::Values => "value".into(),
        Terms::Identifiers(scheme) => format!("identifier {scheme:?}"),
        Terms::Codes => "code".into(),
        Terms::Texts => "text".into(),
        Terms::Prefixes => "prefix".into(),
        Terms::Presence => "presence".into(),
    }
}

fn name_of_values(values: Values) -> &'static str {
    match values {
        Values::Integers => "integers",
        Values::Numbers => "numbers",
        Values::Days => "days",
        Values::Moments => "moments",
        Values::Texts => "texts",
        Values::Codes => "codes",
        Values::Ids => "ids",
    }
}

/// The schema hash in file headers: the first eight bytes, little-endian, of the BLAKE3 hash of the
/// concatenated [`describe`] and then [`describe_keys`] of all entities.
pub fn schema_hash() -> u64 {
    static HASH: LazyLock<u64> = LazyLock::new(|| {
        let mut hasher = blake3::Hasher::new();
        for entity in Entity::all() {
            hasher.update(describe(entity).as_bytes());
        }
        for entity in Entity::all() {
            hasher.update(describe_keys(entity).as_bytes());
        }
        let mut first = [0; 8];
        first.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
        u64::from_le_bytes(first)
    });
    *HASH
}

/// The schema hash as the manifest writes it: 16 hex digits.
pub fn schema_digits() -> String {
    format!("{:016x}", schema_hash())
}
