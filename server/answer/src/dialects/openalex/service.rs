//! `/openalex` itself: the lists, and the names of their keys and members.

use pinakes_format::query::Grouping;
use pinakes_format::schema::keys::keys_of_openalex;
use serde_json::{Map, Value, json};

use crate::define::plan::{Planned, Planning};
use crate::dialects::openalex::errors::refuse_absent;
use crate::dialects::openalex::members::members;
use crate::dialects::openalex::names::{LISTS, List};
use crate::reply::Reply;

pub fn plan(planning: &Planning<'_>) -> Result<Planned, Reply> {
    let call = &planning.call;
    refuse_absent(call)?;
    let lists: Map<String, Value> =
        LISTS.iter().map(|list| (list.name().to_owned(), describe(list))).collect();
    let snapshot = &call.snapshot.manifest().id;
    let tables = json!({ "snapshot": snapshot, "guide": "/docs/API.md", "lists": lists });
    Ok(Planned::Reply(Reply::json(tables.to_string())))
}

/// The names that a list takes, each with the key of the interface that it stands for.
fn describe(list: &'static List) -> Value {
    let keys = keys_of_openalex(list.entity);
    let named = |keys: &mut dyn Iterator<Item = &'static str>| -> Map<String, Value> {
        keys.flat_map(|key| list.names(key).into_iter().map(move |name| (name, key)))
            .map(|(name, key)| (name.to_owned(), key.into()))
            .collect()
    };
    let refused: Map<String, Value> =
        list.refusals().map(|(name, reason)| (name.to_owned(), reason.into())).collect();
    let shown: Vec<&str> = members(list.entity).iter().map(|member| member.name).collect();
    json!({
        "filter": (named(&mut keys.filters())),
        "sort": (named(&mut keys.sorts())),
        "group_by": (named(&mut Grouping::key_names(keys))),
        "select": shown,
        "refused": refused,
    })
}
