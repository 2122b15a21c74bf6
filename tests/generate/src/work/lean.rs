//! Lean works: only the members by which lists filter and sort.

use super::authorships::Affiliations;
use super::{Version, Work, inverted, put_openness, put_publication, put_referenced, subjects};
use crate::emit::{Decimal, Quoted, list, put};
use crate::random::Random;
use crate::statistics::LAST_YEAR;
use crate::text::{Script, put_capitalised};
use crate::{Entity, Plan, author};

/// Oldest year of publication.
const FIRST_YEAR: u64 = 1950;

/// Appends all members except the dates, without the closing brace.
pub(super) fn put(
    plan: &Plan,
    ordinal: u64,
    version: Version,
    random: &mut Random,
    out: &mut Vec<u8>,
) {
    let work = Work::new(plan, ordinal, version, random);
    let year = LAST_YEAR - random.skewed(LAST_YEAR - FIRST_YEAR + 1, 2);
    let work = Work { year, citations: version.citations(citations(random)), ..work };
    put!(out; "{\"id\":", work.id, ",\"doi\":", work.doi.map(|doi| Quoted(("https://doi.org/", doi))));
    put!(out; ",\"title\":\"");
    let (start, words) = (out.len(), random.between(3, 6));
    inverted::put_sentence(work.script, words, random, out);
    let title = start..out.len();
    put!(out; "\",\"display_name\":\"");
    out.extend_from_within(title);
    put!(out; "\"");
    put_publication(&work, random, out);
    let language = *random.choose(work.script.languages());
    put!(out; ",\"language\":", (!random.chance(20)).then_some(Quoted(language)), ",\"type\":\"", work.kind, "\"");
    put_openness(&work, random, out);
    put_counts(plan, &work, random, out);
    put!(out; ",\"primary_location\":{\"source\":");
    match &work.source {
        Some(source) => put!(out; "{\"id\":", source.id, "}}"),
        None => put!(out; "null}"),
    }
    put_authorships(plan, random, out);
    subjects::put_topics(plan, random, out);
    put!(out; ",\"keywords\":");
    let keywords = random.below(3);
    list(out, 0..keywords, |out, _| {
        let vocabulary = Script::Latin.vocabulary();
        put!(out; "{\"display_name\":\"");
        put_capitalised(out, vocabulary.word(vocabulary.draw_content(random)));
        put!(out; "\"}");
    });
}

/// Citations of the newest copy: none in 40 of 100, else by a power law, 1 to 3 for half of them.
fn citations(random: &mut Random) -> u64 {
    let is_cited = random.chance(600);
    let root = (1.0 - random.unit()).sqrt();
    if is_cited { (3.0 / (root * root.sqrt())) as u64 - 2 } else { 0 }
}

/// From `cited_by_count` to `fwci`.
fn put_counts(plan: &Plan, work: &Work, random: &mut Random, out: &mut Vec<u8>) {
    let references = if random.chance(250) { 0 } else { random.skewed(120, 2) };
    put!(out; "},\"cited_by_count\":", work.citations);
    put_referenced(plan, random, references, out);
    put!(out; ",\"locations_count\":", 1 + random.skewed(8, 5), ",\"fwci\":");
    put!(out; random.chance(800).then(|| Decimal(random.skewed(300_000, 3) / (1 + random.below(40)), 4)));
}

/// `,"authorships":[…]`: one to four, half the time one.
fn put_authorships(plan: &Plan, random: &mut Random, out: &mut Vec<u8>) {
    put!(out; ",\"authorships\":");
    let authors = 1 + random.skewed(4, 2);
    list(out, 0..authors, |out, _| {
        let author = plan.draw(Entity::Authors, random);
        let affiliations = Affiliations::draw(plan, author::home(plan, author), random);
        put!(out; "{\"author\":{\"id\":", plan.id(Entity::Authors, author), "},\"institutions\":");
        list(out, affiliations.as_slice(), |out, &institution| {
            put!(out; "{\"id\":", plan.id(Entity::Institutions, institution), "}");
        });
        put!(out; ",\"countries\":");
        affiliations.put_countries(plan, out);
        put!(out; "}");
    });
}
