//! Invalid selections, samples and formats, each with the complete body of its refusal.

use pinakes_tests::expect::check_all_refused;

const PAGE: &str =
    "does not go with `format`, which sends the whole list; leave out one of the two";
const GROUPS: &str = "does not go with `group_by`, which counts records; leave out one of the two";
const SAMPLE: &str = "must be a whole number from 1 to 10000";
const SEED: &str = "must be a whole number from 0 to 18446744073709551615";
const FORMAT: &str = "must be `ndjson`, `csv`, `xlsx`, `bibtex`, `ris`, `csl-json` or `atom`; without `format`, pages are JSON";

#[test]
fn wrong_members_are_refused_with_the_nearest() {
    let unknown = |text: &str| format!("is no member of the records of /outputs; {text}");
    let title = unknown("did you mean `title`?");
    let name = unknown("did you mean `authors.name`?");
    let id = unknown("did you mean `authors.id`?");
    let single = "is shown by single records and streams (`format`) only, not by pages of lists";
    let empty = "lacks a member; write one or more, with one comma between two";
    check_all_refused(&[
        ("/outputs?select=titel", &[("select", "titel", &title)]),
        ("/outputs?select=id,authors.nam,year", &[("select", "authors.nam", &name)]),
        ("/outputs?select=authorships.author.id", &[("select", "authorships.author.id", &id)]),
        ("/outputs?select=abstract", &[("select", "abstract", single)]),
        (
            "/outputs?select=authors.raw_affiliation_strings",
            &[("select", "authors.raw_affiliation_strings", single)],
        ),
        ("/outputs?select=", &[("select", "", "is empty; leave it out")]),
        ("/outputs?select=%20", &[("select", "", "is empty; leave it out")]),
        ("/outputs?select=id,", &[("select", "", empty)]),
        ("/outputs?select=id,id", &[("select", "id", "is selected a second time; name it once")]),
        ("/outputs?select=id&select=id", &[("select", "id", "is given twice; give it once")]),
        ("/authors?select=orcid.id", &[("select", "orcid.id", single)]),
        (
            "/domains?select=fields.id,nothing,nmae",
            &[
                (
                    "select",
                    "nothing",
                    "is no member of the records of /domains; there are `id`, `name`, `description`, \
                     `ids`, `ids.wikidata`, `ids.wikipedia`, `display_name_alternatives`, \
                     `fields`, `fields.id`, `fields.name`, `siblings`, `siblings.id`, \
                     `siblings.name`, `outputs_count`, `cited_by_count`, `updated_date`, \
                     `created_date`",
                ),
                ("select", "nmae", "is no member of the records of /domains; did you mean `name`?"),
            ],
        ),
    ]);
}

#[test]
fn wrong_samples_are_refused() {
    check_all_refused(&[
        ("/outputs?sample=0", &[("sample", "0", SAMPLE)]),
        ("/outputs?sample=10001", &[("sample", "10001", SAMPLE)]),
        ("/outputs?sample=-1", &[("sample", "-1", SAMPLE)]),
        ("/outputs?sample=1.5", &[("sample", "1.5", SAMPLE)]),
        ("/outputs?sample=", &[("sample", "", SAMPLE)]),
        (
            "/outputs?sample=99999999999999999999999",
            &[("sample", "99999999999999999999999", SAMPLE)],
        ),
        ("/outputs?sample=1&seed=-1", &[("seed", "-1", SEED)]),
        ("/outputs?sample=1&seed=18446744073709551616", &[("seed", "18446744073709551616", SEED)]),
        ("/outputs?sample=1&seed=x", &[("seed", "x", SEED)]),
        (
            "/outputs?seed=1",
            &[("seed", "1", "is the seed of `sample`; write `sample=N` too, or leave it out")],
        ),
        ("/outputs?sample=5&group_by=type", &[("sample", "5", GROUPS)]),
        ("/outputs?select=id&group_by=type", &[("select", "id", GROUPS)]),
        (
            "/statistics/outputs?sample=5",
            &[(
                "sample",
                "5",
                "is no parameter of this list: statistics are of all matching records",
            )],
        ),
    ]);
}

#[test]
fn wrong_formats_are_refused() {
    check_all_refused(&[
        ("/outputs?format=xml", &[("format", "xml", FORMAT)]),
        ("/outputs?format=json", &[("format", "json", FORMAT)]),
        ("/outputs?format=CSV", &[("format", "CSV", FORMAT)]),
        ("/outputs?format=", &[("format", "", FORMAT)]),
        ("/outputs?format=csv&page=2", &[("page", "2", PAGE)]),
        (
            "/outputs?page=1&per_page=10&format=ndjson",
            &[("page", "1", PAGE), ("per_page", "10", PAGE)],
        ),
        ("/outputs?format=csv&group_by=type&page=1", &[("page", "1", PAGE)]),
        ("/outputs/HX_W2900000160/citations?format=csv&page=1", &[("page", "1", PAGE)]),
        (
            "/outputs?format=csv&filter=yaer:2020",
            &[("filter", "yaer", "is no filter key of /outputs; did you mean `year`?")],
        ),
        (
            "/legacy/topics?format=csv",
            &[(
                "format",
                "csv",
                "is no parameter of this list; it takes `page`, `per_page`, `filter`, `sort`, `group_by`",
            )],
        ),
    ]);
}
