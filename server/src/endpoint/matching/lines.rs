//! Reads posted lines: JSON lines or CSV, to keys and questions.

use std::{fmt, str};

use http::StatusCode;
use pinakes_format::entity::Entity;
use pinakes_format::matching::Question;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::Value;

use crate::endpoint::matching::LineFormat;
use crate::reply::detail::{Detail, truncate};

/// The most lines of a body.
pub const LINES_MAX: usize = 1_000;
/// The longest key, in bytes.
const KEY_BYTES_MAX: usize = 1_024;
/// The name of the member that the reply repeats.
pub const KEY: &str = "key";

/// A line of a posted body: its key and its question.
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
        let (key, question) = match serde_json::from_slice(text) {
            Ok(members) => from_members(entity, members),
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

/// The members of a JSON object, in order: a name may come twice.
struct JsonMembers(Vec<(String, Value)>);

impl<'de> serde::Deserialize<'de> for JsonMembers {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<JsonMembers, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = JsonMembers;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<JsonMembers, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(JsonMembers(members))
            }
        }
        from.deserialize_map(Members)
    }
}

fn from_members(
    entity: Entity,
    JsonMembers(members): JsonMembers,
) -> (String, Result<Question, String>) {
    let mut key = None;
    let mut question = Question::new(entity);
    let mut set = Ok(());
    for (name, value) in members {
        let is_right = |set: &Result<(), String>| set.is_ok();
        if name == KEY {
            let text = value.to_string();
            if is_right(&set) && (key.is_some() || text.len() > KEY_BYTES_MAX) {
                set = Err(match key {
                    Some(_) => format!("`{KEY}` is given twice; give it once"),
                    None => format!(
                        "`{KEY}` is {} bytes long; at most {KEY_BYTES_MAX} are taken",
                        text.len()
                    ),
                });
            }
            if text.len() <= KEY_BYTES_MAX {
                key.get_or_insert(text);
            }
        } else if is_right(&set) {
            set = match &value {
                Value::Null => Ok(()),
                Value::String(text) => question.set(&name, text).map_err(|error| error.to_string()),
                Value::Number(number) => {
                    question.set(&name, &number.to_string()).map_err(|error| error.to_string())
                }
                _ => Err(format!("`{}` is no text", truncate(&name, 64))),
            };
        }
    }
    let question = set.and_then(|()| checked(question));
    (key.unwrap_or_else(|| "null".to_owned()), question)
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
