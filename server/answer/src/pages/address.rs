//! The addresses of lists, made from a checked query.

use pinakes_format::query::{PAGE_SIZE_DEFAULT, Query, RELEVANCE};

use crate::list::feed;
use crate::list::parameters::SEARCH_EXACT;
use crate::list::stream::StreamFormat;
use crate::request::parameters::encoded;

/// The parameter of pages that names a key whose groups are all shown.
pub const GROUPS: &str = "groups";
/// The parameter that has the expressions of the filter.
pub const FILTER: &str = "filter";

/// The parameter that lists each work in one version.
pub const VERSIONS: &str = "versions";

/// The parameters of a list, from which addresses of other lists are made.
#[derive(Clone, Debug)]
pub struct Address {
    route: &'static str,
    /// Expressions of `filter`, as the client wrote them.
    pub filters: Vec<String>,
    /// Words of `search`, or of `search.exact`.
    pub search: Option<String>,
    is_exact: bool,
    /// Value of `sort`; empty for the default order.
    pub sort: String,
    /// Whether each work is listed in one version.
    pub one_of_versions: bool,
    per_page: u32,
    page: u32,
}

impl Address {
    /// The address of a query's list.
    pub fn new(query: &Query) -> Address {
        let expressions = query.filter.iter();
        let (searches, filters): (Vec<_>, Vec<_>) =
            expressions.partition(|expression| expression.searched().is_some());
        let search = searches.first().and_then(|expression| expression.searched());
        let sort = query.sort.iter().map(|sort| {
            format!("{}:{}", sort.key.name, if sort.is_descending { "desc" } else { "asc" })
        });
        let mut sort: Vec<String> = sort.collect();
        // Relevance alone is the default order of a search.
        if let Some(at) = query.relevance.filter(|_| !sort.is_empty()) {
            sort.insert(at, RELEVANCE.to_owned());
        }
        Address {
            route: query.entity.facts().route,
            filters: filters.into_iter().map(|expression| expression.text.clone()).collect(),
            search: search.map(str::to_owned),
            is_exact: query.search().is_some_and(|search| search.is_exact),
            sort: sort.join(","),
            one_of_versions: query.one_of_versions,
            per_page: query.per_page,
            page: query.page.get(),
        }
    }

    /// Adds an expression to the filter, and leads to the first page.
    pub fn with(&self, expression: String) -> Address {
        let mut address = self.at_page(1);
        address.filters.push(expression);
        address
    }

    /// Removes an expression of the filter by its position, and leads to the first page.
    pub fn without(&self, at: usize) -> Address {
        let mut address = self.at_page(1);
        address.filters.remove(at);
        address
    }

    /// Removes the search, and leads to the first page.
    pub fn without_search(&self) -> Address {
        Address { search: None, is_exact: false, ..self.at_page(1) }
    }

    /// The search with its words as they are written, at the first page.
    pub fn exactly(&self) -> Address {
        Address { is_exact: true, ..self.at_page(1) }
    }

    /// The list with all versions of each work, at the first page.
    pub fn with_all_versions(&self) -> Address {
        Address { one_of_versions: false, ..self.at_page(1) }
    }

    /// A search for other words, at the first page.
    pub fn searching(&self, words: &str) -> Address {
        Address { search: Some(words.to_owned()), ..self.at_page(1) }
    }

    /// The same list at another page.
    pub fn at_page(&self, page: u32) -> Address {
        Address { page, ..self.clone() }
    }

    /// The parameter of the search.
    pub fn search_name(&self) -> &'static str {
        if self.is_exact { SEARCH_EXACT } else { "search" }
    }

    /// The value of `filter`.
    pub fn filter(&self) -> String {
        self.filters.join(",")
    }

    /// The size of a page; `None` for the default.
    pub fn page_size(&self) -> Option<u32> {
        Some(self.per_page).filter(|size| *size != PAGE_SIZE_DEFAULT)
    }

    /// Path of the page for people.
    pub fn path(&self) -> String {
        format!("/browse/{}", self.route)
    }

    /// Path and query of the page for people.
    pub fn page_url(&self) -> String {
        format!("{}{}", self.path(), self.parameters())
    }

    /// Path and query of the page that shows more groups of a key.
    pub fn opening(&self, key: &str) -> String {
        let opened = [(GROUPS, key.to_owned())];
        format!("{}{}", self.path(), query_text(self.set().into_iter().chain(opened)))
    }

    /// Path and query of the same list as JSON.
    pub fn json_url(&self) -> String {
        format!("/{}{}", self.route, self.parameters())
    }

    /// Path and query of all pages of the list as one stream.
    pub fn stream_url(&self, format: StreamFormat) -> String {
        let format = ("format", format.name().to_owned());
        format!("/{}{}", self.route, query_text(self.set().into_iter().chain([format])))
    }

    /// Path and query of the feed of the newest records.
    pub fn feed_url(&self) -> String {
        let [filter, search, _, versions] = self.set();
        let format = ("format", feed::NAME.to_owned());
        format!("/{}{}", self.route, query_text([filter, search, versions, format].into_iter()))
    }

    fn parameters(&self) -> String {
        let number = |number: u32, default: u32| {
            if number == default { String::new() } else { number.to_string() }
        };
        let page = [
            ("per_page", number(self.per_page, PAGE_SIZE_DEFAULT)),
            ("page", number(self.page, 1)),
        ];
        query_text(self.set().into_iter().chain(page))
    }

    /// The parameters that choose and sort the records.
    fn set(&self) -> [(&'static str, String); 4] {
        [
            (FILTER, self.filter()),
            (self.search_name(), self.search.clone().unwrap_or_default()),
            ("sort", self.sort.clone()),
            (VERSIONS, if self.one_of_versions { "one".to_owned() } else { String::new() }),
        ]
    }
}

/// The parameters that have a value, after a question mark; empty if none has.
fn query_text(values: impl Iterator<Item = (&'static str, String)>) -> String {
    let pairs: Vec<String> = values
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| format!("{name}={}", encoded(&value)))
        .collect();
    if pairs.is_empty() { String::new() } else { format!("?{}", pairs.join("&")) }
}

/// A value as a filter spells it: in quotes if a character has a meaning there.
pub fn quoted(value: &str) -> String {
    let is_plain = !value.is_empty()
        && value != "null"
        && !value.contains([',', '|', '"'])
        && !value.starts_with(['!', '<', '>', '-', ' '])
        && !value.ends_with(' ');
    if is_plain { value.to_owned() } else { format!("\"{}\"", value.replace('"', "\"\"")) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use pinakes_format::entity::Entity;

    use super::*;
    use crate::list::query::parse;

    #[test]
    fn an_address_is_that_of_the_request_and_changes_one_thing() {
        let raw = "filter=type:article,year:>2020,authors.name:%22a%2Cb%22&search=x+y&sort=year:desc&page=3";
        let address = Address::new(&parse(Entity::Output, raw).unwrap().query);
        let check = |address: Address, expected: &str| {
            assert_eq!(address.page_url(), format!("/browse/outputs{expected}"));
            assert_eq!(address.json_url(), format!("/outputs{expected}"));
            parse(Entity::Output, expected.trim_start_matches('?')).unwrap();
        };
        let rest = "&search=x%20y&sort=year:desc";
        let name = "authors.name:%22a,b%22";
        check(address.clone(), &format!("?filter=type:article,year:>2020,{name}{rest}&page=3"));
        assert_eq!(
            address.stream_url(StreamFormat::Csv),
            format!("/outputs?filter=type:article,year:>2020,{name}{rest}&format=csv")
        );
        check(address.without(0), &format!("?filter=year:>2020,{name}{rest}"));
        check(address.without(1), &format!("?filter=type:article,{name}{rest}"));
        check(address.without(2), &format!("?filter=type:article,year:>2020{rest}"));
        check(
            address.without_search(),
            &format!("?filter=type:article,year:>2020,{name}&sort=year:desc"),
        );
        check(
            address.without(2).with("language.code:en".into()),
            &format!("?filter=type:article,year:>2020,language.code:en{rest}"),
        );
        check(Address::new(&parse(Entity::Output, "").unwrap().query), "");
        check(Address::new(&parse(Entity::Output, "per_page=50").unwrap().query), "?per_page=50");
    }

    #[test]
    fn a_value_with_signs_of_the_grammar_is_quoted() {
        for (value, expected) in [
            ("article", "article"),
            ("a b", "a b"),
            ("a,b", "\"a,b\""),
            ("a\"b", "\"a\"\"b\""),
            ("-5", "\"-5\""),
            ("null", "\"null\""),
        ] {
            assert_eq!(quoted(value), expected);
        }
    }
}
