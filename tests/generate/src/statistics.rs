//! The members that most entities share: summary statistics, counts by year, weighted topics.

use crate::emit::{Decimal, list, put};
use crate::random::Random;
use crate::{Entity, Plan, taxonomy};

/// The last year that counts are given for.
pub(crate) const LAST_YEAR: u64 = 2026;

/// `"summary_stats":{…}` in keeping with the counts.
pub(crate) fn put_summary(works: u64, citations: u64, random: &mut Random, out: &mut Vec<u8>) {
    let h_index = (((citations as f64).sqrt() * 0.54) as u64).min(works);
    let i10_index = (h_index + h_index * random.below(200) / 100).min(works);
    put!(out; "\"summary_stats\":{\"2yr_mean_citedness\":", Decimal(random.skewed(90_000_000, 3), 7));
    put!(out; ",\"h_index\":", h_index, ",\"i10_index\":", i10_index, "}");
}

/// `"counts_by_year":[…]`, newest first, with works and open works.
pub(crate) fn put_counts_by_year(
    works: u64,
    citations: u64,
    random: &mut Random,
    out: &mut Vec<u8>,
) {
    put!(out; "\"counts_by_year\":");
    let (mut works_left, mut citations_left) = (works, citations);
    let years = (1 + works.min(12)).min(random.between(2, 15));
    list(out, (0..years).map(|back| LAST_YEAR - back), |out, year| {
        let of_year = works_left * random.between(5, 30) / 100;
        let cited = citations_left * random.between(5, 30) / 100;
        works_left -= of_year;
        citations_left -= cited;
        let open = of_year * random.between(20, 90) / 100;
        put!(out; "{\"year\":", year, ",\"works_count\":", of_year, ",\"oa_works_count\":", open);
        put!(out; ",\"cited_by_count\":", cited, "}");
    });
}

/// `"topics":[…],"topic_share":[…]` of up to `count` distinct topics.
pub(crate) fn put_topics(
    plan: &Plan,
    works: u64,
    count: u64,
    random: &mut Random,
    out: &mut Vec<u8>,
) {
    let mut topics: Vec<u64> = (0..count).map(|_| plan.draw(Entity::Topics, random)).collect();
    topics.sort_unstable();
    topics.dedup();
    let mut left = works;
    put!(out; "\"topics\":");
    list(out, &topics, |out, &topic| {
        let share = left.div_ceil(3);
        left -= share;
        taxonomy::put_reference(plan, topic, out);
        put!(out; ",\"count\":", share.max(1), ",\"score\":", Decimal(random.between(5_000_000, 9_999_999), 7));
        taxonomy::put_ancestors(plan, topic, out);
        put!(out; "}");
    });
    put!(out; ",\"topic_share\":");
    list(out, topics.iter().take(3), |out, &topic| {
        taxonomy::put_reference(plan, topic, out);
        put!(out; ",\"value\":", Decimal(random.below(100_000), 7));
        taxonomy::put_ancestors(plan, topic, out);
        put!(out; "}");
    });
}
