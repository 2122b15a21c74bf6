//! Tests of filters with wrong values, and of their error messages.

use pinakes_tests::expect::{RefusedQuery, check_all_refused};

const ALONE: &str = "has a comparison beside `|`; a comparison stands alone";
const ALONE_OR_NOT: &str = "has a comparison beside `!` or `|`; a comparison stands alone";
const NOTHING: &str = "has a comparison with nothing; a number or a date belongs behind it";

const REFUSED: &[RefusedQuery<'_>] = &[
    (
        "/outputs?filter=is_oa::true",
        &[("filter", "is_oa::true", "`:true` must be `true`, `false` or `null`")],
    ),
    (
        "/outputs?filter=is_oa:maybe",
        &[("filter", "is_oa:maybe", "`maybe` must be `true`, `false` or `null`")],
    ),
    ("/outputs?filter=is_oa:1", &[("filter", "is_oa:1", "`1` must be `true`, `false` or `null`")]),
    (
        "/outputs?filter=is_oa:t%20rue",
        &[("filter", "is_oa:t rue", "`t rue` must be `true`, `false` or `null`")],
    ),
    (
        "/outputs?filter=is_oa:>true",
        &[(
            "filter",
            "is_oa:>true",
            "`true` has a comparison before it, which only numbers and dates take; it \
                 must be `true`, `false` or `null`",
        )],
    ),
    (
        "/outputs?filter=year:abc",
        &[(
            "filter",
            "year:abc",
            "`abc` must be an integer of at most 64 bits, a range such as `1-5`, `1-` or \
                 `-5`, a comparison such as `>5`, or `null`",
        )],
    ),
    (
        "/outputs?filter=year:2024.5",
        &[(
            "filter",
            "year:2024.5",
            "`2024.5` must be an integer of at most 64 bits, a range such as `1-5`, `1-` \
                 or `-5`, a comparison such as `>5`, or `null`",
        )],
    ),
    (
        "/outputs?filter=year:-",
        &[(
            "filter",
            "year:-",
            "`-` must be an integer of at most 64 bits, a range such as `1-5`, `1-` or \
                 `-5`, a comparison such as `>5`, or `null`",
        )],
    ),
    (
        "/outputs?filter=year:2020-2024-2025",
        &[(
            "filter",
            "year:2020-2024-2025",
            "`2020-2024-2025` must be an integer of at most 64 bits, a range such as \
                 `1-5`, `1-` or `-5`, a comparison such as `>5`, or `null`",
        )],
    ),
    (
        "/outputs?filter=year:\"2020-2021\"",
        &[(
            "filter",
            "year:\"2020-2021\"",
            "`2020-2021` must be an integer of at most 64 bits; in quotes there are no \
                 ranges and no `null`",
        )],
    ),
    (
        "/outputs?filter=year:\"null\"",
        &[(
            "filter",
            "year:\"null\"",
            "`null` must be an integer of at most 64 bits; in quotes there are no ranges \
                 and no `null`",
        )],
    ),
    ("/outputs?filter=cited_by_count:>", &[("filter", "cited_by_count:>", NOTHING)]),
    ("/outputs?filter=cited_by_count:%3E", &[("filter", "cited_by_count:>", NOTHING)]),
    ("/outputs?filter=cited_by_count:>=", &[("filter", "cited_by_count:>=", NOTHING)]),
    (
        "/outputs?filter=cited_by_count:>>5",
        &[(
            "filter",
            "cited_by_count:>>5",
            "`>5` must be an integer of at most 64 bits, since it is compared",
        )],
    ),
    (
        "/outputs?filter=cited_by_count:>abc",
        &[(
            "filter",
            "cited_by_count:>abc",
            "`abc` must be an integer of at most 64 bits, since it is compared",
        )],
    ),
    (
        "/outputs?filter=cited_by_count:=5",
        &[(
            "filter",
            "cited_by_count:=5",
            "`=5` must be an integer of at most 64 bits, a range such as `1-5`, `1-` or \
                 `-5`, a comparison such as `>5`, or `null`",
        )],
    ),
    (
        "/outputs?filter=cited_by_count:5>",
        &[(
            "filter",
            "cited_by_count:5>",
            "`5>` must be an integer of at most 64 bits, a range such as `1-5`, `1-` or \
                 `-5`, a comparison such as `>5`, or `null`",
        )],
    ),
    (
        "/outputs?filter=cited_by_count:>5-6",
        &[(
            "filter",
            "cited_by_count:>5-6",
            "`5-6` must be an integer of at most 64 bits, since it is compared",
        )],
    ),
    (
        "/outputs?filter=cited_by_count:>null",
        &[(
            "filter",
            "cited_by_count:>null",
            "`null` must be an integer of at most 64 bits, since it is compared",
        )],
    ),
    (
        "/outputs?filter=cited_by_count:>-%205",
        &[(
            "filter",
            "cited_by_count:>- 5",
            "`- 5` must be an integer of at most 64 bits, since it is compared",
        )],
    ),
    ("/outputs?filter=cited_by_count:!>5", &[("filter", "cited_by_count:!>5", ALONE_OR_NOT)]),
    ("/outputs?filter=cited_by_count:5|>6", &[("filter", "cited_by_count:5|>6", ALONE_OR_NOT)]),
    ("/outputs?filter=cited_by_count:>5|6", &[("filter", "cited_by_count:>5|6", ALONE)]),
    ("/outputs?filter=cited_by_count:>5%7C6", &[("filter", "cited_by_count:>5|6", ALONE)]),
    (
        "/outputs?filter=cited_by_count:>18446744073709551616",
        &[(
            "filter",
            "cited_by_count:>18446744073709551616",
            "`18446744073709551616` must be an integer of at most 64 bits, since it is \
                 compared",
        )],
    ),
    (
        "/outputs?filter=cited_by_count:9223372036854775808",
        &[(
            "filter",
            "cited_by_count:9223372036854775808",
            "`9223372036854775808` must be an integer of at most 64 bits, a range such as \
                 `1-5`, `1-` or `-5`, a comparison such as `>5`, or `null`",
        )],
    ),
    (
        "/outputs?filter=fwci:>NaN",
        &[(
            "filter",
            "fwci:>NaN",
            "`NaN` must be a number such as `0.5` or `1e3`, since it is compared",
        )],
    ),
    (
        "/outputs?filter=fwci:>inf",
        &[(
            "filter",
            "fwci:>inf",
            "`inf` must be a number such as `0.5` or `1e3`, since it is compared",
        )],
    ),
    (
        "/outputs?filter=fwci:>1e309",
        &[(
            "filter",
            "fwci:>1e309",
            "`1e309` must be a number such as `0.5` or `1e3`, since it is compared",
        )],
    ),
    (
        "/outputs?filter=fwci:1-2",
        &[(
            "filter",
            "fwci:1-2",
            "`1-2` must be a number such as `0.5` or `1e3`, a comparison such as `>0.5`, \
                 two for a range as in `fwci:>=1,fwci:<2`, or `null`",
        )],
    ),
    (
        "/outputs?filter=date:2020-02-30",
        &[(
            "filter",
            "date:2020-02-30",
            "`2020-02-30` must be a date such as `2024`, `2024-05` or `2024-05-31`, a \
                 range of years such as `2020-2024`, a comparison such as `>2023`, or `null`",
        )],
    ),
    (
        "/outputs?filter=year:2020-2018",
        &[(
            "filter",
            "year:2020-2018",
            "`2020-2018` is a range that ends before it begins; write `2018-2020`",
        )],
    ),
    (
        "/outputs?filter=year:2020|2018-12",
        &[(
            "filter",
            "year:2020|2018-12",
            "`2018-12` is a range that ends before it begins; write `12-2018`",
        )],
    ),
    (
        "/outputs?filter=date:2020-2018",
        &[(
            "filter",
            "date:2020-2018",
            "`2020-2018` is a range that ends before it begins; write `2018-2020`",
        )],
    ),
    (
        "/outputs?filter=updated_date:>2026-02-01T24:00:00",
        &[(
            "filter",
            "updated_date:>2026-02-01T24:00:00",
            "`2026-02-01T24:00:00` must be a date such as `2024`, `2024-05` or `2024-05-31`, or a time \
             such as `2024-05-31T13:45:00.5`, since it is compared",
        )],
    ),
    (
        "/outputs?filter=date:>2020-",
        &[(
            "filter",
            "date:>2020-",
            "`2020-` must be a date such as `2024`, `2024-05` or `2024-05-31`, since it \
                 is compared",
        )],
    ),
    (
        "/outputs?filter=from_date:>2020",
        &[(
            "filter",
            "from_date:>2020",
            "`2020` has a comparison before it, which `from_date` is already; it must be \
                 a date such as `2024`, `2024-05` or `2024-05-31`",
        )],
    ),
    (
        "/outputs?filter=from_date:null",
        &[(
            "filter",
            "from_date:null",
            "`null` must be a date such as `2024`, `2024-05` or `2024-05-31`",
        )],
    ),
    (
        "/outputs?filter=name:<i></i>",
        &[(
            "filter",
            "name:<i></i>",
            "`i></i>` has a comparison before it, which only numbers and dates take; a \
                 text that begins with `<` or `>` belongs in quotes",
        )],
    ),
    (
        "/outputs?filter=name:%3Ci%3E%3C/i%3E",
        &[(
            "filter",
            "name:<i></i>",
            "`i></i>` has a comparison before it, which only numbers and dates take; a \
                 text that begins with `<` or `>` belongs in quotes",
        )],
    ),
    (
        "/outputs?filter=authors.id:A05900000001",
        &[(
            "filter",
            "authors.id:A05900000001",
            "`A05900000001` must be an identifier such as `HX_A1`",
        )],
    ),
    (
        "/outputs?filter=authors.id:Ada+Lovelace",
        &[(
            "filter",
            "authors.id:Ada Lovelace",
            "`Ada Lovelace` must be an identifier such as `HX_A1`; `authors.name.search:Ada Lovelace` finds words \
             of names",
        )],
    ),
    (
        "/outputs?filter=cites:HX_W5900000001",
        &[(
            "filter",
            "cites:HX_W5900000001",
            "`HX_W5900000001` must be an integer of at most 64 bits, a range such as `1-5`, `1-` or `-5`, a comparison \
             such as `>5`, or `null`; `references:HX_W5900000001` finds the outputs that cite it",
        )],
    ),
    (
        "/outputs?filter=cited_by:HX_W5900000001",
        &[("filter", "cited_by", "is no filter key of /outputs; did you mean `referenced_by`?")],
    ),
    (
        "/topics?filter=domain.id:x",
        &[(
            "filter",
            "domain.id:x",
            "`x` must be an identifier, here a number such as `3`; `/domains?search=x` finds ids by names",
        )],
    ),
    (
        "/topics?filter=domain.id:HX_3",
        &[("filter", "domain.id:HX_3", "`HX_3` must be an identifier, here a number such as `3`")],
    ),
    (
        "/topics?filter=domain.id:>3",
        &[(
            "filter",
            "domain.id:>3",
            "`3` has a comparison before it, which only numbers and dates take; it must \
                 be an identifier, here a number such as `3`",
        )],
    ),
    (
        "/institutions?filter=roles.id:x",
        &[("filter", "roles.id:x", "`x` must be an identifier such as `HX_F1`")],
    ),
];

#[test]
fn a_wrong_filter_value_is_rejected_with_a_hint() {
    check_all_refused(REFUSED);
}
