//! Each row of the table of endpoints on an empty mirror: at most ten transfers wait for one another.

use std::{sync::Mutex, thread, time::Duration};

use pinakes_answer::ENDPOINTS;
use pinakes_format::entity::{Entity, Facts};
use pinakes_format::snapshot::Snapshot;
use pinakes_tests::slow_link::{LinkCounts, SlowLink};
use pinakes_tests::static_host::Host;
use serde_json::{Value, json};

use crate::upstream::follow::served;
use crate::upstream::setup::{
    Ask, Asked, ChangingTree, Edition, Mirror, answers, outputs, three_words, wait_until,
};

/// The most transfers of one request that wait for one another.
pub const ROUNDS_MAX: usize = 10;
/// Times that a request is sent to a new mirror before its rounds count as too many.
const TRIES: usize = 3;
/// The delay of each transfer.
const ROUND_TRIP: Duration = Duration::from_millis(30);
const FORM: &str = "application/x-www-form-urlencoded";

/// The id of a record of an entity, and its name as a query spells it.
fn example(entity: Entity) -> (String, String) {
    let snapshot = Snapshot::open(&Edition::Old.snapshot()).unwrap();
    let row = 3.min(snapshot.count(entity) - 1);
    let id = entity.id_text(snapshot.row_id(entity, row).unwrap());
    let name = snapshot.name(entity, row).unwrap().unwrap_or_default();
    (id, name.replace('&', "%26").replace(' ', "+"))
}

fn get(target: impl Into<String>) -> Ask {
    Ask::get(target)
}

fn json_body(target: &str, body: &Value) -> Ask {
    Ask::post(target, "application/json", body.to_string())
}

fn form(target: &str, name: &str, value: &str) -> Ask {
    let encoded = value.replace('%', "%25").replace('&', "%26").replace('+', "%2B");
    Ask::post(target, FORM, format!("{name}={encoded}"))
}

/// A request for each entity with a list at the root.
fn each(ask: impl Fn(&Facts) -> String) -> Vec<Ask> {
    let has_list = |entity: &Entity| *entity != Entity::InstitutionType;
    Entity::all().filter(has_list).map(|entity| get(ask(entity.facts()))).collect()
}

/// Requests for each row of the table of endpoints.
pub fn asks() -> [(&'static str, Vec<Ask>); ENDPOINTS.len()] {
    let words = three_words();
    let [work, author, institution, source, topic] =
        [Entity::Output, Entity::Author, Entity::Institution, Entity::Source, Entity::Topic]
            .map(example);
    let bare = |id: &str| id.trim_start_matches("HX_").to_owned();
    let plain = words.replace('+', " ");
    let tool = |name: &str, arguments: Value| {
        let params = json!({ "name": name, "arguments": arguments });
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        json_body("/mcp", &call)
    };
    let query = |text: &str, entity: &str| json!({ "query": text.replace('+', " ").replace("%26", "&"), "type": entity, "limit": 5 });
    let queries = json!({
        "q0": query(&words, "outputs"), "q1": query(&author.1, "authors"),
        "q2": query(&institution.1, "institutions"), "q3": query(&source.1, "sources"),
    });
    let extend = json!({
        "ids": [work.0, example(Entity::Output).0],
        "properties": [{ "id": "authors" }, { "id": "year" }, { "id": "primary_venue.source" }],
    });
    let lines: Vec<String> =
        (0..5).map(|key| format!("{}\n", json!({ "key": key, "text": plain }))).collect();
    let graphql =
        "{ outputs(per_page: 25) { results { id name authors { author { id name } } } } }";
    let of_outputs = |path: &str| get(format!("/outputs/{}/{path}", work.0));
    [
        (
            "/{list}",
            [
                each(|facts| format!("/{}", facts.plural)),
                vec![
                    get("/references/institution-types"),
                    get("/outputs?filter=year:2012"),
                    get(format!("/outputs?search={words}")),
                    get("/outputs?filter=year:>2010&group_by=type"),
                    get("/outputs?group_by=year"),
                    get("/authors?per_page=100&page=3"),
                    get("/outputs?filter=type:article&sort=cited_by_count:desc&per_page=100"),
                    get("/authors?search=ma"),
                    get("/outputs?sample=10&seed=4"),
                    get("/outputs?format=atom"),
                ],
            ]
            .concat(),
        ),
        ("/{list}/search", vec![form("/outputs/search", "search", &plain)]),
        ("/{list}/{id}", each(|facts| format!("/{}/{}", facts.plural, example(facts.entity).0))),
        ("/{list}/{id}/references", vec![of_outputs("references")]),
        ("/{list}/{id}/citations", vec![of_outputs("citations")]),
        (
            "/statistics/{list}",
            vec![
                get("/statistics/outputs"),
                get("/statistics/authors"),
                get("/statistics/outputs?of=cited_by_count&filter=year:2012"),
            ],
        ),
        (
            "/reconcile",
            vec![
                get("/reconcile"),
                form("/reconcile", "queries", &queries.to_string()),
                form("/reconcile", "extend", &extend.to_string()),
            ],
        ),
        (
            "/reconcile/suggest/{kind}",
            vec![
                get(format!("/reconcile/suggest/entity?prefix={}", &author.1[..4])),
                get("/reconcile/suggest/type?prefix=out"),
                get("/reconcile/suggest/property?prefix=ye"),
            ],
        ),
        ("/reconcile/properties", vec![get("/reconcile/properties?type=outputs")]),
        ("/reconcile/preview", vec![get(format!("/reconcile/preview?id={}", work.0))]),
        ("/resolve/{identifier}", vec![get(format!("/resolve/{}", work.0))]),
        (
            "/match/{list}",
            vec![
                get(format!("/match/outputs?text={words}")),
                get(format!("/match/institutions?text={}", institution.1)),
                get(format!("/match/sources?text={}", source.1)),
                get(format!(
                    "/match/authors?text={}&orcid=https://orcid.org/0000-0002-1825-0097",
                    author.1
                )),
                Ask::post("/match/outputs", "application/x-ndjson", lines.concat()),
            ],
        ),
        ("/autocomplete", vec![get(format!("/autocomplete?query={}", &author.1[..4]))]),
        (
            "/autocomplete/{entity_type}",
            vec![get(format!("/autocomplete/authors?query={}", author.1))],
        ),
        ("/{list}", vec![get("/legacy/topics")]),
        ("/{list}/{id}", vec![get(format!("/legacy/topics/OA:{}", bare(&topic.0)))]),
        ("/graphql", vec![json_body("/graphql", &json!({ "query": graphql }))]),
        (
            "/mcp",
            vec![
                tool("search", json!({ "query": plain })),
                tool("search", json!({ "query": plain, "abstract": true })),
                tool(
                    "get",
                    json!({ "ids": [work.0, author.0, institution.0], "members": ["id", "name"] }),
                ),
                tool("cite", json!({ "ids": [work.0, example(Entity::Output).0] })),
                tool("search", json!({ "list": "authors", "filter": "works_count:>10" })),
                tool("get", json!({ "id": work.0 })),
                tool("match", json!({ "text": plain, "list": "outputs" })),
                tool("cited_by", json!({ "id": work.0 })),
                tool("references", json!({ "id": work.0 })),
                tool("count", json!({ "list": "outputs", "by": "type" })),
                tool("statistics", json!({ "list": "outputs" })),
            ],
        ),
        ("/openalex", vec![get("/openalex")]),
        (
            "/openalex/autocomplete",
            vec![get(format!("/openalex/autocomplete?q={}", &author.1[..4]))],
        ),
        ("/openalex/autocomplete/{name}", vec![get("/openalex/autocomplete/authors?q=ma")]),
        (
            "/openalex/{name}",
            [
                "works",
                "works?filter=publication_year:2012",
                "works?group_by=type",
                "works?per-page=200",
                "works?per-page=200&select=id",
                "types",
                &format!("works?search={words}"),
                "authors?per-page=200",
                "institutions?filter=country_code:us",
                "sources",
                "topics",
                "publishers",
                "funders",
                "domains",
                "fields",
                "subfields",
            ]
            .map(|rest| get(format!("/openalex/{rest}")))
            .into(),
        ),
        (
            "/openalex/{identifier}",
            [
                ("works", Entity::Output),
                ("authors", Entity::Author),
                ("sources", Entity::Source),
                ("institutions", Entity::Institution),
                ("topics", Entity::Topic),
                ("publishers", Entity::Publisher),
                ("funders", Entity::Funder),
            ]
            .map(|(name, entity)| get(format!("/openalex/{name}/{}", bare(&example(entity).0))))
            .into(),
        ),
        // Compares two snapshots, and has a test of its own.
        ("/changes", Vec::new()),
        ("/graphql/schema", vec![get("/graphql/schema")]),
        ("/graphiql", vec![get("/graphiql")]),
        // Parts of programs, which are no part of a snapshot.
        ("/graphiql/{part}", Vec::new()),
        ("/rate-limit", vec![get("/rate-limit")]),
        ("/", vec![get("/")]),
        ("/health", vec![get("/health")]),
        ("/ready", vec![get("/ready")]),
        ("/openapi.json", vec![get("/openapi.json")]),
        ("/docs", vec![get("/docs")]),
        ("/docs/{part}", Vec::new()),
        ("/browse", vec![get("/browse")]),
        ("/browse/search", vec![get(format!("/browse/search?query={words}"))]),
        ("/browse/complete", vec![get(format!("/browse/complete?query={}", &author.1[..4]))]),
        (
            "/browse/complete/{entity_type}",
            vec![get(format!("/browse/complete/authors?query={}", &author.1[..4]))],
        ),
        ("/browse/taxonomy", vec![get("/browse/taxonomy")]),
        ("/browse/{file}", vec![get("/browse/style.css")]),
        (
            "/browse/{list}",
            [
                each(|facts| format!("/browse/{}", facts.plural)),
                vec![
                    get("/browse/outputs?filter=year:2012"),
                    get(format!("/browse/outputs?search={words}")),
                ],
            ]
            .concat(),
        ),
        (
            "/browse/{list}/{id}",
            each(|facts| format!("/browse/{}/{}", facts.plural, example(facts.entity).0)),
        ),
        ("/sitemap.xml", vec![get("/sitemap.xml")]),
        ("/robots.txt", vec![get("/robots.txt")]),
        ("/llms.txt", vec![get("/llms.txt")]),
    ]
}

/// Prints what a request took, for the figures at other sizes.
pub fn print(counts: &LinkCounts, ask: &Ask, status: u16) {
    let LinkCounts { rounds, requests, bytes } = counts;
    println!("{rounds:>3} rounds {requests:>5} requests {:>6} KiB {ask:?} {status}", bytes >> 10);
}

#[test]
fn every_endpoint_reads_what_it_needs_together() {
    let asks = asks();
    for (endpoint, (path, _)) in ENDPOINTS.iter().zip(&asks) {
        assert_eq!(endpoint.path, *path, "the rows have the order of the table");
    }
    let asks: Vec<Ask> = asks.into_iter().flat_map(|(_, asks)| asks).collect();
    let asked = answers(Edition::Old, asks);
    let wrong: Vec<_> = asked.iter().filter(|asked| asked.right.status >= 400).collect();
    let wrong: Vec<_> = wrong.iter().map(|asked| (&asked.ask, asked.right.text())).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    let asked = Mutex::new(asked);
    let excessive = Mutex::new(Vec::new());
    let ask = |ask: &Ask| {
        let host = Host::new(Edition::Old.tree());
        let link = SlowLink::new(&host.url(), ROUND_TRIP, 12_500_000);
        let mirror = Mirror::empty();
        let server = mirror.start(&link.url(), &["--fetch-timeout", "60"]);
        link.take_counts();
        let reply = ask.send(server.address());
        let counts = link.take_counts();
        print(&counts, ask, reply.status);
        (counts, reply.status)
    };
    let work = || {
        while let Some(Asked { ask: asked, right }) = { asked.lock().unwrap().pop() } {
            // On a busy machine, transfers of one round begin one after another and count as several.
            let mut tries = (0..TRIES).map(|_| ask(&asked));
            let few = tries.find(|(counts, _)| counts.rounds <= ROUNDS_MAX);
            if few.is_none_or(|(_, status)| status != right.status) {
                excessive.lock().unwrap().push((few, asked, right.status));
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(work);
        }
    });
    let excessive = excessive.into_inner().unwrap();
    assert!(excessive.is_empty(), "of {} outputs: {excessive:#?}", outputs());
}

#[test]
fn changes_between_two_snapshots_that_are_here_in_part_are_read_together() {
    let tree = ChangingTree::of(Edition::Old);
    let host = Host::new(tree.path());
    let link = SlowLink::new(&host.url(), ROUND_TRIP, 12_500_000);
    let mirror = Mirror::empty();
    let more = ["--from-interval", "1", "--keep-open", "1", "--fetch-timeout", "60"];
    let server = mirror.start(&link.url(), &more);
    tree.becomes(Edition::New);
    wait_until("the newer snapshot is served", || served(&server) == Edition::New.id());
    let earlier = format!("/@{}/domains", Edition::Old.id());
    wait_until("the older snapshot is kept open", || server.get(&earlier).status == 200);
    server.end(&[]);
    // Without looks for a newer publication, which are transfers, too.
    let more = ["--keep-open", "1", "--fetch-timeout", "60"];
    let server = mirror.start(&link.url(), &more);
    let ask = get(format!("/changes?since={}", Edition::Old.id()));
    link.take_counts();
    let reply = ask.send(server.address());
    let counts = link.take_counts();
    print(&counts, &ask, reply.status);
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert!(counts.rounds <= ROUNDS_MAX, "{counts:?}");
    server.end(&[]);
}
