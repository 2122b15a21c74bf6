//! Tests of the Markdown pages: their links resolve, the table of keys in server/API.md equals the catalog, and
//! folders import what the map of the code says.
//!
//! `make bless` records the table.

mod imports;

use std::{fmt::Write, fs};

use pinakes_format::entity::Entity;
use pinakes_format::schema::keys::keys_of;

const BEGIN: &str = "<!-- keys -->\n";
const END: &str = "<!-- end of keys -->\n";

/// Writes one row per list with its keys by kind; sort keys have an asterisk.
fn table() -> String {
    let mut table = String::from("| list | keys |\n|------|------|\n");
    for entity in Entity::all() {
        let keys = &keys_of(entity).keys;
        let mut kinds: Vec<&str> = Vec::new();
        for key in keys {
            if !kinds.contains(&key.kind.name()) {
                kinds.push(key.kind.name());
            }
        }
        let mut groups = Vec::new();
        for kind in kinds {
            let names: Vec<String> = keys
                .iter()
                .filter(|key| key.kind.name() == kind)
                .map(|key| match (key.filter, key.sort) {
                    (Some(_), Some(_)) => format!("`{}`\\*", key.name),
                    (Some(_), None) => format!("`{}`", key.name),
                    _ => format!("(`{}`\\*)", key.name),
                })
                .collect();
            groups.push(format!("{kind}: {}", names.join(" ")));
        }
        let groups = if groups.is_empty() { "none".to_owned() } else { groups.join(" · ") };
        writeln!(table, "| `/{}` | {groups} |", entity.facts().route)
            .expect("a string accepts all text");
    }
    table
}

#[test]
fn the_table_of_keys_in_api_md_equals_the_catalog() {
    let path = pinakes_tests::root().join("server/API.md");
    let text = fs::read_to_string(&path).expect("the page is there");
    let (before, rest) = text.split_once(BEGIN).expect("the page has a table of keys");
    let (recorded, after) = rest.split_once(END).expect("the table of keys ends");
    let table = table();
    if std::env::var_os("PINAKES_BLESS").is_some() {
        fs::write(&path, format!("{before}{BEGIN}{table}{END}{after}")).expect("it can be written");
        return;
    }
    assert!(
        recorded == table,
        "the table of keys in server/API.md differs from the catalog; run `make bless`"
    );
}

/// The Markdown pages of the project.
const PAGES: [&str; 13] = [
    "README.md",
    "compiler/PARQUET.md",
    "compiler/README.md",
    "data/README.md",
    "format/ARCHITECTURE.md",
    "format/FORMAT.md",
    "server/API.md",
    "server/MIRROR.md",
    "server/README.md",
    "server/python/README.md",
    "tests/README.md",
    "tests/bench/README.md",
    "tests/oracle/README.md",
];

/// The anchors that code hosts derive from a page's headings.
fn anchors(text: &str) -> Vec<String> {
    let mut is_code = false;
    let headings = text.lines().filter(|line| {
        is_code ^= line.starts_with("```");
        !is_code && line.starts_with('#')
    });
    let anchor = |heading: &str| {
        let kept = |c: &char| c.is_alphanumeric() || [' ', '-', '_'].contains(c);
        let text = heading.trim_start_matches('#').trim().to_lowercase();
        text.chars().filter(kept).collect::<String>().replace(' ', "-")
    };
    headings.map(anchor).collect()
}

#[test]
fn every_link_of_a_page_resolves() {
    let root = pinakes_tests::root();
    let mut links = 0;
    for page in PAGES {
        let text = fs::read_to_string(root.join(page)).expect("the page is there");
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if link.contains("://") || link.contains(char::is_whitespace) {
                continue;
            }
            links += 1;
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            let folder = root.join(page);
            let folder = folder.parent().expect("a page lies in a folder");
            let target = if path.is_empty() { root.join(page) } else { folder.join(path) };
            assert!(target.exists(), "{page} links to {link}, which is not there");
            if !anchor.is_empty() {
                let text = fs::read_to_string(&target).expect("an anchor is in a page");
                let found = anchors(&text).iter().any(|known| known == anchor);
                assert!(found, "{page} links to {link}, which has no such heading");
            }
        }
    }
    assert!(links > 20, "{links} links were found");
}
