//! Parameters of operations.

use serde_json::{Map, Value, json};

pub fn path_parameter(name: &str, doc: &str, schema: Value, example: Option<Value>) -> Value {
    let mut parameter = json!({ "name": name, "in": "path", "required": true, "description": doc, "schema": schema });
    if let Some(example) = example {
        parameter["example"] = example;
    }
    parameter
}

pub fn query_parameter<const N: usize>(
    name: &str,
    doc: &str,
    schema: Value,
    examples: [Option<(&str, String)>; N],
) -> Value {
    let mut parameter =
        json!({ "name": name, "in": "query", "description": doc, "schema": schema });
    let examples = examples.into_iter().flatten();
    let examples: Map<String, Value> =
        examples.map(|(name, text)| (name.into(), json!({ "value": text }))).collect();
    if !examples.is_empty() {
        parameter["examples"] = examples.into();
    }
    parameter
}

/// A parameter that each request has.
pub fn required(mut parameter: Value) -> Value {
    parameter["required"] = true.into();
    parameter
}
