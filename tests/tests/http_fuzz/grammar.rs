//! Valid requests: every route, every key with every operation, and the records' ids and names.

use pinakes_format::entity::{CATALOG, Facts};
use pinakes_format::schema::keys::keys_of;
use pinakes_oracle::{Library, Lists};
use pinakes_tests::SeededRng;

use pinakes_tests::query_generator::{Coverage, QueryGenerator};
use pinakes_tests::values::{chance, percent_encode, pick, pick_word};

/// Random queries for each list, besides one query for each operation of each key.
const RANDOM_QUERIES: usize = 150;
/// Longest query that mutations start from, in bytes.
const QUERY_BYTES_MAX: usize = 2_000;

/// A request before it is serialised.
#[derive(Clone, Debug)]
pub struct Request {
    pub method: Vec<u8>,
    pub target: Vec<u8>,
    pub version: &'static str,
    pub headers: Vec<(Vec<u8>, Vec<u8>)>,
    /// Whether a mutation changed the request.
    pub is_changed: bool,
}

impl Request {
    /// Makes a GET request with a `Host` header.
    pub fn get(target: impl Into<Vec<u8>>) -> Request {
        let mut request = Request {
            method: b"GET".to_vec(),
            target: target.into(),
            version: "HTTP/1.1",
            headers: Vec::new(),
            is_changed: false,
        };
        request.header("Host", "localhost");
        request
    }

    pub fn header(&mut self, name: &str, value: impl Into<Vec<u8>>) {
        self.headers.push((name.into(), value.into()));
    }

    /// Serialises the request.
    pub fn write(&self, out: &mut Vec<u8>) {
        for part in [&self.method, b" ".as_slice(), &self.target, b" ", self.version.as_bytes()] {
            out.extend_from_slice(part);
        }
        out.extend_from_slice(b"\r\n");
        for (name, value) in &self.headers {
            for part in [name, b": ".as_slice(), value, b"\r\n"] {
                out.extend_from_slice(part);
            }
        }
        out.extend_from_slice(b"\r\n");
    }
}

/// Generates valid requests.
pub struct Grammar {
    /// Query strings by list.
    queries: Vec<Vec<String>>,
    /// Ids by list, merged ids included.
    ids: Vec<Vec<String>>,
    names: Vec<String>,
    /// Entity tag of the current snapshot.
    pub tag: String,
}

impl Grammar {
    /// Collects queries, ids and names of a library.
    pub fn new(library: &Library, tag: String) -> Grammar {
        let lists = Lists::new(library);
        let (mut rng, mut coverage) = (SeededRng(0), Coverage::default());
        let generators = QueryGenerator::all(library, &lists);
        let queries = |facts: &Facts| {
            let Some(generator) =
                generators.iter().find(|generator| generator.route == facts.plural)
            else {
                return vec!["page=1".to_owned(), "per_page=10".to_owned()];
            };
            let mut queries = generator.every_operation(&mut rng, &mut coverage);
            for _ in 0..RANDOM_QUERIES {
                queries.push(generator.query(&mut rng, &mut coverage, &lists));
            }
            let groups = keys_of(facts.entity).keys.iter().map(|key| &key.name);
            queries.extend(groups.map(|key| format!("group_by={key}&per_page=10")));
            queries.retain(|query| query.len() <= QUERY_BYTES_MAX);
            queries
        };
        let ids = |facts: &Facts| {
            let merged = library.redirects.iter().filter(|of| of.entity == facts.plural);
            let merged = merged.map(|of| of.from.clone());
            let entries = library.entities.get(facts.plural).into_iter().flatten();
            let mut ids: Vec<String> = entries.map(|entry| entry.id.clone()).collect();
            // Repeats merged ids until they are as frequent as the other ids.
            let merged: Vec<String> = merged.collect();
            for _ in 0..ids.len() / merged.len().max(1) {
                ids.extend_from_slice(&merged);
            }
            ids
        };
        let names = library.entities.values().flatten();
        let names = names.filter_map(|entry| Some(entry.single["name"].as_str()?.to_owned()));
        Grammar {
            queries: CATALOG.iter().map(queries).collect(),
            ids: CATALOG.iter().map(ids).collect(),
            names: names.collect(),
            tag,
        }
    }

    /// Generates a request that finds a resource, or would find it if the record existed.
    pub fn request(&self, rng: &mut SeededRng) -> Request {
        let target = match rng.below(20) {
            0..7 => {
                let at = rng.below(CATALOG.len());
                format!("/{}?{}", CATALOG[at].route, self.query(rng, at))
            }
            7..13 => self.record(rng),
            13..17 => self.autocomplete(rng),
            17 => format!("/{}", pick(rng, &CATALOG).route),
            _ => pick_word(
                rng,
                &[
                    "/",
                    "/health",
                    "/ready",
                    "/rate-limit",
                    "/nope",
                    "/references",
                    "/legacy/topics",
                ],
            )
            .to_owned(),
        };
        let mut request = Request::get(target);
        match rng.below(16) {
            0 => request.method = b"HEAD".to_vec(),
            1 => request.method = b"OPTIONS".to_vec(),
            2 => request.header("If-None-Match", self.tag.clone()),
            3 => request.header("Accept-Encoding", "zstd, br, gzip"),
            4 => request.header("User-Agent", "curl/8.5.0"),
            5 => request.header("Accept", "application/x-bibtex"),
            _ => {}
        }
        request
    }

    /// Picks a query string of the list with this number in the catalog.
    pub fn query(&self, rng: &mut SeededRng, list: usize) -> String {
        let query = pick(rng, &self.queries[list]).clone();
        if chance(rng, 80) {
            return query;
        }
        // Joins the parameters of two queries, so some parameters appear twice.
        format!("{query}&{}", pick(rng, &self.queries[list]))
    }

    /// Picks a query string of any list.
    pub fn any_query(&self, rng: &mut SeededRng) -> String {
        let list = rng.below(self.queries.len());
        self.query(rng, list)
    }

    fn record(&self, rng: &mut SeededRng) -> String {
        let at = rng.below(CATALOG.len());
        let others = if chance(rng, 90) { at } else { rng.below(CATALOG.len()) };
        match self.ids[others].as_slice() {
            [] => format!("/{}/{}", CATALOG[at].route, rng.below(12)),
            ids => format!("/{}/{}", CATALOG[at].route, pick(rng, ids)),
        }
    }

    fn autocomplete(&self, rng: &mut SeededRng) -> String {
        let text = match rng.below(4) {
            0 => {
                let ids = pick(rng, &self.ids);
                if ids.is_empty() { "0000-0002".to_owned() } else { pick(rng, ids).clone() }
            }
            _ => {
                let name = pick(rng, &self.names);
                let length = 1 + rng.below(name.chars().count());
                name.chars().take(length.min(40)).collect()
            }
        };
        let route = match rng.below(3) {
            0 => String::new(),
            _ => format!("/{}", pick(rng, &CATALOG).route),
        };
        format!("/autocomplete{route}?query={}", percent_encode(rng, &text))
    }
}
