//! Tests of filters with wrong keys or wrong syntax, and of their error messages.

use pinakes_tests::expect::{RefusedQuery, check_all_refused};

const EMPTY: &str = "is empty; leave it out";
const NO_COLON: &str =
    "lacks its colon; an expression is `key:value`, and a value with a comma stands in quotes";
const NO_KEY: &str = "lacks its key; an expression is `key:value`";
const NO_VALUE: &str = "has an empty value; `null` finds records without one";
const NO_EXPRESSION: &str = "an expression is empty; write `key:value`, with one comma between two";
const CONTROL: &str = "holds a control character";
const ESCAPE: &str = "is no percent-encoded UTF-8; a `%` itself is written `%25`";
const TWICE: &str = "is given twice; give it once";
const UNKNOWN: &str = "is no filter key of /outputs; there are 180, among them `id`, `name`, `doi`, `title`, \
     `year`, `date`, `cites`, `fwci`, `type`, `is_oa`, `is_xpac`, `has_doi`";
const OF_DOMAINS: &str = "is no filter key of /domains; there are `id`, `name`, `name.search`, \
     `updated_date`, `created_date`, `from_updated_date`, `to_updated_date`, `from_created_date`, \
     `to_created_date`, `fields.id`, `outputs_count`, `cited_by_count`";
const FILTER: &str = "is no parameter of this list; did you mean `filter`?";

const REFUSED: &[RefusedQuery<'_>] = &[
    ("/outputs?filter=", &[("filter", "", EMPTY)]),
    ("/outputs?filter", &[("filter", "", EMPTY)]),
    ("/outputs?filter=%20", &[("filter", "", EMPTY)]),
    ("/outputs?filter=%20:true", &[("filter", ":true", NO_KEY)]),
    ("/outputs?filter=type:%20", &[("filter", "type:", NO_VALUE)]),
    ("/outputs?filter=type:article|%20|book", &[("filter", "type:article| |book", NO_VALUE)]),
    ("/outputs?filter=is_oa:true,%20", &[("filter", "", NO_EXPRESSION)]),
    ("/outputs?search=%20", &[("search", "", EMPTY)]),
    ("/outputs?search=%E3%80%80", &[("search", "", EMPTY)]),
    ("/outputs?search=", &[("search", "", EMPTY)]),
    ("/outputs?filter=is_oa", &[("filter", "is_oa", NO_COLON)]),
    ("/outputs?filter=:", &[("filter", ":", NO_KEY)]),
    ("/outputs?filter=:true", &[("filter", ":true", NO_KEY)]),
    ("/outputs?filter=is_oa:", &[("filter", "is_oa:", NO_VALUE)]),
    (
        "/outputs?filter=__proto__:1",
        &[(
            "filter",
            "__proto__",
            "is no filter key of /outputs; there are 180, among them `is_paratext`, `doi`, \
                 `title`, `year`, `date`, `to_date`, `cites`, `type`, `is_oa`, `has_doi`, \
                 `has_orcid`, `topics.id`",
        )],
    ),
    ("/outputs?filter=a.b.c:1", &[("filter", "a.b.c", UNKNOWN)]),
    (
        "/outputs?filter=IS_OA:true",
        &[("filter", "IS_OA", "is no filter key of /outputs; did you mean `is_oa`?")],
    ),
    (
        "/outputs?filter=is%20oa:true",
        &[("filter", "is oa", "is no filter key of /outputs; did you mean `is_oa`?")],
    ),
    (
        "/outputs?filter=oa_status:gold",
        &[(
            "filter",
            "oa_status",
            "is no filter key of /outputs; did you mean `open_access.oa_status`?",
        )],
    ),
    (
        "/outputs?filter=language:en",
        &[("filter", "language", "is no filter key of /outputs; did you mean `language.code`?")],
    ),
    (
        "/outputs?filter=publication_year:2020",
        &[("filter", "publication_year", "is no filter key of /outputs; did you mean `year`?")],
    ),
    (
        "/outputs?filter=authorships.author.id:A1",
        &[(
            "filter",
            "authorships.author.id",
            "is no filter key of /outputs; did you mean `authors.id`?",
        )],
    ),
    (
        "/outputs?filter=abstract:a",
        &[("filter", "abstract", "is no filter key of /outputs; did you mean `abstract.search`?")],
    ),
    (
        "/authors?filter=works_count:>5",
        &[("filter", "works_count", "is no filter key of /authors; did you mean `outputs_count`?")],
    ),
    ("/domains?filter=foo:1", &[("filter", "foo", OF_DOMAINS)]),
    ("/domains?filter=constructor:1", &[("filter", "constructor", OF_DOMAINS)]),
    ("/domains?filter=__proto__:1", &[("filter", "__proto__", OF_DOMAINS)]),
    ("/outputs?filter=year:", &[("filter", "year:", NO_VALUE)]),
    ("/outputs?filter=year:2023,", &[("filter", "", NO_EXPRESSION)]),
    ("/outputs?filter=,year:2023", &[("filter", "", NO_EXPRESSION)]),
    (
        "/outputs?filter=,,",
        &[
            ("filter", "", NO_EXPRESSION),
            ("filter", "", NO_EXPRESSION),
            ("filter", "", NO_EXPRESSION),
        ],
    ),
    ("/outputs?filter=type:article|", &[("filter", "type:article|", NO_VALUE)]),
    ("/outputs?filter=type:article||book", &[("filter", "type:article||book", NO_VALUE)]),
    ("/outputs?filter=type:!", &[("filter", "type:!", NO_VALUE)]),
    (
        "/outputs?filter=type:!!article",
        &[("filter", "type:!!article", "has `!` twice; once is enough")],
    ),
    (
        "/outputs?filter=type:article|!book",
        &[(
            "filter",
            "type:article|!book",
            "has `!` before a later alternative; one before the first is for all, and a \
                 value that begins with it belongs in quotes",
        )],
    ),
    (
        "/outputs?filter=type:\"article",
        &[("filter", "type:\"article", "has a quote that is not closed")],
    ),
    (
        "/outputs?filter=type:\"article\"x",
        &[(
            "filter",
            "type:\"article\"x",
            "has text after a closing quote, where only `|` or `,` may stand",
        )],
    ),
    (
        "/outputs?filter=type:art\"icle",
        &[(
            "filter",
            "type:art\"icle",
            "has a quote within a value; put all of it in quotes, and write `\"\"` for \
                 one quote",
        )],
    ),
    ("/outputs?filter=type:\"\"", &[("filter", "type:\"\"", NO_VALUE)]),
    ("/outputs?filter=type:article%2Cbook", &[("filter", "book", NO_COLON)]),
    ("/outputs?filter=type:a%00b", &[("filter", "type:a\0b", CONTROL)]),
    ("/outputs?filter=type:%0a", &[("filter", "type:\n", CONTROL)]),
    (
        "/outputs?filter=ty%00pe:a",
        &[("filter", "ty\0pe", "is no filter key of /outputs; did you mean `type`?")],
    ),
    ("/outputs?filter=%ff", &[("filter", "%ff", ESCAPE)]),
    ("/outputs?filter=%C0%AF", &[("filter", "%C0%AF", ESCAPE)]),
    ("/outputs?filter=type:%ED%A0%80", &[("filter", "type:%ED%A0%80", ESCAPE)]),
    ("/outputs?filter=%zz", &[("filter", "%zz", ESCAPE)]),
    ("/outputs?filter=%", &[("filter", "%", ESCAPE)]),
    ("/outputs?filter=%4", &[("filter", "%4", ESCAPE)]),
    ("/outputs?filter=type:100%", &[("filter", "type:100%", ESCAPE)]),
    ("/outputs?filter=year:2020&filter=is_oa:true", &[("filter", "is_oa:true", TWICE)]),
    ("/outputs?filter=year:2020&filter=year:2020", &[("filter", "year:2020", TWICE)]),
    ("/outputs?filter[]=year:1", &[("filter[]", "year:1", FILTER)]),
    ("/outputs?Filter=year:1", &[("Filter", "year:1", FILTER)]),
    (
        "/outputs?filter=year:2020&is_oa:true",
        &[(
            "is_oa:true",
            "",
            "is no parameter of this list; expressions of `filter` are parted by `,`",
        )],
    ),
    ("/outputs?filter=is_oa=true", &[("filter", "is_oa=true", NO_COLON)]),
    ("/outputs?filter=name:a,b", &[("filter", "b", NO_COLON)]),
    (
        "/outputs?year=2020",
        &[("year", "2020", "is no parameter of this list; it is a filter key: `filter=year:…`")],
    ),
    (
        "/outputs?filter=is_oa:maybe,colour:red,year:x,type:a|",
        &[
            ("filter", "is_oa:maybe", "`maybe` must be `true`, `false` or `null`"),
            (
                "filter",
                "colour",
                "is no filter key of /outputs; there are 180, among them `doi`, `year`, \
                 `cites`, `is_oa`, `id`, `name`, `title`, `date`, `to_date`, `fwci`, `type`, \
                 `is_xpac`",
            ),
            (
                "filter",
                "year:x",
                "`x` must be an integer of at most 64 bits, a range such as `1-5`, `1-` or \
                 `-5`, a comparison such as `>5`, or `null`",
            ),
            ("filter", "type:a|", NO_VALUE),
        ],
    ),
    (
        "/fields?filter=id:1",
        &[("filter", "id:1", "is no parameter of /fields, which takes no filter")],
    ),
    ("/fields?filter=", &[("filter", "", "is no parameter of /fields, which takes no filter")]),
    (
        "/subfields?filter=id:1",
        &[("filter", "id:1", "is no parameter of /subfields, which takes no filter")],
    ),
    (
        "/references/institution-types?filter=id:1",
        &[(
            "filter",
            "id:1",
            "is no parameter of /references/institution-types, which takes no filter",
        )],
    ),
];

#[test]
fn a_malformed_filter_is_rejected_with_a_hint() {
    check_all_refused(REFUSED);
}
