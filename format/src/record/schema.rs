//! What a declaration says of a record, as values: for documentation, OpenAPI and the byte format.

use crate::entity::Entity;

use crate::record::value::Table;

/// The shape of one member's value.
#[derive(Clone, Debug)]
pub enum Schema {
    /// A JSON integer of at most 53 bits, negative if `signed`.
    Integer {
        /// Whether it may be negative.
        signed: bool,
        /// Bits of its archived form.
        bits: u8,
    },
    /// A JSON number, fractional or not.
    Number,
    /// `true` or `false`.
    Boolean,
    /// A string.
    Text,
    /// A string kept in the record's compressed text.
    ColdText,
    /// The record's own identifier.
    Id(Entity),
    /// A reference, rendered as its `id` and `name`.
    Reference(Entity),
    /// A reference from child to parent in the taxonomy: as `Reference`, but its `id` is a string.
    ParentReference(Entity),
    /// The identifier of a record of any kind.
    AnyReference,
    /// A short text out of a table of codes.
    Code(Table),
    /// A code with its name, rendered as `{code, name}`.
    NamedCode(Table),
    /// `YYYY-MM-DD`.
    Date,
    /// `YYYY-MM-DDTHH:MM:SS`, with a fraction if there is one.
    Timestamp,
    /// A timestamp in its millisecond form, with `Z`.
    UtcTimestamp,
    /// An ORCID iD, rendered as a URL.
    OrcidUrl,
    /// Any JSON object, kept as its text.
    Json,
    /// The value, or `null`.
    Nullable(Box<Schema>),
    /// An array.
    List(Box<Schema>),
    /// An object with members of its own.
    Object(Object),
    /// One shape in a single record, another in a list.
    ByShape {
        /// In a single record.
        single: Box<Schema>,
        /// In a list.
        list: Box<Schema>,
    },
    /// An object whose keys are years.
    YearMap(Box<Schema>),
}

/// An object's declaration.
#[derive(Clone, Debug)]
pub struct Object {
    /// Its name in code, which OpenAPI and GraphQL use too.
    pub name: &'static str,
    /// Its summary.
    pub doc: &'static str,
    /// Its members, in the interface's order.
    pub members: Vec<Member>,
}

/// One member of an object.
#[derive(Clone, Debug)]
pub struct Member {
    /// Its name in JSON.
    pub name: &'static str,
    /// Its description.
    pub doc: &'static str,
    /// Where it appears.
    pub shown: Shown,
    /// Its value.
    pub schema: Schema,
    /// How many bytes its archived form takes in place.
    pub archived_bytes: usize,
}

/// Where a member appears.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// In single records and in lists.
    Always,
    /// In single records alone.
    Single,
    /// In place of itself: the reference's `id` and `name` are members of the object around it.
    Flat,
}

/// A type that can appear in a record declaration.
pub trait Describe {
    /// The shape of its values.
    fn schema() -> Schema;
}

impl<T: Describe> Describe for Option<T> {
    fn schema() -> Schema {
        Schema::Nullable(Box::new(T::schema()))
    }
}

impl<T: Describe> Describe for Vec<T> {
    fn schema() -> Schema {
        Schema::List(Box::new(T::schema()))
    }
}

macro_rules! describe {
    ($($type:ty => $schema:ident),* $(,)?) => {
        $(impl Describe for $type {
            fn schema() -> Schema {
                Schema::$schema
            }
        })*
    };
}

impl Describe for i32 {
    fn schema() -> Schema {
        Schema::Integer { signed: true, bits: 32 }
    }
}

impl Describe for i64 {
    fn schema() -> Schema {
        Schema::Integer { signed: true, bits: 64 }
    }
}

impl Describe for u64 {
    fn schema() -> Schema {
        Schema::Integer { signed: false, bits: 64 }
    }
}

describe! {
    bool => Boolean,
    f64 => Number,
    String => Text,
}
