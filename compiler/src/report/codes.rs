//! The codes of the report: under which records are set aside, and under which what cost no record
//! is counted, each with what it means and what to do.

/// What a person is told of a code.
pub struct Code {
    name: &'static str,
    /// What it means.
    pub meaning: &'static str,
    /// What to do.
    pub remedy: &'static str,
}

const fn code(name: &'static str, meaning: &'static str, remedy: &'static str) -> Code {
    Code { name, meaning, remedy }
}

/// What is said of a code of bad records.
pub fn bad_record(name: &str) -> &'static Code {
    find(BAD_RECORDS, name)
}

/// What is said of a code of warnings.
pub fn warning(name: &str) -> &'static Code {
    find(WARNINGS, name)
}

fn find(codes: &'static [Code], name: &str) -> &'static Code {
    // An object made by another version may know codes that this one does not.
    static UNKNOWN: Code = code("", "a code this version does not know", "look at the place");
    codes.iter().find(|code| code.name == name).unwrap_or(&UNKNOWN)
}

const MEND: &str = "mend the line, or leave it out";
const NULL: &str = "the member is null; mend it where it matters";
const FETCH: &str = "fetch the file again";

const BAD_RECORDS: &[Code] = &[
    code(
        "bad_id",
        "an id that is none: spaces, leading zeros, or more than 19 digits",
        "mend the id",
    ),
    code("bad_issn", "the only ISSN of a row is none", "mend it, or leave it blank"),
    code("duplicate_key", "a key stands twice in one JSON object", "leave one of them out"),
    code(
        "is_native",
        "a line that `export` wrote, among lines of OpenAlex",
        "give it a file of its own",
    ),
    code("line_too_long", "longer than `--max-line`", "raise `--max-line`"),
    code("no_id", "no id, or one that is no text", MEND),
    code("no_name", "no name, which all but outputs must have", "give it one"),
    code(
        "no_parent",
        "a topic whose parent no source names, or of another level",
        "add the taxonomy CSV, or the dump's subfields, fields and domains",
    ),
    code("not_a_record", "JSON, but no object", MEND),
    code("not_json", "no JSON, half a surrogate pair, or a number beyond any double", MEND),
    code("not_native", "a line of OpenAlex in a native part", "give it a file of its own"),
    code("not_utf8", "bytes that are not UTF-8", "convert the file (`iconv -t UTF-8`)"),
    code("ragged_row", "more cells than the header has, or fewer", "mend the row"),
    code("too_deep", "arrays and objects nested deeper than 127", MEND),
    code("too_large", "a record too large to keep", "bound it with `--max-array`, `--max-text`"),
    code("unclosed_quote", "a quoted cell that does not end", "close the quote"),
    code("wrong_type", "the id of another entity than the file's", "move it to that entity's file"),
];

const WARNINGS: &[Code] = &[
    code(
        "array_too_long",
        "more elements than `--max-array`",
        "the array is null; raise the option to keep it",
    ),
    code("bad_issn", "a cell of several ISSNs holds something else too", "nothing: it is left out"),
    code(
        "bad_merge",
        "a row of merged ids that names no two ids",
        "it is left out; mend the row to redirect it",
    ),
    code("bad_reference", "what refers to a record is no id of its entity", NULL),
    code("count_too_large", "a count above 2^53 - 1", NULL),
    code(
        "duplicate_column",
        "two columns of one name in a table",
        "the first is read; leave one of them out",
    ),
    code(
        "duplicate_heading",
        "two columns of one name in a list of journals",
        "the first is read; leave one of them out",
    ),
    code("empty_part", "a file without a record", "see whether it should have any"),
    code("future_updated_date", "a record that changed later than tomorrow", "see who wrote it"),
    code("gzip_zero_padding", "zeros after the last gzip member", "nothing: all was read"),
    code("impossible_date", "a date or time that is none", NULL),
    code("impossible_year", "a year that is none from 1 to 9999", NULL),
    code(
        "manifest_part_absent",
        "a file that a manifest lists is not there",
        "fetch it; `--strict-manifest` demands it",
    ),
    code(
        "manifest_part_unlisted",
        "a file that its manifest does not list",
        "it was read; see whether it is left from an older dump",
    ),
    code("merge_cycle", "ids merged into one another in a circle", "nothing: they are not found"),
    code(
        "merge_target_missing",
        "an id merged into one that has no record",
        "nothing: it is not found; add what holds the record",
    ),
    code(
        "merged_but_newer",
        "a merged id whose record is newer than the merge",
        "nothing: the record stands",
    ),
    code("misnamed_container", "a file that is not what its ending says", "nothing: it was read"),
    code("negative_count", "a count below zero", NULL),
    code("not_a_boolean", "neither true nor false", NULL),
    code("not_a_number", "no number", NULL),
    code("not_a_percentage", "no percentage from 0 to 100", NULL),
    code("not_a_quartile", "none of Q1 to Q4", NULL),
    code("not_a_text", "no text", NULL),
    code("not_an_abstract", "no inverted index", NULL),
    code("not_an_array", "no array", NULL),
    code("not_an_integer", "a number with a fraction, or beyond any integer", NULL),
    code("not_an_object", "no object", NULL),
    code("not_positions", "an inverted index with an object for a word's places", NULL),
    code("nul_removed", "a text with NUL in it", "nothing: the rest of it is kept"),
    code(
        "ror_schema_1_skipped",
        "ROR records of schema 1, which are not read",
        "fetch the same release in schema 2",
    ),
    code("same_parts", "files of the same bytes", "nothing: one of them was read"),
    code(
        "text_too_long",
        "more bytes than `--max-text`",
        "the text is null; raise the option to keep it",
    ),
    code("truncated_part", "a file cut short, whose whole lines were taken", FETCH),
    code("unknown_member", "a native line with a member no record has", "nothing: it is left out"),
    code(
        "zstd_without_checksum",
        "a zstd file without a checksum, in which damage can go unseen",
        "make it with `zstd --check`, or hold it against a hash",
    ),
];

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::{collections::BTreeSet, fs, path::Path};

    use super::*;

    /// Each text literal that follows one of `calls` on the same line or the next.
    fn literals<'t>(text: &'t str, calls: &[&str]) -> BTreeSet<&'t str> {
        let after = |call: &&str| -> Vec<&'t str> {
            text.match_indices(*call)
                .map(|(at, call)| text[at + call.len()..].trim_start())
                .collect()
        };
        let literal = |rest: &'t str| rest.strip_prefix('"')?.split('"').next();
        let found: Vec<&str> = calls.iter().flat_map(after).collect();
        found.into_iter().filter_map(literal).collect()
    }

    fn sources(directory: &Path, text: &mut String) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                sources(&path, text);
            } else if !path.ends_with("codes.rs") {
                text.push_str(&fs::read_to_string(&path).unwrap());
            }
        }
    }

    #[test]
    fn every_code_that_is_reported_is_explained_and_no_other() {
        let mut text = String::new();
        sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut text);
        let calls = ["warn(", "drain!(", "drain!(map", "warnings.add("];
        let calls = [&calls[..], &["drain!(scalars", "drain!(numbers", "drain!(bool"]].concat();
        for code in literals(&text, &calls) {
            assert!(WARNINGS.iter().any(|known| known.name == code), "{code} is not explained");
        }
        for code in BAD_RECORDS.iter().chain(WARNINGS) {
            assert!(text.contains(&format!("\"{}\"", code.name)), "{} is not reported", code.name);
        }
        for codes in [BAD_RECORDS, WARNINGS] {
            assert!(codes.is_sorted_by_key(|code| code.name));
        }
    }
}
