//! Target: the lines of a part. The first byte selects the entity; each line is published or
//! quarantined.

#![no_main]

use libfuzzer_sys::fuzz_target;
use pinakes_format::entity::Entity;

fuzz_target!(|bytes: &[u8]| {
    let Some((first, lines)) = bytes.split_first() else { return };
    let entity = Entity::all().nth(usize::from(*first) % Entity::COUNT);
    let name = entity.map_or("works", |entity| entity.facts().dump_names[0]);
    pinakes_fuzz::compile(&[(&format!("{name}.jsonl"), lines)]);
});
