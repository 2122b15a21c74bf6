//! Operations besides lists and records: autocomplete's candidates, limits, pages, and the service itself.

use http::StatusCode;
use pinakes_format::autocomplete;
use pinakes_format::entity::CATALOG;
use serde_json::{Map, Value, json};

use crate::openapi::operation::{
    GRAPHQL_TAG, Operation, SERVICE_TAG, named_content, page, page_meta,
};
use crate::openapi::responses::CACHE_HEADERS;
use crate::openapi::schemas::{Schemas, described, object, or_null, schema_at};
use crate::snapshots::health::HealthIssue;

/// Descriptions of members that `/` and `/health` share.
const SNAPSHOT_ID: &str = "The id of the served snapshot.";
const NEWEST: &str = "When the newest record changed.";
const LICENCE: &str = "The licence of the data, as the operator states it.";

/// An object schema from names, descriptions and schemas of its members.
pub(super) fn object_of<const N: usize>(doc: &str, members: [(&str, &str, Value); N]) -> Value {
    let members = members.into_iter();
    object(doc, members.map(|(name, doc, value)| (name.into(), described(doc, value))).collect())
}

pub(super) fn text() -> Value {
    json!({ "type": "string" })
}

pub(super) fn count() -> Value {
    json!({ "type": "integer", "minimum": 0 })
}

/// The schema of a page of autocomplete candidates.
pub fn candidate_page(schemas: &mut Schemas) -> Value {
    schemas.define("CandidatePage", |schemas| {
        let meta = schemas.define("CandidateMeta", |_| page_meta(&["count"]));
        let candidate = schemas.define("Candidate", |_| {
            let entities = json!({ "type": "string", "enum": (completed_entities()) });
            object_of(
                "A record whose name may complete the typed text.",
                [
                    ("id", "The identifier; a string for every entity.", text()),
                    ("name", "The display name.", text()),
                    ("cited_by_count", "Citations received.", or_null(count())),
                    ("entity_type", "The entity of the record.", entities),
                    (
                        "external_id",
                        "The identifier in another system, such as a DOI.",
                        or_null(text()),
                    ),
                    ("outputs_count", "Indexed outputs; null for an output.", or_null(count())),
                ],
            )
        });
        page(meta, candidate)
    })
}

fn completed_entities() -> Vec<&'static str> {
    autocomplete::ENTITIES.iter().map(|entity| entity.facts().singular).collect()
}

/// The schema of a group that a legacy list counts.
pub fn legacy_group() -> Value {
    object_of(
        "The matching records that refer to one record.",
        [
            ("key", "The identifier of the record that the group refers to.", text()),
            ("key_display_name", "The name of that record.", or_null(text())),
            ("count", "Number of records in the group.", count()),
        ],
    )
}

fn plain_operation(id: &str, tag: &'static str, summary: &str, content: Value) -> Operation {
    Operation {
        id: id.to_owned(),
        tag,
        summary: summary.to_owned(),
        description: "",
        parameters: Vec::new(),
        success: StatusCode::OK,
        content,
        headers: vec!["Cache-Control"],
        statuses: Vec::new(),
        links: Value::Null,
    }
}

/// The operations of the remaining paths, and the schemas of their bodies.
pub fn operations(schemas: &mut Schemas) -> Vec<(&'static str, Operation)> {
    for (name, make) in SCHEMAS {
        schemas.define(name, |_| make());
    }
    let text_content = |media_type: &str| json!({ media_type: { "schema": { "type": "string" } } });
    let html_page = |id: &str, tag, summary: &str| Operation {
        description: "The operator can disable this page.",
        headers: CACHE_HEADERS.to_vec(),
        statuses: vec![StatusCode::NOT_MODIFIED, StatusCode::NOT_FOUND],
        ..plain_operation(id, tag, summary, text_content("text/html"))
    };
    let document = json!({ "application/json": { "schema": { "type": "object" } } });
    vec![
        (
            "/graphql/schema",
            plain_operation(
                "graphql_schema",
                GRAPHQL_TAG,
                "The GraphQL schema, as SDL",
                text_content("text/plain"),
            ),
        ),
        ("/graphiql", html_page("graphiql", GRAPHQL_TAG, "A page to write GraphQL queries in")),
        (
            "/rate-limit",
            Operation {
                description: "The server never refuses this request and counts it towards no limit.",
                ..plain_operation(
                    "rate_limit",
                    SERVICE_TAG,
                    "The client's limits and remaining requests",
                    named_content("RateLimit"),
                )
            },
        ),
        (
            "/",
            Operation {
                description: "A client that names `text/html` in `Accept` and prefers it to JSON, as browsers \
                              do, gets 303 to `/browse`.",
                ..plain_operation(
                    "index",
                    SERVICE_TAG,
                    "The service, its snapshot and its paths",
                    named_content("Index"),
                )
            },
        ),
        (
            "/health",
            plain_operation(
                "health",
                SERVICE_TAG,
                "The health of the process",
                named_content("Health"),
            ),
        ),
        (
            "/ready",
            plain_operation(
                "ready",
                SERVICE_TAG,
                "Whether the server has a snapshot to serve",
                named_content("Ready"),
            ),
        ),
        (
            "/openapi.json",
            Operation {
                headers: CACHE_HEADERS.to_vec(),
                statuses: vec![StatusCode::NOT_MODIFIED],
                ..plain_operation("openapi", SERVICE_TAG, "This document", document)
            },
        ),
        ("/docs", html_page("docs", SERVICE_TAG, "This document as a page")),
        (
            "/browse",
            Operation {
                description: "The first of the pages for people, which lead to each other. The operator can \
                              disable them.",
                statuses: vec![StatusCode::NOT_FOUND],
                ..plain_operation(
                    "browse",
                    SERVICE_TAG,
                    "Pages for people, over the same data",
                    text_content("text/html"),
                )
            },
        ),
        (
            "/robots.txt",
            Operation {
                headers: CACHE_HEADERS.to_vec(),
                statuses: vec![StatusCode::NOT_MODIFIED],
                ..plain_operation(
                    "robots",
                    SERVICE_TAG,
                    "Rules for robots",
                    text_content("text/plain"),
                )
            },
        ),
    ]
}

/// The meaning of each issue that `/health` reports.
const TROUBLES: &str = "The current issues, the most serious first. `unavailable`: the server has no usable \
                        snapshot. `fallback`: `current` points at a damaged or refused snapshot, and the \
                        server serves another. `takedowns_refused`: the newest suppression list is \
                        invalid, and the previous list is in force. `stale`: the snapshot was pulled from \
                        a mirror and has expired.";

/// A schema's name, and the function that makes it.
type NamedSchema = (&'static str, fn() -> Value);

const SCHEMAS: [NamedSchema; 5] = [
    ("Index", index),
    ("Health", || {
        let names = HealthIssue::ALL.map(HealthIssue::name).to_vec();
        let states: Vec<&str> = ["ok"].into_iter().chain(names.iter().copied()).collect();
        let states = json!({ "type": "string", "enum": states });
        let troubles = json!({ "type": "array", "items": { "type": "string", "enum": names } });
        let mut health = object_of(
            "The health of the process.",
            [
                ("status", "`ok`, or the most serious issue.", states),
                ("troubles", TROUBLES, troubles),
                ("snapshot_id", SNAPSHOT_ID, text()),
                ("newest_updated_date", NEWEST, or_null(text())),
                ("data_licence", LICENCE, text()),
                ("expired", "When the snapshot expired; absent before.", text()),
            ],
        );
        health["required"] =
            json!(["status", "troubles", "snapshot_id", "newest_updated_date", "data_licence"]);
        health
    }),
    ("Ready", || {
        object_of(
            "The server has a snapshot to serve.",
            [
                ("status", "Always `ready`.", json!({ "type": "string", "const": "ready" })),
                ("snapshot_id", SNAPSHOT_ID, text()),
            ],
        )
    }),
    ("Quota", || {
        object_of(
            "A limit and its remaining requests.",
            [
                ("limit", "Requests in a window.", count()),
                ("remaining", "Requests left in this window.", count()),
                ("reset_seconds", "Seconds until the window ends.", count()),
            ],
        )
    }),
    ("RateLimit", || {
        let quota = || schema_at("Quota");
        let daily = object_of(
            "The limits of a day, by kind of request; null for a client without limits.",
            [
                ("list_filter", "Pages of lists.", quota()),
                ("search", "Pages of autocomplete.", quota()),
            ],
        );
        object_of(
            "The limits of a client and the remaining requests.",
            [
                ("ip", "The address of the client.", text()),
                (
                    "minute_rate_limit",
                    "The limit of a minute; null for a client without limits.",
                    or_null(quota()),
                ),
                ("daily_quota", "", or_null(daily)),
            ],
        )
    }),
];

fn index() -> Value {
    let counts: Map<String, Value> =
        CATALOG.iter().map(|facts| (facts.plural.into(), count())).collect();
    let mut index = object_of(
        "The service, its snapshot and its paths.",
        [
            (
                "service",
                "The name of the service.",
                json!({ "type": "string", "const": "pinakes" }),
            ),
            ("version", "The version of the server program.", text()),
            ("interface_version", "The version of the interface.", text()),
            ("snapshot_id", SNAPSHOT_ID, text()),
            ("newest_updated_date", NEWEST, or_null(text())),
            ("data_licence", LICENCE, text()),
            ("counts", "", object("Number of records of each entity.", counts)),
            ("suppressed", "Number of suppressed records; absent if there are none.", count()),
            (
                "selection",
                "The filters that chose the records of a subset; absent in a full snapshot.",
                json!({ "type": "object" }),
            ),
            (
                "links",
                "Paths of the service, by name.",
                json!({ "type": "object", "additionalProperties": { "type": "string" } }),
            ),
        ],
    );
    if let Some(names) = index["required"].as_array_mut() {
        names.retain(|name| name != "suppressed" && name != "selection");
    }
    index
}
