//! Pages, cursors, groups, samples, identifiers, autocomplete and errors.

use pinakes_tests::client::Connection;
use pinakes_tests::server::{Server, Snapshots, command};
use serde_json::{Value, json};

use crate::openalex::serve;

#[track_caller]
fn get(connection: &mut Connection, target: &str) -> Value {
    let reply = connection.get(target);
    assert_eq!(reply.status, 200, "{target}: {}", reply.text());
    reply.json()
}

fn ids(page: &Value) -> Vec<String> {
    let results = page["results"].as_array().unwrap().iter();
    results.map(|record| record["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn cursors_walk_the_whole_list_of_their_snapshot() {
    let (snapshots, server) = serve();
    let mut connection = server.connect();
    let mut whole = Vec::new();
    for number in 1..=2 {
        let target =
            format!("/openalex/works?per_page=200&page={number}&select=id&sort=publication_date");
        whole.extend(ids(&get(&mut connection, &target)));
    }
    let mut walked = Vec::new();
    let mut cursor = "*".to_owned();
    let mut pages = 0;
    loop {
        let target =
            format!("/openalex/works?sort=publication_date&per-page=7&select=id&cursor={cursor}");
        let page = get(&mut connection, &target);
        assert_eq!(page["meta"]["page"], Value::Null);
        assert_eq!(page["meta"]["count"], whole.len());
        walked.extend(ids(&page));
        pages += 1;
        match page["meta"]["next_cursor"].as_str() {
            Some(next) => cursor = next.to_owned(),
            None => break,
        }
    }
    assert!(pages > 2);
    assert_eq!(walked, whole);
    // A cursor of a snapshot that is not open any more.
    let gone = connection.get("/openalex/works?per_page=7&cursor=0123456789abcdef-7");
    assert_eq!(gone.status, 410, "{}", gone.text());
    for wrong in ["x", "0123456789abcdef", "-1"] {
        let refused = connection.get(&format!("/openalex/works?cursor={wrong}"));
        assert_eq!(refused.status, 400, "{wrong}");
    }
    let id = snapshots.open().manifest().id.clone();
    let refused = connection.get(&format!("/openalex/works?per_page=10&cursor={id}-7"));
    assert!(refused.text().contains("keep `per_page`"), "{}", refused.text());
    let named = connection.get(&format!("/openalex/works?per_page=7&select=id&cursor={id}-7"));
    assert_eq!(named.header("x-snapshot-id"), Some(&*id));
    server.end(&[]);
}

#[test]
fn groups_count_as_those_of_the_interface() {
    let (_snapshots, server) = serve();
    let mut connection = server.connect();
    for (theirs, own) in [
        ("type", "type"),
        ("publication_year", "year"),
        ("open_access.is_oa", "open_access.is_oa"),
        ("authorships.author.id", "authors.id"),
        ("authorships.institutions.country_code", "authors.countries.code"),
        ("primary_topic.field.id", "primary_topic.field.id"),
        ("topics.domain.id", "topics.domain.id"),
        ("authorships.institutions.type", "authors.affiliations.type"),
        ("authorships.institutions.lineage", "authors.affiliations.lineage.id"),
        ("authorships.institutions.is_global_south", "authors.countries.is_global_south"),
        ("locations.source.id", "venues.source.id"),
        ("locations.license", "venues.license"),
        ("primary_location.source.host_organization", "primary_venue.source.host_organization"),
        ("locations.source.host_organization_lineage", "venues.source.host_organization.lineage"),
        ("best_oa_location.version", "best_oa_venue.version"),
        ("authors_count", "authors.count"),
    ] {
        let expected = get(&mut connection, &format!("/outputs?group_by={own}&per_page=100"));
        let target = format!("/openalex/works?group_by={theirs}:include_unknown&per_page=100");
        let found = get(&mut connection, &target);
        let counts = |page: &Value| -> Vec<(String, Value)> {
            let groups = page["group_by"].as_array().unwrap().iter();
            let key = |group: &Value| match &group["key"] {
                Value::Null => "unknown".to_owned(),
                Value::String(key) => key.rsplit('/').next().unwrap().replace("HX_", ""),
                other => other.to_string(),
            };
            groups.map(|group| (key(group), group["count"].clone())).collect()
        };
        assert_eq!(counts(&found), counts(&expected), "{theirs}");
        assert_eq!(found["results"], json!([]));
        assert_eq!(found["meta"]["groups_count"], expected["meta"]["groups_count"]);
        let known = get(&mut connection, &format!("/openalex/works?group-by={theirs}"));
        let known = known["group_by"].as_array().unwrap();
        assert!(known.iter().all(|group| group["key"] != "unknown"), "{theirs}");
        assert!(known.iter().all(|group| group["key"].is_string()), "{theirs}");
    }
    server.end(&[]);
}

#[test]
fn a_record_is_found_by_any_identifier() {
    let (_snapshots, server) = serve();
    let mut connection = server.connect();
    let page = get(&mut connection, "/openalex/works?filter=has_doi:true&per_page=1");
    let work = &page["results"][0];
    let (id, doi) = (work["id"].as_str().unwrap(), work["doi"].as_str().unwrap());
    let short = id.rsplit('/').next().unwrap();
    let bare = doi.strip_prefix("https://doi.org/").unwrap();
    for path in [
        format!("works/{short}"),
        format!("works/{}", short.to_lowercase()),
        format!("works/{id}"),
        format!("works/{doi}"),
        format!("works/doi:{bare}"),
        format!("works/{bare}"),
        format!("works/doi:{doi}"),
        short.to_owned(),
    ] {
        assert_eq!(get(&mut connection, &format!("/openalex/{path}")), *work, "{path}");
    }
    let author = &get(&mut connection, "/openalex/authors?filter=has_orcid:true&per_page=1");
    let author = &author["results"][0];
    let orcid = author["orcid"].as_str().unwrap();
    assert_eq!(get(&mut connection, &format!("/openalex/authors/{orcid}")), *author);
    let field = get(&mut connection, "/openalex/fields?per_page=1")["results"][0].clone();
    let number = field["id"].as_str().unwrap().rsplit('/').next().unwrap();
    for path in [format!("fields/{number}"), format!("fields/{}", field["id"].as_str().unwrap())] {
        assert_eq!(get(&mut connection, &format!("/openalex/{path}")), field, "{path}");
    }
    let random = get(&mut connection, "/openalex/works/random?select=id,doi");
    assert_eq!(random.as_object().unwrap().len(), 2);
    for (path, status) in [
        ("works/W999999999999", 404),
        ("works/A1", 404),
        ("works/nothing", 404),
        ("works/doi:10.9999/none", 404),
        ("concepts", 404),
        ("keywords/x", 404),
        ("works?search.semantic=x", 400),
        ("works?filter=concepts.id:C1", 400),
        ("works?group_by=repository", 400),
        ("works?sort=relevance_score:desc", 400),
        ("works?per_page=201", 400),
        ("works?page=1&cursor=*", 400),
        ("works?colour=red", 400),
        ("works?select=authorships.author", 400),
        ("autocomplete/works", 400),
    ] {
        let reply = connection.get(&format!("/openalex/{path}"));
        assert_eq!(reply.status, status, "{path}: {}", reply.text());
        let body = reply.json();
        assert!(body["error"].is_string() && body["message"].is_string(), "{path}: {body}");
    }
    server.end(&[]);
}

#[test]
fn other_identifiers_filter_by_the_records_that_have_them() {
    let (_snapshots, server) = serve();
    let mut connection = server.connect();
    let page = get(&mut connection, "/openalex/institutions?filter=has_ror:true&per_page=50");
    let mut found = 0;
    for institution in page["results"].as_array().unwrap() {
        let (id, ror) = (institution["id"].as_str().unwrap(), institution["ror"].as_str().unwrap());
        let mut by = |filter: String| {
            get(&mut connection, &format!("/openalex/works?filter={filter}&select=id&per_page=200"))
        };
        let by_id = by(format!("institutions.id:{id}"));
        let by_ror = by(format!("authorships.institutions.ror:{ror}"));
        assert_eq!(ids(&by_ror), ids(&by_id));
        let others = by(format!("institutions.ror:!{ror}"));
        assert_eq!(others["meta"]["count"], by(format!("institutions.id:!{id}"))["meta"]["count"]);
        found += by_id["meta"]["count"].as_u64().unwrap();
    }
    assert!(found > 0);
    let none =
        get(&mut connection, "/openalex/works?filter=institutions.ror:https://ror.org/05a28rw58");
    assert_eq!(none["meta"]["count"], 0);
    server.end(&[]);
}

#[test]
fn autocomplete_has_openalex_members() {
    let (_snapshots, server) = serve();
    let mut connection = server.connect();
    let own = get(&mut connection, "/autocomplete?query=uni");
    let found = get(&mut connection, "/openalex/autocomplete?q=uni");
    assert_eq!(found["meta"]["count"], own["meta"]["count"]);
    let pairs = found["results"].as_array().unwrap().iter().zip(own["results"].as_array().unwrap());
    for (found, own) in pairs {
        assert_eq!(found["display_name"], own["name"]);
        assert_eq!(found["works_count"], own["outputs_count"]);
        let id = found["id"].as_str().unwrap();
        assert!(id.starts_with("https://openalex.org/"));
        assert!(id.ends_with(own["id"].as_str().unwrap().trim_start_matches("HX_")));
    }
    let works = get(&mut connection, "/openalex/autocomplete/works?q=structure");
    assert!(works["results"].as_array().unwrap().iter().all(|work| work["entity_type"] == "work"));
    server.end(&[]);
}

#[test]
fn searches_score_and_samples_repeat() {
    let (_snapshots, server) = serve();
    let mut connection = server.connect();
    let own = get(&mut connection, "/outputs?search=structure");
    let found = get(&mut connection, "/openalex/works?search=structure&sort=relevance_score:desc");
    let scores = |page: &Value| -> Vec<Value> {
        let results = page["results"].as_array().unwrap().iter();
        results.map(|record| record["relevance_score"].clone()).collect()
    };
    assert_eq!(scores(&found), scores(&own));
    assert!(!scores(&own).is_empty());
    let phrase =
        get(&mut connection, "/openalex/works?filter=title.search:%22of%20the%22&select=id");
    let own = get(&mut connection, "/outputs?filter=title.search:%22%22%22of%20the%22%22%22");
    assert_eq!(phrase["meta"]["count"], own["meta"]["count"]);
    let mut sampled = |seed: &str| {
        let target = format!("/openalex/works?sample=5&seed={seed}&select=id&per_page=5");
        ids(&get(&mut connection, &target))
    };
    assert_eq!(sampled("a"), sampled("a"));
    assert_ne!(sampled("a"), sampled("b"));
    server.end(&[]);
}

#[test]
fn a_search_requires_all_words_and_corrects_none() {
    let (_snapshots, server) = serve();
    let mut connection = server.connect();
    let (mut fewer, mut corrected) = (0, 0);
    for (plain, required) in [
        ("structure", "structure"),
        ("structure quantum", "structure AND quantum"),
        ("theory of relativity molecules", "theory AND relativity AND molecules"),
        ("a quantum theory of gravity waves", "quantum AND theory AND gravity AND waves"),
        ("strcture", "\"strcture\""),
        ("qantum theory", "\"qantum\" AND theory"),
    ] {
        let ask = |text: &str| text.replace(' ', "+").replace('"', "%22");
        let own = get(&mut connection, &format!("/outputs?search={}", ask(plain)));
        let all = get(&mut connection, &format!("/outputs?search={}", ask(required)));
        let found =
            get(&mut connection, &format!("/openalex/works?search={}&select=id", ask(plain)));
        assert_eq!(found["meta"]["count"], all["meta"]["count"], "{plain}");
        let besides = &found["meta"]["search"];
        if own["meta"]["count"] == found["meta"]["count"] {
            assert!(besides.is_null(), "{plain}: {besides}");
            continue;
        }
        assert_eq!(besides["count"], own["meta"]["count"], "{plain}");
        assert_eq!(besides["words"], own["meta"]["search"]["words"], "{plain}");
        assert_eq!(besides["corrected"], own["meta"]["search"]["corrected"], "{plain}");
        fewer += 1;
        corrected += usize::from(!besides["corrected"].as_object().unwrap().is_empty());
    }
    assert!(fewer > 1 && corrected > 0, "{fewer} {corrected}");
    for (theirs, own) in [
        ("search.title=structure", "search=title:structure"),
        ("search.abstract=structure", "search=abstract:structure"),
        ("search.title_and_abstract=structure", "filter=title_and_abstract.search:structure"),
        ("filter=title.search.exact:structures", "search.exact=title:structures"),
        ("filter=title.search:structures", "search=title:structures"),
    ] {
        let found = get(&mut connection, &format!("/openalex/works?{theirs}&per_page=10"));
        let own = get(&mut connection, &format!("/outputs?{own}&per_page=10"));
        assert_eq!(found["meta"]["count"], own["meta"]["count"], "{theirs}");
        if theirs.starts_with("search.title_and_abstract") {
            // The interface has no relevance of a filter.
            continue;
        }
        let own: Vec<String> = ids(&own).iter().map(|id| id.replace("HX_", "")).collect();
        let short = |id: &String| id.rsplit('/').next().unwrap().to_owned();
        assert_eq!(ids(&found).iter().map(short).collect::<Vec<_>>(), own, "{theirs}");
    }
    server.end(&[]);
}

#[test]
fn a_searched_title_comes_among_the_first_whatever_its_punctuation() {
    let (_snapshots, server) = serve();
    let mut connection = server.connect();
    let listed = get(&mut connection, "/outputs?per_page=100&filter=title:!null");
    let mut asked = 0;
    for record in listed["results"].as_array().unwrap() {
        let title = record["title"].as_str().unwrap();
        // These are operators of a search, or of a filter.
        if title.contains(['"', '(', '?', '*', '-', '~', '|', ':', '<', '\'', '&', '%']) {
            continue;
        }
        let target = format!(
            "/openalex/works?filter=title.search:{}&select=id,title,relevance_score",
            title.replace(' ', "+")
        );
        let found = get(&mut connection, &target);
        // A title may begin another.
        let mut first = found["results"].as_array().unwrap().iter().take(3);
        let own = first.find(|work| work["title"] == title).expect(&target);
        assert!(own["relevance_score"].is_number(), "{target}");
        asked += 1;
    }
    assert!(asked > 10);
    let titled = "/openalex/works?select=id&filter=display_name.search:Costs,+quality:+a+study";
    assert_eq!(connection.get(titled).status, 400);
    let titled =
        "/openalex/works?select=id&filter=display_name.search:Costs,+quality+of+life:+a+study";
    assert_eq!(connection.get(titled).status, 200);
    let whole = get(&mut connection, "/openalex/works?search=&filter=&sort=&select=id");
    let all = get(&mut connection, "/openalex/works?select=id");
    assert_eq!(ids(&whole), ids(&all));
    for refused in ["search=a&search.exact=b", "sample=2&group_by=type"] {
        assert_eq!(connection.get(&format!("/openalex/works?{refused}")).status, 400, "{refused}");
    }
    let named = get(&mut connection, "/openalex/authors?search=smith&sort=relevance_score:desc");
    assert_eq!(named["results"], get(&mut connection, "/openalex/authors?search=smith")["results"]);
    let foreign = "GET /openalex/works?select=cited_by_api_url HTTP/1.1\r\nHost: evil\r\n\r\n";
    connection.send(foreign.as_bytes()).unwrap();
    assert!(!connection.receive().unwrap().text().contains("evil"));
    server.end(&[]);
}

#[test]
fn limits_count_and_refuse_in_openalex_shape() {
    let snapshots = Snapshots::from_sample();
    let mut command = command(&["--snapshots".as_ref(), snapshots.path().as_os_str()]);
    command.args(["--minute-limit", "2"]);
    let server = Server::start(command.env_remove("PINAKES_NO_LIMITS"));
    let mut connection = server.connect();
    assert_eq!(connection.get("/openalex/works?select=id").status, 200);
    assert_eq!(connection.get("/openalex/authors?select=id").status, 200);
    let refused = connection.get("/openalex/works?select=id");
    assert_eq!(refused.status, 429);
    assert!(refused.header("retry-after").is_some());
    let body = refused.json();
    assert!(body["error"].is_string() && body["message"].is_string(), "{body}");
    server.end(&[]);
}

#[test]
fn every_error_has_the_shape_of_openalex() {
    let (_snapshots, server) = serve();
    let mut connection = server.connect();
    let long = format!("/openalex/works?search={}", "a".repeat(17_000));
    let mut check = |request: &str, status: u16| {
        connection.send(format!("{request}\r\nHost: a\r\n\r\n").as_bytes()).unwrap();
        let reply = connection.receive().unwrap();
        assert_eq!(reply.status, status, "{request:.200}");
        let body = reply.json();
        let members: Vec<&String> = body.as_object().unwrap().keys().collect();
        assert_eq!(members, ["error", "message"], "{request:.200}");
    };
    check("GET /openalex/works?filter=nothing:1 HTTP/1.1", 400);
    check("GET /openalex/nothing HTTP/1.1", 404);
    check("GET /openalex/works/W1 HTTP/1.1", 404);
    check("DELETE /openalex/works HTTP/1.1", 405);
    check("POST /openalex/works HTTP/1.1", 405);
    check(&format!("GET {long} HTTP/1.1"), 414);
    server.end(&[]);
}

#[test]
fn keys_of_clients_reach_no_log() {
    let (_snapshots, server) = serve();
    let mut connection = server.connect();
    for target in [
        "works?api_key=secret&select=id",
        "works/random?mailto=secret%40x",
        "works?%61pi_key=secret",
    ] {
        get(&mut connection, &format!("/openalex/{target}"));
    }
    server.await_log(&["/openalex/works?select=id"]);
    let log = server.log();
    assert!(!log.contains("secret"), "{log}");
    server.end(&[]);
}

#[test]
fn the_dialect_can_be_left_out() {
    let snapshots = Snapshots::from_sample();
    let mut command = command(&["--snapshots".as_ref(), snapshots.path().as_os_str()]);
    command.arg("--no-openalex");
    let server = Server::start(&mut command);
    let mut connection = server.connect();
    for path in ["/openalex", "/openalex/works", "/openalex/works/W1", "/openalex/autocomplete?q=a"]
    {
        assert_eq!(connection.get(path).status, 404, "{path}");
    }
    server.end(&[]);
}

#[test]
fn small_lists_count_the_values_that_records_have() {
    let (_snapshots, server) = serve();
    let mut connection = server.connect();
    let lists = [
        ("keywords", "works", "keywords.id"),
        ("types", "works", "type"),
        ("work-types", "works", "type"),
        ("languages", "works", "language"),
        ("countries", "works", "institutions.country_code"),
        ("continents", "works", "institutions.continent"),
        ("licenses", "works", "primary_location.license"),
        ("sdgs", "works", "sustainable_development_goals.id"),
        ("oa-statuses", "works", "open_access.oa_status"),
        ("indexes", "works", "indexed_in"),
        ("institution-types", "institutions", "type"),
        ("source-types", "sources", "type"),
    ];
    for (name, list, key) in lists {
        let page = get(&mut connection, &format!("/openalex/{name}?per-page=3"));
        let groups = get(&mut connection, &format!("/openalex/{list}?group_by={key}"));
        assert_eq!(page["meta"]["count"], groups["meta"]["groups_count"], "{name}");
        let entries = page["results"].as_array().unwrap();
        assert!(!entries.is_empty() && entries.len() <= 3, "{name}");
        for (entry, group) in entries.iter().zip(groups["group_by"].as_array().unwrap()) {
            assert_eq!(entry[format!("{list}_count")], group["count"], "{name}");
            assert_eq!(entry["display_name"], group["key_display_name"], "{name}");
            let id = entry["id"].as_str().unwrap();
            assert!(id.starts_with("https://"), "{id}");
            // One value is a record, and its list has as many records.
            let bare = id.rsplit('/').next().unwrap();
            assert_eq!(&get(&mut connection, &format!("/openalex/{name}/{bare}")), entry);
            let address = entry[format!("{list}_api_url")].as_str().unwrap();
            let (_, rest) = address.split_once("api.openalex.org").unwrap();
            let of_value = get(&mut connection, &format!("/openalex{rest}"));
            assert_eq!(of_value["meta"]["count"], group["count"], "{address}");
        }
    }
    assert_eq!(connection.get("/openalex/types/none-such").status, 404);
    let refused = connection.get("/openalex/types?filter=cited_by_count:%3E1");
    assert_eq!(refused.status, 400, "{}", refused.text());
    let all = get(&mut connection, "/openalex/types?per_page=200");
    let most = all["results"][0]["works_count"].as_u64().unwrap();
    let used = |least: u64| {
        let results = all["results"].as_array().unwrap().iter();
        results.filter(|entry| entry["works_count"].as_u64().unwrap() >= least).count() as u64
    };
    for least in [1, 2, most, most + 1] {
        let target = format!("/openalex/types?filter=works_count:%3E{}&per_page=1", least - 1);
        let page = get(&mut connection, &target);
        assert_eq!(page["meta"]["count"], used(least), "{target}");
        let on_page = page["results"].as_array().unwrap();
        assert_eq!(on_page.len() as u64, used(least).min(1), "{target}");
        assert!(on_page.iter().all(|entry| *entry == all["results"][0]), "{target}");
    }
    let found = get(&mut connection, "/openalex/types?filter=id:types/article|book,id:!book");
    assert_eq!(found["meta"]["count"], 1);
    assert_eq!(found["results"][0]["display_name"], "article");
    let found = get(&mut connection, "/openalex/countries?search=united&per_page=200");
    let found = found["results"].as_array().unwrap();
    assert!(!found.is_empty());
    for entry in found {
        assert!(entry["display_name"].as_str().unwrap().contains("United"), "{entry}");
    }
    let least = get(&mut connection, "/openalex/types?sort=works_count:asc&select=works_count");
    let counts: Vec<_> = least["results"].as_array().unwrap().iter().collect();
    assert!(counts.iter().all(|entry| entry.as_object().unwrap().len() == 1), "{least}");
    assert!(counts.is_sorted_by_key(|entry| entry["works_count"].as_u64()), "{least}");
    let refused = connection.get("/openalex/types?select=doi");
    assert!(refused.text().contains("is no member of this list"), "{}", refused.text());
    let walked = get(&mut connection, "/openalex/types?per_page=2&cursor=*");
    let next = walked["meta"]["next_cursor"].as_str().unwrap().to_owned();
    let second = get(&mut connection, &format!("/openalex/types?per_page=2&cursor={next}"));
    assert_ne!(ids(&walked), ids(&second));
}
