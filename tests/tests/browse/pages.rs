//! Rules of all pages: the way from `/`, ETags, codings, HEAD, limits, and `--no-browse`.

use pinakes_tests::client::{Connection, decode};
use pinakes_tests::server::{Server, Snapshots, command};

use crate::browse::html::{check, links, page};

/// One page of each type.
const PAGES: [&str; 6] = [
    "/browse",
    "/browse/search?query=univ",
    "/browse/taxonomy",
    "/browse/outputs",
    "/browse/outputs?filter=is_oa:true",
    "/browse/outputs/HX_W2900000096",
];
const BROWSER: &str = "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

#[test]
fn the_root_leads_people_to_the_pages_and_programs_nowhere() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let json = connection.request("GET", "/", &["Accept: */*"]);
    assert_eq!((json.status, json.header("content-type")), (200, Some("application/json")));
    for accept in [
        "Accept: application/json",
        "Accept:",
        "Accept: text/html;q=0.5, application/json",
        "X: y",
        "Accept: text/*",
    ] {
        let same = connection.request("GET", "/", &[accept]);
        assert_eq!((same.status, &same.body), (200, &json.body), "{accept}");
        assert_eq!(same.headers_without_date(), json.headers_without_date(), "{accept}");
    }
    for accept in [BROWSER, "Accept: text/html", "Accept: application/json, text/html"] {
        for method in ["GET", "HEAD"] {
            let led = connection.request(method, "/", &[accept]);
            let headers = ["location", "vary"].map(|name| led.header(name));
            assert_eq!((led.status, headers), (303, [Some("/browse"), Some("Accept")]), "{accept}");
        }
    }
    let first = page(&mut connection, "/browse", 200);
    for path in ["/docs", "/graphiql"] {
        assert!(links(&first).contains(&path.to_owned()), "{path}");
        assert!(connection.get(path).text().contains("href=\"browse\""), "{path}");
    }
    server.end(&[]);
}

#[test]
fn a_page_has_an_etag_codings_and_a_head() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    for path in PAGES {
        let plain = connection.get(path);
        check(&plain, path);
        let head = connection.request("HEAD", path, &[]);
        assert_eq!(head.headers_without_date(), plain.headers_without_date(), "{path}");
        assert!(head.body.is_empty());
        if path == "/browse" {
            assert_eq!(plain.header("cache-control"), Some("no-store"));
            continue;
        }
        for accepted in
            ["Accept-Encoding:", "Accept-Encoding: gzip", "Accept-Encoding: zstd, br;q=0.5"]
        {
            let coded = connection.request("GET", path, &[accepted]);
            assert_eq!(decode(coded.header("content-encoding"), &coded.body), plain.body, "{path}");
            assert_eq!(coded.header("vary"), Some("Accept-Encoding"), "{path}");
            let tag = format!("If-None-Match: {}", coded.header("etag").unwrap());
            let again = connection.request("GET", path, &[accepted, &tag]);
            assert_eq!((again.status, again.header("etag")), (304, coded.header("etag")), "{path}");
        }
        // The JSON of the same snapshot has another tag.
        let json = connection.get("/outputs");
        assert_ne!(json.header("etag"), plain.header("etag"), "{path}");
    }
    let tag = "If-None-Match: *";
    assert_eq!(connection.request("GET", "/browse/outputs/HX_W1", &[tag]).status, 404);
    assert_eq!(connection.request("GET", "/browse/outputs?page=0", &[tag]).status, 400);
    for file in ["style.css", "page.js", "icon.svg"] {
        let sent = connection.get(&format!("/browse/{file}"));
        assert_eq!(sent.status, 200, "{file}");
        assert!(!sent.text().contains("//") || file == "icon.svg" || file == "page.js", "{file}");
    }
    let robots = connection.get("/robots.txt");
    assert_eq!(
        (robots.status, robots.header("content-type")),
        (200, Some("text/plain; charset=utf-8"))
    );
    assert!(robots.text().contains("Disallow: /*?\n"), "{}", robots.text());
    assert!(robots.text().contains("/sitemap.xml\n"), "{}", robots.text());
    server.end(&[]);
}

/// Reads the remaining requests of the minute, lists and searches from `/rate-limit`.
fn left(connection: &mut Connection) -> [u64; 3] {
    let status = connection.get("/rate-limit").json();
    let remaining = |at: &str| status.pointer(at).unwrap().as_u64().unwrap();
    ["/minute_rate_limit", "/daily_quota/list_filter", "/daily_quota/search"]
        .map(|name| remaining(&format!("{name}/remaining")))
}

#[test]
fn pages_have_a_quota_of_their_own_and_a_refusal_is_a_page() {
    let snapshots = Snapshots::from_sample();
    let at = snapshots.path().to_str().unwrap();
    let args = ["--snapshots", at, "--minute-limit", "7", "--daily-list", "3"];
    let more = ["--daily-search", "1", "--browse-limit", "4", "--browse-minute", "6"];
    let mut command = command(&args);
    let server = Server::start(command.args(more).env_remove("PINAKES_NO_LIMITS"));
    let mut connection = server.connect();
    for free in
        ["/browse", "/browse/style.css", "/browse/page.js", "/browse/icon.svg", "/robots.txt"]
    {
        assert_eq!(connection.get(free).status, 200, "{free}");
    }
    assert_eq!(left(&mut connection), [7, 3, 1]);
    let mut spend = |path: &str, status: u16, expected: [u64; 3]| {
        let html = page(&mut connection, path, status);
        assert_eq!(left(&mut connection), expected, "{path}");
        html
    };
    spend("/browse/outputs", 200, [7, 3, 1]);
    spend("/browse/outputs/HX_W2900000096", 200, [7, 3, 1]);
    spend("/browse/taxonomy", 200, [7, 3, 1]);
    spend("/browse/search?query=univ", 200, [7, 3, 1]);
    let html = spend("/browse/authors", 429, [7, 3, 1]);
    assert!(html.contains("Your daily quota for Browse requests has been exceeded."), "{html}");
    assert!(html.contains("so many pages a minute and a day"), "{html}");
    // Pages that the day refuses count for their minute.
    spend("/browse/authors", 429, [7, 3, 1]);
    let html = spend("/browse/authors", 429, [7, 3, 1]);
    assert!(html.contains("IP rate limit exceeded (max 6 pages per minute)."), "{html}");
    // Programs keep their quotas.
    let list = connection.get("/authors");
    assert_eq!((list.status, list.header("x-ratelimit-daily-remaining")), (200, Some("2")));
    assert_eq!(connection.get("/autocomplete?query=univ").status, 200);
    assert_eq!(left(&mut connection), [5, 2, 0]);
    let refused = connection.get("/browse/authors");
    assert!(refused.header("retry-after").is_some());
    let log = server.end(&[]);
    let words = "limits are on, for clients of this machine too: each client gets 7 requests and 6 pages for \
                 people a minute, and 3 lists, 1 searches and 4 pages for people a day";
    assert_eq!(log.matches(words).count(), 1, "{log}");
    assert_eq!(log.matches("a client of this machine met a limit").count(), 1, "{log}");
    assert_eq!(log.matches("--no-limits turns the limits off").count(), 2, "{log}");
}

#[test]
fn ten_completions_of_the_search_box_count_as_one_page() {
    let snapshots = Snapshots::from_sample();
    let at = snapshots.path().to_str().unwrap();
    let args = ["--snapshots", at, "--daily-search", "1", "--browse-limit", "2"];
    let server = Server::start(command(&args).env_remove("PINAKES_NO_LIMITS"));
    let mut connection = server.connect();
    let script = connection.get("/browse/page.js");
    assert!(script.text().contains("\"browse/complete\""));
    page(&mut connection, "/browse/outputs", 200);
    let completions: Vec<_> =
        (0..10).map(|_| connection.get("/browse/complete?query=univ")).collect();
    assert!(completions.iter().all(|completion| completion.status == 200));
    assert_eq!(connection.get("/browse/complete?query=univ").status, 429);
    page(&mut connection, "/browse/outputs", 429);
    assert_eq!(left(&mut connection), [30, 500, 1]);
    let program = connection.get("/autocomplete?query=univ");
    assert_eq!((program.status, program.json()), (200, completions[0].json()));
    server.end(&[]);
}

#[test]
fn all_readers_of_a_network_share_a_pool_of_pages() {
    let snapshots = Snapshots::from_sample();
    let at = snapshots.path().to_str().unwrap();
    let args = ["--snapshots", at, "--trusted-proxy", "127.0.0.1", "--pool-browse", "8"];
    let server = Server::start(command(&args).env_remove("PINAKES_NO_LIMITS"));
    let mut connection = server.connect();
    let mut status = |target: &str, client: &str| {
        connection.request("GET", target, &[&format!("X-Forwarded-For: {client}")]).status
    };
    // A page that does not exist uses no pool.
    assert_eq!(status("/browse/outputs/HX_W1", "192.0.2.9"), 404);
    for network in ["192.0.2", "198.51.100", "203.0.113", "10.0.0"] {
        let found: Vec<u16> =
            (1..=3).map(|host| status("/browse/outputs", &format!("{network}.{host}"))).collect();
        assert_eq!(found, [200, 200, 429], "{network}");
    }
    assert_eq!(status("/browse/outputs", "10.1.1.1"), 429, "the pool is used up");
    assert_eq!(status("/outputs", "10.1.1.1"), 200);
    server.end(&[]);
}

#[test]
fn the_pages_can_be_turned_off() {
    let snapshots = Snapshots::from_sample();
    let at = snapshots.path().to_str().unwrap();
    let server = Server::start(&mut command(&["--snapshots", at, "--no-browse"]));
    let mut connection = server.connect();
    for path in PAGES.into_iter().chain([
        "/browse/style.css",
        "/browse/complete",
        "/browse/nothing",
        "/sitemap.xml",
    ]) {
        let response = connection.get(path);
        assert_eq!(response.status, 404, "{path}");
        let shown = path.split('?').next().unwrap();
        assert_eq!(response.json()["message"], format!("Cannot GET {shown}"));
    }
    let index = connection.request("GET", "/", &[BROWSER]);
    assert_eq!((index.status, index.header("content-type")), (200, Some("application/json")));
    let log = server.end(&[]);
    assert!(log.contains("limits are off"), "{log}");
    let both = ["--snapshots", at, "--no-docs", "--no-graphiql"];
    let server = Server::start(&mut command(&both));
    let html = page(&mut server.connect(), "/browse/outputs", 200);
    assert!(!html.contains("\"/docs\"") && !html.contains("\"/graphiql\""), "{html}");
    server.end(&[]);
}

#[test]
fn programs_that_read_pages_find_the_site_and_its_search() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let origin = "http://localhost";
    let map = connection.get("/sitemap.xml");
    assert_eq!(map.header("content-type"), Some("application/xml; charset=utf-8"));
    let places: Vec<&str> = map.text().split("<loc>").skip(1).collect();
    assert!(places.len() > 100, "{}", map.text());
    for place in places.iter().step_by(40) {
        let path = place.split("</loc>").next().unwrap().strip_prefix(origin).unwrap();
        page(&mut connection, path, 200);
    }
    let search = connection.get("/browse/opensearch.xml");
    let template = format!("template=\"{origin}/browse/search?query={{searchTerms}}\"");
    assert!(search.text().contains(&template), "{}", search.text());
    let forged = connection.request("GET", "/browse/opensearch.xml", &["X-Forwarded-Proto: \"><x"]);
    assert!(!forged.text().contains("<x"), "{}", forged.text());
    // Only a trusted proxy names the scheme.
    let forged = connection.request("GET", "/browse/opensearch.xml", &["X-Forwarded-Proto: https"]);
    assert!(forged.text().contains(&template), "{}", forged.text());
    let llms = connection.get("/llms.txt");
    assert_eq!(llms.header("content-type"), Some("text/plain; charset=utf-8"));
    for path in ["/docs/API.md", "/openapi.json", "/rate-limit"] {
        assert!(llms.text().contains(&format!("({path})")), "{path}");
        assert_eq!(connection.get(path).status, 200, "{path}");
    }
    let html = page(&mut connection, "/browse/outputs/HX_W2900000096", 200);
    for tag in [
        "<link rel=\"canonical\" href=\"/browse/outputs/HX_W2900000096\">",
        "<meta name=\"description\" content=\"",
        "<link rel=\"search\" type=\"application/opensearchdescription+xml\"",
    ] {
        assert!(html.contains(tag), "{tag}: {html}");
    }
    server.end(&[]);
}

#[test]
fn below_a_path_of_a_proxy_all_links_begin_with_it() {
    let snapshots = Snapshots::from_sample();
    let at = snapshots.path().to_str().unwrap();
    let server = Server::start(&mut command(&["--snapshots", at, "--base-path", "/p"]));
    let mut connection = server.connect();
    // For each entity a list and its first record; wrong and empty pages.
    let lists = [
        "outputs",
        "authors",
        "sources",
        "institutions",
        "publishers",
        "funders",
        "topics",
        "domains",
        "fields",
        "subfields",
    ];
    let mut paths: Vec<String> = PAGES.into_iter().map(str::to_owned).collect();
    for list in lists {
        let first =
            connection.get(&format!("/{list}?per_page=10")).json()["results"][0]["id"].take();
        let id = first.as_str().map_or_else(|| first.to_string(), str::to_owned);
        paths.extend([format!("/browse/{list}"), format!("/browse/{list}/{id}")]);
    }
    let others = [
        "/browse/outputs/HX_W1",
        "/browse/works",
        "/browse/outputs?filter=x&search=theory&with.year.from=x",
        "/browse/outputs?search=theory+AND+qqzzxxyy&filter=type:article",
        "/browse/search?query=theory",
        "/browse/search?query=qqzzxxyy",
        "/browse/references/institution-types",
    ];
    paths.extend(others.map(str::to_owned));
    for path in &paths {
        let html = connection.get(path).text().to_owned();
        let inner = links(&html).into_iter().filter(|link| link.starts_with('/'));
        let wrong: Vec<String> = inner.filter(|link| !link.starts_with("/p/")).collect();
        assert!(wrong.is_empty(), "{path}: {wrong:?}");
        assert!(html.contains("src=\"/p/browse/page.js\""), "{path}");
        assert!(html.contains("action=\"/p/browse/"), "{path}");
    }
    let led = connection.request("GET", "/", &[BROWSER]);
    assert_eq!(led.header("location"), Some("/p/browse"));
    let led = connection.get("/browse/outputs?search=&with.year.from=1905");
    assert_eq!(led.header("location"), Some("/p/browse/outputs?filter=year:>1904"));
    // Static pages name their parts relative to themselves.
    for path in ["/docs", "/graphiql", "/docs/guide"] {
        let html = connection.get(path).text().to_owned();
        let parts = ["=\"/docs", "=\"/graphiql", "=\"/browse"];
        assert!(parts.iter().all(|part| !html.contains(part)), "{path}: {html}");
    }
    server.end(&[]);
}

#[test]
fn the_first_page_says_whose_collection_it_is_and_what_to_try() {
    let snapshots = Snapshots::from_sample();
    let at = snapshots.path().to_str().unwrap();
    let named = [
        ["--collection-name", "Library of <Delft>"],
        ["--collection-about", "Works of one university."],
        ["--collection-contact", "desk@example.org"],
    ];
    let args = [["--snapshots", at]].into_iter().chain(named);
    let server = Server::start(&mut command(&args.flatten().collect::<Vec<_>>()));
    let mut connection = server.connect();
    // An address of mail is no link of other pages.
    let html = connection.get("/browse").text().to_owned();
    assert!(html.contains("<h1>Library of &#60;Delft&#62;</h1>"), "{html}");
    assert!(html.contains("Works of one university."), "{html}");
    assert!(links(&html).contains(&"mailto:desk@example.org".to_owned()), "{html}");
    let (_, examples) = html.split_once("id=\"examples\"").unwrap();
    let examples = links(examples.split_once("</section>").unwrap().0);
    assert_eq!(examples.len(), 3, "{examples:?}");
    for example in examples {
        page(&mut connection, &example, 200);
    }
    server.end(&[]);
}

#[test]
fn the_guide_is_a_page_whose_contents_lead_to_its_parts() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let html = server.get("/docs/guide").text().to_owned();
    let anchors =
        links(&html).into_iter().filter_map(|link| Some(link.strip_prefix('#')?.to_owned()));
    let missing: Vec<String> =
        anchors.filter(|anchor| !html.contains(&format!("id=\"{anchor}\""))).collect();
    assert!(missing.is_empty(), "{missing:?}");
    assert!(html.contains("<h2 id=\"search\">"), "{html}");
    assert!(html.contains("<table>"), "{html}");
    server.end(&[]);
}
