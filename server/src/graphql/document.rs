//! From a question's text to the tree of what is asked: parsed, validated, its fragments inlined,
//! its directives followed, fields of one name merged.
//!
//! Everything is bounded before it is done: tokens and nesting by the parser, fields with fragments
//! counted as often as they are used, depth.

use std::collections::{HashMap, HashSet};

use apollo_compiler::{
    ExecutableDocument, Schema,
    executable::{Field, Operation, Selection, SelectionSet, Value},
    parser::Parser,
    request::coerce_variable_values,
    response::{JsonMap, JsonValue},
    validation::Valid,
};

use crate::graphql::error;
use crate::graphql::error::Error;

/// Tokens of a text, white space among them. Of the texts that `make bench` holds against it the
/// dearest, braces alone, took 2.9 ms to refuse at 4,000 tokens.
const TOKENS_MAX: usize = 2_500;
/// Levels of braces and brackets the parser follows; more than any depth that is answered.
const NESTING_MAX: usize = 24;
/// Fields, with fragments counted as often as they are used.
const FIELDS_MAX: u64 = 4_000;
/// Levels of fields in a question to the data.
const DEPTH_MAX: usize = 12;
/// The same in a question to the schema, as tools ask it.
const INTROSPECTION_DEPTH_MAX: usize = 20;

/// What a client sent.
#[derive(Debug)]
pub struct Asking {
    /// The text.
    pub query: String,
    /// The values of its variables.
    pub variables: JsonMap,
    /// Which of its operations is meant.
    pub operation_name: Option<String>,
}

/// A question that can be asked.
pub struct Document {
    document: Valid<ExecutableDocument>,
    variables: Valid<JsonMap>,
    operation_name: Option<String>,
}

/// A field that is asked for, with everything that is asked of it.
pub struct Asked<'d> {
    /// Its name in the answer.
    pub key: &'d str,
    /// The field, where it is first named.
    pub field: &'d Field,
    /// The type it is a field of.
    pub of: &'d str,
    /// What is asked of its value.
    pub children: Vec<Asked<'d>>,
}

impl Document {
    /// Parses and validates a text.
    ///
    /// # Errors
    ///
    /// What is wrong with it, the first few.
    pub fn read(schema: &Valid<Schema>, asking: Asking) -> Result<Document, Vec<Error>> {
        let mut parser = Parser::new().recursion_limit(NESTING_MAX).token_limit(TOKENS_MAX);
        let document = parser
            .parse_executable(schema, asking.query, "query")
            .map_err(|invalid| error::of_diagnostics(&invalid.errors))?
            .validate(schema)
            .map_err(|invalid| error::of_diagnostics(&invalid.errors))?;
        let operation_name = asking.operation_name;
        let variables = {
            let operation = operation(&document, operation_name.as_deref())?;
            measure(&document, operation)?;
            coerce_variable_values(schema, operation, &asking.variables)
                .map_err(|invalid| error::of_request(&invalid, &document.sources))?
        };
        Ok(Document { document, variables, operation_name })
    }

    /// The tree of what is asked.
    ///
    /// # Errors
    ///
    /// Where it is too deep.
    pub fn asked(&self) -> Result<Vec<Asked<'_>>, Vec<Error>> {
        let operation = operation(&self.document, self.operation_name.as_deref())?;
        let asked = self.collect(&[&operation.selection_set]);
        for root in &asked {
            let is_schema = root.field.name.starts_with("__");
            let depth_max = if is_schema { INTROSPECTION_DEPTH_MAX } else { DEPTH_MAX };
            if depth(root) > depth_max {
                let message = format!("nested deeper than {depth_max} levels of fields");
                return Err(vec![self.at(root.field, Error::new(message))]);
            }
        }
        Ok(asked)
    }

    /// An error of a field, with the place where the field is first named.
    pub fn at(&self, field: &Field, error: Error) -> Error {
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
                // Validated: no argument is of another type.
                _ => None,
            },
            _ => None,
        }
    }

    /// The fields of some selections, in the order of their names' first mention.
    fn collect<'d>(&'d self, sets: &[&'d SelectionSet]) -> Vec<Asked<'d>> {
        let mut found = Found::default();
        for set in sets {
            self.gather(set, &mut found);
        }
        let asked = found.fields.into_iter().map(|(of, fields)| {
            let sets: Vec<&SelectionSet> =
                fields.iter().map(|field| &field.selection_set).collect();
            let first = fields[0];
            Asked { key: first.response_key(), field: first, of, children: self.collect(&sets) }
        });
        asked.collect()
    }

    fn gather<'d>(&'d self, set: &'d SelectionSet, found: &mut Found<'d>) {
        for selection in &set.selections {
            if !self.is_included(selection) {
                continue;
            }
            match selection {
                Selection::Field(field) => found.add(&set.ty, field),
                Selection::InlineFragment(inline) => self.gather(&inline.selection_set, found),
                Selection::FragmentSpread(spread) => {
                    let fragment = self.document.fragments.get(&spread.fragment_name);
                    // A fragment says the same however often it is named.
                    let is_new = found.fragments.insert(&spread.fragment_name);
                    if let Some(fragment) = fragment.filter(|_| is_new) {
                        self.gather(&fragment.selection_set, found);
                    }
                }
            }
        }
    }

    /// What `@skip` and `@include` say.
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

/// Fields found so far, those of one name together.
#[derive(Default)]
struct Found<'d> {
    fields: Vec<(&'d str, Vec<&'d Field>)>,
    places: HashMap<&'d str, usize>,
    fragments: HashSet<&'d str>,
}

impl<'d> Found<'d> {
    fn add(&mut self, of: &'d str, field: &'d Field) {
        let next = self.fields.len();
        let at = *self.places.entry(field.response_key()).or_insert(next);
        if at == next {
            self.fields.push((of, Vec::new()));
        }
        self.fields[at].1.push(field);
    }
}

fn operation<'d>(
    document: &'d ExecutableDocument,
    name: Option<&str>,
) -> Result<&'d Operation, Vec<Error>> {
    let found = document.operations.get(name);
    found.map(|node| &**node).map_err(|invalid| error::of_request(&invalid, &document.sources))
}

/// Counts fields and levels with fragments as often as they are used, each fragment looked at once.
fn measure(document: &ExecutableDocument, operation: &Operation) -> Result<(), Vec<Error>> {
    let mut measuring = Measuring { document, fragments: HashMap::new() };
    let Size { fields, depth } = measuring.set(&operation.selection_set);
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

/// How large a selection is.
#[derive(Clone, Copy, Default)]
struct Size {
    fields: u64,
    depth: usize,
}

struct Measuring<'d> {
    document: &'d ExecutableDocument,
    fragments: HashMap<&'d str, Size>,
}

impl<'d> Measuring<'d> {
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

    /// No fragment leads to itself: the document is valid.
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

fn depth(asked: &Asked<'_>) -> usize {
    1 + asked.children.iter().map(depth).max().unwrap_or(0)
}
