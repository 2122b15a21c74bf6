//! HTML pages: loaded from the server alone, and optional.

use pinakes_tests::client::{Connection, decode};
use pinakes_tests::server::{Server, Snapshots, command};

/// A page: its path, the number of its assets, the option that turns the page off, a resource that
/// remains, and words of its licences.
type Page = (&'static str, usize, &'static str, &'static str, &'static str);

const PAGES: [Page; 2] = [
    ("/graphiql", 5, "--no-graphiql", "/graphql/schema", "GraphQL Contributors"),
    ("/docs", 5, "--no-docs", "/openapi.json", "Apache License"),
];
const GZIP: &str = "Accept-Encoding: br, gzip";

/// The paths below a route that its page refers to, relative to itself.
fn asset_paths(page: &str, route: &str) -> Vec<String> {
    let below = format!("{}/", &route[1..]);
    let parts = page.split(['"', ' ']).filter(|part| part.starts_with(&below));
    parts.map(|part| format!("/{part}")).collect()
}

#[track_caller]
fn check_asset(connection: &mut Connection, path: &str, media_type: &str) -> String {
    let plain = connection.get(path);
    assert_eq!((plain.status, plain.header("content-encoding")), (200, None), "{path}");
    assert_eq!(plain.header("content-type"), Some(media_type), "{path}");
    assert_eq!(plain.header("x-content-type-options"), Some("nosniff"), "{path}");
    let policy = plain.header("content-security-policy").unwrap();
    // No external sources and no inline scripts.
    assert!(policy.starts_with("default-src 'none'; script-src 'self'; "), "{policy}");
    assert!(!policy.contains("http") && !policy.contains('*') && !policy.contains("unsafe"));
    let packed = connection.request("GET", path, &[GZIP]);
    if let Some(coding) = packed.header("content-encoding") {
        assert_eq!(decode(Some(coding), &packed.body), plain.body, "{path}");
        assert!(packed.body.len() < plain.body.len(), "{path}");
        assert_ne!(packed.header("etag"), plain.header("etag"), "{path}");
    } else {
        assert_eq!(packed.body, plain.body, "{path}");
    }
    for (sent, accepted) in [(&plain, "Accept-Encoding:"), (&packed, GZIP)] {
        assert_eq!(sent.header("vary"), Some("Accept-Encoding"), "{path}");
        let conditional = format!("If-None-Match: {}", sent.header("etag").unwrap());
        let again = connection.request("GET", path, &[accepted, &conditional]);
        assert_eq!((again.status, again.header("etag")), (304, sent.header("etag")), "{path}");
    }
    plain.text().to_owned()
}

#[test]
fn a_page_loads_assets_from_the_server_alone() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    for (route, part_count, _, beside, licence) in PAGES {
        let page = check_asset(&mut connection, route, "text/html; charset=utf-8");
        assert!(
            !page.contains("//") && !page.contains("<script>") && !page.contains("style="),
            "{page}"
        );
        assert!(page.contains(&format!("href=\"{}\"", &beside[1..])), "{page}");
        let parts = asset_paths(&page, route);
        assert_eq!(parts.len(), part_count, "{route}");
        for path in &parts {
            let is_style = path.ends_with(".css");
            let media_type = match path.rsplit_once('.').map(|(_, end)| end) {
                Some("css") => "text/css; charset=utf-8",
                Some(_) => "text/javascript; charset=utf-8",
                None => "text/html; charset=utf-8",
            };
            let text = check_asset(&mut connection, path, media_type);
            assert!(!text.contains("sourceMappingURL"), "{path}");
            let is_fetching = is_style && (text.contains("url(http") || text.contains("@import"));
            assert!(!is_fetching, "{path}");
        }
        let path = format!("{route}/licences.txt");
        let licences = check_asset(&mut connection, &path, "text/plain; charset=utf-8");
        assert!(licences.contains(licence), "{path}");
    }
    server.end(&[]);
}

#[test]
fn a_page_can_be_turned_off() {
    let snapshots = Snapshots::from_sample();
    let at = snapshots.path().to_str().unwrap();
    for (route, _, left_out, beside, _) in PAGES {
        let server = Server::start(&mut command(&["--snapshots", at, left_out]));
        let mut connection = server.connect();
        for path in [route, &format!("{route}/"), &format!("{route}/page.js")] {
            let response = connection.get(path);
            assert_eq!(response.status, 404, "{path}");
            assert!(response.text().contains(&format!("Cannot GET {path}")), "{}", response.text());
        }
        assert_eq!(connection.get(beside).status, 200);
        for (other, ..) in PAGES.iter().filter(|(other, ..)| *other != route) {
            assert_eq!(connection.get(other).status, 200, "{other} beside {left_out}");
        }
        server.end(&[]);
    }
}
