//! The page of a list: filters as chips, sort, count, records, groups, other pages.

use std::collections::BTreeSet;

use askama::Template;
use http::StatusCode;
use pinakes_format::entity::Facts;
use pinakes_format::query::{Deadline, Expression, Operand, Query, QueryError, SearchSummary};
use pinakes_format::schema::Kind;
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::ReadError;

use crate::define::charge::RECORDS_PER_REQUEST;
use crate::define::{Answer, Call, Cost, Planned, Planning, WorkLimits};
use crate::list::parameters::{Dialect, SEARCH_EXACT};
use crate::list::stream::StreamFormat;
use crate::list::{feed, parameters, query};
use crate::pages::address::{Address, FILTER, GROUPS, VERSIONS};
use crate::pages::filters::{
    FieldContent, FilledForm, FilterForm, FoundName, TypedName, WrongPart,
};
use crate::pages::found::{Highlighter, NothingFound, SearchNote};
use crate::pages::groups::{KeyGroups, id_text};
use crate::pages::html::Frame;
use crate::pages::labels::{label, plural, thousands};
use crate::pages::list_rows::ListRow;
use crate::pages::members::record_name;
use crate::pages::orders::{Order, orders};
use crate::pages::{filters, groups, html, list_rows, tables};
use crate::reply::{DETAILS_MAX, Detail, Reply};
use crate::request::parameters::{GIVEN_TWICE, encoded, query_pairs};

/// The parameters of lists on pages: those of records in REST.
const PAGES: Dialect = Dialect {
    parameters: &[
        &parameters::PAGE,
        &parameters::PER_PAGE,
        &parameters::FILTER,
        &parameters::SORT,
        &parameters::SEARCH,
        &parameters::EXACT_SEARCH,
        &parameters::VERSIONS,
    ],
    foreign: &[("group_by", "the page shows groups by itself; the JSON groups by any key")],
};
/// Alternatives that a chip names.
const NAMED_MAX: usize = 3;

/// A checked request for the page of a list.
#[derive(Clone, Debug)]
struct ListPageRequest {
    query: Query,
    /// Names that become expressions once their records are found.
    names: Vec<TypedName>,
    /// The key whose groups are all shown.
    opened: Option<String>,
    /// Whether a form sent it: with empty parameters, or filters in fields of their own.
    is_of_form: bool,
    /// Wrong parts of the address, which the list leaves out.
    wrong: Vec<WrongPart>,
}

impl ListPageRequest {
    /// The request for the first page of all records.
    fn new(facts: &Facts) -> ListPageRequest {
        let (names, wrong) = (Vec::new(), Vec::new());
        let query = Query::new(facts.entity);
        ListPageRequest { query, names, opened: None, is_of_form: false, wrong }
    }
}

/// Parses the text after the `?` of a list's page. The form sends fields that stay empty, which count as
/// absent, and expressions in fields of their own.
///
/// # Errors
///
/// The invalid parameters, at most ten.
fn parse(facts: &Facts, raw: &str) -> Result<ListPageRequest, Vec<Detail>> {
    let (mut pairs, mut form, mut opened) = (Vec::new(), FilledForm::default(), None);
    let mut is_of_form = false;
    let mut filled = BTreeSet::new();
    for pair in query_pairs(raw) {
        match pair {
            Ok((_, text)) if text.trim().is_empty() => is_of_form = true,
            Ok((name, text)) if name == GROUPS => {
                match Query::new(facts.entity).set_group_by(&text) {
                    Ok(()) => opened = Some(text),
                    Err(_) => {
                        pairs.push(Err(Detail::new(&name, &text, "is no key that groups the list")))
                    }
                }
            }
            Ok((name, text)) if form.take(facts.entity, &name, &text) => {
                is_of_form = true;
                // The form sends each field once: of a field given twice one value would be lost.
                if !filled.insert(name.clone()) {
                    pairs.push(Err(Detail::new(&name, &text, GIVEN_TWICE)));
                }
            }
            other => pairs.push(other),
        }
    }
    form.finish(facts.entity);
    if !form.expressions.is_empty() {
        let expressions = form.expressions.join(",");
        let filter = pairs.iter_mut().flatten().find(|(name, _)| name == FILTER);
        // Expressions of the form join those of the address: a record must match both.
        match filter {
            Some((_, filter)) => *filter = format!("{filter},{expressions}"),
            None => pairs.push(Ok((FILTER.to_owned(), expressions))),
        }
    }
    let query = query::parse_pairs(Query::new(facts.entity), &PAGES, pairs.into_iter())?;
    Ok(ListPageRequest { query, names: form.names, opened, is_of_form, wrong: Vec::new() })
}

/// Parts of an address that are tried one after another; the parts behind them are left out.
const PARTS_TRIED: usize = 64;

/// The request without what is wrong in it. A part of the address is kept if it goes with the parts kept before it.
///
/// Cost: a parse for each part.
fn without_wrong(facts: &Facts, raw: &str, details: Vec<Detail>) -> ListPageRequest {
    let (mut request, mut kept, mut wrong) = (ListPageRequest::new(facts), Vec::new(), Vec::new());
    let parts = filters::parts(query_pairs(raw).flatten());
    for (name, text) in parts.into_iter().take(PARTS_TRIED) {
        kept.push((name, text));
        match parse(facts, &query_of_parts(&kept)) {
            Ok(checked) => request = checked,
            Err(refused) => {
                let reason = refused.into_iter().next().map(|detail| detail.reason);
                let refused = kept.pop().zip(reason);
                let part = |((name, text), reason)| WrongPart { name, text, reason };
                wrong.extend(refused.map(part).filter(|part| !wrong.contains(part)));
            }
        }
    }
    if wrong.is_empty() {
        // Bytes that are no text, or a parameter that is given twice, are no part by themselves.
        let part =
            |Detail { parameter: name, value: text, reason }| WrongPart { name, text, reason };
        wrong.extend(details.into_iter().map(part));
    }
    wrong.truncate(DETAILS_MAX);
    ListPageRequest { wrong, ..request }
}

/// The text after the `?` that has these parts, with one filter of all expressions.
fn query_of_parts(parts: &[(String, String)]) -> String {
    let (filters, others): (Vec<_>, Vec<_>) = parts.iter().partition(|(name, _)| name == FILTER);
    let filter: Vec<&str> = filters.iter().map(|(_, text)| text.as_str()).collect();
    let filter = (!filter.is_empty()).then(|| (FILTER, filter.join(",")));
    let others = others.into_iter().map(|(name, text)| (name.as_str(), text.clone()));
    let pairs =
        others.chain(filter).map(|(name, text)| format!("{}={}", encoded(name), encoded(&text)));
    pairs.collect::<Vec<String>>().join("&")
}

#[derive(Template)]
#[template(path = "browse/list.html")]
struct ListPage {
    frame: Frame,
    heading: String,
    path: String,
    /// Wrong parts of the address, which the list leaves out.
    wrong: Vec<WrongPart>,
    count: String,
    chips: Vec<Chip>,
    /// Names that a reader typed, with their records.
    names: Vec<FoundName>,
    /// The fields of filters; `None` of a list that takes neither filters nor searches.
    form: Option<FilterForm>,
    /// Orders that people name, and all others.
    orders: (Vec<Order>, Vec<Order>),
    address: Address,
    search: String,
    /// Whether the search is refused.
    is_search_wrong: bool,
    /// The search for the same words in all lists.
    everywhere: Option<String>,
    /// Whether the search looks into all texts.
    has_full_text: bool,
    note: Option<SearchNote>,
    /// Why nothing was found.
    nothing: Option<NothingFound>,
    rows: Vec<ListRow>,
    first: u64,
    groups: Vec<KeyGroups>,
    /// Other keys that the list can be counted by, and their labels.
    countable: Vec<(&'static str, String)>,
    pages: Pages,
    json: String,
    /// The feed of the newest records.
    feed: Option<String>,
    /// All of the list as one file: name of the format, and address.
    files: Vec<(&'static str, String)>,
    /// How many lists of the day a file counts as.
    file_lists: String,
}

/// The page of a list, and the ways to others.
struct Pages {
    number: String,
    count: String,
    first: Option<String>,
    previous: Option<String>,
    next: Option<String>,
    last: Option<String>,
}

impl Pages {
    fn new(query: &Query, address: &Address, found: u64) -> Pages {
        let page = u64::from(query.page.get());
        let pages = found.div_ceil(query.per_page.into()).max(1);
        // Pages have 32 bits; a list has fewer records.
        let url = |page: u64| address.at_page(u32::try_from(page).unwrap_or(u32::MAX)).page_url();
        Pages {
            number: thousands(page),
            count: thousands(pages),
            first: (page > 2).then(|| url(1)),
            // From beyond the end the way back is the last page.
            previous: (page > 1).then(|| url((page - 1).min(pages))),
            next: (page < pages).then(|| url(page + 1)),
            last: (page + 1 < pages).then(|| url(pages)),
        }
    }

    /// Whether there is another page.
    fn are_several(&self) -> bool {
        self.previous.is_some() || self.next.is_some()
    }
}

/// An expression of the filter, and the list without it.
struct Chip {
    is_search: bool,
    key: String,
    value: String,
    href: String,
}

/// The result of a query.
struct Found {
    query: Query,
    wrong: Vec<WrongPart>,
    names: Vec<FoundName>,
    count: u64,
    search: Option<SearchSummary>,
    nothing: Option<NothingFound>,
    rows: Vec<ListRow>,
    /// Groups of keys of the form and of the table.
    groups: Vec<KeyGroups>,
}

/// Plans the page of a list.
pub fn plan(planning: &Planning<'_>) -> Result<Planned, Reply> {
    let call = &planning.call;
    let facts = planning.facts();
    let request = match parse(facts, call.query) {
        Ok(request) => request,
        Err(details) => {
            let request = without_wrong(facts, call.query, details);
            return Ok(Planned::work(Cost::Large, move |call| answer(&request, call)));
        }
    };
    if let Some(path) = canonical(&request, call.query) {
        let said = "The list has this address".to_owned();
        return Ok(Planned::Reply(Reply::redirect(StatusCode::SEE_OTHER, &path, said)));
    }
    Ok(html::unless_current(call, move |call| answer(&request, call)))
}

/// The address of a list that a form asked for: without empty parameters, and with one filter. `None` if the request has
/// it already.
fn canonical(request: &ListPageRequest, raw: &str) -> Option<String> {
    let address = Address::new(&request.query);
    if !request.names.is_empty() {
        // The page says which records the names are taken as, so that they stay in the address.
        let is_filled = |(_, text): &(String, String)| !text.trim().is_empty();
        let pairs: Vec<(String, String)> = query_pairs(raw).flatten().collect();
        let filled: Vec<(String, String)> =
            pairs.iter().filter(|pair| is_filled(pair)).cloned().collect();
        let is_shorter = filled.len() < pairs.len();
        return is_shorter.then(|| format!("{}?{}", address.path(), query_of_parts(&filled)));
    }
    let opened = request.opened.as_ref();
    let path = || opened.map_or_else(|| address.page_url(), |key| address.opening(key));
    request.is_of_form.then(path)
}

/// Makes the page. List and groups share the time of one list.
fn answer(request: &ListPageRequest, call: &Call<'_>) -> Answer {
    let (snapshot, limits) = (call.snapshot, call.limits());
    let found = limits.run(|deadline| find(request, snapshot, deadline, limits))?;
    let address = Address::new(&found.query);
    let chips = chips(&found, &address, snapshot)?;
    let page = layout(found, address, chips, request.opened.as_deref(), call);
    match page.wrong.is_empty() {
        true => html::reply(&page, call),
        false => Ok(html::with_status(StatusCode::BAD_REQUEST, &page, html::page_headers())),
    }
}

/// Leaves out of a query what it refused when it ran: an order, the comparison of versions, or else its search.
fn leave_out(parameter: &str, text: &str, reason: String, query: &mut Query) -> WrongPart {
    let searched = query.search().map(|search| search.text.clone());
    let text = match parameter {
        "sort" => {
            query.relevance = None;
            query.sort.clear();
            text.to_owned()
        }
        VERSIONS => {
            query.one_of_versions = false;
            text.to_owned()
        }
        _ => {
            query.relevance = None;
            query.filter.retain(|expression| expression.searched().is_none());
            searched.unwrap_or_default()
        }
    };
    WrongPart { name: parameter.to_owned(), text, reason }
}

fn find(
    request: &ListPageRequest,
    snapshot: &Snapshot,
    deadline: Deadline<'_>,
    limits: WorkLimits,
) -> Result<Found, QueryError> {
    let (mut query, mut wrong) = (request.query.clone(), request.wrong.clone());
    let names = filters::add_names(&mut query, &request.names, snapshot, deadline)?;
    let mut answer = query.execute(snapshot, deadline);
    if let Err(QueryError::Refused { parameter, error }) = answer {
        wrong.push(leave_out(parameter, &error.text, error.reason, &mut query));
        answer = query.execute(snapshot, deadline);
    }
    let groups = count_groups(&query, request, snapshot, deadline, limits);
    // The groups do not need the answer: on a mirror, both are fetched together.
    let groups = snapshot.or_noted(groups)?;
    let answer = answer?;
    let nothing = match answer.count {
        0 => Some(NothingFound::explain(&query, answer.search.as_ref(), snapshot, deadline)?),
        _ => None,
    };
    let marks = Highlighter::new(&query, answer.search.as_ref());
    let rows = list_rows::found_rows(query.entity, &answer.rows, marks.as_ref(), snapshot)?;
    let (count, search) = (answer.count, answer.search);
    Ok(Found { query, wrong, names, count, search, nothing, rows, groups })
}

/// Counts the groups that the page shows, or opens.
fn count_groups(
    query: &Query,
    request: &ListPageRequest,
    snapshot: &Snapshot,
    deadline: Deadline<'_>,
    limits: WorkLimits,
) -> Result<Vec<KeyGroups>, ReadError> {
    let opened = request.opened.as_deref();
    let shown = tables::of(query.entity).groups;
    let other = query.keys.filters().find(|key| Some(*key) == opened && !shown.contains(key));
    let keys = filters::counted(query.entity).filter(|key| Some(*key) != other).chain(other);
    groups::groups(query, keys, opened, snapshot, deadline, limits)
}

fn layout(
    found: Found,
    address: Address,
    chips: Vec<Chip>,
    opened: Option<&str>,
    call: &Call<'_>,
) -> ListPage {
    let query = &found.query;
    let facts = query.entity.facts();
    let typed = query.search().map_or("", |search| search.text.as_str());
    let exact = address.exactly().page_url();
    let note = found.search.as_ref().and_then(|summary| SearchNote::new(typed, summary, exact));
    let has_filters = query.keys.filters().next().is_some();
    let form = has_filters.then(|| FilterForm::new(query, &address, &found.groups, &found.wrong));
    let wrong_search =
        found.wrong.iter().find(|part| part.name == "search" || part.name == SEARCH_EXACT);
    let shown = tables::of(query.entity).groups;
    let mut groups = found.groups;
    // A group that the client opened is shown, and whole, also if the table of the page lacks its key.
    groups.retain(|group| shown.contains(&group.key) || opened == Some(group.key));
    groups.iter_mut().filter(|group| opened != Some(group.key)).for_each(KeyGroups::shorten);
    groups.retain(KeyGroups::is_telling);
    // The page offers to open the groups of further keys.
    let can_group = |key: &&str| Query::new(query.entity).set_group_by(key).is_ok();
    let other_keys = query.keys.filters().filter(|key| !shown.contains(key)).filter(can_group);
    let files = StreamFormat::of(query.entity);
    ListPage {
        frame: Frame {
            description: format!("{} with filters, counts and downloads", plural(facts)),
            entity: Some(query.entity),
            ..Frame::new(&plural(facts), call.settings.other_pages())
        },
        heading: plural(facts),
        path: format!("/browse/{}", facts.route),
        count: thousands(found.count),
        names: found.names,
        form,
        orders: orders(query, &address.sort),
        everywhere: address
            .search
            .as_ref()
            .map(|words| format!("/browse/search?query={}", encoded(words))),
        search: match wrong_search {
            Some(part) => part.text.clone(),
            None => address.search.clone().unwrap_or_default(),
        },
        is_search_wrong: wrong_search.is_some(),
        wrong: found.wrong,
        has_full_text: query.keys.has_full_text(),
        note: note.filter(|note| found.count > 0 || note.hint.is_some()),
        nothing: found.nothing.map(|nothing| with_ways(nothing, &chips)),
        chips,
        rows: found.rows,
        first: query.first_position() + 1,
        groups,
        countable: other_keys.map(|key| (key, label(key))).collect(),
        pages: Pages::new(query, &address, found.count),
        json: address.json_url(),
        feed: feed::is_of(query.entity).then(|| address.feed_url()),
        files: files.map(|format| (format.label(), address.stream_url(format))).collect(),
        file_lists: thousands(found.count.div_ceil(RECORDS_PER_REQUEST).max(1)),
        address,
    }
}

/// Adds the lists without each expression of the filter, which the chips lead to.
fn with_ways(nothing: NothingFound, chips: &[Chip]) -> NothingFound {
    let without = nothing.without.iter().zip(chips).filter(|(count, _)| **count > 0);
    let without = without.map(|(count, chip)| {
        let words = match chip.is_search {
            true => "Without the words".to_owned(),
            false => format!("Without {}: {}", chip.key, chip.value),
        };
        (words, thousands(*count), chip.href.clone())
    });
    let ways = nothing.ways.into_iter().chain(without).collect();
    NothingFound { ways, ..nothing }
}

fn chips(found: &Found, address: &Address, snapshot: &Snapshot) -> Result<Vec<Chip>, ReadError> {
    let (mut chips, mut at) = (Vec::new(), 0);
    for expression in &found.query.filter {
        let href = match expression.searched() {
            Some(_) => address.without_search(),
            None => {
                at += 1;
                address.without(at - 1)
            }
        };
        let (key, value) = match expression.searched() {
            Some(words) => ("Search".to_owned(), words.to_owned()),
            None => (label(expression.key.name), value_words(expression, &found.groups, snapshot)?),
        };
        let is_search = expression.searched().is_some();
        chips.push(Chip { is_search, key, value, href: href.page_url() });
    }
    if found.query.one_of_versions {
        let (key, value) = ("Versions".to_owned(), "one of each work".to_owned());
        let href = address.with_all_versions().page_url();
        chips.push(Chip { is_search: false, key, value, href });
    }
    Ok(chips)
}

/// The values of an expression, with the names of records, and with the names that groups have for codes.
fn value_words(
    expression: &Expression,
    groups: &[KeyGroups],
    snapshot: &Snapshot,
) -> Result<String, ReadError> {
    let written = expression.text.split_once(':').map_or("", |(_, value)| value.trim());
    let written = written.trim_start_matches('!').trim();
    let of_key = groups.iter().find(|group| group.key == expression.key.name);
    // The groups of the page have the names of codes already.
    let group = of_key
        .and_then(|group| group.bars.iter().find(|bar| bar.value.as_deref() == Some(written)));
    let written = match (group, expression.key.kind, written) {
        (Some(group), ..) => group.name.as_str(),
        (None, Kind::Boolean, "true") => "yes",
        (None, Kind::Boolean, "false") => "no",
        _ => written,
    };
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use pinakes_format::entity::Entity;

    use super::*;

    #[test]
    fn a_form_adds_an_expression_and_sends_empty_fields() {
        let check = |raw: &str, expected: Option<&str>| {
            let query = parse(Entity::Output.facts(), raw).ok();
            assert_eq!(
                query.map(|request| Address::new(&request.query).page_url()).as_deref(),
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
