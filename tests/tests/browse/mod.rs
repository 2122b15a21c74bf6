//! Pages for people: over HTTP, and in a real browser.

mod browser;
mod html;
mod lists;
mod pages;
mod records;

use std::{fs, path::PathBuf};

use pinakes_tests::server::Snapshots;

/// An output whose texts would be HTML if a page did not escape them.
const HOSTILE: &str = concat!(
    r#"{"id":"https://openalex.org/W3","title":"<script>alert(1)</script> of <i>E. coli</i> \"' &amp;","#,
    r#""authorships":[{"author":{"id":"https://openalex.org/A3","display_name":"<img src=x onerror=alert(2)>"},"#,
    r#""raw_affiliation_strings":["</dd><script>alert(3)</script>"]}],"#,
    r#""primary_location":{"landing_page_url":"javascript:alert(4)","pdf_url":"https://example.org/\"><b>"},"#,
    r#""keywords":[{"display_name":"\"><svg onload=alert(5)>"}],"type":"article","publication_year":2023,"#,
    r#""referenced_works":["https://openalex.org/W1","https://openalex.org/W2"],"referenced_works_count":2,"#,
    r#""cited_by_count":1,"counts_by_year":[{"year":2024,"cited_by_count":1}],"updated_date":"2026-01-10"}"#,
    "\n",
);
/// HTML that no page holds, although records spell it.
const FORBIDDEN: [&str; 7] =
    ["<script>", "<img", "<svg onload", "href=\"javascript:", "style=", "onclick=", "<b>"];

/// Publishes the tiny dump with the hostile output.
fn hostile_snapshots() -> Snapshots {
    let dump = tempfile::tempdir().unwrap();
    pinakes_tests::write_files(dump.path(), pinakes_tests::TINY_DUMP);
    let works = dump.path().join("works.jsonl");
    let text = fs::read_to_string(&works).unwrap();
    fs::write(&works, text + HOSTILE).unwrap();
    Snapshots::from_inputs(&[PathBuf::from(dump.path())])
}
