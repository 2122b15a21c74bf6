//! `GET /match/outputs`: which record is sure, and which texts are refused.

use pinakes_tests::server::Server;

use crate::matching::{candidates, snapshots, sure};

#[test]
fn a_citation_finds_its_work_in_any_style_and_with_mistakes() {
    let snapshots = snapshots();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let mut check = |text: &str, expected: Option<u64>| {
        let found = candidates(&mut connection, "outputs", &[("text", text)]);
        assert_eq!(sure(&found), expected, "{text}: {found:#}");
    };
    for text in [
        "Ajzen, I. (1991). The theory of planned behavior. Journal of Careful Studies, 50(1), 179-211.",
        "Ajzen I. The theory of planned behavior. J Care Stud. 1991;50:179.",
        "Ajzen, Icek. \"The Theory of Planned Behavior.\" Journal of Careful Studies 50.1 (1991).",
        "THE THEORY OF PLANNED BEHAVIOR, AJZEN, 1991",
        "Ajzen I. Tbe theory of p1anned bchavior. J Care Stud. 1991;50:999.",
        "Ajzen, I. (1992). The theory of planned behaviour. Journal of Careful Studies, 50(1), 179.",
        "doi:10.1000/w1",
        "Ajzen 1991, https://doi.org/10.1000/W1.",
        "Some text. https://openalex.org/W1",
    ] {
        check(text, Some(1));
    }
    check("Cronbach LJ. Coefficient alpha and the internal structure of tests. 1951", Some(2));
    // Parts of a series, and a reply.
    check(
        "Silva M. Thermal vents of the deep ocean. Part I: Chemistry. J Care Stud. 2001;12:33.",
        Some(3),
    );
    check(
        "Silva M. Thermal vents of the deep ocean. Part II: Fauna. J Care Stud. 2001;12:51.",
        Some(4),
    );
    check(
        "Silva M. Thermal vents of the deep ocean. Part III: Flora. J Care Stud. 2002;13:7.",
        None,
    );
    check("Berg P. Migration of juvenile salmon in regulated rivers. 1999", Some(7));
    check("Lund O. Migration of juvenile salmon in regulated rivers: a reply. 2000", Some(8));
    check("Berg P. Erratum: Migration of juvenile salmon in regulated rivers. 2003;9:1.", None);
    // Equal titles by one author in one year: the volume decides, or nothing does.
    check("Costa A. Editorial. Journal of Careful Studies. 2010;8:1.", Some(6));
    check("Costa A. Editorial. Journal of Careful Studies. 2010.", None);
    // Another year, another volume, and words before the title of the record.
    check(
        "Berg P. Migration of juvenile salmon in regulated rivers. J Care Stud. 1996;4:100.",
        None,
    );
    check(
        "Berg P. Migration of juvenile salmon in regulated rivers. J Care Stud. 1999;9(1):100.",
        None,
    );
    check(
        "Roe J. (2012). Shape of a wave at the shore. Journal of Careful Studies, 3(1), 8.",
        None,
    );
    check("Roe J. (2012). Data from: Shape of a wave at the shore. Dryad.", Some(9));
    // Works that the snapshot lacks.
    check("Young, K. (1991). The theory of planned behavior. Annals of Nothing, 3, 12-15.", None);
    check("Smith J. A different paper altogether. Nature. 2011;400:12.", None);
    check("***", None);
    // A sure score says so, whatever the citation leaves out.
    let found =
        candidates(&mut connection, "outputs", &[("text", "Ajzen 1991 planned behavior 50 179")]);
    let is_low = |of: &serde_json::Value| of["match"] == true && of["score"].as_f64() < Some(0.7);
    assert!(!found.as_array().unwrap().iter().any(is_low), "{found:#}");
    server.end(&[]);
}

#[test]
fn parts_of_a_citation_are_as_good_as_a_text() {
    let snapshots = snapshots();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let mut check = |parts: &[(&str, &str)], expected: Option<u64>| {
        let found = candidates(&mut connection, "outputs", parts);
        assert_eq!(sure(&found), expected, "{parts:?}: {found:#}");
    };
    let title = ("title", "The theory of planned behavior");
    check(&[title, ("author", "Ajzen"), ("year", "1991")], Some(1));
    check(&[title, ("author", "Somebody Else"), ("year", "1891")], None);
    check(&[("doi", "10.1000/W2")], Some(2));
    check(
        &[("title", "Editorial"), ("author", "Ana Costa"), ("year", "2010"), ("volume", "7")],
        Some(5),
    );
    let found =
        candidates(&mut connection, "outputs", &[title, ("year", "1991"), ("author", "Ajzen")]);
    let why = found[0]["why"].as_array().unwrap();
    let agrees =
        |what: &str| why.iter().find(|of| of["what"] == what).map(|of| of["agrees"] == true);
    assert_eq!([agrees("title"), agrees("year"), agrees("author")], [Some(true); 3], "{found}");
    server.end(&[]);
}

#[test]
fn a_question_without_an_answer_is_refused_with_a_correction() {
    let snapshots = snapshots();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let mut check = |target: &str, parameter: &str, reason: &str| {
        let reply = connection.get(target);
        assert_eq!(reply.status, 400, "{target}: {}", reply.text());
        let detail = &reply.json()["details"][0];
        assert_eq!(detail["parameter"], parameter, "{target}: {detail}");
        assert!(detail["reason"].as_str().unwrap().contains(reason), "{target}: {detail}");
    };
    check("/match/outputs", "text", "is missing");
    check("/match/outputs?text=%20", "text", "is missing");
    check("/match/outputs?text=a&text=b", "text", "given twice");
    check("/match/outputs?text=a&title=b", "title", "stands beside `text`");
    check("/match/outputs?titel=a", "titel", "did you mean `title`?");
    check("/match/outputs?text=%ff", "text", "UTF-8");
    check("/match/authors?text=Jo+Doe", "text", "many people have one name");
    check(&format!("/match/outputs?text={}", "a".repeat(8_193)), "text", "8193 bytes");
    for path in ["/match", "/match/nothing", "/match/references/institution-types"] {
        assert_eq!(connection.get(path).status, 404, "{path}");
    }
    let options = connection.request("OPTIONS", "/match/outputs", &[]);
    assert_eq!(options.header("allow"), Some("GET, HEAD, POST, OPTIONS"));
    assert_eq!(connection.request("PUT", "/match/outputs", &[]).status, 405);
    let get = connection.get("/match/outputs?text=ajzen+1991");
    let head = connection.request("HEAD", "/match/outputs?text=ajzen+1991", &[]);
    assert_eq!(get.headers_without_date(), head.headers_without_date());
    let tag = format!("If-None-Match: {}", get.header("etag").unwrap());
    assert_eq!(connection.request("GET", "/match/outputs?text=ajzen+1991", &[&tag]).status, 304);
    server.end(&[]);
}
