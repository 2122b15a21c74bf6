//! The way from the root of an answer to where its text ends, read off that text.
//!
//! What is being written is what lies open there, and GraphQL's `path` to it is the keys and places on
//! the way. An answer without errors pays nothing for them, and whatever writes to an answer need not
//! know where it stands.

use serde::Serialize;

use crate::http::path::cut;

/// Bytes of a name that are shown.
const NAME_BYTES_MAX: usize = 200;

/// One step into an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Step {
    /// To the field of this name.
    Field(String),
    /// To the item in this place of a list, from 0.
    Item(usize),
}

/// What was read of a text so far. The text only ever grows.
#[derive(Debug, Default)]
pub struct Trail {
    /// How many of its bytes.
    read_bytes: usize,
    /// What is open, the outermost first.
    open: Vec<Open>,
}

/// An object or a list that has not ended.
#[derive(Debug)]
enum Open {
    /// The bytes of the last key, and whether another may come before the next colon.
    Object { key: (usize, usize), awaits_key: bool },
    /// The place of the item under way.
    List(usize),
}

impl Trail {
    /// The way to the value that a text ends with, or that comes next.
    ///
    /// The text is that of the last call with more after it, and ends outside of any string. Cost:
    /// linear in what was added.
    pub fn walk_to_end(&mut self, text: &[u8]) -> Vec<Step> {
        self.read(text);
        let step = |open: &Open| match open {
            Open::Object { key: (from, to), .. } => {
                let name = String::from_utf8_lossy(&text[*from..*to]);
                (!name.is_empty()).then(|| Step::Field(cut(&name, NAME_BYTES_MAX)))
            }
            Open::List(at) => Some(Step::Item(*at)),
        };
        self.open.iter().filter_map(step).collect()
    }

    fn read(&mut self, text: &[u8]) {
        let mut at = self.read_bytes;
        while at < text.len() {
            match text[at] {
                b'{' => self.open.push(Open::Object { key: (0, 0), awaits_key: true }),
                b'[' => self.open.push(Open::List(0)),
                b'}' | b']' => {
                    self.open.pop();
                }
                b',' => match self.open.last_mut() {
                    Some(Open::Object { awaits_key, .. }) => *awaits_key = true,
                    Some(Open::List(at)) => *at += 1,
                    None => {}
                },
                b'"' => {
                    let end = end_of_string(text, at + 1);
                    if let Some(Open::Object { key, awaits_key: awaits @ true }) =
                        self.open.last_mut()
                    {
                        (*key, *awaits) = ((at + 1, end), false);
                    }
                    at = end;
                }
                _ => {}
            }
            at += 1;
        }
        self.read_bytes = at;
    }
}

/// Where the quote stands that ends a string which begins at `from`.
fn end_of_string(text: &[u8], from: usize) -> usize {
    let mut at = from;
    while at < text.len() && text[at] != b'"' {
        at += 1 + usize::from(text[at] == b'\\');
    }
    at.min(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_is_the_keys_and_places_of_what_is_open() {
        let check = |text: &str, expected: &str| {
            let way = Trail::default().walk_to_end(text.as_bytes());
            assert_eq!(serde_json::to_string(&way).unwrap_or_default(), expected, "{text}");
        };
        check("", "[]");
        check("{", "[]");
        check(r#"{"a":"#, r#"["a"]"#);
        check(r#"{"a":null"#, r#"["a"]"#);
        check(r#"{"a":1,"b":"#, r#"["b"]"#);
        check(r#"{"a":[{"b":"#, r#"["a",0,"b"]"#);
        check(r#"{"a":[{"b":1},{"b":[2,3],"c":{"d":"#, r#"["a",1,"c","d"]"#);
        check(r#"{"a":[1,[2,3],"#, r#"["a",2]"#);
        check(r#"{"a":{"b":"x"},"c":[[],["#, r#"["c",1,0]"#);
        check(r#"{"a":"{[,:","b":["]}",{"c":"#, r#"["b",1,"c"]"#);
        check(r#"{"a":"\"{\\","b":{"c":"é,","d":"#, r#"["b","d"]"#);
        check(r#"{"a":{"k,\"{":{"x":[]}},"b":"#, r#"["b"]"#);
        check(&format!("{{\"{}\":", "n".repeat(300)), &format!("[\"{}…\"]", "n".repeat(200)));
    }

    #[test]
    fn a_text_is_read_on_from_where_it_ended() {
        let (mut text, mut trail) = (String::new(), Trail::default());
        for (added, expected) in [
            ("{", "[]"),
            (r#""a":"#, r#"["a"]"#),
            (r#"[{"b":"x\\""#, r#"["a",0,"b"]"#),
            (r#","c":"#, r#"["a",0,"c"]"#),
            ("null}", r#"["a",0]"#),
            (",", r#"["a",1]"#),
            (r#"{"b":[1,"#, r#"["a",1,"b",1]"#),
            (r#"2]}],"d":{"e":"#, r#"["d","e"]"#),
        ] {
            text.push_str(added);
            let way = trail.walk_to_end(text.as_bytes());
            assert_eq!(serde_json::to_string(&way).unwrap_or_default(), expected, "{text}");
        }
    }
}
