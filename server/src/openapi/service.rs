//! What stands beside lists and records: autocomplete's candidates, limits, pages, and the service itself.

use http::StatusCode;
use pinakes_format::entity::CATALOG;
use serde_json_bytes::{ByteString, Map, Value};

use crate::openapi::paths::{Reading, completed_entities, content, page, page_meta};
use crate::openapi::responses::KEPT;
use crate::openapi::schemas::{Schemas, described, object, or_null, schema_at};
use crate::snapshots::health::Trouble;

/// The chapter of GraphQL.
pub const GRAPHQL: &str = "GraphQL";
const SERVICE: &str = "service";
/// What `/` and `/health` tell of the snapshot.
const NEWEST: &str = "When the newest record changed.";
const LICENCE: &str = "What the data may be used under, as whoever runs the server says.";

/// An object of members: name, what it is, and its schema.
fn object_of<const N: usize>(doc: &str, members: [(&str, &str, Value); N]) -> Value {
    let members = members.into_iter();
    object(doc, members.map(|(name, doc, value)| (name.into(), described(doc, value))).collect())
}

fn text() -> Value {
    json!({ "type": "string" })
}

fn count() -> Value {
    json!({ "type": "integer", "minimum": 0 })
}

/// The page of candidates.
pub fn candidates(schemas: &mut Schemas) -> Value {
    schemas.name("CandidatePage", |schemas| {
        let meta = schemas.name("CandidateMeta", |_| page_meta(&["count"]));
        let candidate = schemas.name("Candidate", |_| {
            let kinds = json!({ "type": "string", "enum": (completed_entities()) });
            object_of(
                "A record that may be meant.",
                [
                    ("id", "Its identifier, of the taxonomy too as a string.", text()),
                    ("name", "Its name.", text()),
                    ("cited_by_count", "Citations received.", or_null(count())),
                    ("entity_type", "Its kind.", kinds),
                    ("external_id", "Its identifier elsewhere, such as a DOI.", or_null(text())),
                    ("outputs_count", "Indexed outputs; null of an output.", or_null(count())),
                ],
            )
        });
        page(meta, candidate)
    })
}

/// A group of records of the older variant.
pub fn legacy_group() -> Value {
    object_of(
        "The records that refer to another.",
        [
            ("key", "The identifier of what they refer to.", text()),
            ("key_display_name", "Its name.", or_null(text())),
            ("count", "How many they are.", count()),
        ],
    )
}

fn reading(name: &str, tag: &'static str, summary: &str, content: Value) -> Reading {
    Reading {
        name: name.to_owned(),
        tag,
        summary: summary.to_owned(),
        doc: "",
        parameters: Vec::new(),
        content,
        headers: vec!["Cache-Control"],
        others: Vec::new(),
        links: Value::Null,
    }
}

/// What else is read, by its path.
pub fn readings(schemas: &mut Schemas) -> Vec<(&'static str, Reading)> {
    for (name, make) in SCHEMAS {
        schemas.name(name, |_| make());
    }
    let of = |media_type: &str| json!({ media_type: { "schema": { "type": "string" } } });
    let page = |name: &str, tag, summary: &str| Reading {
        doc: "A server may have been started without it.",
        headers: KEPT.to_vec(),
        others: vec![StatusCode::NOT_MODIFIED, StatusCode::NOT_FOUND],
        ..reading(name, tag, summary, of("text/html"))
    };
    let schema = "The schema of GraphQL, as SDL";
    let document = json!({ "application/json": { "schema": { "type": "object" } } });
    vec![
        ("/graphql/schema", reading("graphql_schema", GRAPHQL, schema, of("application/graphql"))),
        ("/graphiql", page("graphiql", GRAPHQL, "A page to ask GraphQL from")),
        (
            "/rate-limit",
            Reading {
                doc: "It is never refused, and counts as nothing.",
                ..reading(
                    "rate_limit",
                    SERVICE,
                    "How the caller stands with the limits",
                    content("RateLimit"),
                )
            },
        ),
        ("/", reading("index", SERVICE, "What the service is", content("Index"))),
        ("/health", reading("health", SERVICE, "Whether the process lives", content("Health"))),
        (
            "/ready",
            reading(
                "ready",
                SERVICE,
                "Whether there is a snapshot to answer from",
                content("Ready"),
            ),
        ),
        (
            "/openapi.json",
            Reading {
                headers: KEPT.to_vec(),
                others: vec![StatusCode::NOT_MODIFIED],
                ..reading("openapi", SERVICE, "This document", document)
            },
        ),
        ("/docs", page("docs", SERVICE, "This document as a page")),
    ]
}

/// What `/health` tells of what is not as it should be.
const TROUBLES: &str = "What is not as it should be, the gravest first. `unavailable`: there is nothing \
                        to answer from. `fallback`: another snapshot is served than the one that should be, \
                        which is damaged or refused. `takedowns_refused`: the list of what to withhold \
                        is not understood, and the one of before is in force. `stale`: what is served was \
                        pulled from others, and has expired.";

/// A schema's name, and what makes it.
type Named = (&'static str, fn() -> Value);

const SCHEMAS: [Named; 5] = [
    ("Index", index),
    ("Health", || {
        let names = Trouble::ALL.map(Trouble::name).to_vec();
        let states: Vec<&str> = ["ok"].into_iter().chain(names.iter().copied()).collect();
        let states = json!({ "type": "string", "enum": states });
        let troubles = json!({ "type": "array", "items": { "type": "string", "enum": names } });
        let mut health = object_of(
            "Whether the process lives.",
            [
                ("status", "`ok`, or the gravest of the troubles.", states),
                ("troubles", TROUBLES, troubles),
                ("snapshot_id", "What it answers from.", text()),
                ("newest_updated_date", NEWEST, or_null(text())),
                ("data_licence", LICENCE, text()),
                ("expired", "When it has, if so.", text()),
            ],
        );
        health["required"] =
            json!(["status", "troubles", "snapshot_id", "newest_updated_date", "data_licence"]);
        health
    }),
    ("Ready", || {
        object_of(
            "Whether there is a snapshot.",
            [
                ("status", "That there is.", json!({ "type": "string", "const": "ready" })),
                ("snapshot_id", "Which.", text()),
            ],
        )
    }),
    ("Quota", || {
        object_of(
            "What is left of a limit.",
            [
                ("limit", "Requests in a window.", count()),
                ("remaining", "What is left of them.", count()),
                ("reset_seconds", "Seconds until the window ends.", count()),
            ],
        )
    }),
    ("RateLimit", || {
        let quota = || schema_at("Quota");
        let daily = object_of(
            "By what is asked.",
            [
                ("list_filter", "Pages of lists.", quota()),
                ("search", "Pages of autocomplete.", quota()),
            ],
        );
        object_of(
            "How a client stands with the limits.",
            [
                ("ip", "Its address.", text()),
                (
                    "minute_rate_limit",
                    "The minute; null where no limit is for it.",
                    or_null(quota()),
                ),
                ("daily_quota", "The day; null where no limit is for it.", or_null(daily)),
            ],
        )
    }),
];

fn index() -> Value {
    let plurals: Map<ByteString, Value> =
        CATALOG.iter().map(|facts| (facts.plural.into(), count())).collect();
    let mut index = object_of(
        "What the service is.",
        [
            ("service", "Its name.", json!({ "type": "string", "const": "pinakes" })),
            ("version", "The version of its program.", text()),
            ("snapshot_id", "What it answers from.", text()),
            ("newest_updated_date", NEWEST, or_null(text())),
            ("data_licence", LICENCE, text()),
            ("counts", "How many records there are.", object("", plurals)),
            ("suppressed", "How many are withheld; absent where none is.", count()),
            (
                "selection",
                "The filters of the part that this is of a dump; absent where it is all of it.",
                json!({ "type": "object" }),
            ),
            (
                "links",
                "Where to go.",
                json!({ "type": "object", "additionalProperties": { "type": "string" } }),
            ),
        ],
    );
    let required = index["required"].as_array_mut();
    required
        .into_iter()
        .for_each(|names| names.retain(|name| name != "suppressed" && name != "selection"));
    index
}
