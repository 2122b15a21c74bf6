//! `/match/{list}`: which record a text means, or that none does.
//!
//! GET matches one text, and lists the candidates. POST matches up to 1,000 lines, and answers a line for each as it goes:
//!
//! ```text
//! lines.rs     the posted body: JSON lines or CSV, to keys and questions
//! describe.rs  the operations in the OpenAPI document
//! reply.rs     one line after the other, each within --list-timeout and --list-cpu
//! ```
//!
//! Imports `define`, `list`, `openapi`, `reply`, `request`.

mod describe;
mod lines;
mod reply;

use http::{Method, StatusCode};
use pinakes_format::entity::{Entity, Facts};
use pinakes_format::matching::{Candidate, Question, QuestionError, find_matches};

use crate::define::charge::{QuotaClass, RECORDS_PER_REQUEST};
use crate::define::{Answer, Call, Charge, Cost, Endpoint, Lists, Planned, Planning};
use crate::matching::lines::{BODY_BYTES_MAX, LineFormat, LinesError, read_lines};
use crate::matching::reply::MatchedLines;
use crate::reply::pieces::ListStream;
use crate::reply::{DETAILS_MAX, Detail, Reply};
use crate::request::READ_AND_POST_METHODS;
use crate::request::body::refuse_headers;
use crate::request::parameters::query_pairs;

/// The media types of a body.
const MEDIA_TYPES: [&str; 4] =
    ["application/x-ndjson", "application/jsonl", "application/json", "text/csv"];

pub const MATCH: Endpoint = Endpoint {
    lists: Lists::Of(has_matches),
    methods: READ_AND_POST_METHODS,
    body_bytes_max: BODY_BYTES_MAX,
    describe: Some(describe::describe),
    ..Endpoint::new("/match/{list}", Charge::Daily(QuotaClass::List), plan)
};

fn has_matches(facts: &Facts) -> bool {
    Question::is_about(facts.entity)
}

fn plan(planning: &Planning<'_>) -> Result<Planned, Reply> {
    let (call, facts) = (&planning.call, planning.facts());
    if *call.method == Method::POST {
        let format = posted_format(call)?;
        return Ok(Planned::work(Cost::Large, move |call| answer_lines(facts, format, call)));
    }
    let question = parse(facts.entity, call.query).map_err(Reply::bad_query)?;
    Ok(Planned::unless_current(call, Cost::Large, move |call| answer(&question, call)))
}

/// Parses the parameters of a URL.
fn parse(entity: Entity, query: &str) -> Result<Question, Vec<Detail>> {
    let mut question = Question::new(entity);
    let mut details = Vec::new();
    for pair in query_pairs(query) {
        let error = match pair {
            Err(detail) => Some(detail),
            Ok((name, value)) => {
                question.set(&name, &value).err().map(|error| detail(error, &value))
            }
        };
        details.extend(error.filter(|_| details.len() < DETAILS_MAX));
    }
    if details.is_empty()
        && let Err(error) = question.check()
    {
        let value = question.get(&error.name).unwrap_or_default().to_owned();
        details.push(detail(error, &value));
    }
    if details.is_empty() { Ok(question) } else { Err(details) }
}

fn detail(QuestionError { name, reason }: QuestionError, value: &str) -> Detail {
    Detail::new(&name, value, reason)
}

/// Answers the candidates of one text.
fn answer(question: &Question, call: &Call<'_>) -> Answer {
    let entity = question.entity();
    let found = call.limits().run(|deadline| find_matches(call.snapshot, question, deadline))?;
    let mut body = format!("{{\"meta\":{{\"count\":{}}},\"results\":[", found.len()).into_bytes();
    for (at, candidate) in found.iter().enumerate() {
        body.extend_from_slice(if at > 0 { b",{" } else { b"{" });
        Candidate::write_members(candidate, call.snapshot, entity, &mut body)?;
        body.push(b'}');
    }
    body.extend_from_slice(b"]}");
    Ok(Reply::json(body))
}

/// The format of a posted body; the error is the reply to another.
fn posted_format(call: &Call<'_>) -> Result<LineFormat, Reply> {
    if let Some(refusal) = refuse_headers(call.headers, &MEDIA_TYPES) {
        return Err(refusal);
    }
    if !call.query.is_empty() {
        let reason = "stands in the URL; a POST takes texts in its body alone";
        return Err(Reply::bad_query(vec![Detail::new("query", call.query, reason)]));
    }
    let is_csv = refuse_headers(call.headers, &["text/csv"]).is_none();
    Ok(if is_csv { LineFormat::Csv } else { LineFormat::NdJson })
}

/// Begins the stream of one line for each posted line.
fn answer_lines(facts: &'static Facts, format: LineFormat, call: &Call<'_>) -> Answer {
    // Every POST to this path has a body, possibly empty.
    let Some(posted) = call.posted else { return Ok(Reply::internal()) };
    let lines = match read_lines(facts.entity, format, posted.text) {
        Ok(lines) => lines,
        Err(LinesError { status, detail }) => {
            let message = detail.reason.clone();
            return Ok(match status {
                StatusCode::BAD_REQUEST => Reply::bad_query(vec![detail]),
                status => Reply::error(status, message),
            });
        }
    };
    let stream = ListStream {
        records: lines.len() as u64,
        weight: RECORDS_PER_REQUEST,
        media_type: format.stream().media_type(),
        file_name: Some(format!("matched-{}.{}", facts.plural, format.stream().name()).into()),
    };
    let held_bytes = posted.text.len();
    let lines =
        MatchedLines::new(facts.entity, format, lines, held_bytes, call.limits().of_each_run());
    call.prepare(&lines)?;
    Ok(Reply::in_pieces(Box::new(lines), Some(stream)).uncached())
}
