//! Each row of the table of endpoints on an empty mirror: at most ten transfers wait for one another.

use std::{sync::Mutex, thread, time::Duration};

use pinakes_format::entity::{Entity, Facts};
use pinakes_format::snapshot::Snapshot;
use pinakes_tests::server::Server;
use pinakes_tests::slow_link::SlowLink;
use pinakes_tests::static_host::Host;

use crate::setup::{Ask, Edition, Mirror, answers, three_words};

/// The most transfers of one request that wait for one another.
const ROUNDS_MAX: usize = 10;
/// The delay of each transfer.
const ROUND_TRIP: Duration = Duration::from_millis(30);

/// The id and the name of a record of an entity.
fn example(facts: &Facts) -> (String, String) {
    let snapshot = Snapshot::open(&Edition::Old.snapshot()).unwrap();
    let row = 3.min(snapshot.count(facts.entity) - 1);
    let id = facts.entity.id_text(snapshot.row_id(facts.entity, row).unwrap());
    (id, snapshot.name(facts.entity, row).unwrap().unwrap_or_default().replace(' ', "+"))
}

/// A request for a path of the document; `None` of a path whose answer has nothing of the snapshot.
fn ask_for(path: &str) -> Option<Ask> {
    let words = three_words();
    let [_, first, rest @ ..] = &path.split('/').collect::<Vec<_>>()[..] else { return None };
    let named = |name: &str| Entity::all().map(Entity::facts).find(|facts| facts.plural == name);
    let facts = named(first).or_else(|| named(rest.first()?));
    let (id, name) = example(facts.unwrap_or(Entity::Output.facts()));
    let target = match (*first, rest) {
        ("graphql", []) => {
            let query = r#"{"query":"{ outputs(per_page: 25) { results { id name authors { author { id name } } } } }"}"#;
            return Some(Ask::post("/graphql", "application/json", query));
        }
        // Its tools answer as lists, records and completions do.
        ("mcp", []) => return None,
        ("outputs", ["search"]) => {
            let form = "application/x-www-form-urlencoded";
            return Some(Ask::post("/outputs/search", form, format!("search={words}")));
        }
        ("match", ["authors"]) => {
            format!("{path}?text={name}&orcid=https://orcid.org/0000-0002-1825-0097")
        }
        ("changes" | "reconcile", []) => return None,
        ("match", [_]) => format!("{path}?text={name}"),
        ("autocomplete", []) => format!("{path}?query={name}"),
        ("autocomplete", [_]) => {
            format!("/autocomplete/authors?query={}", example(Entity::Author.facts()).1)
        }
        ("resolve", _) => format!("/resolve/{id}"),
        ("reconcile", ["preview"]) => format!("{path}?id={id}"),
        ("legacy", [_, _]) => return None,
        ("references" | "statistics" | "legacy" | "browse", _) => path.to_owned(),
        _ if facts.is_some() => path.replace("{id}", &id),
        _ => return None,
    };
    Some(Ask::get(target))
}

/// Requests of pages and of the dialect, which the document leaves out.
fn asks_beside_the_document() -> Vec<Ask> {
    let words = three_words();
    let [work, author, source] =
        [Entity::Output, Entity::Author, Entity::Source].map(|of| example(of.facts()).0);
    let short = |id: &str| id.trim_start_matches("HX_").to_owned();
    [
        "/openalex/works".to_owned(),
        "/openalex/works?filter=publication_year:2012".to_owned(),
        "/openalex/works?group_by=type".to_owned(),
        format!("/openalex/works?search={words}"),
        "/openalex/authors?per-page=200".to_owned(),
        "/openalex/institutions?filter=country_code:us".to_owned(),
        "/openalex/sources".to_owned(),
        format!("/openalex/works/{}", short(&work)),
        format!("/openalex/authors/{}", short(&author)),
        format!("/openalex/sources/{}", short(&source)),
        "/openalex/autocomplete/authors?q=ma".to_owned(),
        format!("/browse/search?query={words}"),
        "/browse/outputs?filter=year:2012".to_owned(),
        "/browse/authors".to_owned(),
        format!("/browse/outputs/{work}"),
        format!("/browse/authors/{author}"),
        format!("/match/outputs?text={words}"),
        "/outputs?filter=year:2012".to_owned(),
        format!("/outputs?search={words}"),
        "/outputs?filter=year:>2010&group_by=type".to_owned(),
        "/authors?per_page=100&page=3".to_owned(),
        "/sitemap.xml".to_owned(),
    ]
    .map(Ask::get)
    .into()
}

#[test]
fn every_endpoint_reads_what_it_needs_together() {
    let whole = Server::serve_one(&Edition::Old.snapshot());
    let document = whole.get("/openapi.json").json();
    let paths = document["paths"].as_object().unwrap();
    let mut asks: Vec<Ask> = paths.keys().filter_map(|path| ask_for(path)).collect();
    assert!(asks.len() > 40, "{asks:?}");
    asks.extend(asks_beside_the_document());
    let asked = Mutex::new(answers(Edition::Old, asks));
    let excessive = Mutex::new(Vec::new());
    let work = || {
        while let Some(asked) = { asked.lock().unwrap().pop() } {
            let host = Host::new(Edition::Old.tree());
            let link = SlowLink::new(&host.url(), ROUND_TRIP, 12_500_000);
            let mirror = Mirror::empty();
            let server = mirror.start(&link.url(), &[]);
            link.take_counts();
            let reply = asked.ask.send(server.address());
            let counts = link.take_counts();
            println!("{:>3} {:?} {}", counts.rounds, asked.ask, reply.status);
            if counts.rounds > ROUNDS_MAX || reply.status != asked.right.status {
                let what = (counts, asked.ask.clone(), asked.right.status, reply.status);
                excessive.lock().unwrap().push(what);
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(work);
        }
    });
    let excessive = excessive.into_inner().unwrap();
    assert!(excessive.is_empty(), "{excessive:#?}");
}
