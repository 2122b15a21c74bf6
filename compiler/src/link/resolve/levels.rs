//! Merging all entities, outputs first: they give the levels of the taxonomy their sums, each level the
//! next.

use std::collections::{BTreeMap, BTreeSet};

use pinakes_format::entity::Entity;
use pinakes_format::record;
use pinakes_format::record::Output;
use pinakes_format::record::value::{Slot, Slots};
use pinakes_format::snapshot::split_blob;

use crate::error::Result;
use crate::link::merge::orphans::{Above, Orphans};
use crate::link::merge::{Rows, Sums, has_mentioned_alone, passed_on};
use crate::link::resolve::taxonomy::parent_id;
use crate::link::{Linker, Segments, broken};

/// The rows of every entity, and what merging them told.
pub(crate) struct Merged {
    /// By entity.
    pub rows: Vec<Rows>,
    /// Of the taxonomy's levels.
    pub sums: BTreeMap<Entity, Sums>,
    /// The newest `updated_date`, in microseconds since 1970.
    pub newest: Option<i64>,
    /// Topics without a place in the taxonomy.
    pub orphans: Orphans,
}

/// What the merges of all entities see as they go.
struct Seen<'s> {
    sums: &'s mut BTreeMap<Entity, Sums>,
    mentioned: &'s mut Option<BTreeSet<u64>>,
    newest: &'s mut Option<i64>,
    orphans: &'s mut Orphans,
}

impl Linker<'_> {
    /// Merges every entity's keys.
    pub(crate) fn merge_all(&self, segments: &[Segments<'_>]) -> Result<Merged> {
        let records: u64 = segments.iter().flatten().map(|segment| segment.count() as u64).sum();
        let bar = self.progress.begin("merge", "keys", records, records);
        let mut sums = BTreeMap::new();
        let mut newest = None;
        let mut orphans = Orphans::default();
        let above = Above::find(self, segments)?;
        // Which nodes of the level under way the published records below it name.
        let mut mentioned = None;
        let mut rows: Vec<Option<Rows>> = Entity::all().map(|_| None).collect();
        // Outputs first: their sums are the counts of taxonomy nodes without their own, each
        // level's before the next.
        let bottom_up = Entity::taxonomy().chain(Entity::all()).collect::<Vec<_>>();
        for entity in std::iter::once(Entity::Output).chain(bottom_up) {
            if rows[entity as usize].is_none() {
                let mut seen = Seen {
                    sums: &mut sums,
                    mentioned: &mut mentioned,
                    newest: &mut newest,
                    orphans: &mut orphans,
                };
                let merged = self.merge_level(entity, segments, &above, &mut seen)?;
                if entity == Entity::Output {
                    mentioned = self.topics_named(segments, &merged)?;
                }
                rows[entity as usize] = Some(merged);
            }
        }
        bar.end();
        Ok(Merged { rows: rows.into_iter().flatten().collect(), sums, newest, orphans })
    }

    /// Merges an entity's keys, and sums up what they tell of the level above.
    fn merge_level(
        &self,
        entity: Entity,
        segments: &[Segments<'_>],
        above: &Above,
        seen: &mut Seen<'_>,
    ) -> Result<Rows> {
        let Seen { sums, mentioned, newest, orphans } = seen;
        let mut by_group = Sums::new();
        let mut parents = BTreeMap::new();
        let of_entity = &segments[entity as usize];
        let is_level = entity.facts().taxonomy_level.is_some();
        let mut redirects = self.redirects(entity)?;
        let mut own = Sums::new();
        if is_level {
            // What lies below names nodes as they were before they were merged.
            redirects.settle(of_entity, mentioned.as_ref())?;
            let below = sums.remove(&entity).unwrap_or_default();
            own = passed_on(&below, |id| Some(redirects.end(id)));
            if let Some(named) = mentioned {
                let ends: Vec<u64> = named.iter().map(|id| redirects.end(*id)).collect();
                named.extend(ends);
            }
        }
        let named = mentioned.as_ref().filter(|_| is_level);
        let rows = self.merge(entity, of_entity, redirects, &own, named, |key, segment| {
            if is_level {
                let segment = of_entity.get(segment).ok_or_else(broken)?;
                let blob = segment.blob(key).ok_or_else(broken)?;
                if let Some(parent) = parent_id(entity, blob, segment) {
                    parents.insert(key.id, parent);
                }
                if entity == Entity::Topic && !above.holds(blob, segment)? {
                    orphans.take(key);
                    return Ok(false);
                }
            }
            if key.origin.is_read() && key.updated_micros != i64::MIN {
                **newest = (**newest).max(Some(key.updated_micros));
            }
            Linker::add_to_sums(&mut by_group, key);
            Ok(true)
        })?;
        if is_level && mentioned.is_some() {
            **mentioned = Some(parents.values().copied().collect());
        }
        if entity == Entity::Output {
            sums.insert(Entity::Topic, by_group);
        } else if let Some(above) = entity.taxonomy_parent() {
            sums.insert(above, passed_on(&own, |id| parents.get(&id).copied()));
        }
        if is_level {
            sums.insert(entity, own);
        }
        Ok(rows)
    }

    /// The topics that published outputs name, where an object may name others.
    ///
    /// An object notes the nodes all its lines name. Where every line is published that is the
    /// same; where copies were superseded or merged the published ones are read again, unless
    /// every topic has a record of its own and nothing depends on it.
    fn topics_named(
        &self,
        segments: &[Segments<'_>],
        outputs: &Rows,
    ) -> Result<Option<BTreeSet<u64>>> {
        let tally = &outputs.tally;
        let topics = &segments[Entity::Topic as usize];
        if tally.superseded + tally.merged == 0 || !has_mentioned_alone(topics)? {
            return Ok(None);
        }
        let of_outputs = &segments[Entity::Output as usize];
        let mut named = BTreeSet::new();
        for row in 0..outputs.order.len() {
            let (_, segment, key) = outputs.place(row, of_outputs).ok_or_else(broken)?;
            let blob = segment.blob(&key).ok_or_else(broken)?;
            let (archived, _) = split_blob(blob).ok_or_else(broken)?;
            let output = record::access::<Output>(archived).ok_or_else(broken)?;
            output.slots(&mut |slot| {
                if let Slot::Target(number) = slot {
                    let subject = segment.mentions.subject(number.to_native());
                    let topic = subject.filter(|(kind, _)| *kind == Entity::Topic as u8);
                    named.extend(topic.map(|(_, id)| id));
                }
            });
        }
        Ok(Some(named))
    }
}
