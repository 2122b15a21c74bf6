//! The declarations as values: for OpenAPI, GraphQL, filter paths and the byte format.

use crate::entity::Entity;

use crate::record::value::Table;

/// The type of a value, as the interface shows it.
#[derive(Clone, Debug)]
pub enum Schema {
    /// A JSON integer of at most 53 bits.
    Integer {
        /// Whether it may be negative.
        signed: bool,
        /// Bits of the value.
        bits: u8,
    },
    /// A JSON number, an `f64`.
    Number,
    /// `true` or `false`.
    Boolean,
    /// A string stored in the record itself.
    Text,
    /// A string stored in the record's compressed pool.
    LongText,
    /// The record's own identifier.
    Id(Entity),
    /// A reference, rendered as `id` and `name`.
    Reference(Entity),
    /// A reference from child to parent in the taxonomy: a `Reference` whose `id` is a string.
    ParentReference(Entity),
    /// The identifier of a record of any entity.
    AnyReference,
    /// A short text from a table of codes.
    Code(Table),
    /// A code with its name, rendered as `{code, name}`.
    NamedCode(Table),
    /// `YYYY-MM-DD`.
    Date,
    /// `YYYY-MM-DDTHH:MM:SS`, with a fraction of up to 6 digits.
    Timestamp,
    /// `YYYY-MM-DDTHH:MM:SS.mmmZ`.
    UtcTimestamp,
    /// An ORCID iD, rendered as a URL.
    OrcidUrl,
    /// An arbitrary JSON object.
    Json,
    /// The value, or `null`.
    Nullable(Box<Schema>),
    /// An array of values of one schema.
    List(Box<Schema>),
    /// An object with declared members.
    Object(ObjectSchema),
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
pub struct ObjectSchema {
    /// Name of the type in the code, in OpenAPI and in GraphQL.
    pub name: &'static str,
    /// Summary for documentation.
    pub doc: &'static str,
    /// The members in the order of the interface.
    pub members: Vec<MemberSchema>,
    /// The names of the members in the order of lists, where lists have another order; else empty.
    pub list_order: &'static [&'static str],
}

/// One member of an object.
#[derive(Clone, Debug)]
pub struct MemberSchema {
    /// Name in JSON.
    pub name: &'static str,
    /// Description for documentation.
    pub doc: &'static str,
    /// The shapes in which the member appears.
    pub shown: Shown,
    /// Schema of the value.
    pub schema: Schema,
    /// Bits of the value among the flags of the object.
    pub flag_bits: u32,
}

/// Where a member appears.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// In single records and in lists.
    Always,
    /// In single records only.
    Single,
    /// Replaced by its own members: they become members of the surrounding object.
    Flat,
    /// In no reply: the lines of exports have the value, and a filter key may.
    KeyOnly,
}

/// A type that can appear in a record declaration.
pub trait Describe {
    /// The schema of the values.
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
