//! `/reconcile`: the Reconciliation Service API 0.2 of the W3C community group, for OpenRefine and its clones.
//!
//! ```text
//! GET /reconcile                     the manifest: types, and where the rest is
//! queries={"q0":{"query":…}}         batch.rs: up to 50 texts, each matched as by /match/{list}
//! extend={"ids":[…],"properties":…}  extend.rs: members of records
//! /reconcile/suggest/…               suggest.rs: entities, types and properties for typed text
//! /reconcile/preview?id=…            preview.rs: a small page of a record
//! /openapi.json                      describe.rs: the operations in the document
//! ```
//!
//! A type is the path of a list, such as `outputs`; a property is a member that `select` takes, such as `authors.name`.

mod batch;
mod describe;
mod extend;
mod preview;
mod suggest;

use http::Method;
use pinakes_format::entity::{CATALOG, Entity, Facts};
use pinakes_format::matching::Question;
use pinakes_format::snapshot::{LookupResult, Snapshot};
use pinakes_format::storage::error::ReadError;
use serde_json::{Value, json};

use crate::admission::gate::Charge;
use crate::admission::limits::QuotaClass;
use crate::endpoint::Endpoint;
use crate::endpoint::call::{Answer, Call, Cost, Planned, Planning};
use crate::endpoint::reconcile::batch::BatchQuery;
use crate::endpoint::reconcile::extend::Extension;
use crate::http::body::{FORM, refuse_headers};
use crate::http::head::READ_AND_POST_METHODS;
use crate::http::parameters::{GIVEN_TWICE, query_pairs};
use crate::reply::Reply;
use crate::reply::detail::Detail;

/// The version of the protocol.
const VERSION: &str = "0.2";
/// Size of the frame for previews, in pixels.
const PREVIEW_PIXELS: (u32, u32) = (430, 300);

pub const RECONCILE: Endpoint = Endpoint {
    methods: READ_AND_POST_METHODS,
    describe: Some(describe::describe),
    ..Endpoint::new("/reconcile", Charge::Daily(QuotaClass::List), plan)
};

pub const SUGGEST: Endpoint = Endpoint {
    describe: Some(describe::describe_suggest),
    ..Endpoint::new("/reconcile/suggest/{kind}", Charge::Daily(QuotaClass::Search), suggest::plan)
};

pub const PROPERTIES: Endpoint = Endpoint {
    describe: Some(describe::describe_properties),
    ..Endpoint::new("/reconcile/properties", Charge::Minute, suggest::plan_properties)
};

pub const PREVIEW: Endpoint = Endpoint {
    describe: Some(describe::describe_preview),
    ..Endpoint::new("/reconcile/preview", Charge::Minute, preview::plan)
};

/// The types: the entities whose records have a path of their own.
fn types() -> impl Iterator<Item = &'static Facts> + Clone {
    CATALOG.iter().filter(|facts| Question::is_about(facts.entity))
}

/// The type as an object.
fn type_value(facts: &Facts) -> Value {
    let mut name = facts.plural.to_owned();
    name[..1].make_ascii_uppercase();
    json!({ "id": (facts.route), "name": name })
}

/// The identifier of a record in this protocol, where all types share one space: `HX_W1`, or `fields/17`.
fn id_text(entity: Entity, id: u64) -> String {
    let mut text = Vec::new();
    if entity.facts().letter.is_none() {
        text.extend_from_slice(entity.facts().route.as_bytes());
        text.push(b'/');
    }
    entity.write_id(id, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// Finds the record with an identifier, also where the identifier was merged.
fn find(text: &str, snapshot: &Snapshot) -> Result<Option<(Entity, u32)>, ReadError> {
    let named = types().find_map(|facts| {
        let rest = match facts.letter {
            Some(_) => text,
            None => text.strip_prefix(facts.route)?.strip_prefix('/')?,
        };
        Some((facts.entity, facts.entity.parse_id(rest)?))
    });
    let Some((entity, id)) = named else { return Ok(None) };
    let found = match snapshot.find(entity, id)? {
        LookupResult::Merged(into) => snapshot.find(entity, into)?,
        found => found,
    };
    Ok(match found {
        LookupResult::Row(row) => Some((entity, row)),
        LookupResult::Absent | LookupResult::Merged(_) => None,
    })
}

/// A request to `/reconcile`.
enum Request {
    Manifest,
    Queries(Vec<BatchQuery>),
    Extend(Extension),
}

impl Request {
    /// Parses the parameters of a URL or a form.
    fn parse(raw: &str) -> Result<Request, Vec<Detail>> {
        let mut found: Option<(String, String)> = None;
        for pair in query_pairs(raw) {
            let (name, value) = pair.map_err(|detail| vec![detail])?;
            let reason = match (name.as_str(), &found) {
                ("queries" | "extend", None) => {
                    found = Some((name, value));
                    continue;
                }
                ("queries" | "extend", Some((other, _))) if *other == name => GIVEN_TWICE,
                ("queries" | "extend", Some(_)) => {
                    "stands beside the other of `queries` and `extend`; send one"
                }
                ("callback", _) => {
                    "asks for JSONP, which is not offered; every origin may read replies (CORS)"
                }
                _ => "is no parameter of /reconcile; it takes `queries` or `extend`",
            };
            return Err(vec![Detail::new(&name, &value, reason)]);
        }
        match found {
            None => Ok(Request::Manifest),
            Some((name, value)) => match name.as_str() {
                "queries" => batch::parse(&value).map(Request::Queries),
                _ => extend::parse(&value).map(Request::Extend),
            },
        }
    }

    fn answer(&self, call: &Call<'_>) -> Answer {
        match self {
            Request::Manifest => Ok(manifest(call)),
            Request::Queries(queries) => batch::answer(queries.clone(), call),
            Request::Extend(extension) => extend::answer(extension, call),
        }
    }
}

fn plan(planning: &Planning<'_>) -> Result<Planned, Reply> {
    let call = &planning.call;
    if *call.method != Method::POST {
        let request = Request::parse(call.query).map_err(Reply::bad_query)?;
        return Ok(match request {
            Request::Manifest => Planned::Reply(manifest(call)),
            request => Planned::work(Cost::Large, move |call| request.answer(call)),
        });
    }
    if let Some(refusal) = refuse_headers(call.headers, &[FORM]) {
        return Err(refusal);
    }
    Ok(Planned::work(Cost::Large, answer_form))
}

/// Answers a posted form.
fn answer_form(call: &Call<'_>) -> Answer {
    // Every POST to this path has a body, possibly empty.
    let Some(posted) = call.posted else { return Ok(Reply::internal()) };
    let Ok(form) = std::str::from_utf8(posted.text()) else {
        let reason = "is no UTF-8; write other bytes percent-encoded";
        return Ok(Reply::bad_query(vec![Detail::new("body", "", reason)]));
    };
    match Request::parse(form.trim_end_matches(['\r', '\n'])) {
        Ok(Request::Manifest) => {
            let reason = "is missing, and `extend` too; GET without parameters has the manifest";
            Ok(Reply::bad_query(vec![Detail::new("queries", "", reason)]))
        }
        Ok(request) => Ok(request.answer(call)?.uncached()),
        Err(details) => Ok(Reply::bad_query(details)),
    }
}

/// The manifest. Its addresses begin with the host that the client named, since frames and pages of other hosts use
/// them.
fn manifest(call: &Call<'_>) -> Reply {
    let origin = call.origin();
    let service = |path: &str| json!({ "service_url": origin, "service_path": path });
    let (width, height) = PREVIEW_PIXELS;
    let page = if call.site.settings.has_browse { "/browse/search?query=" } else { "/resolve/" };
    let manifest = json!({
        "versions": [VERSION],
        "name": "Pinakes",
        "identifierSpace": (format!("{origin}/")),
        "schemaSpace": (format!("{origin}/openapi.json")),
        "view": { "url": (format!("{origin}{page}{{{{id}}}}")) },
        "defaultTypes": (types().map(type_value).collect::<Vec<_>>()),
        "preview": {
            "url": (format!("{origin}/reconcile/preview?id={{{{id}}}}")), "width": width, "height": height,
        },
        "suggest": {
            "entity": (service("/reconcile/suggest/entity")),
            "type": (service("/reconcile/suggest/type")),
            "property": (service("/reconcile/suggest/property")),
        },
        "extend": { "propose_properties": (service("/reconcile/properties")) },
    });
    Reply::momentary_json(manifest.to_string())
}
