//! The endpoints about the service itself: `/`, `/health`, `/ready`, `/rate-limit`, `/robots.txt` and `/llms.txt`.

use std::net::IpAddr;

use chrono::{DateTime, Utc};
use http::StatusCode;
use pinakes_format::entity::CATALOG;
use pinakes_format::snapshot::Snapshot;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::define::served::ServedSnapshot;
use crate::define::{Call, Caller, Charge, Endpoint, HealthIssue, Planned, Quota, Quotas};
use crate::openapi::{
    CACHE_HEADERS, INTERFACE_VERSION, Operation, add_optional, count, named_content, object,
    object_of, or_null, schema_at, text, text_content,
};
use crate::pages;
use crate::reply::Reply;

pub const INDEX: Endpoint = Endpoint {
    describe: Some(|_, document| {
        let operation = Operation {
            description: "A client that names `text/html` in `Accept` and prefers it to JSON, as browsers \
                          do, gets 303 to `/browse`.",
            ..Operation::new(
                "index",
                "The service, its snapshot and its paths",
                named_content("Index"),
            )
        };
        document.schemas.define("Index", |_| describe_index());
        Ok(operation.into_path_item())
    }),
    ..Endpoint::new("/", Charge::Free, |planning| {
        let call = &planning.call;
        let is_for_people = call.settings.has_browse && pages::is_for_people(call.headers);
        Ok(Planned::Reply(if is_for_people { pages::redirect() } else { index(call) }))
    })
};

pub const HEALTH: Endpoint = Endpoint {
    needs_snapshot: false,
    describe: Some(|_, document| {
        document.schemas.define("Health", |_| describe_health());
        let content = named_content("Health");
        Ok(Operation::new("health", "The health of the process", content).into_path_item())
    }),
    ..Endpoint::new("/health", Charge::Free, |planning| {
        let call = &planning.call;
        Ok(Planned::Reply(health(call)))
    })
};

pub const READY: Endpoint = Endpoint {
    describe: Some(|_, document| {
        document.schemas.define("Ready", |_| {
            let ready = json!({ "type": "string", "const": "ready" });
            object_of(
                "The server has a snapshot to serve.",
                [("status", "Always `ready`.", ready), ("snapshot_id", SNAPSHOT_ID, text())],
            )
        });
        let summary = "Whether the server has a snapshot to serve";
        Ok(Operation::new("ready", summary, named_content("Ready")).into_path_item())
    }),
    ..Endpoint::new("/ready", Charge::Free, |planning| {
        Ok(Planned::Reply(ready(planning.call.snapshot)))
    })
};

pub const RATE_LIMIT: Endpoint = Endpoint {
    needs_snapshot: false,
    describe: Some(|_, document| {
        document.schemas.define("Quota", |_| describe_quota());
        document.schemas.define("RateLimit", |_| describe_rate_limit());
        let operation = Operation {
            description: "The server never refuses this request and counts it towards no limit.",
            ..Operation::new(
                "rate_limit",
                "The client's limits and remaining requests",
                named_content("RateLimit"),
            )
        };
        Ok(operation.into_path_item())
    }),
    ..Endpoint::new("/rate-limit", Charge::None, |planning| {
        Ok(Planned::Reply(rate_limit(planning.call.caller)))
    })
};

pub const ROBOTS: Endpoint = Endpoint {
    describe: Some(|_, _| {
        let content = text_content("text/plain");
        Ok(Operation::new("robots", "Rules for robots", content).into_path_item())
    }),
    ..Endpoint::new("/robots.txt", Charge::Free, |planning| {
        Ok(Planned::Reply(pages::robots(&planning.call)))
    })
};

pub const LLMS: Endpoint = Endpoint {
    describe: Some(|_, _| {
        let operation = Operation {
            headers: CACHE_HEADERS.to_vec(),
            statuses: vec![StatusCode::NOT_MODIFIED],
            ..Operation::new(
                "llms",
                "How to ask the service, for language models",
                text_content("text/plain"),
            )
        };
        Ok(operation.into_path_item())
    }),
    ..Endpoint::new("/llms.txt", Charge::Free, |planning| {
        Ok(Planned::Reply(pages::llms_text(planning.call.headers)))
    })
};

/// Links of `/`, besides the lists.
const LINKS: [(&str, &str); 6] = [
    ("autocomplete", "/autocomplete?query="),
    ("resolve", "/resolve/"),
    ("graphql", "/graphql/schema"),
    ("rate-limit", "/rate-limit"),
    ("openapi", "/openapi.json"),
    ("docs", "/docs"),
];

fn momentary(value: &Value) -> Reply {
    Reply::momentary_json(value.to_string())
}

/// `/`: the service, its snapshot, the filters of a subset, and links.
fn index(call: &Call<'_>) -> Reply {
    let (snapshot, manifest) = (call.snapshot, call.snapshot.manifest());
    let counts: Map<String, Value> = CATALOG
        .iter()
        .map(|facts| (facts.plural.to_owned(), snapshot.visible_count(facts.entity).into()))
        .collect();
    let lists = CATALOG.iter().map(|facts| (facts.plural, format!("/{}", facts.route)));
    let links: Map<String, Value> = lists
        .chain(LINKS.map(|(name, path)| (name, path.to_owned())))
        .map(|(name, path)| (name.to_owned(), path.into()))
        .collect();
    let mut index = json!({
        "service": "pinakes",
        "version": env!("CARGO_PKG_VERSION"),
        "interface_version": INTERFACE_VERSION,
        "snapshot_id": manifest.id,
        "newest_updated_date": manifest.source.newest_updated_date,
        "data_licence": call.served.freshness.licence(call.settings.data_licence()),
        "counts": counts,
        "links": links,
    });
    if let Some(selection) = &manifest.selection {
        index["selection"] = json!(selection.filters);
    }
    // Only the number: a list of names would disclose the suppressed records.
    let suppressed =
        manifest.suppressed.values().sum::<u64>() + snapshot.suppressed().records() as u64;
    if suppressed > 0 {
        index["suppressed"] = suppressed.into();
    }
    momentary(&index)
}

/// `/health`: the snapshot and the current issues; the most serious issue is the status.
fn health(call: &Call<'_>) -> Reply {
    let served = call.served;
    health_of(
        served,
        &call.host.issues(served),
        call.host.clock().now(),
        call.settings.data_licence(),
    )
}

/// The body of `/health`, also of a host's own address for operators.
pub fn health_of(
    served: &ServedSnapshot,
    issues: &[HealthIssue],
    now: DateTime<Utc>,
    data_licence: Option<&str>,
) -> Reply {
    let manifest = served.snapshot.manifest();
    let issues: Vec<&str> = issues.iter().map(|issue| issue.name()).collect();
    let mut health = json!({
        "status": issues.first().unwrap_or(&"ok"),
        "troubles": issues,
        "snapshot_id": manifest.id,
        "newest_updated_date": manifest.source.newest_updated_date,
        "data_licence": served.freshness.licence(data_licence),
    });
    if let Some(expired) = served.freshness.expired_at(now) {
        health["expired"] = expired.into();
    }
    momentary(&health)
}

/// `/ready`: the server has a snapshot to serve.
pub fn ready(snapshot: &Snapshot) -> Reply {
    momentary(&json!({ "status": "ready", "snapshot_id": snapshot.manifest().id }))
}

/// `/rate-limit`: the client's use of the limits; null for a client without limits.
fn rate_limit(caller: &Caller) -> Reply {
    let status = RateLimit {
        ip: caller.address,
        minute_rate_limit: caller.quotas.map(|quotas| quotas.minute.into()),
        daily_quota: caller.quotas.map(|Quotas { daily: [list, search, _], .. }| DailyQuotaJson {
            list_filter: list.into(),
            search: search.into(),
        }),
    };
    // Serializing strings and numbers cannot fail.
    Reply::momentary_json(serde_json::to_vec(&status).unwrap_or_default())
}

/// The body of `/rate-limit`.
#[derive(Serialize)]
struct RateLimit {
    ip: IpAddr,
    minute_rate_limit: Option<QuotaJson>,
    daily_quota: Option<DailyQuotaJson>,
}

#[derive(Serialize)]
struct DailyQuotaJson {
    list_filter: QuotaJson,
    search: QuotaJson,
}

#[derive(Serialize)]
struct QuotaJson {
    limit: u32,
    remaining: u32,
    reset_seconds: u64,
}

impl From<Quota> for QuotaJson {
    fn from(quota: Quota) -> QuotaJson {
        QuotaJson {
            limit: quota.limit,
            remaining: quota.remaining,
            reset_seconds: quota.reset_seconds(),
        }
    }
}

/// Descriptions of members that `/` and `/health` share.
const SNAPSHOT_ID: &str = "The id of the served snapshot.";
const NEWEST: &str = "When the newest record changed.";
const LICENCE: &str = "The licence of the data, as the operator states it.";

/// The meaning of each issue that `/health` reports.
const TROUBLES: &str = "The current issues, the most serious first. `unavailable`: the server has no usable \
                        snapshot. `fallback`: `current` points at a damaged or refused snapshot, and the \
                        server serves another. `takedowns_refused`: the newest suppression list is \
                        invalid, and the previous list is in force. `disk_damaged`: bytes on the disk \
                        were damaged, and were fetched from a mirror and written again. `disk_refused`: what \
                        a mirror sent could not be written. `mirror_away`: no mirror sends what is not \
                        here. `mirror_damaged`: a mirror sends wrong bytes of some chunks, which are not \
                        written. `publication_refused`: the last look for a newer publication failed, or \
                        the newer snapshot cannot be opened. `stale`: the snapshot was pulled from \
                        a mirror and has expired. `counters_away`: the store of the limits of a fleet does \
                        not answer, and the server counts alone. `clock_jumped`: the system's clock \
                        jumped within the last hour.";

fn describe_health() -> Value {
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
        ],
    );
    let expired = ("expired", "When the snapshot expired; absent before.", text());
    add_optional(&mut health, [expired]);
    health
}

fn describe_quota() -> Value {
    object_of(
        "A limit and its remaining requests.",
        [
            ("limit", "Requests in a window.", count()),
            ("remaining", "Requests left in this window.", count()),
            ("reset_seconds", "Seconds until the window ends.", count()),
        ],
    )
}

fn describe_rate_limit() -> Value {
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
}

fn describe_index() -> Value {
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
