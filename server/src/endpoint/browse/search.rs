//! The page of a search: the ten best records of all entities.

use askama::Template;
use pinakes_format::autocomplete::{Candidates, Completion, ENTITIES};
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::error::ReadError;

use crate::endpoint::browse::address::encoded;
use crate::endpoint::browse::html::{self, Frame, OtherPages};
use crate::endpoint::browse::labels::thousands;
use crate::endpoint::browse::list::searchable;
use crate::endpoint::browse::list_rows::{self, ListRow};
use crate::endpoint::call::{Answer, Call, Planned, Planning};
use crate::endpoint::complete_query::{self, TextError};
use crate::reply::Reply;

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
    /// Heading and path of the same search in one list.
    lists: Vec<(String, String)>,
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
        lists: lists.collect(),
        rows,
        text,
    }
}

fn answer(text: &str, completion: &Completion, call: &Call<'_>) -> Answer {
    let found = call.limits().run(|deadline| completion.execute(call.snapshot, deadline))?;
    let rows = candidate_rows(&found, call.snapshot)?;
    html::reply(&layout(text.to_owned(), found.count, rows, call.site.other_pages()), call)
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
