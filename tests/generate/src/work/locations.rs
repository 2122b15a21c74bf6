//! The locations of a work's full text.

use std::ops::Range;

use super::Work;
use crate::emit::{Quoted, put};
use crate::random::Random;
use crate::source::Source;
use crate::{Entity, Plan};

/// `,"primary_location":{…}`. Returns the range of its bytes in `out`. One work in a hundred has none.
pub(super) fn put_primary(
    plan: &Plan,
    work: &Work,
    random: &mut Random,
    out: &mut Vec<u8>,
) -> Option<Range<usize>> {
    put!(out; ",\"primary_location\":");
    if random.chance(10) {
        put!(out; "null");
        return None;
    }
    let start = out.len();
    put!(out; "{\"id\":\"");
    match work.doi {
        Some(doi) => {
            put!(out; "doi:", doi, "\",\"is_oa\":", work.is_oa, ",\"landing_page_url\":\"https://doi.org/", doi)
        }
        None => {
            put!(out; "mag:", work.id.1, "\",\"is_oa\":", work.is_oa);
            put!(out; ",\"landing_page_url\":\"https://www.example.org/articles/", work.id.1);
        }
    }
    put!(out; "\",\"pdf_url\":");
    if work.is_oa && random.chance(700) {
        put!(out; "\"https://www.example.org/articles/", work.id.1, ".pdf\"");
    } else {
        put!(out; "null");
    }
    put_source(plan, work.source.as_ref(), work.is_oa, random, out);
    Some(start..out.len())
}

/// The members from `source` on, and the closing brace.
fn put_source(
    plan: &Plan,
    source: Option<&Source>,
    is_oa: bool,
    random: &mut Random,
    out: &mut Vec<u8>,
) {
    put!(out; ",\"source\":");
    match source {
        Some(source) => source.put_reference(plan, out),
        None => put!(out; "null"),
    }
    const LICENSES: [&str; 7] =
        ["cc-by", "cc-by", "cc-by", "cc-by-nc-nd", "cc-by-nc", "other-oa", "public-domain"];
    let license = (is_oa && random.chance(600)).then(|| *random.choose(&LICENSES));
    let license_id = license.map(|license| Quoted(("https://openalex.org/licenses/", license)));
    put!(out; ",\"license\":", license.map(Quoted), ",\"license_id\":", license_id, ",\"version\":");
    let version = match random.below(100) {
        0..60 => Some("publishedVersion"),
        60..80 => Some("submittedVersion"),
        80..88 => Some("acceptedVersion"),
        _ => None,
    };
    let is_accepted = version.is_some_and(|version| version != "submittedVersion");
    put!(out; version.map(Quoted), ",\"is_accepted\":", is_accepted);
    put!(out; ",\"is_published\":", version.map(|version| version == "publishedVersion"), ",\"raw_source_name\":null");
    const RAW_TYPES: [&str; 4] =
        ["journal-article", "article", "text", "info:eu-repo/semantics/article"];
    put!(out; ",\"raw_type\":", random.chance(650).then(|| Quoted(*random.choose(&RAW_TYPES))), "}");
}

/// `,"locations_count":…,"locations":[…],"best_oa_location":…`: the primary first, up to five more.
pub(super) fn put_all(
    plan: &Plan,
    work: &Work,
    primary: Option<Range<usize>>,
    random: &mut Random,
    out: &mut Vec<u8>,
) {
    let more = if primary.is_some() { random.skewed(6, 7) } else { 0 };
    let count = more + u64::from(primary.is_some());
    put!(out; ",\"locations_count\":", count, ",\"locations\":[");
    if let Some(primary) = primary.clone() {
        out.extend_from_within(primary);
    }
    for _ in 0..more {
        put!(out; ",");
        put_repository(plan, work, random, out);
    }
    put!(out; "],\"best_oa_location\":");
    match primary.filter(|_| work.is_oa) {
        Some(primary) => out.extend_from_within(primary),
        None => put!(out; "null"),
    }
}

fn put_repository(plan: &Plan, work: &Work, random: &mut Random, out: &mut Vec<u8>) {
    let (number, host) = (random.between(1000, 99_999_999), random.below(500));
    if random.chance(200) {
        put!(out; "{\"id\":\"pmid:", number, "\",\"is_oa\":false,\"landing_page_url\":");
        put!(out; "\"https://pubmed.ncbi.nlm.nih.gov/", number, "\",\"pdf_url\":null");
    } else {
        put!(out; "{\"id\":\"pmh:oai:repository", host, ".example.edu:", number, "\",\"is_oa\":", work.is_oa);
        put!(out; ",\"landing_page_url\":\"https://repository", host, ".example.edu/handle/", number);
        put!(out; "\",\"pdf_url\":null");
    }
    let source = random.chance(950).then(|| Source::new(plan, plan.draw(Entity::Sources, random)));
    put_source(plan, source.as_ref(), work.is_oa, random, out);
}
