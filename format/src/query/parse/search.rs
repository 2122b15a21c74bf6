//! Parses the text of a search into a tree.
//!
//! ```text
//! query  = clause *( ['AND'] clause | 'OR' clause | ('NOT' | '-') clause )     OR binds less than AND
//! clause = [field ':'] ( word | pattern | word '~' edits | '"' phrase '"' [ '~' distance ] | '(' query ')' )
//! ```
//!
//! A query without operators, fields, stars and quotes is *plain*: a title or a citation as somebody typed it. Nothing in a
//! plain query is an error.

use crate::query::parse::error::nearest;
use crate::schema::texts::{ANY_FIELD, Field};
use crate::text::analyzer::{Compound, each_compound};

/// The most bytes of a search.
pub const SEARCH_BYTES_MAX: usize = 16 << 10;
/// The most clauses of a search that is not plain; each part of a compound is one.
pub const CLAUSES_MAX: usize = 1_000;
/// The most parts of a compound that stand side by side. A longer compound is cut, and all pieces are required.
const COMPOUND_PARTS_MAX: usize = 64;
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
/// Words besides a quoted title that make a text a citation, if one of them is a year.
const CITATION_WORDS_MIN: usize = 4;
/// Words besides a quotation that make a text a question in sentences.
const PROSE_WORDS_MIN: usize = 8;

/// The fields of phrases without a field: all but the imprint.
const ANY_TEXT: u8 = ANY_FIELD & !Field::Imprint.bit();

/// Why a search is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// The byte of the search at which the error stands.
    pub position: usize,
    /// Says why the search is wrong, and names the right form.
    pub reason: String,
}

/// A search that a snapshot can be asked for: its text is parsed, and its limits are checked.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Search {
    /// The search as the client wrote it.
    pub text: String,
    /// Whether words are compared as they are written, without stemming.
    pub is_exact: bool,
    /// Whether the search is plain.
    pub is_plain: bool,
    /// The parameter that the search is a value of.
    pub(in crate::query) parameter: &'static str,
    pub(in crate::query) tree: Node,
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

impl Search {
    /// Parses a search.
    ///
    /// # Errors
    ///
    /// Where the search is too long, or is not plain and breaks the syntax.
    pub fn parse(text: &str, is_exact: bool) -> Result<Search, SyntaxError> {
        let parameter = if is_exact { "search.exact" } else { "search" };
        Ok(Search { parameter, ..Search::parse_in(text, is_exact, ANY_FIELD)? })
    }

    /// Parses the value of a filter: a search in some fields, which are a set of bits.
    ///
    /// # Errors
    ///
    /// As [`Search::parse`].
    pub(in crate::query) fn parse_in(
        text: &str,
        is_exact: bool,
        fields: u8,
    ) -> Result<Search, SyntaxError> {
        if text.len() > SEARCH_BYTES_MAX {
            let reason = format!("a search has at most {SEARCH_BYTES_MAX} bytes");
            return Err(SyntaxError { position: SEARCH_BYTES_MAX, reason });
        }
        let tokens = tokenize(text);
        let is_plain = is_plain(text, &tokens);
        let tree = match is_plain {
            true => plain(text, fields),
            false => {
                Parser { tokens: &tokens, at: 0, end: text.len(), clauses: 0 }.parse(fields)?
            }
        };
        // A filter of some fields has all words there: no other record matches, whatever other fields say.
        let is_plain = is_plain && fields == ANY_FIELD;
        Ok(Search { text: text.to_owned(), is_exact, is_plain, parameter: "filter", tree })
    }
}

/// A token of the syntax, and the byte at which it begins.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Token<'t> {
    position: usize,
    kind: TokenKind<'t>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum TokenKind<'t> {
    And,
    Or,
    Not,
    Minus,
    Open,
    Close,
    /// The name of a field, known or not.
    Field(&'t str),
    /// The text between two quotes, and the distance behind; `None` if the second quote is missing.
    Quoted(Option<(&'t str, Option<u32>)>),
    Word(&'t str),
}

/// Splits a search into tokens.
fn tokenize(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut position = 0;
    let mut is_after_space = true;
    while let Some(c) = text[position..].chars().next() {
        let rest = &text[position..];
        let mut length = c.len_utf8();
        let kind = match c {
            c if c.is_whitespace() => None,
            '(' => Some(TokenKind::Open),
            ')' => Some(TokenKind::Close),
            '"' | '“' | '”' | '„' => {
                let (quoted, whole) = quoted(rest, c.len_utf8());
                length = whole;
                Some(quoted)
            }
            '-' if is_after_space && starts_clause(&rest[1..]) => Some(TokenKind::Minus),
            _ => {
                let end = rest.find(|c: char| c.is_whitespace() || "()\"“”„".contains(c));
                let word = &rest[..end.unwrap_or(rest.len())];
                length = word.len();
                Some(match word {
                    "AND" => TokenKind::And,
                    "OR" => TokenKind::Or,
                    "NOT" => TokenKind::Not,
                    _ => match field_of(word, &rest[word.len()..]) {
                        Some(name) => {
                            length = name.len() + 1;
                            TokenKind::Field(name)
                        }
                        None => TokenKind::Word(word),
                    },
                })
            }
        };
        // A clause may follow a parenthesis or a field without a space.
        is_after_space = c.is_whitespace()
            || matches!(kind, Some(TokenKind::Open | TokenKind::Field(_) | TokenKind::Minus));
        if let Some(kind) = kind {
            tokens.push(Token { position, kind });
        }
        position += length;
    }
    tokens
}

/// Whether a clause begins here: a letter, a digit, a quote or a parenthesis.
fn starts_clause(rest: &str) -> bool {
    rest.chars().next().is_some_and(|c| c.is_alphanumeric() || "(\"“".contains(c))
}

/// The name of a field before the first colon of a word, if a clause follows the colon at once, and the name is like that of
/// a field.
fn field_of<'t>(word: &'t str, behind: &str) -> Option<&'t str> {
    let (name, value) = word.split_once(':')?;
    let follows = if value.is_empty() { behind } else { value };
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase());
    let is_known = is_name && nearest(name, field_names()).is_some();
    (is_known && starts_clause(follows)).then_some(name)
}

/// The names of fields in searches.
fn field_names() -> impl Iterator<Item = &'static str> {
    Field::ALL.into_iter().filter_map(Field::name)
}

/// Splits the text after an opening quote at the closing one, and reads the distance. Also returns the length of all.
fn quoted(rest: &str, quote: usize) -> (TokenKind<'_>, usize) {
    let inner = &rest[quote..];
    let Some(end) = inner.find(['"', '“', '”']) else {
        return (TokenKind::Quoted(None), quote);
    };
    let behind = &inner[end + inner[end..].chars().next().map_or(0, char::len_utf8)..];
    let (distance, digits) = distance_of(behind);
    let length = rest.len() - behind.len() + digits;
    (TokenKind::Quoted(Some((&inner[..end], distance))), length)
}

/// Reads `~5`. Returns the number and the bytes read.
fn distance_of(text: &str) -> (Option<u32>, usize) {
    let Some(digits) = text.strip_prefix('~') else { return (None, 0) };
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    // A distance that does not fit is refused as too great.
    match digits[..end].is_empty() {
        true => (None, 0),
        false => (Some(digits[..end].parse().unwrap_or(u32::MAX)), end + 1),
    }
}

/// Whether a search has no syntax.
fn is_plain(text: &str, tokens: &[Token<'_>]) -> bool {
    let has = |is: fn(&TokenKind<'_>) -> bool| tokens.iter().any(|token| is(&token.kind));
    let is_one_word = tokens.len() == 1;
    let has_word_syntax = tokens.iter().any(|token| match token.kind {
        TokenKind::Word(word) if is_one_word => has_syntax(word),
        // The question mark at the end of a title or a sentence is no pattern.
        TokenKind::Word(word) => {
            let word = word.trim_end_matches(|c: char| c.is_ascii_punctuation() && c != '*');
            has_syntax(&without_question_marks(word))
        }
        _ => false,
    });
    if has_word_syntax
        || has(|kind| {
            matches!(kind, TokenKind::Or | TokenKind::Not | TokenKind::Minus | TokenKind::Field(_))
        })
    {
        return false;
    }
    // In a title in capitals AND is a word.
    if has(|kind| *kind == TokenKind::And) && text.chars().any(char::is_lowercase) {
        return false;
    }
    let has_phrase = has(|kind| matches!(kind, TokenKind::Quoted(Some(_))));
    !has_phrase || is_prose(tokens)
}

/// Whether a text with a quotation is a citation or a question in sentences: it has many other words, or some and a year.
fn is_prose(tokens: &[Token<'_>]) -> bool {
    let words = || {
        tokens.iter().filter_map(|token| match token.kind {
            TokenKind::Word(word) => Some(word.trim_matches(|c: char| !c.is_alphanumeric())),
            _ => None,
        })
    };
    let is_year = |word: &str| {
        word.len() == 4
            && word.starts_with(['1', '2'])
            && word.bytes().all(|byte| byte.is_ascii_digit())
    };
    let count = words().count();
    count >= PROSE_WORDS_MIN || count >= CITATION_WORDS_MIN && words().any(is_year)
}

/// Leaves out the question marks before punctuation: `messages?--that`.
fn without_question_marks(word: &str) -> String {
    let mut is_within = true;
    let mut kept: Vec<char> = Vec::new();
    for c in word.chars().rev() {
        if c != '?' {
            is_within = c.is_alphanumeric() || c == '*';
        }
        if c != '?' || is_within {
            kept.push(c);
        }
    }
    kept.into_iter().rev().collect()
}

/// Whether a word has a star, a question mark within, or a number of changes.
fn has_syntax(word: &str) -> bool {
    is_pattern(word) || fuzzy_of(word).is_some()
}

/// Whether a word has a star after a letter, or a question mark after a letter or a star.
fn is_pattern(word: &str) -> bool {
    let mut before = None;
    word.chars().any(|c| {
        let is_sign = matches!(c, '*' | '?');
        let follows =
            before.replace(c).is_some_and(|before: char| before.is_alphanumeric() || before == '*');
        is_sign && follows
    })
}

/// Splits `word~1`.
fn fuzzy_of(word: &str) -> Option<(&str, u32)> {
    let (word, edits) = word.rsplit_once('~')?;
    let is_number = !edits.is_empty() && edits.bytes().all(|byte| byte.is_ascii_digit());
    // A number that does not fit is refused as too great.
    let edits = is_number.then(|| edits.parse().unwrap_or(u32::MAX));
    edits.map(|edits| (word, edits)).filter(|(word, _)| word.chars().any(char::is_alphanumeric))
}

/// All words of a text, none of them as an operator. Nothing is an error, also not the number of words: their bytes are bounded.
fn plain(text: &str, fields: u8) -> Node {
    let mut nodes = Vec::new();
    each_compound(text, |compound| {
        nodes.extend(units(compound).into_iter().map(|unit| word(unit, fields)));
    });
    Node::And { nodes, negated: Vec::new() }
}

fn too_many_clauses(position: usize) -> SyntaxError {
    let reason = format!("a search has at most {CLAUSES_MAX} clauses, words included");
    SyntaxError { position, reason }
}

/// The units of a compound: its parts are words of their own if nothing joins them, as in `271-280`.
fn units(compound: &Compound) -> Vec<Unit> {
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
fn count_clauses(node: &Node) -> usize {
    match node {
        Node::And { nodes, .. } | Node::Or(nodes) => nodes.iter().map(count_clauses).sum(),
        Node::Leaf(Leaf { kind: LeafKind::Word(Unit { parts, .. }), .. }) => parts.len(),
        Node::Leaf(_) => 1,
    }
}

fn word(unit: Unit, fields: u8) -> Node {
    Node::Leaf(Leaf { fields, kind: LeafKind::Word(unit) })
}

struct Parser<'p, 't> {
    tokens: &'p [Token<'t>],
    at: usize,
    /// The length of the search.
    end: usize,
    clauses: usize,
}

impl<'t> Parser<'_, 't> {
    fn parse(mut self, fields: u8) -> Result<Node, SyntaxError> {
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
                let fields = if fields == ANY_FIELD { ANY_TEXT } else { fields };
                phrase(text, distance, fields).map_err(refused)
            }
            TokenKind::Word(text) => {
                let node = word_clause(text, fields).map_err(refused)?;
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// A tree as text.
    fn show(node: &Node) -> String {
        let all =
            |nodes: &[Node], with: &str| nodes.iter().map(show).collect::<Vec<_>>().join(with);
        match node {
            Node::Or(nodes) => format!("({})", all(nodes, " or ")),
            Node::And { nodes, negated } => {
                let mut text = all(nodes, " and ");
                negated.iter().for_each(|node| text += &format!(" not {}", show(node)));
                format!("({})", text.trim_start())
            }
            Node::Leaf(Leaf { fields, kind }) => {
                let field = Field::ALL.into_iter().find(|field| field.bit() == *fields);
                let field =
                    field.and_then(Field::name).map_or(String::new(), |name| format!("{name}:"));
                let kind = match kind {
                    LeafKind::Word(unit) => match &unit.joined {
                        Some(joined) => format!("{}={joined}", unit.parts.join("+")),
                        None => unit.parts.join("+"),
                    },
                    LeafKind::Fuzzy(word, edits) => format!("{word}~{edits}"),
                    LeafKind::Pattern(pattern) => pattern.clone(),
                    LeafKind::Phrase { parts, distance } => {
                        let parts: Vec<&str> = parts
                            .iter()
                            .map(|part| match part {
                                PhrasePart::Word(text) | PhrasePart::Pattern(text) => text.as_str(),
                            })
                            .collect();
                        let distance =
                            distance.map_or(String::new(), |distance| format!("~{distance}"));
                        format!("[{}]{distance}", parts.join(" "))
                    }
                };
                format!("{field}{kind}")
            }
        }
    }

    #[test]
    fn operators_fields_patterns_and_phrases_are_parsed() {
        let check = |text: &str, expected: &str| {
            let search = Search::parse(text, false).unwrap();
            assert_eq!((show(&search.tree).as_str(), search.is_plain), (expected, false), "{text}");
        };
        check("a AND b OR c", "((a and b) or c)");
        check("a b OR c d", "((a and b) or (c and d))");
        check("a NOT b -c", "(a not b not c)");
        check("-b", "(not b)");
        check("(a OR b) c", "((a or b) and c)");
        check("title:(a OR b) abstract:c", "((title:a or title:b) and abstract:c)");
        check("title:\"Deep Learning\"~5", "title:[deep learning]~5");
        check("\"deep learn*\" review", "([deep learn*] and review)");
        check("machin* wom?n", "(machin* and wom?n)");
        check("colour~1 OR Tumor~2", "(colour~1 or tumor~2)");
        check("COVID-19 OR sars", "(covid+19=covid19 or sars)");
        check("\"one\"", "one");
        check("cat~0 OR b", "(cat or b)");
        check("author:smith 2001", "(author:smith and 2001)");
        check("& AND a", "a");
        check("a NOT . AND \"?!\"", "a");
    }

    #[test]
    fn a_text_without_syntax_is_plain() {
        for text in [
            "deep learning",
            "What is life?",
            "notion of the types of messages?--that is, a check",
            "a (b",
            "unbalanced \" quote",
            "R & D",
            "Title: a subtitle",
            "people - wildlife",
            "THE RELATION OF A AND B?",
            "Al-Khodairy, A. T. \"Has botulinum a place.\" Spinal Cord 36 (1998).",
            "and or not",
            "",
            "?!",
        ] {
            assert!(Search::parse(text, false).unwrap().is_plain, "{text}");
        }
    }

    #[test]
    fn a_compound_of_many_parts_is_cut() {
        let search = Search::parse(&vec!["a"; 150].join("-"), false).unwrap();
        let Node::And { nodes, .. } = &search.tree else { panic!("{:?}", search.tree) };
        let parts = nodes.iter().map(count_clauses);
        assert_eq!(parts.collect::<Vec<_>>(), [64, 64, 22]);
    }

    #[test]
    fn an_error_names_its_position() {
        let check = |text: &str, position: usize, reason: &str| {
            let error = Search::parse(text, false).unwrap_err();
            assert_eq!(error.position, position, "{text}: {}", error.reason);
            assert!(error.reason.contains(reason), "{text}: {}", error.reason);
        };
        check("(a OR b", 0, "not closed");
        check("a OR b)", 6, "not opened");
        check("a OR \"b", 5, "quote is not closed");
        check("a OR", 4, "missing");
        check("AND b c", 0, "before it");
        check("a NOT", 5, "after it");
        check("titel:a", 0, "did you mean `title:`");
        check("ab* c", 0, "at least 3 letters");
        check("word~3", 0, "at most 2 changes");
        check("word~99999999999", 0, "at most 2 changes");
        check("\"a b\"~1001", 0, "at most 1000");
        check(&format!("{}a{} OR b", "(".repeat(21), ")".repeat(21)), 20, "deep");
        check(&format!("x OR {}", "a ".repeat(1_001)), 2_003, "at most 1000 clauses");
        check(&format!("b OR {}", "a-".repeat(1_000)), 5, "at most 1000 clauses");
        check(&"a".repeat(17_000), SEARCH_BYTES_MAX, "at most 16384 bytes");
    }
}
