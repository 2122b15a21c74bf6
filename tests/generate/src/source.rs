//! Sources: journals, repositories, conferences, book series.

use crate::dates::emit_newest_dates;
use crate::emit::{Id, Quoted, Short, list, put};
use crate::names::Issn;
use crate::places;
use crate::random::{Random, Stream};
use crate::text::{Script, put_phrase};
use crate::{Entity, Plan, institution, publisher, statistics};

/// The organisation that runs a source.
enum Host {
    Publisher(u64),
    Institution(u64),
    Nobody,
}

/// The members of a source that other records repeat.
pub(crate) struct Source {
    ordinal: u64,
    pub(crate) id: Id,
    pub(crate) kind: &'static str,
    pub(crate) is_oa: bool,
    is_in_doaj: bool,
    is_core: bool,
    issns: [Option<u64>; 2],
    host: Host,
}

impl Source {
    pub(crate) fn new(plan: &Plan, ordinal: u64) -> Self {
        let mut random = plan.random(Entity::Sources, ordinal, Stream::Facts);
        let kind = match random.below(100) {
            0..78 => "journal",
            78..88 => "repository",
            88..94 => "conference",
            94..98 => "book series",
            _ => "ebook platform",
        };
        let host = match random.below(100) {
            0..20 => Host::Nobody,
            _ if kind == "repository" => {
                Host::Institution(plan.draw(Entity::Institutions, &mut random))
            }
            _ => Host::Publisher(plan.draw(Entity::Publishers, &mut random)),
        };
        let is_oa = kind == "repository" || random.chance(400);
        let has_issn = kind == "journal" || kind == "book series";
        let second = has_issn && random.chance(600);
        Self {
            ordinal,
            id: plan.id(Entity::Sources, ordinal),
            kind,
            is_oa,
            is_in_doaj: is_oa && kind == "journal" && random.chance(500),
            is_core: random.chance(450),
            issns: [has_issn.then(|| random.bits()), second.then(|| random.bits())],
            host,
        }
    }

    /// `{…}` as locations show it.
    pub(crate) fn put_reference(&self, plan: &Plan, out: &mut Vec<u8>) {
        put!(out; "{\"id\":", self.id, ",\"display_name\":\"");
        put_name(plan, self.ordinal, out);
        put!(out; "\",");
        self.put_issns(out);
        put!(out; ",\"is_oa\":", self.is_oa, ",\"is_in_doaj\":", self.is_in_doaj, ",\"is_core\":", self.is_core);
        self.put_host(plan, out);
        put!(out; ",\"host_organization_lineage_names\":");
        match self.host {
            Host::Publisher(publisher) => publisher::put_lineage_names(plan, publisher, out),
            _ => put!(out; "[]"),
        }
        put!(out; ",\"type\":\"", self.kind, "\"}");
    }

    /// `"issn_l":…,"issn":…`.
    fn put_issns(&self, out: &mut Vec<u8>) {
        put!(out; "\"issn_l\":", self.issns[0].map(|issn| Quoted(Issn(issn))), ",\"issn\":");
        if self.issns[0].is_none() {
            put!(out; "null");
            return;
        }
        list(out, self.issns.iter().flatten(), |out, &issn| put!(out; Quoted(Issn(issn))));
    }

    /// `,"host_organization":…,"host_organization_name":…,"host_organization_lineage":…`.
    fn put_host(&self, plan: &Plan, out: &mut Vec<u8>) {
        let id = match self.host {
            Host::Publisher(publisher) => Some(plan.id(Entity::Publishers, publisher)),
            Host::Institution(institution) => Some(plan.id(Entity::Institutions, institution)),
            Host::Nobody => None,
        };
        put!(out; ",\"host_organization\":", id, ",\"host_organization_name\":");
        match self.host {
            Host::Publisher(publisher) => {
                put!(out; "\"");
                publisher::put_name(plan, publisher, out);
                put!(out; "\",\"host_organization_lineage\":");
                publisher::put_lineage(plan, publisher, out);
            }
            Host::Institution(institution) => {
                put!(out; "\"");
                institution::put_name(plan, institution, out);
                put!(out; "\",\"host_organization_lineage\":[", id, "]");
            }
            Host::Nobody => put!(out; "null,\"host_organization_lineage\":[]"),
        }
    }
}

/// The display name, without quotes.
pub(crate) fn put_name(plan: &Plan, ordinal: u64, out: &mut Vec<u8>) {
    let mut random = plan.random(Entity::Sources, ordinal, Stream::Name);
    let script = if random.chance(600) { Script::Latin } else { Script::draw(&mut random) };
    if script == Script::Latin {
        put!(out; *random.choose(&["", "Journal of ", "Annals of ", "International Review of ", "Acta "]));
    }
    let words = random.between(1, 4);
    put_phrase(out, script, &mut random, words, true);
}

pub(crate) fn record(plan: &Plan, ordinal: u64, out: &mut Vec<u8>) {
    let source = Source::new(plan, ordinal);
    let mut random = plan.random(Entity::Sources, ordinal, Stream::Body);
    let works = plan.expected(Entity::Sources, ordinal, plan.outputs() as f64 * 1.6) as u64 + 1;
    let citations = works * random.skewed(80, 2);
    put!(out; "{\"id\":", source.id, ",");
    source.put_issns(out);
    put!(out; ",\"display_name\":\"");
    put_name(plan, ordinal, out);
    put!(out; "\"");
    source.put_host(plan, out);
    let open = if source.is_oa { works } else { works * random.below(60) / 100 };
    put!(out; ",\"works_count\":", works, ",\"oa_works_count\":", open, ",\"cited_by_count\":", citations, ",");
    statistics::put_summary(works, citations, &mut random, out);
    put_openness(&source, &mut random, out);
    put_ids(&source, &mut random, out);
    put_business(&source, &mut random, out);
    let topics = random.between(5, 25);
    statistics::put_topics(plan, works, topics, &mut random, out);
    put!(out; ",");
    statistics::put_counts_by_year(works, citations, &mut random, out);
    put!(out; ",\"works_api_url\":\"https://api.openalex.org/works?filter=primary_location.source.id:", Short(source.id));
    put!(out; "\"");
    emit_newest_dates(plan, Entity::Sources, ordinal, out);
    put!(out; "}");
}

fn put_openness(source: &Source, random: &mut Random, out: &mut Vec<u8>) {
    let first = random.between(1880, 2020);
    put!(out; ",\"is_oa\":", source.is_oa, ",\"is_in_doaj\":", source.is_in_doaj, ",\"is_in_doaj_since_year\":");
    put!(out; source.is_in_doaj.then(|| random.between(2003, 2024)));
    let high = source.is_oa && random.chance(700);
    put!(out; ",\"is_high_oa_rate\":", high, ",\"is_high_oa_rate_since_year\":", high.then(|| random.between(2000, 2024)));
    put!(out; ",\"is_in_scielo\":", random.chance(20), ",\"is_ojs\":", random.chance(150), ",\"is_core\":", source.is_core);
    put!(out; ",\"oa_flip_year\":", (high && random.chance(100)).then(|| random.between(2005, 2024)));
    put!(out; ",\"first_publication_year\":", first, ",\"last_publication_year\":", random.between(first.max(2015), 2026));
}

fn put_ids(source: &Source, random: &mut Random, out: &mut Vec<u8>) {
    put!(out; ",\"ids\":{\"openalex\":", source.id, ",");
    source.put_issns(out);
    put!(out; ",\"mag\":", random.chance(600).then_some(Quoted(source.id.1)));
    put!(out; ",\"wikidata\":\"https://www.wikidata.org/entity/Q", random.between(1000, 90_000_000), "\"}");
    put!(out; ",\"homepage_url\":");
    if random.chance(700) {
        put!(out; "\"https://journals.example.org/", source.ordinal, "\"");
    } else {
        put!(out; "null");
    }
}

fn put_business(source: &Source, random: &mut Random, out: &mut Vec<u8>) {
    let price = (source.is_oa && source.kind == "journal" && random.chance(600))
        .then(|| random.between(1, 50) * 100);
    put!(out; ",\"apc_prices\":");
    list(out, price, |out, price| {
        put!(out; "{\"price\":", price, ",\"currency\":\"USD\"}");
        put!(out; ",{\"price\":", price * 9 / 10, ",\"currency\":\"EUR\"}");
    });
    put!(out; ",\"apc_usd\":", price, ",\"country_code\":");
    put!(out; random.chance(850).then(|| Quoted(places::draw(random).code)), ",\"societies\":");
    let (societies, titles) = (random.skewed(2, 3), random.below(3));
    list(out, 0..societies, |out, _| {
        put!(out; "{\"url\":\"https://society.example.org\",\"organization\":\"");
        put_phrase(out, Script::Latin, random, 2, true);
        put!(out; " Society\"}");
    });
    put!(out; ",\"alternate_titles\":");
    list(out, 0..titles, |out, _| {
        put!(out; "\"");
        put_phrase(out, Script::Latin, random, 3, true);
        put!(out; "\"");
    });
    put!(out; ",\"type\":\"", source.kind, "\",");
}
