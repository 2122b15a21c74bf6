//! The Model Context Protocol: what its versions ask of replies, each tool against the interface, and refusals.

mod clients;
mod hostile;
mod stdio;

use pinakes_tests::client::{Connection, Response};
use pinakes_tests::server::{Server, Snapshots, command};
use serde_json::{Value, json};

const JSON: &str = "Content-Type: application/json";
/// A call of each tool.
const CALLS: [(&str, &str); 8] = [
    ("search", r#"{"query":"structure","filter":"year:>1900","page":1}"#),
    ("get", r#"{"id":"HX_W2900000096"}"#),
    ("match", r#"{"list":"sources","text":"Nature"}"#),
    ("cite", r#"{"ids":["HX_W2900000096"]}"#),
    ("cited_by", r#"{"id":"HX_W2900000096"}"#),
    ("references", r#"{"id":"HX_W2900000096"}"#),
    ("count", r#"{"group_by":"type"}"#),
    ("statistics", r#"{"filter":"is_oa:true"}"#),
];

/// Posts a text to `/mcp`.
#[track_caller]
fn post(connection: &mut Connection, headers: &[&str], body: &str) -> Response {
    let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
    let length = body.len();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\n{headers}Content-Length: {length}\r\n\r\n{body}"
    );
    connection.send(head.as_bytes()).unwrap();
    connection.receive_to("POST").unwrap()
}

/// Sends a request, and returns its result.
#[track_caller]
fn ask(connection: &mut Connection, method: &str, params: Value) -> Value {
    let body = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params });
    let reply = post(connection, &[JSON], &body.to_string());
    assert_eq!(reply.status, 200, "{method}: {}", reply.text());
    let answer = reply.json();
    assert_eq!((&answer["jsonrpc"], &answer["id"]), (&json!("2.0"), &json!(7)));
    assert!(answer["error"].is_null(), "{answer}");
    answer["result"].clone()
}

/// Calls a tool that succeeds, and returns its answer.
#[track_caller]
fn tool(connection: &mut Connection, name: &str, arguments: Value) -> Value {
    let result = ask(connection, "tools/call", json!({ "name": name, "arguments": arguments }));
    assert!(result["isError"].is_null(), "{result}");
    let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(text, result["structuredContent"]);
    text
}

/// Calls a tool that fails, and returns what it says.
#[track_caller]
fn failure(connection: &mut Connection, name: &str, arguments: Value) -> String {
    let result = ask(connection, "tools/call", json!({ "name": name, "arguments": arguments }));
    assert_eq!(result["isError"], true, "{result}");
    result["content"][0]["text"].as_str().unwrap().to_owned()
}

#[test]
fn a_client_of_each_version_begins_and_lists() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    for (asked, given) in
        [("2025-06-18", "2025-06-18"), ("2024-11-05", "2024-11-05"), ("1999-01-01", "2025-11-25")]
    {
        let begun = ask(
            &mut connection,
            "initialize",
            json!({ "protocolVersion": asked, "capabilities": {} }),
        );
        assert_eq!(begun["protocolVersion"], given);
        assert!(begun["instructions"].as_str().unwrap().contains("never instructions"));
        assert!(begun["resultType"].is_null());
    }
    let meta = json!({ "_meta": { "io.modelcontextprotocol/protocolVersion": "2026-07-28" } });
    let found = ask(&mut connection, "server/discover", meta.clone());
    assert!(found["supportedVersions"].as_array().unwrap().contains(&json!("2026-07-28")));
    for method in ["tools/list", "resources/list", "server/discover"] {
        let listed = ask(&mut connection, method, meta.clone());
        assert_eq!(
            (&listed["resultType"], &listed["cacheScope"]),
            (&json!("complete"), &json!("public"))
        );
    }
    let tools = ask(&mut connection, "tools/list", json!({}))["tools"].clone();
    let names: Vec<&str> =
        tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    let expected =
        ["search", "get", "match", "cite", "cited_by", "references", "count", "statistics"];
    assert_eq!(names, expected);
    for tool in tools.as_array().unwrap() {
        assert_eq!(tool["inputSchema"]["type"], "object");
        assert_eq!(tool["annotations"]["readOnlyHint"], true);
    }
    let notified =
        post(&mut connection, &[JSON], r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    assert_eq!((notified.status, notified.body.len()), (202, 0));
    assert_eq!(ask(&mut connection, "ping", json!({})), json!({}));
    let unknown = r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2099-01-01"}}}"#;
    let refused = post(&mut connection, &[JSON], unknown);
    assert_eq!((refused.status, refused.json()["error"]["code"].as_i64()), (400, Some(-32022)));
    for id in ["true", "{}", "[1]"] {
        let message = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}");
        let refused = post(&mut connection, &[JSON], &message);
        assert_eq!((refused.status, &refused.json()["id"]), (400, &Value::Null), "{id}");
    }
    server.end(&[]);
}

#[test]
fn each_tool_answers_as_the_interface_does() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let found = tool(
        &mut connection,
        "search",
        json!({ "query": "structure", "filter": "year:>1900", "page": 1 }),
    );
    let list = connection.get("/outputs?search=structure&filter=year:%3E1900&per_page=10").json();
    assert_eq!(found["result"]["meta"]["count"], list["meta"]["count"]);
    let ids = |value: &Value| -> Vec<Value> {
        value["results"].as_array().unwrap().iter().map(|record| record["id"].clone()).collect()
    };
    assert_eq!(ids(&found["result"]), ids(&list));
    let id = &list["results"][0]["id"];
    let named = connection.get("/outputs");
    assert_eq!(found["snapshot"].as_str(), named.header("x-snapshot-id"));
    let record = connection.get(&format!("/outputs/{}", id.as_str().unwrap())).json();
    let by_doi = tool(&mut connection, "get", json!({ "id": record["doi"] }));
    assert_eq!(by_doi["result"], record);
    let members = tool(&mut connection, "get", json!({ "id": id, "members": ["year", "id"] }));
    assert_eq!(members["result"], json!({ "id": id, "year": (record["year"]) }));
    let watson = "HX_W2900000096";
    let citing = tool(&mut connection, "cited_by", json!({ "id": watson }));
    let listed = connection.get(&format!("/outputs?filter=references:{watson}&per_page=10")).json();
    assert_eq!(ids(&citing["result"]), ids(&listed));
    let cited = tool(&mut connection, "references", json!({ "id": watson }));
    let listed =
        connection.get(&format!("/outputs?filter=referenced_by:{watson}&per_page=10")).json();
    assert_eq!(ids(&cited["result"]), ids(&listed));
    let pages: Vec<Value> = (1..=2)
        .map(|page| tool(&mut connection, "count", json!({ "group_by": "year", "page": page })))
        .collect();
    assert_eq!(pages[0]["more"], "`page` 2 has the next");
    assert_eq!(pages[1]["result"], connection.get("/outputs?group_by=year&page=2").json());
    let counted = tool(&mut connection, "count", json!({ "group_by": "type" }));
    assert!(counted["more"].is_null(), "{counted}");
    assert_eq!(counted["result"], connection.get("/outputs?group_by=type").json());
    let summed = tool(&mut connection, "statistics", json!({ "filter": "is_oa:true" }));
    let expected = connection.get("/statistics/outputs?of=cited_by_count&filter=is_oa:true").json();
    assert_eq!(summed["result"], expected);
    let citation = "Watson JD, Crick FH. Molecular structure of nucleic acids: a structure for deoxyribose nucleic acid. \
                    Nature. 1953;171:737-8.";
    let matched = tool(&mut connection, "match", json!({ "text": citation }));
    let first = &matched["result"]["results"][0];
    assert_eq!((&first["id"], &first["match"]), (&json!(watson), &json!(true)));
    let authors =
        tool(&mut connection, "search", json!({ "list": "authors", "query": "einstein" }));
    assert!(authors["result"]["meta"]["count"].as_u64() > Some(0));
    let guide = ask(&mut connection, "resources/read", json!({ "uri": "pinakes://guide" }));
    assert!(guide["contents"][0]["text"].as_str().unwrap().contains("## Routes"));
    let snapshot = ask(&mut connection, "resources/read", json!({ "uri": "pinakes://snapshot" }));
    assert!(
        snapshot["contents"][0]["text"]
            .as_str()
            .unwrap()
            .contains(found["snapshot"].as_str().unwrap())
    );
    server.end(&[]);
}

#[test]
fn several_records_come_in_one_call_and_by_any_identifier() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let found = tool(&mut connection, "search", json!({ "query": "structure", "abstract": true }));
    let records = found["result"]["results"].as_array().unwrap().clone();
    let mut ids: Vec<Value> = records.iter().map(|record| record["id"].clone()).collect();
    let mut with_text = 0;
    for record in &records {
        let whole = connection.get(&format!("/outputs/{}", record["id"].as_str().unwrap())).json();
        let text = whole["abstract"].as_str().unwrap_or_default();
        let shown = record["abstract"].as_str().unwrap_or_default().trim_end_matches('…');
        assert!(text.starts_with(shown), "{record}");
        assert_eq!(text.chars().count().min(1_000), shown.chars().count());
        with_text += usize::from(!shown.is_empty());
    }
    assert!(with_text > 0);
    ids.push("10.9999/none".into());
    let members = json!({ "ids": ids, "members": ["id", "abstract"] });
    let several = tool(&mut connection, "get", members)["results"].clone();
    for (record, got) in records.iter().zip(several.as_array().unwrap()) {
        assert_eq!(got["result"]["id"], record["id"]);
        assert_eq!(got["result"]["abstract"], record["abstract"]);
    }
    let absent = several.as_array().unwrap().last().unwrap();
    assert!(absent["error"].as_str().unwrap().contains("found"), "{absent}");
    let many: Vec<u32> = (0..26).collect();
    let many: Vec<String> = many.iter().map(|id| format!("HX_W{id}")).collect();
    assert!(failure(&mut connection, "get", json!({ "ids": many })).contains("1 to 25"));
    // By a DOI, and with what the snapshot lacks.
    let watson = connection.get("/outputs/HX_W2900000096").json();
    for (name, list) in [("cited_by", "citations"), ("references", "references")] {
        let by_doi = tool(&mut connection, name, json!({ "id": watson["doi"] }));
        let by_id = tool(&mut connection, name, json!({ "id": "HX_W2900000096" }));
        assert_eq!(by_doi, by_id);
        let count = by_id["result"]["meta"]["count"].as_u64().unwrap();
        if list == "citations" {
            let counted = watson["cited_by_count"].as_u64().unwrap();
            let note = format!(
                "the record counts {counted} citations, of which this snapshot has {count}"
            );
            assert_eq!(by_id["note"], note);
        }
    }
    let works = tool(&mut connection, "search", json!({ "list": "works", "query": "structure" }));
    assert_eq!(works["result"]["results"].as_array().unwrap().len(), records.len());
    server.end(&[]);
}

#[test]
fn references_are_those_of_the_interface() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let watson = "HX_W2900000096";
    for format in ["bibtex", "ris", "csl-json"] {
        let cited = tool(&mut connection, "cite", json!({ "ids": [watson], "format": format }));
        let file = connection.get(&format!("/outputs/{watson}?format={format}"));
        // The same, without abstract and keywords.
        let cited = cited["references"][0].as_str().unwrap();
        match serde_json::from_str::<Value>(file.text()) {
            Ok(mut whole) => {
                let item = whole.as_object_mut().unwrap();
                assert!(item.remove("abstract").is_some() && item.remove("keyword").is_some());
                assert_eq!(serde_json::from_str::<Value>(cited).unwrap(), whole);
            }
            Err(_) => {
                let is_text = |line: &&str| {
                    ["  abstract", "  keywords", "AB  -", "KW  -"]
                        .iter()
                        .any(|begin| line.starts_with(begin))
                };
                let (texts, others): (Vec<&str>, Vec<&str>) =
                    file.text().trim_end().lines().partition(is_text);
                assert!(texts.len() > 1, "{texts:?}");
                assert_eq!(cited.lines().collect::<Vec<_>>(), others);
            }
        }
    }
    let text = tool(&mut connection, "cite", json!({ "ids": [watson, watson] }));
    let reference = text["references"][0].as_str().unwrap();
    assert!(reference.starts_with("Watson, J. D., & Crick, F. (1953). "), "{reference}");
    assert_eq!(text["references"][1], reference);
    let read = ask(&mut connection, "resources/read", json!({ "uri": "pinakes://llms.txt" }));
    assert_eq!(read["contents"][0]["text"], connection.get("/llms.txt").text());
    server.end(&[]);
}

#[test]
fn a_long_record_is_short_in_lists_and_given_by_its_members() {
    let author = |id: u32| json!({ "author": { "id": (format!("https://openalex.org/A{id}")), "display_name": "Ada" } });
    let authors: Vec<Value> = (1..=1_000).map(author).collect();
    let work = json!({ "id": "https://openalex.org/W1", "title": "Together", "display_name": "Together", "authorships": authors });
    let dump = tempfile::tempdir().unwrap();
    pinakes_tests::write_files(dump.path(), [("works.jsonl", format!("{work}\n"))]);
    let snapshots = Snapshots::from_inputs(&[dump.path().to_path_buf()]);
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let found = tool(&mut connection, "search", json!({ "query": "together" }));
    let record = &found["result"]["results"][0];
    assert_eq!(record["authors"].as_array().unwrap().len(), 5);
    let listed = connection.get("/outputs?select=authors.name&format=ndjson").json();
    let all = listed["authors"].as_array().unwrap().len();
    assert_eq!(record["more_authors"], all - 5);
    let whole = connection.get("/outputs/HX_W1").json();
    let first = tool(&mut connection, "get", json!({ "id": "HX_W1" }));
    assert_eq!(first["more"], format!("`page` 2 has the next of {} of authors", all - 25));
    let third = tool(&mut connection, "get", json!({ "id": "HX_W1", "page": 3 }));
    let items = |of: &Value, range: std::ops::Range<usize>| {
        of["authors"].as_array().unwrap()[range].to_vec()
    };
    assert_eq!(third["result"]["authors"], json!(items(&whole, 50..75)));
    assert_eq!(first["result"]["authors"], json!(items(&whole, 0..25)));
    let last = tool(&mut connection, "get", json!({ "id": "HX_W1", "page": all.div_ceil(25) }));
    assert!(last["more"].is_null(), "{last}");
    let name = tool(&mut connection, "get", json!({ "id": "HX_W1", "members": ["name"] }));
    assert_eq!(name["result"], json!({ "name": "Together" }));
    server.end(&[]);
}

#[test]
fn wrong_arguments_say_what_to_try() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    for (name, arguments, words) in [
        ("search", json!({ "filter": "yaer:2020" }), "did you mean `year`?"),
        ("search", json!({ "query": "(a OR" }), "a clause is missing"),
        ("search", json!({ "list": "papers" }), "`list` must be one of outputs"),
        ("search", json!({ "words": "x" }), "unknown field `words`"),
        ("search", json!({ "page": -1 }), "invalid value"),
        ("get", json!({}), "give one of `id` and `ids`"),
        ("get", json!({ "id": "HX_W1", "ids": ["HX_W1"] }), "give one of `id` and `ids`"),
        ("get", json!({ "ids": [] }), "1 to 25 identifiers"),
        (
            "cite",
            json!({ "ids": ["HX_W2900000096"], "format": "mla" }),
            "`bibtex`, `ris` or `csl-json`",
        ),
        (
            "search",
            json!({ "filter": "journal:Nature" }),
            "did you mean `primary_venue.source.id`?",
        ),
        ("search", json!({ "filter": "publication_year:2020" }), "did you mean `year`?"),
        ("search", json!({ "list": "authors", "filter": "country:DE" }), "country"),
        ("get", json!({ "id": "10.9999/none" }), "found; `search` finds records by words"),
        (
            "get",
            json!({ "id": "HX_W2900000096", "members": ["titel"] }),
            "there are id, doi, title",
        ),
        ("cited_by", json!({ "id": "HX_W404" }), "Nothing with identifier HX_W404 found"),
        ("cited_by", json!({ "id": "HX_F4320306076" }), "`search` finds records by words"),
        // A comma in an id adds no filter.
        ("cited_by", json!({ "id": "HX_W2900000096,year:>1" }), "Nothing with identifier"),
        ("match", json!({ "list": "authors", "text": "J Smith" }), "add `orcid`, `affiliation`"),
        ("get", json!({ "id": "../health" }), "Nothing with identifier"),
        ("count", json!({ "group_by": "abstract" }), "group_by"),
        ("match", json!({ "text": "" }), "text"),
        ("search", json!({ "query": "x".repeat(20_000) }), "longer than 16384 bytes"),
    ] {
        let said = failure(&mut connection, name, arguments.clone());
        assert!(said.contains(words), "{name} {arguments}: {said}");
    }
    let check = |connection: &mut Connection, body: &str, status: u16, code: i64| {
        let reply = post(connection, &[JSON], body);
        assert_eq!(
            (reply.status, reply.json()["error"]["code"].as_i64()),
            (status, Some(code)),
            "{body}"
        );
    };
    check(&mut connection, "{", 400, -32700);
    check(&mut connection, "[]", 400, -32600);
    check(&mut connection, "{}", 400, -32600);
    check(&mut connection, r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, 400, -32600);
    check(&mut connection, r#"{"jsonrpc":"2.0","id":1,"method":null}"#, 400, -32600);
    check(&mut connection, r#"{"jsonrpc":"2.0","id":1,"method":"nothing"}"#, 200, -32601);
    let unknown = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"nothing"}}"#;
    check(&mut connection, unknown, 200, -32602);
    let absent = r#"{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///etc/passwd"}}"#;
    check(&mut connection, absent, 200, -32002);
    assert_eq!(connection.get("/mcp").status, 405);
    // Refusals of HTTP are errors of JSON-RPC too.
    let refused = post(&mut server.connect(), &["Content-Type: text/plain"], "{}");
    assert_eq!((refused.status, &refused.json()["error"]["code"]), (415, &json!(-32600)));
    let refused = post(&mut server.connect(), &[JSON], &" ".repeat(65_537));
    assert_eq!((refused.status, &refused.json()["error"]["code"]), (413, &json!(-32600)));
    server.end(&[]);
}

#[test]
fn names_that_agents_try_lead_to_keys_that_work() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let connection = &mut connection;
    // The list may have OpenAlex's name.
    assert!(
        tool(connection, "search", json!({ "list": "works" }))["result"]["meta"]["count"].as_u64()
            > Some(0)
    );
    for (list, tried, key) in [
        ("outputs", "venue", "primary_venue.source.id"),
        ("outputs", "journal", "primary_venue.source.id"),
        ("outputs", "source", "primary_venue.source.id"),
        ("outputs", "author", "authors.id"),
        ("outputs", "institution", "authors.affiliations.id"),
        ("outputs", "affiliation", "authors.affiliations.id"),
        ("outputs", "country", "authors.countries.code"),
        ("outputs", "funder", "funders.id"),
        ("outputs", "publisher", "primary_venue.source.host_organization"),
        ("outputs", "topic", "topics.id"),
        ("outputs", "publication_year", "year"),
        ("outputs", "open_access", "open_access.is_oa"),
        ("outputs", "language", "language.code"),
        ("outputs", "keyword", "keywords"),
        ("authors", "institution", "last_known_institutions.id"),
        ("authors", "country", "last_known_institutions.country.code"),
        ("institutions", "country", "country.code"),
    ] {
        let arguments = json!({ "list": list, "filter": format!("{tried}:x") });
        let said = failure(connection, "search", arguments);
        assert!(said.contains(&format!("did you mean `{key}`?")), "{list} {tried}: {said}");
        // The key counts groups, and filters by the value of one.
        let groups = tool(connection, "count", json!({ "list": list, "group_by": key }));
        let groups = groups["result"]["group_by"].as_array().unwrap().clone();
        let value = groups.iter().find_map(|group| {
            group["key"]
                .as_str()
                .map(str::to_owned)
                .or_else(|| Some(group["key"].as_i64()?.to_string()))
        });
        let Some(value) = value else { continue };
        let quoted = format!("{key}:\"{value}\"");
        let found = tool(connection, "search", json!({ "list": list, "filter": quoted }));
        assert!(found["result"]["meta"]["count"].as_u64() > Some(0), "{list} {quoted}: {found}");
    }
    // A name in the place of an id leads to the key of its words, or to the list that has the ids.
    let said = failure(connection, "search", json!({ "filter": "authors.id:Albert Einstein" }));
    assert!(said.contains("`authors.name.search:Albert Einstein` finds words of names"), "{said}");
    let found =
        tool(connection, "search", json!({ "filter": "authors.name.search:Albert Einstein" }));
    assert!(found["result"]["meta"]["count"].as_u64() > Some(0), "{found}");
    let said = failure(connection, "search", json!({ "filter": "topics.id:physics" }));
    assert!(said.contains("`/topics?search=physics` finds ids by names"), "{said}");
    server.end(&[]);
}

#[test]
fn pages_of_other_hosts_ask_no_server_of_this_machine() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    for (origin, status) in [
        ("Origin: http://localhost:3000", 200),
        ("Origin: http://127.0.0.1", 200),
        ("Origin: http://[::1]:80", 200),
        ("Origin: https://evil.example", 403),
        ("Origin: http://localhost.evil.example", 403),
        ("Origin: null", 403),
    ] {
        // The body of a refused message is not read, so that the connection ends.
        let reply = post(&mut server.connect(), &[JSON, origin], ping);
        assert_eq!(reply.status, status, "{origin}");
    }
    // A host may give its name the address of this machine.
    let mut connection = server.connect();
    let head = "POST /mcp HTTP/1.1\r\nHost: evil.example\r\nOrigin: http://evil.example\r\n";
    let request = format!("{head}{JSON}\r\nContent-Length: {}\r\n\r\n{ping}", ping.len());
    connection.send(request.as_bytes()).unwrap();
    assert_eq!(connection.receive_to("POST").unwrap().status, 403);
    server.end(&[]);
}

#[test]
fn a_message_counts_as_a_list_and_the_operator_turns_them_off() {
    let snapshots = Snapshots::from_sample();
    let at = snapshots.path().to_str().unwrap();
    let args = ["--snapshots", at, "--daily-list", "2"];
    let server = Server::start(command(&args).env_remove("PINAKES_NO_LIMITS"));
    let mut connection = server.connect();
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let statuses: Vec<u16> = (0..2).map(|_| post(&mut connection, &[JSON], ping).status).collect();
    assert_eq!(statuses, [200, 200]);
    let refused = post(&mut connection, &[JSON], ping);
    assert_eq!(refused.status, 429);
    assert!(refused.header("retry-after").is_some());
    let error = &refused.json()["error"];
    assert_eq!((&error["code"], &error["data"]["statusCode"]), (&json!(-32603), &json!(429)));
    assert!(error["message"].as_str().unwrap().contains("daily quota"), "{error}");
    server.end(&[]);
    let server = Server::start(&mut command(&["--snapshots", at, "--no-mcp"]));
    assert_eq!(post(&mut server.connect(), &[JSON], ping).status, 404);
    server.end(&[]);
}

/// Plays an agent that reviews thirty papers on a topic: counts, lists with abstracts, references, and what leads on from the
/// first paper. Returns the papers that it read.
fn review(server: &Server, topic: &str) -> usize {
    let mut connection = server.connect();
    let (mut calls, mut bytes) = (0, 0);
    let mut call = |name: &str, arguments: Value| {
        let answer = tool(&mut connection, name, arguments);
        calls += 1;
        bytes += answer.to_string().len();
        answer
    };
    call("count", json!({ "query": topic, "group_by": "year" }));
    let mut ids: Vec<Value> = Vec::new();
    for page in 1..=3 {
        let arguments = json!({ "query": topic, "abstract": true, "page": page });
        let found = call("search", arguments)["result"]["results"].take();
        ids.extend(found.as_array().unwrap().iter().map(|record| record["id"].clone()));
    }
    let cited: Vec<Value> = ids
        .chunks(25)
        .map(|ids| call("cite", json!({ "ids": ids }))["references"].take())
        .collect();
    assert_eq!(cited.iter().map(|of| of.as_array().unwrap().len()).sum::<usize>(), ids.len());
    call("cited_by", json!({ "id": ids[0] }));
    call("references", json!({ "id": ids[0] }));
    assert!(calls <= 12 && bytes <= 60_000, "{topic}: {calls} calls, {bytes} bytes");
    ids.len()
}

#[test]
fn a_review_of_thirty_papers_takes_few_calls_and_little_text() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    assert_eq!(review(&server, "theory OR learning OR model OR science OR quantum"), 30);
    server.end(&[]);
}

#[test]
fn reviews_of_real_papers_take_few_calls_and_little_text() {
    let Some(real) = pinakes_tests::real_data("large/openalex", "reviews_of_real_papers_…")
    else {
        return;
    };
    let snapshots = Snapshots::from_inputs(&[real]);
    let server = Server::serve(&snapshots);
    for topic in ["malaria", "\"machine learning\" OR \"deep learning\"", "climate change"] {
        assert_eq!(review(&server, topic), 30, "{topic}");
    }
    server.end(&[]);
}
