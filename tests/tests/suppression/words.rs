//! Compares both ways of suppression word by word: each member of each entity has a distinctive word, and the test asks each
//! endpoint for each word.

use pinakes_format::entity::{CATALOG, Entity};
use pinakes_tests::SeededRng;
use pinakes_tests::server::Server;
use serde_json::{Map, Value, json};

use crate::suppression::equal::{Both, Pair};
use crate::suppression::{kinds, listed_id};

const JSON: &str = "application/json";
const FORM: &str = "application/x-www-form-urlencoded";

/// Makes words that no two letters' change makes another.
struct Words {
    rng: SeededRng,
    /// The words of the records that are suppressed.
    suppressed: Vec<String>,
}

impl Words {
    fn word(&mut self) -> String {
        let syllable = |rng: &mut SeededRng| {
            let (consonants, vowels) = (b"bdfgklmnprtvz", b"aeiou");
            [consonants[rng.below(13)] as char, vowels[rng.below(5)] as char]
        };
        (0..5).flat_map(|_| syllable(&mut self.rng)).collect()
    }

    /// A word of the record with a number. The first record of each entity is suppressed.
    fn of(&mut self, number: usize) -> String {
        let word = self.word();
        if number == 1 {
            self.suppressed.push(word.clone());
        }
        word
    }
}

/// The number of records of each entity.
const RECORDS: usize = 3;
const WORKS: usize = 14;
/// A word in names of suppressed and other records, in titles and in abstracts.
const SHARED: &str = "Brandenburger";

fn address(letter: &str, number: usize) -> String {
    format!("https://openalex.org/{letter}{number}")
}

fn node(level: &str, number: usize, name: &str) -> Value {
    json!({ "id": format!("https://openalex.org/{level}/{number}"), "display_name": name })
}

/// The records of a dump, by file.
fn dump(words: &mut Words) -> Vec<(&'static str, Vec<Value>)> {
    let numbers = || 1..=RECORDS;
    let mut name = |number: usize| format!("{} {SHARED} {}", words.of(number), words.of(number));
    let [authors, sources, topics, institutions, publishers, funders, domains, fields, subfields] =
        std::array::from_fn(|_| numbers().map(&mut name).collect::<Vec<String>>());
    let of = |names: &[String], letter: &str, number: usize| json!({ "id": address(letter, number), "display_name": names[number - 1] });
    let level = |at: usize| {
        json!({
            "subfield": node("subfields", 1700 + at, &subfields[at - 1]),
            "field": node("fields", 20 + at, &fields[at - 1]),
            "domain": node("domains", at, &domains[at - 1]),
        })
    };
    let with = |mut value: Value, more: Value| {
        let more: Map<String, Value> = more.as_object().unwrap().clone();
        value.as_object_mut().unwrap().extend(more);
        value
    };
    let dated = json!({ "works_count": 4, "cited_by_count": 9, "updated_date": "2026-01-10" });
    let mut files = Vec::new();
    let mut add = |file: &'static str, make: &mut dyn FnMut(usize) -> Value| {
        let records = numbers().map(|number| with(make(number), dated.clone()));
        files.push((file, records.collect::<Vec<Value>>()));
    };
    let institution = |at: usize| {
        let more = json!({ "country_code": "GB", "type": "education", "ror": null });
        with(of(&institutions, "I", at), more)
    };
    add("authors.jsonl", &mut |at| {
        let more = json!({
            "orcid": format!("https://orcid.org/0000-0002-1825-009{}", [7, 5, 3][at - 1]),
            "display_name_alternatives": [words.of(at), SHARED],
            "last_known_institutions": [institution(at)],
        });
        with(of(&authors, "A", at), more)
    });
    add("sources.jsonl", &mut |at| {
        let host = address("P", at);
        let more = json!({
            "type": "journal", "issn_l": format!("1234-567{at}"), "issn": [format!("1234-567{at}")],
            "abbreviated_title": words.of(at), "alternate_titles": [words.of(at)],
            "host_organization": host,
        });
        with(of(&sources, "S", at), more)
    });
    add("institutions.jsonl", &mut |at| {
        let more = json!({
            "display_name_acronyms": [words.of(at)], "display_name_alternatives": [words.of(at)],
            "geo": { "city": words.of(at), "country_code": "GB", "country": "United Kingdom" },
        });
        with(institution(at), more)
    });
    add("publishers.jsonl", &mut |at| {
        with(of(&publishers, "P", at), json!({ "alternate_titles": [words.of(at)] }))
    });
    add("funders.jsonl", &mut |at| {
        let more = json!({ "alternate_titles": [words.of(at)], "description": words.of(at) });
        with(of(&funders, "F", at), more)
    });
    add("topics.jsonl", &mut |at| {
        let more = json!({ "description": words.of(at), "keywords": [words.of(at)] });
        with(with(of(&topics, "T", at), level(at)), more)
    });
    for (file, list, names, first) in [
        ("subfields.jsonl", "subfields", &subfields, 1700),
        ("fields.jsonl", "fields", &fields, 20),
        ("domains.jsonl", "domains", &domains, 0),
    ] {
        add(file, &mut |at| {
            let mut node = with(node(list, first + at, &names[at - 1]), level(at));
            let own = list.trim_end_matches('s');
            node.as_object_mut().unwrap().remove(own);
            with(node, json!({ "description": words.of(at) }))
        });
    }
    add("awards.jsonl", &mut |at| {
        json!({
            "id": address("G", at), "display_name": words.of(at), "description": words.of(at),
            "funder": of(&funders, "F", at), "funder_scheme": words.of(at),
            "lead_investigator": { "family_name": words.of(at) },
        })
    });
    let works = (1..=WORKS).map(|at| {
        let title = match at % 4 {
            0 => format!("{} of {SHARED}", words.of(at)),
            // A suppressed author's word in a title.
            1 => format!("The {} and {} effects", words.of(at), authors[0]),
            2 => format!("Notes on {} {}s", words.of(at), sources[0].split(' ').next().unwrap()),
            _ => format!("{} in graphene networks", words.of(at)),
        };
        let abstract_words = [words.of(at), "graphene".into(), topics[0].replace(' ', "-")];
        let inverted: Map<String, Value> =
            abstract_words.iter().zip(0..).map(|(word, at)| (word.clone(), json!([at]))).collect();
        // Most works have the suppressed author, source and topic, some have others beside them.
        let people: &[usize] = [&[1][..], &[2, 1, 3], &[1, 2], &[3], &[2, 1]][at % 5];
        let authorships: Vec<Value> = people
            .iter()
            .map(|who| {
                json!({
                    "author_position": "first", "author": (of(&authors, "A", *who)),
                    "institutions": [institution(*who)],
                    "raw_author_name": format!("printed {}", authors[who - 1]),
                })
            })
            .collect();
        let source = |at: usize| with(of(&sources, "S", at), json!({ "type": "journal" }));
        let location = |at: usize| json!({ "source": source(at), "is_oa": true });
        let topic = |at: usize| with(with(of(&topics, "T", at), level(at)), json!({ "score": 0.5 }));
        let [first, second] = [[1, 2], [2, 1], [1, 1], [3, 2]][at % 4];
        json!({
            "id": address("W", at), "doi": format!("https://doi.org/10.5555/{at}"),
            "title": title, "display_name": title, "language": (["en", "de"][at % 2]),
            "type": (["article", "book"][at % 2]), "publication_year": 2000 + at,
            "publication_date": format!("20{at:02}-01-01"),
            "abstract_inverted_index": inverted, "authorships": authorships,
            "primary_location": (location(first)), "locations": [location(first), location(second)],
            "primary_topic": (topic(first)), "topics": [topic(first), topic(second)],
            "keywords": [{ "id": "https://openalex.org/keywords/k", "display_name": words.of(at), "score": 0.5 }],
            "biblio": { "volume": words.of(at), "issue": words.of(at), "first_page": "3", "last_page": null },
            "funders": [of(&funders, "F", second)],
            "referenced_works": [address("W", 1 + at % WORKS), address("W", 1 + (at + 4) % WORKS)],
            "cited_by_count": 40 - 2 * at, "updated_date": "2026-01-10",
        })
    });
    let works = works.collect();
    files.push(("works.jsonl", works));
    files
}

/// Percent-encodes every byte.
fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// The spellings of a search for a word.
fn searches(word: &str) -> Vec<String> {
    let mut letters: Vec<char> = word.chars().collect();
    letters.swap(4, 5);
    let mistyped: String = letters.iter().collect();
    let mut texts = vec![
        word.to_owned(),
        word.to_uppercase(),
        mistyped.clone(),
        format!("{mistyped} graphene"),
        format!("{word} {SHARED} effects"),
        format!("{}*", &word[..5]),
        format!("{}?{}", &word[..4], &word[5..]),
        format!("{mistyped}~1"),
        format!("\"{word} {SHARED}\""),
        format!("\"{SHARED} {SHARED}\"~20"),
        format!("\"{word} {SHARED}\"~40"),
        format!("{SHARED} NOT {word}"),
        format!("{word} OR effects"),
    ];
    for field in ["title", "abstract", "author", "venue", "subject"] {
        texts.push(format!("{field}:{word}"));
        texts.push(format!("{field}:({}* OR {mistyped}~2) graphene", &word[..6]));
    }
    texts
}

/// The paths besides `/outputs` that [`ask_words`] sends searches to in turn.
const SEARCHED: usize = 6;

/// Asks every endpoint that takes words for a word, each with some spellings. They differ from number to number, so that several
/// words together have all spellings at every endpoint.
fn ask_words(both: &mut Both<'_>, number: usize, word: &str) {
    for (at, text) in searches(word).iter().enumerate() {
        let text = encoded(text);
        both.get(&format!("/outputs?search={text}"));
        let ends = [
            "&group_by=type",
            "&group_by=authors.id,topics.id",
            "&sort=id",
            "&per_page=3&page=2",
            "&format=ndjson&select=id,title,authors.name",
        ];
        both.get(&format!("/outputs?search={text}{}", ends[(number + at) % ends.len()]));
        match (number + at) % SEARCHED {
            0 => both.get(&format!("/outputs?search.exact={text}")),
            1 => both.get(&format!("/statistics/outputs?search={text}")),
            2 => both.get(&format!("/openalex/works?search={text}&select=id,relevance_score")),
            3 => both.get(&format!("/browse/outputs?search={text}")),
            4 => both.get_named(&format!("/outputs?search={text}")),
            _ => both.send("POST", "/outputs/search", FORM, &format!("search={text}&per_page=4")),
        }
    }
    let mut letters: Vec<char> = word.chars().collect();
    letters.swap(4, 5);
    let spellings = [word.to_owned(), letters.iter().collect(), word[..6].to_owned()];
    for (at, facts) in CATALOG.iter().filter(|facts| facts.has_single).enumerate() {
        let (route, text) = (facts.route, &spellings[(number + at) % spellings.len()]);
        both.get(&format!("/{route}?search={text}"));
        both.get(&format!("/{route}?filter=name.search:{text}"));
        both.get(&format!("/autocomplete/{route}?query={text}"));
        both.get(&format!("/openalex/{route}?search={text}"));
        both.get(&format!("/openalex/autocomplete/{route}?q={text}"));
        both.get(&format!("/browse/{route}?search={text}"));
        both.get(&format!("/browse/complete/{route}?query={text}"));
        both.get(&format!("/match/{route}?text={text}"));
        both.get(&format!("/statistics/{route}?search={text}"));
        let arguments = json!({ "list": route, "query": text });
        both.send("POST", "/mcp", JSON, &tool("search", &arguments));
    }
    for text in spellings {
        for key in [
            "author",
            "title",
            "abstract",
            "title_and_abstract",
            "name",
            "authors.name",
            "primary_venue.source.name",
        ] {
            both.get(&format!("/outputs?filter={key}.search:{text}"));
        }
        for key in [
            "title.search",
            "raw_affiliation_strings.search",
            "authorships.author.display_name.search",
        ] {
            both.get(&format!("/openalex/works?filter={key}:{text}"));
        }
        both.get(&format!("/autocomplete?query={text}"));
        both.get(&format!("/openalex/autocomplete?q={text}"));
        both.get(&format!("/browse/search?search={text}"));
        both.get(&format!("/browse/complete?query={text}"));
        both.get(&format!("/reconcile/suggest/entity?prefix={text}"));
        both.send(
            "POST",
            "/mcp",
            JSON,
            &tool("match", &json!({ "list": "outputs", "text": text })),
        );
        let queries = json!({ "q": { "query": text }, "w": { "query": text, "type": "outputs" } });
        both.send(
            "POST",
            "/reconcile",
            FORM,
            &format!("queries={}", encoded(&queries.to_string())),
        );
        let question = format!(
            "{{ outputs(search: \"{text}\") {{ meta {{ count }} results {{ id name authors {{ id name }} }} }} \
             authors(search: \"{text}\") {{ results {{ id name }} }} autocomplete(query: \"{text}\") {{ results {{ id name }} }} }}"
        );
        both.post(&question);
    }
    let citation = format!("{word} {SHARED}. graphene networks. 2003;1(2):3");
    both.get(&format!("/match/outputs?text={}", encoded(&citation)));
    both.send(
        "POST",
        "/match/outputs",
        "application/x-ndjson",
        &json!({ "text": citation }).to_string(),
    );
}

fn tool(name: &str, arguments: &Value) -> String {
    let params = json!({ "name": name, "arguments": arguments });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string()
}

/// Asks everything that takes an id, and everything that takes none.
fn ask_records(both: &mut Both<'_>, files: &[(&'static str, Vec<Value>)]) {
    for (file, records) in files {
        let list = file.trim_end_matches(".jsonl").replace("works", "outputs");
        for record in records {
            let address = record["id"].as_str().unwrap();
            let bare = address.rsplit('/').next().unwrap();
            let id =
                if bare.parse::<u64>().is_ok() { bare.to_owned() } else { format!("HX_{bare}") };
            let openalex = list.replace("outputs", "works");
            for target in [
                format!("/{list}/{id}"),
                format!("/resolve/{id}"),
                format!("/resolve/{}", encoded(address)),
                format!("/openalex/{openalex}/{bare}"),
                format!("/openalex/{bare}"),
                format!("/browse/{list}/{id}"),
                format!("/reconcile/preview?id={id}"),
                format!("/autocomplete?query={id}"),
                format!("/legacy/{list}/{bare}"),
            ] {
                both.get(&target);
            }
            both.send("POST", "/mcp", JSON, &tool("get", &json!({ "id": id })));
            for other in ["references", "citations"] {
                both.get(&format!("/outputs/{id}/{other}"));
            }
            for name in ["references", "cited_by"] {
                both.send("POST", "/mcp", JSON, &tool(name, &json!({ "id": id })));
            }
            let extend =
                json!({ "ids": [id], "properties": [{ "id": "name" }, { "id": "authors" }] });
            both.send(
                "POST",
                "/reconcile",
                FORM,
                &format!("extend={}", encoded(&extend.to_string())),
            );
        }
        for end in ["", "?format=ndjson", "?format=csv", "?sort=name"] {
            both.get(&format!("/{list}{end}"));
        }
        both.get(&format!("/statistics/{list}"));
        both.get(&format!("/openalex/{}?per_page=50", list.replace("outputs", "works")));
        both.get(&format!("/browse/{list}"));
        both.get(&format!("/reconcile/properties?type={list}"));
        both.send(
            "POST",
            "/mcp",
            JSON,
            &tool("count", &json!({ "list": list, "group_by": "name" })),
        );
        both.send("POST", "/mcp", JSON, &tool("statistics", &json!({ "list": list })));
    }
    for identifier in ["0000-0002-1825-0097", "1234-5671", "10.5555/1"] {
        both.get(&format!("/resolve/{identifier}"));
        both.get(&format!("/autocomplete?query={identifier}"));
    }
    for key in ["authors.id", "authors.name", "topics.id", "primary_venue.source.id", "funders.id"]
    {
        for end in ["", "&filter=type:article", "&format=ndjson", "&search=graphene"] {
            both.get(&format!("/outputs?group_by={key}{end}"));
        }
    }
    for target in [
        "/references/institution-types",
        "/llms.txt",
        "/browse",
        "/browse/taxonomy",
        "/sitemap.xml",
        "/legacy/topics",
        "/legacy/domains",
        "/robots.txt",
        "/reconcile",
    ] {
        both.get(target);
    }
}

/// Paths of the document whose replies no record decides, and `/changes`, which compares with an earlier snapshot.
const OTHERS: [&str; 9] = [
    "/graphiql",
    "/",
    "/health",
    "/ready",
    "/rate-limit",
    "/openapi.json",
    "/graphql/schema",
    "/changes",
    "/docs",
];

/// Pages that show fields of a suppressed topic, by which a server still finds outputs.
const OF_TOPICS: [&str; 5] = [
    "/browse/outputs",
    "/browse/subfields/",
    "/browse/fields/",
    "/browse/domains/",
    "/browse/taxonomy",
];

#[test]
fn no_word_of_a_suppressed_record_is_found_by_any_endpoint() {
    let mut words = Words { rng: SeededRng(11), suppressed: Vec::new() };
    let files = dump(&mut words);
    let input = tempfile::tempdir().unwrap();
    for (name, records) in &files {
        let lines: String = records.iter().map(|record| format!("{record}\n")).collect();
        pinakes_tests::write_files(input.path(), [(name, lines)]);
    }
    // Each entity alone, and all of them: what is found of one does not depend on the others.
    let first = |entity: Entity| match entity.facts().plural {
        "subfields" => listed_id(entity, 1701),
        "fields" => listed_id(entity, 21),
        _ => listed_id(entity, 1),
    };
    let all: Vec<Entity> = kinds().collect();
    let cases =
        [Entity::Author, Entity::Source, Entity::Topic, Entity::Output].map(|one| vec![one]);
    let check = |suppressed: Vec<Entity>| {
        let list = suppressed.iter().map(|entity| first(*entity)).collect();
        let pair = Pair::start_with(&[input.path().to_path_buf()], &[], |_| list);
        let mut both = Both::new(pair.servers());
        if suppressed.contains(&Entity::Topic) {
            both.left_out = &OF_TOPICS;
        }
        ask_records(&mut both, &files);
        let asked = match suppressed.as_slice() {
            [_] => words.suppressed.iter().step_by(7).collect::<Vec<_>>(),
            _ => words.suppressed.iter().collect(),
        };
        for (number, word) in asked.into_iter().enumerate() {
            ask_words(&mut both, number, &word.to_lowercase());
            both.connect();
        }
        for number in 0..SEARCHED {
            ask_words(&mut both, number, &SHARED.to_lowercase());
        }
        both.check();
        check_paths(&both, pair.servers()[0]);
        pair.end();
    };
    std::thread::scope(|scope| {
        for suppressed in cases.into_iter().chain([all]) {
            scope.spawn(|| check(suppressed));
        }
    });
}

/// Checks that each path of the document was asked.
fn check_paths(both: &Both<'_>, server: &Server) {
    let document = server.connect().get("/openapi.json").json();
    let is_asked = |path: &str| {
        both.targets.iter().any(|target| {
            let (segments, asked) = (path.split('/'), target.split('/'));
            path.matches('/').count() == target.matches('/').count()
                && segments.zip(asked).all(|(one, other)| one == other || one.starts_with('{'))
        })
    };
    let paths = document["paths"].as_object().unwrap().keys().map(String::as_str);
    let left: Vec<&str> = paths.filter(|path| !OTHERS.contains(path) && !is_asked(path)).collect();
    assert!(left.is_empty(), "not compared: {left:?}");
}
