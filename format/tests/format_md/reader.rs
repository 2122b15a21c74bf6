//! A reader of records written from FORMAT.md alone: its layouts are read from the text itself.

use std::{cell::RefCell, collections::BTreeMap};

/// An object's members, as a layout block gives them.
#[derive(Default)]
pub struct Layout {
    pub size: usize,
    pub members: Vec<Member>,
}

/// One line of a layout block.
pub struct Member {
    pub offset: usize,
    pub size: usize,
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
                let (offset, rest) = line.trim().split_once(' ').unwrap();
                let (size, rest) = rest.trim_start().split_once(' ').unwrap();
                let (name, kind) = rest.trim_start().split_once(": ").unwrap();
                let kind = kind.split("  [").next().unwrap().to_string();
                let (offset, size) = (offset.parse().unwrap(), size.parse().unwrap());
                let object = layouts.objects.get_mut(&layouts.root).unwrap();
                object.members.push(Member { offset, size, name: name.into(), kind });
            } else {
                let (name, size) = line.split_once(" (").unwrap();
                let size = size.strip_suffix(" bytes)").unwrap().parse().unwrap();
                layouts.root = name.to_string();
                layouts.objects.insert(name.to_string(), Layout { size, members: Vec::new() });
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

/// An archived part under reading.
pub struct Reader<'a> {
    pub bytes: &'a [u8],
    pub layouts: &'a Layouts,
    /// Added to offsets in notes.
    pub base: usize,
    pub trace: RefCell<Trace>,
}

impl Reader<'_> {
    pub fn root(&self) -> Value {
        let name = &self.layouts.root;
        self.object(name, self.bytes.len() - self.layouts.objects[name].size, "")
    }

    fn array<const N: usize>(&self, at: usize) -> [u8; N] {
        self.bytes[at..at + N].try_into().unwrap()
    }

    fn note(&self, at: usize, length: usize, note: String) {
        let before = self.trace.borrow_mut().insert(at, (length, note));
        assert_eq!(before, None, "offset {at} was read twice");
    }

    fn object(&self, name: &str, at: usize, path: &str) -> Value {
        let mut members = Vec::new();
        for member in &self.layouts.objects[name].members {
            let path = format!("{path}{}", member.name);
            let place = at + member.offset;
            let value = match (member.kind.as_str(), member.size) {
                ("string??", 20) => self.nullable(place, 19, &path, |at| self.host(at, &path)),
                ("code SourceType?", 8) => {
                    self.note(place, 8, format!("{path}: row of sources, code"));
                    self.numbers(&[self.u32(place), self.u32(place + 4)])
                }
                ("MetricsCut?", 4) => self.leaf("row of sources", place, 4, &path),
                (kind, size) => self.value(kind, place, size, &path),
            };
            members.push((member.name.clone(), value));
        }
        Value::Object(members)
    }

    fn host(&self, at: usize, path: &str) -> Value {
        Value::List(vec![
            self.value("string?", at, 9, &format!("{path}.given")),
            self.value("row of publishers?", at + 9, 5, &format!("{path}.publisher")),
            self.value("row of institutions?", at + 14, 5, &format!("{path}.institution")),
        ])
    }

    fn nullable(
        &self,
        at: usize,
        size: usize,
        path: &str,
        inner: impl FnOnce(usize) -> Value,
    ) -> Value {
        match self.bytes[at] {
            0 => {
                assert!(self.bytes[at + 1..at + 1 + size].iter().all(|byte| *byte == 0), "{path}");
                self.note(at, 1 + size, format!("{path}: null"));
                Value::Null
            }
            1 => {
                self.note(at, 1, format!("{path}: a value"));
                inner(at + 1)
            }
            other => panic!("{path}: nullable byte {other}"),
        }
    }

    fn value(&self, kind: &str, at: usize, size: usize, path: &str) -> Value {
        if let Some(inner) = kind.strip_suffix('?') {
            return self.nullable(at, size - 1, path, |at| self.value(inner, at, size - 1, path));
        }
        let kind = kind.split(" (in lists ").next().unwrap();
        if let Some(element) = kind.strip_prefix('[').and_then(|kind| kind.strip_suffix(']')) {
            assert_eq!(size, 8, "{path}");
            return self.list(element, at, path);
        }
        match self.layouts.objects.get(kind) {
            Some(layout) => {
                assert_eq!(layout.size, size, "{path}");
                self.object(kind, at, &format!("{path}."))
            }
            None => self.leaf(kind, at, size, path),
        }
    }

    fn list(&self, element: &str, at: usize, path: &str) -> Value {
        let (distance, count) = (self.i32(at), self.u32(at + 4) as usize);
        let from = at.wrapping_add_signed(distance as isize);
        let size = self.element_size(element);
        self.note(
            at,
            8,
            match count {
                0 => format!("{path}: 0 elements"),
                _ => format!("{path}: {distance} to {:#x}, {count} elements", self.base + from),
            },
        );
        assert!(count == 0 || distance < 0 && from + size * count <= at, "{path}");
        let value = |index| {
            let path = format!("{path}.{index}");
            self.value(element, from + size * index, size, &path)
        };
        Value::List((0..count).map(value).collect())
    }

    fn element_size(&self, kind: &str) -> usize {
        match self.layouts.objects.get(kind) {
            Some(layout) => layout.size,
            None => match kind {
                "i32" => 4,
                "string" | "long_text" => 8,
                _ if kind.contains("row of ") || kind.contains("code ") => 4,
                _ => panic!("no size for {kind}"),
            },
        }
    }

    fn leaf(&self, kind: &str, at: usize, size: usize, path: &str) -> Value {
        let sized = |expected| assert_eq!(size, expected, "{path}: {kind}");
        let (length, value) = match kind {
            "bool" => (1, Value::Bool([false, true][usize::from(self.bytes[at])])),
            "f64" => (8, Value::Number(f64::from_le_bytes(self.array(at)))),
            "i32" => (4, Value::Integer(self.i32(at).into())),
            "i64" => (8, Value::Integer(i64::from_le_bytes(self.array(at)).into())),
            "u64" => (8, Value::Integer(u64::from_le_bytes(self.array(at)).into())),
            "string" | "JSON text" | "orcid" => {
                sized(8);
                return self.string(at, path);
            }
            "long_text" => (8, Value::LongText(self.u32(at) as usize, self.u32(at + 4) as usize)),
            "entity and row" => (5, self.numbers(&[self.bytes[at].into(), self.u32(at + 1)])),
            "date" => {
                let [low, high, month, day] = self.array(at);
                let year = u16::from_le_bytes([low, high]);
                (4, self.numbers(&[year.into(), month.into(), day.into()]))
            }
            "timestamp" => {
                let micros = i64::from_le_bytes(self.array(at));
                (9, Value::Numbers(vec![micros, self.bytes[at + 8].into()]))
            }
            "UTC timestamp" => (8, Value::Integer(i64::from_le_bytes(self.array(at)).into())),
            _ if kind.starts_with("id of ") => {
                (8, Value::Integer(u64::from_le_bytes(self.array(at)).into()))
            }
            _ if kind.contains("row of ") || kind.contains("code ") => {
                (4, Value::Integer(self.u32(at).into()))
            }
            _ => panic!("{path}: unknown type {kind}"),
        };
        sized(length);
        self.note(at, size, format!("{path}: {}", value.shown()));
        value
    }

    fn string(&self, at: usize, path: &str) -> Value {
        let bytes: [u8; 8] = self.array(at);
        let text = if bytes[0] & 0xc0 == 0x80 {
            let (word, distance) = (self.u32(at), self.i32(at + 4));
            let length = ((word & 0x3f) | ((word & 0xffff_ff00) >> 2)) as usize;
            let from = at.wrapping_add_signed(distance as isize);
            assert!(length > 8 && distance < 0 && from + length <= at, "{path}");
            let target = self.base + from;
            self.note(at, 8, format!("{path}: {length} bytes, {distance} to {target:#x}"));
            self.note(from, length, format!("text of {path}"));
            &self.bytes[from..from + length]
        } else {
            let length = bytes.iter().position(|byte| *byte == 0xff).unwrap_or(8);
            assert!(bytes[length..].iter().all(|byte| *byte == 0xff), "{path}");
            self.note(at, 8, format!("{path}: inline, {length} bytes"));
            &self.bytes[at..at + length]
        };
        Value::Text(std::str::from_utf8(text).unwrap().to_string())
    }

    fn numbers(&self, numbers: &[u32]) -> Value {
        Value::Numbers(numbers.iter().map(|number| i64::from(*number)).collect())
    }

    fn u32(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.array(at))
    }

    fn i32(&self, at: usize) -> i32 {
        i32::from_le_bytes(self.array(at))
    }
}
