//! `POST /outputs/search`: the list with its parameters in a form, for queries that no URL holds.

use pinakes_format::entity::{Entity, Facts};
use pinakes_format::schema::keys_of;
use pinakes_format::storage::ReadError;
use serde_json::{Map, Value, json};

use crate::define::charge::QuotaClass;
use crate::define::{Answer, Call, Charge, Cost, Endpoint, Lists, Planned, Planning, RoutePath};
use crate::list::{page, parameters, query};
use crate::openapi::Document;
use crate::openapi::operation::PostOperation;
use crate::reply::{Detail, Reply};
use crate::request::POST_METHODS;
use crate::request::body::{BODY_BYTES_MAX, FORM, refuse_headers};

pub const SEARCH: Endpoint = Endpoint {
    lists: Lists::Of(has_full_text),
    methods: POST_METHODS,
    describe: Some(describe),
    ..Endpoint::new("/{list}/search", Charge::Daily(QuotaClass::List), plan)
};

fn has_full_text(facts: &Facts) -> bool {
    keys_of(facts.entity).has_full_text()
}

fn plan(planning: &Planning<'_>) -> Result<Planned, Reply> {
    let (call, facts) = (&planning.call, planning.facts());
    if let Some(refusal) = refuse_headers(call.headers, &[FORM]) {
        return Err(refusal);
    }
    if !call.query.is_empty() {
        let reason = "stands in the URL; this path takes parameters in its body alone";
        return Err(Reply::bad_query(vec![Detail::new("query", call.query, reason)]));
    }
    let (entity, name) = (facts.entity, facts.plural);
    Ok(Planned::work(Cost::Large, move |call| answer(entity, name, call)))
}

fn answer(entity: Entity, name: &str, call: &Call<'_>) -> Answer {
    // Every POST to this path has a body, possibly empty.
    let Some(posted) = call.posted else { return Ok(Reply::internal()) };
    let Ok(form) = std::str::from_utf8(posted.text) else {
        let reason = "is no UTF-8; write other bytes percent-encoded";
        return Ok(Reply::bad_query(vec![Detail::new("body", "", reason)]));
    };
    let list = match query::parse(entity, form.trim_end_matches(['\r', '\n'])) {
        Ok(list) => list,
        Err(details) => return Ok(Reply::bad_query(details)),
    };
    Ok(page::answer(&list, name, call)?.uncached())
}

fn describe(route: &RoutePath, document: &mut Document<'_>) -> Result<Value, ReadError> {
    let facts = route.facts();
    let keys = keys_of(facts.entity);
    let sample = document.sample(facts.entity)?;
    let mut fields = Map::new();
    for parameter in parameters::CURRENT.describe(keys, &sample) {
        let mut field = Map::new();
        field.insert("description".into(), parameter["description"].clone());
        field.extend(parameter["schema"].as_object().cloned().unwrap_or_default());
        fields.insert(parameter["name"].as_str().unwrap_or_default().into(), field.into());
    }
    let form = json!({ "type": "object", "properties": fields, "additionalProperties": false });
    let example = json!({ "value": { "search": "\"open access\" OR review" } });
    let post = PostOperation {
        id: format!("search_{}", facts.plural),
        tag: facts.plural,
        summary: format!("A page of the list of {}, with its parameters in a form", facts.plural),
        description: format!(
            "Takes queries that no URL holds. A body has at most {BODY_BYTES_MAX} bytes. It counts as a list."
        ),
        request: json!({ FORM: { "schema": form, "examples": { "search": example } } }),
        content: page::content(facts, document),
    };
    Ok(post.into_path_item())
}
