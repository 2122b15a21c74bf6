//! `/outputs/{id}/references` and `/outputs/{id}/citations`: the records that a record refers to, and that refer
//! to it, as lists.

use pinakes_format::entity::{Facts, IdFormat};
use pinakes_format::schema::{Direction, keys_of};
use pinakes_format::storage::ReadError;
use serde_json::Value;

use crate::define::charge::QuotaClass;
use crate::define::{Answer, Call, Charge, Endpoint, Lists, Planned, Planning, RoutePath};
use crate::list::query::ListRequest;
use crate::list::{page, parameters, query};
use crate::openapi::{CACHE_HEADERS, Document, Operation, RECORD_STATUSES, own_id, path_parameter};
use crate::record::single;
use crate::record::single::{CURRENT, NamedRecord};
use crate::reply::Reply;

const CHARGE: Charge = Charge::Daily(QuotaClass::List);

pub const REFERENCES: Endpoint = Endpoint {
    lists: Lists::Of(has_citations),
    describe: Some(|route, document| describe(Direction::References, route, document)),
    ..Endpoint::new("/{list}/{id}/references", CHARGE, |planning| {
        plan(Direction::References, planning)
    })
};

pub const CITATIONS: Endpoint = Endpoint {
    lists: Lists::Of(has_citations),
    describe: Some(|route, document| describe(Direction::Citations, route, document)),
    ..Endpoint::new("/{list}/{id}/citations", CHARGE, |planning| {
        plan(Direction::Citations, planning)
    })
};

fn has_citations(facts: &Facts) -> bool {
    keys_of(facts.entity).has_citations()
}

/// The directions in which records of an entity lead to others of the entity.
pub fn directions(facts: &Facts) -> impl Iterator<Item = Direction> {
    let has_citations = has_citations(facts);
    Direction::ALL.into_iter().filter(move |_| has_citations)
}

fn plan(direction: Direction, planning: &Planning<'_>) -> Result<Planned, Reply> {
    let (call, facts, segment) = (&planning.call, planning.facts(), planning.segment);
    let id = single::parse_id(&CURRENT, facts, planning.segment())?;
    let list = query::parse(facts.entity, call.query).map_err(Reply::bad_query)?;
    Ok(Planned::work(page::cost(&list, call), move |call| {
        let record = NamedRecord { facts, id, raw_id: segment.text_in(call.path) };
        answer(record, direction, &list, call)
    }))
}

fn answer(
    record: NamedRecord<'_>,
    direction: Direction,
    list: &ListRequest,
    call: &Call<'_>,
) -> Answer {
    let suffix = format!("/{}", direction.name());
    if let Err(reply) = single::find(&CURRENT, record, &suffix, call)? {
        return Ok(reply);
    }
    if let Some(reply) = call.not_modified() {
        return Ok(reply);
    }
    let mut list = list.clone();
    list.query.follow(direction, record.id);
    let name = format!("{}-{}", record.facts.entity.id_text(record.id), direction.name());
    page::answer(&list, &name, call)
}

fn describe(
    direction: Direction,
    route: &RoutePath,
    document: &mut Document<'_>,
) -> Result<Value, ReadError> {
    let facts = route.facts();
    let keys = keys_of(facts.entity);
    let sample = document.sample(facts.entity)?;
    let id = sample.id(&IdFormat::CURRENT, facts.entity).map(Value::from);
    let doc = format!("The identifier of the {}.", facts.singular);
    let mut parameters = vec![path_parameter("id", &doc, own_id(facts.entity), id)];
    parameters.extend(parameters::CURRENT.describe(keys, &sample));
    let summary = match direction {
        Direction::References => format!("The {} that a record refers to", facts.plural),
        Direction::Citations => format!("The {} that refer to a record", facts.plural),
    };
    let operation = Operation {
        tag: facts.plural,
        description: "A list like any other. References to records that the snapshot lacks are \
                      not listed; `references.count` counts them. The identifier of a record \
                      that was merged into another gets 301.",
        parameters,
        headers: CACHE_HEADERS.to_vec(),
        statuses: RECORD_STATUSES.to_vec(),
        ..Operation::new(
            format!("list_{}_of_{}", direction.name(), facts.singular),
            summary,
            page::content(facts, document),
        )
    };
    Ok(operation.into_path_item())
}
