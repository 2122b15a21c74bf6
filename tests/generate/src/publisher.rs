//! Publishers: a third of them are imprints of another one.

use crate::dates::emit_newest_dates;
use crate::emit::{Quoted, Short, list, put};
use crate::names::Ror;
use crate::places;
use crate::random::Stream;
use crate::text::{Script, put_phrase};
use crate::{Entity, Plan, statistics};

/// The display name, without quotes.
pub(crate) fn put_name(plan: &Plan, ordinal: u64, out: &mut Vec<u8>) {
    let mut random = plan.random(Entity::Publishers, ordinal, Stream::Name);
    let words = random.between(1, 2);
    put_phrase(out, Script::Latin, &mut random, words, true);
    put!(out; *random.choose(&["", " Press", " Publishing", " Verlag", " & Co", " BV"]));
}

/// The publisher it is an imprint of; parents have none themselves.
fn parent(plan: &Plan, ordinal: u64) -> Option<u64> {
    (ordinal % 3 == 2).then(|| {
        let third = plan.count(Entity::Publishers) / 3;
        plan.random(Entity::Publishers, ordinal, Stream::Facts).below(third) * 3
    })
}

/// `[…]`: the publisher, then its parent.
pub(crate) fn put_lineage(plan: &Plan, ordinal: u64, out: &mut Vec<u8>) {
    list(out, std::iter::once(ordinal).chain(parent(plan, ordinal)), |out, publisher| {
        put!(out; plan.id(Entity::Publishers, publisher));
    });
}

/// `[…]`: the names in the order of the lineage.
pub(crate) fn put_lineage_names(plan: &Plan, ordinal: u64, out: &mut Vec<u8>) {
    list(out, std::iter::once(ordinal).chain(parent(plan, ordinal)), |out, publisher| {
        put!(out; "\"");
        put_name(plan, publisher, out);
        put!(out; "\"");
    });
}

pub(crate) fn record(plan: &Plan, ordinal: u64, out: &mut Vec<u8>) {
    let mut random = plan.random(Entity::Publishers, ordinal, Stream::Body);
    let id = plan.id(Entity::Publishers, ordinal);
    let works = plan.expected(Entity::Publishers, ordinal, plan.outputs() as f64) as u64 + 1;
    let citations = works * random.between(2, 40);
    put!(out; "{\"id\":", id, ",\"display_name\":\"");
    put_name(plan, ordinal, out);
    put!(out; "\",\"alternate_titles\":");
    let titles = random.below(3);
    list(out, 0..titles, |out, _| {
        put!(out; "\"");
        put_phrase(out, Script::Latin, &mut random, 2, true);
        put!(out; "\"");
    });
    let parent = parent(plan, ordinal);
    put!(out; ",\"hierarchy_level\":", u64::from(parent.is_some()), ",\"parent_publisher\":");
    match parent {
        Some(parent) => {
            put!(out; "{\"id\":", plan.id(Entity::Publishers, parent), ",\"display_name\":\"");
            put_name(plan, parent, out);
            put!(out; "\"}");
        }
        None => put!(out; "null"),
    }
    put!(out; ",\"lineage\":");
    put_lineage(plan, ordinal, out);
    put!(out; ",\"country_codes\":[\"", places::draw(&mut random).code, "\"],\"homepage_url\":");
    put!(out; random.chance(800).then_some(Quoted("https://www.example.com")));
    put!(out; ",\"image_url\":null,\"image_thumbnail_url\":null,\"works_count\":", works);
    put!(out; ",\"cited_by_count\":", citations, ",");
    statistics::put_summary(works, citations, &mut random, out);
    put!(out; ",\"ids\":{\"openalex\":", id, ",\"ror\":", random.chance(600).then(|| Ror(random.bits())));
    put!(out; ",\"wikidata\":\"https://www.wikidata.org/entity/Q", random.between(1000, 90_000_000), "\"},");
    statistics::put_counts_by_year(works, citations, &mut random, out);
    put!(out; ",\"roles\":[{\"role\":\"publisher\",\"id\":", id, ",\"works_count\":", works);
    put!(out; "}],\"sources_api_url\":\"https://api.openalex.org/sources?filter=host_organization.id:", Short(id), "\"");
    emit_newest_dates(plan, Entity::Publishers, ordinal, out);
    put!(out; "}");
}
