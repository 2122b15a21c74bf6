//! Shared parts of the fuzz targets: the snapshot to query, the entity to query, the dumps to compile.

mod dump;

use std::path::PathBuf;

pub use dump::compile;
use pinakes_format::entity::Entity;

/// The path of the snapshot that targets query, from the variable `PINAKES_SNAPSHOT`.
///
/// # Panics
///
/// Panics if the variable is not set. `make fuzz` builds a snapshot and sets the variable.
pub fn snapshot() -> PathBuf {
    std::env::var_os("PINAKES_SNAPSHOT")
        .expect("PINAKES_SNAPSHOT names a snapshot; run `make fuzz`")
        .into()
}

/// Splits the input into an entity, chosen by the first byte, and a UTF-8 text.
pub fn entity_and_text(bytes: &[u8]) -> Option<(Entity, &str)> {
    let (first, rest) = bytes.split_first()?;
    let entity = Entity::all().nth(usize::from(*first) % Entity::COUNT)?;
    Some((entity, std::str::from_utf8(rest).ok()?))
}
