//! The authors of a work and their affiliations.

use crate::emit::{list, put};
use crate::institution::{self, Institution};
use crate::names::{put_author, put_person};
use crate::random::Random;
use crate::text::{Script, put_phrase};
use crate::{Entity, Plan, author, unresolved_authors};

/// The most affiliations of an author.
const AFFILIATIONS_MAX: usize = 10;

/// Number of authors: mostly 1 to 8, sometimes hundreds, rarely 3,000.
fn authors(random: &mut Random) -> u64 {
    match random.below(100_000) {
        0..300 => 0,
        300..98_300 => 1 + random.skewed(7, 2),
        98_300..99_890 => random.between(9, 30),
        99_890..99_990 => random.between(31, 250),
        99_990..99_998 => random.between(251, 1000),
        _ => 3000,
    }
}

/// The institutions of one author in one work.
pub(super) struct Affiliations {
    ordinals: [u64; AFFILIATIONS_MAX],
    count: usize,
}

impl Affiliations {
    pub(super) fn draw(plan: &Plan, home: Option<u64>, random: &mut Random) -> Self {
        let mut affiliations = Self { ordinals: [0; AFFILIATIONS_MAX], count: 0 };
        let wanted = match random.below(100) {
            0..55 => 0,
            55..93 => 1,
            93..98 => 2,
            _ => random.between(3, AFFILIATIONS_MAX as u64) as usize,
        };
        let home = home.filter(|_| !random.chance(150));
        while affiliations.count < wanted {
            let first = (affiliations.count == 0).then_some(home).flatten();
            affiliations.ordinals[affiliations.count] =
                first.unwrap_or_else(|| plan.draw(Entity::Institutions, random));
            affiliations.count += 1;
        }
        affiliations
    }

    pub(super) fn as_slice(&self) -> &[u64] {
        &self.ordinals[..self.count]
    }

    /// `["US",…]`: the countries of the institutions, each once.
    pub(super) fn put_countries(&self, plan: &Plan, out: &mut Vec<u8>) {
        let mut countries = [""; AFFILIATIONS_MAX];
        let mut count = 0;
        for &ordinal in self.as_slice() {
            let code = Institution::new(plan, ordinal).place.code;
            if !countries[..count].contains(&code) {
                countries[count] = code;
                count += 1;
            }
        }
        list(out, &countries[..count], |out, &country| put!(out; "\"", country, "\""));
    }
}

/// `,"authorships":[…]` to `,"corresponding_institution_ids":[…]`.
pub(super) fn put(plan: &Plan, random: &mut Random, out: &mut Vec<u8>) {
    let count = authors(random);
    let (mut institutions, mut corresponding) = (0, None);
    put!(out; ",\"authorships\":");
    list(out, 0..count, |out, position| {
        let place = match position {
            0 => "first",
            _ if position + 1 == count => "last",
            _ => "middle",
        };
        put!(out; "{\"author_position\":\"", place, "\",\"author\":{\"id\":");
        let author = draw_author(plan, random);
        let name = out.len();
        put_identity(plan, author, random, out);
        let affiliations =
            Affiliations::draw(plan, author.and_then(|author| author::home(plan, author)), random);
        institutions += affiliations.count as u64;
        let is_corresponding = position == 0 && random.chance(800);
        if is_corresponding {
            corresponding = author.map(|author| (author, affiliations.as_slice().first().copied()));
        }
        put_affiliations(plan, &affiliations, is_corresponding, name, random, out);
    });
    put!(out; ",\"institutions\":[],\"countries_distinct_count\":", institutions.min(3));
    put!(out; ",\"institutions_distinct_count\":", institutions, ",\"corresponding_author_ids\":");
    list(out, corresponding, |out, (author, _)| put!(out; plan.id(Entity::Authors, author)));
    put!(out; ",\"corresponding_institution_ids\":");
    list(out, corresponding.and_then(|(_, institution)| institution), |out, institution| {
        put!(out; plan.id(Entity::Institutions, institution));
    });
}

/// Draws an author. One in a hundred has no record; one in two hundred has no id either.
fn draw_author(plan: &Plan, random: &mut Random) -> Option<u64> {
    match random.below(200) {
        0 => None,
        1..3 => Some(plan.referenced(Entity::Authors) + random.below(unresolved_authors(plan))),
        _ => Some(plan.draw(Entity::Authors, random)),
    }
}

/// `<id>,"display_name":…,"orcid":…}`.
fn put_identity(plan: &Plan, author: Option<u64>, random: &mut Random, out: &mut Vec<u8>) {
    put!(out; author.map(|author| plan.id(Entity::Authors, author)), ",\"display_name\":\"");
    match author {
        Some(author) => {
            put_author(plan, author, out);
            put!(out; "\",\"orcid\":");
            author::put_orcid(plan, author, out);
        }
        None => {
            put_person(random, out);
            put!(out; "\",\"orcid\":null");
        }
    }
    put!(out; "}");
}

/// The members after `author`; `name` is where the author's id and name begin in `out`.
fn put_affiliations(
    plan: &Plan,
    affiliations: &Affiliations,
    is_corresponding: bool,
    name: usize,
    random: &mut Random,
    out: &mut Vec<u8>,
) {
    put!(out; ",\"institutions\":");
    list(out, affiliations.as_slice(), |out, &ordinal| {
        Institution::new(plan, ordinal).put_reference(plan, out);
    });
    put!(out; ",\"countries\":");
    affiliations.put_countries(plan, out);
    put!(out; ",\"is_corresponding\":", is_corresponding, ",\"raw_author_name\":\"");
    put_written_name(name, out);
    put!(out; "\",\"raw_affiliation_strings\":");
    let strings = random.bits();
    let string = |out: &mut Vec<u8>, (position, &ordinal): (usize, &u64)| {
        put_affiliation_string(plan, ordinal, &mut Random::new(strings + position as u64), out);
    };
    list(out, affiliations.as_slice().iter().enumerate(), string);
    put!(out; ",\"raw_orcid\":null,\"affiliations\":");
    list(out, affiliations.as_slice().iter().enumerate(), |out, item| {
        put!(out; "{\"raw_affiliation_string\":");
        string(out, item);
        put!(out; ",\"institution_ids\":[", plan.id(Entity::Institutions, *item.1), "]}");
    });
    put!(out; "}");
}

/// Repeats the display name that was written after `start`.
fn put_written_name(start: usize, out: &mut Vec<u8>) {
    const BEFORE: &[u8] = b"\"display_name\":\"";
    let written = &out[start..];
    let Some(before) = written.windows(BEFORE.len()).position(|window| window == BEFORE) else {
        return;
    };
    let begin = start + before + BEFORE.len();
    let length = out[begin..].iter().position(|&byte| byte == b'"').unwrap_or(0);
    out.extend_from_within(begin..begin + length);
}

/// The affiliation as printed: department, institution, city, country; some with escaped characters.
fn put_affiliation_string(plan: &Plan, ordinal: u64, random: &mut Random, out: &mut Vec<u8>) {
    let place = Institution::new(plan, ordinal).place;
    put!(out; "\"");
    if random.chance(400) {
        put!(out; "Department of ");
        put_phrase(out, Script::Latin, random, 1, true);
        put!(out; ", ");
    }
    institution::put_name(plan, ordinal, out);
    put!(out; match random.below(100) {
        0 => ",\\n",
        1 => ",\\t\\u00a0",
        2 => " \\\"main campus\\\", ",
        _ => ", ",
    });
    put!(out; place.city, ", ", place.country, "\"");
}
