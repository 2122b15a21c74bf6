//! The tools that make several requests of the interface: records, their references, and what they cite.

use std::sync::LazyLock;

use pinakes_format::entity::Entity;
use pinakes_format::formats::apa::Formatted;
use pinakes_format::formats::reference::Reference;
use pinakes_format::formats::rich::Rich;
use pinakes_format::query::parse_select;
use pinakes_format::record::members::{Members, View};
use pinakes_format::snapshot::{LookupResult, RecordLookup};
use serde_json::{Value, json};

use crate::define::call::Call;
use crate::define::failure::Failure;
use crate::dialects::mcp::inner::{Inner, get};
use crate::request::parameters::encoded;

/// Most records of one call.
pub const IDS_MAX: usize = 25;
/// Characters of an abstract among several records.
const ABSTRACT_MAX: usize = 1_000;
/// Items of a long list of a record on one page.
const ITEMS_MAX: usize = 25;
/// The answer to a name that no record has.
const NO_RECORD: &str = "`search` finds records by words";

/// The member of an output that counts its citations.
static CITED_BY: LazyLock<Members> = LazyLock::new(|| {
    let view = View::Single;
    // A test of the tool reads the count.
    let selected = parse_select(Entity::Output, view, "cited_by_count");
    selected.unwrap_or_else(|_| Members::all(Entity::Output, view))
});

/// The answer of a tool; the error says what to try.
pub type Answered = Result<Result<Value, String>, Failure>;

/// A record by any identifier, with its address.
fn record(id: &str, call: &Call<'_>) -> Result<Result<(String, Value), String>, Failure> {
    Ok(match get(format!("/resolve/{}", encoded(id)), call)? {
        Inner::Found(address, bytes) => match serde_json::from_slice(&bytes) {
            Ok(record) => Ok((address, record)),
            Err(_) => Err(format!("{address} has no JSON")),
        },
        Inner::Refused(message) => Err(format!("{message}; {NO_RECORD}")),
    })
}

/// A whole record, or some of its members. Of a record longer than `bytes_max`, long lists have pages.
pub fn one(id: &str, members: &[String], page: u32, bytes_max: usize, call: &Call<'_>) -> Answered {
    let (address, found) = match record(id, call)? {
        Ok(found) => found,
        Err(message) => return Ok(Err(message)),
    };
    let mut found = match selected(found, members) {
        Ok(found) => found,
        Err(message) => return Ok(Err(message)),
    };
    let mut more = Vec::new();
    if page > 1 || found.to_string().len() > bytes_max {
        let from = (page.max(1) as usize - 1) * ITEMS_MAX;
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
    Ok(Ok(answer))
}

/// Several records, each with its abstract cut, or why there is none.
pub fn several(ids: &[String], members: &[String], call: &Call<'_>) -> Answered {
    if ids.is_empty() || ids.len() > IDS_MAX {
        return Ok(Err(format!("`ids` must have 1 to {IDS_MAX} identifiers")));
    }
    let mut results = Vec::with_capacity(ids.len());
    for id in ids {
        let found = match record(id, call)? {
            Ok((_, found)) => selected(found, members),
            Err(message) => Err(message),
        };
        results.push(match found {
            Ok(mut found) => {
                cut_abstract(&mut found);
                json!({ "id": id, "result": found })
            }
            Err(message) => json!({ "id": id, "error": message }),
        });
    }
    Ok(Ok(json!({ "results": results })))
}

/// Adds the abstracts of the outputs of a page.
pub fn add_abstracts(found: &mut Value, call: &Call<'_>) -> Result<(), Failure> {
    let records = found.get_mut("results").and_then(Value::as_array_mut);
    for listed in records.into_iter().flatten() {
        let id = listed["id"].as_str().unwrap_or_default();
        if let Ok((_, mut whole)) = record(id, call)? {
            cut_abstract(&mut whole);
            listed["abstract"] = whole["abstract"].take();
        }
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

/// The HX_ id of an output by any identifier, and how many references or citations the record counts.
///
/// Cost: by an HX_ id, one member of the record; by others, the record.
pub fn output(
    id: &str,
    direction: &str,
    call: &Call<'_>,
) -> Result<Result<(String, u64), String>, Failure> {
    let named = match Entity::Output.parse_id(id) {
        Some(number) => Some(number),
        None => match record(id, call)? {
            Ok((_, found)) => found["id"].as_str().and_then(|id| Entity::Output.parse_id(id)),
            Err(message) => return Ok(Err(message)),
        },
    };
    let Some(number) = named else {
        return Ok(Err(format!("`{id}` is no output; {NO_RECORD}")));
    };
    let snapshot = call.snapshot;
    let found = match snapshot.find(Entity::Output, number)? {
        LookupResult::Merged(number) => (number, snapshot.find(Entity::Output, number)?),
        found => (number, found),
    };
    let (number, LookupResult::Row(row)) = found else {
        return Ok(Err(format!("Nothing with identifier {id} found; {NO_RECORD}")));
    };
    let counted = match direction {
        "references" => snapshot.references(Entity::Output, row)?.len() as u64,
        _ => {
            let mut writer = CITED_BY.writer(snapshot);
            CITED_BY.render(row, &mut writer)?;
            let member: Value = serde_json::from_slice(&writer.out).unwrap_or_default();
            member["cited_by_count"].as_u64().unwrap_or_default()
        }
    };
    Ok(Ok((Entity::Output.id_text(number), counted)))
}

/// References to outputs, in a format of reference managers or as text.
pub fn cite(ids: &[String], format: &str, call: &Call<'_>) -> Answered {
    if ids.is_empty() || ids.len() > IDS_MAX {
        return Ok(Err(format!("`ids` must have 1 to {IDS_MAX} identifiers")));
    }
    let mut references = Vec::with_capacity(ids.len());
    for id in ids {
        let id_text = match output(id, "", call)? {
            Ok((id_text, _)) => id_text,
            Err(message) => return Ok(Err(message)),
        };
        let query = if format == "text" { String::new() } else { format!("?format={format}") };
        let bytes = match get(format!("/outputs/{id_text}{query}"), call)? {
            Inner::Found(_, bytes) => bytes,
            Inner::Refused(message) => return Ok(Err(message)),
        };
        references.push(match format {
            "text" => {
                let Formatted { before, italic, after } = Formatted::new(&Reference::read(&bytes)?);
                Rich::of(&format!("{before}{italic}{after}")).text()
            }
            _ => String::from_utf8_lossy(&bytes).trim_end().to_owned(),
        });
    }
    Ok(Ok(json!({ "format": format, "references": references })))
}
