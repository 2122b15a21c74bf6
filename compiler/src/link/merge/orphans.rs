//! Orphans: topics that name a parent which no input has a record of.

use std::collections::BTreeSet;

use pinakes_format::entity::{Entity, NO_ID};
use pinakes_format::record;
use pinakes_format::record::Topic;

use crate::error::Result;
use crate::link::context::{Linker, Segments, broken_object, inconsistent_object};
use crate::link::merge::copies::each_winner;
use crate::link::merge::deletions::Deletions;
use crate::link::merge::redirects::Redirects;
use crate::object::{RecordKey, Segment};

/// The ids of the subfields, fields and domains that any input names.
pub(crate) struct TopicParents {
    subfields: Level,
    fields: Level,
    domains: Level,
}

struct Level {
    /// Ascending, without the deleted ids.
    ids: Vec<u64>,
    redirects: Redirects,
}

impl Level {
    fn read(linker: &Linker<'_>, entity: Entity, segments: &[Segments<'_>]) -> Result<Level> {
        let segments = &segments[entity as usize];
        let merges = linker.merges(entity)?;
        merges.settle(segments, None)?;
        let (mut ids, mut deletions) = (Vec::new(), Deletions::new(linker, entity));
        each_winner(segments, None, |key| {
            // One id too many is enough for the check.
            if !deletions.removes(key) && ids.len() as u64 <= linker.nodes_max {
                ids.push(key.id);
            }
        })?;
        linker.check_nodes(entity, ids.len())?;
        Ok(Level { ids, redirects: linker.redirects(merges)? })
    }

    fn has(&self, id: u64) -> bool {
        let end = self.redirects.end(id);
        // The end of a cycle is the id itself, which the merge removed.
        !self.redirects.has_removed(end) && self.ids.binary_search(&end).is_ok()
    }
}

impl TopicParents {
    /// Reads the ids from the segments. OpenAlex has a few hundred.
    pub(crate) fn read(linker: &Linker<'_>, segments: &[Segments<'_>]) -> Result<TopicParents> {
        Ok(TopicParents {
            subfields: Level::read(linker, Entity::Subfield, segments)?,
            fields: Level::read(linker, Entity::Field, segments)?,
            domains: Level::read(linker, Entity::Domain, segments)?,
        })
    }

    /// Whether every parent that the topic names exists. A topic may name none.
    pub(crate) fn has_all_of(&self, blob: &[u8], segment: &Segment<'_>) -> Result<bool> {
        let topic = record::access(blob).and_then(|stored| record::read(stored.packed));
        let topic: Topic = topic.map_err(broken_object(Entity::Topic, None))?;
        let exists = |level: &Level, symbol: Option<u32>| -> Result<bool> {
            let Some(symbol) = symbol else { return Ok(true) };
            let (_, id) = segment.symbols.subject(symbol).ok_or_else(inconsistent_object)?;
            Ok(id == NO_ID || level.has(id))
        };
        let subfield = topic.subfield.map(|parent| parent.0);
        let field = topic.field.map(|parent| parent.0);
        let domain = topic.domain.map(|parent| parent.0);
        Ok(exists(&self.subfields, subfield)?
            && exists(&self.fields, field)?
            && exists(&self.domains, domain)?)
    }
}

/// The topics quarantined by the link.
#[derive(Debug, Default)]
pub struct Orphans {
    /// The hashes of their lines.
    pub line_hashes: BTreeSet<[u8; 16]>,
    /// Orphans with a line or row of their own; the others are known from outputs only.
    pub read: u64,
}

impl Orphans {
    pub(crate) fn add(&mut self, key: &RecordKey) {
        if key.origin.is_read() {
            self.line_hashes.insert(key.line_hash);
            self.read += 1;
        }
    }
}
