//! The parameters of lists and of autocomplete, worked out from what reads them.

use pinakes_format::query::{PAGE_SIZE_DEFAULT, PAGE_SIZES};
use pinakes_format::schema::keys::{Index, Keys};
use serde_json_bytes::{ByteString, Map, Value};

use crate::api::autocomplete_query::TEXT_BYTES_MAX;
use crate::api::legacy::{PAGE_ROWS_MAX, SORTS};
use crate::api::list_query::{Dialect, PAGE_MAX, Parameter, parameters};
use crate::api::{legacy, list_query};
use crate::openapi::patterns;
use crate::openapi::samples::Sample;

/// What a filter is, before its keys.
const FILTER: &str = "What must hold of a record: expressions `key:value` with commas between them, \
all of which must. `a|b` is any of several values, `!a|b` none of them, `null` no value and `!null` any. \
Numbers and dates compare by `>`, `<`, `>=` and `<=`; integers have ranges `a-b`, `a-` and `-b`, and so \
have the years of dates. A date is a year, a month or a day, and its whole period. Text is compared \
without case, accents and punctuation; a value with `,`, `|` or `\"` stands in `\"`, which is doubled \
within. `name.search` finds words that names begin with. On a path through a list any value counts. At \
most 50 expressions, and 100 values in each.";

/// What a sort is, before its keys.
const SORT: &str = "Up to three different keys with commas between them, each `key:asc`, `key:desc` or \
`key` alone, which ascends. Records without a value come last both ways; ties stand by id.";

/// How the lists of a variant are described.
pub struct Described {
    /// How they are asked.
    pub dialect: &'static Dialect,
    per_page: fn() -> Value,
    sort: fn(&Keys) -> (String, Value),
}

/// The lists of the interface.
pub const CURRENT: Described = Described {
    dialect: &list_query::CURRENT,
    per_page: || json!({ "type": "integer", "enum": (&PAGE_SIZES[..]), "default": PAGE_SIZE_DEFAULT }),
    sort: |keys| {
        let doc = format!("{SORT}\n\n{}", keys_by_kind(keys, |key| key.sort.is_some()));
        (doc, json!({ "type": "string", "pattern": (patterns::sort(keys)) }))
    },
};

/// Those of the older variant.
pub const LEGACY: Described = Described {
    dialect: &legacy::DIALECT,
    per_page: || {
        json!({
            "type": "integer",
            "minimum": 1,
            "maximum": PAGE_ROWS_MAX,
            "default": PAGE_SIZE_DEFAULT,
        })
    },
    sort: |_| {
        let numbers = SORTS.iter().filter_map(|(name, _)| name.parse::<i64>().ok());
        let numbers: Vec<Value> = numbers.map(Value::from).collect();
        let doc = "1 ascends by outputs, -1 descends, as without it.";
        (doc.to_owned(), json!({ "type": "integer", "enum": numbers }))
    },
};

impl Described {
    /// The parameters of a list.
    pub fn parameters(&self, keys: &Keys, sample: &Sample) -> Vec<Value> {
        let mut seen = Vec::new();
        let mut described = Vec::new();
        for (name, parameter) in parameters(self.dialect, keys) {
            // Of two names of one parameter the first is told; both at a time are refused.
            if !seen.contains(&parameter) {
                seen.push(parameter);
                described.push(self.parameter(name, parameter, keys, sample));
            }
        }
        described
    }

    fn parameter(
        &self,
        name: &'static str,
        parameter: Parameter,
        keys: &Keys,
        sample: &Sample,
    ) -> Value {
        let order = sample.order.as_deref();
        match parameter {
            Parameter::Page => {
                let schema =
                    json!({ "type": "integer", "minimum": 1, "maximum": PAGE_MAX, "default": 1 });
                in_query(name, "Which page, from 1. Past the end there are no records.", schema, [])
            }
            Parameter::PerPage => {
                let doc = "Records a page. `per-page` is another name of it.";
                in_query(name, doc, (self.per_page)(), [])
            }
            Parameter::Filter => {
                let keys_doc = keys_by_kind(keys, |key| key.filter.is_some());
                let schema = json!({ "type": "string", "pattern": (patterns::filter(keys)) });
                let examples = [
                    order.map(|key| ("counted", format!("{key}:>0"))),
                    sample.word.as_ref().map(|word| ("named", format!("name.search:{word}"))),
                ];
                in_query(name, &format!("{FILTER}\n\n{keys_doc}"), schema, examples)
            }
            Parameter::Sort => {
                let (doc, schema) = (self.sort)(keys);
                let key = order.filter(|_| schema.get("pattern").is_some());
                let example = key.map(|key| ("two", format!("{key}:desc,name")));
                in_query(name, &doc, schema, [example])
            }
            Parameter::Search => {
                let doc = "Words, each of which some word of a record's name or of its alternative \
                           names begins with; as `filter=name.search:…`.";
                let schema = json!({ "type": "string", "pattern": (patterns::printable()) });
                in_query(name, doc, schema, [sample.word.clone().map(|word| ("named", word))])
            }
            Parameter::GroupBy => {
                let doc = "Counts the records that match by what they refer to, in place of showing \
                           them: 200 groups at most, the largest first.";
                let names: Vec<&str> = keys
                    .keys
                    .iter()
                    .filter(|key| matches!(key.filter, Some(Index::NamesScanned { .. })))
                    .map(|key| key.name)
                    .collect();
                in_query(name, doc, json!({ "type": "string", "enum": names }), [])
            }
        }
    }
}

/// The text to be completed.
pub fn completed(sample: &Sample) -> Value {
    let doc = format!(
        "What is being typed, {TEXT_BYTES_MAX} bytes at most: words, each of which some word of a \
         record's names begins with, or a complete identifier."
    );
    let schema =
        json!({ "type": "string", "maxLength": TEXT_BYTES_MAX, "pattern": (patterns::words()) });
    let example = sample.word.clone().map(|word| ("typed", word));
    let mut parameter = in_query("query", &doc, schema, [example]);
    if let Some(parameter) = parameter.as_object_mut() {
        parameter.insert("required", true.into());
    }
    parameter
}

/// A parameter of a path, with an example if there is one.
pub fn in_path(name: &str, doc: &str, schema: Value, example: Option<Value>) -> Value {
    let mut parameter = Map::new();
    parameter.insert("name", name.into());
    parameter.insert("in", "path".into());
    parameter.insert("required", true.into());
    parameter.insert("description", doc.into());
    parameter.insert("schema", schema);
    if let Some(example) = example {
        parameter.insert("example", example);
    }
    Value::Object(parameter)
}

fn in_query<const N: usize>(
    name: &str,
    doc: &str,
    schema: Value,
    examples: [Option<(&str, String)>; N],
) -> Value {
    let mut parameter = Map::new();
    parameter.insert("name", name.into());
    parameter.insert("in", "query".into());
    parameter.insert("description", doc.into());
    parameter.insert("schema", schema);
    let examples = examples.into_iter().flatten();
    let examples: Map<ByteString, Value> =
        examples.map(|(name, text)| (name.into(), json!({ "value": text }))).collect();
    if !examples.is_empty() {
        parameter.insert("examples", Value::Object(examples));
    }
    Value::Object(parameter)
}

/// Names of keys, a line for each kind of value.
fn keys_by_kind(
    keys: &Keys,
    is_meant: impl Fn(&pinakes_format::schema::keys::Key) -> bool,
) -> String {
    let mut kinds: Vec<(&str, Vec<String>)> = Vec::new();
    for key in keys.keys.iter().filter(|key| is_meant(key)) {
        let name = format!("`{}`", key.name);
        match kinds.iter_mut().find(|(kind, _)| *kind == key.kind.name()) {
            Some((_, names)) => names.push(name),
            None => kinds.push((key.kind.name(), vec![name])),
        }
    }
    let lines = kinds.iter().map(|(kind, names)| format!("- {kind}: {}", names.join(", ")));
    lines.collect::<Vec<_>>().join("\n")
}
