//! The page of a list: filters as chips, sort, count, records, groups, other pages.

use askama::Template;
use pinakes_format::entity::{CATALOG, Entity, Facts};
use pinakes_format::query::{Expression, Operand, Query, QueryError, SearchSummary, SearchedWords};
use pinakes_format::schema::keys::{Kind, keys_of};
use pinakes_format::snapshot::{LookupResult, Snapshot};
use pinakes_format::storage::error::ReadError;

use crate::endpoint::browse::address::{Address, quoted};
use crate::endpoint::browse::found::{Highlighter, SearchNote};
use crate::endpoint::browse::groups::{self, KeyGroups, id_text};
use crate::endpoint::browse::html::{self, Frame, OtherPages};
use crate::endpoint::browse::labels::{label, plural, thousands};
use crate::endpoint::browse::list_rows::{self, ListRow};
use crate::endpoint::call::{Answer, Call, Planned, Planning};
use crate::endpoint::list_query::{self, Dialect, Parameter};
use crate::endpoint::list_stream::StreamFormat;
use crate::http::parameters::query_pairs;
use crate::reply::Reply;
use crate::reply::detail::Detail;

/// The parameters of lists on pages: those of records in REST.
const PAGES: Dialect = Dialect {
    parameters: &[
        ("page", Parameter::Page),
        ("per_page", Parameter::PerPage),
        ("per-page", Parameter::PerPage),
        ("filter", Parameter::Filter),
        ("sort", Parameter::Sort),
        ("search", Parameter::Search),
        (list_query::SEARCH_EXACT, Parameter::SearchExact),
    ],
    foreign: &[("group_by", "the page shows groups by itself; the JSON groups by any key")],
    ..list_query::CURRENT
};
/// Fields of the form that adds an expression to the filter: its key, and what follows the colon.
const KEY: &str = "key";
const VALUE: &str = "value";
/// Alternatives that a chip names.
const NAMED_MAX: usize = 3;

/// Parses the text after the `?` of a list's page. The form sends fields that stay empty, which count as
/// absent, and a new expression in two fields.
///
/// # Errors
///
/// The invalid parameters, at most ten.
fn parse(facts: &Facts, raw: &str) -> Result<Query, Vec<Detail>> {
    let (mut pairs, mut key, mut value) = (Vec::new(), String::new(), String::new());
    for pair in query_pairs(raw) {
        match pair {
            Ok((_, text)) if text.trim().is_empty() => {}
            Ok((name, text)) if name == KEY => key = text,
            Ok((name, text)) if name == VALUE => value = text,
            other => pairs.push(other),
        }
    }
    if !key.is_empty() && !value.is_empty() {
        let value = value.trim();
        let has_quotes = value.contains('"');
        let value = if value.contains(',') && !has_quotes { quoted(value) } else { value.into() };
        let expression = format!("{key}:{value}");
        let filter = pairs.iter_mut().flatten().find(|(name, _)| name == "filter");
        match filter {
            Some((_, filter)) => *filter = format!("{filter},{expression}"),
            None => pairs.push(Ok(("filter".to_owned(), expression))),
        }
    }
    list_query::parse_pairs(Query::new(facts.entity), &PAGES, pairs.into_iter())
}

#[derive(Template)]
#[template(path = "browse/list.html")]
struct ListPage {
    frame: Frame,
    heading: String,
    path: String,
    count: String,
    chips: Vec<Chip>,
    /// Whether the list takes filters and searches.
    has_filters: bool,
    keys: Vec<(&'static str, String)>,
    sorts: Vec<SortOption>,
    address: Address,
    search: String,
    /// Whether the search looks into all texts.
    has_full_text: bool,
    note: Option<SearchNote>,
    /// Whether no record has any word of the search.
    has_no_word: bool,
    rows: Vec<ListRow>,
    first: u64,
    groups: Vec<KeyGroups>,
    page: u32,
    pages: u64,
    previous: Option<String>,
    next: Option<String>,
    json: String,
    /// All of the list as one file: name of the format, and address.
    streams: Vec<(&'static str, String)>,
}

/// An expression of the filter, and the list without it.
struct Chip {
    key: String,
    value: String,
    href: String,
}

struct SortOption {
    value: String,
    label: String,
    is_chosen: bool,
}

/// Count, records and groups of a page.
struct Found {
    count: u64,
    search: Option<SearchSummary>,
    rows: Vec<ListRow>,
    groups: Vec<KeyGroups>,
}

/// Plans the page of a list.
pub fn plan(planning: &Planning<'_>) -> Result<Planned, Reply> {
    let call = &planning.call;
    let query = parse(planning.facts(), call.query).map_err(Reply::bad_query)?;
    Ok(html::unless_current(call, move |call| answer(&query, call)))
}

/// Makes the page. List and groups share the time of one list.
fn answer(query: &Query, call: &Call<'_>) -> Answer {
    let (snapshot, limits, address) = (call.snapshot, call.limits(), Address::new(query));
    let found = limits.run(|deadline| {
        let answer = query.execute(snapshot, deadline)?;
        let marks = Highlighter::new(query, answer.search.as_ref());
        let rows = list_rows::found_rows(query.entity, &answer.rows, marks.as_ref(), snapshot)?;
        let groups = groups::groups(query, &address, snapshot, deadline, limits)?;
        let (count, search) = (answer.count, answer.search);
        Ok::<Found, QueryError>(Found { count, search, rows, groups })
    })?;
    let chips = chips(query, &address, snapshot)?;
    html::reply(&layout(query, address, found, chips, call.site.other_pages()), call)
}

fn layout(
    query: &Query,
    address: Address,
    found: Found,
    chips: Vec<Chip>,
    others: OtherPages,
) -> ListPage {
    let facts = query.entity.facts();
    let page = query.page.get();
    let pages = found.count.div_ceil(query.per_page.into()).max(1);
    let typed = query.search().map_or("", |search| search.text.as_str());
    let exact = address.exactly().page_url();
    let note = found.search.as_ref().and_then(|summary| SearchNote::new(typed, summary, exact));
    let has_most = found.search.as_ref().is_some_and(|found| found.words == SearchedWords::Most);
    let url = |page: u32| address.at_page(page).page_url();
    // From beyond the end the way back is the last page.
    let before = u32::try_from(u64::from(page - 1).min(pages)).unwrap_or(u32::MAX);
    ListPage {
        frame: Frame {
            title: plural(facts),
            searched: String::new(),
            entity: Some(query.entity),
            others,
        },
        heading: plural(facts),
        path: format!("/browse/{}", facts.route),
        count: thousands(i64::try_from(found.count).unwrap_or(i64::MAX)),
        chips,
        has_filters: query.keys.filters().next().is_some(),
        keys: query.keys.filters().map(|key| (key, label(key))).collect(),
        sorts: sorts(query, &address.sort),
        search: address.search.clone().unwrap_or_default(),
        has_full_text: query.keys.has_full_text(),
        note: note.filter(|_| found.count > 0),
        // Of a search for most words, any word suffices where few records have half of them.
        has_no_word: has_most && query.filter.len() == 1,
        rows: found.rows,
        first: query.first_position() + 1,
        groups: found.groups,
        page,
        pages,
        previous: (page > 1).then(|| url(before)),
        next: (u64::from(page) < pages).then(|| url(page + 1)),
        json: address.json_url(),
        streams: StreamFormat::of(query.entity)
            .map(|format| (format.label(), address.stream_url(format)))
            .collect(),
        address,
    }
}

/// The orders that a list offers, and the order that the request chose.
fn sorts(query: &Query, chosen: &str) -> Vec<SortOption> {
    let first = if query.search().is_some() { "Best match first" } else { "Most used first" };
    let mut options = vec![SortOption {
        value: String::new(),
        label: first.to_owned(),
        is_chosen: chosen.is_empty(),
    }];
    for key in query.keys.keys.iter().filter(|key| key.sort.is_some()) {
        let directions = match key.kind {
            Kind::Text | Kind::Code | Kind::Words => [("asc", "A to Z"), ("desc", "Z to A")],
            Kind::Day(_) | Kind::Moment(_) => [("desc", "newest first"), ("asc", "oldest first")],
            _ => [("desc", "highest first"), ("asc", "lowest first")],
        };
        for (direction, words) in directions {
            let value = format!("{}:{direction}", key.name);
            let is_chosen = value == chosen;
            let label = format!("{}, {words}", label(key.name));
            options.push(SortOption { value, label, is_chosen });
        }
    }
    if options.iter().all(|option| !option.is_chosen) {
        let (value, label) = (chosen.to_owned(), chosen.replace(',', ", "));
        options.push(SortOption { value, label, is_chosen: true });
    }
    options
}

fn chips(query: &Query, address: &Address, snapshot: &Snapshot) -> Result<Vec<Chip>, ReadError> {
    let (mut chips, mut at) = (Vec::new(), 0);
    for expression in &query.filter {
        let href = match expression.searched() {
            Some(_) => address.without_search(),
            None => {
                at += 1;
                address.without(at - 1)
            }
        };
        let (key, value) = match expression.searched() {
            Some(words) => ("Search".to_owned(), words.to_owned()),
            None => (label(expression.key.name), value_words(expression, snapshot)?),
        };
        chips.push(Chip { key, value, href: href.page_url() });
    }
    Ok(chips)
}

/// The values of an expression, with the names of records.
fn value_words(expression: &Expression, snapshot: &Snapshot) -> Result<String, ReadError> {
    let written = expression.text.split_once(':').map_or("", |(_, value)| value.trim());
    let written = written.trim_start_matches('!').trim();
    let mut names = Vec::new();
    for operand in expression.operands.iter().take(NAMED_MAX) {
        if let Operand::Record(entity, id) = operand {
            let name = record_name(*entity, *id, snapshot)?;
            names.push(name.unwrap_or_else(|| id_text(*entity, *id)));
        }
    }
    let left_out = expression.operands.len().saturating_sub(NAMED_MAX);
    let words = match (names.is_empty(), left_out) {
        (true, _) => written.replace('|', " or "),
        (false, 0) => names.join(" or "),
        (false, left_out) => format!("{} or {left_out} more", names.join(", ")),
    };
    Ok(if expression.is_negated { format!("not {words}") } else { words })
}

/// The name of an id, which may be merged, or have no record: as in groups.
fn record_name(entity: Entity, id: u64, snapshot: &Snapshot) -> Result<Option<String>, ReadError> {
    let (id, found) = match snapshot.find(entity, id)? {
        LookupResult::Merged(into) => (into, snapshot.find(entity, into)?),
        found => (id, found),
    };
    if let LookupResult::Row(row) = found {
        return Ok(snapshot.name(entity, row)?.map(str::to_owned));
    }
    let unresolved = snapshot.unresolved_rows(entity, id)?.next();
    let name = unresolved.map(|row| snapshot.name_of_id(entity, row)).transpose()?.flatten();
    Ok(name.map(str::to_owned))
}

/// The lists that can be searched by names: heading and path before the words.
pub fn searchable() -> impl Iterator<Item = (String, String)> {
    let has_names = |facts: &&Facts| keys_of(facts.entity).filters().next().is_some();
    CATALOG
        .iter()
        .filter(has_names)
        .map(|facts| (plural(facts), format!("/browse/{}?search=", facts.route)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_form_adds_an_expression_and_sends_empty_fields() {
        let check = |raw: &str, expected: Option<&str>| {
            let query = parse(Entity::Output.facts(), raw).ok();
            assert_eq!(
                query.map(|query| Address::new(&query).page_url()).as_deref(),
                expected,
                "{raw}"
            );
        };
        check("", Some("/browse/outputs"));
        check("filter=&search=&sort=&key=&value=", Some("/browse/outputs"));
        check("key=year&value=%3E2020", Some("/browse/outputs?filter=year:>2020"));
        check(
            "filter=type:article&key=year&value=2020",
            Some("/browse/outputs?filter=type:article,year:2020"),
        );
        check(
            "key=authors.name&value=a,+b",
            Some("/browse/outputs?filter=authors.name:%22a,%20b%22"),
        );
        check("key=year&value=", Some("/browse/outputs"));
        check("value=2020", Some("/browse/outputs"));
        check("key=nothing&value=1", None);
        check("key=year&value=x", None);
        check("group_by=type", None);
        check("page=0", None);
    }
}
