//! Tells texts from searches with syntax: a text is words, whatever signs it has.

use crate::query::parse::search::tokens::{Token, TokenKind};
use crate::query::parse::search::tree::{Node, units, word};
use crate::text::analyzer::each_compound;

/// Words besides a quoted title that make a text a citation, if one of them is a year.
const CITATION_WORDS_MIN: usize = 4;
/// Words besides a quotation that make a text a question in sentences.
const PROSE_WORDS_MIN: usize = 8;

/// Whether a search has no syntax.
pub(super) fn is_plain(text: &str, tokens: &[Token<'_>]) -> bool {
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
        || has(|kind| matches!(kind, TokenKind::Or | TokenKind::Not | TokenKind::Field(_)))
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
pub(super) fn is_pattern(word: &str) -> bool {
    let mut before = None;
    word.chars().any(|c| {
        let is_sign = matches!(c, '*' | '?');
        let follows =
            before.replace(c).is_some_and(|before: char| before.is_alphanumeric() || before == '*');
        is_sign && follows
    })
}

/// Splits `word~1`.
pub(super) fn fuzzy_of(word: &str) -> Option<(&str, u32)> {
    let (word, edits) = word.rsplit_once('~')?;
    let is_number = !edits.is_empty() && edits.bytes().all(|byte| byte.is_ascii_digit());
    // A number that does not fit is refused as too great.
    let edits = is_number.then(|| edits.parse().unwrap_or(u32::MAX));
    edits.map(|edits| (word, edits)).filter(|(word, _)| word.chars().any(char::is_alphanumeric))
}

/// All words of a text, none of them as an operator. Nothing is an error, also not the number of words: their bytes are bounded.
pub(super) fn plain(text: &str, fields: u8) -> Node {
    let mut nodes = Vec::new();
    each_compound(text, |compound| {
        nodes.extend(units(compound).into_iter().map(|unit| word(unit, fields)));
    });
    Node::And { nodes, negated: Vec::new() }
}
