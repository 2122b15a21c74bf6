//! Pages of lists: the same records and counts as the JSON, chips, groups, forms and pages.

use pinakes_tests::client::Connection;
use pinakes_tests::server::{Server, Snapshots};

use crate::browse::html::{between, chips, count, links, page, rows, unescaped};

/// The lists, and parameters that each takes.
const LISTS: [(&str, &[&str]); 11] = [
    (
        "outputs",
        &[
            "",
            "filter=type:article",
            "filter=year:>1900,is_oa:true&sort=year:desc",
            "search=the",
            "page=2&per_page=10",
            "page=1000000",
        ],
    ),
    ("authors", &["", "filter=has_orcid:true", "sort=cited_by_count:desc"]),
    ("sources", &["", "filter=type:journal|repository", "filter=country.code:!null"]),
    ("institutions", &["", "search=univ", "filter=country.code:US"]),
    ("publishers", &["", "filter=hierarchy_level:0"]),
    ("funders", &[""]),
    ("topics", &["", "filter=domain.id:3", "sort=name:asc"]),
    ("domains", &[""]),
    ("fields", &["", "sort=name:desc&page=2&per_page=10"]),
    ("subfields", &[""]),
    ("references/institution-types", &[""]),
];

#[test]
fn a_page_lists_the_records_of_the_json_and_their_exact_count() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    for (route, queries) in LISTS {
        for query in queries {
            let target =
                if query.is_empty() { route.to_owned() } else { format!("{route}?{query}") };
            let json = connection.get(&format!("/{target}")).json();
            let html = page(&mut connection, &format!("/browse/{target}"), 200);
            assert_eq!(count(&html), json["meta"]["count"].as_u64().unwrap(), "{target}");
            let listed = json["results"].as_array().unwrap();
            assert_eq!(html.matches("<article class=\"row\">").count(), listed.len(), "{target}");
            if route.starts_with("references/") {
                continue;
            }
            let id = |record: &serde_json::Value| record["id"].to_string().replace('"', "");
            let expected: Vec<String> =
                listed.iter().map(|record| format!("/browse/{route}/{}", id(record))).collect();
            assert_eq!(rows(&html), expected, "{target}");
        }
    }
    server.end(&[]);
}

#[test]
fn a_chip_removes_its_filter_and_no_other() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let parts = ["type:article", "year:>1900", "is_oa:true|false"];
    let html = page(
        &mut connection,
        &format!(
            "/browse/outputs?filter={}&search=a&sort=year:desc&page=2&per_page=10",
            parts.join(",")
        ),
        200,
    );
    let rest = |parts: &[&str]| format!("/browse/outputs?filter={}", parts.join(","));
    let end = "&search=a&sort=year:desc&per_page=10";
    let expected = [
        format!("{}{end}", rest(&[parts[1], parts[2]])),
        format!("{}{end}", rest(&[parts[0], parts[2]])),
        format!("{}{end}", rest(&[parts[0], parts[1]])),
        format!("{}&sort=year:desc&per_page=10", rest(&parts)),
        "/browse/outputs".to_owned(),
    ];
    assert_eq!(chips(&html), expected);
    // A chip shows names: of a code, of yes and no.
    let named = "/browse/outputs?filter=language.code:en,has_doi:true";
    let html_of_names = page(&mut connection, named, 200);
    for shown in ["Language</span> English <", "Has DOI</span> yes <"] {
        assert!(html_of_names.contains(shown), "{shown}: {html_of_names}");
    }
    for (chip, without) in chips(&html).iter().zip(0..) {
        let left = page(&mut connection, chip, 200);
        let json = connection.get(chip.strip_prefix("/browse").unwrap()).json();
        assert_eq!(count(&left), json["meta"]["count"].as_u64().unwrap(), "{without}");
    }
    server.end(&[]);
}

#[test]
fn a_group_leads_to_as_many_records_as_its_bar_says() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let mut followed = 0;
    for (route, _) in LISTS {
        let html = page(&mut connection, &format!("/browse/{route}"), 200);
        for group in html.split("<section class=\"group\">").skip(1) {
            let group = group.split_once("</section>").unwrap().0;
            for bar in group.split("<li>").skip(1) {
                let href = &links(bar)[0];
                let shown =
                    between(bar, "<span class=\"number\">", "</span>").replace('\u{202f}', "");
                let listed = page(&mut connection, href, 200);
                assert_eq!(count(&listed).to_string(), shown, "{href}");
                assert_eq!(chips(&listed), [format!("/browse/{route}")], "{href}");
                followed += 1;
            }
        }
    }
    assert!(followed > 40, "{followed}");
    server.end(&[]);
}

/// The page that a form's address leads to: the list has an address without empty parameters.
#[track_caller]
fn followed(connection: &mut Connection, sent: &str, address: &str) -> String {
    let moved = connection.get(sent);
    assert_eq!((moved.status, moved.header("location")), (303, Some(address)), "{sent}");
    page(connection, address, 200)
}

#[test]
fn a_form_refines_a_list_without_a_script() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    // The fields that a browser sends, in the order of the form.
    let sent = "filter=type%3Aarticle&search=&key=year&value=%3E1900&sort=year%3Adesc";
    let same = "/outputs?filter=type:article,year:>1900&sort=year:desc";
    let html =
        followed(&mut connection, &format!("/browse/outputs?{sent}"), &format!("/browse{same}"));
    let json = connection.get(same).json();
    assert_eq!(count(&html), json["meta"]["count"].as_u64().unwrap());
    assert!(links(&html).contains(&same.to_owned()), "{html}");
    for format in ["csv", "ndjson"] {
        assert!(links(&html).contains(&format!("{same}&format={format}")), "{html}");
    }
    let lines = connection.get(&format!("{same}&format=ndjson"));
    assert_eq!(lines.text().lines().count() as u64, count(&html));
    // A field sends its own expression, and one form with one button sends all fields.
    let form = between(&html, "<form class=\"search\"", "</form>");
    assert!(!form.contains("name=\"filter\""), "{form}");
    assert_eq!(html.matches("<form").count(), 1, "{html}");
    assert_eq!(html.matches("<button").count(), 1, "{html}");
    let content = between(&html, "<main", "</main>");
    let fields = content.matches("name=\"with.").count() + content.matches("name=\"key\"").count();
    assert!(content.matches("form=\"list\"").count() > fields, "{content}");
    assert!(html.contains("<option value=\"year:desc\" selected>"));
    let html = followed(
        &mut connection,
        "/browse/outputs?key=authors.name&value=a,+b",
        "/browse/outputs?filter=authors.name:%22a,%20b%22",
    );
    assert_eq!(count(&html), 0);
    server.end(&[]);
}

#[test]
fn a_refused_list_leads_to_the_list_without_what_is_wrong() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    for (sent, instead) in [
        ("filter=type:article,yaer:2020&sort=year:desc", "?filter=type:article&sort=year:desc"),
        ("filter=yaer:2020", ""),
        ("filter=type:article&sort=colour", "?filter=type:article"),
        ("filter=type:article&colour=red", "?filter=type:article"),
        ("filter=yaer:2020&search=a&with.year.from=2000", "?filter=year:>1999&search=a"),
        ("filter=keywords:%22a,b%22,yaer:1&search=x", "?search=x"),
        // The list has all that goes together.
        (
            "with.year.from=2023&with.year.to=2020&with.type=article",
            "?filter=type:article,year:>2022",
        ),
        ("filter=type:article&filter=is_oa:true", "?filter=type:article,is_oa:true"),
        ("with.year.from=x&with.authors.id=einstein", "?filter=authors.id:HX_A5000000000"),
    ] {
        let html = page(&mut connection, &format!("/browse/outputs?{sent}"), 400);
        let instead = match instead.contains("authors.id") {
            true => format!("?filter=authors.id:{}", best_author(&mut connection, "einstein")),
            false => instead.to_owned(),
        };
        let expected = format!("/browse/outputs{instead}");
        assert!(links(&html).contains(&expected), "{sent}: {:?}", links(&html));
        // The page shows that list already.
        assert_eq!(count(&html), count(&page(&mut connection, &expected, 200)), "{sent}");
    }
    server.end(&[]);
}

/// The id of the author that a name is taken as.
fn best_author(connection: &mut Connection, name: &str) -> String {
    let best = connection.get(&format!("/autocomplete/authors?query={name}")).json();
    best["results"][0]["id"].as_str().unwrap().to_owned()
}

#[test]
fn a_refused_list_keeps_what_the_reader_typed_and_marks_what_is_wrong() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let wrong = "aria-invalid=\"true\" aria-describedby=\"wrong\"";
    let sent = "search=theory&with.year.from=20x0&with.year.to=2020&with.type=article&with.is_oa=true&sort=year:desc";
    let html = page(&mut connection, &format!("/browse/outputs?{sent}"), 400);
    for kept in [
        "name=\"search\" type=\"search\" value=\"theory\"",
        &format!("name=\"with.year.from\" value=\"20x0\" {wrong}"),
        "name=\"with.year.to\" value=\"2020\" aria-label",
        "<option value=\"article\" selected>",
        "name=\"with.is_oa\" value=\"true\" checked",
        "<option value=\"year:desc\" selected>",
        "Year, from: <code>20x0</code> is no year",
    ] {
        assert!(html.contains(kept), "{kept}: {html}");
    }
    assert_eq!(html.matches("aria-invalid").count(), 1, "{html}");
    // A search that the parser refuses, and one that proves too much when it runs.
    let words = (0..70).map(|at| format!("w{at}*")).collect::<Vec<String>>().join(" OR ");
    for (typed, reason) in [("(theory OR", "a clause is missing"), (words.as_str(), "")] {
        let address =
            format!("/browse/outputs?search={}&filter=type:article", typed.replace(' ', "+"));
        let html = page(&mut connection, &address, 400);
        let (_, box_of) = html.split_once("type=\"search\" value=\"").unwrap();
        let (value, rest) = box_of.split_once('"').unwrap();
        assert_eq!(unescaped(value), typed);
        assert!(rest.split('>').next().unwrap().contains(wrong), "{html}");
        assert!(html.contains(reason), "{html}");
        assert_eq!(
            links(&html)
                .iter()
                .filter(|link| *link == "/browse/outputs?filter=type:article")
                .count(),
            1
        );
    }
    // So does the search of everything.
    for (typed, status) in [("(theory OR".to_owned(), 200), ("x".repeat(5_000), 400)] {
        let html = page(
            &mut connection,
            &format!("/browse/search?query={}", typed.replace(' ', "+")),
            status,
        );
        let (_, box_of) = html.split_once("name=\"query\" type=\"search\" value=\"").unwrap();
        assert_eq!(unescaped(box_of.split_once('"').unwrap().0), typed);
        assert!(box_of.split('>').next().unwrap().contains(wrong), "{html}");
        assert!(html.contains("id=\"wrong\""), "{html}");
    }
    // The fields that take any key keep both.
    let html =
        page(&mut connection, "/browse/outputs?key=cited_by_count&value=many&search=theory", 400);
    assert!(html.contains("<details open>"), "{html}");
    assert!(html.contains("<option value=\"cited_by_count\" selected>"), "{html}");
    assert!(html.contains(&format!("name=\"value\" value=\"many\" {wrong}")), "{html}");
    server.end(&[]);
}

#[test]
fn pages_lead_to_each_other_as_long_as_there_are_records() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let (mut path, mut seen) = ("/browse/outputs?per_page=10".to_owned(), Vec::new());
    loop {
        let html = page(&mut connection, &path, 200);
        seen.extend(rows(&html));
        let Some((before, _)) = html.split_once("rel=\"next\"") else {
            assert!(html.contains("rel=\"prev\""));
            break assert_eq!(seen.len() as u64, count(&html));
        };
        let href = before.rsplit_once("href=\"").unwrap().1.split_once('"').unwrap().0;
        path = unescaped(href);
    }
    seen.sort_unstable();
    seen.dedup();
    let html = page(&mut connection, "/browse/outputs?per_page=10&page=999999", 200);
    assert_eq!(count(&html), seen.len() as u64, "no record comes twice");
    let last = seen.len().div_ceil(10);
    assert!(html.contains(&format!("page={last}\" rel=\"prev\"")), "{html}");
    server.end(&[]);
}

#[test]
fn a_search_shows_outputs_by_relevance_below_the_best_names() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    for words in ["learning", "einstein+1905", "title:quantum", "no+such+words+at+all"] {
        let json = connection.get(&format!("/outputs?search={words}")).json();
        let html = page(&mut connection, &format!("/browse/search?query={words}"), 200);
        let (_, outputs) = html.split_once("<h2 id=\"outputs\">").unwrap();
        let expected: Vec<String> = json["results"]
            .as_array()
            .unwrap()
            .iter()
            .map(|record| format!("/browse/outputs/{}", record["id"].as_str().unwrap()))
            .collect();
        assert_eq!(rows(outputs), expected, "{words}");
    }
    let html = page(&mut connection, "/browse/search?query=learning", 200);
    let next = links(&html).into_iter().find(|link| link.ends_with("&page=2"));
    let first = connection.get("/outputs?search=learning").json()["meta"]["count"].as_u64();
    assert_eq!(next.is_some(), first > Some(25), "{html}");
    let refused = page(&mut connection, "/browse/search?query=(einstein+OR", 200);
    assert!(refused.contains("at byte 12: a clause is missing"), "{refused}");
    server.end(&[]);
}

#[test]
fn the_words_of_a_search_are_marked() {
    let dump = tempfile::tempdir().unwrap();
    let work = |id: u32, title: &str| {
        let filler = "nothing ".repeat(60);
        let text = format!("{filler}Learned arthroscopy & <b>more</b> {filler}");
        let words: serde_json::Map<String, serde_json::Value> = text
            .split_whitespace()
            .enumerate()
            .map(|(at, word)| {
                (
                    format!(
                        "{word}{}",
                        if word == "nothing" { at.to_string() } else { String::new() }
                    ),
                    serde_json::json!([at]),
                )
            })
            .collect();
        let work = serde_json::json!({
            "id": format!("W{id}"), "display_name": title, "language": "en", "abstract_inverted_index": words,
        });
        format!("{work}\n")
    };
    let mut lines: String = (1..8).map(|id| work(id, "Arthroscopy without knees")).collect();
    lines += &work(9, "Learning <i>about</i> arthroscopy <script>");
    pinakes_tests::write_files(dump.path(), [("works.jsonl", lines)]);
    let snapshots = Snapshots::from_inputs(&[dump.path().to_path_buf()]);
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let html = page(&mut connection, "/browse/outputs?search=arthrosocpy+learning", 200);
    assert!(html.contains("Showing results for <strong>arthroscopy learning</strong>"), "{html}");
    let exact = "/browse/outputs?search.exact=arthrosocpy%20learning";
    assert!(links(&html).contains(&exact.to_owned()), "{:?}", links(&html));
    let title = "<mark>Learning</mark> <i>about</i> <mark>arthroscopy</mark> &lt;script&gt;";
    assert!(html.contains(title), "{html}");
    let excerpt = between(&html, "<p class=\"excerpt\">", "</p>");
    let marked = "<mark>Learned</mark> <mark>arthroscopy</mark> &amp;";
    assert!(excerpt.contains(marked), "{excerpt}");
    assert!(excerpt.starts_with("… nothing") && excerpt.ends_with(" …"), "{excerpt}");
    assert!(excerpt.len() < 400, "{excerpt}");
    // The page of the search without corrections.
    let html = page(&mut connection, exact, 200);
    assert!(!html.contains("Showing results for"), "{html}");
    let empty = page(&mut connection, "/browse/outputs?search=zzzzzz", 200);
    assert!(empty.contains("Nothing is found by <strong>zzzzzz</strong>."), "{empty}");
    server.end(&[]);
}

#[test]
fn a_search_names_what_autocomplete_finds_first_and_counts_each_list() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    for words in ["univ", "einstein", "a", "no+such+words+at+all"] {
        let json = connection.get(&format!("/autocomplete?query={words}")).json();
        let html = page(&mut connection, &format!("/browse/search?query={words}"), 200);
        let expected: Vec<String> = json["results"]
            .as_array()
            .unwrap()
            .iter()
            .take(5)
            .map(|found| {
                let [entity, id] = ["entity_type", "id"].map(|name| found[name].as_str().unwrap());
                format!("/browse/{entity}s/{id}")
            })
            .collect();
        let (named, _) = html.split_once("<h2 id=\"outputs\">").unwrap();
        assert_eq!(rows(named), expected, "{words}");
        let Some((_, tabs)) = html.split_once("<nav class=\"tabs\"") else {
            assert_eq!(words, "no+such+words+at+all");
            continue;
        };
        // The first tab is this page.
        for tab in tabs.split_once("</nav>").unwrap().0.split("<li>").skip(2) {
            let href = &links(tab)[0];
            let shown = between(tab, "<span class=\"number\">", "</span>").replace('\u{202f}', "");
            let list = connection.get(href.strip_prefix("/browse").unwrap()).json();
            assert_eq!(list["meta"]["count"].to_string(), shown, "{href}");
        }
    }
    for nothing in ["/browse/search", "/browse/search?query=", "/browse/search?query=%20"] {
        assert!(page(&mut connection, nothing, 200).contains("<h1>Search</h1>"));
    }
    for habit in ["/browse/search?search=open%20access", "/browse/search?q=open+access"] {
        let led = connection.get(habit);
        let expected = "/browse/search?query=open%20access";
        assert_eq!((led.status, led.header("location")), (303, Some(expected)), "{habit}");
    }
    server.end(&[]);
}

#[test]
fn an_identifier_opens_its_record() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let list = connection.get("/outputs?filter=has_doi:true").json();
    let (id, doi) = (&list["results"][0]["id"], list["results"][0]["doi"].as_str().unwrap());
    let expected = format!("/browse/outputs/{}", id.as_str().unwrap());
    let bare = doi.strip_prefix("https://doi.org/").unwrap();
    for text in [id.as_str().unwrap(), doi, bare, &format!("doi:{bare}")] {
        let led = connection.get(&format!("/browse/search?query={text}"));
        assert_eq!((led.status, led.header("location")), (303, Some(&*expected)), "{text}");
    }
    page(&mut connection, "/browse/search?query=10.9999/none", 200);
    server.end(&[]);
}

#[test]
fn an_empty_result_names_the_words_that_find_nothing() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let typed = "search=learning+AND+qqzzxxyy";
    for path in [
        format!("/browse/outputs?{typed}"),
        format!("/browse/search?{}", typed.replace("search", "query")),
    ] {
        let html = page(&mut connection, &path, 200);
        assert!(html.contains("Nothing is found by <strong>qqzzxxyy</strong>"), "{html}");
        assert!(links(&html).contains(&"/browse/outputs?search=learning".to_owned()), "{html}");
    }
    server.end(&[]);
}

#[test]
fn an_empty_result_leads_to_lists_that_have_as_many_records_as_it_says() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    for (sent, expected) in [
        // The nearest word, the search without the word, any of the words.
        ("search=quantun+AND+theory", &["?search=quantum%20AND%20theory", "?search=theory"][..]),
        ("search=quantun+AND+qqzzxxyy", &["?search=quantum"]),
        ("search=nucleic+AND+spacetime", &["?search=nucleic%20OR%20spacetime"]),
        // The list without the filter that empties it, and without the search.
        ("filter=type:article,year:1066&search=theory", &["?filter=type:article&search=theory"]),
        ("filter=type:article,year:>2000,is_oa:null", &["?filter=type:article,year:>2000"]),
    ] {
        let html = page(&mut connection, &format!("/browse/outputs?{sent}"), 200);
        assert_eq!(count(&html), 0, "{sent}");
        let ways = between(&html, "<div class=\"empty\">", "</div>");
        let numbers = ways.split("<span class=\"number\">").skip(1);
        let numbers = numbers.map(|rest| rest.split('<').next().unwrap().replace('\u{202f}', ""));
        let offered: Vec<(String, u64)> =
            links(ways).into_iter().zip(numbers.map(|number| number.parse().unwrap())).collect();
        for (list, number) in &offered {
            assert!(*number > 0, "{sent}: {list}");
            assert_eq!(count(&page(&mut connection, list, 200)), *number, "{sent}: {list}");
        }
        for way in expected {
            let way = format!("/browse/outputs{way}");
            assert!(offered.iter().any(|(list, _)| *list == way), "{sent}: {way} of {offered:?}");
        }
        // Lists to browse.
        for list in ["/browse/authors", "/browse/topics", "/browse/taxonomy"] {
            assert!(links(ways).contains(&list.to_owned()), "{sent}: {ways}");
        }
    }
    server.end(&[]);
}

#[test]
fn a_list_of_one_version_of_each_work_is_that_of_the_json() {
    let dump = tempfile::tempdir().unwrap();
    let work = |number: u64, source: u64| {
        format!(
            "{{\"id\":\"https://openalex.org/W{number}\",\"title\":\"Attention is all you need\",\"type\":\"article\",\
             \"authorships\":[{{\"raw_author_name\":\"A. Vaswani\"}}],\
             \"primary_location\":{{\"source\":{{\"id\":\"https://openalex.org/S{source}\"}}}}}}\n"
        )
    };
    let other = "{\"id\":\"https://openalex.org/W3\",\"title\":\"Another title of words\",\"type\":\"preprint\"}\n";
    let works = [work(1, 1), work(2, 2), other.to_owned()].concat();
    pinakes_tests::write_files(dump.path(), [("works/part_000.jsonl", works)]);
    let snapshots = Snapshots::from_inputs(&[dump.path().join("works")]);
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let one = connection.get("/outputs?versions=one").json()["meta"]["count"].as_u64();
    let all = connection.get("/outputs").json()["meta"]["count"].as_u64();
    assert_eq!((one, all), (Some(2), Some(3)));
    let html = page(&mut connection, "/browse/outputs?versions=one", 200);
    assert_eq!(Some(count(&html)), one);
    assert_eq!(chips(&html), ["/browse/outputs"]);
    assert!(html.contains("name=\"versions\" value=\"one\" checked"), "{html}");
    let lines = connection.get("/outputs?versions=one&format=ndjson").text().lines().count() as u64;
    assert_eq!(Some(lines), one);
    // Groups, files and other pages keep it.
    for link in links(&html).iter().filter(|link| link.contains("outputs?filter=type:article")) {
        assert!(link.contains("versions=one"), "{link}");
    }
    let file = "/outputs?versions=one&format=bibtex".to_owned();
    assert!(links(&html).contains(&file), "{:?}", links(&html));
    let refused = connection.get("/outputs?versions=all").json()["details"].take();
    assert!(refused[0]["reason"].as_str().unwrap().contains("must be `one`"), "{refused}");
    assert_eq!(connection.get("/authors?versions=one").status, 400);
    server.end(&[]);
}

#[test]
fn a_typed_name_becomes_the_id_of_the_best_record() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let best = connection.get("/autocomplete/authors?query=einstein").json();
    let id = best["results"][0]["id"].as_str().unwrap();
    // The name stays in the address, and no empty parameter does.
    let html = followed(
        &mut connection,
        "/browse/outputs?search=&with.authors.id=einstein&with.type=&sort=",
        "/browse/outputs?with.authors.id=einstein",
    );
    let json = connection.get(&format!("/outputs?filter=authors.id:{id}")).json();
    assert_eq!(count(&html), json["meta"]["count"].as_u64().unwrap());
    assert!(html.contains("“einstein” is taken as"), "{html}");
    assert_eq!(chips(&html), ["/browse/outputs"]);
    let html = page(&mut connection, "/browse/outputs?with.authors.id=qqzzxxyy", 200);
    assert!(html.contains("No author has the name “qqzzxxyy”; the list is filtered by its words"));
    assert_eq!(count(&html), 0);
    let html = page(&mut connection, "/browse/outputs?with.funders.id=qqzzxxyy", 200);
    assert!(html.contains("No funder has the name “qqzzxxyy”; the list is not filtered by it"));
    let html = followed(
        &mut connection,
        "/browse/outputs?with.year.from=1900&with.year.to=1910",
        "/browse/outputs?filter=year:1900-1910",
    );
    let json = connection.get("/outputs?filter=year:1900-1910").json();
    assert_eq!(count(&html), json["meta"]["count"].as_u64().unwrap());
    // The fields show the range, and send it once.
    assert!(html.contains("name=\"with.year.from\" value=\"1900\""), "{html}");
    let form = between(&html, "<form class=\"search\"", "</form>");
    assert!(!form.contains("name=\"filter\""), "{form}");
    page(&mut connection, "/browse/outputs?with.year.from=x", 400);
    page(&mut connection, "/browse/outputs?with.nothing=x", 400);
    server.end(&[]);
}

#[test]
fn a_key_opens_all_its_groups() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let json = connection.get("/outputs?group_by=year&per_page=100").json();
    let total = json["meta"]["groups_count"].as_u64().unwrap();
    assert!(total > 8, "{total}");
    let html = page(&mut connection, "/browse/outputs", 200);
    let more = format!("and {} more", total - 8);
    assert!(html.contains(&more), "{html}");
    let open = "/browse/outputs?groups=year";
    assert!(links(&html).contains(&open.to_owned()), "{html}");
    let html = page(&mut connection, open, 200);
    let years =
        html.split("<section class=\"group\">").find(|group| group.contains("<h2>Year</h2>"));
    let years: Vec<i64> = years
        .unwrap()
        .split_once("</ul>")
        .unwrap()
        .0
        .split("<span class=\"name\">")
        .skip(1)
        .filter_map(|bar| bar.split('<').next().unwrap().parse().ok())
        .collect();
    assert!(years.len() as u64 + 1 >= total, "{years:?}");
    assert!(years.is_sorted_by(|one, other| one > other), "{years:?}");
    // A key whose groups no table names is offered, and opened.
    assert!(html.contains("<option value=\"funders.id\">Funder</option>"), "{html}");
    let html = page(&mut connection, "/browse/outputs?groups=funders.id", 200);
    assert!(html.contains("<h2>Funder</h2>"), "{html}");
    server.end(&[]);
}

#[test]
fn a_name_that_only_outputs_have_leads_to_their_list() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    // Two outputs name authors without a record.
    for (typed, id) in [("Nemo Nobody", "HX_A5999999002"), ("zhao su", "HX_A5999999001")] {
        let typed = typed.replace(' ', "+");
        let list = format!("/outputs?filter=authors.id:{id}");
        let completed = connection.get(&format!("/autocomplete?query={typed}")).json();
        assert_eq!(completed["meta"]["count"], 0, "{typed}");
        assert_eq!(completed["meta"]["lists"], serde_json::json!([list]), "{typed}");
        let html = page(&mut connection, &format!("/browse/search?query={typed}"), 200);
        assert!(links(&html).contains(&format!("/browse{list}")), "{html}");
        assert_eq!(connection.get(&list).json()["meta"]["count"], 1, "{typed}");
        // The page of the id shows the name.
        let html = page(&mut connection, &format!("/browse/authors/{id}"), 404);
        assert!(html.contains("others refer to it as <strong>"), "{html}");
    }
    let none = connection.get("/autocomplete/institutions?query=Nemo+Nobody").json();
    assert_eq!(none["meta"], serde_json::json!({ "count": 0 }));
    server.end(&[]);
}

#[test]
fn filters_and_orders_stand_beside_a_search() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let html = page(
        &mut connection,
        "/browse/search?query=learning+OR+theory+OR+science+OR+model+OR+new+OR+study+OR+data",
        200,
    );
    let found = connection
        .get("/outputs?search=learning+OR+theory+OR+science+OR+model+OR+new+OR+study+OR+data")
        .json();
    assert!(found["meta"]["count"].as_u64().unwrap() > 25, "{found}");
    let form = between(&html, "<form class=\"narrow\"", "</form>");
    assert!(form.contains("action=\"/browse/outputs\""), "{form}");
    assert!(html.contains("form=\"list\" name=\"with.year.from\""), "{html}");
    // The form and the counts narrow the outputs of the search.
    let narrowed = followed(
        &mut connection,
        "/browse/outputs?search=learning+OR+theory+OR+science+OR+model+OR+new+OR+study+OR+data&sort=date:desc&with.year.from=1950",
        "/browse/outputs?filter=year:>1949&search=learning%20OR%20theory%20OR%20science%20OR%20model%20OR%20new%20OR%20study%20OR%20data&sort=date:desc",
    );
    assert!(count(&narrowed) > 0 && count(&narrowed) < found["meta"]["count"].as_u64().unwrap());
    let (_, beside) = html.split_once("<section class=\"group\">").unwrap();
    let first = &links(beside)[0];
    assert!(
        first.contains("search=learning%20OR%20theory%20OR%20science%20OR%20model%20OR%20new%20OR%20study%20OR%20data") && first.contains("filter="),
        "{first}"
    );
    page(&mut connection, first, 200);
    server.end(&[]);
}
