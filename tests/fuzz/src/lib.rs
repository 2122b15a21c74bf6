//! What fuzz targets share: the snapshot they ask, the list they ask for, and the dumps they compile.

mod dump;

use std::path::PathBuf;

pub use dump::compile;
use pinakes_format::entity::Entity;

/// The snapshot that targets ask, by `PINAKES_SNAPSHOT`.
///
/// # Panics
///
/// Where that is not set: `make fuzz` builds one and sets it.
pub fn snapshot() -> PathBuf {
    std::env::var_os("PINAKES_SNAPSHOT")
        .expect("PINAKES_SNAPSHOT names a snapshot; run `make fuzz`")
        .into()
}

/// The first byte as a choice of entity, and the rest as text; `None` where there is none.
pub fn entity_and_text(bytes: &[u8]) -> Option<(Entity, &str)> {
    let (first, rest) = bytes.split_first()?;
    let entity = Entity::all().nth(usize::from(*first) % Entity::COUNT)?;
    Some((entity, std::str::from_utf8(rest).ok()?))
}
