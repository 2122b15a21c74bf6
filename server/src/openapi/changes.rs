//! The operation `/changes`.

use http::StatusCode;
use pinakes_format::changes::PART_ROWS;
use pinakes_format::entity::CATALOG;
use pinakes_format::storage::manifest::ID_DIGITS;
use serde_json::{Value, json};

use crate::openapi::operation::{Operation, SERVICE_TAG, json_content};
use crate::openapi::parameters::query_parameter;
use crate::openapi::responses::CACHE_HEADERS;
use crate::openapi::schemas::{Schemas, described, or_null};
use crate::openapi::service::{object_of, text};

/// The path's operation; `snapshot` is the id of the served snapshot, for the example.
pub fn operation(schemas: &mut Schemas, snapshot: &str) -> Operation {
    Operation {
        id: "changes".to_owned(),
        tag: SERVICE_TAG,
        summary: "The ids that differ from an earlier snapshot".to_owned(),
        description: "Compares a part of the records, of both snapshots. `meta.next` is the path of the next part. \
                      The earlier snapshot must be open, as `/@{snapshot}` needs it.",
        parameters: parameters(snapshot),
        success: StatusCode::OK,
        content: json_content(schemas.define("Changes", part)),
        headers: CACHE_HEADERS.to_vec(),
        statuses: vec![
            StatusCode::NOT_MODIFIED,
            StatusCode::BAD_REQUEST,
            StatusCode::NOT_FOUND,
            StatusCode::TOO_MANY_REQUESTS,
        ],
        links: Value::Null,
    }
}

fn parameters(snapshot: &str) -> Vec<Value> {
    let entities: Vec<&str> = CATALOG.iter().map(|facts| facts.plural).collect();
    let id = json!({ "type": "string", "pattern": (format!("^[0-9a-f]{{{ID_DIGITS}}}$")) });
    let example = Some(("served", snapshot.to_owned()));
    let mut since = query_parameter("since", "The id of the earlier snapshot.", id, [example]);
    if let Some(since) = since.as_object_mut() {
        since.insert("required".into(), true.into());
    }
    let entity = json!({ "type": "string", "enum": entities });
    let doc = "The only records to compare; all if missing.";
    let entity = query_parameter("entity", doc, entity, []);
    let pattern = format!("^({}):(0|[1-9][0-9]{{0,17}})$", entities.join("|"));
    let doc = format!(
        "Where the part begins, from `meta.next` of another part. A part compares {PART_ROWS} records."
    );
    let from = json!({ "type": "string", "pattern": pattern });
    vec![since, entity, query_parameter("from", &doc, from, [])]
}

fn part(schemas: &mut Schemas) -> Value {
    let meta = object_of(
        "The snapshots, and the next part.",
        [
            ("since", "The id of the earlier snapshot.", text()),
            ("snapshot", "The id of the later snapshot.", text()),
            ("next", "The path of the next part; null after the last.", or_null(text())),
        ],
    );
    let meta = schemas.define("ChangesMeta", |_| meta);
    let change = schemas.define("Change", |_| change());
    let changes = json!({ "type": "array", "items": change });
    object_of(
        "The ids that differ in a part of the records.",
        [
            ("meta", "The snapshots, and the next part.", meta),
            ("results", "The ids, in the order of the rows.", changes),
        ],
    )
}

fn change() -> Value {
    let names = json!({ "type": "string", "enum": ["added", "changed", "merged", "removed"] });
    let mut change = object_of(
        "The difference of an id.",
        [
            ("change", "The kind of difference.", names),
            ("entity", "The records that the id belongs to.", text()),
            ("id", "The id.", text()),
        ],
    );
    if let Some(members) = change["properties"].as_object_mut() {
        let doc = "The members whose values differ, where the record changed.";
        let names = json!({ "type": "array", "items": { "type": "string" } });
        members.insert("members".into(), described(doc, names));
        let doc = "The id that the id was merged into.";
        members.insert("into".into(), described(doc, text()));
    }
    change
}
