//! The clauses of a search that a record must have.

use crate::query::parse::search::{Leaf, LeafKind, Node, Unit};
use crate::text::analyzer::is_stop_word;

/// The nodes that are required: very frequent words are not, beside others.
pub(super) fn required(nodes: &[Node]) -> impl Iterator<Item = &Node> {
    let is_frequent = |node: &Node| match node {
        Node::Leaf(Leaf { kind: LeafKind::Word(Unit { parts, joined: None }), .. }) => {
            matches!(parts.as_slice(), [only] if is_stop_word(only))
        }
        _ => false,
    };
    let has_other = nodes.iter().any(|node| !is_frequent(node));
    nodes.iter().filter(move |node| !has_other || !is_frequent(node))
}
