//! The table of keys of server/API.md is the one the programs go by.
//!
//! `make bless` records it anew.

use std::{fmt::Write, fs};

use pinakes_format::{entity::Entity, keys::keys_of};

const BEGIN: &str = "<!-- keys -->\n";
const END: &str = "<!-- end of keys -->\n";

/// A row a list: its keys by kind, those that also sort with an asterisk.
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
        writeln!(table, "| `/{}` | {groups} |", entity.facts().route).expect("a string takes all");
    }
    table
}

#[test]
fn the_table_of_keys_is_that_of_the_catalog() {
    let path = pinakes_tests::root().join("README.md");
    let text = fs::read_to_string(&path).expect("the README is there");
    let (before, rest) = text.split_once(BEGIN).expect("the README has a table of keys");
    let (recorded, after) = rest.split_once(END).expect("the table of keys ends");
    let table = table();
    if std::env::var_os("PINAKES_BLESS").is_some() {
        fs::write(&path, format!("{before}{BEGIN}{table}{END}{after}")).expect("it can be written");
        return;
    }
    assert!(
        recorded == table,
        "the table of keys of server/API.md is not the catalog's; run `make bless`"
    );
}
