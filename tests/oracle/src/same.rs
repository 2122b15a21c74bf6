//! Compares a reply with the expected JSON, member by member and in order.

use serde_json::Value;

use crate::values::ANY_NAME;

/// Compares two values: members and items in order, numbers by their text.
/// An expected `"*"` accepts any string or `null`.
///
/// # Errors
///
/// The path of the first difference, with the expected and the actual value.
pub fn same(expected: &Value, actual: &Value) -> Result<(), String> {
    differ("$", expected, actual).map_or(Ok(()), Err)
}

fn differ(path: &str, expected: &Value, actual: &Value) -> Option<String> {
    match (expected, actual) {
        (Value::String(any), Value::String(_) | Value::Null) if any == ANY_NAME => None,
        (Value::Object(expected), Value::Object(actual)) => {
            let expected_keys: Vec<&String> = expected.keys().collect();
            let actual_keys: Vec<&String> = actual.keys().collect();
            if expected_keys != actual_keys {
                let at = expected_keys
                    .iter()
                    .zip(&actual_keys)
                    .take_while(|(expected, actual)| expected == actual)
                    .count();
                let member = |keys: &[&String]| match keys.get(at) {
                    Some(key) => format!("`{key}`"),
                    None => "no further member".to_owned(),
                };
                return Some(format!(
                    "{path}: expected {} as member {}, found {}",
                    member(&expected_keys),
                    at + 1,
                    member(&actual_keys)
                ));
            }
            expected.iter().zip(actual.values()).find_map(|((key, expected), actual)| {
                differ(&format!("{path}.{key}"), expected, actual)
            })
        }
        (Value::Array(expected), Value::Array(actual)) => expected
            .iter()
            .zip(actual)
            .enumerate()
            .find_map(|(at, (expected, actual))| differ(&format!("{path}[{at}]"), expected, actual))
            .or_else(|| {
                (expected.len() != actual.len()).then(|| {
                    format!("{path}: expected {} items, found {}", expected.len(), actual.len())
                })
            }),
        (Value::Number(expected), Value::Number(actual))
            if expected.to_string() == actual.to_string() =>
        {
            None
        }
        (expected, actual) if !expected.is_number() && expected == actual => None,
        (expected, actual) => Some(format!("{path}: expected {expected}, found {actual}")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_first_difference_is_named_by_its_path() {
        let check = |expected: Value, actual: Value, message: &str| {
            assert_eq!(same(&expected, &actual), Err(message.to_owned()));
        };
        check(json!({"a": [1]}), json!({"a": [2]}), "$.a[0]: expected 1, found 2");
        check(json!([1]), json!([1, 2]), "$: expected 1 items, found 2");
        check(json!(1), json!(1.0), "$: expected 1, found 1.0");
        check(json!("*"), json!(1), "$: expected \"*\", found 1");
        check(
            json!({"a": 1, "b": 2}),
            json!({"b": 2, "a": 1}),
            "$: expected `a` as member 1, found `b`",
        );
        check(
            json!({"a": 1}),
            json!({"a": 1, "b": 2}),
            "$: expected no further member as member 2, found `b`",
        );
    }

    #[test]
    fn an_asterisk_accepts_any_name() {
        for actual in [json!({"name": "Chile"}), json!({"name": null})] {
            assert_eq!(same(&json!({"name": "*"}), &actual), Ok(()));
        }
    }
}
