//! Records left out by `--suppress`, and what is left in place of them for what refers to them.
//!
//! References to such a record, or to a stray of such an id, come to lead to one stray with the id and
//! without a name: that is what a server with the same list makes of them.

use std::{collections::BTreeSet, io};

use pinakes_format::entity::Entity;
use pinakes_format::query::Library;
use pinakes_format::snapshot::suppression_list::Suppression;
use pinakes_format::storage::error::ReadError;

use crate::link::atomic_bitset::{Marks, Numbered};
use crate::link::resolve::unresolved::Stray;

/// What is withheld, by entity; nothing, to begin with.
#[derive(Default)]
pub(crate) struct Withheld {
    of: Vec<OfEntity>,
    /// How many listed ids lead to no record and no stray.
    pub unknown: u64,
}

/// What is withheld of an entity.
struct OfEntity {
    /// The ids, ascending: those that merged ids of the list live in, in place of them.
    ids: Vec<u64>,
    /// Their rows, ascending, strays among them, each with the place of its id.
    rows: Vec<(u32, u32)>,
    /// The rows that have records, ascending.
    records: Vec<u32>,
    /// Of each id, whether it is referred to.
    marks: Marks,
}

impl Withheld {
    /// What a list withholds of all there is.
    pub fn find(list: &Suppression, library: &impl Library) -> Result<Withheld, ReadError> {
        let mut unknown = 0;
        let mut of = Vec::with_capacity(Entity::COUNT);
        for entity in Entity::all() {
            let mut held: BTreeSet<u64> = BTreeSet::new();
            for id in list.ids(entity) {
                let id = library.merged_into(entity, id)?;
                if library.rows_with(entity, id)?.is_empty() {
                    unknown += 1;
                } else {
                    held.insert(id);
                }
            }
            let ids: Vec<u64> = held.into_iter().collect();
            let mut rows = Vec::new();
            for (place, id) in (0..).zip(&ids) {
                rows.extend(library.rows_with(entity, *id)?.map(|row| (row, place)));
            }
            rows.sort_unstable();
            let count = library.count(entity);
            let records = rows.iter().map(|(row, _)| *row).filter(|row| *row < count).collect();
            let marks = Marks::none(ids.len());
            of.push(OfEntity { ids, rows, records, marks });
        }
        Ok(Withheld { of, unknown })
    }

    /// The rows of records of an entity that are withheld, ascending.
    pub fn records(&self, entity: Entity) -> &[u32] {
        self.of.get(entity as usize).map_or(&[], |of| &of.records)
    }

    /// Whether a row, a stray's or not, is withheld.
    pub fn has(&self, entity: Entity, row: u32) -> bool {
        self.of.get(entity as usize).is_some_and(|of| of.place(row).is_some())
    }

    /// Takes note that a row is referred to; false where it is not withheld.
    pub fn mark(&self, entity: Entity, row: u32) -> bool {
        let of = self.of.get(entity as usize);
        of.is_some_and(|of| of.place(row).is_some_and(|place| of.marks.mark(place)))
    }

    /// Takes note that whatever may be referred to is.
    pub fn mark_all(&self) {
        for (entity, of) in Entity::all().zip(&self.of) {
            if entity.facts().is_referenced {
                (0..of.ids.len() as u32).for_each(|place| _ = of.marks.mark(place));
            }
        }
    }

    /// The strays without a name that stand in place of what is withheld and referred to. `first_stray`
    /// has the row that the first stray of an entity with an id has, or would have, and `kept` the
    /// numbers that rows which are not withheld have among themselves.
    pub fn nameless(
        self,
        kept: &[Numbered],
        first_stray: impl Fn(Entity, u64) -> u32,
    ) -> Vec<Nameless> {
        let of_entity = |(entity, of): (Entity, OfEntity)| {
            let marks = of.marks.numbered();
            let kept = &kept[entity as usize];
            let mut nameless = Nameless::default();
            for place in marks.rows() {
                let id = of.ids[place as usize];
                // Before the strays with greater ids stand as many more as there are lesser ids here.
                let before = first_stray(entity, id);
                let number = kept.before(before) + nameless.ids.len() as u32;
                let at = |row: &(u32, u32)| row.1 == place;
                nameless
                    .numbers
                    .extend(of.rows.iter().filter(|row| at(row)).map(|row| (row.0, number)));
                nameless.ids.push(id);
                nameless.before.push(before);
            }
            nameless.numbers.sort_unstable();
            nameless.records = of.records;
            nameless
        };
        Entity::all().zip(self.of).map(of_entity).collect()
    }
}

impl OfEntity {
    fn place(&self, row: u32) -> Option<u32> {
        let at = self.rows.binary_search_by_key(&row, |(row, _)| *row).ok()?;
        Some(self.rows[at].1)
    }
}

/// The strays of an entity that stand in place of what is withheld.
#[derive(Default)]
pub(crate) struct Nameless {
    /// Their ids, ascending.
    ids: Vec<u64>,
    /// For each, the row that the first stray with a greater id had, or would have had.
    before: Vec<u32>,
    /// The rows that were withheld, ascending, and the numbers of what stands in their place.
    numbers: Vec<(u32, u32)>,
    /// The rows of the records that are withheld, ascending, referred to or not.
    records: Vec<u32>,
}

impl Nameless {
    /// The number of a row: of one withheld, that of what stands in its place; of one that is not and
    /// has a number among those kept, that one and as many as come before it.
    pub fn number(&self, row: u32, kept: &Numbered) -> Option<u32> {
        if let Ok(at) = self.numbers.binary_search_by_key(&row, |(row, _)| *row) {
            return Some(self.numbers[at].1);
        }
        let more = self.before.partition_point(|before| *before <= row) as u32;
        kept.of(row).map(|number| number + more)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The rows of the records that are withheld, ascending.
    pub fn records(&self) -> &[u32] {
        &self.records
    }

    /// Puts them among the strays of their entity, which come ascending.
    pub fn among(
        &self,
        entity: Entity,
        strays: impl Iterator<Item = io::Result<Stray>>,
    ) -> impl Iterator<Item = io::Result<Stray>> {
        let nameless = move |id| Ok(Stray { kind: entity as u8, id, name: None });
        let (mut ids, mut strays) = (self.ids.clone().into_iter().peekable(), strays.peekable());
        std::iter::from_fn(move || match (strays.peek(), ids.peek()) {
            (Some(Ok(stray)), Some(id)) if *id < stray.id => ids.next().map(nameless),
            (None, Some(_)) => ids.next().map(nameless),
            _ => strays.next(),
        })
    }
}
