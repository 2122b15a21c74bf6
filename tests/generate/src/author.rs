//! Authors.

mod lean;

use crate::dates::emit_newest_dates;
use crate::emit::{Decimal, Quoted, Short, list, put};
use crate::institution::Institution;
use crate::names::{Orcid, put_author, put_person};
use crate::random::{Random, Stream};
use crate::statistics::LAST_YEAR;
use crate::text::{Script, put_phrase};
use crate::{Entity, Plan, statistics};

/// The quoted URL of an author's ORCID iD. 40 % of the authors have one; no two are equal.
pub(crate) fn put_orcid(plan: &Plan, ordinal: u64, out: &mut Vec<u8>) {
    if plan.random(Entity::Authors, ordinal, Stream::Facts).chance(400) {
        put!(out; "\"https://orcid.org/", Orcid(plan.id(Entity::Authors, ordinal).1 % 1_000_000_000), "\"");
    } else {
        put!(out; "null");
    }
}

/// The ordinal of the author's main institution. One author in twelve has none.
pub(crate) fn home(plan: &Plan, ordinal: u64) -> Option<u64> {
    let mut random = plan.random(Entity::Authors, ordinal, Stream::Facts);
    let _orcid = random.bits();
    (!random.chance(80)).then(|| plan.draw(Entity::Institutions, &mut random))
}

pub(crate) fn record(plan: &Plan, ordinal: u64, out: &mut Vec<u8>) {
    if let Some(words) = plan.name_words() {
        return lean::record(plan, words, ordinal, out);
    }
    let mut random = plan.random(Entity::Authors, ordinal, Stream::Body);
    let id = plan.id(Entity::Authors, ordinal);
    let works = plan.expected(Entity::Authors, ordinal, plan.outputs() as f64 * 4.5) as u64 + 1;
    let citations = works * random.skewed(90, 3) + random.below(5);
    put!(out; "{\"id\":", id, ",\"orcid\":");
    put_orcid(plan, ordinal, out);
    put!(out; ",\"display_name\":\"");
    put_author(plan, ordinal, out);
    put!(out; "\"");
    put_alternatives(plan, ordinal, &mut random, out);
    put!(out; ",\"works_count\":", works, ",\"cited_by_count\":", citations, ",");
    statistics::put_summary(works, citations, &mut random, out);
    put!(out; ",\"ids\":{\"openalex\":", id, ",\"orcid\":");
    put_orcid(plan, ordinal, out);
    put!(out; "}");
    put_affiliations(plan, ordinal, &mut random, out);
    put!(out; ",");
    let topics = random.between(1, works.clamp(1, 4));
    statistics::put_topics(plan, works, topics, &mut random, out);
    put_concepts(&mut random, out);
    put!(out; ",");
    statistics::put_counts_by_year(works, citations, &mut random, out);
    put!(out; ",\"longest_name\":\"");
    put_author(plan, ordinal, out);
    put!(out; "\",\"block_key\":null,\"works_api_url\":\"https://api.openalex.org/works?filter=author.id:", Short(id), "\"");
    emit_newest_dates(plan, Entity::Authors, ordinal, out);
    put!(out; "}");
}

fn put_alternatives(plan: &Plan, ordinal: u64, random: &mut Random, out: &mut Vec<u8>) {
    put!(out; ",\"display_name_alternatives\":[\"");
    put_author(plan, ordinal, out);
    put!(out; "\"");
    for _ in 0..random.skewed(5, 2) {
        put!(out; ",\"");
        put_person(random, out);
        put!(out; "\"");
    }
    put!(out; "]");
}

/// `,"affiliations":[…],"last_known_institutions":…`: the home first, then up to three others.
fn put_affiliations(plan: &Plan, ordinal: u64, random: &mut Random, out: &mut Vec<u8>) {
    let home = home(plan, ordinal);
    let mut others = [0; 3];
    let count = if home.is_some() { random.skewed(4, 2) as usize } else { 0 };
    others.iter_mut().for_each(|other| *other = plan.draw(Entity::Institutions, random));
    put!(out; ",\"affiliations\":");
    list(out, home.iter().chain(&others[..count]), |out, &institution| {
        put!(out; "{\"institution\":");
        Institution::new(plan, institution).put_reference(plan, out);
        put!(out; ",\"years\":");
        let (last, years) = (LAST_YEAR - random.below(12), random.between(1, 6));
        list(out, 0..years, |out, back| put!(out; last - back));
        put!(out; "}");
    });
    put!(out; ",\"last_known_institutions\":");
    match home {
        None if random.chance(500) => put!(out; "null"),
        home => list(out, home, |out, home| Institution::new(plan, home).put_reference(plan, out)),
    }
}

fn put_concepts(random: &mut Random, out: &mut Vec<u8>) {
    put!(out; ",\"x_concepts\":");
    let concepts = random.below(6);
    list(out, 0..concepts, |out, _| {
        put!(out; "{\"id\":", Quoted(random.between(1_000_000, 3_000_000_000)), ",\"wikidata\":\"https://www.wikidata.org/wiki/Q");
        put!(out; random.below(10_000_000), "\",\"display_name\":\"");
        put_phrase(out, Script::Latin, random, 1, true);
        put!(out; "\",\"score\":", Decimal(random.below(10_000_000), 7), "}");
    });
}
