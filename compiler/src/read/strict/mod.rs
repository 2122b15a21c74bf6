//! Strict JSON parsing: the members that no type reads are checked like the members that are read.
//!
//! serde skips a member that the target type does not declare. Inside a skipped member, serde_json
//! accepts a duplicate key, half a surrogate pair, an overlong number and any nesting. Then whether
//! a line is good would depend on the members that today's types declare. [`from_str`] wraps the
//! deserializer, so that skipped values are parsed too. A member that is read costs one more copy
//! of its key's address.
//!
//! Every failure carries a [`JsonFault`], so a caller never inspects the text of a message.

pub(crate) mod deserializer;
pub(crate) mod fault;
pub(crate) mod keys;
pub(crate) mod level;
pub(crate) mod unread;

use std::{cell::Cell, marker::PhantomData};

use serde::{Deserialize, de::DeserializeSeed};

use crate::read::strict::deserializer::StrictDeserializer;
pub use crate::read::strict::fault::{JsonError, JsonFault};
pub(crate) use crate::read::strict::keys::{Keys, MANY};
pub(crate) use crate::read::strict::level::DEPTH_MAX;
use crate::read::strict::level::{Level, ParseState};

/// Parses a JSON text, and checks the members that `T` does not declare as strictly as the others.
///
/// # Errors
///
/// Where the text has a [`JsonFault`].
pub fn from_str<'de, T: Deserialize<'de>>(text: &'de str) -> Result<T, JsonError> {
    from_str_seed(text, PhantomData)
}

/// Like [`from_str`], with a seed.
///
/// # Errors
///
/// Where the text has a [`JsonFault`].
pub fn from_str_seed<'de, S: DeserializeSeed<'de>>(
    text: &'de str,
    seed: S,
) -> Result<S::Value, JsonError> {
    parse(text, seed, true)
}

/// Like [`from_str_seed`]; members that the seed does not read are skipped as serde_json skips them.
///
/// # Errors
///
/// Where a part of the text that the seed reads has a [`JsonFault`].
pub fn from_str_seed_skipping_unread<'de, S: DeserializeSeed<'de>>(
    text: &'de str,
    seed: S,
) -> Result<S::Value, JsonError> {
    parse(text, seed, false)
}

fn parse<'de, S: DeserializeSeed<'de>>(
    text: &'de str,
    seed: S,
    checks_unread: bool,
) -> Result<S::Value, JsonError> {
    let mut json = serde_json::Deserializer::from_str(text);
    // `Level::descend` holds the limit, and records that it was passed.
    json.disable_recursion_limit();
    let state = ParseState { fault: Cell::new(None), checks_unread };
    let level = Level { state: &state, depth: 0 };
    let parsed = seed
        .deserialize(StrictDeserializer { deserializer: &mut json, level, member: None })
        .map_err(|error| error.record(level))
        .and_then(|value| json.end().map(|()| value));
    parsed.map_err(|message| {
        let by_category = if message.is_data() { JsonFault::Shape } else { JsonFault::Syntax };
        JsonError { fault: state.fault.get().unwrap_or(by_category), message }
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[derive(Debug, Default, Deserialize, PartialEq)]
    #[serde(default)]
    struct Record {
        id: u64,
        inner: Option<Box<Record>>,
        list: Vec<Record>,
    }

    /// The refusals of four lines that hold `value` in a member that `Record` does not declare.
    fn refusals(value: &str) -> Vec<Option<(JsonFault, String)>> {
        let lines = [
            format!("{{\"id\":1,\"unread\":{value}}}"),
            format!("{{\"unread\":[{{\"deep\":{value}}}],\"id\":1}}"),
            format!("{{\"id\":1,\"inner\":{{\"unread\":{value}}}}}"),
            format!("{{\"id\":1,\"list\":[{{\"unread\":[[{value}]]}}]}}"),
        ];
        let refusal = |text: &String| {
            from_str::<Record>(text).err().map(|error| (error.fault, error.to_string()))
        };
        lines.iter().map(refusal).collect()
    }

    #[test]
    fn undeclared_members_are_checked_like_declared_ones() {
        for good in
            ["1", "-1.5e3", "\"\\ud83d\\ude00\"", "{\"a\":1,\"b\":{\"a\":1}}", "[null,true]"]
        {
            assert_eq!(refusals(good), [None, None, None, None], "{good}");
        }
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        let keys: String = (0..100).map(|key| format!("\"{key}\":0,")).collect();
        let many = format!("{{{keys}\"7\":1}}");
        use JsonFault::{DuplicateKey, Syntax, TooDeep};
        for (bad, fault, phrase) in [
            ("{\"a\":1,\"b\":2,\"a\":3}", DuplicateKey, "duplicate key"),
            ("{\"a\":1,\"\\u0061\":3}", DuplicateKey, "duplicate key"),
            (many.as_str(), DuplicateKey, "duplicate key"),
            ("1e400", Syntax, "number out of range"),
            ("NaN", Syntax, "expected"),
            ("\"\\ud800\"", Syntax, "hex escape"),
            ("\"\\ud800\\u0041\"", Syntax, "surrogate"),
            ("\"a\tb\"", Syntax, "control character"),
            (deep.as_str(), TooDeep, "nested deeper"),
        ] {
            for refusal in refusals(bad) {
                let (found, message) = refusal.unwrap();
                assert_eq!(found, fault, "{bad}: {message}");
                assert!(message.contains(phrase), "{bad}: {message}");
            }
        }
        for twice in ["{\"u\":1,\"id\":1,\"u\":1}", "{\"id\":1,\"inner\":{\"u\":1,\"u\":1}}"] {
            let refusal = from_str::<Record>(twice).unwrap_err();
            assert_eq!(refusal.fault, DuplicateKey);
            assert!(refusal.to_string().starts_with("duplicate key"), "{refusal}");
        }
        assert_eq!(from_str::<Record>("{\"id\":1} x").unwrap_err().fault, Syntax);
        assert!(from_str::<Record>(&"[".repeat(100_000)).is_err());
    }

    #[test]
    fn every_refusal_has_the_fault_that_a_report_names() {
        let fault = |text: &str| from_str::<Record>(text).err().map(|error| error.fault);
        assert_eq!(fault("{\"id\":1,\"id\":1}"), Some(JsonFault::DuplicateKey));
        assert_eq!(fault("{\"list\":[{\"id\":1,\"id\":1}]}"), Some(JsonFault::DuplicateKey));
        assert_eq!(fault("{\"id\":\"1\"}"), Some(JsonFault::Shape));
        assert_eq!(fault("{\"id\":}"), Some(JsonFault::Syntax));
        assert_eq!(fault("{\"id\":1"), Some(JsonFault::Syntax));
        let skipping = |text: &str| {
            let record = PhantomData::<Record>;
            from_str_seed_skipping_unread(text, record).err().map(|error| error.fault)
        };
        assert_eq!(skipping("{\"id\":1,\"id\":1}"), Some(JsonFault::DuplicateKey));
        assert_eq!(skipping("{\"id\":1,\"u\":1,\"u\":1e400}"), None);
        assert_eq!(skipping("{\"id\":1,\"u\":"), Some(JsonFault::Syntax));
    }

    #[test]
    fn a_value_may_nest_as_deep_as_in_serde_json() {
        let nested = |levels: usize| {
            format!("{{\"unread\":{}{}}}", "[".repeat(levels - 1), "]".repeat(levels - 1))
        };
        let depth_max = usize::from(DEPTH_MAX);
        assert!(from_str::<Record>(&nested(depth_max)).is_ok());
        let refusal = from_str::<Record>(&nested(depth_max + 1)).unwrap_err();
        assert_eq!(refusal.fault, JsonFault::TooDeep);
        for (levels, is_good) in [(depth_max, true), (depth_max + 1, false)] {
            let value = serde_json::from_str::<serde_json::Value>(&nested(levels));
            assert_eq!(value.is_ok(), is_good);
        }
    }
}
