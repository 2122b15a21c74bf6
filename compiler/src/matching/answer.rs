//! Answers one row: its cells as a question, and the candidates as more cells.

use std::{borrow::Cow, str};

use csv::ByteRecord;
use pinakes_format::entity::Entity;
use pinakes_format::matching::{Candidate, Question, find_matches};
use pinakes_format::query::{Deadline, QueryError, parse_select};
use pinakes_format::record::{CsvTable, Members, View, write_line};
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::ReadError;
use pinakes_format::text::json;
use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::matching::options::MatchArgs;
use crate::matching::rows::Row;

/// The columns of each candidate.
const COLUMNS: [&str; 4] = ["id", "name", "score", "match"];
/// The column that tells whether a candidate is sure. A text that means no record has `false`, a bad line nothing.
const MATCH: usize = 3;
/// The member with a line that is no JSON object.
const INPUT: &str = "pinakes_input";

/// The outcome of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Sure,
    Unsure,
    Nothing,
    Bad,
}

/// Answers the rows of an input.
pub(super) struct Answerer<'s> {
    snapshot: &'s Snapshot,
    entity: Entity,
    /// Parts, and the names of their columns.
    parts: Vec<(&'static str, String)>,
    /// Parts, and the numbers of their columns in a table.
    places: Vec<(&'static str, usize)>,
    /// The number of columns of a table.
    width: usize,
    candidates: usize,
    select: Option<Members>,
    /// The names of what `--select` adds.
    selected: Vec<String>,
}

impl<'s> Answerer<'s> {
    /// Checks the columns against the header of a table.
    pub fn new(
        args: &MatchArgs,
        snapshot: &'s Snapshot,
        header: Option<&ByteRecord>,
    ) -> Result<Answerer<'s>> {
        let entity = args.entity;
        let mut parts = Vec::new();
        for column in &args.columns {
            // A name of a column may contain `=`: without a known part before the sign, the whole argument names the
            // column of the text.
            let known = column.split_once('=').and_then(|(part, name)| {
                let part = Question::names(entity).find(|known| *known == part)?;
                Some((part, name))
            });
            let (part, name) = known.unwrap_or(("text", column));
            if parts.iter().any(|(known, _)| *known == part) {
                return Err(Error::Usage(format!("`--column` gives two columns for `{part}`")));
            }
            parts.push((part, name.to_owned()));
        }
        let mut places = Vec::new();
        // JSON lines have no header: `answer_line` looks each member up by name.
        for (part, name) in parts.iter().filter(|_| header.is_some()) {
            let mut columns = header.into_iter().flat_map(ByteRecord::iter);
            let place = columns.position(|column| column.trim_ascii() == name.as_bytes());
            let place = place.ok_or_else(|| no_column(name, header))?;
            places.push((*part, place));
        }
        let select = args.select.as_deref().map(|text| {
            parse_select(entity, View::Export, text).map_err(|errors| {
                let errors: Vec<String> = errors
                    .iter()
                    .map(|error| format!("`--select {}` {}", error.text, error.reason))
                    .collect();
                Error::Usage(errors.join("; "))
            })
        });
        let select = select.transpose()?;
        // `push_cells` uses the same table, so header and cells have equal columns.
        let names = select.as_ref().map(|members| CsvTable::new(members).names().to_vec());
        let twice = names.iter().flatten().find(|name| COLUMNS.contains(&name.as_str()));
        if let Some(name) = twice {
            let added = added_name(name, 0);
            let reason = format!("`--select {name}`: the member is always there, as `{added}`");
            return Err(Error::Usage(reason));
        }
        Ok(Answerer {
            snapshot,
            entity,
            parts,
            places,
            width: header.map_or(0, ByteRecord::len),
            candidates: usize::from(args.candidates),
            select,
            selected: names.unwrap_or_default(),
        })
    }

    /// The line of the header, with the columns of the candidates; `None` of JSON lines.
    pub fn header(&self, header: Option<&ByteRecord>) -> Option<Vec<u8>> {
        let header = header?;
        let added = (0..self.candidates).flat_map(|number| {
            let names = COLUMNS.iter().copied().chain(self.selected.iter().map(String::as_str));
            names.map(move |name| added_name(name, number)).collect::<Vec<_>>()
        });
        let added: Vec<String> = added.collect();
        let mut line = Vec::new();
        let names = header.iter().chain(added.iter().map(|name| name.as_bytes()));
        write_line(names, &mut line);
        Some(line)
    }

    /// The line of the output for a row.
    pub fn answer(&self, row: &Row) -> std::result::Result<(Vec<u8>, Outcome), ReadError> {
        match row {
            Row::Cells(cells) => self.answer_cells(cells),
            Row::Line(line) => self.answer_line(line),
        }
    }

    fn answer_cells(
        &self,
        cells: &ByteRecord,
    ) -> std::result::Result<(Vec<u8>, Outcome), ReadError> {
        let parts = self.places.iter().map(|(part, place)| {
            let text = cells.get(*place).and_then(|cell| str::from_utf8(cell).ok());
            text.map(|text| (*part, Cow::Borrowed(text)))
        });
        let parts: Option<Vec<_>> = parts.collect();
        // The texts of a row of another width may be in other columns, so the row is bad.
        let parts = parts.filter(|_| cells.len() == self.width);
        let (found, outcome) = self.find(parts)?;
        let mut fields: Vec<Vec<u8>> = cells.iter().map(<[u8]>::to_vec).collect();
        // A short row gets the cells that it lacks; otherwise the added cells would be under the headings of others.
        let width = fields.len().max(self.width);
        fields.resize(width, Vec::new());
        for number in 0..self.candidates {
            match found.get(number) {
                Some(candidate) => self.push_cells(candidate, &mut fields)?,
                None => {
                    let added = COLUMNS.len() + self.selected.len();
                    let match_at = fields.len() + MATCH;
                    fields.resize(fields.len() + added, Vec::new());
                    // `false` tells a text that means no record from a bad row, whose added cells are all empty.
                    if number == 0 && outcome == Outcome::Nothing {
                        fields[match_at] = b"false".to_vec();
                    }
                }
            }
        }
        let mut line = Vec::new();
        write_line(fields.iter().map(Vec::as_slice), &mut line);
        Ok((line, outcome))
    }

    fn push_cells(
        &self,
        candidate: &Candidate,
        fields: &mut Vec<Vec<u8>>,
    ) -> std::result::Result<(), ReadError> {
        let mut id = Vec::new();
        self.entity.write_id(self.snapshot.row_id(self.entity, candidate.row)?, &mut id);
        fields.push(id);
        let name = self.snapshot.name(self.entity, candidate.row)?.unwrap_or_default();
        fields.push(name.into());
        fields.push(candidate.score_text().into());
        fields.push(candidate.is_match.to_string().into());
        if let Some(members) = &self.select {
            let mut table = CsvTable::new(members);
            let record = self.record(members, candidate.row)?;
            fields.extend(table.cells(&record)?.map(<[u8]>::to_vec));
        }
        Ok(())
    }

    /// The selected members of a record, as JSON; none of a name that has no record.
    fn record(&self, members: &Members, row: u32) -> std::result::Result<Vec<u8>, ReadError> {
        if row >= self.snapshot.count(self.entity) {
            return Ok(b"{}".to_vec());
        }
        let mut writer = members.writer(self.snapshot);
        members.render(row, &mut writer)?;
        Ok(writer.out)
    }

    fn answer_line(&self, line: &[u8]) -> std::result::Result<(Vec<u8>, Outcome), ReadError> {
        let members: Option<Map<String, Value>> = serde_json::from_slice(line).ok();
        let parts = members.as_ref().and_then(|members| {
            let parts = self.parts.iter().map(|(part, name)| {
                let text = match members.get(name) {
                    None | Some(Value::Null) => Cow::Borrowed(""),
                    Some(Value::String(text)) => Cow::Borrowed(text.as_str()),
                    Some(Value::Number(number)) => Cow::Owned(number.to_string()),
                    Some(_) => return None,
                };
                Some((*part, text))
            });
            parts.collect::<Option<Vec<_>>>()
        });
        let (found, outcome) = self.find(parts)?;
        let mut out = match &members {
            // The bytes of the line stay as they are.
            Some(members) => {
                let object = line.trim_ascii_end();
                let object = object.strip_suffix(b"}").unwrap_or(object).trim_ascii_end();
                let comma: &[u8] = if members.is_empty() { b"" } else { b"," };
                [object, comma].concat()
            }
            None => {
                let mut out = format!("{{\"{INPUT}\":").into_bytes();
                json::string(&mut out, &String::from_utf8_lossy(line));
                out.push(b',');
                out
            }
        };
        for number in 0..self.candidates {
            if number > 0 {
                out.push(b',');
            }
            let means_nothing = number == 0 && outcome == Outcome::Nothing;
            self.write_members(found.get(number), means_nothing, number, &mut out)?;
        }
        out.extend_from_slice(b"}\n");
        Ok((out, outcome))
    }

    /// Appends the members of a candidate to a line.
    fn write_members(
        &self,
        candidate: Option<&Candidate>,
        means_nothing: bool,
        number: usize,
        out: &mut Vec<u8>,
    ) -> std::result::Result<(), ReadError> {
        let mut values = Map::new();
        if let Some(candidate) = candidate {
            // The candidate writes more members than the columns, such as `why`; the columns are picked by name.
            let mut text = b"{".to_vec();
            candidate.write_members(self.snapshot, self.entity, &mut text)?;
            text.push(b'}');
            values = parsed(&text)?;
        }
        // As in a table, `false` tells a text that means no record from a bad line.
        if means_nothing {
            values.insert(COLUMNS[MATCH].to_owned(), Value::Bool(false));
        }
        for (at, name) in COLUMNS.iter().enumerate() {
            let comma = if at > 0 { "," } else { "" };
            let value = values.get(*name).unwrap_or(&Value::Null);
            out.extend(format!("{comma}\"{}\":{value}", added_name(name, number)).bytes());
        }
        let Some(members) = &self.select else { return Ok(()) };
        let record = match candidate {
            Some(candidate) => parsed(&self.record(members, candidate.row)?)?,
            None => Map::new(),
        };
        for member in members.members() {
            let value = record.get(member.name).unwrap_or(&Value::Null);
            out.extend(format!(",\"{}\":{value}", added_name(member.name, number)).bytes());
        }
        Ok(())
    }

    /// The candidates of a row; `None` is a row without its parts.
    fn find(
        &self,
        parts: Option<Vec<(&'static str, Cow<'_, str>)>>,
    ) -> std::result::Result<(Vec<Candidate>, Outcome), ReadError> {
        let mut question = Question::new(self.entity);
        let set = |(name, text): (&str, Cow<'_, str>)| question.set(name, &text);
        let is_set = parts.is_some_and(|parts| parts.into_iter().try_for_each(set).is_ok());
        if !is_set || question.check().is_err() {
            return Ok((Vec::new(), Outcome::Bad));
        }
        let found = match find_matches(self.snapshot, &question, Deadline::NEVER) {
            Ok(found) => found,
            Err(QueryError::Damaged(error)) => return Err(error),
            Err(QueryError::Deadline | QueryError::Refused { .. }) => {
                return Ok((Vec::new(), Outcome::Bad));
            }
        };
        let outcome = match found.first() {
            None => Outcome::Nothing,
            Some(best) if best.is_match => Outcome::Sure,
            Some(_) => Outcome::Unsure,
        };
        Ok((found, outcome))
    }
}

fn parsed(text: &[u8]) -> std::result::Result<Map<String, Value>, ReadError> {
    serde_json::from_slice(text).map_err(|_| ReadError::Internal("a rendered record is no JSON"))
}

/// The name of an added column.
fn added_name(name: &str, number: usize) -> String {
    match number {
        0 => format!("pinakes_{name}"),
        number => format!("pinakes_{name}_{}", number + 1),
    }
}

fn no_column(name: &str, header: Option<&ByteRecord>) -> Error {
    let names: Vec<Cow<'_, str>> =
        header.into_iter().flat_map(ByteRecord::iter).map(String::from_utf8_lossy).collect();
    Error::Usage(format!("the input has no column `{name}`; its columns are {}", names.join(", ")))
}
