//! Parses the query of a list's URL into a checked [`ListRequest`].
//!
//! This module splits the query into parameters. [`pinakes_format::query`] parses the values of `filter`
//! and `sort`, since it has the keys. No later stage reads the text.

use std::num::NonZeroU32;

use pinakes_format::entity::Entity;
use pinakes_format::formats::table::{Columns, TableOptions};
use pinakes_format::query::{
    Grouping, PAGE_SIZES, ParamError, Query, RELEVANCE, ResultKind, SAMPLE_RECORDS_MAX, Sample,
    nearest,
};
use pinakes_format::schema::{Keys, keys_of};

use crate::list::elsewhere::elsewhere;
use crate::list::feed;
use crate::list::stream::{StreamFormat, StreamRequest};
use crate::reply::{DETAILS_MAX, Detail};
use crate::request::parameters::{GIVEN_TWICE, query_pairs};

/// The largest page number.
pub const PAGE_MAX: u32 = 2_147_483_647;
/// Parameters of similar services, and the alternative here.
const FOREIGN_PARAMETERS: [(&str, &str); 1] =
    [("cursor", "`page` reaches any depth at the same cost")];

/// The parameter of a search without stemming.
pub const SEARCH_EXACT: &str = "search.exact";
/// The same parameter as an argument: names in GraphQL have no dots.
const SEARCH_EXACT_ARGUMENT: &str = "search_exact";

/// The parameters of lists in one variant of the interface.
pub struct Dialect {
    /// The names of all parameters; one parameter may have two names.
    pub parameters: &'static [(&'static str, Parameter)],
    /// Parses the size of a page.
    pub per_page: fn(&str) -> Result<u32, String>,
    pub sort: ParseValue,
    pub group_by: ParseValue,
    /// Parameters of the other variant or of similar services, and the alternative here.
    pub foreign: &'static [(&'static str, &'static str)],
}

/// The parameters of current lists.
pub const CURRENT: Dialect = Dialect {
    parameters: &[
        ("page", Parameter::Page),
        ("per_page", Parameter::PerPage),
        ("per-page", Parameter::PerPage),
        ("filter", Parameter::Filter),
        ("sort", Parameter::Sort),
        ("search", Parameter::Search),
        (SEARCH_EXACT, Parameter::SearchExact),
        ("group_by", Parameter::GroupBy),
        ("group-by", Parameter::GroupBy),
        ("of", Parameter::Of),
        ("select", Parameter::Select),
        ("sample", Parameter::Sample),
        ("seed", Parameter::Seed),
        ("versions", Parameter::Versions),
        ("format", Parameter::Format),
        ("columns", Parameter::Columns),
        ("bom", Parameter::Bom),
        ("max_cell", Parameter::MaxCell),
    ],
    per_page: parse_per_page,
    sort: Query::set_sort,
    group_by: Query::set_group_by,
    foreign: &[("q", "use `search`")],
};

/// The parameters of statistics.
pub const STATISTICS: Dialect = Dialect {
    parameters: &[
        ("filter", Parameter::Filter),
        ("search", Parameter::Search),
        (SEARCH_EXACT, Parameter::SearchExact),
        ("of", Parameter::Of),
    ],
    foreign: &[
        ("group_by", "statistics have no groups; lists have"),
        ("sort", "statistics have no order"),
        ("page", "statistics have one page"),
        ("sample", "statistics are of all matching records"),
        ("q", "use `search`"),
    ],
    ..CURRENT
};

/// Parses a value with several parts into the query; the error has a refusal for each invalid part.
pub type ParseValue = fn(&mut Query, &str) -> Result<(), Vec<ParamError>>;

/// A checked request for a list.
#[derive(Clone, Debug)]
pub struct ListRequest {
    /// The records, and their page.
    pub query: Query,
    /// A stream of the whole list; `None` for a page in JSON.
    pub stream: Option<StreamRequest>,
    /// Whether the answer is a feed of the newest records.
    pub is_feed: bool,
}

/// Parses the text after the `?` of a list's URL.
///
/// # Errors
///
/// The invalid parameters, at most ten.
pub fn parse(entity: Entity, raw: &str) -> Result<ListRequest, Vec<Detail>> {
    parse_request(Query::new(entity), &CURRENT, query_pairs(raw))
}

/// Parses the text after the `?` of a URL of statistics.
///
/// # Errors
///
/// The invalid parameters, at most ten.
pub fn parse_statistics(entity: Entity, raw: &str) -> Result<Query, Vec<Detail>> {
    let mut query = Query::new(entity);
    query.sum_up();
    parse_pairs(query, &STATISTICS, query_pairs(raw))
}

/// Adds decoded parameters to a query, which starts as the whole list.
///
/// # Errors
///
/// The invalid parameters, at most ten.
pub fn parse_pairs(
    query: Query,
    dialect: &'static Dialect,
    pairs: impl Iterator<Item = Result<(String, String), Detail>>,
) -> Result<Query, Vec<Detail>> {
    parse_request(query, dialect, pairs).map(|request| request.query)
}

fn parse_request(
    query: Query,
    dialect: &'static Dialect,
    pairs: impl Iterator<Item = Result<(String, String), Detail>>,
) -> Result<ListRequest, Vec<Detail>> {
    let mut parser = QueryParser {
        dialect,
        given: Vec::new(),
        query,
        seed: None,
        format: None,
        is_feed: false,
        columns: Columns::Members,
        table: TableOptions::default(),
        details: Vec::new(),
    };
    let mut pairs: Vec<Result<(String, String), Detail>> = pairs.collect();
    // `sort` and `of` are of groups or of records, and `select` is of pages or of streams, so they come after.
    let comes_first = |name: &str| {
        let of_name = dialect.parameters.iter().find(|(known, _)| *known == name);
        of_name.is_some_and(|(_, parameter)| {
            matches!(parameter, Parameter::GroupBy | Parameter::Format)
        })
    };
    pairs.sort_by_key(|pair| !matches!(pair, Ok((name, _)) if comes_first(name)));
    for pair in pairs {
        match pair {
            Ok((name, value)) => parser.add(&name, &value),
            Err(detail) => parser.details.push(detail),
        }
        if parser.details.len() >= DETAILS_MAX {
            parser.details.truncate(DETAILS_MAX);
            break;
        }
    }
    parser.finish()
}

/// A parameter of lists.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Parameter {
    /// The number of the page, from 1.
    Page,
    /// The number of records on a page.
    PerPage,
    /// Conditions that every record must meet.
    Filter,
    /// The keys that order the records.
    Sort,
    /// Of outputs a full-text search; of others, words that names must contain.
    Search,
    /// A full-text search whose words are compared as they are written.
    SearchExact,
    /// The keys by which groups are counted.
    GroupBy,
    /// The keys whose values are summed up.
    Of,
    /// The members to show.
    Select,
    /// The number of records to draw at random.
    Sample,
    /// The seed of the draws.
    Seed,
    /// Whether each work is listed in one version.
    Versions,
    /// The format of a stream of the whole list.
    Format,
    /// The columns of a table.
    Columns,
    /// Whether a table of CSV begins with a byte order mark.
    Bom,
    /// Most characters of a cell.
    MaxCell,
}

/// The parameters of the list that has these keys, by name.
pub fn parameters(
    dialect: &'static Dialect,
    keys: &Keys,
) -> impl Iterator<Item = (&'static str, Parameter)> + Clone {
    let filters = keys.filters().next().is_some();
    let sorts = keys.sorts().next().is_some();
    let groups = Grouping::key_names(keys).next().is_some();
    dialect.parameters.iter().copied().filter(move |(_, parameter)| match parameter {
        Parameter::Page | Parameter::PerPage => true,
        Parameter::Select | Parameter::Sample | Parameter::Seed | Parameter::Format => true,
        Parameter::GroupBy | Parameter::Of => groups,
        Parameter::Filter | Parameter::Search => filters,
        Parameter::Bom | Parameter::MaxCell => true,
        Parameter::SearchExact => keys.has_full_text(),
        // Outputs alone have references and versions.
        Parameter::Columns | Parameter::Versions => keys.has_citations(),
        Parameter::Sort => sorts,
    })
}

/// The arguments of a list in GraphQL: name, type and description.
pub fn arguments(
    entity: Entity,
) -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    let described = move |(name, parameter): (&'static str, Parameter)| {
        let (type_name, doc) = match parameter {
            Parameter::Page => ("Int", "Page number, from 1."),
            Parameter::PerPage => {
                ("Int", "Number of records on a page: 10, 25, 50 or 100. The default is 25.")
            }
            Parameter::Filter => ("String", "Conditions that every record must meet, as in REST."),
            Parameter::Sort => ("String", "Up to three keys, as in REST."),
            Parameter::Search if keys_of(entity).has_full_text() => {
                ("String", "Words, or a query with operators, as in REST.")
            }
            Parameter::Search => {
                ("String", "Words; a name must have a word that begins with each, as in REST.")
            }
            Parameter::SearchExact => {
                let doc = "A search whose words are compared as they are written, as in REST.";
                return Some((SEARCH_EXACT_ARGUMENT, "String", doc));
            }
            // Fields of GraphQL list records alone.
            Parameter::GroupBy | Parameter::Of => return None,
            // A document names the members, and GraphQL has no streams.
            Parameter::Select | Parameter::Format => return None,
            Parameter::Columns | Parameter::Bom | Parameter::MaxCell => return None,
            Parameter::Sample | Parameter::Seed | Parameter::Versions => return None,
        };
        Some((name, type_name, doc))
    };
    let known = parameters(&CURRENT, keys_of(entity));
    known.filter(|(name, _)| !name.contains('-')).filter_map(described)
}

/// The parameter that an argument of a list in GraphQL stands for.
pub fn parameter_of(argument: &'static str) -> &'static str {
    if argument == SEARCH_EXACT_ARGUMENT { SEARCH_EXACT } else { argument }
}

/// A parameter as the client sent it.
struct GivenParameter {
    parameter: Parameter,
    name: String,
    value: String,
}

/// The state of parsing one query.
struct QueryParser {
    dialect: &'static Dialect,
    given: Vec<GivenParameter>,
    query: Query,
    seed: Option<u64>,
    format: Option<StreamFormat>,
    is_feed: bool,
    columns: Columns,
    table: TableOptions,
    details: Vec<Detail>,
}

impl QueryParser {
    fn add(&mut self, name: &str, value: &str) {
        let known = parameters(self.dialect, self.query.keys).find(|(known, _)| *known == name);
        let Some((_, parameter)) = known else {
            let reason = unknown_reason(self.dialect, self.query.keys, name);
            return self.refuse(name, value, reason);
        };
        if self.given.iter().any(|given| given.parameter == parameter) {
            return self.refuse(name, value, GIVEN_TWICE.to_owned());
        }
        // `check_together` refuses parameters by the names and values that the client sent.
        let (name_sent, value_sent) = (name.to_owned(), value.to_owned());
        self.given.push(GivenParameter { parameter, name: name_sent, value: value_sent });
        let parsed = match parameter {
            Parameter::Page => parse_page(value).map(|page| self.query.page = page),
            Parameter::PerPage => {
                (self.dialect.per_page)(value).map(|size| self.query.per_page = size)
            }
            Parameter::Filter => return self.parse_value(name, value, Query::add_filter),
            Parameter::Sort => return self.parse_value(name, value, self.dialect.sort),
            Parameter::Search => return self.parse_value(name, value, Query::add_search),
            Parameter::SearchExact => {
                return self.parse_value(name, value, Query::add_exact_search);
            }
            Parameter::GroupBy => return self.parse_value(name, value, self.dialect.group_by),
            Parameter::Of => return self.parse_value(name, value, Query::set_statistics),
            Parameter::Select if self.format.is_some() => {
                return self.parse_value(name, value, Query::set_stream_select);
            }
            Parameter::Select => return self.parse_value(name, value, Query::set_select),
            Parameter::Sample => parse_sample(value).map(|records| {
                self.query.sample = Some(Sample { records, seed: 0 });
            }),
            Parameter::Seed => parse_seed(value).map(|seed| self.seed = Some(seed)),
            Parameter::Versions => match value {
                "one" => {
                    self.query.one_of_versions = true;
                    Ok(())
                }
                _ => Err("must be `one`; leave it out for all versions".to_owned()),
            },
            Parameter::Format if value == feed::NAME && feed::is_of(self.query.entity) => {
                self.is_feed = true;
                Ok(())
            }
            Parameter::Format => {
                parse_format(self.query.entity, value).map(|format| self.format = Some(format))
            }
            Parameter::Columns => parse_columns(value).map(|columns| self.columns = columns),
            Parameter::Bom => parse_bom(value).map(|has_bom| self.table.has_bom = has_bom),
            Parameter::MaxCell => {
                parse_cell_max(value).map(|most| self.table.cell_max = Some(most))
            }
        };
        if let Err(reason) = parsed {
            self.refuse(name, value, reason);
        }
    }

    fn parse_value(&mut self, name: &str, value: &str, parse: ParseValue) {
        if value.trim().is_empty() {
            return self.refuse(name, "", "is empty; leave it out".to_owned());
        }
        for ParamError { text, reason } in parse(&mut self.query, value).err().unwrap_or_default() {
            let reason = match elsewhere(self.query.keys, &text) {
                Some(way) => format!("{reason}; {way}"),
                None => reason,
            };
            self.refuse(name, &text, reason);
        }
    }

    /// Refuses parameters that exclude each other, and combines the others.
    fn finish(mut self) -> Result<ListRequest, Vec<Detail>> {
        if self.details.is_empty() {
            self.check_together();
        }
        if !self.details.is_empty() {
            return Err(self.details);
        }
        if let (Some(sample), Some(seed)) = (&mut self.query.sample, self.seed) {
            sample.seed = seed;
        }
        let (columns, table) = (self.columns, self.table);
        let stream = self.format.map(|format| StreamRequest { format, columns, table });
        Ok(ListRequest { query: self.query, stream, is_feed: self.is_feed })
    }

    fn check_together(&mut self) {
        if self.query.relevance.is_some() {
            let reason = match (self.query.is_searched(), self.query.sample) {
                (false, _) => "sorts by the relevance of a search, and needs `search`",
                (_, Some(_)) => "does not go with `sample`; leave out one of the two",
                _ => "",
            };
            if !reason.is_empty() {
                self.refuse("sort", RELEVANCE, reason.to_owned());
            }
        }
        let has_groups = matches!(self.query.result_kind, ResultKind::Groups(_));
        let is_citation = matches!(self.format, Some(StreamFormat::References(_)));
        let is_table = matches!(self.format, Some(StreamFormat::Csv | StreamFormat::Xlsx));
        let has_references = self.columns == Columns::References;
        let names = self.dialect.parameters.iter();
        // The dialects without `group_by` sum up the whole list.
        let sums_groups = names.clone().any(|(_, known)| *known == Parameter::GroupBy);
        let is_searched = self.given.iter().any(|given| given.parameter == Parameter::Search);
        for given in std::mem::take(&mut self.given) {
            // The first reason counts, so the more special reasons come first: those of a format before those of
            // groups.
            let reason = match given.parameter {
                Parameter::Page | Parameter::PerPage if self.format.is_some() => {
                    "does not go with `format`, which sends the whole list; leave out one of the two"
                }
                Parameter::Select if is_citation => {
                    "does not go with this `format`, whose members are fixed; leave out one of the two"
                }
                Parameter::GroupBy if is_citation => {
                    "does not go with this `format`, which has no groups; leave out one of the two"
                }
                Parameter::Page
                | Parameter::PerPage
                | Parameter::Select
                | Parameter::GroupBy
                | Parameter::Sample
                    if self.is_feed =>
                {
                    "does not go with `format=atom`, a feed of the newest records; leave out one of the two"
                }
                Parameter::Columns | Parameter::MaxCell if !is_table => {
                    "is of tables; write `format=csv` or `format=xlsx` too, or leave it out"
                }
                Parameter::Bom if self.format != Some(StreamFormat::Csv) => {
                    "is of `csv`; write `format=csv` too, or leave it out"
                }
                Parameter::Select | Parameter::GroupBy if has_references => {
                    "does not go with the columns of references, which are fixed; leave out one of the two"
                }
                Parameter::Select | Parameter::Sample | Parameter::Seed if has_groups => {
                    "does not go with `group_by`, which counts records; leave out one of the two"
                }
                Parameter::SearchExact if is_searched => {
                    "does not go with `search`; leave out one of the two"
                }
                Parameter::Of if !has_groups && sums_groups => {
                    "sums up the groups of `group_by`; without `group_by`, `/statistics/` sums up the list"
                }
                Parameter::Seed if self.query.sample.is_none() => {
                    "is the seed of `sample`; write `sample=N` too, or leave it out"
                }
                _ => continue,
            };
            self.refuse(&given.name, &given.value, reason.to_owned());
        }
    }

    fn refuse(&mut self, parameter: &str, value: &str, reason: String) {
        self.details.push(Detail::new(parameter, value, reason));
    }
}

fn parse_page(value: &str) -> Result<NonZeroU32, String> {
    let reason = || format!("must be a whole number from 1 to {PAGE_MAX}");
    let is_plain = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    if !is_plain {
        return Err(reason());
    }
    let digits = value.trim_start_matches('0');
    let page: u32 = digits.parse().map_err(|_| reason())?;
    NonZeroU32::new(page).filter(|page| page.get() <= PAGE_MAX).ok_or_else(reason)
}

fn parse_sample(value: &str) -> Result<u32, String> {
    let records =
        parse_digits(value).filter(|count| (1..=SAMPLE_RECORDS_MAX.into()).contains(count));
    // At most 10,000.
    let records = records.map(|records| records as u32);
    records.ok_or_else(|| format!("must be a whole number from 1 to {SAMPLE_RECORDS_MAX}"))
}

fn parse_seed(value: &str) -> Result<u64, String> {
    parse_digits(value).ok_or_else(|| format!("must be a whole number from 0 to {}", u64::MAX))
}

/// Parses a number of digits alone.
fn parse_digits(value: &str) -> Option<u64> {
    let is_plain = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    value.parse().ok().filter(|_| is_plain)
}

fn parse_format(entity: Entity, value: &str) -> Result<StreamFormat, String> {
    let format = StreamFormat::of(entity).find(|format| format.name() == value);
    format.ok_or_else(|| {
        let is_known = StreamFormat::of(Entity::Output).any(|format| format.name() == value);
        if is_known {
            return "is a format of outputs; here it must be `ndjson`, `csv` or `xlsx`".to_owned();
        }
        let known = StreamFormat::of(entity).map(StreamFormat::name);
        let feed = feed::is_of(entity).then_some(feed::NAME);
        let names: Vec<String> = known.chain(feed).map(|name| format!("`{name}`")).collect();
        let names = match names.as_slice() {
            [names @ .., last] => format!("{} or {last}", names.join(", ")),
            [] => String::new(),
        };
        format!("must be {names}; without `format`, pages are JSON")
    })
}

fn parse_columns(value: &str) -> Result<Columns, String> {
    let columns = Columns::ALL.into_iter().find(|columns| columns.name() == value);
    columns.ok_or_else(|| "must be `members` or `references`".to_owned())
}

fn parse_bom(value: &str) -> Result<bool, String> {
    value.parse().map_err(|_| "must be `true` or `false`".to_owned())
}

fn parse_cell_max(value: &str) -> Result<NonZeroU32, String> {
    let most = parse_digits(value).and_then(|most| u32::try_from(most).ok());
    most.and_then(NonZeroU32::new)
        .ok_or_else(|| format!("must be a whole number from 1 to {}", u32::MAX))
}

fn parse_per_page(value: &str) -> Result<u32, String> {
    let size = PAGE_SIZES.into_iter().find(|size| size.to_string() == value);
    size.ok_or_else(|| "must be 10, 25, 50 or 100".to_owned())
}

/// The reason for refusing an unknown parameter, with a suggestion.
fn unknown_reason(dialect: &'static Dialect, keys: &Keys, name: &str) -> String {
    let route = keys.route;
    if dialect.parameters.iter().any(|(known, _)| *known == name) {
        return format!("is no parameter of /{route}, which takes no {name}");
    }
    let mut foreign = FOREIGN_PARAMETERS.iter().chain(dialect.foreign);
    if let Some((_, alternative)) = foreign.find(|(known, _)| *known == name) {
        return format!("is no parameter of this list: {alternative}");
    }
    let names = parameters(dialect, keys).map(|(known, _)| known);
    if let Some(known) = nearest(name, names.clone()) {
        return format!("is no parameter of this list; did you mean `{known}`?");
    }
    if keys.filter(name).is_some() {
        return format!("is no parameter of this list; it is a filter key: `filter={name}:…`");
    }
    if name.split_once(':').is_some_and(|(key, _)| keys.filter(key).is_some()) {
        return "is no parameter of this list; expressions of `filter` are parted by `,`"
            .to_owned();
    }
    let listed: Vec<String> =
        names.filter(|known| !known.contains('-')).map(|known| format!("`{known}`")).collect();
    format!("is no parameter of this list; it takes {}", listed.join(", "))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn parsed(raw: &str) -> Option<(u32, u32)> {
        parse(Entity::Output, raw).ok().map(|list| (list.query.page.get(), list.query.per_page))
    }

    #[test]
    fn a_page_number_is_a_whole_number_from_one() {
        for (raw, expected) in [
            ("", Some((1, 25))),
            ("&&&", Some((1, 25))),
            ("&page=2", Some((2, 25))),
            ("page=01", Some((1, 25))),
            ("page=2147483647&per_page=100", Some((2_147_483_647, 100))),
            ("mailto=a%40b&api_key=1&api_key=2", Some((1, 25))),
            ("per-page=50", Some((1, 50))),
            ("page=2147483648", None),
            ("page=4294967296", None),
            ("page=18446744073709551617", None),
            ("page=0", None),
            ("page=00", None),
            ("page=-1", None),
            ("page=1.5", None),
            ("page=1e3", None),
            ("page=%EF%BC%91", None),
            ("page=", None),
            ("page", None),
            ("page=+1", None),
            ("page=%2B1", None),
            ("page=1%20", None),
            ("page=1&page=1", None),
            ("per_page=10&per-page=10", None),
            ("=", None),
            ("page[]=1", None),
            ("Page=2", None),
            ("page%00=1", None),
            ("perpage=50", None),
            ("page=%zz", None),
            ("page=%ff", None),
        ] {
            assert_eq!(parsed(raw), expected, "{raw}");
        }
    }

    #[test]
    fn a_page_size_outside_the_four_sizes_is_refused() {
        for size in ["10", "25", "50", "100"] {
            assert_eq!(parsed(&format!("per_page={size}")), Some((1, size.parse().unwrap())));
        }
        for size in
            ["0", "1", "24", "26", "99", "101", "200", "25.0", "-25", "025", "+25", "25abc", ""]
        {
            assert_eq!(parsed(&format!("per_page={size}")), None, "{size}");
        }
    }

    #[test]
    fn samples_and_streams_are_parsed_and_exclude_pages() {
        /// Records and seed of the sample, and the format of the stream.
        type Found = (Option<(u32, u64)>, Option<StreamFormat>);
        let check = |raw: &str, expected: Option<Found>| {
            let found = parse(Entity::Output, raw).ok().map(|list| {
                (
                    list.query.sample.map(|sample| (sample.records, sample.seed)),
                    list.stream.map(|stream| stream.format),
                )
            });
            assert_eq!(found, expected, "{raw}");
        };
        check("sample=1", Some((Some((1, 0)), None)));
        check("seed=7&sample=010000", Some((Some((10_000, 7)), None)));
        check("sample=5&seed=18446744073709551615", Some((Some((5, u64::MAX)), None)));
        check("format=csv", Some((None, Some(StreamFormat::Csv))));
        check("format=xlsx&max_cell=9", Some((None, Some(StreamFormat::Xlsx))));
        check("format=csv&bom=true&columns=references", Some((None, Some(StreamFormat::Csv))));
        check("format=ndjson&sample=5&sort=id", Some((Some((5, 0)), Some(StreamFormat::NdJson))));
        for raw in [
            "sample=0",
            "sample=10001",
            "sample=+1",
            "sample=",
            "seed=1",
            "sample=1&seed=18446744073709551616",
            "sample=1&sample=1",
            "format=xml",
            "format=",
            "format=atom&page=2",
            "format=atom&group_by=type",
            "format=csv&columns=all",
            "format=ndjson&columns=references",
            "columns=references",
            "format=csv&columns=references&select=id",
            "format=xlsx&columns=references&group_by=type",
            "format=xlsx&bom=true",
            "format=csv&bom=yes",
            "format=csv&max_cell=0",
            "max_cell=100",
            "format=csv&page=1",
            "per-page=10&format=csv",
            "format=csv&group_by=type&page=1",
            "of=cited_by_count",
            "group_by=type,year&of=cited_by_count",
            "group_by=type&select=id",
            "sample=1&group_by=type",
            "group-by=type&group_by=type",
        ] {
            check(raw, None);
        }
    }

    #[test]
    fn parameters_that_exclude_each_other_are_named_as_they_were_sent() {
        let details = parse(Entity::Output, "per-page=10&format=csv").unwrap_err();
        let found = (details[0].parameter.as_str(), details[0].value.as_str());
        assert_eq!(found, ("per-page", "10"));
    }

    #[test]
    fn an_unknown_parameter_suggests_the_nearest() {
        let reason = |raw: &str| parse(Entity::Output, raw).unwrap_err()[0].reason.clone();
        assert!(reason("perpage=50").contains("did you mean `per_page`"));
        assert!(reason("Page=2").contains("did you mean `page`"));
        assert!(reason("cursor=*").contains("`page` reaches any depth"));
        assert!(
            reason("colour=red")
                .contains("it takes `page`, `per_page`, `filter`, `sort`, `search`")
        );
    }

    #[test]
    fn a_thousand_invalid_parameters_get_ten_details() {
        let raw: String = (0..1_000).map(|at| format!("p{at}={}&", "x".repeat(100))).collect();
        let details = parse(Entity::Output, &raw).unwrap_err();
        assert_eq!(details.len(), 10);
        assert!(details.iter().all(|detail| detail.value.len() <= 67));
    }

    #[test]
    fn the_deepest_page_does_not_overflow() {
        let query = parse(Entity::Output, "page=2147483647&per_page=100").unwrap().query;
        assert_eq!(query.first_position(), 214_748_364_600);
    }
}
