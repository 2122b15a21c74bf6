//! Describes the parameters of lists for the OpenAPI document, from the tables that the parsers use.

use pinakes_format::entity::CATALOG;
use pinakes_format::formats::table::Columns;
use pinakes_format::query::{
    GROUP_KEYS_MAX, Grouping, PAGE_SIZE_DEFAULT, PAGE_SIZES, REFERENCES, SAMPLE_RECORDS_MAX,
    STATISTICS_KEYS_MAX, StatisticsKeys, member_names,
};
use pinakes_format::record::View;
use pinakes_format::schema::{Key, Keys};
use serde_json::{Value, json};

use crate::define::charge::RECORDS_PER_REQUEST;
use crate::list::query::{Dialect, PAGE_MAX, Parameter, parameters};
use crate::list::stream::StreamFormat;
use crate::list::{feed, query};
use crate::openapi::{Sample, patterns, query_parameter};

/// The filter syntax. A list of the keys follows it.
const FILTER: &str = "Expressions `key:value`, separated by commas; a record must match every expression. \
`a|b` matches any of several values, `!a|b` none of them, `null` no value and `!null` any value. \
Numbers and dates compare by `>`, `<`, `>=` and `<=`. Integers and the years of dates have ranges `a-b`, \
`a-` and `-b`. A date is a year, a month or a day, and matches its whole period. The dates of changes also \
compare with a time as records show times, to the microsecond. Text matches without regard to case, accents \
and punctuation. Spaces around expressions, keys, operators and values are ignored. A value with `,`, `|` or \
`\"` stands in `\"`; a `\"` inside is doubled. Keys of text compare the whole value, keys of words find records by \
the first letters of words of a name, and keys of a search take a full-text search. On a path through a list, any \
value of the list may match. At most 50 expressions, with at most 100 values each.";

/// The sort syntax. A list of the keys follows it.
const SORT: &str = "Up to three different keys, separated by commas, each as `key:asc`, `key:desc` or `key`; \
`key` alone ascends. Records without a value come last in both directions. Ties come in id order.";

/// The further key of `sort` in lists with a full-text search.
const SORT_RELEVANCE: &str = "With `search`, `relevance` is a key too: the best record first. Among other keys it sorts \
lists of at most 100,000 records.";

/// The full-text search of outputs.
const SEARCH: &str = "Finds records by their titles, abstracts, authors, venues and subjects, and lists the best first. \
Every word must occur, in any field and any inflected form. `AND`, `OR`, `NOT`, `-`, parentheses, fields such as \
`title:`, phrases in quotes with `~distance`, patterns with `*` and `?`, and `word~1` for misspelt words are \
operators. If no record has all words of a query without operators, the records with most of them match; \
`meta.search` says so. Each record has `relevance_score`.";

/// Describes the list parameters of one interface variant.
pub struct ListParameters {
    pub dialect: &'static Dialect,
    pub per_page: fn() -> Value,
    pub sort: fn(&Keys) -> (String, Value),
    pub group_by: fn(&Keys) -> (String, Value),
}

/// The syntax of `group_by`. A list of the keys follows it.
const GROUP_BY: &str = "Counts the matching records by the values of a key, or of two keys, instead of \
listing them. A record counts once for each of its values; those without a value are the group `null`. A key \
of which a record has several values may stand twice: then groups are pairs of different values of a record, each pair \
once. Groups come by `count`, \
descending, and then by `key`; `sort` takes `count`, `key` and, of two keys, `key2`. `group-by` is another name of this parameter.";

/// The syntax of `select`. A list of the members follows it.
const SELECT: &str = "Shows only these members of the records, separated by commas, in the order of the record. \
A path such as `authors.name` leads into objects and into the objects of lists; a member stands for all members \
below it. With `format`, also members that only single records show, such as `abstract`; the records then have the \
shape of single records. `references` are the ids that an output refers to. A stream with such members counts as one of \
four times as many records. Does not go with `group_by`.";

/// The rules of `sample`.
const SAMPLE: &str = "Draws this many of the matching records at random, each at most once, and lists them in the \
order of the draws, or of `sort`. The same snapshot, parameters and `seed` give the same records, and a smaller \
sample is the beginning of a larger one. `meta.count` counts the sample. Does not go with `group_by`.";

/// The rule of `versions`.
const ONE_OF_VERSIONS: &str = "`one` lists each work in one version: of the matching outputs with the same title and first author, \
such as a preprint and its article, the most cited one. Compares at most 50,000 records.";

/// The rules of the formats of reference managers.
const CITATIONS: &str = " `bibtex`, `ris` and `csl-json` are files of reference managers; they go without `select` \
and `group_by`.";

/// The rules of `columns`.
const COLUMNS: &str = "With `format=csv` or `format=xlsx`: `references` has the columns that programs for reviews read, \
`title`, `authors`, `year`, `journal`, `abstract`, `keywords`, `doi` and others, each a text without markup; `members` has \
the members of records. Without `select` and `group_by`.";

/// The rules of `max_cell`.
const MAX_CELL: &str = "With `format=csv` or `format=xlsx`: cuts longer cells to so many characters, of UTF-16, the last of \
which is `…`. A cell of a workbook never has more than 32,767, which spreadsheets hold.";

/// The rules of `format`.
const FORMAT: &str = "Sends the whole list as one stream: `ndjson` has the JSON of a record on each line, `csv` has \
a header and a row for each record, `xlsx` is the same table as a workbook. A column is a member without members of its own, named by its path, such as \
`authors.name`. The values of a list are separated by `; `, and a null in a list is an empty value. With `group_by`, \
all groups are the lines or rows. `atom` is a feed of the 50 newest records. Without `page` and `per_page`. A stream that ends early is an incomplete reply.";

fn quoted(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" ")
}

pub const STATISTICS: ListParameters = ListParameters { dialect: &query::STATISTICS, ..CURRENT };

pub const CURRENT: ListParameters = ListParameters {
    dialect: &query::CURRENT,
    per_page: || json!({ "type": "integer", "enum": (&PAGE_SIZES[..]), "default": PAGE_SIZE_DEFAULT }),
    sort: |keys| {
        let relevance =
            if keys.has_full_text() { format!(" {SORT_RELEVANCE}") } else { String::new() };
        let doc = format!("{SORT}{relevance}\n\n{}", keys_by_kind(keys, |key| key.sort.is_some()));
        (doc, json!({ "type": "string" }))
    },
    group_by: |keys| {
        let names: Vec<&str> = Grouping::key_names(keys).collect();
        let pattern = patterns::names(&names, Some(GROUP_KEYS_MAX));
        (
            format!("{GROUP_BY}\n\nThe keys: {}.", quoted(&names)),
            json!({ "type": "string", "pattern": pattern }),
        )
    },
};

impl ListParameters {
    /// The parameters of the list that has these keys.
    pub fn parameters(&self, keys: &Keys, sample: &Sample) -> Vec<Value> {
        let mut seen = Vec::new();
        let mut described = Vec::new();
        for (name, parameter) in parameters(self.dialect, keys) {
            // Of two names of one parameter, the document shows the first. The server refuses both at once.
            if !seen.contains(&parameter) {
                seen.push(parameter);
                described.push(self.parameter(name, parameter, keys, sample));
            }
        }
        described
    }

    /// Whether `of` is of the groups of a list.
    fn sums_groups(&self) -> bool {
        self.dialect.parameters.iter().any(|(_, known)| *known == Parameter::GroupBy)
    }

    fn parameter(
        &self,
        name: &'static str,
        parameter: Parameter,
        keys: &Keys,
        sample: &Sample,
    ) -> Value {
        let order = sample.order.as_deref();
        match parameter {
            Parameter::Page => {
                let schema =
                    json!({ "type": "integer", "minimum": 1, "maximum": PAGE_MAX, "default": 1 });
                query_parameter(
                    name,
                    "Page number, from 1. A page past the end has no records.",
                    schema,
                    [],
                )
            }
            Parameter::PerPage => {
                let doc =
                    "Number of records on a page. `per-page` is another name of this parameter.";
                query_parameter(name, doc, (self.per_page)(), [])
            }
            Parameter::Filter => {
                let keys_doc = keys_by_kind(keys, |key| key.filter.is_some());
                let schema = json!({ "type": "string" });
                let examples = [
                    order.map(|key| ("counted", format!("{key}:>0"))),
                    sample.word.as_ref().map(|word| ("named", format!("name.search:{word}"))),
                ];
                query_parameter(name, &format!("{FILTER}\n\n{keys_doc}"), schema, examples)
            }
            Parameter::Sort => {
                let (doc, schema) = (self.sort)(keys);
                let key = order.filter(|_| schema["type"] == "string");
                let example = key.map(|key| ("two", format!("{key}:desc,name")));
                query_parameter(name, &doc, schema, [example])
            }
            Parameter::Search if keys.has_full_text() => {
                let examples = [
                    sample.word.clone().map(|word| ("plain", word)),
                    Some(("operators", "\"open access\" OR (title:review -protocol)".to_owned())),
                    Some(("pattern", "deep learn*".to_owned())),
                ];
                let schema = json!({ "type": "string", "pattern": (patterns::words()) });
                query_parameter(name, SEARCH, schema, examples)
            }
            Parameter::SearchExact => {
                let doc = "A search in place of `search`: nothing is stemmed, so that `works` does not find \
                           `working`.";
                let schema = json!({ "type": "string", "pattern": (patterns::words()) });
                // No example: generated clients would send it with that of `search`.
                query_parameter(name, doc, schema, [])
            }
            Parameter::Search => {
                let doc = "Words. For each word, a name or alternative name of the record must have a \
                           word that begins with it. The same as `filter=name.search:…`.";
                let schema = json!({ "type": "string", "pattern": (patterns::printable()) });
                query_parameter(
                    name,
                    doc,
                    schema,
                    [sample.word.clone().map(|word| ("named", word))],
                )
            }
            Parameter::GroupBy => {
                let (doc, schema) = (self.group_by)(keys);
                query_parameter(name, &doc, schema, [])
            }
            Parameter::Select => {
                let facts = CATALOG.iter().find(|facts| facts.route == keys.route);
                let members = facts.map(|facts| member_names(facts.entity, View::List));
                let members = members.unwrap_or_default();
                let names: Vec<&str> = members.iter().map(String::as_str).collect();
                let single = facts.map(|facts| member_names(facts.entity, View::Single));
                let mut of_streams: Vec<String> = single.unwrap_or_default();
                of_streams.retain(|name| !members.contains(name));
                of_streams.extend(keys.has_citations().then(|| REFERENCES.to_owned()));
                let of_streams: Vec<&str> = of_streams.iter().map(String::as_str).collect();
                let doc = format!(
                    "{SELECT}\n\nThe members: {}. With `format` also: {}.",
                    quoted(&names),
                    quoted(&of_streams)
                );
                let all: Vec<&str> = names.iter().chain(&of_streams).copied().collect();
                let pattern = patterns::names(&all, None);
                let schema = json!({ "type": "string", "pattern": pattern });
                query_parameter(name, &doc, schema, [Some(("two", "name,id".to_owned()))])
            }
            Parameter::Sample => {
                let schema =
                    json!({ "type": "integer", "minimum": 1, "maximum": SAMPLE_RECORDS_MAX });
                query_parameter(name, SAMPLE, schema, [])
            }
            Parameter::Seed => {
                // No `default`: generated clients would send it with lists that draw no sample.
                let doc = "The seed of `sample`, which it goes with; 0 without it.";
                let schema = json!({ "type": "integer", "minimum": 0, "maximum": (u64::MAX) });
                query_parameter(name, doc, schema, [])
            }
            Parameter::Versions => {
                let schema = json!({ "type": "string", "enum": ["one"] });
                query_parameter(name, ONE_OF_VERSIONS, schema, [])
            }
            Parameter::Format => {
                let facts = CATALOG.iter().find(|facts| facts.route == keys.route);
                let of_list = facts.into_iter().flat_map(|facts| StreamFormat::of(facts.entity));
                let mut formats: Vec<&str> = of_list.map(StreamFormat::name).collect();
                let has_citations = formats.len() > StreamFormat::OF_ALL.len();
                formats.extend(facts.filter(|facts| feed::is_of(facts.entity)).map(|_| feed::NAME));
                let citations = if has_citations { CITATIONS } else { "" };
                let doc = format!(
                    "{FORMAT}{citations} It counts as one request of the day for each \
                     {RECORDS_PER_REQUEST} records begun."
                );
                query_parameter(name, &doc, json!({ "type": "string", "enum": formats }), [])
            }
            Parameter::Columns => {
                let names: Vec<&str> = Columns::ALL.into_iter().map(Columns::name).collect();
                query_parameter(name, COLUMNS, json!({ "type": "string", "enum": names }), [])
            }
            Parameter::Bom => {
                let doc =
                    "With `format=csv`: begins with a byte order mark, by which Excel reads UTF-8.";
                query_parameter(name, doc, json!({ "type": "boolean" }), [])
            }
            Parameter::MaxCell => {
                let schema = json!({ "type": "integer", "minimum": 1, "maximum": (u32::MAX) });
                query_parameter(name, MAX_CELL, schema, [])
            }
            Parameter::Of if self.sums_groups() => {
                let names: Vec<&str> = StatisticsKeys::all_names(keys).collect();
                let doc = format!(
                    "Adds sum, mean and median of numbers to each group of `group_by`, which has one key. Up \
                     to {STATISTICS_KEYS_MAX} different keys, separated by commas. There are {}.",
                    quoted(&names)
                );
                let pattern = patterns::names(&names, Some(STATISTICS_KEYS_MAX));
                query_parameter(name, &doc, json!({ "type": "string", "pattern": pattern }), [])
            }
            Parameter::Of => {
                let names: Vec<&str> = StatisticsKeys::all_names(keys).collect();
                let doc = format!(
                    "Up to {STATISTICS_KEYS_MAX} different keys with numbers, separated by commas; \
                     `cited_by_count` without this parameter. There are {}.",
                    quoted(&names)
                );
                let schema = json!({
                    "type": "string",
                    "pattern": (patterns::names(&names, Some(STATISTICS_KEYS_MAX))),
                });
                let example = order.map(|key| ("one", key.to_owned()));
                query_parameter(name, &doc, schema, [example])
            }
        }
    }
}

/// Lists the names of some keys in Markdown, one line for each kind of value.
fn keys_by_kind(keys: &Keys, is_listed: impl Fn(&Key) -> bool) -> String {
    let mut kinds: Vec<(&str, Vec<String>)> = Vec::new();
    for key in keys.keys.iter().filter(|key| is_listed(key)) {
        let name = format!("`{}`", key.name);
        match kinds.iter_mut().find(|(kind, _)| *kind == key.kind.name()) {
            Some((_, names)) => names.push(name),
            None => kinds.push((key.kind.name(), vec![name])),
        }
    }
    let lines = kinds.iter().map(|(kind, names)| format!("- {kind}: {}", names.join(", ")));
    lines.collect::<Vec<_>>().join("\n")
}
