//! Parses and validates a GraphQL document, and turns its operation into a tree of selected fields.
//!
//! The tree has fragments inlined, `@skip` and `@include` applied, and fields of one response key merged.
//! The parser bounds tokens and nesting. Before the tree is built, this module bounds its fields and its
//! depth; fragments count at each use.

use std::collections::{HashMap, HashSet};

use apollo_compiler::executable::{Field, Operation, Selection, SelectionSet, Value};
use apollo_compiler::parser::Parser;
use apollo_compiler::request::coerce_variable_values;
use apollo_compiler::response::{JsonMap, JsonValue};
use apollo_compiler::validation::Valid;
use apollo_compiler::{ExecutableDocument, Schema};

use crate::dialects::graphql::error;
use crate::dialects::graphql::error::Error;

/// Tokens of a document, including white space. The most expensive document of `make bench`, braces
/// alone, took 2.9 ms to refuse at 4,000 tokens.
const TOKENS_MAX: usize = 2_500;
/// Levels of braces and brackets that the parser accepts; more than any accepted depth of fields.
const NESTING_MAX: usize = 24;
/// Fields of an operation; the fields of a fragment count at each use.
const FIELDS_MAX: u64 = 4_000;
/// Levels of fields below a data field.
const DEPTH_MAX: usize = 12;
/// Levels of fields below `__schema` and `__type`; introspection queries of tools need more.
const INTROSPECTION_DEPTH_MAX: usize = 20;

/// A GraphQL request, as the client posted it.
#[derive(Debug)]
pub struct GraphqlRequest {
    /// The document, as text.
    pub query: String,
    /// The values of the document's variables.
    pub variables: JsonMap,
    /// The operation to run, in a document with several.
    pub operation_name: Option<String>,
}

/// A valid document with the variables of one operation.
pub struct QueryDocument {
    document: Valid<ExecutableDocument>,
    variables: Valid<JsonMap>,
    operation_name: Option<String>,
}

/// A selected field and the fields selected below it.
pub struct SelectedField<'d> {
    /// The name of the field in the answer: the alias, or the field's own name.
    pub response_key: &'d str,
    /// The first of the merged fields.
    pub field: &'d Field,
    /// The object type that declares the field.
    pub type_name: &'d str,
    pub children: Vec<SelectedField<'d>>,
}

impl SelectedField<'_> {
    /// The response key as JSON writes it before a value. Names in GraphQL need no escapes.
    pub fn written_key(&self) -> String {
        format!("\"{}\":", self.response_key)
    }
}

impl QueryDocument {
    /// Parses and validates a request against the schema.
    pub fn parse(
        schema: &Valid<Schema>,
        request: GraphqlRequest,
    ) -> Result<QueryDocument, Vec<Error>> {
        let mut parser = Parser::new().recursion_limit(NESTING_MAX).token_limit(TOKENS_MAX);
        let document = parser
            .parse_executable(schema, request.query, "query")
            .map_err(|invalid| error::from_diagnostics(&invalid.errors))?
            .validate(schema)
            .map_err(|invalid| error::from_diagnostics(&invalid.errors))?;
        let operation_name = request.operation_name;
        let variables = {
            let operation = operation(&document, operation_name.as_deref())?;
            check_size(&document, operation)?;
            coerce_variable_values(schema, operation, &request.variables)
                .map_err(|invalid| error::from_request_error(&invalid, &document.sources))?
        };
        Ok(QueryDocument { document, variables, operation_name })
    }

    /// The selected root fields, or an error for a field that is nested too deep.
    pub fn root_fields(&self) -> Result<Vec<SelectedField<'_>>, Vec<Error>> {
        let operation = operation(&self.document, self.operation_name.as_deref())?;
        let roots = self.collect(&[&operation.selection_set]);
        for root in &roots {
            let is_schema = root.field.name.starts_with("__");
            let depth_max = if is_schema { INTROSPECTION_DEPTH_MAX } else { DEPTH_MAX };
            if depth(root) > depth_max {
                let message = format!("nested deeper than {depth_max} levels of fields");
                return Err(vec![self.locate(root.field, Error::new(message))]);
            }
        }
        Ok(roots)
    }

    /// Sets the location of an error to a field.
    pub fn locate(&self, field: &Field, error: Error) -> Error {
        error.at(field.name.location(), &self.document.sources)
    }

    /// The value of an argument as text; `None` where it is absent or null.
    pub fn argument(&self, field: &Field, name: &str) -> Option<String> {
        let value = field.arguments.iter().find(|argument| argument.name == name)?;
        match &*value.value {
            Value::String(text) => Some(text.clone()),
            Value::Int(number) => Some(number.as_str().to_owned()),
            Value::Variable(variable) => match self.variables.get(variable.as_str())? {
                JsonValue::String(text) => Some(text.as_str().to_owned()),
                JsonValue::Number(number) => Some(number.to_string()),
                // Unreachable in a valid document: no argument has another type.
                _ => None,
            },
            _ => None,
        }
    }

    /// Merges the fields of some selection sets by response key, in the order of first use.
    fn collect<'d>(&'d self, sets: &[&'d SelectionSet]) -> Vec<SelectedField<'d>> {
        let mut found = FieldsByKey::default();
        for set in sets {
            self.gather(set, &mut found);
        }
        let merged = found.fields.into_iter().map(|(type_name, fields)| {
            let sets: Vec<&SelectionSet> =
                fields.iter().map(|field| &field.selection_set).collect();
            let first = fields[0];
            SelectedField {
                response_key: first.response_key(),
                field: first,
                type_name,
                children: self.collect(&sets),
            }
        });
        merged.collect()
    }

    fn gather<'d>(&'d self, set: &'d SelectionSet, found: &mut FieldsByKey<'d>) {
        for selection in &set.selections {
            if !self.is_included(selection) {
                continue;
            }
            match selection {
                Selection::Field(field) => found.add(&set.ty, field),
                Selection::InlineFragment(inline) => self.gather(&inline.selection_set, found),
                Selection::FragmentSpread(spread) => {
                    let fragment = self.document.fragments.get(&spread.fragment_name);
                    // Inlining a fragment again would add no field.
                    let is_new = found.fragments.insert(&spread.fragment_name);
                    if let Some(fragment) = fragment.filter(|_| is_new) {
                        self.gather(&fragment.selection_set, found);
                    }
                }
            }
        }
    }

    /// Evaluates `@skip` and `@include`.
    fn is_included(&self, selection: &Selection) -> bool {
        let condition = |name: &str| {
            let directive = selection.directives().get(name)?;
            match &**directive.specified_argument_by_name("if")? {
                Value::Boolean(value) => Some(*value),
                Value::Variable(variable) => self.variables.get(variable.as_str())?.as_bool(),
                _ => None,
            }
        };
        !condition("skip").unwrap_or(false) && condition("include").unwrap_or(true)
    }
}

/// Fields grouped by response key.
#[derive(Default)]
struct FieldsByKey<'d> {
    /// For each key, the declaring type and the fields, in the order of first use.
    fields: Vec<(&'d str, Vec<&'d Field>)>,
    /// For each key, its index in `fields`.
    indexes: HashMap<&'d str, usize>,
    /// The fragments inlined so far.
    fragments: HashSet<&'d str>,
}

impl<'d> FieldsByKey<'d> {
    fn add(&mut self, type_name: &'d str, field: &'d Field) {
        let next = self.fields.len();
        let at = *self.indexes.entry(field.response_key()).or_insert(next);
        if at == next {
            self.fields.push((type_name, Vec::new()));
        }
        self.fields[at].1.push(field);
    }
}

fn operation<'d>(
    document: &'d ExecutableDocument,
    name: Option<&str>,
) -> Result<&'d Operation, Vec<Error>> {
    let found = document.operations.get(name);
    found
        .map(|node| &**node)
        .map_err(|invalid| error::from_request_error(&invalid, &document.sources))
}

/// Checks the number of fields and levels. Fragments count at each use.
///
/// Cost: linear in the document, since the size of a fragment is computed once.
fn check_size(document: &ExecutableDocument, operation: &Operation) -> Result<(), Vec<Error>> {
    let mut counter = SizeCounter { document, fragments: HashMap::new() };
    let Size { fields, depth } = counter.set(&operation.selection_set);
    if fields > FIELDS_MAX {
        let message = format!(
            "asks for more than {FIELDS_MAX} fields, fragments counted as often as they are used"
        );
        return Err(vec![Error::new(message)]);
    }
    if depth > INTROSPECTION_DEPTH_MAX {
        let message = format!("nested deeper than {INTROSPECTION_DEPTH_MAX} levels of fields");
        return Err(vec![Error::new(message)]);
    }
    Ok(())
}

/// The size of a selection set.
#[derive(Clone, Copy, Default)]
struct Size {
    fields: u64,
    depth: usize,
}

struct SizeCounter<'d> {
    document: &'d ExecutableDocument,
    fragments: HashMap<&'d str, Size>,
}

impl<'d> SizeCounter<'d> {
    fn set(&mut self, set: &'d SelectionSet) -> Size {
        let mut size = Size::default();
        for selection in &set.selections {
            let part = match selection {
                Selection::Field(field) => {
                    let below = self.set(&field.selection_set);
                    Size { fields: below.fields.saturating_add(1), depth: below.depth + 1 }
                }
                Selection::InlineFragment(inline) => self.set(&inline.selection_set),
                Selection::FragmentSpread(spread) => self.fragment(&spread.fragment_name),
            };
            size.fields = size.fields.saturating_add(part.fields);
            size.depth = size.depth.max(part.depth);
        }
        size
    }

    /// Terminates: in a valid document no fragment contains itself.
    fn fragment(&mut self, name: &'d str) -> Size {
        if let Some(size) = self.fragments.get(name) {
            return *size;
        }
        let fragment = self.document.fragments.get(name);
        let size = fragment.map_or(Size::default(), |fragment| self.set(&fragment.selection_set));
        self.fragments.insert(name, size);
        size
    }
}

fn depth(field: &SelectedField<'_>) -> usize {
    1 + field.children.iter().map(depth).max().unwrap_or(0)
}
