//! Executes a plan: writes the JSON of `data` straight from packed records, within the work budget.

use pinakes_format::autocomplete;
use pinakes_format::autocomplete::Candidate;
use pinakes_format::entity::Entity;
use pinakes_format::json::render::{JsonWriter, Shape};
use pinakes_format::json::select::{
    MemberSelection, PathStep, Resolver, SelectError, SelectionWriter,
};
use pinakes_format::query::{Deadline, Query, QueryError, RankedRow};
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::ReadError;
use pinakes_format::text::json;
use serde_json::value::RawValue;

use crate::define::settings::GraphqlSettings;
use crate::dialects::graphql::error::{Error, FIELD_ERRORS_MAX};
use crate::dialects::graphql::error_path::ErrorPath;
use crate::dialects::graphql::introspection::Introspection;
use crate::dialects::graphql::plan::{
    AutocompletePlan, ListPlan, NamedMember, PageMember, Plan, RootValue, SCORE,
};
use crate::dialects::graphql::work_budget::{Halted, WorkBudget, WorkMeter};
use crate::list::page::{hint, write_summary};
use crate::reply::{BAD_QUERY_MESSAGE, Detail};

/// Capacity of the answer's buffer at the start.
const ANSWER_CAPACITY_BYTES: usize = 16 << 10;

/// Writes the JSON of `data`, and collects the errors of fields that are null.
pub fn execute(
    plan: &Plan<'_>,
    snapshot: &Snapshot,
    introspection: &Introspection,
    settings: &GraphqlSettings,
    budget: &WorkBudget<'_>,
) -> Result<(Vec<u8>, Vec<Error>), Halted> {
    let mut writer = JsonWriter::new(snapshot, Shape::Single);
    writer.out.reserve(ANSWER_CAPACITY_BYTES);
    let mut executor = Executor {
        plan,
        snapshot,
        settings,
        meter: WorkMeter::start(budget),
        records: 0,
        errors: Vec::new(),
        path: ErrorPath::default(),
        ranked: None,
        halted: None,
    };
    match executor.write_roots(introspection, &mut writer) {
        Ok(()) => Ok((writer.out, executor.errors)),
        Err(SelectError::Damaged(error)) => Err(Halted::Damaged(error)),
        Err(SelectError::Cancelled) => Err(match executor.halted {
            // The path still leads to the value at which the executor stopped.
            Some(Halted::Exceeded(error)) => {
                Halted::Exceeded(error.with_path(executor.path.segments()))
            }
            halted => halted.unwrap_or(Halted::Timeout),
        }),
    }
}

struct Executor<'p, 's> {
    plan: &'p Plan<'p>,
    snapshot: &'s Snapshot,
    settings: &'p GraphqlSettings,
    meter: WorkMeter<'p>,
    /// Records read so far.
    records: u64,
    /// Errors of null fields, at most [`FIELD_ERRORS_MAX`].
    errors: Vec<Error>,
    /// The path of the value that is being written.
    path: ErrorPath,
    /// The record that is being written in a list by relevance.
    ranked: Option<(Entity, RankedRow)>,
    /// Why the executor stopped; set before [`SelectError::Cancelled`] is returned.
    halted: Option<Halted>,
}

impl Executor<'_, '_> {
    fn write_roots(
        &mut self,
        introspection: &Introspection,
        writer: &mut JsonWriter<'_>,
    ) -> Result<(), SelectError> {
        let plan = self.plan;
        writer.open_object();
        for root in &plan.roots {
            writer.key(&root.key);
            self.enter(PathStep::Field(&root.key));
            match &root.value {
                RootValue::Constant(json) => writer.out.extend_from_slice(json.as_bytes()),
                RootValue::Record(entity, id, selection) => {
                    self.write_record(*entity, *id, selection, writer)?;
                }
                RootValue::List(number) => match &plan.lists[*number] {
                    Ok(list) => self.write_list(list, &list.query, writer)?,
                    Err(error) => self.write_error(error, writer),
                },
                RootValue::Invalid(error) => self.write_error(error, writer),
                RootValue::Autocomplete(plan) => self.write_autocomplete(plan, writer)?,
                RootValue::Schema(type_name, field) => {
                    introspection.write(type_name.as_deref(), field, writer, self)?;
                }
            }
            // An answer that is too long stops between two fields.
            self.check_size(writer.out.len())?;
            self.leave();
        }
        writer.close_object();
        Ok(())
    }

    fn write_record(
        &mut self,
        entity: Entity,
        id: u64,
        selection: &MemberSelection,
        writer: &mut JsonWriter<'_>,
    ) -> Result<(), SelectError> {
        match self.snapshot.find_merged(entity, id)? {
            (_, Some(row)) => {
                SelectionWriter { json: writer, resolver: self }.record(entity, row, selection)
            }
            (_, None) => {
                writer.null();
                Ok(())
            }
        }
    }

    fn write_list(
        &mut self,
        list: &ListPlan,
        query: &Query,
        writer: &mut JsonWriter<'_>,
    ) -> Result<(), SelectError> {
        // The query checks the budget of the whole operation, not one of its own.
        let is_exceeded = || self.meter.exceeded().is_some();
        let answered = query.execute(self.snapshot, Deadline::when(&is_exceeded));
        let answer = match answered {
            Ok(answer) => answer,
            Err(QueryError::Refused { parameter, error }) => {
                let detail = Detail::new(parameter, &error.text, error.reason);
                self.write_error(&Error::new(BAD_QUERY_MESSAGE).with_details(vec![detail]), writer);
                return Ok(());
            }
            Err(error) => return Err(self.stop_query(error)),
        };
        let surrounding = self.ranked.take();
        writer.open_object();
        for (key, member) in &list.members {
            writer.key(key);
            self.enter(PathStep::Field(key));
            match member {
                PageMember::Meta(members) => write_members(members, writer, |name, out| {
                    let number = match name {
                        "search" => {
                            return match &answer.search {
                                Some(summary) => write_summary(summary, out),
                                None => out.extend_from_slice(b"null"),
                            };
                        }
                        "hint" => {
                            let hint = hint(query, answer.count);
                            return json::string_or_null(out, hint.as_deref());
                        }
                        "count" => answer.count,
                        "page" => query.page.get().into(),
                        _ => query.per_page.into(),
                    };
                    json::unsigned(out, number);
                }),
                PageMember::Results(selection) => {
                    let scores = answer.scores.as_deref().unwrap_or_default();
                    let record = |at: usize, writer: &mut JsonWriter<'_>, resolver: &mut Self| {
                        resolver.ranked = scores.get(at).map(|ranked| (query.entity, *ranked));
                        let row = answer.rows[at];
                        SelectionWriter { json: writer, resolver }.record(
                            query.entity,
                            row,
                            selection,
                        )
                    };
                    self.write_array(answer.rows.len(), writer, record)?;
                    self.ranked = None;
                }
                PageMember::Constant(json) => writer.out.extend_from_slice(json.as_bytes()),
                PageMember::Candidates(_) => {
                    return Err(ReadError::Internal("a list plan selects candidates").into());
                }
            }
            self.leave();
        }
        self.ranked = surrounding;
        writer.close_object();
        Ok(())
    }

    fn write_autocomplete(
        &mut self,
        plan: &AutocompletePlan,
        writer: &mut JsonWriter<'_>,
    ) -> Result<(), SelectError> {
        // The meter bounds the whole operation, so the search must end when the meter is exceeded.
        let is_exceeded = || self.meter.exceeded().is_some();
        let deadline = Deadline::when(&is_exceeded);
        let found = plan.completion.execute(self.snapshot, deadline);
        let found = found.map_err(|error| self.stop_query(error))?;
        writer.open_object();
        for (key, member) in &plan.members {
            writer.key(key);
            self.enter(PathStep::Field(key));
            match member {
                PageMember::Meta(members) => {
                    write_members(members, writer, |_, out| json::unsigned(out, found.count));
                }
                PageMember::Candidates(members) => {
                    let one = |at: usize, writer: &mut JsonWriter<'_>, executor: &mut Self| {
                        executor.before_record(writer.out.len())?;
                        Ok(write_candidate(executor.snapshot, found.best[at], members, writer)?)
                    };
                    self.write_array(found.best.len(), writer, one)?;
                }
                PageMember::Constant(json) => writer.out.extend_from_slice(json.as_bytes()),
                PageMember::Results(_) => {
                    return Err(ReadError::Internal("an autocomplete plan selects records").into());
                }
            }
            self.leave();
        }
        writer.close_object();
        Ok(())
    }

    fn write_array(
        &mut self,
        items: usize,
        writer: &mut JsonWriter<'_>,
        write: impl Fn(usize, &mut JsonWriter<'_>, &mut Self) -> Result<(), SelectError>,
    ) -> Result<(), SelectError> {
        writer.out.push(b'[');
        for at in 0..items {
            if at > 0 {
                writer.out.push(b',');
            }
            self.enter(PathStep::Item(at));
            write(at, writer, self)?;
            self.leave();
        }
        writer.out.push(b']');
        self.check_size(writer.out.len())
    }

    /// Writes `null` for an invalid field, and records the error with the field's path.
    fn write_error(&mut self, error: &Error, writer: &mut JsonWriter<'_>) {
        if self.errors.len() < FIELD_ERRORS_MAX {
            self.errors.push(error.clone().with_path(self.path.segments()));
        }
        writer.null();
    }

    fn check_budget(&mut self) -> Result<(), SelectError> {
        self.meter.exceeded().map_or(Ok(()), |why| Err(self.stop(why)))
    }

    fn stop(&mut self, why: Halted) -> SelectError {
        self.halted = Some(why);
        SelectError::Cancelled
    }

    fn stop_query(&mut self, error: QueryError) -> SelectError {
        match error {
            QueryError::Damaged(error) => error.into(),
            QueryError::Deadline | QueryError::Refused { .. } => {
                let why = self.meter.exceeded().unwrap_or(Halted::Timeout);
                self.stop(why)
            }
        }
    }
}

impl Resolver for Executor<'_, '_> {
    fn enter(&mut self, step: PathStep<'_>) {
        self.path.enter(step);
    }

    fn leave(&mut self) {
        self.path.leave();
    }

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
        self.check_budget()?;
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
        entity: Entity,
        row: u32,
        writer: &mut JsonWriter<'_>,
    ) -> Result<(), SelectError> {
        self.check_budget()?;
        if number == SCORE {
            let ranked = self.ranked.filter(|(of, ranked)| (*of, ranked.row) == (entity, row));
            match ranked {
                Some((_, ranked)) => {
                    writer.out.extend_from_slice(ranked.relevance_score().as_bytes());
                }
                None => writer.null(),
            }
            return Ok(());
        }
        match &self.plan.lists[number] {
            Ok(list) => {
                let query = related_query(list, entity, self.snapshot.row_id(entity, row)?)?;
                self.write_list(list, &query, writer)
            }
            Err(error) => {
                self.write_error(error, writer);
                Ok(())
            }
        }
    }
}

/// Adds the expression "refers to this record" to the query of a list.
fn related_query(list: &ListPlan, entity: Entity, id: u64) -> Result<Query, ReadError> {
    let expression = format!("{}:{}", list.key.unwrap_or_default(), entity.id_text(id));
    let mut parsed = Query::new(list.query.entity);
    parsed
        .add_filter(&expression)
        .map_err(|_| ReadError::Internal("the filter of a related list does not parse"))?;
    // Prepended after parsing: the expression does not count towards the limit of expressions.
    let mut query = list.query.clone();
    query.filter.splice(0..0, parsed.filter);
    Ok(query)
}

fn write_members(
    members: &[(String, NamedMember)],
    writer: &mut JsonWriter<'_>,
    write: impl Fn(&'static str, &mut Vec<u8>),
) {
    writer.open_object();
    for (key, member) in members {
        writer.key(key);
        match member {
            NamedMember::Constant(json) => writer.out.extend_from_slice(json.as_bytes()),
            NamedMember::Member(name) => write(name, &mut writer.out),
        }
    }
    writer.close_object();
}

/// Renders a candidate as REST does, and copies the selected members. A page has at most ten candidates.
fn write_candidate(
    snapshot: &Snapshot,
    candidate: Candidate,
    members: &[(String, NamedMember)],
    writer: &mut JsonWriter<'_>,
) -> Result<(), ReadError> {
    let mut rendered = Vec::new();
    autocomplete::render(snapshot, candidate.entity, candidate.row, &mut rendered)?;
    let json_of: std::collections::HashMap<&str, &RawValue> = serde_json::from_slice(&rendered)
        .map_err(|_| ReadError::Internal("an autocomplete candidate is not a JSON object"))?;
    write_members(members, writer, |name, out| {
        let json = json_of.get(name).map_or("null", |json| json.get());
        out.extend_from_slice(json.as_bytes());
    });
    Ok(())
}
