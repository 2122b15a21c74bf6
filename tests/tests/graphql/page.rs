//! The page to ask from: whole, from the server alone, and only where it is wanted.

use crate::{
    client::{Connection, decode},
    server::{Server, Snapshots, command},
};

const GZIP: &[&str] = &["Accept-Encoding: br, gzip"];

/// The paths that a page names.
fn named(page: &str) -> Vec<&str> {
    let parts = page.split(['"', ' ']).filter(|part| part.starts_with('/'));
    parts.collect()
}

#[track_caller]
fn check_part(connection: &mut Connection, path: &str, media_type: &str) -> String {
    let plain = connection.get(path);
    assert_eq!((plain.status, plain.header("content-encoding")), (200, None), "{path}");
    assert_eq!(plain.header("content-type"), Some(media_type), "{path}");
    assert_eq!(plain.header("vary"), Some("Accept-Encoding"), "{path}");
    assert_eq!(plain.header("x-content-type-options"), Some("nosniff"), "{path}");
    let policy = plain.header("content-security-policy").unwrap();
    // Nothing from elsewhere, and nothing written into the page.
    assert!(policy.starts_with("default-src 'none'; script-src 'self'; "), "{policy}");
    assert!(!policy.contains("http") && !policy.contains('*') && !policy.contains("unsafe"));
    let packed = connection.request("GET", path, GZIP);
    if packed.header("content-encoding") == Some("gzip") {
        assert!(packed.body.len() < plain.body.len() / 2, "{path}");
    } else {
        assert_eq!(packed.body, plain.body, "{path}");
    }
    plain.text().to_owned()
}

#[test]
fn the_page_loads_from_the_server_alone() {
    let snapshots = Snapshots::of_sample();
    let server = Server::of_snapshots(&snapshots);
    let mut connection = server.connect();
    let page = check_part(&mut connection, "/graphiql", "text/html; charset=utf-8");
    assert!(
        !page.contains("//") && !page.contains("<script>") && !page.contains("style="),
        "{page}"
    );
    let mut parts = 0;
    for path in named(&page).into_iter().filter(|path| path.starts_with("/graphiql/")) {
        let is_style = path.ends_with(".css");
        let media_type =
            if is_style { "text/css; charset=utf-8" } else { "text/javascript; charset=utf-8" };
        let text = check_part(&mut connection, path, media_type);
        assert!(!text.contains("sourceMappingURL"), "{path}");
        let is_fetching = is_style && (text.contains("url(http") || text.contains("@import"));
        assert!(!is_fetching, "{path}");
        parts += 1;
    }
    assert_eq!(parts, 5);
    let licences =
        check_part(&mut connection, "/graphiql/licences.txt", "text/plain; charset=utf-8");
    assert!(licences.contains("GraphQL Contributors") && licences.contains("Permission is hereby"));
    server.end(&[]);
}

#[test]
fn the_page_can_be_left_out() {
    let snapshots = Snapshots::of_sample();
    let path = snapshots.path().to_str().unwrap();
    let server = Server::start(&mut command(&["--snapshots", path, "--no-graphiql"]));
    let mut connection = server.connect();
    for path in ["/graphiql", "/graphiql/", "/graphiql/page.js"] {
        let response = connection.get(path);
        assert_eq!(response.status, 404, "{path}");
        assert!(response.text().contains(&format!("Cannot GET {path}")), "{}", response.text());
    }
    assert_eq!(connection.get("/graphql/schema").status, 200);
    server.end(&[]);
}

#[test]
fn what_is_in_the_binary_is_asked_for_again_by_its_tag() {
    let snapshots = Snapshots::of_sample();
    let server = Server::of_snapshots(&snapshots);
    let mut connection = server.connect();
    let mut tags = Vec::new();
    for (path, codings) in [
        ("/graphql/schema", &["zstd", "br", "gzip"][..]),
        ("/graphiql/graphiql.css", &["gzip"]),
        ("/graphiql/react.js", &["gzip"]),
        // Too short to be worth it.
        ("/graphiql", &[]),
        ("/graphiql/page.js", &[]),
    ] {
        let plain = connection.get(path);
        for wanted in ["identity", "zstd", "br", "gzip", "x-gzip;q=0.5", "zstd;q=0, gzip;q=0"] {
            let accept = format!("Accept-Encoding: {wanted}");
            let sent = connection.request("GET", path, &[&accept]);
            let name = wanted.trim_start_matches("x-").trim_end_matches(";q=0.5");
            let coding = codings.iter().find(|coding| **coding == name).copied();
            assert_eq!(sent.header("content-encoding"), coding, "{path} {wanted}");
            assert_eq!(decode(coding, &sent.body), plain.body, "{path} {wanted}");
            assert_eq!(sent.header("vary"), Some("Accept-Encoding"), "{path} {wanted}");
            assert_eq!(sent.header("cache-control"), Some("public, no-cache"), "{path}");
            let tag = sent.header("etag").unwrap().to_owned();
            // One for each coding of each text, and strong.
            assert!(tag.starts_with('"'), "{tag}");
            assert_eq!(tag == plain.header("etag").unwrap(), coding.is_none(), "{path} {wanted}");
            let head = connection.request("HEAD", path, &[&accept]);
            assert_eq!(head.lasting_headers(), sent.lasting_headers(), "{path} {wanted}");
            for held in [tag.as_str(), "*", &format!("\"x\", W/{tag}")] {
                let again = format!("If-None-Match: {held}");
                let kept = connection.request("GET", path, &[&accept, &again]);
                let found = (kept.status, kept.body.len(), kept.header("etag"));
                assert_eq!(found, (304, 0, Some(tag.as_str())), "{path} {wanted} {held}");
                assert_eq!(kept.header("cache-control"), Some("public, no-cache"));
                assert!(kept.header("x-snapshot-id").is_some());
            }
            tags.push((tag, path, coding));
        }
        let other = connection.request("GET", path, &["If-None-Match: \"x\""]);
        assert_eq!((other.status, other.body), (200, plain.body), "{path}");
    }
    tags.sort();
    tags.dedup();
    let mut alone: Vec<&String> = tags.iter().map(|(tag, ..)| tag).collect();
    alone.dedup();
    assert_eq!((alone.len(), tags.len()), (10, 10), "{tags:?}");
    server.end(&[]);
}
