//! Batches of queries: each text is matched as `/match/{list}` matches it, one after the other.
//!
//! ```text
//! {"q0":{"query":"Acme Univ","type":"institutions","properties":[{"pid":"country.name","v":"France"}]},…}
//! {"q0":{"result":[{"id":"HX_I7","name":"Acme University","score":93,"match":true,…}]},…}
//! ```

use pinakes_format::entity::{Entity, Facts};
use pinakes_format::matching::{CANDIDATES_MAX, Candidate, Question, find_matches};
use pinakes_format::query::{QueryError, nearest};
use pinakes_format::snapshot::Snapshot;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::define::charge::RECORDS_PER_REQUEST;
use crate::define::{Answer, Call, WorkLimits};
use crate::reconcile::types::{id_text, type_value, types};
use crate::reply::pieces::{ListStream, PIECE_BYTES, PieceBudget, PieceError, PieceSource};
use crate::reply::{Detail, JSON, Reply};

/// The most queries of a batch.
pub const QUERIES_MAX: usize = 50;
/// The parts of questions, and the members of records that stand for them. Other properties decide nothing.
const PARTS: [(Entity, &str, &[&str]); 12] = [
    (Entity::Output, "author", &["authors.name"]),
    (Entity::Output, "year", &["year", "date"]),
    (Entity::Output, "venue", &["primary_venue.source.name"]),
    (Entity::Output, "volume", &["biblio.volume"]),
    (Entity::Output, "first_page", &["biblio.first_page"]),
    (Entity::Output, "doi", &["doi"]),
    (Entity::Output, "title", &["title", "name"]),
    (Entity::Author, "orcid", &["orcid"]),
    (
        Entity::Author,
        "affiliation",
        &["last_known_institutions.name", "affiliations.institution.name"],
    ),
    (Entity::Institution, "country", &["country", "country.name", "country.code", "geo.country"]),
    (Entity::Funder, "country", &["country", "country.name", "country.code"]),
    (Entity::Publisher, "country", &["country", "country.name", "country.code"]),
];

#[derive(Clone, Debug)]
pub struct BatchQuery {
    key: String,
    /// A question for each type.
    questions: Vec<Question>,
    limit: usize,
}

#[derive(Deserialize)]
struct SentQuery {
    query: Option<String>,
    r#type: Option<OneOrMany>,
    limit: Option<f64>,
    #[serde(default)]
    properties: Vec<SentProperty>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

#[derive(Deserialize)]
struct SentProperty {
    pid: String,
    v: Value,
}

/// Parses the parameter `queries`. The error names the query.
pub fn parse(text: &str) -> Result<Vec<BatchQuery>, Vec<Detail>> {
    let refuse = |reason: String| Err(vec![Detail::new("queries", text, reason)]);
    let sent: Map<String, Value> = match serde_json::from_str(text) {
        Ok(sent) => sent,
        Err(error) if error.is_data() => {
            return refuse("must be a JSON object of queries by key".to_owned());
        }
        Err(error) => return refuse(format!("is no JSON, at column {}", error.column())),
    };
    if sent.is_empty() {
        return refuse("has no query".to_owned());
    }
    if sent.len() > QUERIES_MAX {
        return refuse(format!("has {} queries; send at most {QUERIES_MAX} at a time", sent.len()));
    }
    let query = |(key, value): (String, Value)| {
        let sent = value.to_string();
        parse_query(key.clone(), value)
            .map_err(|reason| vec![Detail::new(&format!("queries.{key}"), &sent, reason)])
    };
    sent.into_iter().map(query).collect()
}

fn parse_query(key: String, value: Value) -> Result<BatchQuery, String> {
    let sent: SentQuery =
        serde_json::from_value(value).map_err(|error| format!("is no query: {error}"))?;
    if sent.query.is_none() && sent.properties.is_empty() {
        return Err("has neither `query` nor `properties`".to_owned());
    }
    let chosen = match sent.r#type {
        None => types().collect(),
        Some(OneOrMany::One(name)) => vec![find_type(&name)?],
        Some(OneOrMany::Many(names)) => {
            let mut chosen: Vec<&Facts> = Vec::new();
            for name in &names {
                let facts = find_type(name)?;
                if chosen.iter().all(|other| other.entity != facts.entity) {
                    chosen.push(facts);
                }
            }
            chosen
        }
    };
    let mut questions = Vec::new();
    for facts in chosen {
        let mut question = Question::new(facts.entity);
        question
            .set("text", sent.query.as_deref().unwrap_or_default())
            .map_err(|error| error.to_string())?;
        for property in &sent.properties {
            let Some(part) = part_of(facts.entity, &property.pid) else { continue };
            // A title is the text itself.
            let is_known =
                question.get(part).is_some() || part == "title" && question.text().is_some();
            if let Some(value) = text_of(&property.v).filter(|_| !is_known) {
                question.set(part, &value).map_err(|error| error.to_string())?;
            }
        }
        // A name alone does not decide between people, and a blank text asks for nothing.
        if question.check().is_ok() {
            questions.push(question);
        }
    }
    let limit =
        sent.limit.filter(|limit| *limit >= 1.0).map_or(CANDIDATES_MAX, |limit| limit as usize);
    Ok(BatchQuery { key, questions, limit: limit.min(CANDIDATES_MAX) })
}

/// The type with an id; the error is the reason for the refusal.
pub fn find_type(id: &str) -> Result<&'static Facts, String> {
    types().find(|facts| facts.route == id).ok_or_else(|| {
        let known = types().map(|facts| facts.route);
        match nearest(id, known.clone()) {
            Some(near) => format!("has the unknown type `{id}`; did you mean `{near}`?"),
            None => {
                let known: Vec<&str> = known.collect();
                format!("has the unknown type `{id}`; the types are {}", known.join(", "))
            }
        }
    })
}

/// The part of a question that a property stands for.
fn part_of(entity: Entity, property: &str) -> Option<&'static str> {
    let of_entity = PARTS.iter().filter(|(of, ..)| *of == entity);
    let mut found =
        of_entity.filter(|(_, part, members)| *part == property || members.contains(&property));
    found.next().map(|(_, part, _)| *part)
}

/// The first text of a value: of an object its name, or else its id.
fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Array(values) => values.iter().find_map(text_of),
        Value::Object(members) => members.get("name").or(members.get("id")).and_then(text_of),
        Value::Bool(_) | Value::Null => None,
    }
}

/// Begins the reply: each query counts as a search.
pub fn answer(queries: Vec<BatchQuery>, call: &Call<'_>) -> Answer {
    let list = ListStream {
        records: queries.len() as u64,
        weight: RECORDS_PER_REQUEST,
        media_type: JSON,
        file_name: None,
    };
    let mut batch = Batch { queries, limits: call.limits().of_each_run(), next: 0 };
    if call.snapshot.is_fetched() {
        batch.prepare(call)?;
    }
    Ok(Reply::in_pieces(Box::new(batch), Some(list)))
}

/// Queries of a batch that a mirror prepares together. Preparing a query costs as much as answering it.
const PREPARED_MAX: usize = 10;

/// A batch whose queries are answered in pieces.
struct Batch {
    queries: Vec<BatchQuery>,
    limits: WorkLimits,
    next: usize,
}

impl Batch {
    /// Reads what the first queries need, so that a mirror fetches it together.
    fn prepare(&mut self, call: &Call<'_>) -> Result<(), PieceError> {
        let budget = PieceBudget::of_piece(call.host.clock());
        for _ in 0..PREPARED_MAX.min(self.queries.len()) {
            self.next_piece(call.snapshot, &budget, &mut Vec::new())?;
        }
        self.next = 0;
        Ok(())
    }
}

/// The candidates of a query, the best first.
fn result(
    query: &BatchQuery,
    limits: WorkLimits,
    snapshot: &Snapshot,
) -> Result<Vec<Value>, QueryError> {
    let mut found: Vec<(Entity, Candidate)> = Vec::new();
    limits.run(|deadline| {
        for question in &query.questions {
            let candidates = find_matches(snapshot, question, deadline)?;
            found.extend(candidates.into_iter().map(|candidate| (question.entity(), candidate)));
        }
        Ok::<_, QueryError>(())
    })?;
    found.sort_by(|(_, one), (_, other)| other.score.total_cmp(&one.score));
    // Records of several types that a text means leave the decision open.
    let mut matching =
        found.iter().filter(|(_, candidate)| candidate.is_match).map(|(entity, _)| *entity);
    let first = matching.next();
    let is_decided = matching.all(|entity| Some(entity) == first);
    found.truncate(query.limit);
    let mut result = Vec::with_capacity(found.len());
    for (entity, candidate) in found {
        let features = candidate
            .why
            .iter()
            .map(|evidence| json!({ "id": (evidence.what), "value": (evidence.agrees) }));
        result.push(json!({
            "id": (id_text(entity, snapshot.or_noted(snapshot.row_id(entity, candidate.row))?)),
            "name": (snapshot.or_noted(snapshot.name(entity, candidate.row))?.unwrap_or_default()),
            "score": ((candidate.score * 100.0).floor() as u8),
            "match": (candidate.is_match && is_decided),
            "type": [(type_value(entity.facts()))],
            "features": (features.collect::<Vec<_>>()),
        }));
    }
    Ok(result)
}

impl PieceSource for Batch {
    fn held_bytes(&self) -> usize {
        // The text of the batch came in a URL or a body of at most 64 KiB.
        PIECE_BYTES
    }

    fn next_piece(
        &mut self,
        snapshot: &Snapshot,
        _: &PieceBudget,
        out: &mut Vec<u8>,
    ) -> Result<(), PieceError> {
        let query = &self.queries[self.next];
        let answer = match snapshot.or_noted(result(query, self.limits, snapshot)) {
            Ok(result) => json!({ "result": result }),
            Err(QueryError::Damaged(error)) => return Err(error.into()),
            Err(error @ (QueryError::Deadline | QueryError::Refused { .. })) => {
                json!({ "result": [], "error": (error.to_string()) })
            }
        };
        let mark = if self.next == 0 { '{' } else { ',' };
        out.extend_from_slice(format!("{mark}{}:{answer}", json!(query.key)).as_bytes());
        self.next += 1;
        if self.next == self.queries.len() {
            out.push(b'}');
        }
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.next == self.queries.len()
    }
}
