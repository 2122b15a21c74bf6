//! A small page of a record, which clients show in a frame.

use askama::Template;
use bytes::Bytes;
use http::{HeaderValue, StatusCode, header};
use pinakes_format::storage::ReadError;

use crate::define::{Answer, Call, Cost, Planned, Planning};
use crate::pages::list_rows;
use crate::pages::list_rows::ListRow;
use crate::reconcile::types::find;
use crate::reply::{Detail, HTML, Reply};
use crate::request::parameters::query_pairs;

/// The content security policy of pages, except that every page may show this one in a frame.
const POLICY: &str = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'";

#[derive(Template)]
#[template(path = "reconcile/preview.html")]
struct PreviewPage {
    rows: Vec<ListRow>,
    id: String,
}

/// Plans `/reconcile/preview`.
pub fn plan(planning: &Planning<'_>) -> Result<Planned, Reply> {
    let mut pairs = query_pairs(planning.call.query).flatten();
    let id = pairs.find(|(name, _)| name == "id").map(|(_, value)| value);
    let Some(id) = id else {
        let reason = "is missing; give the identifier of a record";
        return Err(Reply::bad_query(vec![Detail::new("id", "", reason)]));
    };
    Ok(Planned::work(Cost::Large, move |call| answer(&id, call)))
}

fn answer(id: &str, call: &Call<'_>) -> Answer {
    let rows = match find(id, call.snapshot)? {
        Some((entity, row)) => list_rows::rows(entity, &[row], call.snapshot)?,
        None => Vec::new(),
    };
    let status = if rows.is_empty() { StatusCode::NOT_FOUND } else { StatusCode::OK };
    // Writing to memory does not fail.
    let page = PreviewPage { rows, id: id.to_owned() }.render();
    let page = page.map_err(|_| ReadError::Internal("a page could not be rendered"))?;
    let policy = HeaderValue::from_static(POLICY);
    Ok(Reply::text(status, HTML, Bytes::from(page))
        .with_headers(vec![(header::CONTENT_SECURITY_POLICY, policy)]))
}
