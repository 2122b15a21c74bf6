//! `/outputs/{id}` and the records of the other entities; the identifiers of records in paths.

use http::StatusCode;
use pinakes_format::autocomplete::Identifier;
use pinakes_format::entity::{Entity, Facts, IdFormat};
use pinakes_format::json::render::{JsonWriter, Shape};
use pinakes_format::query::QueryError;
use pinakes_format::schema::keys::keys_of;
use pinakes_format::snapshot::{LookupResult, RenderRow, Snapshot};
use pinakes_format::storage::error::ReadError;

use crate::admission::gate::Charge;
use crate::endpoint::call::{Answer, Call, Cost, Failure, Planned, Planning, Thread};
use crate::endpoint::referring::{self, ReferringList, referring_lists};
use crate::endpoint::routes::Route;
use crate::endpoint::{Endpoint, Lists, resolve};
use crate::http::path::{decode, echo};
use crate::openapi::document::Document;
use crate::openapi::operation::{Operation, RECORD_STATUSES, json_content};
use crate::openapi::parameters::path_parameter;
use crate::openapi::responses::CACHE_HEADERS;
use crate::openapi::samples::Sample;
use crate::openapi::schemas::own_id;
use crate::reply::Reply;

pub const RECORD: Endpoint = Endpoint {
    lists: Lists::Of(|facts| facts.has_single),
    describe: Some(describe),
    ..Endpoint::new("/{list}/{id}", Charge::Minute, |planning| plan(&CURRENT, planning))
};

/// Capacity of a record's buffer at the start; most records fit.
const CAPACITY_BYTES: usize = 8 << 10;
/// Stored size of the records up to which a shared thread renders them: a page of 25 outputs.
pub const SHARED_BYTES_MAX: usize = 128 << 10;

/// The paths, identifiers and shapes of records in one variant of the interface.
pub struct Variant {
    /// The prefix of the variant's paths.
    pub root: &'static str,
    pub spelling: IdFormat,
    pub render: RenderRow,
}

/// The variant without a path prefix.
pub const CURRENT: Variant =
    Variant { root: "", spelling: IdFormat::CURRENT, render: Snapshot::render };

/// A record that a path names.
#[derive(Clone, Copy)]
pub struct NamedRecord<'a> {
    pub facts: &'static Facts,
    pub id: u64,
    /// The identifier as sent.
    pub raw_id: &'a str,
}

/// Plans one record by its identifier.
pub fn plan(variant: &'static Variant, planning: &Planning<'_>) -> Result<Planned, Reply> {
    let (facts, segment) = (planning.facts(), planning.matched.segment);
    let id = parse_id(variant, facts, planning.segment())?;
    Ok(Planned::work(Cost::Small, move |call| {
        let record = NamedRecord { facts, id, raw_id: segment.text_in(call.path) };
        run(variant, record, call)
    }))
}

/// Parses the identifier of a record; the error is the reply 400 without the prefix, or 404 to text that
/// is the identifier of no record.
pub fn parse_id(variant: &Variant, facts: &Facts, raw_id: &str) -> Result<u64, Reply> {
    let decoded = decode(raw_id);
    let text = decoded.as_deref().unwrap_or(raw_id);
    let prefix = variant.spelling.prefix(facts.entity);
    if !text.starts_with(prefix) {
        let message = format!("Only {prefix} prefixed IDs are allowed");
        let detail = resolve::detail(raw_id).filter(|_| variant.root.is_empty());
        return Err(match detail {
            Some(detail) => Reply::bad_request(&message, vec![detail]),
            None => Reply::error(StatusCode::BAD_REQUEST, message),
        });
    }
    variant.spelling.parse(facts.entity, text).ok_or_else(|| not_found(facts, raw_id))
}

/// Renders one record; 301 for an identifier that was merged into another.
fn run(variant: &Variant, record: NamedRecord<'_>, call: &Call<'_>) -> Answer {
    let row = match find(variant, record, "", call)? {
        Ok(row) => row,
        Err(reply) => return Ok(reply),
    };
    if let Some(reply) = call.not_modified() {
        return Ok(reply);
    }
    let (snapshot, entity) = (call.snapshot, record.facts.entity);
    if call.thread == Thread::Shared && snapshot.record_bytes(entity, row)? > SHARED_BYTES_MAX {
        return Err(Failure::WouldWait);
    }
    let mut writer = JsonWriter::new(snapshot, Shape::Single);
    writer.out.reserve(CAPACITY_BYTES);
    (variant.render)(snapshot, entity, row, &mut writer)?;
    writer.out.shrink_to(CAPACITY_BYTES);
    Ok(Reply::json(writer.out))
}

/// Finds the row of a record. The inner error is the reply 404, or 301 where the identifier was merged into
/// another; a suffix follows the identifier in the path.
pub fn find(
    variant: &Variant,
    record: NamedRecord<'_>,
    suffix: &str,
    call: &Call<'_>,
) -> Result<Result<u32, Reply>, QueryError> {
    let NamedRecord { facts, id, raw_id } = record;
    Ok(match end_of_chain(call.snapshot, facts.entity, id)? {
        LookupResult::Absent => {
            let reply = not_found(facts, raw_id);
            Err(match variant.root.is_empty() {
                true => reply.with_details(referring::details(&lists_of(record, call)?, raw_id)),
                false => reply,
            })
        }
        LookupResult::Merged(into) => Err(moved(variant, record, into, suffix, call.query)),
        LookupResult::Row(row) => Ok(row),
    })
}

/// The lists of the records that refer to an identifier without a record.
pub fn lists_of(
    record: NamedRecord<'_>,
    call: &Call<'_>,
) -> Result<Vec<ReferringList>, QueryError> {
    let identifier = Identifier::Record(record.facts.entity, record.id);
    call.limits().run(|deadline| referring_lists(&identifier, call.snapshot, deadline))
}

/// Looks up an identifier. An identifier that was merged into one without a record counts as absent.
fn end_of_chain(snapshot: &Snapshot, entity: Entity, id: u64) -> Result<LookupResult, ReadError> {
    let found = snapshot.find(entity, id)?;
    let LookupResult::Merged(into) = found else { return Ok(found) };
    let is_record = matches!(snapshot.find(entity, into)?, LookupResult::Row(_));
    Ok(if is_record { found } else { LookupResult::Absent })
}

/// 404 to an identifier of no record.
pub fn not_found(facts: &Facts, raw_id: &str) -> Reply {
    let message = format!("{} with ID {} not found", facts.label, echo(raw_id));
    Reply::error(StatusCode::NOT_FOUND, message)
}

/// 301 to the record that another was merged into.
fn moved(
    variant: &Variant,
    record: NamedRecord<'_>,
    into: u64,
    suffix: &str,
    query: &str,
) -> Reply {
    let NamedRecord { facts, raw_id, .. } = record;
    let mut id = Vec::new();
    variant.spelling.write(facts.entity, into, &mut id);
    let id = String::from_utf8_lossy(&id);
    let query = if query.is_empty() { String::new() } else { format!("?{query}") };
    let location = format!("{}/{}/{id}{suffix}{query}", variant.root, facts.route);
    let message = format!("{} with ID {} was merged into {id}", facts.label, echo(raw_id));
    Reply::redirect(StatusCode::MOVED_PERMANENTLY, &location, message)
}

fn describe(route: &Route, document: &mut Document<'_>) -> Result<(), ReadError> {
    let facts = route.facts();
    let sample = Sample::read(document.snapshot, facts.entity, keys_of(facts.entity))?;
    let record = document.schemas.record(facts.entity, Shape::Single);
    let id = sample.id(&IdFormat::CURRENT, facts.entity);
    let example = id.map(|id| match id.parse::<u64>() {
        Ok(number) => number.into(),
        Err(_) => id.into(),
    });
    let doc = format!("The identifier of the {}.", facts.singular);
    let operation = Operation {
        tag: facts.plural,
        description: "The identifier of a record that was merged into another gets 301.",
        parameters: vec![path_parameter("id", &doc, own_id(facts.entity), example)],
        headers: CACHE_HEADERS.to_vec(),
        statuses: RECORD_STATUSES.to_vec(),
        ..Operation::new(
            format!("get_{}", facts.singular),
            format!("The {} with an identifier", facts.singular),
            json_content(record),
        )
    };
    document.add(&route.path, operation);
    Ok(())
}
