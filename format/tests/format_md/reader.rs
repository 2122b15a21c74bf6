//! A reader of records written from FORMAT.md alone: its layouts are read from the text itself.

use std::collections::BTreeMap;

/// An object's members, as a layout block gives them.
#[derive(Default)]
pub struct Layout {
    pub flag_bytes: usize,
    pub members: Vec<Member>,
}

/// One line of a layout block.
pub struct Member {
    pub first_flag: u32,
    pub flags: u32,
    pub name: String,
    pub kind: String,
}

/// The objects of one entity by name; the last one parsed is the root's.
#[derive(Default)]
pub struct Layouts {
    pub objects: BTreeMap<String, Layout>,
    pub root: String,
}

impl Layouts {
    pub fn parse(block: &str) -> Layouts {
        let mut layouts = Layouts::default();
        for line in block.lines() {
            if line.starts_with("  ") {
                let (first_flag, rest) = line.trim().split_once(' ').unwrap();
                let (flags, rest) = rest.split_once(' ').unwrap();
                let (name, kind) = rest.trim_start().split_once(": ").unwrap();
                let kind = kind.split("  [").next().unwrap().to_string();
                let (first_flag, flags) = (first_flag.parse().unwrap(), flags.parse().unwrap());
                let object = layouts.objects.get_mut(&layouts.root).unwrap();
                object.members.push(Member { first_flag, flags, name: name.into(), kind });
            } else {
                let (name, bytes) = line.split_once(" (").unwrap();
                let bytes = bytes.strip_suffix(" bytes of flags)").unwrap().parse().unwrap();
                layouts.root = name.to_string();
                let layout = Layout { flag_bytes: bytes, members: Vec::new() };
                layouts.objects.insert(name.to_string(), layout);
            }
        }
        layouts
    }
}

/// A value as FORMAT.md describes its bytes.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Null,
    Bool(bool),
    Number(f64),
    /// Integers, ids, rows and codes.
    Integer(i128),
    Text(String),
    /// Offset and length in the pool.
    LongText(usize, usize),
    /// Several numbers in one leaf: date, timestamp, entity and row.
    Numbers(Vec<i64>),
    List(Vec<Value>),
    Object(Vec<(String, Value)>),
}

impl Value {
    /// The value of a member, or an element by its number; nested by `.`.
    pub fn at(&self, path: &str) -> &Value {
        path.split('.').fold(self, |value, step| match value {
            Value::Object(members) => &members.iter().find(|(name, _)| name == step).expect(step).1,
            Value::List(values) => &values[step.parse::<usize>().unwrap()],
            other => panic!("{other:?} has no {step}"),
        })
    }

    fn shown(&self) -> String {
        match self {
            Value::Integer(number) => number.to_string(),
            Value::Numbers(numbers) => {
                numbers.iter().map(i64::to_string).collect::<Vec<_>>().join(", ")
            }
            other => format!("{other:?}"),
        }
    }

    pub fn text(&self) -> &str {
        let Value::Text(text) = self else { panic!("{self:?}") };
        text
    }
}

/// Notes on the bytes of a record: length and note by offset.
pub type Trace = BTreeMap<usize, (usize, String)>;

/// A packed record under reading.
pub struct Reader<'a> {
    bytes: &'a [u8],
    layouts: &'a Layouts,
    /// Added to offsets in notes.
    base: usize,
    at: usize,
    texts_from: usize,
    text_at: usize,
    reference: Option<u64>,
    trace: Trace,
}

impl<'a> Reader<'a> {
    /// Reads a whole record; returns it and the notes.
    pub fn read(bytes: &'a [u8], layouts: &'a Layouts, base: usize) -> (Value, Trace) {
        let (at, trace) = (0, Trace::new());
        let mut reader =
            Reader { bytes, layouts, base, at, texts_from: 0, text_at: 0, reference: None, trace };
        let members = reader.number() as usize;
        reader.note(0, format!("length of the members: {members}"));
        reader.texts_from = reader.at + members;
        reader.text_at = reader.texts_from;
        let value = reader.object(&layouts.root, "");
        assert_eq!((reader.at, reader.text_at), (reader.texts_from, bytes.len()));
        (value, reader.trace)
    }

    fn take<const N: usize>(&mut self) -> [u8; N] {
        self.at += N;
        self.bytes[self.at - N..self.at].try_into().unwrap()
    }

    fn number(&mut self) -> u64 {
        let mut number = 0;
        for shift in (0..).step_by(7) {
            let [byte] = self.take();
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return number;
            }
        }
        unreachable!()
    }

    fn signed(&mut self) -> i64 {
        let number = self.number();
        (number / 2) as i64 ^ -((number % 2) as i64)
    }

    fn row(&mut self) -> u64 {
        if let Some(row) = self.number().checked_sub(1) {
            self.reference = Some(row);
        }
        self.reference.unwrap()
    }

    /// Notes the bytes from an offset up to the next value.
    fn note(&mut self, from: usize, note: String) {
        self.note_range(from, self.at, note);
    }

    fn note_range(&mut self, from: usize, to: usize, note: String) {
        let before = self.trace.insert(from, (to - from, note));
        assert_eq!(before, None, "offset {from} was read twice");
    }

    fn object(&mut self, name: &str, path: &str) -> Value {
        let (layouts, from) = (self.layouts, self.at);
        let layout = &layouts.objects[name];
        let bytes = &self.bytes[from..from + layout.flag_bytes];
        let flags = bytes.iter().rev().fold(0u64, |flags, byte| flags << 8 | u64::from(*byte));
        self.at += layout.flag_bytes;
        self.note(from, format!("{path}flags: {flags:#b}"));
        let mut members = Vec::new();
        for member in &layout.members {
            let path = format!("{path}{}", member.name);
            let flags = flags >> member.first_flag & ((1 << member.flags) - 1);
            let from = self.at;
            let value = match (member.kind.as_str(), member.flags) {
                ("string??", 1) => match flags {
                    0 => Value::Null,
                    _ => self.host(&path),
                },
                ("code SourceType?", 0) => {
                    let numbers = vec![self.row() as i64, self.number() as i64 - 1];
                    self.note(from, format!("{path}: row of sources, code"));
                    Value::Numbers(numbers)
                }
                ("MetricsCut?", 0) => self.leaf("row of sources", &path),
                (kind, _) => self.value(kind, flags, &path),
            };
            members.push((member.name.clone(), value));
        }
        Value::Object(members)
    }

    fn host(&mut self, path: &str) -> Value {
        let from = self.at;
        let [flags] = self.take();
        self.note(from, format!("{path}.flags: {flags:#b}"));
        let kinds = ["string?", "row of publishers?", "row of institutions?"];
        let value = |(at, kind)| self.value(kind, u64::from(flags >> at & 1), path);
        Value::List(kinds.into_iter().enumerate().map(value).collect())
    }

    fn value(&mut self, kind: &str, flags: u64, path: &str) -> Value {
        let kind = kind.split(" (in lists ").next().unwrap();
        if let Some(inner) = kind.strip_suffix('?') {
            return match flags & 1 {
                0 => Value::Null,
                _ => self.value(inner, flags >> 1, path),
            };
        }
        if let Some(element) = kind.strip_prefix('[').and_then(|kind| kind.strip_suffix(']')) {
            let from = self.at;
            let count = self.number();
            self.note(from, format!("{path}: {count} elements"));
            let values = (0..count).map(|at| self.value(element, 0, &format!("{path}.{at}")));
            return Value::List(values.collect());
        }
        match kind {
            "bool" => Value::Bool(flags == 1),
            kind if self.layouts.objects.contains_key(kind) => {
                self.object(kind, &format!("{path}."))
            }
            kind => self.leaf(kind, path),
        }
    }

    fn leaf(&mut self, kind: &str, path: &str) -> Value {
        let from = self.at;
        let value = match kind {
            "f64" => Value::Number(self.float()),
            "i32" | "i64" | "UTC timestamp" => Value::Integer(self.signed().into()),
            "u64" => Value::Integer(self.number().into()),
            "string" | "JSON text" | "orcid" => return self.string(path),
            "long_text" => Value::LongText(self.number() as usize, self.number() as usize),
            "entity and row" => {
                let [entity] = self.take();
                Value::Numbers(vec![entity.into(), self.row() as i64])
            }
            "date" => {
                let [low, middle, high] = self.take();
                let date = i64::from(u32::from_le_bytes([low, middle, high, 0]));
                Value::Numbers(vec![date / 32 / 13, date / 32 % 13, date % 32])
            }
            "timestamp" => {
                let number = self.signed();
                Value::Numbers(match number.rem_euclid(8) {
                    7 => vec![self.signed(), number >> 3],
                    digits => vec![(number >> 3) * 10i64.pow(6 - digits as u32), digits],
                })
            }
            kind if kind.starts_with("id of ") || kind.contains("code ") => {
                Value::Integer(self.number().into())
            }
            kind if kind.contains("row of ") => Value::Integer(self.row().into()),
            _ => panic!("{path}: unknown type {kind}"),
        };
        self.note(from, format!("{path}: {}", value.shown()));
        value
    }

    fn float(&mut self) -> f64 {
        match self.take() {
            [255] => f64::from_le_bytes(self.take()),
            [power @ 0..18] => self.signed() as f64 / 10f64.powi(power.into()),
            [power @ 128..146] => {
                let decimal = self.signed() as f64 / 10f64.powi(i32::from(power) - 128);
                f64::from(decimal as f32)
            }
            [other] => panic!("a number by the power {other}"),
        }
    }

    fn string(&mut self, path: &str) -> Value {
        let from = self.at;
        let head = self.number() as usize;
        let text = if head % 2 == 1 {
            let (begin, length) = (self.texts_from + head / 2, self.number() as usize);
            assert!(begin + length <= self.text_at, "{path}");
            let place = self.base + begin;
            self.note(from, format!("{path}: the {length} bytes at {place:#x} again"));
            &self.bytes[begin..begin + length]
        } else {
            let (begin, length) = (self.text_at, head / 2);
            self.text_at += length;
            self.note(from, format!("{path}: {length} bytes"));
            if length > 0 {
                self.note_range(begin, begin + length, format!("text of {path}"));
            }
            &self.bytes[begin..begin + length]
        };
        Value::Text(std::str::from_utf8(text).unwrap().to_string())
    }
}
