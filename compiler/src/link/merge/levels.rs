//! Merges every entity: outputs first, then the taxonomy from topics up, and the rest at the same time.
//!
//! A taxonomy node without counts of its own gets the sums of the level below it:
//!
//! ```text
//! outputs by primary topic → topics → subfields → fields → domains
//! ```
//!
//! Memory: the ids, sums and parents of one level's nodes, of which [`Linker::check_nodes`] limits the number.

use std::collections::{BTreeMap, BTreeSet};
use std::iter;

use pinakes_format::entity::Entity;
use pinakes_format::record;
use pinakes_format::record::{Output, Slot, SlotNumber};

use crate::error::{Error, Result};
use crate::link::context::{Linker, Segments, broken_object, inconsistent_object};
use crate::link::merge::copies::has_output_topics_alone;
use crate::link::merge::entity_rows::{EntityRows, Sums, add_to_sums, passed_on};
use crate::link::merge::orphans::{Orphans, TopicParents};
use crate::link::taxonomy::parent_id;
use crate::parallel;
use crate::parallel::cost::Phase;

/// The rows of every entity, and facts gathered while merging.
pub(crate) struct MergedRows {
    pub rows: Vec<EntityRows>,
    /// By level of the taxonomy.
    pub sums: BTreeMap<Entity, Sums>,
    /// The newest `updated_date`, in microseconds since 1970.
    pub newest_micros: Option<i64>,
    pub orphans: Orphans,
}

/// State passed from one entity's merge to the next.
#[derive(Default)]
struct MergeState {
    sums: BTreeMap<Entity, Sums>,
    /// The ids of the next level that published records of the level below name; `None` admits all.
    named: Option<BTreeSet<u64>>,
    newest_micros: Option<i64>,
    orphans: Orphans,
}

impl Linker<'_> {
    /// Merges the keys of every entity.
    pub(crate) fn merge_all(&self, segments: &[Segments<'_>]) -> Result<MergedRows> {
        let records: u64 = segments.iter().flatten().map(|segment| segment.count() as u64).sum();
        let bar = self.progress.begin("merge", "keys", records, records).recorded(Phase::Link);
        let parents = TopicParents::read(self, segments)?;
        let merge = |entities: Vec<Entity>| {
            let mut state = MergeState::default();
            let mut merged = Vec::with_capacity(entities.len());
            for entity in entities {
                let rows = self.merge_entity(entity, segments, &parents, &mut state)?;
                if entity == Entity::Output {
                    state.named = self.topics_named(segments, &rows)?;
                }
                merged.push((entity, rows));
            }
            Ok::<_, Error>((merged, state))
        };
        // The taxonomy needs the sums and topics of outputs. The other entities need neither.
        let bottom_up: Vec<Entity> = iter::once(Entity::Output).chain(Entity::taxonomy()).collect();
        let others = Entity::all().filter(|entity| !bottom_up.contains(entity)).collect();
        let (levels, others) = parallel::join(|| merge(bottom_up), || merge(others));
        let ((mut rows, state), (other_rows, other_state)) = (levels?, others?);
        rows.extend(other_rows);
        rows.sort_by_key(|(entity, _)| *entity as u8);
        bar.end();
        let MergeState { sums, newest_micros, orphans, .. } = state;
        Ok(MergedRows {
            rows: rows.into_iter().map(|(_, rows)| rows).collect(),
            sums,
            newest_micros: newest_micros.max(other_state.newest_micros),
            orphans,
        })
    }

    /// Merges the keys of one entity and passes its sums to the level above.
    fn merge_entity(
        &self,
        entity: Entity,
        segments: &[Segments<'_>],
        topic_parents: &TopicParents,
        state: &mut MergeState,
    ) -> Result<EntityRows> {
        let MergeState { sums, named, newest_micros, orphans } = state;
        let mut by_group = Sums::new();
        let mut parents = BTreeMap::new();
        let mut nodes = 0;
        let of_entity = &segments[entity as usize];
        let is_level = entity.facts().taxonomy_level.is_some();
        let mut merges = self.merges(entity)?;
        let mut own = Sums::new();
        if is_level {
            // The level below names nodes by their ids from before the merges.
            merges.settle(of_entity, named.as_ref())?;
            let redirects = self.redirects(merges)?;
            let below = sums.remove(&entity).unwrap_or_default();
            own = passed_on(&below, |id| Some(redirects.end(id)));
            if let Some(named) = named {
                let ends: Vec<u64> = named.iter().map(|id| redirects.end(*id)).collect();
                named.extend(ends);
            }
            merges = redirects.into_merges();
        }
        let admitted = named.as_ref().filter(|_| is_level);
        let rows = self.merge(entity, of_entity, merges, &own, admitted, |key, segment| {
            if is_level {
                nodes += 1;
                self.check_nodes(entity, nodes)?;
                let segment = of_entity.get(segment).ok_or_else(inconsistent_object)?;
                let blob = segment.blob(&key.place()).ok_or_else(inconsistent_object)?;
                if let Some(parent) = parent_id(entity, blob, segment) {
                    parents.insert(key.id, parent);
                }
                if entity == Entity::Topic && !topic_parents.has_all_of(blob, segment)? {
                    orphans.add(key);
                    return Ok(false);
                }
            }
            if key.origin.is_read() && key.updated_micros != i64::MIN {
                *newest_micros = (*newest_micros).max(Some(key.updated_micros));
            }
            add_to_sums(&mut by_group, key);
            self.check_nodes(Entity::Topic, by_group.len())?;
            Ok(true)
        })?;
        if is_level && named.is_some() {
            *named = Some(parents.values().copied().collect());
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

    /// Lists the topics that published outputs name; `None` if the objects name no others.
    ///
    /// An object records the topics of all its lines. Some of these lines may be superseded, merged or
    /// deleted, and then the topics come from the published outputs instead. That costs a read of every
    /// output, so it is skipped if every topic has a record of its own.
    fn topics_named(
        &self,
        segments: &[Segments<'_>],
        outputs: &EntityRows,
    ) -> Result<Option<BTreeSet<u64>>> {
        let tally = &outputs.tally;
        let topics = &segments[Entity::Topic as usize];
        if tally.superseded + tally.merged + tally.deleted == 0 || !has_output_topics_alone(topics)?
        {
            return Ok(None);
        }
        // Only outputs that are published may name a topic.
        let of_outputs = &segments[Entity::Output as usize];
        let mut named = BTreeSet::new();
        for row in 0..outputs.order.len() {
            let (_, segment, place) =
                outputs.locate(row, of_outputs).ok_or_else(inconsistent_object)?;
            let blob = segment.blob(&place).ok_or_else(inconsistent_object)?;
            let mut add_topic = |slot| {
                if let Slot::Reference(Entity::Topic, number) = slot {
                    let subject = segment.symbols.subject(SlotNumber::number(number));
                    named.extend(subject.map(|(_, id)| id));
                }
            };
            record::access(blob)
                .and_then(|stored| record::visit_slots::<Output>(stored.packed, &mut add_topic))
                .map_err(broken_object(Entity::Output, row as u32))?;
            self.check_nodes(Entity::Topic, named.len())?;
        }
        Ok(Some(named))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;

    use super::*;
    use crate::compile::compile;
    use crate::compile::input::{ManifestPolicy, find};
    use crate::object::{Check, Object, ObjectStore};
    use crate::read::limits::ReadLimits;
    use crate::terminal::progress::Progress;

    /// Merges three copies of a line of a folder, with the numbers 1 to 3 in place of `N`. Returns the error if a level
    /// may have only `nodes_max` nodes.
    fn merge_error(folder: &str, line: &str, nodes_max: u64) -> Option<String> {
        let directory = tempfile::tempdir().unwrap();
        let (input, objects) = (directory.path().join(folder), directory.path().join("objects"));
        fs::create_dir(&input).unwrap();
        let lines = [1, 2, 3].map(|number: u64| line.replace('N', &number.to_string()));
        fs::write(input.join("part_000.jsonl"), lines.join("\n")).unwrap();
        let parts = find(&[&input], ManifestPolicy::default()).unwrap().parts;
        let (objects, limits) = (ObjectStore::local(&objects), ReadLimits::default());
        let stage = compile(parts, &objects, &limits, Check::Whole, Progress::Quiet).unwrap();
        let objects: Vec<&Object> = stage.objects().collect();
        let linker = Linker::new(&objects, directory.path(), 1 << 20, Progress::Quiet);
        let linker = Linker { nodes_max, ..linker };
        let merged = linker.merge_all(&linker.segments());
        merged.err().map(|error| format!("{} {error}", error.exit_code()))
    }

    #[test]
    fn a_level_with_too_many_nodes_is_refused() {
        let topic = r#"{"id":"https://openalex.org/TN","display_name":"a"}"#;
        let work = format!(r#"{{"id":"https://openalex.org/WN","primary_topic":{topic}}}"#);
        let subfield = r#"{"id":"https://openalex.org/subfields/N","display_name":"a"}"#;
        let cases = [
            ("works", &*work, "topics"),
            ("topics", topic, "topics"),
            ("subfields", subfield, "subfields"),
        ];
        for (folder, line, level) in cases {
            assert_eq!(merge_error(folder, line, 3), None, "{folder}");
            let expected = format!(
                "4 the inputs hold or name more than 2 {level}, and no snapshot holds more; check the ids of the \
                 taxonomy in the inputs"
            );
            assert_eq!(merge_error(folder, line, 2), Some(expected), "{folder}");
        }
    }
}
