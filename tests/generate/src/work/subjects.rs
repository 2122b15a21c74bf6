//! The subjects of a work: topics, keywords, concepts, subject headings, sustainable development goals.

use crate::emit::{Decimal, list, padded, put};
use crate::random::{Random, mix};
use crate::text::{Script, put_capitalised};
use crate::{Entity, Plan, taxonomy};

/// The goals, from number 1 on.
const GOALS: [&str; 17] = [
    "No poverty",
    "Zero hunger",
    "Good health and well-being",
    "Quality Education",
    "Gender equality",
    "Clean water and sanitation",
    "Affordable and clean energy",
    "Decent work and economic growth",
    "Industry, innovation and infrastructure",
    "Reduced inequalities",
    "Sustainable cities and communities",
    "Responsible consumption and production",
    "Climate action",
    "Life below water",
    "Life in Land",
    "Peace, Justice and strong institutions",
    "Partnerships for the goals",
];

/// `,"primary_topic":…` to `,"mesh":[…]`.
pub(super) fn put(plan: &Plan, random: &mut Random, out: &mut Vec<u8>) {
    put_topics(plan, random, out);
    let mut words = [0; 24];
    let keywords = random.below(10) as usize;
    let concepts = random.below(9) as usize;
    draw_distinct(&mut words, random);
    put!(out; ",\"keywords\":");
    list(out, &words[..keywords], |out, &word| {
        let text = Script::Latin.vocabulary().word(word);
        put!(out; "{\"id\":\"https://openalex.org/keywords/", text, "\",\"display_name\":\"");
        put_capitalised(out, text);
        put!(out; "\",\"score\":", Decimal(random.below(10_000_000_000), 10), "}");
    });
    put!(out; ",\"concepts\":");
    list(out, &words[..concepts], |out, &word| {
        let number = mix(u64::from(word));
        put!(out; "{\"id\":\"https://openalex.org/C", number % 3_000_000_000);
        put!(out; "\",\"wikidata\":\"https://www.wikidata.org/wiki/Q", number >> 40, "\",\"display_name\":\"");
        put_capitalised(out, Script::Latin.vocabulary().word(word));
        put!(out; "\",\"level\":", number % 6, ",\"score\":", Decimal(random.below(10_000_000_000), 10), "}");
    });
    put_headings(random, out);
}

fn draw_distinct(words: &mut [u32; 24], random: &mut Random) {
    let vocabulary = Script::Latin.vocabulary();
    for position in 0..words.len() {
        words[position] = loop {
            let word = vocabulary.draw_content(random);
            if !words[..position].contains(&word) {
                break word;
            }
        };
    }
}

/// `,"primary_topic":…,"topics":[…]`: up to three topics, the first is the primary one.
pub(super) fn put_topics(plan: &Plan, random: &mut Random, out: &mut Vec<u8>) {
    let count = if random.chance(30) { 0 } else { 1 + random.below(3).min(random.below(4)) };
    put!(out; ",\"primary_topic\":");
    if count == 0 {
        put!(out; "null,\"topics\":[]");
        return;
    }
    let mut topics = [u64::MAX; 3];
    let start = out.len();
    topics[0] = plan.draw(Entity::Topics, random);
    put_topic(plan, topics[0], random, out);
    let primary = start..out.len();
    put!(out; ",\"topics\":[");
    out.extend_from_within(primary);
    for position in 1..count as usize {
        let topic = plan.draw(Entity::Topics, random);
        if !topics.contains(&topic) {
            topics[position] = topic;
            put!(out; ",");
            put_topic(plan, topic, random, out);
        }
    }
    put!(out; "]");
}

fn put_topic(plan: &Plan, topic: u64, random: &mut Random, out: &mut Vec<u8>) {
    if plan.is_lean() {
        put!(out; "{\"id\":", plan.id(Entity::Topics, topic), "}");
        return;
    }
    taxonomy::put_reference(plan, topic, out);
    put!(out; ",\"score\":", Decimal(random.between(5_000, 9_999), 4));
    taxonomy::put_ancestors(plan, topic, out);
    put!(out; "}");
}

/// Medical subject headings: one work in six has them.
fn put_headings(random: &mut Random, out: &mut Vec<u8>) {
    put!(out; ",\"mesh\":");
    let count = if random.chance(160) { random.between(3, 14) } else { 0 };
    list(out, 0..count, |out, _| {
        let vocabulary = Script::Latin.vocabulary();
        let heading = 100 + random.skewed(20_000, 2) as u32;
        put!(out; "{\"descriptor_ui\":\"D");
        padded(out, u64::from(heading), 6);
        put!(out; "\",\"descriptor_name\":\"");
        put_capitalised(out, vocabulary.word(heading));
        if random.chance(350) {
            let qualifier = 100 + random.below(80) as u32;
            put!(out; "\",\"qualifier_ui\":\"Q");
            padded(out, u64::from(qualifier), 6);
            put!(out; "\",\"qualifier_name\":\"", vocabulary.word(qualifier), "\"");
        } else {
            put!(out; "\",\"qualifier_ui\":null,\"qualifier_name\":null");
        }
        put!(out; ",\"is_major_topic\":", random.chance(300), "}");
    });
}

/// `,"sustainable_development_goals":[…]`.
pub(super) fn put_goals(random: &mut Random, out: &mut Vec<u8>) {
    put!(out; ",\"sustainable_development_goals\":");
    let goal = random.chance(500).then(|| random.below(GOALS.len() as u64));
    list(out, goal, |out, goal| {
        put!(out; "{\"id\":\"https://metadata.un.org/sdg/", goal + 1, "\",\"display_name\":\"", GOALS[goal as usize]);
        put!(out; "\",\"score\":", Decimal(random.between(40, 99), 2), "}");
    });
}
