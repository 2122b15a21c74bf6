//! The values of a JSON text that this program wrote, without copies of them.
//!
//! ```text
//! {"id":"HX_W1","year":2020}    0  the object, up to node 3
//!                               1  key `id`, value `"HX_W1"`, up to node 2
//!                               2  key `year`, value `2020`, up to node 3
//! ```
//!
//! A value that a reply shows as the record has it is copied byte for byte. Values stay escaped.

use std::borrow::Cow;
use std::cell::Cell;
use std::ops::Range;

use memchr::memchr2;
use pinakes_format::storage::ReadError;

const NOT_JSON: ReadError = ReadError::corrupt("records", "a record is not JSON");
/// Objects and lists inside each other.
const DEPTH_MAX: usize = 128;

/// A JSON text and its values, in the order of the text.
#[derive(Debug, Default)]
pub struct Tape {
    text: Vec<u8>,
    nodes: Vec<Node>,
}

/// A value of the text.
#[derive(Debug)]
struct Node {
    /// Where the name of a member is, without quotes; empty of other values.
    key: Range<u32>,
    value: Range<u32>,
    /// The node after the value and all values inside.
    next: u32,
}

/// A value of a tape; null where there is none.
#[derive(Clone, Copy, Debug)]
pub struct Value<'t> {
    tape: &'t Tape,
    at: Option<u32>,
}

/// The elements of a list.
#[derive(Clone, Debug)]
pub struct Elements<'t> {
    tape: &'t Tape,
    nodes: Range<u32>,
}

impl Tape {
    /// Finds the values of a text, in the memory of a tape that is needed no more.
    ///
    /// # Errors
    ///
    /// If the text is no JSON.
    pub fn read(text: Vec<u8>, mut spare: Tape) -> Result<Tape, ReadError> {
        spare.nodes.clear();
        let mut tape = Tape { text, ..spare };
        let end = u32::try_from(tape.text.len()).map_err(|_| NOT_JSON)?;
        if tape.add(0..0, 0, 0) == Some(end) { Ok(tape) } else { Err(NOT_JSON) }
    }

    /// Takes the memory of the text, without the text.
    pub fn take_memory(&mut self) -> Vec<u8> {
        let mut memory = std::mem::take(&mut self.text);
        memory.clear();
        memory
    }

    pub fn value(&self) -> Value<'_> {
        Value { tape: self, at: (!self.nodes.is_empty()).then_some(0) }
    }

    fn byte(&self, at: u32) -> Option<u8> {
        self.text.get(at as usize).copied()
    }

    fn bytes(&self, range: &Range<u32>) -> &[u8] {
        self.text.get(range.start as usize..range.end as usize).unwrap_or_default()
    }

    fn from(&self, at: u32) -> &[u8] {
        self.text.get(at as usize..).unwrap_or_default()
    }

    /// Adds the value that begins at a byte, and returns the byte after the value.
    fn add(&mut self, key: Range<u32>, from: u32, depth: usize) -> Option<u32> {
        let node = self.nodes.len();
        self.nodes.push(Node { key, value: from..from, next: 0 });
        let end = match self.byte(from)? {
            b'"' => self.string_end(from)?,
            b'{' if depth < DEPTH_MAX => self.add_all(from, b'}', |tape, at| {
                let end = tape.string_end(at)?;
                tape.byte(end).filter(|byte| *byte == b':')?;
                tape.add(at + 1..end - 1, end + 1, depth + 1)
            })?,
            b'[' if depth < DEPTH_MAX => {
                self.add_all(from, b']', |tape, at| tape.add(0..0, at, depth + 1))?
            }
            b'-' | b'0'..=b'9' | b't' | b'f' | b'n' => {
                let is_end = |byte: &u8| matches!(byte, b',' | b'}' | b']');
                let rest = self.from(from);
                // At most as long as the text.
                from + rest.iter().position(is_end).unwrap_or(rest.len()) as u32
            }
            _ => return None,
        };
        // At most as many values as bytes.
        let next = self.nodes.len() as u32;
        let node = self.nodes.get_mut(node)?;
        (node.value.end, node.next) = (end, next);
        Some(end)
    }

    /// Adds the values between brackets, each by a function.
    fn add_all(
        &mut self,
        from: u32,
        close: u8,
        mut add: impl FnMut(&mut Tape, u32) -> Option<u32>,
    ) -> Option<u32> {
        let mut at = from + 1;
        if self.byte(at)? == close {
            return Some(at + 1);
        }
        loop {
            at = add(self, at)?;
            match self.byte(at)? {
                b',' => at += 1,
                byte => return (byte == close).then_some(at + 1),
            }
        }
    }

    /// The byte after the text in quotes that begins at a byte.
    fn string_end(&self, from: u32) -> Option<u32> {
        let mut at = from.checked_add(1)?;
        loop {
            at += memchr2(b'"', b'\\', self.from(at))? as u32;
            match self.byte(at)? {
                b'"' => return Some(at + 1),
                _ => at = at.checked_add(2)?,
            }
        }
    }

    /// The member with a name among these nodes and those behind them.
    fn member(&self, nodes: Range<u32>, name: &str) -> Option<u32> {
        let mut nodes = Elements { tape: self, nodes };
        nodes.find_map(|value| (value.key() == name.as_bytes()).then_some(value.at?))
    }
}

impl<'t> Iterator for Elements<'t> {
    type Item = Value<'t>;

    fn next(&mut self) -> Option<Value<'t>> {
        let at = self.nodes.start;
        if at >= self.nodes.end {
            return None;
        }
        self.nodes.start = self.tape.nodes.get(at as usize)?.next;
        Some(Value { tape: self.tape, at: Some(at) })
    }
}

impl<'t> Value<'t> {
    fn node(self) -> Option<&'t Node> {
        self.tape.nodes.get(self.at? as usize)
    }

    fn key(self) -> &'t [u8] {
        self.node().map_or(&[], |node| self.tape.bytes(&node.key))
    }

    /// The text of the value.
    pub fn json(self) -> &'t [u8] {
        self.node().map_or(b"null", |node| self.tape.bytes(&node.value))
    }

    fn begins_with(self, byte: u8) -> bool {
        self.json().first() == Some(&byte)
    }

    pub fn is_null(self) -> bool {
        self.begins_with(b'n')
    }

    pub fn is_object(self) -> bool {
        self.begins_with(b'{')
    }

    pub fn is_list(self) -> bool {
        self.begins_with(b'[')
    }

    pub fn is_true(self) -> bool {
        self.begins_with(b't')
    }

    /// The value as a whole number that is not negative.
    pub fn number(self) -> Option<u64> {
        std::str::from_utf8(self.json()).ok()?.parse().ok()
    }

    /// The bytes between the quotes of a text, escaped; `None` of another value.
    pub fn escaped(self) -> Option<&'t [u8]> {
        self.json().strip_prefix(b"\"")?.strip_suffix(b"\"")
    }

    /// The text without escapes; `None` of another value.
    pub fn text(self) -> Option<Cow<'t, str>> {
        let escaped = self.escaped()?;
        match escaped.contains(&b'\\') {
            true => serde_json::from_slice(self.json()).ok().map(Cow::Owned),
            false => std::str::from_utf8(escaped).ok().map(Cow::Borrowed),
        }
    }

    /// The nodes of the elements or members.
    fn inside(self) -> Range<u32> {
        match (self.at, self.node()) {
            (Some(at), Some(node)) => at + 1..node.next,
            _ => 0..0,
        }
    }

    /// The elements of a list; none of another value.
    pub fn elements(self) -> Elements<'t> {
        let nodes = if self.is_list() { self.inside() } else { 0..0 };
        Elements { tape: self.tape, nodes }
    }

    /// The member of an object with a name.
    pub fn member(self, name: &str) -> Option<Value<'t>> {
        let at = if self.is_object() { self.tape.member(self.inside(), name) } else { None };
        at.map(|at| Value { at: Some(at), ..self })
    }

    /// As [`Value::member`]; null where there is none.
    pub fn get(self, name: &str) -> Value<'t> {
        self.member(name).unwrap_or(Value { at: None, ..self })
    }

    /// As [`Value::get`], searching first behind the member that was found last, whose node `last` has. Members that are taken in
    /// their order are found at once.
    pub fn get_next(self, name: &str, last: &Cell<u32>) -> Value<'t> {
        let inside = self.inside();
        let middle = last.get().max(inside.start);
        let behind = self.tape.member(middle..inside.end, name);
        let found = behind.or_else(|| self.tape.member(inside.start..middle, name));
        if let Some(at) = found {
            last.set(at);
        }
        Value { at: found, ..self }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Tape, ReadError> {
        Tape::read(text.as_bytes().to_vec(), Tape::default())
    }

    #[test]
    fn values_are_found_by_their_names_and_places() {
        let tape =
            read(r#"{"a":[1,{"b":"x\\\"y","c":{}},[]],"d":null,"e":-1.5e3,"f":true}"#).unwrap();
        let all = tape.value();
        let json = |value: Value<'_>| String::from_utf8_lossy(value.json()).into_owned();
        let elements: Vec<String> = all.get("a").elements().map(json).collect();
        assert_eq!(elements, ["1", r#"{"b":"x\\\"y","c":{}}"#, "[]"]);
        let inner = all.get("a").elements().nth(1).unwrap();
        assert_eq!(inner.get("b").text().unwrap(), "x\\\"y");
        assert_eq!(inner.get("b").escaped().unwrap(), br#"x\\\"y"#);
        assert!(inner.get("c").is_object() && inner.get("c").elements().next().is_none());
        assert!(all.get("d").is_null() && all.member("d").is_some());
        assert!(all.get("b").is_null() && all.member("b").is_none());
        assert_eq!((json(all.get("e")), all.get("f").is_true()), ("-1.5e3".to_owned(), true));
        assert_eq!(all.get("a").elements().next().unwrap().number(), Some(1));
    }

    #[test]
    fn members_are_found_in_any_order() {
        let tape = read(r#"{"a":1,"b":{"a":5},"c":3}"#).unwrap();
        let last = Cell::new(0);
        for (name, number) in [("c", 3), ("a", 1), ("c", 3), ("a", 1)] {
            assert_eq!(tape.value().get_next(name, &last).number(), Some(number), "{name}");
        }
        assert!(tape.value().get_next("d", &last).is_null());
    }

    #[test]
    fn a_text_that_is_no_json_is_damage() {
        let deep = "[".repeat(100_000);
        for text in ["", "{", "[1,", "{\"a\"}", "{\"a\":}", "\"a", "\"a\\", "1]", "[1}", "x", &deep]
        {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
