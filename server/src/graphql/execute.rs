//! From a plan to the answer's text, written straight from the archived records, and never further
//! than its bounds.

use pinakes_format::autocomplete;
use pinakes_format::autocomplete::Candidate;
use pinakes_format::entity::Entity;
use pinakes_format::json::render::{Page, Shape};
use pinakes_format::json::select::{Resolver, SelectError, Selection, SelectionWriter};
use pinakes_format::query::{AnswerError, Deadline, Query};
use pinakes_format::snapshot::{Found, Snapshot};
use pinakes_format::storage::error::ReadError;
use pinakes_format::text::json;
use serde_json::value::RawValue;

use crate::api::handlers::end_of_chain;
use crate::graphql::error::{Error, PARTS_MAX};
use crate::graphql::error_path::Trail;
use crate::graphql::introspection::Introspection;
use crate::graphql::options::Settings;
use crate::graphql::plan::{Autocomplete, List, Named, PagePart, Plan, Question};
use crate::graphql::work_budget::{Halted, Patience, Spending};

/// Room made for an answer before it is written.
const ANSWER_BYTES: usize = 16 << 10;

/// Writes the answer to a plan: the text of `data`, and what is wrong with parts of it.
///
/// # Errors
///
/// Where it came to no end.
pub fn answer(
    plan: &Plan<'_>,
    snapshot: &Snapshot,
    introspection: &Introspection,
    settings: &Settings,
    patience: &Patience<'_>,
) -> Result<(Vec<u8>, Vec<Error>), Halted> {
    let mut page = Page::new(snapshot, Shape::Single);
    page.out.reserve(ANSWER_BYTES);
    let spending = Spending::begin(patience, settings.cpu);
    let mut answering = Executor {
        plan,
        snapshot,
        settings,
        spending,
        records: 0,
        errors: Vec::new(),
        trail: Trail::default(),
        halted: None,
    };
    match answering.roots(introspection, &mut page) {
        Ok(()) => Ok((page.out, answering.errors)),
        Err(SelectError::Damaged(error)) => Err(Halted::Damaged(error)),
        // Whoever stops says why.
        Err(SelectError::Cancelled) => Err(match answering.halted {
            Some(Halted::Exceeded(error)) => {
                Halted::Exceeded(error.of(answering.trail.walk_to_end(&page.out)))
            }
            halted => halted.unwrap_or(Halted::Timeout),
        }),
    }
}

struct Executor<'p, 's> {
    plan: &'p Plan<'p>,
    snapshot: &'s Snapshot,
    settings: &'p Settings,
    spending: Spending<'p>,
    /// Records read so far.
    records: u64,
    /// What is wrong with parts of the answer, the first of it.
    errors: Vec<Error>,
    /// Where the last of it was.
    trail: Trail,
    halted: Option<Halted>,
}

impl Executor<'_, '_> {
    fn roots(
        &mut self,
        introspection: &Introspection,
        page: &mut Page<'_>,
    ) -> Result<(), SelectError> {
        let plan = self.plan;
        page.open_object();
        for root in &plan.roots {
            page.key(&format!("\"{}\":", root.key));
            match &root.question {
                Question::Constant(json) => page.out.extend_from_slice(json.as_bytes()),
                Question::Record(entity, id, selection) => {
                    self.by_id(*entity, *id, selection, page)?;
                }
                Question::List(number) => match &plan.lists[*number] {
                    Ok(list) => self.list(list, &list.query, page)?,
                    Err(error) => self.wrong(error, page),
                },
                Question::Wrong(error) => self.wrong(error, page),
                Question::Autocomplete(asked) => self.autocomplete(asked, page)?,
                Question::Schema(type_name, asked) => {
                    introspection.answer(type_name.as_deref(), asked, page, self)?;
                }
            }
            self.check_size(page.out.len())?;
        }
        page.close_object();
        Ok(())
    }

    fn by_id(
        &mut self,
        entity: Entity,
        id: u64,
        selection: &Selection,
        page: &mut Page<'_>,
    ) -> Result<(), SelectError> {
        let found = match end_of_chain(self.snapshot, entity, id)? {
            Found::Merged(into) => self.snapshot.find(entity, into)?,
            found => found,
        };
        match found {
            Found::Row(row) => {
                SelectionWriter { page, resolver: self }.record(entity, row, selection)
            }
            _ => {
                page.null();
                Ok(())
            }
        }
    }

    fn list(&mut self, list: &List, query: &Query, page: &mut Page<'_>) -> Result<(), SelectError> {
        let answered = query.answer(self.snapshot, Deadline::when(&|| self.is_over().is_some()));
        let answer = answered.map_err(|error| self.unanswered(error))?;
        page.open_object();
        for (key, part) in &list.members {
            page.key(key);
            match part {
                PagePart::Meta(members) => write_members(members, page, |name, out| {
                    let number = match name {
                        "count" => answer.count,
                        "page" => query.page.get().into(),
                        _ => query.per_page.into(),
                    };
                    json::unsigned(out, number);
                }),
                PagePart::Results(selection) => {
                    let row = |row: &u32, page: &mut Page<'_>, resolver: &mut Self| {
                        SelectionWriter { page, resolver }.record(query.entity, *row, selection)
                    };
                    self.array(&answer.rows, page, row)?;
                }
                PagePart::Constant(json) => page.out.extend_from_slice(json.as_bytes()),
                // Planned for autocomplete alone.
                PagePart::Candidates(_) => {
                    return Err(ReadError::Internal(
                        "a list selection holds autocomplete candidates",
                    )
                    .into());
                }
            }
        }
        page.close_object();
        Ok(())
    }

    fn autocomplete(
        &mut self,
        asked: &Autocomplete,
        page: &mut Page<'_>,
    ) -> Result<(), SelectError> {
        let is_over = || self.is_over().is_some();
        let deadline = Deadline::when(&is_over);
        let found =
            autocomplete::autocomplete(self.snapshot, &asked.entities, &asked.text, deadline);
        let found = found.map_err(|error| self.unanswered(error))?;
        page.open_object();
        for (key, part) in &asked.members {
            page.key(key);
            match part {
                PagePart::Meta(members) => {
                    write_members(members, page, |_, out| json::unsigned(out, found.count));
                }
                PagePart::Candidates(members) => {
                    let one = |candidate: &Candidate, page: &mut Page<'_>, resolver: &mut Self| {
                        resolver.before_record(page.out.len())?;
                        Ok(write_candidate(resolver.snapshot, *candidate, members, page)?)
                    };
                    self.array(&found.best, page, one)?;
                }
                PagePart::Constant(json) => page.out.extend_from_slice(json.as_bytes()),
                // Planned for lists alone.
                PagePart::Results(_) => {
                    return Err(ReadError::Internal(
                        "an autocomplete selection holds list results",
                    )
                    .into());
                }
            }
        }
        page.close_object();
        Ok(())
    }

    fn array<T>(
        &mut self,
        items: &[T],
        page: &mut Page<'_>,
        write: impl Fn(&T, &mut Page<'_>, &mut Self) -> Result<(), SelectError>,
    ) -> Result<(), SelectError> {
        page.out.push(b'[');
        for (at, item) in items.iter().enumerate() {
            if at > 0 {
                page.out.push(b',');
            }
            write(item, page, self)?;
        }
        page.out.push(b']');
        self.check_size(page.out.len())
    }

    /// Writes `null` and says why, with where that is.
    fn wrong(&mut self, error: &Error, page: &mut Page<'_>) {
        if self.errors.len() < PARTS_MAX {
            let path = self.trail.walk_to_end(&page.out);
            self.errors.push(error.clone().of(path));
        }
        page.null();
    }

    /// Why work must end now, if it must.
    fn is_over(&self) -> Option<Halted> {
        self.spending.is_over()
    }

    fn stop(&mut self, why: Halted) -> SelectError {
        self.halted = Some(why);
        SelectError::Cancelled
    }

    fn unanswered(&mut self, error: AnswerError) -> SelectError {
        match error {
            AnswerError::Damaged(error) => error.into(),
            AnswerError::Deadline => {
                let why = self.is_over().unwrap_or(Halted::Timeout);
                self.stop(why)
            }
        }
    }
}

impl Resolver for Executor<'_, '_> {
    fn before_record(&mut self, out_bytes: usize) -> Result<(), SelectError> {
        self.records += 1;
        if self.records > self.settings.records {
            let records_max = self.settings.records;
            let message = format!(
                "comes to more than {records_max} records, those referred to among them; lower \
                 per_page, or ask in parts"
            );
            return Err(self.stop(Halted::Exceeded(Error::new(message))));
        }
        if let Some(why) = self.is_over() {
            return Err(self.stop(why));
        }
        self.check_size(out_bytes)
    }

    fn check_size(&mut self, out_bytes: usize) -> Result<(), SelectError> {
        let bytes_max = self.settings.bytes;
        if out_bytes <= bytes_max {
            return Ok(());
        }
        Err(self.stop(Halted::Exceeded(Error::too_long(bytes_max))))
    }

    fn write_resolved(
        &mut self,
        number: usize,
        (entity, row): (Entity, u32),
        page: &mut Page<'_>,
    ) -> Result<(), SelectError> {
        if let Some(why) = self.is_over() {
            return Err(self.stop(why));
        }
        match &self.plan.lists[number] {
            Ok(list) => {
                let query = about(list, entity, self.snapshot.row_id(entity, row)?)?;
                self.list(list, &query, page)
            }
            Err(error) => {
                self.wrong(error, page);
                Ok(())
            }
        }
    }
}

/// The question of a list about one record.
fn about(list: &List, entity: Entity, id: u64) -> Result<Query, ReadError> {
    let mut text = format!("{}:", list.key.unwrap_or_default()).into_bytes();
    entity.write_id(id, &mut text);
    let mut one = Query::new(list.query.entity);
    // Keys of the catalog, and an id as every filter takes it.
    one.filter(&String::from_utf8_lossy(&text))
        .map_err(|_| ReadError::Internal("a nested list has no filter for its record's id"))?;
    // Nobody asked for it in words, and so it is none of the expressions that are counted.
    let mut query = list.query.clone();
    query.filter.splice(0..0, one.filter);
    Ok(query)
}

fn write_members(
    members: &[(String, Named)],
    page: &mut Page<'_>,
    write: impl Fn(&'static str, &mut Vec<u8>),
) {
    page.open_object();
    for (key, named) in members {
        page.key(key);
        match named {
            Named::Constant(json) => page.out.extend_from_slice(json.as_bytes()),
            Named::Member(name) => write(name, &mut page.out),
        }
    }
    page.close_object();
}

/// Writes members of a candidate out of its JSON; there are ten at most.
fn write_candidate(
    snapshot: &Snapshot,
    candidate: Candidate,
    members: &[(String, Named)],
    page: &mut Page<'_>,
) -> Result<(), ReadError> {
    let mut whole = Vec::new();
    autocomplete::render(snapshot, candidate.entity, candidate.row, &mut whole)?;
    let known: std::collections::HashMap<&str, &RawValue> = serde_json::from_slice(&whole)
        .map_err(|_| ReadError::Internal("an autocomplete candidate is not a JSON object"))?;
    write_members(members, page, |name, out| {
        let json = known.get(name).map_or("null", |json| json.get());
        out.extend_from_slice(json.as_bytes());
    });
    Ok(())
}
