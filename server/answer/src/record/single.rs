//! `/outputs/{id}` and the records of the other entities; the identifiers of records in paths.

use http::{HeaderValue, StatusCode, header};
use pinakes_format::autocomplete::Identifier;
use pinakes_format::entity::{Entity, Facts, IdFormat};
use pinakes_format::formats::reference::Reference;
use pinakes_format::formats::{self, ReferenceFormat, ReferenceWriter};
use pinakes_format::json::render::{JsonWriter, Shape};
use pinakes_format::query::QueryError;
use pinakes_format::snapshot::{LookupResult, RenderRow, Snapshot};
use pinakes_format::storage::ReadError;
use serde_json::{Value, json};

use crate::define::{
    Answer, Call, Charge, Cost, Endpoint, Failure, Lists, Planned, Planning, RoutePath, Thread,
};
use crate::openapi::{
    CACHE_HEADERS, Document, Operation, RECORD_STATUSES, json_content, own_id, path_parameter,
    query_parameter, reference_file,
};
use crate::record::resolve;
use crate::referring;
use crate::referring::{ReferringList, referring_lists};
use crate::reply::{Detail, Etags, Reply};
use crate::request::accept::prefers;
use crate::request::parameters::query_pairs;
use crate::request::path::{decode, echo};

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
    let (facts, segment) = (planning.facts(), planning.segment);
    let id = parse_id(variant, facts, planning.segment())?;
    let format = reference_format(facts, &planning.call).map_err(Reply::bad_query)?;
    Ok(Planned::work(Cost::Small, move |call| {
        let record = NamedRecord { facts, id, raw_id: segment.text_in(call.path) };
        match format {
            Some(format) => cite(record, format, call),
            None => run(variant, record, call),
        }
    }))
}

/// The format of reference managers that a request for an output asks for, by `format` or else by `Accept`.
fn reference_format(
    facts: &Facts,
    call: &Call<'_>,
) -> Result<Option<ReferenceFormat>, Vec<Detail>> {
    if facts.entity != Entity::Output {
        return Ok(None);
    }
    let mut pairs = query_pairs(call.query).flatten();
    let named = pairs.find(|(name, _)| name == "format");
    let formats = ReferenceFormat::ALL.into_iter();
    match named {
        Some((name, value)) => {
            let format = formats.clone().find(|format| format.name() == value);
            let reason =
                "must be `bibtex`, `ris` or `csl-json`; without `format`, a record is JSON";
            format.map(Some).ok_or_else(|| vec![Detail::new(&name, &value, reason)])
        }
        None => Ok(formats.clone().find(|format| prefers(call.headers, format.media_type()))),
    }
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
    let has_formats = record.facts.entity == Entity::Output;
    let reply = match call.not_modified() {
        Some(reply) => reply,
        None => Reply::json(render(variant, record.facts.entity, row, call)?),
    };
    Ok(if has_formats { reply.varying_by_accept() } else { reply })
}

/// Answers with the reference to an output in a format of reference managers.
fn cite(record: NamedRecord<'_>, format: ReferenceFormat, call: &Call<'_>) -> Answer {
    let row = match find(&CURRENT, record, "", call)? {
        Ok(row) => row,
        Err(reply) => return Ok(reply),
    };
    let etags = etags(format, call);
    let reply = match etags.matching_coding(call.headers) {
        Some(coding) => Reply::not_modified_tagged(&etags, coding),
        None => {
            refuse_long(record.facts.entity, row, call)?;
            let mut writer = formats::REFERENCE_MEMBERS.writer(call.snapshot);
            formats::REFERENCE_MEMBERS.render(row, &mut writer)?;
            let reference = Reference::read(&writer.out)?;
            let id = &call.snapshot.manifest().id;
            let text = ReferenceWriter::of_record(format, &reference, id)?;
            let name = format!("{}.{}", record.facts.entity.id_text(record.id), format.extension());
            let disposition = format!("attachment; filename=\"{name}\"");
            // Always valid: an id and an extension.
            let disposition = HeaderValue::try_from(disposition).ok();
            let headers = disposition.map(|value| (header::CONTENT_DISPOSITION, value));
            Reply::tagged(format.media_type(), text, etags)
                .with_headers(headers.into_iter().collect())
        }
    };
    Ok(reply.varying_by_accept())
}

/// The tags of references in a format: those of JSON are the snapshot's own.
fn etags(format: ReferenceFormat, call: &Call<'_>) -> Etags {
    let digits = match format {
        ReferenceFormat::Bibtex => "1",
        ReferenceFormat::Ris => "2",
        ReferenceFormat::Csl => "3",
    };
    call.served.reply_headers().etags_of_version(digits)
}

/// A shared thread renders no long record.
fn refuse_long(entity: Entity, row: u32, call: &Call<'_>) -> Result<(), Failure> {
    let is_shared = call.thread == Thread::Shared;
    match is_shared && call.snapshot.record_bytes(entity, row)? > SHARED_BYTES_MAX {
        true => Err(Failure::WouldWait),
        false => Ok(()),
    }
}

/// The JSON of a record.
fn render(
    variant: &Variant,
    entity: Entity,
    row: u32,
    call: &Call<'_>,
) -> Result<Vec<u8>, Failure> {
    let snapshot = call.snapshot;
    refuse_long(entity, row, call)?;
    let mut writer = JsonWriter::new(snapshot, Shape::Single);
    writer.out.reserve(CAPACITY_BYTES);
    (variant.render)(snapshot, entity, row, &mut writer)?;
    writer.out.shrink_to(CAPACITY_BYTES);
    Ok(writer.out)
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
    let id = variant.spelling.text(facts.entity, into);
    let query = if query.is_empty() { String::new() } else { format!("?{query}") };
    let location = format!("{}/{}/{id}{suffix}{query}", variant.root, facts.route);
    let message = format!("{} with ID {} was merged into {id}", facts.label, echo(raw_id));
    Reply::redirect(StatusCode::MOVED_PERMANENTLY, &location, message)
}

fn describe(route: &RoutePath, document: &mut Document<'_>) -> Result<Value, ReadError> {
    let facts = route.facts();
    let sample = document.sample(facts.entity)?;
    let record = document.schemas.record(facts.entity, Shape::Single);
    let id = sample.id(&IdFormat::CURRENT, facts.entity);
    // Ids of the taxonomy are numbers in the document, as in replies.
    let example = id.map(|id| match id.parse::<u64>() {
        Ok(number) => number.into(),
        Err(_) => id.into(),
    });
    let doc = format!("The identifier of the {}.", facts.singular);
    let mut parameters = vec![path_parameter("id", &doc, own_id(facts.entity), example)];
    let mut content = json_content(record);
    if facts.entity == Entity::Output {
        let formats = ReferenceFormat::ALL.map(ReferenceFormat::name);
        let doc = "A file of reference managers instead of JSON. `Accept` with the media type does the same.";
        let schema = json!({ "type": "string", "enum": formats });
        parameters.push(query_parameter("format", doc, schema, []));
        for format in ReferenceFormat::ALL {
            content[format.media_type()] = json!({ "schema": (reference_file(format, false)) });
        }
    }
    let operation = Operation {
        tag: facts.plural,
        description: "The identifier of a record that was merged into another gets 301.",
        parameters,
        headers: CACHE_HEADERS.to_vec(),
        statuses: RECORD_STATUSES.to_vec(),
        ..Operation::new(
            format!("get_{}", facts.singular),
            format!("The {} with an identifier", facts.singular),
            content,
        )
    };
    Ok(operation.into_path_item())
}
