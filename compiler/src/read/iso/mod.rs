//! English names of country codes (ISO 3166-1 alpha-2) and language codes (ISO 639-1).

use std::{collections::HashMap, sync::LazyLock};

use pinakes_format::record::Table;

type NameByCode = HashMap<&'static str, &'static str>;

static COUNTRIES: LazyLock<NameByCode> = LazyLock::new(|| parse(include_str!("countries.tsv")));
static LANGUAGES: LazyLock<NameByCode> = LazyLock::new(|| parse(include_str!("languages.tsv")));

fn parse(table: &'static str) -> NameByCode {
    table.lines().filter_map(|line| line.split_once('\t')).collect()
}

/// The name of a code; `None` where the code is unknown or its table has no names.
pub fn name(table: u8, code: &str) -> Option<&'static str> {
    if table == Table::Country as u8 {
        COUNTRIES.get(code.to_ascii_uppercase().as_str()).copied()
    } else if table == Table::Language as u8 {
        LANGUAGES.get(code.to_ascii_lowercase().as_str()).copied()
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_hold_every_code() {
        // ISO 3166-1 has 249 codes; the list adds XK for Kosovo.
        assert_eq!(COUNTRIES.len(), 250);
        assert!(LANGUAGES.len() >= 184);
        assert_eq!(name(Table::Country as u8, "de"), Some("Germany"));
        assert_eq!(name(Table::Language as u8, "de"), Some("German"));
        assert_eq!(name(Table::Language as u8, "xx"), None);
        assert_eq!(name(Table::License as u8, "de"), None);
    }
}
