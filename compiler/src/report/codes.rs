//! The codes under which records are set aside, each with what it means.

/// What a code means, in one line.
pub fn meaning(code: &str) -> &'static str {
    let found = MEANINGS.iter().find(|(known, _)| *known == code);
    found.map_or("see the list", |(_, meaning)| meaning)
}

const MEANINGS: [(&str, &str); 16] = [
    ("bad_id", "an id that is none: spaces, leading zeros, or more than 19 digits"),
    ("bad_issn", "its only ISSN is none"),
    ("duplicate_key", "a key stands twice in one JSON object"),
    ("line_too_long", "longer than `--max-line`"),
    ("no_id", "no id, or one that is no text"),
    ("no_name", "no name, which all but outputs must have"),
    ("no_parent", "a topic whose parent no source names, or of another level"),
    ("not_a_record", "JSON, but no object"),
    ("not_json", "no JSON, half a surrogate pair, or a number beyond any double"),
    ("not_native", "a line of OpenAlex in a native part"),
    ("not_utf8", "bytes that are not UTF-8"),
    ("ragged_row", "more cells than the header has, or fewer"),
    ("too_deep", "arrays and objects nested deeper than 127"),
    ("too_large", "a record too large to keep"),
    ("unclosed_quote", "a quoted cell that does not end"),
    ("wrong_type", "the id of another entity than the file's"),
];
