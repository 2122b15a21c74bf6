//! The names behind country and language codes: ISO 3166-1 alpha-2 and ISO 639-1, in English.

use std::{collections::HashMap, sync::LazyLock};

use pinakes_format::record::value::Table;

type Names = HashMap<&'static str, &'static str>;

static COUNTRIES: LazyLock<Names> = LazyLock::new(|| read(include_str!("countries.tsv")));
static LANGUAGES: LazyLock<Names> = LazyLock::new(|| read(include_str!("languages.tsv")));

fn read(table: &'static str) -> Names {
    table.lines().filter_map(|line| line.split_once('\t')).collect()
}

/// The name of a code of a table; `None` where the code is unknown, or the table has no names.
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
    fn the_lists_are_whole() {
        // ISO 3166-1 has 249 codes; XK, for Kosovo, is in use beside them.
        assert_eq!(COUNTRIES.len(), 250);
        assert!(LANGUAGES.len() >= 184);
        assert_eq!(name(Table::Country as u8, "de"), Some("Germany"));
        assert_eq!(name(Table::Language as u8, "de"), Some("German"));
        assert_eq!(name(Table::Language as u8, "xx"), None);
        assert_eq!(name(Table::License as u8, "de"), None);
    }
}
