//! The page of a search: the ten best records of all entities by their names, and the ten best outputs by their texts.

use askama::Template;
use pinakes_format::autocomplete::{Candidates, Completion, ENTITIES};
use pinakes_format::entity::Entity;
use pinakes_format::query::{Deadline, PAGE_SIZE_DEFAULT, Query, QueryError};
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::error::ReadError;

use crate::endpoint::browse::address::{Address, encoded};
use crate::endpoint::browse::error::page_links;
use crate::endpoint::browse::found::{Highlighter, SearchNote};
use crate::endpoint::browse::html::{self, Frame, OtherPages};
use crate::endpoint::browse::labels::thousands;
use crate::endpoint::browse::list::searchable;
use crate::endpoint::browse::list_rows::{self, ListRow};
use crate::endpoint::call::{Answer, Call, Planned, Planning};
use crate::endpoint::complete::lists_without_record;
use crate::endpoint::complete_query::{self, TextError};
use crate::reply::Reply;

/// Outputs that the page shows.
const OUTPUTS_MAX: u32 = 10;

/// Plans the page of a search. The text after the `?` is one that autocomplete takes too; without words, the page
/// asks for them.
pub fn plan(planning: &Planning<'_>) -> Result<Planned, Reply> {
    let call = &planning.call;
    let text = match complete_query::parse(call.query) {
        Ok(text) => text,
        Err(TextError::Missing) => {
            let page = layout(String::new(), 0, Vec::new(), call.site.other_pages());
            return Ok(Planned::Reply(html::uncached(&page)));
        }
        Err(TextError::Invalid(details)) => return Err(Reply::bad_query(details)),
    };
    let completion = Completion::new(ENTITIES.to_vec(), &text);
    Ok(html::unless_current(call, move |call| answer(&text, &completion, call)))
}

#[derive(Template)]
#[template(path = "browse/search.html")]
struct SearchPage {
    frame: Frame,
    text: String,
    count: String,
    rows: Vec<ListRow>,
    has_more: bool,
    /// The best outputs by their texts; `None` where the snapshot has no full-text index.
    found: Option<FoundOutputs>,
    note: Option<SearchNote>,
    /// Lists of the records that refer to the text, if it is an identifier without a record: text and address.
    referring: Vec<(String, String)>,
    /// Heading and path of the same search in one list.
    lists: Vec<(String, String)>,
}

/// The best outputs of a full-text search.
struct FoundOutputs {
    count: String,
    rows: Vec<ListRow>,
    /// The page of the whole list; `None` if all records are shown.
    href: Option<String>,
    /// Why the search was refused.
    refused: Option<String>,
}

fn layout(text: String, count: u64, rows: Vec<ListRow>, others: OtherPages) -> SearchPage {
    let lists = searchable().map(|(heading, path)| (heading, format!("{path}{}", encoded(&text))));
    SearchPage {
        frame: Frame {
            title: if text.is_empty() { "Search".to_owned() } else { format!("Search: {text}") },
            searched: text.clone(),
            entity: None,
            others,
        },
        count: thousands(i64::try_from(count).unwrap_or(i64::MAX)),
        has_more: count > rows.len() as u64,
        found: None,
        note: None,
        referring: Vec::new(),
        lists: lists.collect(),
        rows,
        text,
    }
}

/// Makes the page. Names and outputs share the time of one list.
fn answer(text: &str, completion: &Completion, call: &Call<'_>) -> Answer {
    let (named, (found, note)) = call.limits().run(|deadline| {
        let named = completion.execute(call.snapshot, deadline)?;
        Ok::<_, QueryError>((named, find_outputs(text, call.snapshot, deadline)?))
    })?;
    let rows = candidate_rows(&named, call.snapshot)?;
    let referring = page_links(&lists_without_record(completion, &named, call)?);
    let page = layout(text.to_owned(), named.count, rows, call.site.other_pages());
    html::reply(&SearchPage { found, note, referring, ..page }, call)
}

/// Finds the best outputs by their texts, and what the page says of other words than those typed.
fn find_outputs(
    text: &str,
    snapshot: &Snapshot,
    deadline: Deadline<'_>,
) -> Result<(Option<FoundOutputs>, Option<SearchNote>), QueryError> {
    let refused = |reason: String| {
        let (count, rows, href) = (String::new(), Vec::new(), None);
        (Some(FoundOutputs { count, rows, href, refused: Some(reason) }), None)
    };
    if snapshot.full_text(Entity::Output).is_none() {
        return Ok((None, None));
    }
    let mut query = Query { per_page: OUTPUTS_MAX, ..Query::new(Entity::Output) };
    if let Err(errors) = query.add_search(text) {
        return Ok(refused(errors.into_iter().map(|error| error.reason).collect()));
    }
    let answer = match query.execute(snapshot, deadline) {
        Ok(answer) => answer,
        Err(QueryError::Refused { error, .. }) => {
            return Ok(refused(format!("`{}` {}", error.text, error.reason)));
        }
        Err(error) => return Err(error),
    };
    let marks = Highlighter::new(&query, answer.search.as_ref());
    let rows = list_rows::found_rows(query.entity, &answer.rows, marks.as_ref(), snapshot)?;
    let address = Address::new(&Query { per_page: PAGE_SIZE_DEFAULT, ..query.clone() });
    let note = answer.search.filter(|_| answer.count > 0);
    let note =
        note.and_then(|summary| SearchNote::new(text, &summary, address.exactly().page_url()));
    let href = (answer.count > rows.len() as u64).then(|| address.page_url());
    let count = thousands(i64::try_from(answer.count).unwrap_or(i64::MAX));
    Ok((Some(FoundOutputs { count, rows, href, refused: None }), note))
}

fn candidate_rows(found: &Candidates, snapshot: &Snapshot) -> Result<Vec<ListRow>, ReadError> {
    let mut all = Vec::new();
    for candidate in &found.best {
        let rows = list_rows::rows(candidate.entity, &[candidate.row], snapshot)?;
        let kind = Some(candidate.entity.facts().label);
        all.extend(rows.into_iter().map(|row| ListRow { kind, ..row }));
    }
    Ok(all)
}
