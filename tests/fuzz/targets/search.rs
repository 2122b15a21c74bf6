//! Target: texts of full-text searches. A search that is read finds each record once, and its page is in order.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use pinakes_format::entity::Entity;
use pinakes_format::query::{Deadline, Query, QueryError, SEARCH_BYTES_MAX, Search};
use pinakes_format::snapshot::Snapshot;

static SNAPSHOT: LazyLock<Snapshot> =
    LazyLock::new(|| Snapshot::open(&pinakes_fuzz::snapshot()).expect("the snapshot is whole"));

fuzz_target!(|bytes: &[u8]| {
    let Some((first, rest)) = bytes.split_first() else { return };
    let Ok(text) = str::from_utf8(rest) else { return };
    let is_exact = first & 1 == 1;
    match Search::parse(text, is_exact) {
        Err(error) => return assert!(error.position <= text.len().min(SEARCH_BYTES_MAX)),
        Ok(search) => assert_eq!(search.text, text),
    }
    let mut query = Query::new(Entity::Output);
    let added = if is_exact { query.add_exact_search(text) } else { query.add_search(text) };
    added.expect("the search was parsed");
    query.per_page = 100;
    let page = match query.execute(&SNAPSHOT, Deadline::NEVER) {
        Ok(page) => page,
        Err(QueryError::Refused { .. }) => return,
        Err(error) => panic!("{error}"),
    };
    let ranked = page.scores.expect("the page is by relevance");
    let is_ordered = ranked.is_sorted_by(|a, b| (b.score, a.row) < (a.score, b.row));
    assert!(is_ordered, "the page is not in the order of scores and rows");
    assert_eq!(query.count(&SNAPSHOT, Deadline::NEVER).expect("the page was found"), page.count);
});
