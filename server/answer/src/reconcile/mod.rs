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
//!
//! Imports `complete`, `define`, `openapi`, `pages`, `reply`, `request`.

mod batch;
mod describe;
mod extend;
mod preview;
mod suggest;
mod types;

use http::Method;
use serde_json::json;

use crate::define::charge::QuotaClass;
use crate::define::{Answer, Call, Charge, Cost, Endpoint, Planned, Planning};
use crate::reconcile::batch::BatchQuery;
use crate::reconcile::extend::Extension;
use crate::reconcile::types::{type_value, types};
use crate::reply::{Detail, Reply};
use crate::request::READ_AND_POST_METHODS;
use crate::request::body::{FORM, refuse_headers};
use crate::request::parameters::{GIVEN_TWICE, query_pairs};

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
    let Ok(form) = std::str::from_utf8(posted.text) else {
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
    let page = if call.settings.has_browse { "/browse/search?query=" } else { "/resolve/" };
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
