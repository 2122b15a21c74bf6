//! Parses the query of a list's URL into a checked [`ListRequest`].
//!
//! This module splits the query into parameters, whose values [`parameters`](crate::list::parameters) parses. No later
//! stage reads the text.

use pinakes_format::entity::Entity;
use pinakes_format::query::{ParamError, Query, RELEVANCE, nearest};
use pinakes_format::schema::Keys;

use crate::list::elsewhere::elsewhere;
use crate::list::parameters::{CURRENT, Dialect, Draft, Parameter, Parse, STATISTICS};
use crate::list::stream::StreamRequest;
use crate::reply::{DETAILS_MAX, Detail};
use crate::request::parameters::{GIVEN_TWICE, query_pairs};

/// Parameters of similar services, and the alternative here.
const FOREIGN_PARAMETERS: [(&str, &str); 1] =
    [("cursor", "`page` reaches any depth at the same cost")];

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
    let (given, details) = Default::default();
    let mut parser = QueryParser { dialect, given, draft: Draft::new(query), details };
    let mut pairs: Vec<Result<(String, String), Detail>> = pairs.collect();
    let comes_first = |name: &str| dialect.named(name).is_some_and(|known| known.comes_first);
    pairs.sort_by_key(|pair| !matches!(pair, Ok((name, _)) if comes_first(name)));
    for pair in pairs {
        match pair {
            Ok((name, value)) => parser.add(name, value),
            Err(detail) => parser.details.push(detail),
        }
        if parser.details.len() >= DETAILS_MAX {
            parser.details.truncate(DETAILS_MAX);
            break;
        }
    }
    parser.finish()
}

/// A parameter as the client sent it.
struct GivenParameter {
    parameter: &'static Parameter,
    name: String,
    value: String,
}

/// The state of parsing one query.
struct QueryParser {
    dialect: &'static Dialect,
    given: Vec<GivenParameter>,
    draft: Draft,
    details: Vec<Detail>,
}

impl QueryParser {
    fn add(&mut self, name: String, value: String) {
        let keys = self.draft.query.keys;
        let Some(parameter) = self.dialect.named(&name).filter(|known| (known.is_of)(keys)) else {
            let reason = unknown_reason(self.dialect, keys, &name);
            return self.refuse(&name, &value, reason);
        };
        if self.given.iter().any(|given| given.parameter.names == parameter.names) {
            return self.refuse(&name, &value, GIVEN_TWICE.to_owned());
        }
        match parameter.parse {
            Parse::Whole(parse) => {
                if let Err(reason) = parse(&mut self.draft, &value) {
                    self.refuse(&name, &value, reason);
                }
            }
            Parse::Parts(_) if value.trim().is_empty() => {
                self.refuse(&name, "", "is empty; leave it out".to_owned());
            }
            Parse::Parts(parse) => {
                let wrong = parse(&mut self.draft, &value).err().unwrap_or_default();
                for ParamError { text, reason } in wrong {
                    let reason = match elsewhere(keys, &text) {
                        Some(way) => format!("{reason}; {way}"),
                        None => reason,
                    };
                    self.refuse(&name, &text, reason);
                }
            }
        }
        // `check_together` refuses parameters by the names and values that the client sent.
        self.given.push(GivenParameter { parameter, name, value });
    }

    /// Refuses parameters that exclude each other, and combines the others.
    fn finish(mut self) -> Result<ListRequest, Vec<Detail>> {
        if self.details.is_empty() {
            self.check_together();
        }
        if !self.details.is_empty() {
            return Err(self.details);
        }
        let Draft { mut query, seed, format, is_feed, columns, table, .. } = self.draft;
        if let (Some(sample), Some(seed)) = (&mut query.sample, seed) {
            sample.seed = seed;
        }
        let stream = format.map(|format| StreamRequest { format, columns, table });
        Ok(ListRequest { query, stream, is_feed })
    }

    fn check_together(&mut self) {
        let query = &self.draft.query;
        if query.relevance.is_some() {
            let reason = match (query.is_searched(), query.sample) {
                (false, _) => "sorts by the relevance of a search, and needs `search`",
                (_, Some(_)) => "does not go with `sample`; leave out one of the two",
                _ => "",
            };
            if !reason.is_empty() {
                self.refuse("sort", RELEVANCE, reason.to_owned());
            }
        }
        for given in std::mem::take(&mut self.given) {
            if let Some(reason) = (given.parameter.excluded)(&self.draft) {
                self.refuse(&given.name, &given.value, reason.to_owned());
            }
        }
    }

    fn refuse(&mut self, parameter: &str, value: &str, reason: String) {
        self.details.push(Detail::new(parameter, value, reason));
    }
}

/// The reason for refusing an unknown parameter, with a suggestion.
fn unknown_reason(dialect: &'static Dialect, keys: &Keys, name: &str) -> String {
    let route = keys.route;
    if dialect.named(name).is_some() {
        return format!("is no parameter of /{route}, which takes no {name}");
    }
    let mut foreign = FOREIGN_PARAMETERS.iter().chain(dialect.foreign);
    if let Some((_, alternative)) = foreign.find(|(known, _)| *known == name) {
        return format!("is no parameter of this list: {alternative}");
    }
    let names = dialect.of(keys).flat_map(|parameter| parameter.names).copied();
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
    use crate::list::stream::StreamFormat;

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
