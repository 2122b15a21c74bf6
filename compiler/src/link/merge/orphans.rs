//! Topics that have no place in the taxonomy: they name a parent that no source names.

use std::collections::BTreeSet;

use pinakes_format::entity::{Entity, NO_ID};
use pinakes_format::record;
use pinakes_format::record::Topic;
use pinakes_format::snapshot::split_blob;

use crate::error::Result;
use crate::link::merge::ids;
use crate::link::merge::redirects::Redirects;
use crate::link::{Linker, Segments, broken};
use crate::object::Key;
use crate::object::file::Segment;

/// The nodes on the levels above topics, whatever source names them.
pub(crate) struct Above {
    subfields: Level,
    fields: Level,
    domains: Level,
}

struct Level {
    ids: Vec<u64>,
    redirects: Redirects,
}

impl Level {
    fn find(linker: &Linker<'_>, entity: Entity, segments: &[Segments<'_>]) -> Result<Level> {
        let segments = &segments[entity as usize];
        let mut redirects = linker.redirects(entity)?;
        redirects.settle(segments, None)?;
        Ok(Level { ids: ids(segments)?, redirects })
    }

    fn has(&self, id: u64) -> bool {
        let end = self.redirects.end(id);
        // Where merges run in a circle it is not left.
        !self.redirects.has_taken(end) && self.ids.binary_search(&end).is_ok()
    }
}

impl Above {
    /// Finds the nodes that a linker's segments name. Few: the taxonomy has some hundreds.
    pub(crate) fn find(linker: &Linker<'_>, segments: &[Segments<'_>]) -> Result<Above> {
        Ok(Above {
            subfields: Level::find(linker, Entity::Subfield, segments)?,
            fields: Level::find(linker, Entity::Field, segments)?,
            domains: Level::find(linker, Entity::Domain, segments)?,
        })
    }

    /// Whether each parent that a topic names is there; a topic that names none has its place.
    pub(crate) fn holds(&self, blob: &[u8], segment: &Segment<'_>) -> Result<bool> {
        let (archived, _) = split_blob(blob).ok_or_else(broken)?;
        let topic = record::access::<Topic>(archived).ok_or_else(broken)?;
        let stands = |level: &Level, mention: Option<u32>| {
            let Some(mention) = mention else { return Ok(true) };
            let (_, id) = segment.mentions.subject(mention).ok_or_else(broken)?;
            Ok(id == NO_ID || level.has(id))
        };
        let subfield = topic.subfield.as_ref().map(|parent| parent.0.to_native());
        let field = topic.field.as_ref().map(|parent| parent.0.to_native());
        let domain = topic.domain.as_ref().map(|parent| parent.0.to_native());
        Ok(stands(&self.subfields, subfield)?
            && stands(&self.fields, field)?
            && stands(&self.domains, domain)?)
    }
}

/// The topics set aside.
#[derive(Debug, Default)]
pub struct Orphans {
    /// The hashes of their lines.
    pub line_hashes: BTreeSet<[u8; 16]>,
    /// Of them, those with a line or row of their own; the others are only named by outputs.
    pub read: u64,
}

impl Orphans {
    pub(crate) fn take(&mut self, key: &Key) {
        if key.origin.is_read() {
            self.line_hashes.insert(key.line_hash);
            self.read += 1;
        }
    }
}
