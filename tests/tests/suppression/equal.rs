//! Compares a server that applies a suppression list with a server whose snapshot was linked with the list.

use std::collections::BTreeSet;
use std::path::PathBuf;

use pinakes_format::entity::{Entity, NO_ID};
use pinakes_format::snapshot::Snapshot;
use pinakes_oracle::{LEGACY_ROUTES, Legacy};
use pinakes_tests::{SeededRng, times};

use crate::suppression::ids_of;
use crate::suppression::kinds;
use crate::suppression::listed_id;
use crate::suppression::serve_with_list;
use crate::suppression::write_list;
use pinakes_tests::client::{Connection, Response};
use pinakes_tests::query_generator::{Coverage, FilterKey, QueryGenerator, counted_query};
use pinakes_tests::server::{Server, Snapshots, make_writable};
use pinakes_tests::similar_names;
use pinakes_tests::values::{chance, percent_encode, pick};

const MISMATCHES_SHOWN: usize = 20;
/// Number of names per entity whose prefixes are sent to autocomplete.
const NAMES: usize = 40;
/// Maximum bytes of a query and of each reply in a failure message.
const SHOWN_BYTES: usize = 300;

/// Connections to both servers, and the differences between their replies.
pub struct Both<'s> {
    servers: [&'s Server; 2],
    /// The names of both snapshots in replies.
    names: [String; 2],
    served: Connection,
    linked: Connection,
    /// The paths that were compared.
    pub targets: BTreeSet<String>,
    /// The beginnings of targets that are not compared.
    pub left_out: &'static [&'static str],
    asked: usize,
    found: usize,
    mismatches: Vec<String>,
}

impl<'s> Both<'s> {
    pub fn new(servers: [&'s Server; 2]) -> Both<'s> {
        let [served, linked] = servers.map(Server::connect);
        let names = servers.map(|server| {
            let id = &server.connect().get("/").json()["snapshot_id"];
            id.as_str().unwrap().to_owned()
        });
        let (targets, mismatches) = (BTreeSet::new(), Vec::new());
        let left_out = &[];
        Both { servers, names, served, linked, targets, left_out, asked: 0, found: 0, mismatches }
    }

    /// Opens new connections, since the servers close idle ones.
    pub fn connect(&mut self) {
        [self.served, self.linked] = self.servers.map(Server::connect);
    }

    fn compare(&mut self, asked: &str, served: Response, linked: Response) {
        self.asked += 1;
        self.found += usize::from(served.status == 200);
        if self.left_out.iter().any(|begin| asked.starts_with(begin)) {
            return;
        }
        let path = asked.split('?').next().unwrap_or_default();
        self.targets.insert(path.to_owned());
        let compared = |response: &Response, name: &str| {
            let header = |of| response.header(of).map(|text| text.replace(name, "SNAPSHOT"));
            let headers = ["location", "link", "x-total-count"].map(header);
            let is_json = response.header("content-type") == Some("application/json");
            let text = match response.status {
                404 if is_json => without_differing_lists(response),
                _ => response.text().to_owned(),
            };
            (response.status, headers, without_time(text.replace(name, "SNAPSHOT")))
        };
        let [name, linked_name] = &self.names;
        let (served, linked) = (compared(&served, name), compared(&linked, linked_name));
        if served != linked {
            let asked: String = asked.chars().take(SHOWN_BYTES).collect();
            let [served, linked] = [served, linked].map(|reply| format!("{reply:?}"));
            let same = served.bytes().zip(linked.bytes()).take_while(|(a, b)| a == b).count();
            let from = same.saturating_sub(SHOWN_BYTES / 3);
            let shown = |reply: &str| {
                let bytes = reply.as_bytes();
                String::from_utf8_lossy(&bytes[from..bytes.len().min(from + SHOWN_BYTES)])
                    .into_owned()
            };
            let (served, linked) = (shown(&served), shown(&linked));
            self.mismatches.push(format!("{asked}\n  served …{served}\n  linked …{linked}"));
            let all = self.mismatches.join("\n");
            assert!(self.mismatches.len() < MISMATCHES_SHOWN, "of {}:\n{all}", self.asked);
        }
    }

    pub fn check(&self) {
        let (Both { mismatches, .. }, asked, found) = (self, self.asked, self.found);
        let all = mismatches.join("\n");
        assert!(mismatches.is_empty(), "{} of {asked}:\n{all}", mismatches.len());
        assert!(found * 4 > asked, "of {asked} replies only {found} are 200");
        println!("{asked} replies are equal, {found} of them 200");
    }

    pub fn get(&mut self, target: &str) {
        let (served, linked) = (self.served.get(target), self.linked.get(target));
        self.compare(target, served, linked);
    }

    /// Compares replies of the snapshots by their names.
    pub fn get_named(&mut self, target: &str) {
        let [name, linked_name] = &self.names;
        let served = self.served.get(&format!("/@{name}{target}"));
        let linked = self.linked.get(&format!("/@{linked_name}{target}"));
        self.compare(target, served, linked);
    }

    /// Compares replies to a body.
    pub fn send(&mut self, method: &str, path: &str, media_type: &str, body: &str) {
        let length = body.len();
        let raw = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {media_type}\r\n\
             Content-Length: {length}\r\n\r\n{body}"
        );
        let [served, linked] = [&mut self.served, &mut self.linked].map(|connection| {
            connection.send(raw.as_bytes()).unwrap();
            connection.receive_to(method).unwrap()
        });
        self.compare(&format!("{path}?{body}"), served, linked);
    }

    pub fn post(&mut self, question: &str) {
        let body = serde_json::json!({ "query": question }).to_string();
        self.send("POST", "/graphql", "application/json", &body);
    }
}

/// The parameters of a comparison.
struct Case {
    inputs: Vec<PathBuf>,
    /// More options of the linker.
    more: &'static [&'static str],
    /// The entities with suppressed records.
    suppressed: Vec<Entity>,
    /// One of this number of records is suppressed.
    one_in: usize,
    /// Number of random queries to lists.
    queries: usize,
}

/// Filter keys with different results on the two servers, as documented: a referring record takes these
/// values from the suppressed record.
const DIFFERING_KEYS: [&str; 4] = [
    "primary_topic.subfield",
    "primary_topic.field",
    "primary_topic.domain",
    "host_organization_name",
];

/// The body of a 404 without the lists by [`DIFFERING_KEYS`], whose records may be others.
fn without_differing_lists(response: &Response) -> String {
    let mut body = response.json();
    if let Some(details) = body["details"].as_array_mut() {
        details.retain(|detail| {
            let reason = detail["reason"].as_str().unwrap_or_default();
            !DIFFERING_KEYS.iter().any(|key| reason.contains(key))
        });
    }
    body.to_string()
}

/// A body without the time that OpenAlex's lists state.
fn without_time(text: String) -> String {
    let Some((before, after)) = text.split_once("\"db_response_time_ms\":") else { return text };
    format!("{before}{}", after.trim_start_matches(|digit: char| digit.is_ascii_digit()))
}

/// Whether a query, decoded, contains one of [`DIFFERING_KEYS`].
fn may_differ(query: &str) -> bool {
    let mut bytes = query.bytes();
    let mut text = Vec::new();
    while let Some(byte) = bytes.next() {
        let digit = |byte: Option<u8>| char::from(byte.unwrap()).to_digit(16).unwrap() as u8;
        text.push(if byte == b'%' { digit(bytes.next()) << 4 | digit(bytes.next()) } else { byte });
    }
    let text = String::from_utf8(text).unwrap();
    DIFFERING_KEYS.iter().any(|key| text.contains(key))
}

/// A server with a suppression list, and a server whose snapshot was linked with the list.
pub struct Pair {
    full: Snapshots,
    own: tempfile::TempDir,
    served: Server,
    linked: Server,
}

impl Pair {
    fn start(case: &Case, ids: impl FnOnce(&Snapshots) -> Vec<String>) -> Pair {
        Pair::start_with(&case.inputs, case.more, ids)
    }

    pub fn start_with(
        inputs: &[PathBuf],
        more: &[&str],
        ids: impl FnOnce(&Snapshots) -> Vec<String>,
    ) -> Pair {
        let (full, own) = (Snapshots::from_inputs(inputs), tempfile::tempdir().unwrap());
        let list = write_list(own.path(), &ids(&full));
        let list_text = list.to_str().unwrap().to_owned();
        let options = [&["--quiet", "--suppress", &list_text], more].concat();
        let path = pinakes_tests::build(inputs, &own.path().join("out"), &options);
        let (served, linked) = (serve_with_list(&full, &list), Server::serve_one(&path));
        Pair { full, own, served, linked }
    }

    pub fn servers(&self) -> [&Server; 2] {
        [&self.served, &self.linked]
    }

    pub fn end(self) {
        self.served.end(&[]);
        self.linked.end(&[]);
        make_writable(self.own.path());
    }
}

/// Ids of some records of each entity, and of some unresolved references.
fn chosen(case: &Case, snapshot: &Snapshot, rng: &mut SeededRng) -> Vec<String> {
    let mut ids = vec!["# suppressed".to_owned(), "HX_A9999999999999".to_owned()];
    for entity in case.suppressed.iter().copied() {
        let all = ids_of(snapshot, entity);
        let mut chosen: Vec<u64> =
            all.iter().copied().filter(|_| rng.below(case.one_in) == 0).collect();
        // The first record of a list is in most replies.
        chosen.extend(all.first());
        chosen.sort_unstable();
        chosen.dedup();
        if all.len() == chosen.len() {
            chosen.pop();
        }
        ids.extend(chosen.into_iter().map(|id| listed_id(entity, id)));
        for row in snapshot.count(entity)..snapshot.rows(entity) {
            let id = snapshot.row_id(entity, row).unwrap();
            if id != NO_ID && rng.below(case.one_in) == 0 {
                ids.push(listed_id(entity, id));
            }
        }
    }
    ids
}

fn compare(case: &Case, seed: u64) {
    let mut rng = SeededRng(seed);
    let pair = Pair::start(case, |full| chosen(case, &full.open(), &mut rng));
    let snapshot = pair.full.open();
    let mut both = Both::new([&pair.served, &pair.linked]);
    compare_index(&mut both);
    compare_records(&mut both, &snapshot);
    compare_pages(&mut both, &case.inputs, case.queries, &mut rng);
    compare_autocomplete(&mut both, &snapshot, &mut rng);
    compare_graphql(&mut both, &snapshot, &mut rng);
    compare_legacy(&mut both, &case.inputs, case.queries / 4, &mut rng);
    both.check();
    pair.end();
}

/// Compares `/` except the id of the snapshot.
fn compare_index(both: &mut Both<'_>) {
    let [served, linked] = [&mut both.served, &mut both.linked].map(|connection| {
        let mut index = connection.get("/").json();
        assert!(index["suppressed"].as_u64().unwrap() > 0, "{index}");
        index["snapshot_id"].take();
        index
    });
    assert_eq!(served, linked);
}

/// Compares each single record, suppressed or not, and each merged id.
fn compare_records(both: &mut Both<'_>, snapshot: &Snapshot) {
    for entity in kinds() {
        let route = entity.facts().route;
        let path = |id: u64| {
            let mut text = Vec::new();
            entity.write_id(id, &mut text);
            format!("/{route}/{}", String::from_utf8(text).unwrap())
        };
        for row in 0..snapshot.rows(entity) {
            both.get(&path(snapshot.row_id(entity, row).unwrap()));
        }
        for at in 0..snapshot.redirects(entity).count() {
            both.get(&path(snapshot.redirects(entity).pair(at).unwrap().0));
        }
    }
}

/// Compares every page of every list in default order, some pages in every other order, and random queries.
fn compare_pages(both: &mut Both<'_>, inputs: &[PathBuf], queries: usize, rng: &mut SeededRng) {
    let library = pinakes_tests::library(inputs);
    let lists = pinakes_tests::lists(inputs);
    let generators = QueryGenerator::all(library, lists);
    let mut coverage = Coverage::default();
    both.connect();
    for generator in &generators {
        let pages = library.entities.get(generator.route).map_or(1, Vec::len).div_ceil(10) + 1;
        for page in 1..=pages {
            both.get(&format!("/{}?per_page=10&page={page}", generator.route));
        }
        for sort in &generator.sorts {
            for direction in ["asc", "desc"] {
                for page in [1, 1 + rng.below(pages), pages] {
                    let query = format!("sort={sort}:{direction},id&per_page=25&page={page}");
                    both.get(&format!("/{}?{}", generator.route, query.replace("id:asc,id", "id")));
                    let query = format!("sort={sort}:{direction}&per_page=10&page={page}");
                    both.get(&format!("/{}?{query}", generator.route));
                }
            }
        }
        let grouped = generator.filters.iter().map(|filter| filter.key.name);
        for key in grouped.filter(|key| !may_differ(key)) {
            both.get(&format!("/{}?group_by={key}&per_page=100", generator.route));
        }
        both.get(&format!("/statistics/{}", generator.route));
        for query in generator.every_operation(rng, &mut coverage) {
            if !may_differ(&query) {
                both.get(&format!("/{}?{query}", generator.route));
                let key = generator.filters.first().map(|_| pick(rng, &generator.filters).key.name);
                if let Some(key) = key.filter(|key| !may_differ(key)) {
                    both.get(&format!("/{}?{query}&group_by={key}", generator.route));
                }
            }
        }
    }
    for _ in 0..queries / 3 {
        both.get(&format!("/outputs?{}", counted_query(rng)));
    }
    for _ in 0..queries {
        let generator = pick(rng, &generators);
        let query = generator.query(rng, &mut coverage, lists);
        if !may_differ(&query) {
            both.get(&format!("/{}?{query}", generator.route));
        }
    }
}

/// Compares autocomplete for letters, names, prefixes of words, and ids.
fn compare_autocomplete(both: &mut Both<'_>, snapshot: &Snapshot, rng: &mut SeededRng) {
    for letter in 'a'..='z' {
        both.get(&format!("/autocomplete?query={letter}"));
        both.get(&format!("/autocomplete/authors?query={letter}"));
    }
    for entity in kinds() {
        let route = entity.facts().route;
        let of = if entity.facts().letter.is_some() { format!("/{route}") } else { String::new() };
        let count = snapshot.count(entity);
        for _ in 0..NAMES.min(count as usize * 3) {
            let row = rng.below(count as usize) as u32;
            let Some(name) = snapshot.name(entity, row).unwrap() else { continue };
            let name: String = name.chars().take(60).collect();
            let words: Vec<&str> = name.split_whitespace().collect();
            let word: Vec<char> = pick(rng, &words).chars().collect();
            let beginning: String = word[..1 + rng.below(word.len())].iter().collect();
            for text in [name.as_str(), beginning.as_str()] {
                let text = percent_encode(rng, text);
                both.get(&format!("/autocomplete{of}?query={text}"));
                both.get(&format!("/autocomplete?query={text}"));
            }
            let mut id = Vec::new();
            entity.write_id(snapshot.row_id(entity, row).unwrap(), &mut id);
            both.get(&format!("/autocomplete{of}?query={}", String::from_utf8(id).unwrap()));
        }
    }
    for target in ["authors?query=0000-0002-1825-0097", "outputs?query=10.5555%2F1"] {
        both.get(&format!("/autocomplete/{target}"));
    }
}

/// Compares GraphQL queries for records, their references, and the lists of referring records.
fn compare_graphql(both: &mut Both<'_>, snapshot: &Snapshot, rng: &mut SeededRng) {
    for entity in kinds() {
        let singular = entity.facts().singular;
        for row in 0..snapshot.count(entity).min(40) {
            let mut id = Vec::new();
            entity.write_id(snapshot.row_id(entity, row).unwrap(), &mut id);
            let id = String::from_utf8(id).unwrap();
            both.post(&format!("{{ {singular}(id: \"{id}\") {{ id name }} }}"));
        }
    }
    for page in 1..=8 {
        both.post(&format!(
            "{{ outputs(page: {page}, per_page: 10) {{ meta {{ count }} results {{ id authors {{ id name \
             author {{ id name outputs(per_page: 10) {{ meta {{ count }} results {{ id name }} }} }} }} \
             primary_venue {{ source {{ id name type source {{ id }} }} }} \
             primary_topic {{ id name topic {{ id siblings {{ id name topic {{ id }} }} }} }} \
             funders {{ id name funder {{ id }} }} }} }} }}"
        ));
        both.post(&format!(
            "{{ institutions(page: {page}, per_page: 10) {{ results {{ id name outputs {{ meta {{ count }} \
             results {{ id }} }} associated_institutions {{ id name institution {{ id }} }} }} }} \
             sources(page: {page}, sort: \"name\") {{ results {{ id host_organization_name outputs {{ \
             meta {{ count }} }} }} }} }}"
        ));
        both.post(&format!(
            "{{ publishers(page: {page}, per_page: 10) {{ results {{ id parent_publisher {{ id name \
             publisher {{ id }} }} lineage {{ id name }} }} }} subfields {{ results {{ id name topics {{ \
             id name topic {{ id }} }} field {{ id name field {{ id }} }} }} }} \
             autocomplete(query: \"{}\") {{ meta {{ count }} results {{ id name }} }} }}",
            pick(rng, &["a", "university", "j", "nature of", "s"])
        ));
    }
}

/// Compares the legacy variant: each record, pages, filters and groups.
fn compare_legacy(both: &mut Both<'_>, inputs: &[PathBuf], queries: usize, rng: &mut SeededRng) {
    let legacy = Legacy::new(pinakes_tests::library(inputs));
    let mut coverage = Coverage::default();
    both.connect();
    for route in LEGACY_ROUTES {
        for (id, ..) in legacy.records(route) {
            both.get(&format!("/legacy/{route}/{id}"));
        }
        let filter = |key: pinakes_oracle::Key| FilterKey::new(key, legacy.values(route, &key));
        let generator = QueryGenerator::from_filters(
            route,
            legacy.keys(route).into_iter().map(filter).collect(),
        );
        for query in generator.every_operation(rng, &mut coverage) {
            both.get(&format!("/legacy/{route}?{query}"));
        }
        for grouping in legacy.groupings(route) {
            both.get(&format!("/legacy/{route}?group_by={grouping}"));
        }
        for _ in 0..queries {
            let mut query = format!("per_page={}", 1 + rng.below(30));
            if chance(rng, 70) {
                let expressions = generator.expressions(rng, &mut coverage);
                query = format!("{query}&filter={}", percent_encode(rng, &expressions));
            }
            match rng.below(3) {
                0 => query.push_str(&format!("&group_by={}", pick(rng, legacy.groupings(route)))),
                1 => query.push_str(&format!("&page={}", 1 + rng.below(4))),
                _ => query.push_str("&sort=1"),
            }
            both.get(&format!("/legacy/{route}?{query}"));
        }
    }
}

#[test]
fn a_suppression_list_of_the_server_equals_one_of_the_linker() {
    let people = [Entity::Output, Entity::Author, Entity::Source, Entity::Institution];
    let others = [Entity::Publisher, Entity::Funder];
    let case = Case {
        inputs: vec![pinakes_tests::sample()],
        more: &["--allow-shrink"],
        suppressed: people.into_iter().chain(others).collect(),
        one_in: 6,
        queries: times(600),
    };
    compare(&case, 1);
    compare(&Case { suppressed: kinds().collect(), one_in: 12, queries: times(300), ..case }, 2);
}

#[test]
fn a_suppression_list_of_real_records_of_the_server_equals_one_of_the_linker() {
    let test = "a_suppression_list_of_real_records_of_the_server_equals_one_of_the_linker";
    let Some(sample) = pinakes_tests::real_sample(test) else { return };
    let inputs = sample.to_vec();
    let more: &[&str] = &["--allow-shrink"];
    compare(
        &Case { inputs, more, suppressed: kinds().collect(), one_in: 9, queries: times(200) },
        3,
    );
}

#[test]
fn names_shared_by_thousands_are_counted_without_suppressed_records() {
    let dump = similar_names::write_dump();
    let case = Case {
        inputs: vec![dump.path().to_path_buf()],
        more: &[],
        suppressed: vec![Entity::Author, Entity::Output],
        one_in: 40,
        queries: 0,
    };
    let letters =
        ["a", "m", "s", "z", "李", "о", "w", "l", "j", "mari", "smith", "anna", "x", "王"];
    let texts = [&letters[..], &["wei zhang", "anna s", "a a", "mx l", "li", "ana ana"]].concat();
    let mut rng = SeededRng(5);
    let pair = Pair::start(&case, |full| {
        let mut ids = chosen(&case, &full.open(), &mut rng);
        // Suppress every second of the best results, so that others must replace them.
        let server = Server::serve(full);
        let mut connection = server.connect();
        for text in &texts {
            let text = percent_encode(&mut rng, text);
            let found = connection.get(&format!("/autocomplete?query={text}")).json();
            let best = found["results"].as_array().unwrap().iter();
            ids.extend(best.step_by(2).map(|best| best["id"].as_str().unwrap().to_owned()));
        }
        server.end(&[]);
        ids
    });
    let mut both = Both::new([&pair.served, &pair.linked]);
    for text in &texts {
        for from in text.char_indices().map(|(at, letter)| &text[..at + letter.len_utf8()]) {
            let text = percent_encode(&mut rng, from);
            for of in ["", "/authors", "/outputs"] {
                both.get(&format!("/autocomplete{of}?query={text}"));
            }
            both.get(&format!("/authors?search={text}&per_page=50"));
            both.get(&format!("/authors?search={text}&sort=cited_by_count:desc&page=3"));
        }
    }
    for query in
        ["sort=name", "sort=name:desc", "sort=cited_by_count:desc,name", "sort=id:desc", ""]
    {
        for page in [1, 2, 300, 680, 684, 700] {
            both.get(&format!("/authors?per_page=100&page={page}&{query}"));
        }
    }
    both.check();
    pair.end();
}
