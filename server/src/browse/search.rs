//! The page of a search: the ten best records of all entities.

use askama::Template;
use pinakes_format::autocomplete::{Candidates, Completion, ENTITIES};
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::error::ReadError;

use crate::api::autocomplete_query::{self, TextError};
use crate::api::handlers::{Answer, query_error_reply};
use crate::api::request::Request;
use crate::api::work_limits::WorkLimits;
use crate::browse::address::encoded;
use crate::browse::html::{self, Frame, OtherPages};
use crate::browse::labels::thousands;
use crate::browse::list::searchable;
use crate::browse::rows::{self, Row};
use crate::http::reply::Reply;
use crate::snapshots::manager::ServedSnapshot;

/// A search for names, parsed from the query of a URL.
pub struct Search {
    text: String,
    completion: Completion,
}

impl Search {
    /// Parses the text after the `?`, which autocomplete takes too. The error is the reply to an invalid
    /// search, or the page that asks for words.
    pub fn parse(raw: &str, others: OtherPages) -> Result<Search, Reply> {
        match autocomplete_query::parse(raw) {
            Ok(text) => {
                let completion = Completion::new(ENTITIES.to_vec(), &text);
                Ok(Search { text, completion })
            }
            Err(TextError::Missing) => {
                Err(html::uncached(&layout(String::new(), 0, Vec::new(), others)))
            }
            Err(TextError::Invalid(details)) => Err(Reply::BadQuery(details)),
        }
    }
}

#[derive(Template)]
#[template(path = "browse/search.html")]
struct SearchPage {
    frame: Frame,
    text: String,
    count: String,
    rows: Vec<Row>,
    has_more: bool,
    /// Heading and path of the same search in one list.
    lists: Vec<(String, String)>,
}

fn layout(text: String, count: u64, rows: Vec<Row>, others: OtherPages) -> SearchPage {
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

/// Makes the page of a search.
pub fn page(
    search: &Search,
    request: &Request<'_>,
    served: &ServedSnapshot,
    (limits, others): (WorkLimits, OtherPages),
) -> Answer {
    let snapshot = &served.snapshot;
    match limits.run(|deadline| search.completion.execute(snapshot, deadline)) {
        Ok(found) => {
            let rows = candidate_rows(&found, snapshot)?;
            let page = layout(search.text.clone(), found.count, rows, others);
            html::reply(&page, served, others)
        }
        Err(error) => query_error_reply(error, request),
    }
}

fn candidate_rows(found: &Candidates, snapshot: &Snapshot) -> Result<Vec<Row>, ReadError> {
    let mut all = Vec::new();
    for candidate in &found.best {
        let rows = rows::rows(candidate.entity, &[candidate.row], snapshot)?;
        let kind = Some(candidate.entity.facts().label);
        all.extend(rows.into_iter().map(|row| Row { kind, ..row }));
    }
    Ok(all)
}
