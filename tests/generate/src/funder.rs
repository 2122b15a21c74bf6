//! Funders.

use crate::dates::emit_newest_dates;
use crate::emit::{Quoted, list, put};
use crate::names::{Ror, put_organisation};
use crate::places;
use crate::random::Stream;
use crate::text::{Script, put_phrase};
use crate::{Entity, Plan, statistics};

/// The display name, without quotes.
pub(crate) fn put_name(plan: &Plan, ordinal: u64, out: &mut Vec<u8>) {
    let mut random = plan.random(Entity::Funders, ordinal, Stream::Name);
    if random.chance(500) {
        put_organisation(&mut random, out);
    } else {
        put_phrase(out, Script::Latin, &mut random, 2, true);
        put!(out; *random.choose(&[" Foundation", " Research Council", " Trust", " Agency"]));
    }
}

/// The ROR id, if it has one.
fn ror(plan: &Plan, ordinal: u64) -> Option<Ror> {
    let mut random = plan.random(Entity::Funders, ordinal, Stream::Facts);
    random.chance(700).then(|| Ror(random.bits()))
}

/// `{"id":…,"display_name":…,"ror":…}` as works show it.
pub(crate) fn put_reference(plan: &Plan, ordinal: u64, out: &mut Vec<u8>) {
    put!(out; "{\"id\":", plan.id(Entity::Funders, ordinal), ",\"display_name\":\"");
    put_name(plan, ordinal, out);
    put!(out; "\",\"ror\":", ror(plan, ordinal), "}");
}

pub(crate) fn record(plan: &Plan, ordinal: u64, out: &mut Vec<u8>) {
    let mut random = plan.random(Entity::Funders, ordinal, Stream::Body);
    let id = plan.id(Entity::Funders, ordinal);
    let works = plan.expected(Entity::Funders, ordinal, plan.outputs() as f64 * 0.4) as u64 + 1;
    let citations = works * random.between(5, 60);
    put!(out; "{\"id\":", id, ",\"display_name\":\"");
    put_name(plan, ordinal, out);
    put!(out; "\",\"alternate_titles\":");
    let titles = random.below(4);
    list(out, 0..titles, |out, _| {
        put!(out; "\"");
        put_phrase(out, Script::Accented, &mut random, 3, true);
        put!(out; "\"");
    });
    put!(out; ",\"country_code\":\"", places::draw(&mut random).code, "\",\"description\":");
    put!(out; random.chance(600).then_some(Quoted("organisation that funds research")));
    put!(out; ",\"homepage_url\":", random.chance(700).then_some(Quoted("https://www.example.org")));
    put!(out; ",\"image_url\":null,\"image_thumbnail_url\":null,\"awards_count\":", works / 2);
    put!(out; ",\"works_count\":", works, ",\"cited_by_count\":", citations, ",");
    statistics::put_summary(works, citations, &mut random, out);
    let crossref = 501_100_000_000 + ordinal;
    put!(out; ",\"ids\":{\"openalex\":", id, ",\"ror\":", ror(plan, ordinal), ",\"wikidata\":null,\"crossref\":\"");
    put!(out; crossref, "\",\"doi\":\"https://doi.org/10.13039/", crossref, "\"},");
    statistics::put_counts_by_year(works, citations, &mut random, out);
    put!(out; ",\"roles\":[{\"role\":\"funder\",\"id\":", id, ",\"works_count\":", works, "}]");
    emit_newest_dates(plan, Entity::Funders, ordinal, out);
    put!(out; "}");
}
