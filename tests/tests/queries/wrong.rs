//! Queries that every list rejects, and queries just within the limits.

use pinakes_tests::query_generator::QueryGenerator;

/// Raw queries that every list rejects, with `{f}` for a filter key and `{s}` for a sort key.
const WRONG: &[&str] = &[
    "filter=",
    "filter",
    "filter={f}",
    "filter=:",
    "filter=:true",
    "filter=nothing:1",
    "filter=__proto__:1",
    "filter={f}:null,",
    "filter=,{f}:null",
    "filter=,,",
    "filter={f}:null,%20",
    "filter={f}%20{f}:null",
    "filter={f}:null&filter={f}:null",
    "filter=%ff",
    "filter={f}:%ff",
    "filter={f}:%zz",
    "filter={f}:null%00",
    "filter=a.b.c.d.e.f.g:1",
    "filter={f}.:null",
    "filter=abstract:a",
    "sort=",
    "sort=:desc",
    "sort=nothing",
    "sort={s}:",
    "sort={s}:DESC",
    "sort={s}:down",
    "sort={s}:desc:asc",
    "sort={s},{s}:desc",
    "sort={s},",
    "sort=,{s}",
    "sort={s}%20desc",
    "sort={s},%20",
    "sort={s}&sort={s}",
    "sort=%00",
    "sort=%ff",
    "sort=authors.name",
    "sort=counts_by_year",
    "sort=name.search",
    "sort=from_updated_date",
    "search=",
    "search=%20",
    "search=a&search=a",
    "per_page=11&filter={f}:null",
    "page=0&sort={s}",
    "group_by=name.search",
    "select={f}",
];

/// The wrong queries of a list, and queries at the limits if the list accepts filters.
pub fn queries(generator: &QueryGenerator) -> Vec<String> {
    let filter = generator.filters.first().map_or("id", |filter| filter.key.name);
    let sort = generator.sorts.first().copied().unwrap_or("id");
    let mut queries: Vec<String> =
        WRONG.iter().map(|query| query.replace("{f}", filter).replace("{s}", sort)).collect();
    let name = |count| format!("filter=name:{}", vec!["x"; count].join("%7C"));
    let names = |count| format!("filter={}", vec!["name:!x"; count].join(","));
    queries.extend([name(100), name(101), names(50), names(51)]);
    queries.push("sort=cited_by_count,outputs_count,id".to_owned());
    queries.push("sort=cited_by_count,outputs_count,id,name".to_owned());
    queries
}
