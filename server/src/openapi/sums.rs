//! The schemas of groups and statistics.

use pinakes_format::entity::Facts;
use pinakes_format::query::StatisticsKeys;
use pinakes_format::schema::keys::keys_of;
use serde_json::{Map, Value, json};

use crate::openapi::operation::page_meta;
use crate::openapi::schemas::{Schemas, described, object, or_null};
use crate::openapi::service::{count, object_of, text};

/// A page of the groups of a list.
pub fn group_page(schemas: &mut Schemas) -> Value {
    schemas.define("GroupPage", |schemas| {
        let meta = schemas
            .define("GroupPageMeta", |_| page_meta(&["count", "groups_count", "page", "per_page"]));
        let group = schemas.define("Group", |_| group());
        let mut members = Map::new();
        members.insert("meta".into(), meta);
        members.insert(
            "results".into(),
            json!({ "description": "Empty.", "type": "array", "maxItems": 0, "items": {} }),
        );
        members.insert("group_by".into(), json!({ "type": "array", "items": group }));
        object("A page of the groups of a list.", members)
    })
}

fn group() -> Value {
    let value = json!({ "type": ["string", "integer", "boolean", "null"] });
    let name = || or_null(text());
    let mut group = object_of(
        "The matching records with the same values.",
        [
            ("key", "The value, as records show it; null of records without.", value.clone()),
            ("key_display_name", "The name of the value.", name()),
            ("count", "Number of records in the group.", count()),
        ],
    );
    if let Some(members) = group["properties"].as_object_mut() {
        let doc = "The value of the second key.";
        members.insert("key2".into(), described(doc, value));
        let doc = "The name of the second value.";
        members.insert("key2_display_name".into(), described(doc, name()));
    }
    group
}

/// The statistics of an entity's list.
pub fn statistics(facts: &Facts, schemas: &mut Schemas) -> Value {
    let of_key = schemas.define("KeyStatistics", |_| key_statistics());
    let keys = keys_of(facts.entity);
    let of: Map<String, Value> =
        StatisticsKeys::names(keys).map(|name| (name.into(), of_key.clone())).collect();
    let of = json!({
        "description": "The statistics of each key of `of`.",
        "type": "object",
        "properties": of,
        "additionalProperties": false,
    });
    let mut members = Map::new();
    members.insert("count".into(), described("Exact number of matching records.", count()));
    members.insert("of".into(), of);
    if keys.has_citations() {
        let indexes = [
            ("h_index", "The greatest h such that h records have at least h citations each."),
            ("i10_index", "Records with at least ten citations."),
            (
                "g_index",
                "The greatest g such that the g most cited records have at least g² citations together.",
            ),
        ];
        for (name, doc) in indexes {
            members.insert(name.into(), described(doc, count()));
        }
        let status = object_of(
            "The records of one status of open access.",
            [
                ("oa_status", "The status.", or_null(text())),
                ("count", "Number of records.", count()),
                (
                    "share",
                    "Their share of all matching records.",
                    json!({ "type": "number", "minimum": 0, "maximum": 1 }),
                ),
            ],
        );
        let year = object_of(
            "The records of one year.",
            [
                ("year", "The year.", or_null(json!({ "type": "integer" }))),
                ("count", "Number of records.", count()),
            ],
        );
        members.insert("open_access".into(), json!({ "type": "array", "items": status }));
        members.insert("by_year".into(), json!({ "type": "array", "items": year }));
    }
    object("Statistics of the matching records.", members)
}

fn key_statistics() -> Value {
    let number = || json!({ "type": ["number", "null"] });
    object_of(
        "Statistics of the values of one key; null where no record has a value.",
        [
            ("count", "Records with a value.", count()),
            ("null", "Records without a value, which have no part in the rest.", count()),
            ("sum", "The sum of the values.", number()),
            ("mean", "The sum divided by the number of values.", number()),
            ("min", "The least value.", number()),
            ("max", "The greatest value.", number()),
            (
                "quartiles",
                "The first quartile, the median and the third quartile, interpolated.",
                json!({ "type": "array", "items": (number()), "minItems": 3, "maxItems": 3 }),
            ),
            ("p90", "The 90th percentile, interpolated.", number()),
            ("p99", "The 99th percentile, interpolated.", number()),
        ],
    )
}
