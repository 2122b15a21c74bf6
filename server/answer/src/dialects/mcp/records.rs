//! The tools that make several requests of the interface: records, their references, and what they cite.

use std::sync::LazyLock;

use pinakes_format::entity::Entity;
use pinakes_format::formats::apa;
use pinakes_format::formats::reference::Reference;
use pinakes_format::formats::{REFERENCE_MEMBERS, ReferenceFormat, ReferenceWriter};
use pinakes_format::query::{REFERENCES, parse_select};
use pinakes_format::record::{Members, View};
use pinakes_format::snapshot::{LookupResult, MayBeAbsent, RecordLookup};
use serde_json::{Value, json};

use crate::define::{Call, Failure};
use crate::dialects::mcp::inner::{Inner, get};
use crate::request::parameters::encoded;

/// Most records of one call.
pub const IDS_MAX: usize = 25;
/// Characters of an abstract among several records.
const ABSTRACT_MAX: usize = 1_000;
/// Items of a long list of a record on one page.
const ITEMS_MAX: usize = 25;
/// The format of references that people read.
const TEXT: &str = "text";
/// The answer to a name that no record has.
const NO_RECORD: &str = "`search` finds records by words";

/// The member of an output that counts its citations.
static CITED_BY: LazyLock<Members> = LazyLock::new(|| member("cited_by_count"));
static ABSTRACT: LazyLock<Members> = LazyLock::new(|| member("abstract"));

fn member(name: &str) -> Members {
    let view = View::Single;
    // Tests of the tools read both.
    parse_select(Entity::Output, view, name)
        .unwrap_or_else(|_| Members::all(Entity::Output, view).clone())
}

/// The answer of a tool.
pub type Answered = Result<Value, Unanswered>;

/// Why a tool has no answer.
pub enum Unanswered {
    /// The message says what to try.
    Refused(String),
    Failed(Failure),
}

impl From<String> for Unanswered {
    fn from(message: String) -> Unanswered {
        Unanswered::Refused(message)
    }
}

impl<E: Into<Failure>> From<E> for Unanswered {
    fn from(failure: E) -> Unanswered {
        Unanswered::Failed(failure.into())
    }
}

impl MayBeAbsent for Unanswered {
    fn is_absent(&self) -> bool {
        matches!(self, Unanswered::Failed(failure) if failure.is_absent())
    }
}

/// A record by any identifier, with its address.
fn record(id: &str, call: &Call<'_>) -> Result<(String, Value), Unanswered> {
    match get(format!("/resolve/{}", encoded(id)), call)? {
        Inner::Found(address, bytes) => match serde_json::from_slice(&bytes) {
            Ok(record) => Ok((address, record)),
            Err(_) => Err(format!("{address} has no JSON").into()),
        },
        Inner::Refused(message) => Err(format!("{message}; {NO_RECORD}").into()),
    }
}

/// A whole record, or some of its members. Of a record longer than `bytes_max`, long lists have pages.
pub fn one(id: &str, members: &[String], page: u32, bytes_max: usize, call: &Call<'_>) -> Answered {
    let (address, found) = record(id, call)?;
    let mut found = selected(found, members)?;
    let mut more = Vec::new();
    if page > 1 || found.to_string().len() > bytes_max {
        let from = (page.max(1) as usize - 1) * ITEMS_MAX;
        // Long lists alone have pages; the other members are on each page.
        for (name, member) in found.as_object_mut().into_iter().flatten() {
            let Some(items) = member.as_array_mut().filter(|items| items.len() > ITEMS_MAX) else {
                continue;
            };
            let count = items.len();
            *items = items.drain(..).skip(from).take(ITEMS_MAX).collect();
            if from + ITEMS_MAX < count {
                more.push(format!("{} of {name}", count - from - ITEMS_MAX));
            }
        }
    }
    let mut answer = json!({ "address": address });
    if !more.is_empty() {
        let next = page.max(1) + 1;
        answer["more"] = format!("`page` {next} has the next of {}", more.join(", ")).into();
    }
    answer["result"] = found;
    Ok(answer)
}

/// Several records, each with its abstract cut, or why there is none.
pub fn several(ids: &[String], members: &[String], call: &Call<'_>) -> Answered {
    check_ids(ids)?;
    let mut results = Vec::with_capacity(ids.len());
    for id in ids {
        let found = record(id, call).and_then(|(_, found)| Ok(Some(selected(found, members)?)));
        // On a mirror, one attempt notes what all of them lack.
        results.push(match call.snapshot.or_noted(found) {
            Ok(Some(mut found)) => {
                cut_abstract(&mut found);
                json!({ "id": id, "result": found })
            }
            Ok(None) => continue,
            Err(Unanswered::Refused(message)) => json!({ "id": id, "error": message }),
            Err(failed) => return Err(failed),
        });
    }
    Ok(json!({ "results": results }))
}

fn check_ids(ids: &[String]) -> Result<(), String> {
    match (1..=IDS_MAX).contains(&ids.len()) {
        true => Ok(()),
        false => Err(format!("`ids` must have 1 to {IDS_MAX} identifiers")),
    }
}

/// Adds the abstracts of the outputs of a page, which are read together.
pub fn add_abstracts(found: &mut Value, call: &Call<'_>) -> Result<(), Failure> {
    let snapshot = call.snapshot;
    let records = found.get_mut("results").and_then(Value::as_array_mut);
    let (mut listed, mut rows) = (Vec::new(), Vec::new());
    for record in records.into_iter().flatten() {
        let number = record["id"].as_str().and_then(|id| Entity::Output.parse_id(id));
        let Some(number) = number else { continue };
        let found = snapshot.find(Entity::Output, number).map(Some);
        if let Some(LookupResult::Row(row)) = snapshot.or_noted(found)? {
            listed.push(record);
            rows.push(row);
        }
    }
    let shape = ABSTRACT.view().shape();
    snapshot.fetch_page(Entity::Output, &rows, shape, |_, _, row, writer| {
        ABSTRACT.render(row, writer)
    })?;
    let mut writer = ABSTRACT.writer(snapshot);
    for (record, row) in listed.into_iter().zip(rows) {
        writer.out.clear();
        ABSTRACT.render(row, &mut writer)?;
        let mut read: Value = serde_json::from_slice(&writer.out).unwrap_or_default();
        cut_abstract(&mut read);
        record["abstract"] = read["abstract"].take();
    }
    Ok(())
}

fn cut_abstract(record: &mut Value) {
    let Some(text) = record["abstract"].as_str() else { return };
    if let Some((end, _)) = text.char_indices().nth(ABSTRACT_MAX) {
        record["abstract"] = format!("{}…", &text[..end]).into();
    }
}

/// The named members of a record; the whole record without names. The error names the members that there are.
fn selected(mut record: Value, members: &[String]) -> Result<Value, String> {
    if let (false, Value::Object(all)) = (members.is_empty(), &mut record) {
        if let Some(unknown) = members.iter().find(|name| !all.contains_key(*name)) {
            let names: Vec<&str> = all.keys().map(String::as_str).collect();
            return Err(format!("no member `{unknown}`; there are {}", names.join(", ")));
        }
        all.retain(|name, _| members.iter().any(|member| member == name));
    }
    Ok(record)
}

/// The HX_ id and the row of an output by any identifier.
///
/// Cost: by another identifier than an HX_ id, the record.
pub fn output(id: &str, call: &Call<'_>) -> Result<(String, u32), Unanswered> {
    let named = match Entity::Output.parse_id(id) {
        Some(number) => Some(number),
        None => {
            let (_, found) = record(id, call)?;
            found["id"].as_str().and_then(|id| Entity::Output.parse_id(id))
        }
    };
    let number = named.ok_or_else(|| format!("`{id}` is no output; {NO_RECORD}"))?;
    let snapshot = call.snapshot;
    let (number, Some(row)) = snapshot.find_merged(Entity::Output, number)? else {
        return Err(format!("Nothing with identifier {id} found; {NO_RECORD}").into());
    };
    Ok((Entity::Output.id_text(number), row))
}

/// How many references, or citations, the record of an output counts.
pub fn counted(direction: &str, row: u32, call: &Call<'_>) -> Result<u64, Failure> {
    if direction == REFERENCES {
        return Ok(call.snapshot.references(Entity::Output, row)?.len() as u64);
    }
    let mut writer = CITED_BY.writer(call.snapshot);
    CITED_BY.render(row, &mut writer)?;
    let member: Value = serde_json::from_slice(&writer.out).unwrap_or_default();
    Ok(member["cited_by_count"].as_u64().unwrap_or_default())
}

/// References to outputs, in a format of reference managers or as text.
pub fn cite(ids: &[String], format: &str, call: &Call<'_>) -> Answered {
    check_ids(ids)?;
    let known = ReferenceFormat::ALL.into_iter().find(|known| known.name() == format);
    if known.is_none() && format != TEXT {
        let [one, two, three] = ReferenceFormat::ALL.map(ReferenceFormat::name);
        return Err(format!("`format` must be `{TEXT}`, `{one}`, `{two}` or `{three}`").into());
    }
    let mut references = Vec::with_capacity(ids.len());
    for id in ids {
        if call.limits().cpu_left().is_zero() {
            return Err(Failure::Deadline.into());
        }
        references.extend(call.snapshot.or_noted(cite_one(id, known, call).map(Some))?);
    }
    Ok(json!({ "format": format, "references": references }))
}

/// A reference without abstract and keywords, which `search` and `get` give.
fn cite_one(
    id: &str,
    format: Option<ReferenceFormat>,
    call: &Call<'_>,
) -> Result<String, Unanswered> {
    let (_, row) = output(id, call)?;
    let mut writer = REFERENCE_MEMBERS.writer(call.snapshot);
    REFERENCE_MEMBERS.render(row, &mut writer)?;
    let mut reference = Reference::read(&writer.out)?;
    reference.leave_out_texts();
    Ok(match format {
        Some(format) => {
            let id = &call.snapshot.manifest().id;
            let bytes = ReferenceWriter::of_record(format, &reference, id)?;
            String::from_utf8_lossy(&bytes).trim_end().to_owned()
        }
        None => apa::formatted(&reference).text(),
    })
}
