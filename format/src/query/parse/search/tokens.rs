//! Splits the text of a search into words, quotations, operators and names of fields.

use crate::query::parse::error::nearest;
use crate::schema::Field;

/// A token of the syntax, and the byte at which it begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token<'t> {
    pub position: usize,
    pub kind: TokenKind<'t>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TokenKind<'t> {
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
pub(super) fn tokenize(text: &str) -> Vec<Token<'_>> {
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
pub(super) fn field_names() -> impl Iterator<Item = &'static str> {
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
