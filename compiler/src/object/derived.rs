//! Taxonomy nodes derived from references.
//!
//! A dump may refer to a topic or field without holding a line of the node. The references in one
//! part become derived records; at linking, a line of the node takes precedence.

use std::collections::HashMap;

use pinakes_format::entity::Entity;
use pinakes_format::record::{Domain, Field, Id, Subfield, Topic};

use crate::object::Origin;
use crate::object::chains::{LEVELS, NamedBy, NodeRef, push_name};
use crate::object::key::hash_line;
use crate::object::segment::{Provenance, SegmentBuilder};

/// Nodes and bytes of names in memory before the nodes are written: more than ten times the taxonomy.
const NODES_MAX: usize = 50_000;
const NAME_BYTES_MAX: usize = 16 << 20;

const CHAIN: [Entity; LEVELS] = [Entity::Topic, Entity::Subfield, Entity::Field, Entity::Domain];

/// An owned [`NodeRef`] of a parent.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Parent {
    id: u64,
    name: Option<String>,
}

/// A derived node. The greatest of several copies wins.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DerivedNode {
    origin: Origin,
    named_by: NamedBy,
    name: Option<String>,
    /// The nodes above, nearest first.
    parents: Vec<Option<Parent>>,
}

/// The nodes derived from the lines of one part.
#[derive(Default)]
pub struct DerivedNodes {
    /// Most chains look their nodes up, so the map is hashed; the seed is random, because ids come from lines.
    nodes: HashMap<(Entity, u64), DerivedNode, foldhash::fast::RandomState>,
    name_bytes: usize,
}

impl DerivedNodes {
    /// Adds the nodes of a reference, lowest level first; the last is a domain.
    pub fn add(&mut self, nodes: &[Option<NodeRef<'_>>], origin: Origin, named_by: NamedBy) {
        let levels = &CHAIN[CHAIN.len() - nodes.len()..];
        for (at, (entity, node)) in levels.iter().zip(nodes).enumerate() {
            let Some(NodeRef { id, name: Some(name) }) = node else { continue };
            let known = self.nodes.get(&(*entity, *id));
            let is_stronger =
                |known: &DerivedNode| (origin, named_by) < (known.origin, known.named_by);
            if known.is_some_and(is_stronger) {
                continue;
            }
            let kept =
                |node: &NodeRef<'_>| Parent { id: node.id, name: node.name.map(str::to_owned) };
            let parents = nodes[at + 1..].iter().map(|above| above.as_ref().map(kept)).collect();
            let name = Some((*name).to_owned());
            let fresh = DerivedNode { origin, named_by, name, parents };
            if known.is_none_or(|known| *known < fresh) {
                self.name_bytes += fresh.name_bytes();
                self.nodes.insert((*entity, *id), fresh);
            }
        }
    }

    /// Whether the nodes take so much memory that they should be written.
    pub fn is_full(&self) -> bool {
        self.nodes.len() >= NODES_MAX || self.name_bytes >= NAME_BYTES_MAX
    }

    /// Takes all nodes, by entity and id.
    pub fn take(&mut self) -> Vec<((Entity, u64), DerivedNode)> {
        self.name_bytes = 0;
        let mut nodes: Vec<_> = std::mem::take(&mut self.nodes).into_iter().collect();
        nodes.sort_unstable_by_key(|(key, _)| *key);
        nodes
    }
}

impl DerivedNode {
    fn name_bytes(&self) -> usize {
        let parents = self.parents.iter().flatten().filter_map(|parent| parent.name.as_ref());
        self.name.iter().chain(parents).map(String::len).sum()
    }

    /// Bytes that order nodes of equal origin and date like the nodes of one part, the same on every machine.
    fn hash(&self) -> [u8; 16] {
        let mut content = Vec::with_capacity(512);
        push_name(self.name.as_deref(), &mut content);
        for parent in &self.parents {
            content.push(parent.is_some().into());
            if let Some(Parent { id, name }) = parent {
                content.extend_from_slice(&id.to_le_bytes());
                push_name(name.as_deref(), &mut content);
            }
        }
        let mut hash = hash_line(&content);
        hash[..8].copy_from_slice(&(u64::MAX - self.named_by.id.0).to_be_bytes());
        hash
    }

    /// Adds the node to a segment as a record.
    pub fn push(
        &self,
        entity: Entity,
        id: u64,
        segment: &mut SegmentBuilder,
    ) -> std::io::Result<[u8; 16]> {
        let provenance = Provenance {
            origin: self.origin,
            updated_micros: self.named_by.updated_micros,
            line_hash: Some(self.hash()),
            group: None,
        };
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
