//! Blocks of deleted ids. A block has the ids of one entity, ascending:
//!
//! ```text
//! id u64 | micros i64 | id u64 | micros i64 | …
//! ```
//!
//! A list of deleted ids may have tens of millions of rows, so an object holds many blocks, and the
//! linker merges the blocks of all objects.

use std::io::{self, Write};

use pinakes_format::entity::Entity;

use crate::object::segment::SEGMENT_BYTES;

/// A deleted id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deletion {
    pub id: u64,
    /// When the record was deleted, in microseconds since 1970; `i64::MAX` if the list does not say.
    pub micros: i64,
}

impl Deletion {
    const BYTES: usize = 16;
}

/// The position and size of a written block.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct DeletionShape {
    /// The discriminant of the entity.
    pub entity: u8,
    /// The offset of the block in the object.
    pub from: u64,
    pub deletions: u64,
}

/// Blocks that take deleted ids, written together when they are full.
#[derive(Default)]
pub struct DeletionBuilder(Vec<(u8, Deletion)>);

impl DeletionBuilder {
    pub fn push(&mut self, entity: Entity, deletion: Deletion) {
        self.0.push((entity as u8, deletion));
    }

    /// Whether the ids have reached [`SEGMENT_BYTES`].
    pub fn is_full(&self) -> bool {
        self.0.len() * size_of::<(u8, Deletion)>() >= SEGMENT_BYTES
    }

    /// Writes one block for each entity at offset `from` of the object, and empties the builder.
    pub fn write(&mut self, from: u64, out: &mut impl Write) -> io::Result<Vec<DeletionShape>> {
        self.0.sort_unstable();
        let (mut shapes, mut from) = (Vec::new(), from);
        for block in self.0.chunk_by(|(one, _), (other, _)| one == other) {
            for (_, deletion) in block {
                out.write_all(&deletion.id.to_le_bytes())?;
                out.write_all(&deletion.micros.to_le_bytes())?;
            }
            shapes.push(DeletionShape { entity: block[0].0, from, deletions: block.len() as u64 });
            from += (block.len() * Deletion::BYTES) as u64;
        }
        self.0.clear();
        Ok(shapes)
    }
}

/// A block of an object.
#[derive(Clone, Copy)]
pub struct DeletionBlock<'o>(&'o [u8]);

impl<'o> DeletionBlock<'o> {
    /// Reads a block; `None` if the object does not contain all of it.
    pub fn read(object: &'o [u8], shape: &DeletionShape) -> Option<DeletionBlock<'o>> {
        let from = usize::try_from(shape.from).ok()?;
        let bytes = usize::try_from(shape.deletions).ok()?.checked_mul(Deletion::BYTES)?;
        object.get(from..from.checked_add(bytes)?).map(DeletionBlock)
    }

    /// Takes the first deleted id off the block.
    pub fn next(&mut self) -> Option<Deletion> {
        let (id, rest) = self.0.split_first_chunk()?;
        let (micros, rest) = rest.split_first_chunk()?;
        self.0 = rest;
        Some(Deletion { id: u64::from_le_bytes(*id), micros: i64::from_le_bytes(*micros) })
    }
}
