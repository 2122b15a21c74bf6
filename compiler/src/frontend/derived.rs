//! Taxonomy nodes derived from references.
//!
//! A dump may refer to a topic or field without holding a line of the node. The references in one
//! part become derived records; at linking, a line of the node takes precedence.

use std::collections::HashMap;

use pinakes_format::entity::Entity;
use pinakes_format::record::value::Id;
use pinakes_format::record::{Domain, Field, Subfield, Topic};

use crate::error::{Error, Result};
use crate::object::key::hash_line;
use crate::object::segment::{Provenance, SegmentBuilder};
use crate::object::{ObjectWriter, Origin};

/// Nodes in memory before they are written: ten times the taxonomy, a few megabytes.
const NODES_MAX: usize = 50_000;

/// A reference to a node: its id, and its name where the reference has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeRef<'a> {
    pub id: u64,
    pub name: Option<&'a str>,
}

/// An owned [`NodeRef`] of a parent.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Parent {
    id: u64,
    name: Option<String>,
}

/// A derived node. The greatest of several copies wins.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct DerivedNode {
    origin: Origin,
    updated_micros: i64,
    name: Option<String>,
    /// The nodes above, nearest first.
    parents: Vec<Option<Parent>>,
}

/// The nodes derived from the lines of one part.
#[derive(Default)]
pub struct DerivedNodes {
    /// Every line looks its nodes up, so the map is hashed; the seed is random, because ids come from lines.
    nodes: HashMap<(Entity, u64), DerivedNode, foldhash::fast::RandomState>,
}

/// The nodes of one line from a topic up to its domain; `None` where the line omits a level.
pub type Chain<'a> = [(Entity, Option<NodeRef<'a>>)];

impl DerivedNodes {
    /// Adds the nodes of a chain, lowest first. The nodes after a node are its parents.
    pub fn add(
        &mut self,
        chain: &Chain<'_>,
        origin: Origin,
        updated_micros: i64,
        object: &mut ObjectWriter,
    ) -> Result<()> {
        for (at, (entity, node)) in chain.iter().enumerate() {
            let Some(node) = node else { continue };
            let known = self.nodes.get(&(*entity, node.id));
            let is_stronger = |known: &DerivedNode| {
                (origin, updated_micros) < (known.origin, known.updated_micros)
            };
            if known.is_some_and(is_stronger) || node.name.is_none() {
                continue;
            }
            // Most lines repeat the names of earlier lines: skip them before allocating.
            if known.is_some_and(|known| {
                (known.origin, known.updated_micros) == (origin, updated_micros)
                    && known.name.as_deref() == node.name
            }) {
                continue;
            }
            let kept =
                |node: &NodeRef<'_>| Parent { id: node.id, name: node.name.map(str::to_owned) };
            let parents =
                chain[at + 1..].iter().map(|(_, above)| above.as_ref().map(kept)).collect();
            let name = node.name.map(str::to_owned);
            let fresh = DerivedNode { origin, updated_micros, name, parents };
            if known.is_none_or(|known| *known < fresh) {
                self.nodes.insert((*entity, node.id), fresh);
            }
        }
        if self.nodes.len() >= NODES_MAX { self.write(object) } else { Ok(()) }
    }

    /// Writes the nodes as records and clears them.
    pub fn write(&mut self, object: &mut ObjectWriter) -> Result<()> {
        let mut nodes: Vec<_> = std::mem::take(&mut self.nodes).into_iter().collect();
        nodes.sort_unstable_by_key(|(key, _)| *key);
        for ((entity, id), node) in nodes {
            let segment = object.segment(entity)?;
            let provenance = Provenance {
                origin: node.origin,
                updated_micros: node.updated_micros,
                line_hash: Some(node.hash()),
                group: None,
            };
            node.push(entity, id, segment, provenance)
                .map(drop)
                .map_err(|error| Error::Internal(format!("a derived node: {error}")))?;
        }
        Ok(())
    }
}

impl DerivedNode {
    /// A hash that orders nodes of equal origin and date, the same on every machine.
    fn hash(&self) -> [u8; 16] {
        let text = format!("{:?} {:?}", self.name, self.parents);
        hash_line(text.as_bytes())
    }

    fn push(
        &self,
        entity: Entity,
        id: u64,
        segment: &mut SegmentBuilder,
        provenance: Provenance,
    ) -> std::io::Result<[u8; 16]> {
        let parent = |at: usize| self.parents.get(at).cloned().flatten();
        /// The reference to a parent, if the node has it.
        macro_rules! parent_ref {
            ($at:expr) => {
                parent($at).map(|node| segment.parent(Some(node.id), node.name.as_deref()))
            };
        }
        let name = self.name.clone();
        match entity {
            Entity::Topic => {
                let (subfield, field, domain) = (parent_ref!(0), parent_ref!(1), parent_ref!(2));
                let topic = Topic { id: Id(id), name, subfield, field, domain, ..Topic::default() };
                segment.push(&topic, provenance)
            }
            Entity::Subfield => {
                let (field, domain) = (parent_ref!(0), parent_ref!(1));
                let subfield = Subfield { id: Id(id), name, field, domain, ..Subfield::default() };
                segment.push(&subfield, provenance)
            }
            Entity::Field => {
                let domain = parent_ref!(0);
                let field = Field { id: Id(id), name, domain, ..Field::default() };
                segment.push(&field, provenance)
            }
            Entity::Domain => {
                segment.push(&Domain { id: Id(id), name, ..Domain::default() }, provenance)
            }
            _ => Err(std::io::Error::other(format!("{entity} is no level of the taxonomy"))),
        }
    }
}
