//! Authors with little more than their names.

use crate::dates::emit_newest_day;
use crate::emit::put;
use crate::names::words::{NameWords, Role};
use crate::random::{Random, Stream};
use crate::text::put_capitalised;
use crate::{Entity, Plan};

/// First, middle and last word of a name.
type Name<'a> = [&'a str; 3];

pub(super) fn record(plan: &Plan, words: &NameWords, ordinal: u64, out: &mut Vec<u8>) {
    let name = name(words, &mut plan.random(Entity::Authors, ordinal, Stream::Name));
    let mut random = plan.random(Entity::Authors, ordinal, Stream::Body);
    put!(out; "{\"id\":", plan.id(Entity::Authors, ordinal), ",\"display_name\":\"");
    put_words(&name, out);
    put!(out; "\"");
    put_alternatives(&name, &mut random, out);
    let works = 1 + random.skewed(800, 4);
    let citations =
        if random.chance(300) { 0 } else { works * random.skewed(90, 3) + random.below(5) };
    put!(out; ",\"works_count\":", works, ",\"cited_by_count\":", citations);
    emit_newest_day(plan, Entity::Authors, ordinal, out);
    put!(out; "}");
}

fn name<'a>(words: &'a NameWords, random: &mut Random) -> Name<'a> {
    [Role::Given, Role::Given, Role::Family].map(|role| words.draw(role, random))
}

fn put_words(name: &[&str], out: &mut Vec<u8>) {
    for (place, word) in name.iter().enumerate() {
        if place > 0 {
            out.push(b' ');
        }
        put_capitalised(out, word);
    }
}

/// `,"display_name_alternatives":[…]` of one author in five: with initials, in the other order, or both.
fn put_alternatives(name: &Name<'_>, random: &mut Random, out: &mut Vec<u8>) {
    if !random.chance(200) {
        return;
    }
    let has = random.below(3);
    put!(out; ",\"display_name_alternatives\":[");
    if has != 1 {
        put!(out; "\"");
        for given in &name[..2] {
            put_capitalised(out, &given[..1]);
            put!(out; ". ");
        }
        put_words(&name[2..], out);
        put!(out; "\"");
    }
    if has == 2 {
        put!(out; ",");
    }
    if has != 0 {
        put!(out; "\"");
        put_words(&name[2..], out);
        put!(out; ", ");
        put_words(&name[..2], out);
        put!(out; "\"");
    }
    put!(out; "]");
}
