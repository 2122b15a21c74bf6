//! Tests of `Lists` on a small dump.

use crate::tests::library;
use crate::{Library, Lists};

/// Outputs W1 to W4 by descending citations, authors, institutions with a merged one, and a taxonomy.
fn handful(name: &str) -> Library {
    library(
        name,
        &[
            (
                "works.jsonl",
                concat!(
                    r#"{"id":"W1","doi":"https://doi.org/10.1/AbC","title":"Größe, \"quoted\"","display_name":"Größe","publication_year":2020,"publication_date":"2020-02-29","cited_by_count":40,"fwci":1.5,"type":"article","open_access":{"is_oa":true,"oa_status":"gold"},"ids":{"mag":7},"authorships":[{"author":{"id":"A1","display_name":"Ada","orcid":"https://orcid.org/0000-0001-0000-000X"},"institutions":[{"id":"I1"},{"id":"I2"}],"countries":["DE","FR"]},{"author":{"id":null,"display_name":"N. N."}}],"primary_topic":{"id":"T1"},"keywords":["Alpha","Beta"],"sustainable_development_goals":[{"id":"https://metadata.un.org/sdg/4","display_name":"x"}],"abstract_inverted_index":{"a":[0]},"updated_date":"2024-05-06T10:00:00.5"}"#,
                    "\n",
                    r#"{"id":"W2","title":"grosse","display_name":"grosse","publication_year":2021,"publication_date":"2021-01-01","cited_by_count":30,"fwci":0,"type":"book","open_access":{"is_oa":false},"authorships":[{"author":{"id":"A2","display_name":"Bea"}}],"keywords":["beta"],"updated_date":"2024-05-06T10:00:00"}"#,
                    "\n",
                    r#"{"id":"W3","title":"null","display_name":"null","publication_year":2021,"cited_by_count":20,"type":"book-chapter","authorships":[],"updated_date":"2024-05-07"}"#,
                    "\n",
                    r#"{"id":"W10","cited_by_count":20,"fwci":-2.5e-1}"#,
                    "\n",
                ),
            ),
            (
                "authors.jsonl",
                "{\"id\":\"A1\",\"display_name\":\"Ada\",\"orcid\":\"0000-0001-0000-000X\",\"works_count\":2}\n\
                 {\"id\":\"A2\",\"display_name\":\"Bea\"}",
            ),
            (
                "institutions.jsonl",
                "{\"id\":\"I1\",\"display_name\":\"University of Somewhere\",\"display_name_acronyms\":[\"UoS\"],\
                  \"display_name_alternatives\":[\"東京大学\"],\"ror\":\"https://ror.org/013meh722\",\
                  \"geo\":{\"latitude\":-1.5},\"roles\":[{\"role\":\"funder\",\"id\":\"F1\"}]}\n\
                 {\"id\":\"I3\",\"display_name\":\"Some College\",\"works_count\":9}",
            ),
            (
                "topics.jsonl",
                r#"{"id":"T1","display_name":"One","subfield":{"id":"10","display_name":"Ten"},"field":{"id":"100","display_name":"Hundred"},"domain":{"id":"1","display_name":"First"}}"#,
            ),
            (
                "merged_ids/institutions/2021-01-01.csv",
                "merge_date,id,merge_into_id\n2021-01-01,I2,I1\n",
            ),
        ],
    )
}

/// The ids on the page of a query, without prefix and letter; `400` for a rejected query.
fn asked(lists: &Lists<'_>, route: &str, query: &str) -> String {
    match lists.answer(route, query) {
        Ok(answer) => {
            assert!(answer.count >= answer.ids.len(), "{query}");
            let number =
                |id: &String| id.trim_start_matches(|c: char| !c.is_ascii_digit()).to_owned();
            answer.ids.iter().map(number).collect::<Vec<_>>().join(" ")
        }
        Err(_) => "400".to_owned(),
    }
}

#[test]
fn a_filter_value_is_parsed_by_the_type_of_its_key() {
    let library = handful("filters");
    let lists = Lists::new(&library);
    let check = |expression: &str, expected: &str| {
        let escaped = expression.replace('%', "%25").replace('+', "%2B");
        assert_eq!(
            asked(&lists, "outputs", &format!("filter={escaped}")),
            expected,
            "{expression}"
        );
    };
    check("year:2021", "2 3");
    check("year:2020|2021", "1 2 3");
    check("year:!2021", "1 10");
    check("year:null", "10");
    check("year:!null", "1 2 3");
    check("year:!null|2020", "2 3");
    check("year:2020-2020|null", "1 10");
    check("year:2021-", "2 3");
    check("year:-2020", "1");
    check("year:-0", "");
    check("year: 2021 , is_oa : false", "2");
    check("type: ! book | article", "3 10");
    check("year: >= 2021", "2 3");
    check("year:>2020", "2 3");
    check("year:>=2020,year:<2021", "1");
    check("year:>-1", "1 2 3");
    check("year:2020,year:2021", "");
    check("year:\"2020\"", "1");
    check("year:02020", "1");
    for wrong in [
        "2020.0",
        "2e3",
        "+5",
        "abc",
        "-",
        "--5",
        "5--",
        "1-2-3",
        "2021-2020",
        "2018-12",
        "2020 - 2021",
        "9223372036854775808",
        ">null",
        "NULL",
        "\"null\"",
        "\"2020-2021\"",
        "!>5",
    ] {
        check(&format!("year:{wrong}"), "400");
    }
    check("fwci:1.5", "1");
    check("fwci:15e-1", "1");
    check("fwci:1.50|-0.25", "1 10");
    check("fwci:>-0", "1");
    check("fwci:>=-0", "1 2");
    check("fwci:<1e-400", "10");
    check("fwci:!0", "1 3 10");
    for wrong in ["1-2", "1e309", ">1e309", "NaN", "inf", ".5", "5.", "1e", "0x1", "1E5", "-"] {
        check(&format!("fwci:{wrong}"), "400");
    }
    check("date:2020", "1");
    check("date:2020-02", "1");
    check("date:2020-03", "");
    check("date:!2020-02-29", "2 3 10");
    check("date:>2020", "2");
    check("date:>=2020", "1 2");
    check("date:<2021", "1");
    check("date:<=2021-01", "1 2");
    check("date:2019-2020|2021-01-01", "1 2");
    check("date:-2020", "1");
    check("date:null", "3 10");
    check("updated_date:2024-05-06", "1 2");
    check("updated_date:2024-05-06T10:00:00.500Z", "1");
    check("updated_date:>2024-05-06T10:00:00", "1 3");
    check("updated_date:<=2024-05-06T10:00:00.5", "1 2");
    check("from_updated_date:2024-05-06T10:00:00.5", "1 3");
    check("to_updated_date:2024-05-06T10:00:00|2024-05-06T09:00:00", "2");
    check("updated_date:2024-05-07T00:00:00", "3");
    check("from_date:2020-03", "2");
    check("from_date:!2020-03", "1 3 10");
    check("to_date:2020", "1");
    check("to_date:2020|2021", "1 2");
    check("from_updated_date:2024-05-07", "3");
    check("date:2020-", "1 2");
    for wrong in [
        "date:2020-13",
        "date:x",
        "from_date:null",
        "from_date:2020-2021",
        "to_date:>2020",
        "date:2021-2020",
        "date:2020-02-29T00:00:00",
        "updated_date:2024-05-06T10:00",
    ] {
        check(wrong, "400");
    }
    check("is_oa:TRUE", "1");
    check("is_oa:false", "2");
    check("is_oa:!true", "2 3 10");
    check("is_oa:null", "3 10");
    check("open_access.is_oa:true|false", "1 2");
    check("is_oa:1", "400");
    check("has_doi:true", "1");
    check("has_doi:null", "");
    check("has_orcid:false", "2 3 10");
    check("has_abstract:true", "1");
}

#[test]
fn identifiers_codes_and_text_are_compared_by_their_own_rules() {
    let library = handful("sameness");
    let lists = Lists::new(&library);
    let check = |route: &str, expression: &str, expected: &str| {
        let escaped = expression.replace('%', "%25").replace('+', "%2B");
        assert_eq!(asked(&lists, route, &format!("filter={escaped}")), expected, "{expression}");
    };
    let outputs = |expression: &str, expected: &str| check("outputs", expression, expected);
    outputs("id:hx_w1|HX_W10", "1 10");
    outputs("id:HX_W01", "");
    outputs("id:HX_", "");
    outputs("id:W1|https://openalex.org/W10", "1 10");
    outputs("id:W01", "400");
    outputs("id:null", "");
    outputs("authors.id:HX_A1", "1");
    outputs("authors.id:HX_W1", "");
    outputs("authors.id:null", "3 10");
    outputs("authors.affiliations.id:HX_i2", "1");
    outputs("authors.countries.code:fr", "1");
    outputs("doi:10.1/abc", "1");
    outputs("doi:doi:10.1/ABC", "1");
    outputs("doi:http://dx.doi.org/10.1/abc", "1");
    outputs("doi:https://doi.org/", "");
    outputs("doi:null", "2 3 10");
    outputs("authors.orcid:0000-0001-0000-000x", "1");
    outputs("ids.mag:7", "1");
    outputs("type:BOOK", "2");
    outputs("type:book chapter", "");
    outputs("type:!book|article", "3 10");
    outputs("type:>book", "400");
    outputs("type:a\nb", "400");
    outputs("title:GRÖSSE quoted", "1");
    outputs("title:\"größe, \"\"quoted\"\"\"", "1");
    outputs("title:\"null\"", "3");
    outputs("title:null", "10");
    outputs("title:!null", "1 2 3");
    outputs("title:???", "");
    outputs("title:!???", "1 2 3 10");
    outputs("keywords:beta", "1 2");
    outputs("keywords:!alpha", "2 3 10");
    outputs("sustainable_development_goals.id:4", "1");
    outputs("primary_topic.subfield.id:10", "1");
    outputs("primary_topic.domain.id:01", "");
    outputs("primary_topic.field.id:HX_100", "400");
    outputs("open_access.oa_status:gold", "1");
    outputs("abstract:a", "400");
    outputs("Year:2020", "400");
    check("authors", "orcid:https://orcid.org/0000-0001-0000-000X", "1");
    check("authors", "has_orcid:false", "2");
    check("institutions", "id:HX_I2", "1");
    check("institutions", "ror:013MEH722", "1");
    check("institutions", "geo.latitude:-1.5", "1");
    check("institutions", "roles.id:hx_f1", "1");
    check("topics", "subfield.id:10", "1");
    check("domains", "id:1", "1");
    check("domains", "fields.id:100", "1");
    check("domains", "id:x", "400");
    check("fields", "id:100", "400");
}

#[test]
fn a_search_matches_words_of_all_names_of_a_record() {
    let library = handful("search");
    let lists = Lists::new(&library);
    let check = |query: &str, expected: &str| {
        assert_eq!(asked(&lists, "institutions", query), expected, "{query}");
    };
    check("search=some", "3 1");
    check("search=https://openalex.org/I3", "3");
    check("search=HX_I3", "3");
    check("search=HX_A3", "");
    check("search=some+univ", "1");
    check("search=where", "");
    check("search=uos+university", "1");
    check("search=大学", "1");
    check("search=?!", "");
    check("search=some,college", "3");
    check("search=", "400");
    check("search=+", "400");
    check("filter=name.search:some|uos", "3 1");
    check("filter=name.search:!university", "3");
    check("filter=name.search:null", "400");
    check("filter=name.search:\"null\"", "");
    check("search=null", "");
    check("filter=name.search:>a", "400");
    check("search=some&filter=works_count:9", "400");
    check("search=some&filter=outputs_count:9", "3");
}

#[test]
fn lists_are_sorted_with_nulls_last_and_ties_by_number() {
    let library = handful("sorting");
    let lists = Lists::new(&library);
    let check = |query: &str, expected: &str| {
        assert_eq!(asked(&lists, "outputs", query), expected, "{query}");
    };
    check("", "1 2 3 10");
    check("sort=cited_by_count", "3 10 2 1");
    check("sort=cited_by_count:desc", "1 2 3 10");
    check("sort=year:asc", "1 2 3 10");
    check("sort=+year+:+desc+,+cited_by_count+", "3 2 1 10");
    check("sort=year:desc,cited_by_count:asc", "3 2 1 10");
    check("sort=title", "2 1 3 10");
    check("sort=title:desc", "3 1 2 10");
    check("sort=name", "1 2 3 10");
    check("sort=name:desc", "3 2 1 10");
    check("sort=updated_date", "2 1 3 10");
    check("sort=id:desc", "10 3 2 1");
    check("sort=fwci", "10 2 1 3");
    check("sort=type", "1 2 3 10");
    check("sort=date:desc&filter=year:2020|2021", "2 1 3");
    for wrong in [
        "sort=",
        "sort=:desc",
        "sort=x",
        "sort=year:",
        "sort=year:DESC",
        "sort=year:desc:asc",
        "sort=year,year:desc",
        "sort=year,",
        "sort=year,title,cites,fwci",
        "sort=year+desc",
        "sort=doi",
        "sort=authors.name",
    ] {
        check(wrong, "400");
    }
    assert_eq!(asked(&lists, "authors", "sort=updated_date"), "400");
    assert_eq!(asked(&lists, "authors", "sort=name:desc"), "2 1");
    assert_eq!(asked(&lists, "fields", "sort=name"), "100");
    assert_eq!(asked(&lists, "references/institution-types", "sort=id"), "400");
    assert_eq!(asked(&lists, "references/institution-types", "per_page=10"), "1 2 3 4 5 6 7 8 9");
}

#[test]
fn a_page_past_the_end_is_empty_and_has_the_count() {
    let library = handful("paging");
    let lists = Lists::new(&library);
    let answer = lists.answer("outputs", "page=2147483647&per_page=100&sort=id&filter=year:2021");
    let answer = answer.expect("a page may lie past the end");
    assert_eq!((answer.count, answer.ids.len()), (2, 0));
}
