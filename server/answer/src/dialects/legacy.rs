//! The legacy variant of topics and domains, under `/legacy`: bare arrays, with totals in headers.
//!
//! Legacy lists run the same [`Query`] as current lists. [`pinakes_format::record::legacy`] has the legacy
//! names of members, and [`DIALECT`] the legacy parameters.

use percent_encoding::utf8_percent_encode;
use pinakes_format::entity::IdFormat;
use pinakes_format::json::render::Shape;
use pinakes_format::query::{
    GroupValue, Grouping, Groups, PAGE_SIZE_DEFAULT, ParamError, Query, ResultKind,
};
use pinakes_format::record::{LegacyEntity, legacy};
use pinakes_format::schema::keys_of_legacy;
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::ReadError;
use pinakes_format::text::json;
use serde_json::{Value, json};

use crate::define::charge::QuotaClass;
use crate::define::{
    Answer, Call, Charge, Cost, Endpoint, Lists, Planned, Planning, Reader, RoutePath,
};
use crate::list::groups::count_groups;
use crate::list::parameters::{Described, Dialect, Parameter, Parse};
use crate::list::rows::PageRows;
use crate::list::{page, parameters, query};
use crate::openapi::{
    CACHE_HEADERS, Document, LEGACY_TAG, LIST_STATUSES, Operation, RECORD_STATUSES, Sample, count,
    json_content, legacy_id, object_of, or_null, path_parameter, text,
};
use crate::record::single;
use crate::record::single::Variant;
use crate::reply::{Body, Detail, Reply};
use crate::request::parameters::{is_named, query_pairs};
use crate::request::path::OUTSIDE_URI;

pub const LIST: Endpoint = Endpoint {
    lists: Lists::Legacy,
    errors: without_reset,
    describe: Some(describe_list),
    ..Endpoint::new("/{list}", Charge::Daily(QuotaClass::List), plan)
};

pub const RECORD: Endpoint = Endpoint {
    lists: Lists::Legacy,
    describe: Some(describe_record),
    ..Endpoint::new("/{list}/{id}", Charge::Minute, |planning| single::plan(&VARIANT, planning))
};

/// The paths, identifiers and shapes of legacy records.
pub const VARIANT: Variant =
    Variant { root: "/legacy", spelling: IdFormat::LEGACY, render: Snapshot::render_legacy };

/// Largest number of records on a page.
pub const PAGE_ROWS_MAX: u32 = 200;
/// The values of `sort`, and the current sort that each stands for.
pub const SORTS: [(&str, &str); 2] = [("1", "outputs:asc"), ("-1", "outputs:desc")];

/// The parameters of legacy lists.
const DIALECT: Dialect = Dialect {
    parameters: &[&parameters::PAGE, &PER_PAGE, &parameters::FILTER, &SORT, &GROUP_BY],
    foreign: &[("search", "use `filter=name.search:…`"), ("q", "use `filter=name.search:…`")],
};

/// The number of records on a page.
static PER_PAGE: Parameter = Parameter {
    parse: Parse::Whole(|draft, value| {
        draft.query.per_page = parse_per_page(value)?;
        Ok(())
    }),
    describe: |keys, sample| {
        let schema = json!({
            "type": "integer",
            "minimum": 1,
            "maximum": PAGE_ROWS_MAX,
            "default": PAGE_SIZE_DEFAULT,
        });
        Described { schema, ..(parameters::PER_PAGE.describe)(keys, sample) }
    },
    ..parameters::PER_PAGE
};

/// The direction of the order.
static SORT: Parameter = Parameter {
    parse: Parse::Parts(|draft, value| parse_sort(&mut draft.query, value)),
    describe: |_, _| {
        let numbers = SORTS.iter().filter_map(|(name, _)| name.parse::<i64>().ok());
        let numbers: Vec<Value> = numbers.map(Value::from).collect();
        let doc = "`1` sorts by outputs, ascending; `-1` descending, the default.";
        Described::new(doc, json!({ "type": "integer", "enum": numbers }))
    },
    ..parameters::SORT
};

/// The member by which groups are counted.
static GROUP_BY: Parameter = Parameter {
    names: &["group_by"],
    parse: Parse::Parts(|draft, value| draft.query.set_legacy_group_by(value)),
    describe: |keys, _| {
        let doc = "Groups the matching records by a member and counts each group, instead of \
                   listing records. At most 200 groups, the largest first.";
        let names: Vec<&str> = Grouping::key_names(keys).collect();
        Described::new(doc, json!({ "type": "string", "enum": names }))
    },
    ..parameters::GROUP_BY
};

/// Parses the text after the `?` of a legacy list's URL.
///
/// # Errors
///
/// The invalid parameters, at most ten.
pub fn parse(variant: &LegacyEntity, raw: &str) -> Result<Query, Vec<Detail>> {
    query::parse_pairs(Query::legacy(variant), &DIALECT, query_pairs(raw))
}

/// The reply 429 to a request beyond the minute has a shorter message than that of other lists, without the times.
fn without_reset(mut reply: Reply, _: &Reader<'_>) -> Reply {
    if let Body::Message(message) = &mut reply.body
        && let Some(limit) = message.reset.as_ref().and_then(|reset| reset.minute_limit)
    {
        message.text = format!("Rate limit exceeded. Maximum {limit} requests per minute.");
        message.reset = None;
    }
    reply
}

fn plan(planning: &Planning<'_>) -> Result<Planned, Reply> {
    let (call, legacy) = (&planning.call, planning.path.legacy());
    let query = parse(legacy, call.query).map_err(Reply::bad_query)?;
    Ok(Planned::unless_current(call, Cost::Large, move |call| answer(legacy, &query, call)))
}

/// Answers a page of a list, or the groups of a list.
fn answer(legacy: &LegacyEntity, query: &Query, call: &Call<'_>) -> Answer {
    if let ResultKind::Groups(grouping) = &query.result_kind {
        let groups = count_groups(query, grouping, call)?;
        return Ok(render_groups(&groups, call.snapshot)?.counting(groups.total, ""));
    }
    let begun = call.now();
    let found = call.limits().run(|deadline| query.execute(call.snapshot, deadline))?;
    let micros = call.micros_since(begun);
    tracing::debug!(micros, plan = ?found.plan.to_string(), "list answered");
    let links = links(legacy.route, call.query, query, found.count);
    let rows = PageRows::new(&VARIANT, query.entity, found.rows, b"]");
    Ok(page::render(rows, b"[", call)?.counting(found.count, &links))
}

/// Renders the largest groups as one page; the total counts all groups.
fn render_groups(groups: &Groups, snapshot: &Snapshot) -> Result<Reply, ReadError> {
    let mut out = Vec::new();
    json::try_list(&mut out, &groups.page, |group, out| {
        let [GroupValue::Record { entity, id, row }] = group.values[..] else {
            return Err(ReadError::Internal("a legacy list is grouped by a member without ids"));
        };
        out.extend_from_slice(b"{\"key\":");
        legacy::write_id(entity, id, out);
        out.extend_from_slice(b",\"key_display_name\":");
        json::string_or_null(out, snapshot.row_name(entity, row)?);
        out.extend_from_slice(b",\"count\":");
        json::unsigned(out, group.count);
        out.push(b'}');
        Ok(())
    })?;
    Ok(Reply::json(out))
}

/// The `Link` header: the next and the previous page. Past the end, the previous page is the last page.
fn links(route: &str, raw: &str, query: &Query, count: u64) -> String {
    let page = u64::from(query.page.get());
    let last = count.div_ceil(u64::from(query.per_page)).max(1);
    let before = (page > 1).then(|| ((page - 1).min(last), "prev"));
    let after = (page < last).then_some((page + 1, "next"));
    let other_parameters: String = raw
        .split('&')
        .filter(|pair| !pair.is_empty() && !is_named(pair, "page"))
        .map(|pair| format!("&{}", utf8_percent_encode(pair, OUTSIDE_URI)))
        .collect();
    let link =
        |(page, relation)| format!("</{route}?page={page}{other_parameters}>; rel=\"{relation}\"");
    after.into_iter().chain(before).map(link).collect::<Vec<_>>().join(", ")
}

fn parse_per_page(value: &str) -> Result<u32, String> {
    let size = value.parse().ok().filter(|size| (1..=PAGE_ROWS_MAX).contains(size));
    let size = size.filter(|size: &u32| size.to_string() == value);
    size.ok_or_else(|| format!("must be a whole number from 1 to {PAGE_ROWS_MAX}"))
}

fn parse_sort(query: &mut Query, text: &str) -> Result<(), Vec<ParamError>> {
    match SORTS.iter().find(|(name, _)| *name == text) {
        Some((_, sort)) => query.set_sort(sort),
        None => {
            let reason = "must be `1`, ascending by outputs, or `-1`, descending";
            Err(vec![ParamError::new(text, reason)])
        }
    }
}

fn describe_list(route: &RoutePath, document: &mut Document<'_>) -> Result<Value, ReadError> {
    let legacy = route.legacy();
    let facts = legacy.entity.facts();
    let keys = keys_of_legacy(legacy);
    let sample = Sample::read(document.snapshot, legacy.entity, keys)?;
    let record = document.schemas.legacy_record(legacy, Shape::List);
    let group = document.schemas.define("OlderGroup", |_| {
        object_of(
            "The matching records that refer to one record.",
            [
                ("key", "The identifier of the record that the group refers to.", text()),
                ("key_display_name", "The name of that record.", or_null(text())),
                ("count", "Number of records in the group.", count()),
            ],
        )
    });
    let rows = json!({ "type": "array", "items": record });
    let groups = json!({ "type": "array", "items": group });
    let first = json!({
        "operationId": (format!("get_older_{}", facts.singular)),
        "parameters": { "older_id": "$response.body#/0/id" },
        "description": "The first record of the page.",
    });
    let operation = Operation {
        tag: LEGACY_TAG,
        description: "With `group_by` the array holds groups instead of records, all on one page.",
        parameters: DIALECT.describe(keys, &sample),
        headers: [&CACHE_HEADERS[..], &["X-Total-Count", "Link"]].concat(),
        statuses: LIST_STATUSES.to_vec(),
        links: json!({ "first": first }),
        ..Operation::new(
            format!("list_older_{}", facts.plural),
            format!("A page of the list of {}, as a bare array", facts.plural),
            json_content(json!({ "anyOf": [groups, rows] })),
        )
    };
    Ok(operation.into_path_item())
}

fn describe_record(route: &RoutePath, document: &mut Document<'_>) -> Result<Value, ReadError> {
    let legacy = route.legacy();
    let facts = legacy.entity.facts();
    let sample = Sample::read(document.snapshot, legacy.entity, keys_of_legacy(legacy))?;
    let record = document.schemas.legacy_record(legacy, Shape::Single);
    let doc = format!("The identifier of the {}.", facts.singular);
    let example = sample.id(&IdFormat::LEGACY, legacy.entity).map(Value::from);
    let operation = Operation {
        tag: LEGACY_TAG,
        parameters: vec![path_parameter("older_id", &doc, legacy_id(legacy.entity), example)],
        headers: CACHE_HEADERS.to_vec(),
        statuses: RECORD_STATUSES.to_vec(),
        ..Operation::new(
            format!("get_older_{}", facts.singular),
            format!("The {} with an identifier", facts.singular),
            json_content(record),
        )
    };
    Ok(operation.into_path_item())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use pinakes_format::record::legacy::LEGACY;

    use super::*;

    fn parsed(raw: &str) -> Option<Query> {
        parse(&LEGACY[0], raw).ok()
    }

    #[test]
    fn a_page_has_one_to_two_hundred_records() {
        let check = |raw: &str, expected: Option<u32>| {
            assert_eq!(parsed(raw).map(|query| query.per_page), expected, "{raw}");
        };
        check("", Some(25));
        check("per_page=1", Some(1));
        check("per-page=200", Some(200));
        for wrong in ["0", "201", "025", "+25", "25.0", "-1", "", "4294967297", "２５"] {
            check(&format!("per_page={wrong}"), None);
        }
    }

    #[test]
    fn a_sort_ascends_or_descends() {
        let check = |raw: &str, expected: Option<Option<bool>>| {
            let found = parsed(raw).map(|query| query.sort.first().map(|key| key.is_descending));
            assert_eq!(found, expected, "{raw}");
        };
        check("", Some(None));
        check("sort=1", Some(Some(false)));
        check("sort=-1", Some(Some(true)));
        for wrong in ["", "0", "2", "-2", "+1", "%2B1", "01", "1.0", "outputs:desc", "1,-1"] {
            check(&format!("sort={wrong}"), None);
        }
    }

    #[test]
    fn links_lead_to_the_adjacent_pages_and_keep_the_other_parameters() {
        let check = |raw: &str, count: u64, expected: &str| {
            assert_eq!(
                links("legacy/topics", raw, &parsed(raw).unwrap(), count),
                expected,
                "{raw}"
            );
        };
        let next = |target: &str| format!("</legacy/topics?{target}>; rel=\"next\"");
        let prev = |target: &str| format!("</legacy/topics?{target}>; rel=\"prev\"");
        check("", 0, "");
        check("", 25, "");
        check("", 26, &next("page=2"));
        check("page=2", 26, &prev("page=1"));
        check("page=2", 51, &format!("{}, {}", next("page=3"), prev("page=1")));
        check("page=9", 26, &prev("page=2"));
        check("p%61ge=9", 0, &prev("page=1"));
        let kept = "per_page=1&filter=name:a%20b";
        check(&format!("&{kept}&page=1&"), 2, &next(&format!("page=2&{kept}")));
        let contact = "mailto=a%40b&api_key=k";
        check(contact, 26, &next(&format!("page=2&{contact}")));
        check("filter=name:\"é\"", 26, &next("page=2&filter=name:%22%C3%A9%22"));
        check("page=2147483647&per_page=200", 1, &prev("page=1&per_page=200"));
    }
}
