//! Reads posted lines: JSON lines or CSV, to keys and questions.

use std::{borrow::Cow, fmt, str};

use http::StatusCode;
use pinakes_format::entity::Entity;
use pinakes_format::matching::Question;
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::list::stream::StreamFormat;
use crate::reply::{Detail, truncate};

/// The longest body: 1,000 lines of 2 KiB.
pub const BODY_BYTES_MAX: usize = 2 << 20;
/// The most lines of a body.
pub const LINES_MAX: usize = 1_000;
/// The longest key, in bytes.
const KEY_BYTES_MAX: usize = 1_024;
/// The name of the member that the reply repeats.
pub const KEY: &str = "key";

/// The format of posted lines, and of their answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineFormat {
    NdJson,
    Csv,
}

impl LineFormat {
    /// The format of the answers.
    pub fn stream(self) -> StreamFormat {
        match self {
            LineFormat::NdJson => StreamFormat::NdJson,
            LineFormat::Csv => StreamFormat::Csv,
        }
    }
}

/// A line of a posted body: its key and its question.
#[derive(Clone)]
pub struct Line {
    /// The key in the format of the body: JSON, or the text of a cell.
    pub key: String,
    /// The question, or the error in the line.
    pub question: Result<Question, String>,
}

/// Why no line of a body is answered.
pub struct LinesError {
    pub status: StatusCode,
    pub detail: Detail,
}

fn refused(reason: String) -> LinesError {
    LinesError { status: StatusCode::BAD_REQUEST, detail: Detail::new("body", "", reason) }
}

/// Reads the lines of a body.
pub fn read_lines(
    entity: Entity,
    format: LineFormat,
    body: &[u8],
) -> Result<Vec<Line>, LinesError> {
    let lines = match format {
        LineFormat::NdJson => read_json(entity, body)?,
        LineFormat::Csv => read_csv(entity, body)?,
    };
    if lines.is_empty() {
        return Err(refused("has no line; each line has a `text`, or parts of one".to_owned()));
    }
    Ok(lines)
}

fn too_many() -> LinesError {
    refused(format!(
        "has more than {LINES_MAX} lines; send {LINES_MAX} at a time, or use `pinakes-compiler match`"
    ))
}

fn read_json(entity: Entity, body: &[u8]) -> Result<Vec<Line>, LinesError> {
    let mut lines = Vec::new();
    for (number, text) in (1..).zip(body.split(|byte| *byte == b'\n')) {
        if text.trim_ascii().is_empty() {
            continue;
        }
        if lines.len() == LINES_MAX {
            return Err(too_many());
        }
        let mut line = JsonLine { key: None, question: Question::new(entity), set: Ok(()) };
        let mut json = serde_json::Deserializer::from_slice(text);
        let read = line.deserialize(&mut json).and_then(|()| json.end());
        let (key, question) = match read {
            // A line with a key and an invalid question keeps the key, by which the client finds the error.
            Ok(()) => {
                let question = line.set.and_then(|()| checked(line.question));
                (line.key.unwrap_or_else(|| "null".to_owned()), question)
            }
            Err(error) => {
                let column = error.column();
                let what = match error.is_data() {
                    true => "is no JSON object",
                    false => "is no JSON",
                };
                ("null".to_owned(), Err(format!("{what}, at column {column}")))
            }
        };
        lines.push(Line { key, question: question.map_err(|error| at_line(number, &error)) });
    }
    Ok(lines)
}

fn at_line(number: usize, error: &str) -> String {
    format!("line {number}: {error}")
}

/// A line in JSON while its members are read, in order: a name may come twice.
struct JsonLine {
    key: Option<String>,
    question: Question,
    /// The first error in a member.
    set: Result<(), String>,
}

/// The value of a member that is a part of a question.
enum PartValue<'de> {
    Null,
    Text(Cow<'de, str>),
    Other,
}

impl JsonLine {
    /// Adds a member that is no key.
    fn set(&mut self, name: &str, value: PartValue<'_>) {
        if self.set.is_err() {
            return;
        }
        self.set = match value {
            PartValue::Null => Ok(()),
            PartValue::Text(text) => {
                self.question.set(name, &text).map_err(|error| error.to_string())
            }
            PartValue::Other => Err(format!("`{}` is no text", truncate(name, 64))),
        };
    }

    /// Adds the key, which is any JSON.
    fn set_key(&mut self, key: &RawValue) -> serde_json::Result<()> {
        let sent_bytes = key.get().len();
        let text = match sent_bytes <= KEY_BYTES_MAX {
            true => Some(serde_json::from_str::<Value>(key.get())?.to_string()),
            false => None,
        };
        if self.set.is_ok() && (self.key.is_some() || text.is_none()) {
            self.set = Err(match self.key {
                Some(_) => format!("`{KEY}` is given twice; give it once"),
                None => {
                    format!("`{KEY}` is {sent_bytes} bytes long; at most {KEY_BYTES_MAX} are taken")
                }
            });
        }
        if let Some(text) = text {
            self.key.get_or_insert(text);
        }
        Ok(())
    }
}

/// Reads the members of a line into it: nothing is kept of what a line may not have.
impl<'de> DeserializeSeed<'de> for &mut JsonLine {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for &mut JsonLine {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<Cow<'de, str>>()? {
            let value: &RawValue = map.next_value()?;
            let text = value.get();
            if name == KEY {
                self.set_key(value).map_err(A::Error::custom)?;
                continue;
            }
            let value = match text.as_bytes().first() {
                Some(b'"') => {
                    PartValue::Text(serde_json::from_str(text).map_err(A::Error::custom)?)
                }
                Some(b'n') => PartValue::Null,
                Some(b'-' | b'0'..=b'9') => PartValue::Text(text.into()),
                _ => PartValue::Other,
            };
            self.set(&name, value);
        }
        Ok(())
    }
}

fn checked(question: Question) -> Result<Question, String> {
    match question.check() {
        Ok(()) => Ok(question),
        Err(error) => Err(error.to_string()),
    }
}

fn read_csv(entity: Entity, body: &[u8]) -> Result<Vec<Line>, LinesError> {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    let mut rows = csv::ReaderBuilder::new().flexible(true).from_reader(body);
    let header = rows.byte_headers().map_err(|error| refused(error.to_string()))?.clone();
    let names: Vec<String> =
        header.iter().map(|name| String::from_utf8_lossy(name.trim_ascii()).into_owned()).collect();
    let known: Vec<&str> = Question::names(entity).chain([KEY]).collect();
    if let Some(name) = names.iter().find(|name| !known.contains(&name.as_str())) {
        let detail = Detail::new(
            "body",
            name,
            format!("is no column; the first row names columns of {}", known.join(", ")),
        );
        return Err(LinesError { status: StatusCode::BAD_REQUEST, detail });
    }
    let mut lines = Vec::new();
    for row in rows.byte_records() {
        if lines.len() == LINES_MAX {
            return Err(too_many());
        }
        let row = row.map_err(|error| refused(error.to_string()))?;
        // The header is the first row.
        let number = lines.len() + 2;
        let (key, question) = from_row(entity, &names, &row);
        lines.push(Line {
            key,
            question: question.map_err(|error| format!("row {number}: {error}")),
        });
    }
    Ok(lines)
}

fn from_row(
    entity: Entity,
    names: &[String],
    row: &csv::ByteRecord,
) -> (String, Result<Question, String>) {
    let mut key = String::new();
    let mut question = Question::new(entity);
    let mut set = Ok(());
    if row.len() != names.len() {
        set = Err(format!("has {} cells where the first row has {}", row.len(), names.len()));
    }
    for (name, cell) in names.iter().zip(row) {
        let text = str::from_utf8(cell);
        if name == KEY {
            key = truncate(text.unwrap_or_default(), KEY_BYTES_MAX);
        } else if set.is_ok() {
            set = match text {
                Ok(text) => question.set(name, text).map_err(|error| error.to_string()),
                Err(_) => Err(format!("`{name}` is no UTF-8")),
            };
        }
    }
    (key, set.and_then(|()| checked(question)))
}
