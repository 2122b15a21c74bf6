//! The path from the root of an answer to the value that the executor writes, for the `path` of errors.

use pinakes_format::json::select::PathStep;
use serde::Serialize;

use crate::reply::truncate;

/// Bytes of a response key in the `path` of an error.
const KEY_BYTES_MAX: usize = 200;

/// One segment of an error's `path`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum PathSegment {
    /// The response key of a field.
    Field(String),
    /// The index of a list item, from 0.
    Item(usize),
}

/// The stack of the fields and items that the executor has entered and not left.
///
/// For `{"a":[{"b":…` the stack is `a`, `0`, `b`. Cost of a step: copying the key; no allocation once the
/// buffers have grown to the depth of the answer.
#[derive(Debug, Default)]
pub struct ErrorPath {
    /// The keys of all entered fields, one after another.
    keys: String,
    entered: Vec<EnteredStep>,
}

#[derive(Debug)]
enum EnteredStep {
    /// The key begins at this byte of `keys` and ends at the next entered key.
    Field(usize),
    Item(usize),
}

impl ErrorPath {
    /// Enters a field or an item.
    pub fn enter(&mut self, step: PathStep<'_>) {
        self.entered.push(match step {
            PathStep::Field(key) => {
                self.keys.push_str(key);
                EnteredStep::Field(self.keys.len() - key.len())
            }
            PathStep::Item(index) => EnteredStep::Item(index),
        });
    }

    /// Leaves the field or item that was entered last.
    pub fn leave(&mut self) {
        if let Some(EnteredStep::Field(begin)) = self.entered.pop() {
            self.keys.truncate(begin);
        }
    }

    /// The segments, the outermost first.
    pub fn segments(&self) -> Vec<PathSegment> {
        let mut end = self.keys.len();
        let innermost_first = self.entered.iter().rev().map(|step| match *step {
            EnteredStep::Field(begin) => {
                let key = &self.keys[begin..end];
                end = begin;
                PathSegment::Field(truncate(response_key(key), KEY_BYTES_MAX))
            }
            EnteredStep::Item(index) => PathSegment::Item(index),
        });
        let mut segments: Vec<PathSegment> = innermost_first.collect();
        segments.reverse();
        segments
    }
}

/// A response key without the quotes and the colon that JSON writes around it.
fn response_key(written: &str) -> &str {
    written.trim_matches(['"', ':'])
}

#[cfg(test)]
mod tests {
    use super::PathStep::{Field, Item};
    use super::*;

    fn json(path: &ErrorPath) -> String {
        serde_json::to_string(&path.segments()).unwrap_or_default()
    }

    #[test]
    fn the_path_is_the_entered_keys_and_indexes() {
        let check = |steps: &[PathStep<'_>], expected: &str| {
            let mut path = ErrorPath::default();
            steps.iter().for_each(|step| path.enter(*step));
            assert_eq!(json(&path), expected);
        };
        check(&[], "[]");
        check(&[Field("\"a\":")], r#"["a"]"#);
        check(&[Field("\"a\":"), Item(0), Field("\"b\":")], r#"["a",0,"b"]"#);
        check(&[Field("\"a\":"), Item(1), Field("\"c\":"), Field("\"d\":")], r#"["a",1,"c","d"]"#);
        check(&[Field("\"c\":"), Item(1), Item(0)], r#"["c",1,0]"#);
        let long = format!("\"{}\":", "n".repeat(300));
        check(&[Field(&long)], &format!("[\"{}…\"]", "n".repeat(200)));
    }

    #[test]
    fn leaving_a_step_restores_the_path_before_it() {
        let mut path = ErrorPath::default();
        path.enter(Field("\"a\":"));
        path.enter(Item(0));
        path.enter(Field("\"b\":"));
        assert_eq!(json(&path), r#"["a",0,"b"]"#);
        path.leave();
        path.enter(Field("\"c\":"));
        assert_eq!(json(&path), r#"["a",0,"c"]"#);
        path.leave();
        assert_eq!(json(&path), r#"["a",0]"#);
        path.leave();
        path.enter(Item(1));
        path.enter(Field("\"b\":"));
        path.enter(Item(1));
        assert_eq!(json(&path), r#"["a",1,"b",1]"#);
        for _ in 0..4 {
            path.leave();
        }
        path.enter(Field("\"d\":"));
        path.enter(Field("\"e\":"));
        assert_eq!(json(&path), r#"["d","e"]"#);
    }
}
