//! Reduces a single record to its item in lists.

use serde_json::{Map, Value};

use crate::entity::Entity;
use crate::values::orcid_url;

/// Writes the record as lists show it.
pub fn in_list(entity: Entity, single: &Value) -> Value {
    let mut shown = single.clone();
    let Value::Object(members) = &mut shown else {
        return shown;
    };
    match entity {
        Entity::Outputs => {
            without(members, &["ids", "additional_venues", "abstract", "counts_by_year"]);
            if let Value::Array(authors) = &mut members["authors"] {
                for author in authors.iter_mut().filter_map(Value::as_object_mut) {
                    without(author, &["raw_affiliation_strings"]);
                }
            }
            if let Some(Value::Object(source)) = members["primary_venue"].get_mut("source") {
                without(source, &["metrics"]);
            }
            shown
        }
        Entity::Authors => {
            let orcid = orcid_url(&members["orcid"]["id"]);
            members.insert("orcid".to_owned(), orcid);
            plain_topics(members);
            without(
                members,
                &["affiliations", "summary_stats", "counts_by_year", "display_name_alternatives"],
            );
            shown
        }
        Entity::Sources => {
            plain_topics(members);
            let prices = price_object(&members["apc_usd_by_year"]);
            members.insert("apc_usd_by_year".to_owned(), prices);
            let member = |key: &str| (key.to_owned(), members[key].clone());
            Value::Object(SOURCE_LIST_MEMBERS.into_iter().map(member).collect())
        }
        Entity::Institutions => {
            plain_topics(members);
            without(
                members,
                &["ids", "associated_institutions", "repositories", "roles", "international"],
            );
            shown
        }
        Entity::Publishers | Entity::Funders => {
            without(members, &["ids", "roles"]);
            shown
        }
        Entity::Topics | Entity::Domains | Entity::Fields | Entity::Subfields => shown,
    }
}

const SOURCE_LIST_MEMBERS: [&str; 33] = [
    "id",
    "issn_l",
    "issn",
    "name",
    "host_organization_name",
    "outputs_count",
    "oa_outputs_count",
    "cited_by_count",
    "summary_stats",
    "is_oa",
    "is_in_doaj",
    "is_in_doaj_since_year",
    "is_high_oa_rate",
    "is_high_oa_rate_since_year",
    "is_in_scielo",
    "is_ojs",
    "is_preprint_repository",
    "is_core",
    "oa_flip_year",
    "first_publication_year",
    "last_publication_year",
    "homepage_url",
    "apc_prices",
    "apc_usd",
    "apc_usd_by_year",
    "country",
    "societies",
    "alternate_titles",
    "type",
    "counts_by_year",
    "updated_date",
    "created_date",
    "topics",
];

/// Writes the single record's list of {year, price} as an object year → price.
fn price_object(prices: &Value) -> Value {
    let Value::Array(prices) = prices else {
        return Value::Null;
    };
    let known = prices.iter().filter(|price| !price["year"].is_null());
    Value::Object(known.map(|price| (price["year"].to_string(), price["price"].clone())).collect())
}

fn without(members: &mut Map<String, Value>, gone: &[&str]) {
    members.retain(|key, _| !gone.contains(&key.as_str()));
}

/// Reduces topics to {id, name}.
fn plain_topics(members: &mut Map<String, Value>) {
    if let Value::Array(topics) = &mut members["topics"] {
        for topic in topics.iter_mut().filter_map(Value::as_object_mut) {
            without(topic, &["count", "share"]);
        }
    }
}
