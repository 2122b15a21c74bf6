//! Parses the tokens of a search with syntax into a tree.

use crate::query::parse::error::nearest;
use crate::query::parse::search::plain::{fuzzy_of, is_pattern};
use crate::query::parse::search::tokens::{Token, TokenKind, field_names};
use crate::query::parse::search::tree::{
    Leaf, LeafKind, Node, PhrasePart, SyntaxError, Unit, count_clauses, units, word,
};
use crate::schema::{ANY_FIELD, Field};
use crate::text::analyzer::each_compound;

/// The most clauses of a search that is not plain; each part of a compound is one.
pub const CLAUSES_MAX: usize = 1_000;
/// The most parentheses around a clause.
const DEPTH_MAX: usize = 20;
/// The most words of a phrase.
const PHRASE_WORDS_MAX: usize = 64;
/// The greatest distance of a phrase.
const DISTANCE_MAX: u32 = 1_000;
/// The fewest letters before the first star or question mark of a pattern.
const PATTERN_LETTERS_MIN: usize = 3;
/// The most changes of `word~2`.
const EDITS_MAX: u32 = 2;

/// The fields of phrases without a field: all but the imprint.
const ANY_TEXT: u8 = ANY_FIELD & !Field::Imprint.bit();

fn too_many_clauses(position: usize) -> SyntaxError {
    let reason = format!("a search has at most {CLAUSES_MAX} clauses, words included");
    SyntaxError { position, reason }
}

/// Parses the tokens of a search with syntax.
pub(super) struct Parser<'p, 't> {
    tokens: &'p [Token<'t>],
    at: usize,
    /// The length of the search.
    end: usize,
    clauses: usize,
}

impl<'p, 't> Parser<'p, 't> {
    /// A parser of the tokens of a text with this length.
    pub fn new(tokens: &'p [Token<'t>], end: usize) -> Parser<'p, 't> {
        Parser { tokens, at: 0, end, clauses: 0 }
    }

    pub fn parse(mut self, fields: u8) -> Result<Node, SyntaxError> {
        let tree = self.or(fields, 0)?;
        match self.peek() {
            None => Ok(tree),
            Some(_) => Err(self.error("a parenthesis is closed that was not opened")),
        }
    }

    fn peek(&self) -> Option<&TokenKind<'t>> {
        self.tokens.get(self.at).map(|token| &token.kind)
    }

    fn position(&self) -> usize {
        self.tokens.get(self.at).map_or(self.end, |token| token.position)
    }

    fn error(&self, reason: impl Into<String>) -> SyntaxError {
        SyntaxError { position: self.position(), reason: reason.into() }
    }

    /// Counts clauses. An error names `position`.
    fn count(&mut self, clauses: usize, position: usize) -> Result<(), SyntaxError> {
        self.clauses += clauses;
        if self.clauses > CLAUSES_MAX { Err(too_many_clauses(position)) } else { Ok(()) }
    }

    fn or(&mut self, fields: u8, depth: usize) -> Result<Node, SyntaxError> {
        let mut nodes = vec![self.and(fields, depth)?];
        while self.peek() == Some(&TokenKind::Or) {
            self.at += 1;
            nodes.push(self.and(fields, depth)?);
        }
        Ok(match nodes.len() {
            1 => nodes.swap_remove(0),
            _ => Node::Or(nodes),
        })
    }

    fn and(&mut self, fields: u8, depth: usize) -> Result<Node, SyntaxError> {
        let (mut nodes, mut negated) = (Vec::new(), Vec::new());
        // A clause of punctuation alone is none of the nodes.
        let mut has_clause = false;
        loop {
            match self.peek() {
                None | Some(TokenKind::Or | TokenKind::Close) => break,
                Some(TokenKind::And) => {
                    if !has_clause {
                        return Err(self.error("AND has nothing before it"));
                    }
                    self.at += 1;
                    if matches!(
                        self.peek(),
                        None | Some(TokenKind::Or | TokenKind::And | TokenKind::Close)
                    ) {
                        return Err(self.error("AND has nothing after it"));
                    }
                    continue;
                }
                Some(TokenKind::Not | TokenKind::Minus) => {
                    self.at += 1;
                    if matches!(
                        self.peek(),
                        None | Some(TokenKind::Or | TokenKind::And | TokenKind::Close)
                    ) {
                        return Err(self.error("NOT has nothing after it"));
                    }
                    negated.extend(self.clause(fields, depth)?);
                }
                Some(_) => nodes.extend(self.clause(fields, depth)?),
            }
            has_clause = true;
        }
        if !has_clause {
            return Err(self.error("a clause is missing"));
        }
        Ok(match (nodes.len(), negated.len()) {
            (1, 0) => nodes.swap_remove(0),
            _ => Node::And { nodes, negated },
        })
    }

    /// Parses a clause; `None` for punctuation.
    fn clause(&mut self, fields: u8, depth: usize) -> Result<Option<Node>, SyntaxError> {
        let position = self.position();
        let refused = |reason: String| SyntaxError { position, reason };
        // Counting while parsing bounds the tree of a hostile search.
        self.count(1, position)?;
        let Some(kind) = self.peek().cloned() else {
            return Err(refused("a clause is missing".into()));
        };
        self.at += 1;
        match kind {
            TokenKind::Field(name) => {
                let field = Field::ALL.into_iter().find(|field| field.name() == Some(name));
                let Some(field) = field else {
                    let near = nearest(name, field_names()).unwrap_or("title");
                    let known: Vec<&str> = field_names().collect();
                    let known = known.join(", ");
                    return Err(refused(format!(
                        "`{name}:` is no field; did you mean `{near}:`? The fields are {known}"
                    )));
                };
                if fields != ANY_FIELD {
                    return Err(refused("a field stands inside another field".into()));
                }
                self.clause(field.bit(), depth)
            }
            TokenKind::Open => {
                if depth == DEPTH_MAX {
                    return Err(refused(format!("parentheses are at most {DEPTH_MAX} deep")));
                }
                let inner = self.or(fields, depth + 1)?;
                if self.peek() != Some(&TokenKind::Close) {
                    return Err(refused("a parenthesis is not closed".into()));
                }
                self.at += 1;
                Ok(Some(inner))
            }
            TokenKind::Quoted(None) => Err(refused("a quote is not closed".into())),
            TokenKind::Quoted(Some((text, distance))) => {
                // A phrase is text, and imprints are numbers: years, volumes and pages.
                let fields = if fields == ANY_FIELD { ANY_TEXT } else { fields };
                phrase(text, distance, fields).map_err(refused)
            }
            TokenKind::Word(text) => {
                let node = word_clause(text, fields).map_err(refused)?;
                // A compound becomes a clause for each of its parts.
                let others = node.as_ref().map_or(0, |node| count_clauses(node).saturating_sub(1));
                self.count(others, position)?;
                Ok(node)
            }
            TokenKind::Close => Err(refused("a parenthesis is closed that was not opened".into())),
            TokenKind::And | TokenKind::Or | TokenKind::Not | TokenKind::Minus => {
                Err(refused("an operator has nothing before it".into()))
            }
        }
    }
}

/// A word of a search with syntax: a pattern, a word with changes, or words that no space separates.
fn word_clause(text: &str, fields: u8) -> Result<Option<Node>, String> {
    if is_pattern(text) {
        let pattern = pattern(text)?;
        return Ok(Some(Node::Leaf(Leaf { fields, kind: LeafKind::Pattern(pattern) })));
    }
    if let Some((text, edits)) = fuzzy_of(text) {
        if edits > EDITS_MAX {
            return Err(format!("a word has at most {EDITS_MAX} changes"));
        }
        let mut units = all_units(text);
        if let ([Unit { parts, .. }], 1..) = (units.as_mut_slice(), edits)
            && parts.len() == 1
        {
            let word = parts.swap_remove(0);
            return Ok(Some(Node::Leaf(Leaf { fields, kind: LeafKind::Fuzzy(word, edits) })));
        }
        return Ok(all_of(units, fields));
    }
    Ok(all_of(all_units(text), fields))
}

fn all_units(text: &str) -> Vec<Unit> {
    let mut all = Vec::new();
    each_compound(text, |compound| all.extend(units(compound)));
    all
}

fn all_of(units: Vec<Unit>, fields: u8) -> Option<Node> {
    let mut nodes: Vec<Node> = units.into_iter().map(|unit| word(unit, fields)).collect();
    match nodes.len() {
        0 | 1 => nodes.pop(),
        _ => Some(Node::And { nodes, negated: Vec::new() }),
    }
}

/// Folds a pattern, and keeps its stars and question marks.
fn pattern(text: &str) -> Result<String, String> {
    let mut folded = String::with_capacity(text.len());
    for piece in text.split_inclusive(['*', '?']) {
        let (letters, sign) = match piece.char_indices().last() {
            Some((at, sign @ ('*' | '?'))) => (&piece[..at], Some(sign)),
            _ => (piece, None),
        };
        // A hyphen or an apostrophe inside of a word joins its parts.
        each_compound(letters, |compound| match compound.joined() {
            Some(joined) => folded.push_str(joined),
            None => compound.parts().for_each(|part| folded.push_str(part)),
        });
        folded.extend(sign);
    }
    let letters = folded.find(['*', '?']).map_or(0, |at| folded[..at].chars().count());
    if letters < PATTERN_LETTERS_MIN {
        return Err(format!(
            "a pattern has at least {PATTERN_LETTERS_MIN} letters before its first `*` or `?`"
        ));
    }
    Ok(folded)
}

fn phrase(text: &str, distance: Option<u32>, fields: u8) -> Result<Option<Node>, String> {
    if distance.is_some_and(|distance| distance > DISTANCE_MAX) {
        return Err(format!("words of a phrase are at most {DISTANCE_MAX} positions apart"));
    }
    let mut parts = Vec::new();
    for word in text.split_whitespace() {
        if is_pattern(word) {
            parts.push(PhrasePart::Pattern(pattern(word)?));
            continue;
        }
        each_compound(word, |compound| {
            parts.extend(compound.parts().map(|part| PhrasePart::Word(part.to_owned())));
        });
    }
    if parts.len() > PHRASE_WORDS_MAX {
        return Err(format!("a phrase has at most {PHRASE_WORDS_MAX} words"));
    }
    if let ([PhrasePart::Word(only)], _) = (parts.as_slice(), distance) {
        let unit = Unit { parts: vec![only.clone()], joined: None };
        return Ok(Some(word_leaf(unit, fields)));
    }
    if parts.is_empty() {
        return Ok(None);
    }
    Ok(Some(Node::Leaf(Leaf { fields, kind: LeafKind::Phrase { parts, distance } })))
}

fn word_leaf(unit: Unit, fields: u8) -> Node {
    word(unit, fields)
}
