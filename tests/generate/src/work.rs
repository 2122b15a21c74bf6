//! Works. This module writes the short members; the modules below write the long ones.

mod authorships;
mod funding;
mod inverted;
mod lean;
mod locations;
mod subjects;

use crate::dates::{Partitions, emit_date, emit_dates};
use crate::emit::{Decimal, Emit, Id, Quoted, Short, list, put};
use crate::random::{Random, Stream};
use crate::source::Source;
use crate::statistics::LAST_YEAR;
use crate::text::Script;
use crate::{Entity, Plan};

/// The most references of a work.
const REFERENCES_MAX: usize = 600;

/// A copy of a work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    /// The newest copy, which the compiler keeps.
    Newest,
    /// The copy in an older partition: an older date, and an eighth fewer citations.
    Older,
}

impl Version {
    /// The citation count of the copy.
    fn citations(self, newest: u64) -> u64 {
        if self == Self::Newest { newest } else { newest - newest.div_ceil(8) }
    }
}

/// The facts of a work that several members depend on.
struct Work {
    id: Id,
    year: u64,
    script: Script,
    kind: &'static str,
    /// The DOI without `https://doi.org/`.
    doi: Option<Doi>,
    source: Option<Source>,
    is_oa: bool,
    citations: u64,
}

/// A DOI, without quotes and without the resolver's address.
#[derive(Clone, Copy)]
struct Doi {
    prefix: u64,
    suffix: u64,
}

impl Emit for Doi {
    fn emit(&self, out: &mut Vec<u8>) {
        put!(out; "10.", self.prefix, "/s", self.suffix / 100_000, "-", self.suffix % 100_000);
    }
}

impl Work {
    fn new(plan: &Plan, ordinal: u64, version: Version, random: &mut Random) -> Self {
        let year =
            if random.chance(5) { random.between(1700, 1940) } else { 2025 - random.skewed(70, 3) };
        let script = Script::draw(random);
        let kind = match random.below(100) {
            0..70 => "article",
            70..80 => "book-chapter",
            80..85 => "preprint",
            85..88 => "dataset",
            88..91 => "dissertation",
            91..94 => "review",
            94..96 => "book",
            96..98 => "letter",
            98 => "editorial",
            _ => "paratext",
        };
        let id = plan.id(Entity::Works, ordinal);
        let doi =
            random.chance(750).then(|| Doi { prefix: 1000 + random.skewed(9000, 2), suffix: id.1 });
        let source =
            (!random.chance(100)).then(|| Source::new(plan, plan.draw(Entity::Sources, random)));
        let is_oa = source.as_ref().is_some_and(|source| source.is_oa) || random.chance(150);
        let noise = random.unit();
        let mean = plan.expected(Entity::Works, ordinal, plan.citations());
        let citations = version.citations((mean * noise * noise * noise * 4.0) as u64);
        Self { id, year, script, kind, doi, source, is_oa, citations }
    }
}

/// Appends a work; a line is about 11 kB on average, the longest (3,000 authors) about 2 MB; 0.9 kB in a lean plan.
pub(crate) fn record(plan: &Plan, ordinal: u64, version: Version, out: &mut Vec<u8>) {
    let mut random = plan.random(Entity::Works, ordinal, Stream::Body);
    if plan.is_lean() {
        lean::put(plan, ordinal, version, &mut random, out);
    } else {
        put_full(plan, ordinal, version, &mut random, out);
    }
    let newest = Partitions::of(plan, Entity::Works).of_ordinal(ordinal);
    let partition = if version == Version::Newest { newest } else { newest - 1 };
    emit_dates(plan, Entity::Works, ordinal, partition, out);
    put!(out; "}");
}

/// Appends all members except the dates, without the closing brace.
fn put_full(plan: &Plan, ordinal: u64, version: Version, random: &mut Random, out: &mut Vec<u8>) {
    let work = Work::new(plan, ordinal, version, random);
    put_identity(&work, random, out);
    let primary = locations::put_primary(plan, &work, random, out);
    put_access(&work, random, out);
    authorships::put(plan, random, out);
    put_impact(&work, random, out);
    subjects::put(plan, random, out);
    locations::put_all(plan, &work, primary, random, out);
    subjects::put_goals(random, out);
    funding::put(plan, random, out);
    put_content(&work, random, out);
    put_references(plan, random, out);
    put!(out; ",\"abstract_inverted_index\":");
    if random.chance(600) {
        inverted::put(work.script, random, out)
    } else {
        put!(out; "null")
    }
    put_counts_by_year(&work, random, out);
}

fn put_identity(work: &Work, random: &mut Random, out: &mut Vec<u8>) {
    put!(out; "{\"id\":", work.id, ",\"doi\":", work.doi.map(|doi| Quoted(("https://doi.org/", doi))), ",\"title\":");
    let start = out.len();
    put_title(work.script, random, out);
    let title = start..out.len();
    put!(out; ",\"display_name\":");
    out.extend_from_within(title);
    put_publication(work, random, out);
    put!(out; ",\"ids\":{\"openalex\":", work.id);
    if let Some(doi) = work.doi {
        put!(out; ",\"doi\":\"https://doi.org/", doi, "\"");
    }
    if random.chance(500) {
        put!(out; ",\"mag\":\"", work.id.1, "\"");
    }
    if random.chance(150) {
        put!(out; ",\"pmid\":\"https://pubmed.ncbi.nlm.nih.gov/", random.between(1_000_000, 40_000_000), "\"");
    }
    let language = *random.choose(work.script.languages());
    put!(out; "},\"language\":", (!random.chance(20)).then_some(Quoted(language)));
}

/// `,"publication_year":…,"publication_date":…`; a quarter only know the year.
fn put_publication(work: &Work, random: &mut Random, out: &mut Vec<u8>) {
    put!(out; ",\"publication_year\":", work.year, ",\"publication_date\":\"");
    let (month, day) =
        if random.chance(250) { (1, 1) } else { (random.between(1, 12), random.between(1, 28)) };
    emit_date(out, work.year, month, day);
    put!(out; "\"");
}

/// The quoted title, or null: some with markup, an escaped quotation, an entity or a formula.
fn put_title(script: Script, random: &mut Random, out: &mut Vec<u8>) {
    let ornament = random.below(1000);
    if ornament < 5 {
        put!(out; "null");
        return;
    }
    put!(out; "\"");
    let words = random.between(3, 10) + random.below(7);
    inverted::put_sentence(script, words, random, out);
    let (before, after) = match ornament {
        5..35 => (" <i>", "</i>"),
        35..50 => (" \\\"", "\\\""),
        50..60 => (" &amp; ", ""),
        60..65 => (" $\\\\alpha_", "$"),
        65..300 => (": ", ""),
        _ => {
            put!(out; "\"");
            return;
        }
    };
    put!(out; before);
    inverted::put_sentence(script, 2 + ornament % 4, random, out);
    put!(out; after, "\"");
}

fn put_access(work: &Work, random: &mut Random, out: &mut Vec<u8>) {
    put!(out; ",\"type\":\"", work.kind, "\",\"indexed_in\":[");
    if work.doi.is_some() {
        put!(out; if random.chance(900) { "\"crossref\"" } else { "\"datacite\"" });
        put!(out; if random.chance(200) { ",\"pubmed\"" } else { "" });
        put!(out; if work.is_oa && random.chance(300) { ",\"doaj\"" } else { "" });
    }
    put!(out; "]");
    put_openness(work, random, out);
    put!(out; ",\"oa_url\":");
    if work.is_oa {
        put!(out; "\"https://www.example.org/articles/", work.id.1, ".pdf\"");
    } else {
        put!(out; "null");
    }
    put!(out; ",\"any_repository_has_fulltext\":", random.chance(300), "}");
}

/// `,"open_access":{"is_oa":…,"oa_status":…`, left open for more members.
fn put_openness(work: &Work, random: &mut Random, out: &mut Vec<u8>) {
    let status = if work.is_oa {
        *random.choose(&["gold", "diamond", "hybrid", "green", "bronze"])
    } else {
        "closed"
    };
    put!(out; ",\"open_access\":{\"is_oa\":", work.is_oa, ",\"oa_status\":\"", status, "\"");
}

/// From `apc_list` to `is_xpac`.
fn put_impact(work: &Work, random: &mut Random, out: &mut Vec<u8>) {
    let price = (work.is_oa && random.chance(400)).then(|| random.between(2, 60) * 50);
    for member in [",\"apc_list\":", ",\"apc_paid\":"] {
        put!(out; member);
        match price.filter(|_| member.contains("list") || random.chance(300)) {
            Some(price) => {
                put!(out; "{\"value\":", price, ",\"currency\":\"USD\",\"value_usd\":", price, "}")
            }
            None => put!(out; "null"),
        }
    }
    let fwci = random
        .chance(800)
        .then(|| Decimal(random.skewed(3_000_000_000, 3) / (1 + random.below(40)), 8));
    put!(out; ",\"fwci\":", fwci, ",\"has_fulltext\":", random.chance(300), ",\"cited_by_count\":", work.citations);
    put!(out; ",\"citation_normalized_percentile\":");
    if random.chance(850) {
        let value = random.below(100_000_000);
        put!(out; "{\"value\":", Decimal(value, 8), ",\"is_in_top_1_percent\":", value >= 99_000_000);
        put!(out; ",\"is_in_top_10_percent\":", value >= 90_000_000, "},\"cited_by_percentile_year\":{\"min\":");
        put!(out; value / 1_000_000, ",\"max\":", value / 1_000_000 + 1, "}");
    } else {
        put!(out; "null,\"cited_by_percentile_year\":null");
    }
    let pages = random.chance(700).then(|| random.between(1, 3000));
    put!(out; ",\"biblio\":{\"volume\":", random.chance(800).then(|| Quoted(random.between(1, 400))));
    put!(out; ",\"issue\":", random.chance(650).then(|| Quoted(random.between(1, 24))), ",\"first_page\":", pages.map(Quoted));
    put!(out; ",\"last_page\":", pages.map(|first| Quoted(first + random.below(30))));
    put!(out; "},\"is_retracted\":", random.chance(2), ",\"is_paratext\":", work.kind == "paratext", ",\"is_xpac\":false");
}

fn put_content(work: &Work, random: &mut Random, out: &mut Vec<u8>) {
    let pdf = work.is_oa && random.chance(600);
    put!(out; ",\"has_content\":{\"pdf\":", pdf, ",\"grobid_xml\":", pdf, "},\"content_urls\":");
    if pdf {
        let work = Short(work.id);
        put!(out; "{\"pdf\":\"https://content.openalex.org/works/", work, ".pdf\",\"grobid_xml\":");
        put!(out; "\"https://content.openalex.org/works/", work, ".grobid-xml\"}");
    } else {
        put!(out; "null");
    }
}

/// `,"referenced_works_count":…,"referenced_works":[…],"related_works":[…]`: 35 references on average, a few hundreds.
fn put_references(plan: &Plan, random: &mut Random, out: &mut Vec<u8>) {
    let references = match random.below(1000) {
        0..200 => 0,
        200..996 => random.skewed(58, 1) + random.skewed(43, 2),
        _ => random.between(120, REFERENCES_MAX as u64),
    };
    put_referenced(plan, random, references, out);
    put!(out; ",\"related_works\":");
    let related = if random.chance(600) { 10 } else { random.below(10) };
    list(out, 0..related, |out, _| put!(out; plan.id(Entity::Works, random.below(plan.outputs()))));
}

/// `,"referenced_works_count":…,"referenced_works":[…]`: at most so many works, often the much cited ones.
fn put_referenced(plan: &Plan, random: &mut Random, references: u64, out: &mut Vec<u8>) {
    let mut distinct = [0; REFERENCES_MAX];
    let drawn = &mut distinct[..references as usize];
    drawn.iter_mut().for_each(|work| *work = plan.draw(Entity::Works, random));
    drawn.sort_unstable();
    let count = drawn.chunk_by(|a, b| a == b).count();
    put!(out; ",\"referenced_works_count\":", count as u64, ",\"referenced_works\":");
    list(
        out,
        drawn.chunk_by(|a, b| a == b),
        |out, same| put!(out; plan.id(Entity::Works, same[0])),
    );
}

fn put_counts_by_year(work: &Work, random: &mut Random, out: &mut Vec<u8>) {
    put!(out; ",\"counts_by_year\":");
    let mut left = work.citations;
    let years = (work.year.max(2012)..=LAST_YEAR).rev().take(work.citations.min(15) as usize);
    list(out, years, |out, year| {
        let cited = (left * random.between(8, 25)).div_ceil(100);
        left -= cited;
        put!(out; "{\"year\":", year, ",\"cited_by_count\":", cited, "}");
    });
}

impl<A: Emit, B: Emit> Emit for (A, B) {
    fn emit(&self, out: &mut Vec<u8>) {
        put!(out; self.0, self.1);
    }
}
