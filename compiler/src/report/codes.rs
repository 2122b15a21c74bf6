//! The codes of bad records and warnings, each with its meaning and its remedy.

/// A code with its explanation.
pub struct Code {
    name: &'static str,
    /// The cause, as a sentence.
    pub meaning: &'static str,
    /// The next step for the operator.
    pub remedy: &'static str,
}

const fn code(name: &'static str, meaning: &'static str, remedy: &'static str) -> Code {
    Code { name, meaning, remedy }
}

/// Explains a code of bad records.
pub fn bad_record(name: &str) -> &'static Code {
    find(BAD_RECORDS, name)
}

/// Explains a code of warnings.
pub fn warning(name: &str) -> &'static Code {
    find(WARNINGS, name)
}

fn find(codes: &'static [Code], name: &str) -> &'static Code {
    // An object of another compiler version may contain codes that this version does not know.
    static UNKNOWN: Code = code(
        "",
        "this version does not know the code",
        "see the line, or the version that wrote it",
    );
    codes.iter().find(|code| code.name == name).unwrap_or(&UNKNOWN)
}

const FIX_LINE: &str = "fix or remove the line";
const BECAME_NULL: &str = "the member became null; fix the value if you need it";

const BAD_RECORDS: &[Code] = &[
    code(
        "bad_deletion",
        "a row of deleted ids has no valid id of its entity, or an impossible date",
        "fix or remove the row",
    ),
    code(
        "bad_id",
        "the id is invalid: it has spaces, leading zeros, or more than 19 digits",
        "fix the id",
    ),
    code("bad_issn", "the row's only ISSN is invalid", "fix the ISSN, or leave the cell empty"),
    code("duplicate_key", "a JSON object has the same key twice", "remove one of the two"),
    code(
        "is_native",
        "a file of OpenAlex lines contains a line written by `export`",
        "move the line to a file of its own",
    ),
    code(
        "line_too_long",
        "the line is longer than `--max-line`, or than a third of `--memory`",
        "raise `--max-line` or `--memory`",
    ),
    code("no_id", "the record has no id, or its id is not a string", FIX_LINE),
    code("no_name", "the record has no name, and its entity requires one", "add a name"),
    code(
        "no_parent",
        "no input contains the topic's parent, or the parent has another level",
        "add the taxonomy CSV, or the dump's subfields, fields and domains",
    ),
    code("not_a_record", "the line is JSON, but not an object", FIX_LINE),
    code(
        "not_json",
        "the line is not valid JSON, has half a surrogate pair, or has a number beyond the range of \
         a double",
        FIX_LINE,
    ),
    code(
        "not_native",
        "a native file contains an OpenAlex line",
        "move the line to a file of its own",
    ),
    code("not_utf8", "the line is not valid UTF-8", "convert the file (`iconv -t UTF-8`)"),
    code("ragged_row", "the row has more or fewer cells than the header", "fix the row"),
    code(
        "takes_memory",
        "the line and the lists of its record take more than 64 MiB of memory; with a raised `--max-line`, more than a third of \
         `--memory`",
        "raise `--max-line` and `--memory`, or shorten the record with `--max-array`",
    ),
    code("too_deep", "arrays and objects are nested deeper than 127 levels", FIX_LINE),
    code(
        "too_large",
        "the record is larger than the snapshot format allows",
        "shorten it with `--max-array` or `--max-text`",
    ),
    code("unclosed_quote", "a quoted cell has no closing quote", "close the quote"),
    code(
        "wrong_type",
        "the id belongs to another entity than the file",
        "move the record to that entity's file",
    ),
];

const WARNINGS: &[Code] = &[
    code(
        "abstract_cut",
        "an abstract ends in the middle, as OpenAlex cuts long ones in its Parquet files",
        "nothing to do: the abstract was read up to the cut; the JSON lines hold the rest",
    ),
    code(
        "array_too_long",
        "the array has more elements than `--max-array`",
        "the array became null; raise the option to keep it",
    ),
    code(
        "bad_issn",
        "a cell with several ISSNs also contains an invalid one",
        "nothing to do: the invalid ISSN was left out",
    ),
    code(
        "bad_merge",
        "a row of merged ids does not contain two valid ids",
        "the row was left out; fix it to redirect the id",
    ),
    code(
        "bad_reference",
        "a reference is not a valid id of the entity that it refers to",
        BECAME_NULL,
    ),
    code(
        "column_type",
        "a column of a Parquet file has a type that no record has",
        "the column was read as null; write it as text or as a number",
    ),
    code(
        "completed_issn",
        "an ISSN lacked leading zeros or its final X",
        "nothing to do: its check character decided how to complete it",
    ),
    code("count_too_large", "a count is above 2^53 - 1", BECAME_NULL),
    code(
        "deleted_but_newer",
        "a deleted id has a record that changed after the deletion",
        "nothing to do: the record was kept",
    ),
    code(
        "duplicate_column",
        "a table has two columns with the same name",
        "the first column was read; remove one of the two",
    ),
    code(
        "duplicate_heading",
        "a list of journals has two columns with the same name",
        "the first column was read; remove one of the two",
    ),
    code("empty_part", "a file contains no record", "check that the file should be empty"),
    code(
        "future_updated_date",
        "a record's `updated_date` is more than a day in the future",
        "correct the date in the source of the data",
    ),
    code(
        "gzip_zero_padding",
        "zero bytes follow the last gzip member",
        "nothing to do: all data was read",
    ),
    code("impossible_date", "a date or time is invalid", BECAME_NULL),
    code("impossible_year", "a year is not between 1 and 9999", BECAME_NULL),
    code(
        "jcr_without_jif",
        "a list, taken for `jcr` (Journal Citation Reports), has no impact factor",
        "nothing to do for a list without impact factors; else name their column `JIF`",
    ),
    code(
        "manifest_part_absent",
        "a manifest lists a file that is missing",
        "fetch the file; with `--strict-manifest` the run fails instead",
    ),
    code(
        "manifest_part_unlisted",
        "the manifest of a folder does not list one of its files",
        "the file was read; remove it if it is left over from an earlier dump",
    ),
    code(
        "merge_cycle",
        "ids are merged into each other in a circle",
        "nothing to do: these ids are not found",
    ),
    code(
        "merge_target_missing",
        "an id was merged into an id without a record",
        "the id is not found; add the input that contains the record",
    ),
    code(
        "merged_but_newer",
        "a merged id has a record that is newer than the merge",
        "nothing to do: the record was kept",
    ),
    code(
        "misnamed_container",
        "a file's compression does not match its name",
        "nothing to do: the file was read",
    ),
    code("negative_count", "a count is below zero", BECAME_NULL),
    code("not_a_boolean", "a value is neither true nor false", BECAME_NULL),
    code("not_a_number", "a value is not a number", BECAME_NULL),
    code("not_a_percentage", "a value is not a percentage between 0 and 100", BECAME_NULL),
    code("not_a_quartile", "a value is not a quartile from Q1 to Q4", BECAME_NULL),
    code("not_a_text", "a value is not a string", BECAME_NULL),
    code("not_an_abstract", "an abstract is not an inverted index", BECAME_NULL),
    code("not_an_array", "a value is not an array", BECAME_NULL),
    code(
        "not_an_integer",
        "a number has a fraction, or is beyond the range of an integer",
        BECAME_NULL,
    ),
    code("not_an_object", "a value is not an object", BECAME_NULL),
    code(
        "not_positions",
        "an inverted index has an object in place of a word's positions",
        BECAME_NULL,
    ),
    code(
        "nul_removed",
        "a text contained a NUL character",
        "nothing to do: the rest of the text was kept",
    ),
    code(
        "parquet_without_checksum",
        "the pages of a Parquet file have no checksums, so that damage can go unnoticed",
        "write the file with page checksums, or compare it with a known hash",
    ),
    code(
        "ror_schema_1_skipped",
        "a file has ROR records of schema 1, which the compiler does not read",
        "fetch the same release in schema 2",
    ),
    code(
        "same_parts",
        "several files have identical bytes",
        "nothing to do: one of the files was read",
    ),
    code(
        "scopus_without_metrics",
        "a list, taken for `scopus` (the source list), has no CiteScore, SNIP or SJR",
        "nothing to do for the list of sources; add the CiteScore table for the metrics",
    ),
    code(
        "text_too_long",
        "a text has more bytes than `--max-text` or `--max-line`",
        "the text became null; raise the option to keep it",
    ),
    code(
        "truncated_part",
        "a file is cut short; its complete lines were read",
        "fetch the file again",
    ),
    code(
        "unknown_member",
        "a native line has a member that no record has",
        "nothing to do: the member was left out",
    ),
    code(
        "zstd_without_checksum",
        "a zstd file has no checksum, so that damage can go unnoticed",
        "compress it with `zstd --check`, or compare it with a known hash",
    ),
];

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::{collections::BTreeSet, fs, path::Path};

    use super::*;

    /// Returns each string literal that follows one of `calls` on the same line or the next.
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
    fn exactly_the_reported_codes_are_explained() {
        let mut text = String::new();
        sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut text);
        for code in literals(&text, &["warn(", "warnings.add("]) {
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
