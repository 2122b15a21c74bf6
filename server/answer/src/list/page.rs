//! `/outputs` and the lists of the other entities: a page of records, the groups of a list, or a whole list as a
//! stream.

use pinakes_format::entity::Facts;
use pinakes_format::formats::workbook::SHEET_ROWS_MAX;
use pinakes_format::json::render::Shape;
use pinakes_format::query::{
    Expression, Grouping, Operand, Query, ResultKind, SearchSummary, SearchedWords, search_hint,
};
use pinakes_format::schema::keys_of;
use pinakes_format::storage::ReadError;
use pinakes_format::text::json;
use serde_json::{Value, json};

use crate::define::charge::QuotaClass;
use crate::define::{
    Answer, Call, Charge, Cost, Endpoint, Failure, Lists, Planned, Planning, RoutePath, Thread,
};
use crate::list::query::ListRequest;
use crate::list::rows::{PageRows, PageStream, WHOLE_BYTES_MAX};
use crate::list::stream::{ListRows, StreamFormat, StreamRequest};
use crate::list::{feed, group_stream, groups, parameters, query};
use crate::openapi::{
    CACHE_HEADERS, Document, LIST_STATUSES, Operation, Schemas, add_optional, json_content,
    object_of, page, page_meta, reference_file, schema_name,
};
use crate::record::single::{CURRENT, SHARED_BYTES_MAX};
use crate::reply::pieces::{ListStream, PieceBudget};
use crate::reply::{Detail, Reply};

pub const LIST: Endpoint = Endpoint {
    lists: Lists::Of(|_| true),
    describe: Some(describe),
    ..Endpoint::new("/{list}", Charge::Daily(QuotaClass::List), plan)
};

/// How many records of a list a streamed record with members of single records costs.
pub const SINGLE_WEIGHT: u64 = 4;
/// Capacity of a page's buffer at the start.
const CAPACITY_BYTES: usize = 256 << 10;

fn plan(planning: &Planning<'_>) -> Result<Planned, Reply> {
    let (call, facts) = (&planning.call, planning.facts());
    let list = query::parse(facts.entity, call.query).map_err(Reply::bad_query)?;
    Ok(Planned::unless_current(call, cost(&list, call), move |call| {
        answer(&list, facts.plural, call)
    }))
}

/// How much work a list is. A page in the order of the rows is found without reading an order.
pub fn cost(list: &ListRequest, call: &Call<'_>) -> Cost {
    let ListRequest { query, stream, is_feed } = list;
    let is_page = matches!(query.result_kind, ResultKind::List) && stream.is_none() && !is_feed;
    let is_in_row_order = query.sort.is_empty() && query.sample.is_none();
    match is_page && is_in_row_order {
        true => Cost::of_rows(call.snapshot.count(query.entity).into()),
        false => Cost::Large,
    }
}

/// Answers a list: a page, groups, or a stream, which browsers save under a name.
pub fn answer(list: &ListRequest, name: &str, call: &Call<'_>) -> Answer {
    let query = &list.query;
    if list.is_feed {
        return feed::answer(query, call);
    }
    match (list.stream, &query.result_kind) {
        (Some(stream), ResultKind::Groups(grouping)) => {
            group_stream::answer(query, grouping, stream, name, call)
        }
        (Some(stream), _) => answer_stream(query, stream, name, call),
        (None, ResultKind::Groups(grouping)) => groups::answer(query, grouping, call),
        (None, _) => answer_page(query, call),
    }
}

fn answer_page(query: &Query, call: &Call<'_>) -> Answer {
    let begun = call.now();
    let found = call.limits().run(|deadline| query.execute(call.snapshot, deadline))?;
    let micros = call.micros_since(begun);
    // `?` escapes the plan, which quotes the client's filter.
    tracing::debug!(micros, plan = ?found.plan.to_string(), "list answered");
    let mut opening = b"{\"meta\":{\"count\":".to_vec();
    json::unsigned(&mut opening, found.count);
    opening.extend_from_slice(b",\"page\":");
    json::unsigned(&mut opening, u64::from(query.page.get()));
    opening.extend_from_slice(b",\"per_page\":");
    json::unsigned(&mut opening, u64::from(query.per_page));
    if let Some(summary) = &found.search {
        opening.extend_from_slice(b",\"search\":");
        write_summary(summary, &mut opening);
    }
    if let Some(hint) = hint(query, found.count) {
        opening.extend_from_slice(b",\"hint\":");
        json::string(&mut opening, &hint);
    }
    opening.extend_from_slice(b"},\"results\":[");
    let rows = PageRows::new(&CURRENT, query.entity, found.rows, b"]}").with_scores(found.scores);
    render(rows.selecting(query.select.clone()), &opening, call)
}

/// Writes the summary of a search.
///
/// ```text
/// {"words":"most","all":3,"corrected":{"synovitsi":["synovitis"]}}
/// ```
pub fn write_summary(summary: &SearchSummary, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"words\":");
    json::string(out, summary.words.name());
    if let SearchedWords::Most { all } = summary.words {
        out.extend_from_slice(b",\"all\":");
        json::unsigned(out, all);
    }
    out.extend_from_slice(b",\"corrected\":{");
    for (at, (word, corrections)) in summary.corrected.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        json::string(out, word);
        for (at, correction) in corrections.iter().enumerate() {
            out.extend_from_slice(if at > 0 { b"," } else { b":[" });
            json::string(out, correction);
        }
        out.push(b']');
    }
    out.push(b'}');
    if let Some(identifier) = &summary.identifier {
        out.extend_from_slice(b",\"identifier\":");
        json::string(out, identifier.kind);
    }
    out.push(b'}');
}

/// How to write here what a search has of the syntax of other databases; or, for an empty list whose filter compares the whole
/// of a text, the key that finds words.
pub fn hint(query: &Query, count: u64) -> Option<String> {
    let searched = query.searched_text().filter(|_| query.keys.has_full_text());
    searched.and_then(search_hint).or_else(|| words_hint(query).filter(|_| count == 0))
}

fn words_hint(query: &Query) -> Option<String> {
    let is_text = |operand: &Operand| matches!(operand, Operand::Term(_) | Operand::Nothing);
    let compares = |expression: &&Expression| {
        !expression.is_negated && expression.operands.iter().any(is_text)
    };
    query.filter.iter().filter(compares).find_map(|expression| {
        let key = expression.key;
        let search = query.keys.search_of(key)?;
        Some(format!(
            "`{}` compares the whole value; `{}` finds words of it",
            key.name, search.name
        ))
    })
}

/// Begins the stream of a whole list in a format.
fn answer_stream(query: &Query, stream: StreamRequest, name: &str, call: &Call<'_>) -> Answer {
    let format = stream.format;
    let (rows, records) = ListRows::begin(query, stream, call.limits(), call.snapshot)?;
    if format == StreamFormat::Xlsx && records >= SHEET_ROWS_MAX {
        let reason = format!(
            "holds {} records below its header, and the list has {records}; narrow `filter`, or write `csv`",
            SHEET_ROWS_MAX - 1
        );
        return Ok(Reply::bad_query(vec![Detail::new("format", format.name(), reason)]));
    }
    tracing::debug!(records, format = format.name(), "list streamed");
    let media_type = format.media_type();
    let file_name = Some(format!("{name}.{}", format.extension()).into());
    let is_whole = query.selects_single() || stream.has_whole_references();
    let weight = if is_whole { SINGLE_WEIGHT } else { 1 };
    let list = ListStream { records, weight, media_type, file_name };
    Ok(Reply::in_pieces(Box::new(rows), Some(list)))
}

/// Renders a page after its opening text: whole, or to be sent in pieces if the page is long.
pub fn render(mut rows: PageRows, opening: &[u8], call: &Call<'_>) -> Answer {
    let is_shared = call.thread == Thread::Shared;
    if is_shared && rows.stored_bytes(call.snapshot)? > SHARED_BYTES_MAX {
        return Err(Failure::WouldWait);
    }
    let mut text = Vec::with_capacity(CAPACITY_BYTES);
    text.extend_from_slice(opening);
    // Pages that a shared thread renders are short: reading its times would cost a tenth of such a page.
    let budget = match is_shared {
        true => PieceBudget::of_bytes(WHOLE_BYTES_MAX),
        false => PieceBudget::new(call.host.clock(), WHOLE_BYTES_MAX, call.limits().cpu_left()),
    };
    rows.render(call.snapshot, &mut text, &budget)?;
    // A slow client does not keep the spare capacity allocated.
    text.shrink_to_fit();
    match rows.is_done() {
        true => Ok(Reply::json(text)),
        // Further pieces need permits.
        false if is_shared => Err(Failure::WouldWait),
        false => Ok(Reply::in_pieces(Box::new(PageStream::new(rows, text)), None)),
    }
}

fn describe(route: &RoutePath, document: &mut Document<'_>) -> Result<Value, ReadError> {
    let facts = route.facts();
    let keys = keys_of(facts.entity);
    let sample = document.sample(facts.entity)?;
    let get_by_id = format!("get_{}", facts.singular);
    let first = json!({
        "operationId": get_by_id,
        "parameters": { "id": "$response.body#/results/0/id" },
        "description": "The first record of the page.",
    });
    let operation = Operation {
        tag: facts.plural,
        description: "Without `sort` the most used records come first. Ties come in id order.",
        parameters: parameters::CURRENT.describe(keys, &sample),
        headers: CACHE_HEADERS.to_vec(),
        statuses: LIST_STATUSES.to_vec(),
        links: if facts.has_single { json!({ "first": first }) } else { Value::Null },
        ..Operation::new(
            format!("list_{}", facts.plural.replace('-', "_")),
            format!("A page of the list of {}", facts.plural.replace('-', " ")),
            content(facts, document),
        )
    };
    Ok(operation.into_path_item())
}

/// The members of `meta` of a page of records.
fn describe_meta() -> Value {
    let mut meta = page_meta(&["count", "page", "per_page"]);
    let doc = "Present where nothing matches and the filter compares the whole of a text: the key that finds words. Also \
               where `search` has syntax of another database: how it is written here.";
    meta["properties"]["hint"] = json!({ "description": doc, "type": "string" });
    meta
}

/// The body of a list: a page of records, whole or with selected members, a page of groups where the list
/// has them, or a stream. Groups come first, because clients that try all in turn would take groups for an
/// empty page of records.
pub fn content(facts: &'static Facts, document: &mut Document<'_>) -> Value {
    let schemas = &mut document.schemas;
    let record = schemas.record(facts.entity, Shape::List);
    let has_full_text = keys_of(facts.entity).has_full_text();
    let meta_name = if has_full_text { "SearchedPageMeta" } else { "PageMeta" };
    let meta = |schemas: &mut Schemas| {
        schemas.define(meta_name, |_| {
            let mut meta = describe_meta();
            if has_full_text {
                let doc = "The summary of the search; only in lists with `search`.";
                add_optional(&mut meta, [("search", doc, describe_summary())]);
            }
            meta
        })
    };
    let whole = schemas.define(&format!("{}Page", schema_name(facts.entity)), |schemas| {
        page(meta(schemas), record)
    });
    let mut pages = Vec::with_capacity(3);
    if Grouping::key_names(keys_of(facts.entity)).next().is_some() {
        pages.push(groups::describe_page(schemas));
    }
    let selected_name = if has_full_text { "SelectedSearchedPage" } else { "SelectedPage" };
    let selected = schemas.define(selected_name, |schemas| {
        let doc = "The members that `select` names, of a record of the list.";
        let record = json!({ "description": doc, "type": "object" });
        page(meta(schemas), record)
    });
    pages.extend([whole, selected]);
    let mut content = json_content(json!({ "anyOf": pages }));
    if feed::is_of(facts.entity) {
        let (media_type, _) = feed::MEDIA_TYPE.split_once(';').unwrap_or_default();
        content[media_type] = json!({ "schema": { "type": "string" } });
    }
    for format in StreamFormat::of(facts.entity) {
        let (media_type, _) =
            format.media_type().split_once(';').unwrap_or((format.media_type(), ""));
        let schema = match format {
            StreamFormat::References(format) => reference_file(format, true),
            StreamFormat::Xlsx => json!({ "type": "string", "format": "binary" }),
            _ => json!({ "type": "string" }),
        };
        content[media_type] = json!({ "schema": schema });
    }
    content
}

/// The schema of `meta.search`.
fn describe_summary() -> Value {
    let words = "Whether the matching records have all words; or, if fewer than ten have all, most of them.";
    let all = "The records of the snapshot that have all words; only with `most`.";
    let identifier = "The kind of the identifier that the search is as a whole: only the record with the identifier matches.";
    let corrected = "The words that also stand for similar words, with these.";
    let mut summary = object_of(
        "Which words of a search the records have, and which words were corrected.",
        [
            ("words", words, json!({ "type": "string", "enum": (SearchedWords::NAMES) })),
            (
                "corrected",
                corrected,
                json!({
                    "type": "object",
                    "additionalProperties": { "type": "array", "items": { "type": "string" } },
                }),
            ),
        ],
    );
    let optional = [
        ("all", all, json!({ "type": "integer", "minimum": 0, "maximum": 9 })),
        ("identifier", identifier, json!({ "type": "string" })),
    ];
    add_optional(&mut summary, optional);
    summary
}
