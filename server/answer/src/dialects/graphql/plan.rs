//! Plans an operation: parses its arguments, resolves its fields to members of records, and computes an
//! upper bound of the records that it reads.
//!
//! A record costs 1, plus the cost of the records that it refers to. A list costs 1, plus `per_page` times
//! the cost of a record. A list of references inside a record counts as one reference, because its length
//! is unknown before execution; the executor counts the records that it reads.
//!
//! Example: `{ outputs(per_page: 10) { results { id source { source { name } } } } }` costs 1 + 10 × 2 = 21.

use pinakes_format::autocomplete::{Completion, RESULTS_MAX};
use pinakes_format::entity::Entity;
use pinakes_format::json::select::{MemberSelection, Selected, SelectedValue};
use pinakes_format::query::Query;
use pinakes_format::schema::keys_of;

use crate::complete::candidates::parse_entity_type;
use crate::complete::query::{TextError, check};
use crate::dialects::graphql::document::{QueryDocument, SelectedField};
use crate::dialects::graphql::error::Error;
use crate::dialects::graphql::field::FieldSource;
use crate::dialects::graphql::types::Types;
use crate::list::parameters::CURRENT;
use crate::list::query::parse_pairs;
use crate::reply::{BAD_QUERY_MESSAGE, PREFIX_REQUIRED, QUERY_REQUIRED};
use crate::request::body::BODY_BYTES_MAX;

/// Bytes of all arguments of an operation; a variable counts at each use.
const ARGUMENT_BYTES_MAX: usize = BODY_BYTES_MAX;
/// Fields with invalid arguments. Searching for a suggestion takes longer than finding the error.
const INVALID_FIELDS_MAX: usize = 10;

/// The number of the score among resolved values. No list has this number.
pub const SCORE: usize = usize::MAX;

/// An operation that the executor can run. Keys are written as JSON, with quotes and colon.
pub struct Plan<'d> {
    /// The fields of `data`, in the order of the document.
    pub roots: Vec<RootField<'d>>,
    /// All lists, of root fields and inside records; an error makes its field null.
    pub lists: Vec<Result<ListPlan, Error>>,
}

pub struct RootField<'d> {
    pub key: String,
    pub value: RootValue<'d>,
}

pub enum RootValue<'d> {
    /// This JSON.
    Constant(String),
    /// A record by its identifier.
    Record(Entity, u64, MemberSelection),
    /// An index into [`Plan::lists`].
    List(usize),
    Autocomplete(AutocompletePlan),
    /// `null`, with an error.
    Invalid(Error),
    /// The schema, or a type by name.
    Schema(Option<String>, &'d SelectedField<'d>),
}

pub struct ListPlan {
    /// The query from the arguments.
    pub query: Query,
    /// The filter key that selects the records related to the enclosing record; `None` at the root.
    pub key: Option<&'static str>,
    pub members: Vec<(String, PageMember)>,
}

pub struct AutocompletePlan {
    pub completion: Completion,
    pub members: Vec<(String, PageMember)>,
}

pub enum PageMember {
    /// This JSON.
    Constant(String),
    Meta(Vec<(String, NamedMember)>),
    /// The records of a list.
    Results(MemberSelection),
    /// The candidates of autocomplete.
    Candidates(Vec<(String, NamedMember)>),
}

/// A member of `meta` or of a candidate.
pub enum NamedMember {
    /// This JSON.
    Constant(String),
    /// The member with this name in REST.
    Member(&'static str),
}

/// Plans an operation.
///
/// Fails if the operation exceeds a limit: of records, of bytes of arguments, or of invalid fields.
pub fn plan<'d>(
    types: &Types,
    document: &'d QueryDocument,
    root_fields: &'d [SelectedField<'d>],
    records_max: u64,
) -> Result<Plan<'d>, Vec<Error>> {
    let mut planner =
        Planner { types, document, lists: Vec::new(), argument_bytes: 0, invalid_fields: 0 };
    let mut roots = Vec::with_capacity(root_fields.len());
    let mut records: u64 = 0;
    for field in root_fields {
        let (value, cost) = planner.root_value(field).map_err(|error| vec![error])?;
        records = records.saturating_add(cost);
        roots.push(RootField { key: field.written_key(), value });
    }
    if records > records_max {
        let message = format!(
            "asks for up to {records} records at once, of {records_max} at most; lower per_page, \
             or ask in parts"
        );
        return Err(vec![Error::new(message)]);
    }
    Ok(Plan { roots, lists: planner.lists })
}

struct Planner<'d, 't> {
    types: &'t Types,
    document: &'d QueryDocument,
    lists: Vec<Result<ListPlan, Error>>,
    /// Bytes of the arguments parsed so far; a variable counts at each use.
    argument_bytes: usize,
    invalid_fields: usize,
}

impl<'d> Planner<'d, '_> {
    /// Plans a root field; returns its value and its cost in records.
    fn root_value(&mut self, field: &'d SelectedField<'d>) -> Result<(RootValue<'d>, u64), Error> {
        let name = field.field.name.as_str();
        match (name, self.types.source(field.type_name, name)) {
            ("__typename", _) => Ok((RootValue::Constant(written_type_name(field)), 0)),
            ("__schema", _) => Ok((RootValue::Schema(None, field), 0)),
            ("__type", _) => {
                let name = self.argument(field, "name")?.unwrap_or_default();
                Ok((RootValue::Schema(Some(name), field), 0))
            }
            (_, Some(FieldSource::ById(entity))) => {
                let id = self.argument(field, "id")?.unwrap_or_default();
                let (selection, cost) = self.selection(&field.children)?;
                let value = match parse_id(*entity, &id) {
                    Ok(Some(number)) => RootValue::Record(*entity, number, selection),
                    Ok(None) => RootValue::Constant("null".to_owned()),
                    // Not counted as an invalid field: this error needs no search for a suggestion.
                    Err(error) => RootValue::Invalid(error),
                };
                Ok((value, cost.saturating_add(1)))
            }
            (_, Some(FieldSource::List(entity, key))) => {
                let (number, cost) = self.list(*entity, *key, field)?;
                Ok((RootValue::List(number), cost))
            }
            (_, Some(FieldSource::Autocomplete)) => self.autocomplete(field),
            _ => Err(unplanned(field)),
        }
    }

    /// Plans the fields below a value; returns the selection, and the cost of further records.
    fn selection(
        &mut self,
        fields: &'d [SelectedField<'d>],
    ) -> Result<(MemberSelection, u64), Error> {
        let mut selected = Vec::with_capacity(fields.len());
        let mut cost: u64 = 0;
        for field in fields {
            let name = field.field.name.as_str();
            let value = if name == "__typename" {
                SelectedValue::Constant(written_type_name(field).into())
            } else {
                let source =
                    self.types.source(field.type_name, name).ok_or_else(|| unplanned(field))?;
                let (value, below) = self.value(source, field)?;
                cost = cost.saturating_add(below);
                value
            };
            selected.push(Selected { key: field.written_key().into(), value });
        }
        Ok((MemberSelection(selected), cost))
    }

    fn value(
        &mut self,
        source: &FieldSource,
        field: &'d SelectedField<'d>,
    ) -> Result<(SelectedValue, u64), Error> {
        match source {
            FieldSource::Member(at) => {
                let (selection, cost) = self.selection(&field.children)?;
                Ok((SelectedValue::Member(*at, selection), cost))
            }
            FieldSource::Flat(at, inner) => {
                let (value, cost) = self.value(inner, field)?;
                Ok((SelectedValue::Flat(*at, Box::new(value)), cost))
            }
            FieldSource::Id => Ok((SelectedValue::Id, 0)),
            FieldSource::Name => Ok((SelectedValue::Name, 0)),
            FieldSource::Code => Ok((SelectedValue::Code, 0)),
            FieldSource::Score => Ok((SelectedValue::Resolved(SCORE), 0)),
            FieldSource::Record(_) => {
                let (selection, cost) = self.selection(&field.children)?;
                Ok((SelectedValue::Record(selection), cost.saturating_add(1)))
            }
            FieldSource::List(entity, key) => {
                let (number, cost) = self.list(*entity, *key, field)?;
                Ok((SelectedValue::Resolved(number), cost))
            }
            _ => Err(unplanned(field)),
        }
    }

    fn list(
        &mut self,
        entity: Entity,
        key: Option<&'static str>,
        field: &'d SelectedField<'d>,
    ) -> Result<(usize, u64), Error> {
        let mut arguments = Vec::new();
        for (parameter, argument) in CURRENT.arguments(keys_of(entity)) {
            let value = self.argument(field, argument.name)?;
            arguments.extend(value.map(|value| (parameter.names[0].to_owned(), value)));
        }
        // Invalid arguments make this field null, and leave the other fields as they are.
        let query = match parse_list_query(entity, arguments) {
            Ok(query) => query,
            Err(error) => {
                let error = self.invalid(field, error)?;
                self.lists.push(Err(error));
                return Ok((self.lists.len() - 1, 0));
            }
        };
        let mut members = Vec::with_capacity(field.children.len());
        // A list costs each of its records, times the cost of the selection below a record.
        let mut cost: u64 = 1;
        for child in &field.children {
            let member = match self.types.source(child.type_name, child.field.name.as_str()) {
                Some(FieldSource::Results) => {
                    let (selection, below) = self.selection(&child.children)?;
                    let records = u64::from(query.per_page).saturating_mul(below.saturating_add(1));
                    cost = cost.saturating_add(records);
                    PageMember::Results(selection)
                }
                _ => self.meta(child)?,
            };
            members.push((child.written_key(), member));
        }
        self.lists.push(Ok(ListPlan { query, key, members }));
        Ok((self.lists.len() - 1, cost))
    }

    /// Reads an argument, and adds its length to the bytes of all arguments. Without that limit, parsing
    /// one long filter for each of two thousand lists took seconds and gigabytes.
    fn argument(&mut self, field: &SelectedField<'_>, name: &str) -> Result<Option<String>, Error> {
        let value = self.document.argument(field.field, name);
        self.argument_bytes += value.as_ref().map_or(0, String::len);
        if self.argument_bytes > ARGUMENT_BYTES_MAX {
            let message = format!(
                "has arguments of more than {ARGUMENT_BYTES_MAX} bytes, each counted wherever it is \
                 used; ask in parts"
            );
            return Err(self.document.locate(field.field, Error::new(message)));
        }
        Ok(value)
    }

    /// Counts a field with invalid arguments; past the limit, the error is of the whole operation.
    ///
    /// Without the limit, the search for suggestions would cost all keys times all invalid fields.
    fn invalid(&mut self, field: &SelectedField<'_>, error: Error) -> Result<Error, Error> {
        self.invalid_fields += 1;
        if self.invalid_fields > INVALID_FIELDS_MAX {
            let message = format!(
                "has wrong arguments in more than {INVALID_FIELDS_MAX} fields, this one among them; ask in \
                 parts to be told what would be right"
            );
            return Err(self.document.locate(field.field, Error::new(message)));
        }
        Ok(self.document.locate(field.field, error))
    }

    fn autocomplete(
        &mut self,
        field: &'d SelectedField<'d>,
    ) -> Result<(RootValue<'d>, u64), Error> {
        let text = self.argument(field, "query")?.unwrap_or_default();
        let name = self.argument(field, "entity_type")?;
        let completion = match parse_autocomplete(&text, name.as_deref()) {
            Ok(completion) => completion,
            Err(error) => return Ok((RootValue::Invalid(self.invalid(field, error)?), 0)),
        };
        let mut members = Vec::with_capacity(field.children.len());
        for child in &field.children {
            let member = match self.types.source(child.type_name, child.field.name.as_str()) {
                Some(FieldSource::Results) => PageMember::Candidates(self.named_members(child)?),
                _ => self.meta(child)?,
            };
            members.push((child.written_key(), member));
        }
        let value = RootValue::Autocomplete(AutocompletePlan { completion, members });
        Ok((value, 1 + RESULTS_MAX as u64))
    }

    /// Plans `meta` or `__typename` of a page.
    fn meta(&self, field: &SelectedField<'_>) -> Result<PageMember, Error> {
        if field.field.name == "__typename" {
            return Ok(PageMember::Constant(written_type_name(field)));
        }
        Ok(PageMember::Meta(self.named_members(field)?))
    }

    fn named_members(
        &self,
        field: &SelectedField<'_>,
    ) -> Result<Vec<(String, NamedMember)>, Error> {
        let member = |child: &SelectedField<'_>| {
            let name = child.field.name.as_str();
            let member = match self.types.source(child.type_name, name) {
                Some(FieldSource::Named(name)) => NamedMember::Member(name),
                _ if name == "__typename" => NamedMember::Constant(written_type_name(child)),
                _ => return Err(unplanned(child)),
            };
            Ok((child.written_key(), member))
        };
        field.children.iter().map(member).collect()
    }
}

fn written_type_name(field: &SelectedField<'_>) -> String {
    format!("\"{}\"", field.type_name)
}

/// Unreachable for a valid document, because one declaration generates both the types and the schema.
fn unplanned(field: &SelectedField<'_>) -> Error {
    Error::new(format!("`{}.{}` cannot be answered", field.type_name, field.field.name))
}

/// Parses the arguments of a list as the REST parameters of the same names.
fn parse_list_query(entity: Entity, arguments: Vec<(String, String)>) -> Result<Query, Error> {
    let parsed = parse_pairs(Query::new(entity), &CURRENT, arguments.into_iter().map(Ok));
    parsed.map_err(|details| Error::new(BAD_QUERY_MESSAGE).with_details(details))
}

/// Parses the arguments of `autocomplete`.
fn parse_autocomplete(text: &str, entity_type: Option<&str>) -> Result<Completion, Error> {
    check(text).map_err(|error| match error {
        TextError::Missing => Error::new(QUERY_REQUIRED),
        TextError::Invalid(details) => Error::new(BAD_QUERY_MESSAGE).with_details(details),
    })?;
    let entities = parse_entity_type(entity_type)
        .map_err(|detail| Error::new(BAD_QUERY_MESSAGE).with_details(vec![detail]))?;
    Ok(Completion::new(entities, text))
}

/// Parses an identifier; `None` for text that no record has as its identifier.
fn parse_id(entity: Entity, id: &str) -> Result<Option<u64>, Error> {
    if entity.facts().letter.is_some() && !id.starts_with("HX_") {
        return Err(Error::new(PREFIX_REQUIRED));
    }
    Ok(entity.parse_id(id))
}
