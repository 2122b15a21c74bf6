//! The types of columns: from the declaration of a record to the fields of an Arrow schema.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields, TimeUnit};
use pinakes_format::record::{Member, ObjectSchema, Schema, Shown};

/// The ending of the name of the column with an identifier's number.
const NUMBER: &str = "_number";

/// The step of a path from a list to its elements.
pub const LIST: &str = "list";

/// The type of one column, nested as the values are.
#[derive(Clone, Debug)]
pub struct ColumnType {
    is_nullable: bool,
    pub(crate) kind: ColumnKind,
}

/// The values of a column.
#[derive(Clone, Debug)]
pub enum ColumnKind {
    /// Not selected: the column has no values and no field.
    Skipped,
    /// `true` or `false`.
    Boolean,
    /// An integer of 32 bits.
    Int32,
    /// An integer of 64 bits.
    Int64,
    /// A number of 64 bits, as JSON has it.
    Double,
    /// A text that is likely to be repeated.
    Text,
    /// A long text, such as an abstract.
    LongText,
    /// An identifier as text.
    Id,
    /// An identifier as text, and its number in a column of its own.
    IdAndNumber,
    /// Days since 1970.
    Date,
    /// Microseconds since 1970, in UTC or without a zone.
    Timestamp {
        /// Whether the zone is UTC.
        is_utc: bool,
    },
    /// The members of an object.
    Object(Vec<NamedColumn>),
    /// Columns that belong to the surrounding object.
    Flat(Vec<NamedColumn>),
    /// The items of a list.
    List(Box<ColumnType>),
}

/// A column with the name of its field. The name of a flat column is not used.
#[derive(Clone, Debug)]
pub struct NamedColumn {
    pub(crate) name: &'static str,
    pub(crate) column: ColumnType,
}

impl NamedColumn {
    pub(crate) fn new(name: &'static str, column: ColumnType) -> NamedColumn {
        NamedColumn { name, column }
    }
}

impl ColumnType {
    pub(crate) const SKIPPED: ColumnType = ColumnType::required(ColumnKind::Skipped);

    pub(crate) const fn required(kind: ColumnKind) -> ColumnType {
        ColumnType { is_nullable: false, kind }
    }

    pub(crate) const fn nullable(kind: ColumnKind) -> ColumnType {
        ColumnType { is_nullable: true, kind }
    }

    /// A list that is never null, of items that are never null.
    pub(crate) fn list_of(kind: ColumnKind) -> ColumnType {
        ColumnType::required(ColumnKind::List(Box::new(ColumnType::required(kind))))
    }

    /// The type of the values of a schema, as single records show them.
    pub(crate) fn of(schema: &Schema) -> ColumnType {
        ColumnType::required(match schema {
            Schema::Nullable(inner) => {
                return ColumnType { is_nullable: true, ..ColumnType::of(inner) };
            }
            Schema::ByShape { single, .. } => return ColumnType::of(single),
            Schema::Boolean => ColumnKind::Boolean,
            Schema::Integer { bits: 32, .. } => ColumnKind::Int32,
            Schema::Integer { .. } => ColumnKind::Int64,
            Schema::Number => ColumnKind::Double,
            Schema::LongText => ColumnKind::LongText,
            Schema::Id(_) => ColumnKind::Id,
            // A reference may have a name alone.
            Schema::AnyReference => return ColumnType::nullable(ColumnKind::Id),
            Schema::Date => ColumnKind::Date,
            Schema::Timestamp => ColumnKind::Timestamp { is_utc: false },
            Schema::UtcTimestamp => ColumnKind::Timestamp { is_utc: true },
            Schema::Text
            | Schema::Code(_)
            | Schema::OrcidUrl
            | Schema::Json
            | Schema::YearMap(_) => ColumnKind::Text,
            Schema::Reference(_) | Schema::ParentReference(_) => ColumnKind::Object(vec![
                NamedColumn::new("id", ColumnType::nullable(ColumnKind::Id)),
                NamedColumn::new("name", ColumnType::nullable(ColumnKind::Text)),
            ]),
            Schema::NamedCode(_) => ColumnKind::Object(vec![
                NamedColumn::new("code", ColumnType::required(ColumnKind::Text)),
                NamedColumn::new("name", ColumnType::nullable(ColumnKind::Text)),
            ]),
            Schema::List(inner) => ColumnKind::List(Box::new(ColumnType::of(inner))),
            Schema::Object(object) => ColumnKind::Object(columns_of(object)),
        })
    }

    /// The same columns as members of the surrounding object.
    pub(crate) fn flattened(self) -> ColumnType {
        match self.kind {
            ColumnKind::Object(columns) => ColumnType::required(ColumnKind::Flat(columns)),
            _ => self,
        }
    }

    /// Adds the number of each identifier below. An item of a list is one column, so that lists of identifiers
    /// stay as they are.
    pub(crate) fn add_numbers(&mut self) {
        match &mut self.kind {
            ColumnKind::Id => self.kind = ColumnKind::IdAndNumber,
            ColumnKind::Object(columns) | ColumnKind::Flat(columns) => {
                columns.iter_mut().for_each(|inner| inner.column.add_numbers());
            }
            ColumnKind::List(items) if matches!(items.kind, ColumnKind::Object(_)) => {
                items.add_numbers();
            }
            _ => {}
        }
    }

    /// Skips every column below that is not among the selected members.
    pub(crate) fn select(&mut self, members: &[Member]) {
        match &mut self.kind {
            ColumnKind::List(items) => items.select(members),
            ColumnKind::Object(columns) => {
                columns.iter_mut().for_each(|NamedColumn { name, column }| {
                    column.select_member(name, members);
                });
            }
            ColumnKind::Flat(columns) => {
                let mut is_any_kept = false;
                for NamedColumn { name, column } in columns {
                    column.select_member(name, members);
                    is_any_kept |= !matches!(column.kind, ColumnKind::Skipped);
                }
                if !is_any_kept {
                    *self = ColumnType::SKIPPED;
                }
            }
            _ => {}
        }
    }

    fn select_member(&mut self, name: &str, members: &[Member]) {
        if let ColumnKind::Flat(_) = self.kind {
            return self.select(members);
        }
        match members.iter().find(|member| member.name == name) {
            Some(member) if member.members.is_empty() => {}
            Some(member) => self.select(&member.members),
            None => *self = ColumnType::SKIPPED,
        }
    }

    /// Collects the paths of the leaves that `is_meant` accepts, as Parquet names them.
    pub(crate) fn add_leaves(
        &self,
        path: &mut Vec<String>,
        is_meant: &impl Fn(&ColumnKind) -> bool,
        found: &mut Vec<Vec<String>>,
    ) {
        match &self.kind {
            ColumnKind::Skipped => {}
            ColumnKind::Object(columns) | ColumnKind::Flat(columns) => {
                for NamedColumn { name, column } in columns {
                    let is_named = !matches!(column.kind, ColumnKind::Flat(_)) && !name.is_empty();
                    path.extend(is_named.then(|| (*name).to_owned()));
                    column.add_leaves(path, is_meant, found);
                    path.truncate(path.len() - usize::from(is_named));
                }
            }
            ColumnKind::List(items) => {
                path.extend([LIST.to_owned(), "element".to_owned()]);
                items.add_leaves(path, is_meant, found);
                path.truncate(path.len() - 2);
            }
            kind if is_meant(kind) => found.push(path.clone()),
            _ => {}
        }
    }

    pub(crate) fn data_type(&self) -> DataType {
        match &self.kind {
            ColumnKind::Skipped => DataType::Null,
            ColumnKind::Boolean => DataType::Boolean,
            ColumnKind::Int32 => DataType::Int32,
            ColumnKind::Int64 => DataType::Int64,
            ColumnKind::Double => DataType::Float64,
            ColumnKind::Text | ColumnKind::LongText | ColumnKind::Id | ColumnKind::IdAndNumber => {
                DataType::Utf8
            }
            ColumnKind::Date => DataType::Date32,
            ColumnKind::Timestamp { is_utc } => {
                DataType::Timestamp(TimeUnit::Microsecond, zone_of(*is_utc))
            }
            ColumnKind::Object(columns) | ColumnKind::Flat(columns) => {
                DataType::Struct(fields_of(columns))
            }
            ColumnKind::List(items) => {
                let mut item = Vec::new();
                items.add_fields("element", &mut item);
                // The items of a list are one field.
                DataType::List(Arc::new(item.swap_remove(0)))
            }
        }
    }

    fn add_fields(&self, name: &str, fields: &mut Vec<Field>) {
        match &self.kind {
            ColumnKind::Skipped => {}
            ColumnKind::Flat(columns) => {
                columns.iter().for_each(|inner| {
                    let name = if name == "element" { name } else { inner.name };
                    inner.column.add_fields(name, fields);
                });
            }
            kind => {
                fields.push(Field::new(name, self.data_type(), self.is_nullable));
                if let ColumnKind::IdAndNumber = kind {
                    let name = format!("{name}{NUMBER}");
                    fields.push(Field::new(name, DataType::UInt64, self.is_nullable));
                }
            }
        }
    }
}

/// The time zone of a timestamp.
pub(crate) fn zone_of(is_utc: bool) -> Option<Arc<str>> {
    is_utc.then(|| "UTC".into())
}

/// The fields of columns that are not skipped.
pub(crate) fn fields_of(columns: &[NamedColumn]) -> Fields {
    let mut fields = Vec::new();
    columns.iter().for_each(|inner| inner.column.add_fields(inner.name, &mut fields));
    fields.into()
}

/// The columns of an object's members, in the order of the declaration.
fn columns_of(object: &ObjectSchema) -> Vec<NamedColumn> {
    let columns = object.members.iter().map(|member| {
        let column = ColumnType::of(&member.schema);
        let is_flat = member.shown == Shown::Flat;
        NamedColumn::new(member.name, if is_flat { column.flattened() } else { column })
    });
    columns.collect()
}
