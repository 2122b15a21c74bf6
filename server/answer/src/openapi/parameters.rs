//! Parameters of operations.

use serde_json::{Map, Value, json};

pub fn path_parameter(name: &str, doc: &str, schema: Value, example: Option<Value>) -> Value {
    let mut parameter = Map::new();
    parameter.insert("name".into(), name.into());
    parameter.insert("in".into(), "path".into());
    parameter.insert("required".into(), true.into());
    parameter.insert("description".into(), doc.into());
    parameter.insert("schema".into(), schema);
    if let Some(example) = example {
        parameter.insert("example".into(), example);
    }
    Value::Object(parameter)
}

pub fn query_parameter<const N: usize>(
    name: &str,
    doc: &str,
    schema: Value,
    examples: [Option<(&str, String)>; N],
) -> Value {
    let mut parameter = Map::new();
    parameter.insert("name".into(), name.into());
    parameter.insert("in".into(), "query".into());
    parameter.insert("description".into(), doc.into());
    parameter.insert("schema".into(), schema);
    let examples = examples.into_iter().flatten();
    let examples: Map<String, Value> =
        examples.map(|(name, text)| (name.into(), json!({ "value": text }))).collect();
    if !examples.is_empty() {
        parameter.insert("examples".into(), Value::Object(examples));
    }
    Value::Object(parameter)
}
