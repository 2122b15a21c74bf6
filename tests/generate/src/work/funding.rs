//! The awards and funders of a work.

use super::inverted;
use crate::emit::{Id, list, put};
use crate::random::Random;
use crate::text::Script;
use crate::{Entity, Plan, funder};

/// `,"awards":[…],"funders":[…]`: one work in five is funded.
pub(super) fn put(plan: &Plan, random: &mut Random, out: &mut Vec<u8>) {
    let mut funders = [0; 4];
    let count = if random.chance(200) { 1 + random.skewed(4, 2) as usize } else { 0 };
    funders.iter_mut().for_each(|funder| *funder = plan.draw(Entity::Funders, random));
    let mut funders = funders[..count].to_vec();
    funders.sort_unstable();
    funders.dedup();
    put!(out; ",\"awards\":");
    let awarded = funders.iter().filter(|&&funder| funder % 4 != 3);
    list(out, awarded, |out, &funder| {
        put!(out; "{\"id\":", Id("G", random.between(1_000_000_000, 9_999_999_999)), ",\"display_name\":");
        if random.chance(300) {
            put!(out; "\"");
            inverted::put_sentence(Script::Latin, 6, random, out);
            put!(out; "\"");
        } else {
            put!(out; "null");
        }
        put!(out; ",\"funder_award_id\":\"", random.between(1000, 99_999_999), "\",\"funder_id\":");
        put!(out; plan.id(Entity::Funders, funder), ",\"funder_display_name\":\"");
        funder::put_name(plan, funder, out);
        put!(out; "\",\"doi\":null}");
    });
    put!(out; ",\"funders\":");
    list(out, &funders, |out, &funder| funder::put_reference(plan, funder, out));
}
