//! The suppressed rows of a snapshot: the ids of a list, resolved once.
//!
//! A suppressed record stays in its row, so that every index stays valid; readers leave the row
//! out. No id leads to the record. A reference to it becomes a placeholder: an id without a name.
//!
//! Prefix statistics count suppressed records, so `autocomplete` computes the statistics of the
//! affected prefixes anew and stores them here. A one-word search then stays one look-up.
//! `suppressed_words` has the words that the full-text index has of suppressed records.

use std::{collections::BTreeMap, sync::Arc};

use crate::entity::Entity;
use crate::index::prefix_stats::PrefixSummary;
use crate::snapshot::suppressed_words::SuppressedWords;
use crate::snapshot::suppression_list::SuppressionList;
use crate::snapshot::{LookupResult, Snapshot};
use crate::storage::ReadError;

/// Replacements for the statistics of prefixes, by prefix.
pub(crate) type PrefixSummaries = BTreeMap<Box<[u8]>, PrefixSummary>;

/// The suppressed rows of a snapshot; none by default.
#[derive(Clone, Default)]
pub struct Suppressed {
    entities: Arc<Vec<EntityRows>>,
    /// The digits of the suppression list; `None` without a list.
    digits: Option<Arc<str>>,
    unknown_ids: usize,
    words: Arc<SuppressedWords>,
}

/// The suppressed rows of one entity.
#[derive(Default)]
struct EntityRows {
    /// Ascending. Records come first: the rows of unresolved references follow those of records.
    rows: Vec<u32>,
    /// The number of `rows` that are records.
    records: usize,
    /// The statistics without suppressed records, of each prefix that some suppressed record counts
    /// in.
    summaries: PrefixSummaries,
}

impl Suppressed {
    fn rows_of(&self, entity: Entity) -> Option<&EntityRows> {
        self.entities.get(entity as usize)
    }

    /// The rows of suppressed records, ascending.
    pub fn rows(&self, entity: Entity) -> &[u32] {
        self.rows_of(entity).map_or(&[], |of| &of.rows[..of.records])
    }

    /// The suppressed rows of records and of unresolved references, ascending.
    pub fn all_rows(&self, entity: Entity) -> &[u32] {
        self.rows_of(entity).map_or(&[], |of| &of.rows)
    }

    /// Whether a row is suppressed. Cost: a binary search of the suppressed rows.
    #[inline]
    pub fn has(&self, entity: Entity, row: u32) -> bool {
        self.rows_of(entity).is_some_and(|of| of.rows.binary_search(&row).is_ok())
    }

    /// The statistics that replace the snapshot's for a prefix; `None` where the snapshot's hold.
    pub fn prefix_summary(&self, entity: Entity, prefix: &[u8]) -> Option<&PrefixSummary> {
        self.rows_of(entity)?.summaries.get(prefix)
    }

    /// The words that the full-text index has of suppressed records.
    pub(crate) fn words(&self) -> &SuppressedWords {
        &self.words
    }

    /// The number of suppressed records of all entities.
    pub fn records(&self) -> usize {
        self.entities.iter().map(|of| of.records).sum()
    }

    /// The number of ids in the list that neither a record nor a reference has.
    pub fn unknown_ids(&self) -> usize {
        self.unknown_ids
    }
}

impl Snapshot {
    /// The same snapshot with the rows of a list suppressed, and without replaced prefix statistics.
    pub(crate) fn with_suppressed_rows(
        &self,
        list: &SuppressionList,
    ) -> Result<Snapshot, ReadError> {
        let kept = Arc::new(self.kept.of_other_suppression());
        let mut snapshot = Snapshot { suppressed: Suppressed::default(), kept, ..self.clone() };
        if list.is_empty() {
            return Ok(snapshot);
        }
        let mut unknown_ids = 0;
        let mut entities = Vec::with_capacity(Entity::COUNT);
        for entity in Entity::all() {
            entities.push(snapshot.resolve_rows(entity, list, &mut unknown_ids)?);
        }
        let digits = Some(Arc::clone(list.digits()));
        let rows = |entity: Entity| entities[entity as usize].rows.as_slice();
        let outputs = &entities[Entity::Output as usize];
        let outputs = &outputs.rows[..outputs.records];
        let words = SuppressedWords::new(&snapshot, outputs, rows, &self.suppressed)?;
        let words = Arc::new(words);
        snapshot.suppressed =
            Suppressed { entities: Arc::new(entities), digits, unknown_ids, words };
        Ok(snapshot)
    }

    /// Adds replaced prefix statistics: one map for each entity.
    pub(crate) fn with_prefix_summaries(self, summaries: Vec<PrefixSummaries>) -> Snapshot {
        let mut suppressed = self.suppressed;
        // Nobody shares the rows of a snapshot that is still being made.
        let mut entities = Arc::into_inner(suppressed.entities).unwrap_or_default();
        entities.iter_mut().zip(summaries).for_each(|(of, summaries)| of.summaries = summaries);
        suppressed.entities = Arc::new(entities);
        Snapshot { suppressed, ..self }
    }

    /// Resolves the ids of a list to rows. A merged id suppresses the record it was merged into.
    fn resolve_rows(
        &self,
        entity: Entity,
        list: &SuppressionList,
        unknown_ids: &mut usize,
    ) -> Result<EntityRows, ReadError> {
        let mut rows = Vec::new();
        for id in list.ids(entity) {
            let found = match self.find(entity, id)? {
                LookupResult::Row(row) => row..row + 1,
                LookupResult::Merged(into) => self.rows_with(entity, into)?,
                LookupResult::Absent => self.unresolved_rows(entity, id)?,
            };
            *unknown_ids += usize::from(found.is_empty());
            rows.extend(found);
        }
        rows.sort_unstable();
        rows.dedup();
        let count = self.count(entity);
        let records = rows.partition_point(|row| *row < count);
        Ok(EntityRows { rows, records, summaries: BTreeMap::new() })
    }

    /// A name for the snapshot's answers: the snapshot's id, followed by the digits of the
    /// suppression list where there is one.
    pub fn edition(&self) -> String {
        let id = &self.manifest().id;
        match &self.suppressed.digits {
            Some(digits) => format!("{id}-{digits}"),
            None => id.clone(),
        }
    }

    /// The same handle, with the rows suppressed that `other`, of the same snapshot, suppresses.
    #[must_use]
    pub fn suppressing_as(&self, other: &Snapshot) -> Snapshot {
        let (suppressed, kept) = (other.suppressed.clone(), Arc::clone(&other.kept));
        Snapshot { suppressed, kept, ..self.clone() }
    }

    /// Whether exactly the ids of a list are suppressed.
    pub fn suppresses(&self, list: &SuppressionList) -> bool {
        match &self.suppressed.digits {
            Some(digits) => digits == list.digits(),
            None => list.is_empty(),
        }
    }

    /// Whether records are suppressed here, or were when the snapshot was built.
    pub fn has_suppressed(&self) -> bool {
        self.suppressed.digits.is_some() || self.manifest().suppression.is_some()
    }

    /// The suppressed rows.
    pub fn suppressed(&self) -> &Suppressed {
        &self.suppressed
    }

    /// The number of records of an entity that are not suppressed.
    pub fn visible_count(&self, entity: Entity) -> u32 {
        // At most the number of rows, a u32.
        self.count(entity) - self.suppressed.rows(entity).len() as u32
    }

    /// The first row of an entity with a record that is not suppressed.
    pub fn first_visible_row(&self, entity: Entity) -> Option<u32> {
        let suppressed = self.suppressed.rows(entity);
        let first = (0..).zip(suppressed).take_while(|(row, other)| row == *other).count() as u32;
        (first < self.count(entity)).then_some(first)
    }
}
