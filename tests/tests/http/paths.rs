//! Paths: each finds its resource or a specific error.

use pinakes_tests::client::{Connection, error_body};
use pinakes_tests::expect::check_head;
use pinakes_tests::server::{Server, Snapshots};

const NOT_HX: &str = "Only HX_ prefixed IDs are allowed";

/// Paths of existing records in various spellings, and the start of the body.
const EXISTING: &[(&str, &str)] = &[
    ("/authors/HX_A5900000001", r#"{"id":"HX_A5900000001","#),
    ("/authors/HX_A5900000001/", r#"{"id":"HX_A5900000001","#),
    ("/authors/HX%5FA5900000001", r#"{"id":"HX_A5900000001","#),
    ("/authors/%48X_A590000000%31", r#"{"id":"HX_A5900000001","#),
    ("/%61uthors/HX_A5900000001", r#"{"id":"HX_A5900000001","#),
    ("/authors/HX_A5900000001#frag", r#"{"id":"HX_A5900000001","#),
    ("/authors/HX_A5900000001?page=0&filter=x&colour=%zz", r#"{"id":"HX_A5900000001","#),
    ("/authors/HX_A5900000001/?page=0", r#"{"id":"HX_A5900000001","#),
    ("http://evil.example/authors/HX_A5900000001", r#"{"id":"HX_A5900000001","#),
    ("http://evil.example:99/authors/HX_A5900000001?x=1", r#"{"id":"HX_A5900000001","#),
    ("/outputs/HX_W2900000300", r#"{"id":"HX_W2900000300","#),
    ("/domains/3", r#"{"id":3,"#),
    ("/domains/3/", r#"{"id":3,"#),
    ("/domains/%33", r#"{"id":3,"#),
    ("/fields/19", r#"{"id":19,"#),
    ("/subfields/2002", r#"{"id":2002,"#),
    ("/topics/HX_T10320", r#"{"id":"HX_T10320","#),
];

/// Ids without the prefix `HX_` after decoding: 400.
const WITHOUT_PREFIX: &[&str] = &[
    "/authors/A5900000001",
    "/authors/hx_a5900000001",
    "/authors/Hx_A5900000001",
    "/authors/HX-A5900000001",
    "/authors/HXA5900000001",
    "/authors/%20HX_A5900000001",
    "/authors/+HX_A5900000001",
    "/authors/5900000001",
    "/authors/%ff%fe",
    "/authors/%zz",
    "/authors/%",
    "/authors/%00",
    "/authors/é",
    "/authors/HX%255FA5900000001",
    "/authors/ＨＸ_A5900000001",
    "/authors/%EF%BC%A8%EF%BC%B8_A5900000001",
    "/authors/НХ_A5900000001",
    "/authors/%D0%9D%D0%A5_A5900000001",
    "/authors/..",
    "/authors/.",
    "/authors/..%2f..%2fetc%2fpasswd",
    "/topics/OA:T10320",
    "/institutions/I40036882",
    "/sources/S137773608",
    "/publishers/P4310320990",
    "/funders/4320334626",
    "/authors/$%7Bjndi:ldap:%2F%2Fevil%7D",
];

/// Ids without a record: 404 with the entity's name and the id as quoted.
const ABSENT: &[(&str, &str, &str)] = &[
    ("/outputs/HX_W9999", "Output", "HX_W9999"),
    ("/authors/HX_A9999", "Author", "HX_A9999"),
    ("/sources/HX_S9999", "Source", "HX_S9999"),
    ("/institutions/HX_I9999", "Institution", "HX_I9999"),
    ("/publishers/HX_P999", "Publisher", "HX_P999"),
    ("/funders/HX_F999", "Funder", "HX_F999"),
    ("/topics/HX_T999", "Topic", "HX_T999"),
    ("/domains/999", "Domain", "999"),
    ("/fields/999", "Field", "999"),
    ("/subfields/999", "Subfield", "999"),
    ("/authors/HX_", "Author", "HX_"),
    ("/authors/HX_A", "Author", "HX_A"),
    ("/authors/HX_Aabc", "Author", "HX_Aabc"),
    ("/authors/HX_a5900000001", "Author", "HX_a5900000001"),
    ("/authors/HX_W2900000300", "Author", "HX_W2900000300"),
    ("/outputs/HX_A5900000001", "Output", "HX_A5900000001"),
    ("/authors/HX_A18446744073709551615", "Author", "HX_A18446744073709551615"),
    ("/authors/HX_A18446744073709551616", "Author", "HX_A18446744073709551616"),
    // Existing numbers plus 2^64 and plus 2^32.
    ("/authors/HX_A18446744079609551617", "Author", "HX_A18446744079609551617"),
    ("/domains/4294967299", "Domain", "4294967299"),
    ("/authors/HX_A123456789012345678901234567890", "Author", "HX_A123456789012345678901234567890"),
    ("/authors/HX_A05900000001", "Author", "HX_A05900000001"),
    ("/authors/HX_A-5900000001", "Author", "HX_A-5900000001"),
    ("/authors/HX_A+5900000001", "Author", "HX_A+5900000001"),
    ("/authors/HX_A5900000001.0", "Author", "HX_A5900000001.0"),
    ("/authors/HX_A5900000001e0", "Author", "HX_A5900000001e0"),
    ("/authors/HX_A590000000１", "Author", "HX_A590000000１"),
    ("/authors/HX_A590000000%EF%BC%91", "Author", "HX_A590000000１"),
    ("/authors/HX_A5900000001%00", "Author", "HX_A5900000001%00"),
    ("/authors/HX_A1%0d%0aSet-Cookie:x=1", "Author", "HX_A1%0d%0aSet-Cookie:x=1"),
    ("/authors/HX_A5900000001%20", "Author", "HX_A5900000001 "),
    ("/authors/HX_A5900000001%zz", "Author", "HX_A5900000001%zz"),
    ("/authors/HX_A5900000001%ff", "Author", "HX_A5900000001%ff"),
    (
        "/authors/HX_A5900000001%2F..%2F..%2Fetc%2Fpasswd",
        "Author",
        "HX_A5900000001/../../etc/passwd",
    ),
    ("/authors/HX_A5900000001%2F", "Author", "HX_A5900000001/"),
    ("/authors/HX_A1%E2%80%AE", "Author", "HX_A1%E2%80%AE"),
    ("/authors/HX_A1%E2%80%8B", "Author", "HX_A1%E2%80%8B"),
    ("/authors/HX_A1%C2%85", "Author", "HX_A1%C2%85"),
    ("/authors/HX_A1%1B[31m", "Author", "HX_A1%1B[31m"),
    ("/authors/HX_A1%22%3E%3Cscript%3E", "Author", "HX_A1\"><script>"),
    // Characters that a URI cannot contain count as their escapes.
    ("/authors/HX_A1\"><script>", "Author", "HX_A1\"><script>"),
    ("/authors/HX_A1\\", "Author", "HX_A1\\"),
    ("/authors/HX_A1'%20OR%20'1'='1", "Author", "HX_A1' OR '1'='1"),
    ("/authors/HX_A$%7Bjndi:x%7D", "Author", "HX_A${jndi:x}"),
    ("/authors/HX_A{{7*7}}", "Author", "HX_A{{7*7}}"),
    ("/authors/HX_A5900000001;jsessionid=1", "Author", "HX_A5900000001;jsessionid=1"),
    ("/domains/abc", "Domain", "abc"),
    ("/domains/HX_3", "Domain", "HX_3"),
    ("/domains/03", "Domain", "03"),
    ("/domains/-3", "Domain", "-3"),
    ("/domains/3.0", "Domain", "3.0"),
    ("/domains/+3", "Domain", "+3"),
    ("/domains/%D9%A3", "Domain", "٣"),
    ("/domains/18446744073709551616", "Domain", "18446744073709551616"),
    ("/domains/18446744073709551619", "Domain", "18446744073709551619"),
    (
        "/domains/1234567890123456789012345678901234567890",
        "Domain",
        "1234567890123456789012345678901234567890",
    ),
    ("/fields/zz", "Field", "zz"),
    ("/subfields/zz", "Subfield", "zz"),
    ("/subfields/HX_2002", "Subfield", "HX_2002"),
];

/// Paths without a route: 404 with the path as sent.
const NOWHERE: &[&str] = &[
    "/nope",
    "/favicon.ico",
    "/.env",
    "/wp-login.php",
    "//",
    "//authors//HX_A5900000001",
    "//authors",
    "/authors//",
    "/authors//HX_A5900000001",
    "/authors/../authors/HX_A5900000001",
    "/authors/./HX_A5900000001",
    "/Authors",
    "/Authors/HX_A5900000001",
    "/authors;x=1",
    "/author/HX_A5900000001",
    "/works",
    "/authors/HX_A5900000001/extra",
    "/authors%2FHX_A5900000001",
    "/references",
    "/institution-types",
    "/references/institution-types/1",
    "/references/nope",
    "/autocomplete/authors/x",
    "/%ff",
    "/%61%75thorz",
    "/health/x",
];

#[track_caller]
fn check(connection: &mut Connection, target: &str, status: u16, message: &str) {
    let response = connection.get(target);
    let body = response.json();
    assert_eq!((response.status, &body["message"]), (status, &message.into()), "{target}");
    // A spelling of another path has details.
    if body["details"].is_null() {
        assert_eq!(response.text(), error_body(status, message), "{target}");
    }
    check_head(connection, target, &response);
    assert_eq!(response.header("set-cookie"), None, "{target}");
    assert_eq!(response.header("x-content-type-options"), Some("nosniff"), "{target}");
}

#[test]
fn every_path_finds_its_record_or_a_specific_error() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    for (target, start) in EXISTING {
        let response = connection.get(target);
        assert_eq!(response.status, 200, "{target}");
        assert!(response.text().starts_with(start), "{target}: {}", response.text());
        check_head(&mut connection, target, &response);
    }
    for target in WITHOUT_PREFIX {
        check(&mut connection, target, 400, NOT_HX);
    }
    for (target, word, shown) in ABSENT {
        check(&mut connection, target, 404, &format!("{word} with ID {shown} not found"));
    }
    for target in NOWHERE {
        check(&mut connection, target, 404, &format!("Cannot GET {target}"));
    }
    // Paths of other services say where the records are.
    for (target, reason) in [
        ("/works", "is `/outputs` here; `/openalex/works` answers as OpenAlex does"),
        ("/works/W1", "is `/outputs` here; `/openalex/works` answers as OpenAlex does"),
        ("/venues", "is `/sources` here"),
        ("/people/A1", "is `/authors` here"),
    ] {
        let details = connection.get(target).json()["details"].take();
        let first = target.split('/').nth(1).unwrap();
        let path = format!("/{first}");
        let expected =
            serde_json::json!([{ "parameter": "path", "value": path, "reason": reason }]);
        assert_eq!(details, expected, "{target}");
    }
    let page = connection.get("/browse/works");
    assert_eq!(page.status, 404);
    assert!(page.text().contains("is <code>/browse/outputs</code> here"), "{}", page.text());
    server.end(&[]);
}

#[test]
fn an_error_quotes_up_to_64_bytes_of_an_id() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let (whole, long) = (format!("HX_A{}", "1".repeat(60)), format!("HX_A{}", "1".repeat(61)));
    let message = format!("Author with ID {whole} not found");
    check(&mut connection, &format!("/authors/{whole}"), 404, &message);
    let message = format!("Author with ID {whole}… not found");
    check(&mut connection, &format!("/authors/{long}"), 404, &message);
    // The quote counts decoded bytes if the id fits, and cuts the id as sent otherwise.
    let escaped = format!("HX_A{}", "%C3%A9".repeat(30));
    let message = format!("Author with ID HX_A{} not found", "é".repeat(30));
    check(&mut connection, &format!("/authors/{escaped}"), 404, &message);
    let escaped = format!("HX_A{}", "%C3%A9".repeat(31));
    let message = format!("Author with ID HX_A{}… not found", "%C3%A9".repeat(10));
    check(&mut connection, &format!("/authors/{escaped}"), 404, &message);
    server.end(&[]);
}

#[test]
fn a_uri_has_at_most_16384_bytes() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let padded = |bytes: usize| format!("/domains/3?{}", "x".repeat(bytes - "/domains/3?".len()));
    assert_eq!(connection.get(&padded(16_384)).status, 200);
    let too_long = "URI exceeds 16384 bytes";
    check(&mut connection, &padded(16_385), 414, too_long);
    let padding = "1".repeat(60_000);
    for start in ["/authors/HX_A", "/authors?a=", "/authors?page=", "/", "/nope?"] {
        check(&mut connection, &format!("{start}{padding}"), 414, too_long);
    }
    server.end(&[]);
}
