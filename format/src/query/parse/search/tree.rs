//! The tree of a search, and why a text has none.

use crate::text::analyzer::Compound;

/// The most parts of a compound that stand side by side. A longer compound is cut, and all pieces are required.
const COMPOUND_PARTS_MAX: usize = 64;

/// Why a search is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// The byte of the search at which the error stands.
    pub position: usize,
    /// Says why the search is wrong, and names the right form.
    pub reason: String,
}

/// A node of a search.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::query) enum Node {
    /// All of these, without any of the negated.
    And {
        nodes: Vec<Node>,
        negated: Vec<Node>,
    },
    /// Any of these.
    Or(Vec<Node>),
    Leaf(Leaf),
}

/// A clause that looks up words, in the fields of a set.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::query) struct Leaf {
    pub fields: u8,
    pub kind: LeafKind,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::query) enum LeafKind {
    /// One word, or several that no space separates.
    Word(Unit),
    /// Any word within this many changes.
    Fuzzy(String, u32),
    /// Any word of a pattern.
    Pattern(String),
    /// Words side by side, or with a distance in any order.
    Phrase { parts: Vec<PhrasePart>, distance: Option<u32> },
}

/// A word of a phrase.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::query) enum PhrasePart {
    Word(String),
    Pattern(String),
}

/// The words of a compound: `COVID-19` has two, and the joined form `covid19`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::query) struct Unit {
    pub parts: Vec<String>,
    pub joined: Option<String>,
}

/// The units of a compound: its parts are words of their own if nothing joins them, as in `271-280`.
pub(super) fn units(compound: &Compound) -> Vec<Unit> {
    let parts: Vec<String> = compound.parts().map(str::to_owned).collect();
    let joined = compound.joined().map(str::to_owned);
    let is_range = joined.is_none() && parts[0].starts_with(|c: char| c.is_ascii_digit());
    let parts_max = if is_range { 1 } else { COMPOUND_PARTS_MAX };
    match parts.len() <= parts_max {
        true => vec![Unit { parts, joined }],
        false => {
            let pieces = parts.chunks(parts_max);
            pieces.map(|piece| Unit { parts: piece.to_vec(), joined: None }).collect()
        }
    }
}

/// The clauses of a node as the limit counts them.
pub(super) fn count_clauses(node: &Node) -> usize {
    match node {
        Node::And { nodes, .. } | Node::Or(nodes) => nodes.iter().map(count_clauses).sum(),
        Node::Leaf(Leaf { kind: LeafKind::Word(Unit { parts, .. }), .. }) => parts.len(),
        Node::Leaf(_) => 1,
    }
}

pub(super) fn word(unit: Unit, fields: u8) -> Node {
    Node::Leaf(Leaf { fields, kind: LeafKind::Word(unit) })
}
