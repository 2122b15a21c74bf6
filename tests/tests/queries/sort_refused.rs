//! Tests of wrong sorts and of their error messages.

use pinakes_tests::expect::{RefusedQuery, check_all_refused};

const OF_OUTPUTS: &str = "is no sort key of /outputs; there are `id`, `name`, `updated_date`, \
     `created_date`, `title`, `year`, `date`, `cited_by_count`, `cites`, `venues_count`, `fwci`, \
     `type`, `citation_normalized_percentile.value`, `cited_by_percentile_year.min`, \
     `cited_by_percentile_year.max`, `apc_paid.value`, `apc_paid.value_usd`, \
     `references.count`";
const OF_AUTHORS: &str =
    "is no sort key of /authors; there are `id`, `name`, `outputs_count`, `cited_by_count`";
const NO_KEY: &str = "lacks its key; write `key:asc` or `key:desc`, with one comma between two";
const DIRECTION: &str = "must end in `:asc` or `:desc`, in lower case, or be the key alone";
const TWICE: &str = "sorts by a key a second time; name it once";
const TOO_MANY: &str = "sorts by more than 3 keys";
const ESCAPE: &str = "is no percent-encoded UTF-8; a `%` itself is written `%25`";

const REFUSED: &[RefusedQuery<'_>] = &[
    ("/outputs?sort=", &[("sort", "", "is empty; leave it out")]),
    ("/outputs?sort", &[("sort", "", "is empty; leave it out")]),
    ("/outputs?sort=:desc", &[("sort", "", NO_KEY)]),
    ("/outputs?sort=,", &[("sort", "", NO_KEY), ("sort", "", NO_KEY)]),
    ("/outputs?sort=year,", &[("sort", "", NO_KEY)]),
    ("/outputs?sort=,year", &[("sort", "", NO_KEY)]),
    ("/outputs?sort=x:", &[("sort", "x:", DIRECTION)]),
    ("/outputs?sort=year:", &[("sort", "year:", DIRECTION)]),
    ("/outputs?sort=cited_by_count:down", &[("sort", "cited_by_count:down", DIRECTION)]),
    ("/outputs?sort=:DESC", &[("sort", ":DESC", DIRECTION)]),
    ("/outputs?sort=year:DESC", &[("sort", "year:DESC", DIRECTION)]),
    ("/outputs?sort=year:de%20sc", &[("sort", "year:de sc", DIRECTION)]),
    ("/outputs?sort=%20", &[("sort", "", "is empty; leave it out")]),
    ("/outputs?sort=cited_by_count:desc:asc", &[("sort", "cited_by_count:desc:asc", DIRECTION)]),
    ("/outputs?sort=-year", &[("sort", "-year", "is no sort key; write `year:desc`")]),
    ("/outputs?sort=year+desc", &[("sort", "year desc", "is no sort key; write `year:desc`")]),
    ("/outputs?sort=year%20asc", &[("sort", "year asc", "is no sort key; write `year:asc`")]),
    ("/outputs?sort=nothing", &[("sort", "nothing", OF_OUTPUTS)]),
    ("/outputs?sort=relevance_score:desc", &[("sort", "relevance_score", OF_OUTPUTS)]),
    (
        "/outputs?sort=ye%20ar",
        &[("sort", "ye ar", "is no sort key of /outputs; did you mean `year`?")],
    ),
    ("/outputs?sort=yaer", &[("sort", "yaer", "is no sort key of /outputs; did you mean `year`?")]),
    ("/outputs?sort=Year", &[("sort", "Year", "is no sort key of /outputs; did you mean `year`?")]),
    (
        "/outputs?sort=publication_year",
        &[("sort", "publication_year", "is no sort key of /outputs; did you mean `year`?")],
    ),
    (
        "/authors?sort=works_count:desc",
        &[("sort", "works_count", "is no sort key of /authors; did you mean `outputs_count`?")],
    ),
    ("/authors?sort=title:asc", &[("sort", "title", OF_AUTHORS)]),
    ("/authors?sort=__proto__", &[("sort", "__proto__", OF_AUTHORS)]),
    (
        "/authors?sort=updated_date",
        &[(
            "sort",
            "updated_date",
            "filters /authors and does not sort it; there are `id`, `name`, `outputs_count`, \
             `cited_by_count`",
        )],
    ),
    (
        "/fields?sort=title",
        &[(
            "sort",
            "title",
            "is no sort key of /fields; there are `id`, `name`, `updated_date`, `created_date`, \
             `outputs_count`, `cited_by_count`",
        )],
    ),
    ("/outputs?sort=year,year", &[("sort", "year", TWICE)]),
    ("/outputs?sort=year,year:desc", &[("sort", "year:desc", TWICE)]),
    ("/outputs?sort=year,cites,year:desc", &[("sort", "year:desc", TWICE)]),
    ("/outputs?sort=id,year,name,fwci", &[("sort", "id,year,name,fwci", TOO_MANY)]),
    (
        "/outputs?sort=id,year,name,nothing,more",
        &[("sort", "nothing", OF_OUTPUTS), ("sort", "id,year,name,nothing,more", TOO_MANY)],
    ),
    ("/outputs?sort=id&sort=year", &[("sort", "year", "is given twice; give it once")]),
    ("/outputs?sort=id&sort=id", &[("sort", "id", "is given twice; give it once")]),
    ("/outputs?sort=%00", &[("sort", "\0", OF_OUTPUTS)]),
    (
        "/outputs?sort=year%00",
        &[("sort", "year\0", "is no sort key of /outputs; did you mean `year`?")],
    ),
    ("/outputs?sort=%ff", &[("sort", "%ff", ESCAPE)]),
    ("/outputs?sort=%zz", &[("sort", "%zz", ESCAPE)]),
    (
        "/references/institution-types?sort=name:asc",
        &[(
            "sort",
            "name:asc",
            "is no parameter of /references/institution-types, which takes no sort",
        )],
    ),
    (
        "/references/institution-types?sort=",
        &[("sort", "", "is no parameter of /references/institution-types, which takes no sort")],
    ),
    (
        "/outputs?sort=nothing&page=0&per_page=7&colour=red",
        &[
            ("sort", "nothing", OF_OUTPUTS),
            ("page", "0", "must be a whole number from 1 to 2147483647"),
            ("per_page", "7", "must be 10, 25, 50 or 100"),
            (
                "colour",
                "red",
                "is no parameter of this list; it takes `page`, `per_page`, `filter`, `sort`, \
                 `search`, `search.exact`, `group_by`, `of`, `select`, `sample`, `seed`, `versions`, `format`, \
                 `columns`, `bom`, `max_cell`",
            ),
        ],
    ),
];

#[test]
fn a_wrong_sort_is_rejected_with_a_hint() {
    check_all_refused(REFUSED);
}
