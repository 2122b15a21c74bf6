//! Blocks of ids that are deleted, or merged into others. A block has the ids of one entity, ascending:
//!
//! ```text
//! deleted    id u64 | micros i64 | …
//! merged     id u64 | the id it was merged into: u64 | micros i64 | …
//! ```
//!
//! A list may have tens of millions of rows, so an object holds many blocks, and the linker merges the blocks of all
//! objects.

use std::io;
use std::io::Write;
use std::marker::PhantomData;

use pinakes_format::entity::Entity;

use crate::object::segment::SEGMENT_BYTES;

/// A row of a list of ids. Sorts by id.
pub trait ListedId: Copy + Ord {
    /// Bytes of a row in a block.
    const BYTES: usize;

    /// Writes the bytes of a row.
    fn write(&self, out: &mut impl Write) -> io::Result<()>;

    /// Reads the bytes of a row; `None` if they are too few.
    fn read(bytes: &[u8]) -> Option<Self>;
}

/// An id whose record was deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deletion {
    pub id: u64,
    /// When the record was deleted, in microseconds since 1970; `i64::MAX` if the list does not say.
    pub micros: i64,
}

/// An id merged into another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Merge {
    pub from: u64,
    /// Midnight of the day of the merge, in microseconds since 1970; `i64::MIN` if the list does not say.
    pub micros: i64,
    /// The id that `from` was merged into.
    pub to: u64,
}

impl ListedId for Deletion {
    const BYTES: usize = 16;

    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(&self.id.to_le_bytes())?;
        out.write_all(&self.micros.to_le_bytes())
    }

    fn read(bytes: &[u8]) -> Option<Deletion> {
        let (id, micros) = bytes.split_first_chunk()?;
        let micros = i64::from_le_bytes(*micros.first_chunk()?);
        Some(Deletion { id: u64::from_le_bytes(*id), micros })
    }
}

impl ListedId for Merge {
    const BYTES: usize = 24;

    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(&self.from.to_le_bytes())?;
        out.write_all(&self.to.to_le_bytes())?;
        out.write_all(&self.micros.to_le_bytes())
    }

    fn read(bytes: &[u8]) -> Option<Merge> {
        let (from, rest) = bytes.split_first_chunk()?;
        let (to, micros) = rest.split_first_chunk()?;
        let micros = i64::from_le_bytes(*micros.first_chunk()?);
        Some(Merge { from: u64::from_le_bytes(*from), to: u64::from_le_bytes(*to), micros })
    }
}

/// The position and size of a written block.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct IdBlockShape {
    /// The discriminant of the entity.
    pub entity: u8,
    /// The offset of the block in the object.
    pub from: u64,
    pub ids: u64,
}

/// Blocks that take ids, written together when they are full.
pub struct IdBlockBuilder<T> {
    rows: Vec<(u8, T)>,
    written: Vec<IdBlockShape>,
}

impl<T: ListedId> IdBlockBuilder<T> {
    pub fn new() -> IdBlockBuilder<T> {
        IdBlockBuilder { rows: Vec::new(), written: Vec::new() }
    }

    pub fn push(&mut self, entity: Entity, row: T) {
        self.rows.push((entity as u8, row));
    }

    /// Whether the ids have reached [`SEGMENT_BYTES`].
    pub fn is_full(&self) -> bool {
        self.rows.len() * size_of::<(u8, T)>() >= SEGMENT_BYTES
    }

    /// Writes one block for each entity at offset `from` of the object, and empties the builder.
    pub fn write(&mut self, from: u64, out: &mut impl Write) -> io::Result<()> {
        self.rows.sort_unstable();
        let mut from = from;
        for block in self.rows.chunk_by(|(one, _), (other, _)| one == other) {
            block.iter().try_for_each(|(_, row)| row.write(out))?;
            self.written.push(IdBlockShape { entity: block[0].0, from, ids: block.len() as u64 });
            from += (block.len() * T::BYTES) as u64;
        }
        self.rows.clear();
        Ok(())
    }

    /// Takes the shapes of all written blocks.
    pub fn take_shapes(&mut self) -> Vec<IdBlockShape> {
        std::mem::take(&mut self.written)
    }
}

/// A block of an object.
#[derive(Clone, Copy)]
pub struct IdBlock<'o, T> {
    rest: &'o [u8],
    rows: PhantomData<T>,
}

impl<'o, T: ListedId> IdBlock<'o, T> {
    /// Reads a block; `None` if the object does not contain all of it.
    pub fn read(object: &'o [u8], shape: &IdBlockShape) -> Option<IdBlock<'o, T>> {
        let from = usize::try_from(shape.from).ok()?;
        let bytes = usize::try_from(shape.ids).ok()?.checked_mul(T::BYTES)?;
        let rest = object.get(from..from.checked_add(bytes)?)?;
        Some(IdBlock { rest, rows: PhantomData })
    }
}

/// Takes the rows off the block, in ascending order.
impl<T: ListedId> Iterator for IdBlock<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        let (row, rest) = self.rest.split_at_checked(T::BYTES)?;
        self.rest = rest;
        T::read(row)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn blocks_hold_the_ids_of_each_entity_in_ascending_order() {
        let mut builder = IdBlockBuilder::new();
        let merge = |from| Merge { from, micros: i64::MIN + 1, to: u64::MAX - from };
        for (entity, from) in
            [(Entity::Author, 7), (Entity::Output, 9), (Entity::Author, 3), (Entity::Output, 2)]
        {
            builder.push(entity, merge(from));
        }
        let mut object = vec![0; 5];
        builder.write(5, &mut object).unwrap();
        builder.push(Entity::Output, merge(1));
        builder.write(object.len() as u64, &mut object).unwrap();
        let shapes = builder.take_shapes();
        let rows = |entity: Entity| {
            let of_entity = shapes.iter().filter(|shape| shape.entity == entity as u8);
            let blocks = of_entity.map(|shape| IdBlock::<Merge>::read(&object, shape).unwrap());
            blocks.flatten().collect::<Vec<_>>()
        };
        assert_eq!(rows(Entity::Author), [3, 7].map(merge));
        assert_eq!(rows(Entity::Output), [2, 9, 1].map(merge));
        let cut = &object[..object.len() - 1];
        assert!(IdBlock::<Merge>::read(cut, shapes.last().unwrap()).is_none());
    }
}
