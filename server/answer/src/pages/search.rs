//! The page of a search: the best names of all kinds, and the outputs by their texts. An identifier leads to its record.

use askama::Template;
use http::StatusCode;
use pinakes_format::autocomplete::{Candidate, Candidates, Completion, ENTITIES, Tier};
use pinakes_format::entity::Entity;
use pinakes_format::query::{Deadline, Query, QueryError};
use pinakes_format::schema::keys::keys_of;
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::error::ReadError;
use pinakes_format::text::fold::fold;

use crate::complete::candidates::lists_without_record;
use crate::complete::query;
use crate::complete::query::TextError;
use crate::define::call::Call;
use crate::define::failure::Answer;
use crate::define::plan::{Planned, Planning};
use crate::define::settings::OtherPages;
use crate::define::work_limits::WorkLimits;
use crate::pages::address::Address;
use crate::pages::error::page_links;
use crate::pages::filters::{FieldContent, FilterForm};
use crate::pages::found::{Highlighter, NothingFound, SearchNote};
use crate::pages::groups::{KeyGroups, id_text};
use crate::pages::html::Frame;
use crate::pages::labels::{plural, thousands};
use crate::pages::list_rows::ListRow;
use crate::pages::members::record_path;
use crate::pages::orders::{Order, orders};
use crate::pages::{error, filters, groups, html, list_rows, tables};
use crate::referring::lists_by_name;
use crate::reply::Reply;
use crate::request::parameters::{encoded, query_pairs};

/// Names that the page shows, of the ten that completion finds.
const NAMES_MAX: usize = 5;

/// Parameters of lists and of other services, which people write in place of `query`.
const HABITS: [&str; 2] = ["search", "q"];

/// The address of the page for a text.
fn search_path(text: &str) -> String {
    format!("/browse/search?query={}", encoded(text))
}

/// Plans the page of a search. The text after the `?` is one that autocomplete takes too; without words, the page
/// asks for them.
pub fn plan(planning: &Planning<'_>) -> Result<Planned, Reply> {
    let call = &planning.call;
    let text = match query::parse(call.query) {
        Ok(text) => text,
        Err(TextError::Missing) => {
            let mut pairs = query_pairs(call.query).flatten();
            let habit = pairs.find(|(name, _)| HABITS.contains(&name.as_str()));
            if let Some((_, text)) = habit.filter(|(_, text)| !text.trim().is_empty()) {
                let path = search_path(&text);
                let said = "The text of this page is `query`".to_owned();
                return Ok(Planned::Reply(Reply::redirect(StatusCode::SEE_OTHER, &path, said)));
            }
            let page = SearchPage::new("", call.settings.other_pages());
            return Ok(Planned::Reply(html::uncached(&page)));
        }
        Err(TextError::Invalid(details)) => {
            let texts = query_pairs(call.query).flatten().filter(|(name, _)| name == "query");
            let typed = texts.map(|(_, text)| text).next().unwrap_or_default();
            return Err(error::refused_search(details, typed, call.settings.other_pages()));
        }
    };
    let completion = Completion::new(ENTITIES.to_vec(), &text);
    Ok(html::unless_current(call, move |call| answer(&text, &completion, call)))
}

#[derive(Template)]
#[template(path = "browse/search.html")]
struct SearchPage {
    frame: Frame,
    text: String,
    /// The address of the page.
    here: String,
    names: Vec<NameCard>,
    /// Records that have the words in alternative names alone.
    other_names: Vec<NameCard>,
    /// The best outputs by their texts; `None` where the snapshot has no full-text index.
    found: Option<FoundOutputs>,
    note: Option<SearchNote>,
    /// Lists of the records that refer to the text, if it is an identifier without a record: text and address.
    referring: Vec<(String, String)>,
    /// Lists of the outputs that name what has no record: text and address.
    named: Vec<(String, String)>,
    tabs: Vec<Tab>,
}

impl SearchPage {
    /// Nothing is said of why names find nothing.
    const NOTHING: Option<NothingFound> = None;

    /// The fields beside the outputs; `None` without outputs, or if all of them are shown.
    fn form(&self) -> Option<&FilterForm> {
        self.found.as_ref()?.form.as_ref()
    }
}

/// A record that the words name.
struct NameCard {
    kind: &'static str,
    row: ListRow,
}

/// The same words in one list.
struct Tab {
    heading: String,
    count: String,
    href: String,
}

/// The best outputs of a full-text search.
#[derive(Default)]
struct FoundOutputs {
    rows: Vec<ListRow>,
    count: String,
    /// The fields that lead to the list of the outputs.
    form: Option<FilterForm>,
    /// Orders that people name.
    orders: Vec<Order>,
    groups: Vec<KeyGroups>,
    /// The next page of the list; `None` if all records are shown.
    next: Option<String>,
    nothing: Option<NothingFound>,
    /// Why the search was refused.
    refused: Option<String>,
}

impl SearchPage {
    fn new(text: &str, others: OtherPages) -> SearchPage {
        let title = if text.is_empty() { "Search".to_owned() } else { format!("Search: {text}") };
        SearchPage {
            frame: Frame { searched: text.to_owned(), ..Frame::new(&title, others) },
            text: text.to_owned(),
            here: search_path(text),
            names: Vec::new(),
            other_names: Vec::new(),
            found: None,
            note: None,
            referring: Vec::new(),
            named: Vec::new(),
            tabs: Vec::new(),
        }
    }
}

/// Makes the page. Names, outputs and counts share the time of one list.
fn answer(text: &str, completion: &Completion, call: &Call<'_>) -> Answer {
    let snapshot = call.snapshot;
    let mut page = SearchPage::new(text, call.settings.other_pages());
    let named = call.limits().run(|deadline| {
        let named = snapshot.or_noted(completion.execute(snapshot, deadline))?;
        let found = find_outputs(text, snapshot, deadline, call.limits());
        (page.found, page.note) = snapshot.or_noted(found)?;
        page.tabs = tabs(text, snapshot, deadline)?;
        Ok::<_, QueryError>(named)
    })?;
    if let Some(path) = only_record(completion, &named, snapshot)? {
        return Ok(Reply::redirect(StatusCode::SEE_OTHER, &path, "One record has it".to_owned()));
    }
    let (mut by_name, mut by_other) = (Vec::new(), Vec::new());
    for candidate in &named.best {
        let found = snapshot.or_noted(has_in_name(text, candidate, snapshot))?;
        if found { by_name.push(candidate) } else { by_other.push(candidate) }
    }
    page.frame.is_search_wrong = page.found.as_ref().is_some_and(|of| of.refused.is_some());
    page.names = name_cards(by_name.into_iter(), snapshot)?;
    page.other_names = name_cards(by_other.into_iter(), snapshot)?;
    match completion.identifier() {
        Some(_) => page.referring = page_links(&lists_without_record(completion, &named, call)?),
        None if named.best.iter().any(|of| of.tier == Tier::Equals) => {}
        None => page.named = page_links(&lists_by_name(completion, call)?),
    }
    html::reply(&page, call)
}

/// Whether a record has the words in its name, and not in alternative names alone.
fn has_in_name(text: &str, found: &Candidate, snapshot: &Snapshot) -> Result<bool, ReadError> {
    if found.tier != Tier::Words {
        return Ok(found.tier != Tier::Alternative);
    }
    let name = fold(snapshot.name(found.entity, found.row)?.unwrap_or_default());
    let begins = |word: &str| name.split(' ').any(|of| of.starts_with(word));
    Ok(fold(text).split(' ').all(begins))
}

/// The page of the one record that has the identifier; `None` if the text is no identifier, or not of one record.
fn only_record(
    completion: &Completion,
    named: &Candidates,
    snapshot: &Snapshot,
) -> Result<Option<String>, ReadError> {
    let (Some(_), 1, [found]) = (completion.identifier(), named.count, &named.best[..]) else {
        return Ok(None);
    };
    let id = id_text(found.entity, snapshot.row_id(found.entity, found.row)?);
    Ok(Some(record_path(found.entity, &id)))
}

/// Finds the best outputs by their texts, and what the page says of other words than those typed.
fn find_outputs(
    text: &str,
    snapshot: &Snapshot,
    deadline: Deadline<'_>,
    limits: WorkLimits,
) -> Result<(Option<FoundOutputs>, Option<SearchNote>), QueryError> {
    let refused = |reason: String| {
        (Some(FoundOutputs { refused: Some(reason), ..FoundOutputs::default() }), None)
    };
    if snapshot.full_text(Entity::Output)?.is_none() {
        return Ok((None, None));
    }
    let mut query = Query::new(Entity::Output);
    if let Err(errors) = query.add_search(text) {
        return Ok(refused(errors.into_iter().map(|error| error.reason).collect()));
    }
    let keys = filters::counted(query.entity);
    // The groups do not need the answer: on a mirror, both are fetched together.
    let groups = groups::groups(&query, keys, None, snapshot, deadline, limits);
    let mut groups = snapshot.or_noted(groups)?;
    let answer = match query.execute(snapshot, deadline) {
        Ok(answer) => answer,
        Err(QueryError::Refused { error, .. }) => {
            return Ok(refused(format!("`{}` {}", error.text, error.reason)));
        }
        Err(error) => return Err(error),
    };
    let marks = Highlighter::new(&query, answer.search.as_ref());
    let rows = list_rows::found_rows(query.entity, &answer.rows, marks.as_ref(), snapshot)?;
    let address = Address::new(&query);
    let nothing = match answer.count {
        0 => Some(NothingFound::explain(&query, answer.search.as_ref(), snapshot, deadline)?),
        _ => None,
    };
    let exact = address.exactly().page_url();
    let note = answer.search.and_then(|summary| SearchNote::new(text, &summary, exact));
    let note = note.filter(|note| answer.count > 0 || note.hint.is_some());
    let next = (answer.count > rows.len() as u64).then(|| address.at_page(2).page_url());
    // A list that is short as it stands has nothing to narrow.
    let form = next.is_some().then(|| FilterForm::new(&query, &address, &groups, &[]));
    let shown = tables::of(query.entity).groups;
    groups.retain(|group| form.is_some() && shown.contains(&group.key));
    groups.iter_mut().for_each(KeyGroups::shorten);
    groups.retain(KeyGroups::is_telling);
    let (count, orders) = (thousands(answer.count), orders(&query, &address.sort).0);
    let refused = None;
    Ok((Some(FoundOutputs { rows, count, form, orders, groups, next, nothing, refused }), note))
}

/// The lists that have records with the words, and how many.
fn tabs(text: &str, snapshot: &Snapshot, deadline: Deadline<'_>) -> Result<Vec<Tab>, QueryError> {
    let mut tabs = Vec::new();
    for shown in tables::all().filter(|of| keys_of(of.entity).filters().next().is_some()) {
        let mut query = Query::new(shown.entity);
        if query.add_search(text).is_err() {
            continue;
        }
        let count = query.execute(snapshot, deadline).map(|answer| answer.count);
        let count = match snapshot.or_noted(count) {
            Ok(count) if count > 0 => thousands(count),
            Ok(_) | Err(QueryError::Refused { .. }) => continue,
            Err(error) => return Err(error),
        };
        let heading = plural(shown.entity.facts());
        tabs.push(Tab { heading, count, href: Address::new(&query).page_url() });
    }
    Ok(tabs)
}

fn name_cards<'c>(
    found: impl Iterator<Item = &'c Candidate>,
    snapshot: &Snapshot,
) -> Result<Vec<NameCard>, ReadError> {
    let mut cards = Vec::new();
    for candidate in found.take(NAMES_MAX) {
        let rows = list_rows::rows(candidate.entity, &[candidate.row], snapshot);
        let rows = snapshot.or_noted(rows)?;
        let kind = candidate.entity.facts().label;
        cards.extend(rows.into_iter().map(|row| NameCard { kind, row }));
    }
    Ok(cards)
}
