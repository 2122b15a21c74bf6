//! Target: filter texts. A valid filter has the same matches in every execution plan.

#![no_main]

use std::{collections::BTreeSet, sync::LazyLock};

use libfuzzer_sys::fuzz_target;
use pinakes_format::query::{Deadline, Expression, Query, RowPage};
use pinakes_format::snapshot::Snapshot;
use pinakes_fuzz::entity_and_text;

static SNAPSHOT: LazyLock<Snapshot> =
    LazyLock::new(|| Snapshot::open(&pinakes_fuzz::snapshot()).expect("the snapshot is whole"));

fuzz_target!(|bytes: &[u8]| {
    let Some((entity, text)) = entity_and_text(bytes) else { return };
    let mut query = Query::new(entity);
    if let Err(refusals) = query.add_filter(text) {
        return assert!((1..=10).contains(&refusals.len()), "{} refusals", refusals.len());
    }
    query.per_page = 100;
    let found = answer(&query);
    let mut alone = Query::new(entity);
    let mut least = u64::from(SNAPSHOT.count(entity));
    for expression in &query.filter {
        let with = counted(&mut alone, expression.clone());
        let not = Expression { is_negated: !expression.is_negated, ..expression.clone() };
        let without = counted(&mut alone, not);
        assert_eq!(with + without, u64::from(SNAPSHOT.count(entity)), "{}", expression.text);
        least = least.min(with);
    }
    assert!(found.count <= least, "the filter matches more rows than one of its expressions");
    query.set_sort("id:desc").expect("every filtered list can be sorted by id");
    let sorted = answer(&query);
    assert_eq!(found.count, sorted.count, "{}", sorted.plan);
    if found.count <= u64::from(query.per_page) {
        assert_eq!(rows(&found), rows(&sorted), "{} and {}", found.plan, sorted.plan);
    }
});

/// The rows of a page, which must be distinct.
fn rows(answer: &RowPage) -> BTreeSet<u32> {
    let rows: BTreeSet<u32> = answer.rows.iter().copied().collect();
    assert_eq!(rows.len(), answer.rows.len(), "the page has a row twice");
    rows
}

fn counted(query: &mut Query, expression: Expression) -> u64 {
    query.filter = vec![expression];
    answer(query).count
}

fn answer(query: &Query) -> RowPage {
    query.execute(&SNAPSHOT, Deadline::NEVER).expect("the snapshot is whole")
}
