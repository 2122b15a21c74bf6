//! Reads the text of a search.
//!
//! ```text
//! query  = clause *( ['AND'] clause | 'OR' clause | ('NOT' | '-') clause )     OR binds less than AND
//! clause = [field ':'] ( word | pattern | word '~' edits | '"' phrase '"' [ '~' distance ] | '(' query ')' )
//! ```

use pinakes_format::text::analyzer::each_compound;

use crate::query::Refused;
use crate::search::texts::{ALL_FIELDS, FIELD_NAMES, IMPRINT};

/// A part of a search.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Clause {
    /// Every one of the first, none of the second.
    All(Vec<Clause>, Vec<Clause>),
    Any(Vec<Clause>),
    Leaf(Vec<usize>, Leaf),
}

/// The words that a clause finds in its fields.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Leaf {
    Word(Word),
    Near(String, usize),
    Pattern(Vec<char>),
    Phrase(Vec<PhraseWord>, Option<u32>),
}

/// The words of a text that no space separates.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Word {
    pub parts: Vec<String>,
    pub joined: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum PhraseWord {
    Word(String),
    Pattern(Vec<char>),
}

/// A search, read.
pub(super) struct Read {
    pub clause: Clause,
    /// The words in order of a search without syntax.
    pub plain: Option<Vec<Word>>,
}

/// Reads a search in these fields.
pub(super) fn read(text: &str, fields: &[usize]) -> Result<Read, Refused> {
    if text.len() > 16 * 1024 {
        return Err(Refused("a search of more than 16 KiB"));
    }
    let pieces = pieces(text);
    if is_plain(text, &pieces) {
        let words = words(text);
        let clauses =
            words.iter().map(|word| Clause::Leaf(fields.to_vec(), Leaf::Word(word.clone())));
        let clause = Clause::All(clauses.collect(), Vec::new());
        return Ok(Read { clause, plain: Some(words) });
    }
    let mut reader = Reader { pieces: &pieces, at: 0, clauses: 0 };
    let clause = reader.any(fields, 0)?;
    match reader.at == pieces.len() {
        true => Ok(Read { clause, plain: None }),
        false => Err(Refused("a closing parenthesis without an opening one")),
    }
}

/// A piece of a search.
#[derive(Clone, Debug, PartialEq)]
enum Piece {
    And,
    Or,
    Not,
    /// A hyphen before a clause: an operator in a search that has syntax without it.
    Hyphen,
    Open,
    Close,
    Field(String),
    Quoted(String, Option<u32>),
    /// A quote that no other quote closes.
    Quote,
    Word(String),
}

fn is_quote(c: char) -> bool {
    "\"“”„".contains(c)
}

/// Whether a clause begins with these characters.
fn begins_clause(rest: &[char]) -> bool {
    rest.first().is_some_and(|c| c.is_alphanumeric() || "(\"“".contains(*c))
}

fn pieces(text: &str) -> Vec<Piece> {
    let text: Vec<char> = text.chars().collect();
    let mut pieces = Vec::new();
    let mut at = 0;
    let mut may_negate = true;
    while at < text.len() {
        let rest = &text[at..];
        let first = rest[0];
        if first.is_whitespace() {
            at += 1;
            may_negate = true;
            continue;
        }
        let (piece, length) = match first {
            '(' => (Piece::Open, 1),
            ')' => (Piece::Close, 1),
            '-' if may_negate && begins_clause(&rest[1..]) => (Piece::Hyphen, 1),
            _ if is_quote(first) => quoted(rest),
            _ => word_or_field(rest),
        };
        may_negate = matches!(piece, Piece::Open | Piece::Field(_) | Piece::Hyphen);
        pieces.push(piece);
        at += length;
    }
    pieces
}

fn quoted(rest: &[char]) -> (Piece, usize) {
    let Some(inner) = rest[1..].iter().position(|c| "\"“”".contains(*c)) else {
        return (Piece::Quote, 1);
    };
    let text: String = rest[1..=inner].iter().collect();
    let behind = &rest[inner + 2..];
    let digits: String = match behind.first() {
        Some('~') => behind[1..].iter().take_while(|c| c.is_ascii_digit()).collect(),
        _ => String::new(),
    };
    let distance = (!digits.is_empty()).then(|| digits.parse().unwrap_or(u32::MAX));
    let length = inner + 2 + if digits.is_empty() { 0 } else { 1 + digits.len() };
    (Piece::Quoted(text, distance), length)
}

fn word_or_field(rest: &[char]) -> (Piece, usize) {
    let ends = |c: &char| c.is_whitespace() || *c == '(' || *c == ')' || is_quote(*c);
    let length = rest.iter().position(ends).unwrap_or(rest.len());
    let word: String = rest[..length].iter().collect();
    let piece = match word.as_str() {
        "AND" => Piece::And,
        "OR" => Piece::Or,
        "NOT" => Piece::Not,
        _ => {
            if let Some((name, _)) = word.split_once(':')
                && is_like_field(name)
                && begins_clause(&rest[name.len() + 1..])
            {
                let length = name.len() + 1;
                return (Piece::Field(name.to_owned()), length);
            }
            Piece::Word(word)
        }
    };
    (piece, length)
}

/// Whether a name is that of a field, or like one: another name in lower case before a colon is a word.
fn is_like_field(name: &str) -> bool {
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase());
    is_name && pinakes_format::query::nearest(name, FIELD_NAMES.into_iter()).is_some()
}

/// Whether a search has no syntax. A quotation is no syntax among eight words or more, nor in a citation: among four words or
/// more, one of which is a year.
fn is_plain(text: &str, pieces: &[Piece]) -> bool {
    let mut words = Vec::new();
    let mut has_phrase = false;
    for piece in pieces {
        match piece {
            Piece::Or | Piece::Not | Piece::Field(_) => return false,
            // In a text of capitals AND is a word.
            Piece::And if text.chars().any(char::is_lowercase) => return false,
            Piece::Word(word) => {
                words.push(word.trim_matches(|c: char| !c.is_alphanumeric()));
                // The punctuation behind a word of several makes no pattern, except a star.
                let word = match pieces.len() {
                    1 => word,
                    _ => word.trim_end_matches(|c: char| c.is_ascii_punctuation() && c != '*'),
                };
                if is_pattern(word, pieces.len() > 1) || edits_of(word).is_some() {
                    return false;
                }
            }
            Piece::Quoted(..) => has_phrase = true,
            _ => {}
        }
    }
    let is_year = |word: &&str| {
        let mut bytes = word.bytes();
        word.len() == 4
            && bytes.next().is_some_and(|byte| byte == b'1' || byte == b'2')
            && bytes.all(|byte| byte.is_ascii_digit())
    };
    !has_phrase || words.len() >= 8 || (words.len() >= 4 && words.iter().any(is_year))
}

/// A question mark or a star makes a pattern of a word if it follows a letter, a digit or a star.
fn is_pattern(word: &str, is_in_text: bool) -> bool {
    let mut letters: Vec<char> = word.chars().collect();
    if is_in_text {
        // A question mark before punctuation ends a sentence.
        while let Some(at) = letters.windows(2).position(|pair| {
            pair[0] == '?' && !pair[1].is_alphanumeric() && pair[1] != '*' && pair[1] != '?'
        }) {
            letters.remove(at);
        }
    }
    letters
        .windows(2)
        .any(|pair| matches!(pair[1], '*' | '?') && (pair[0].is_alphanumeric() || pair[0] == '*'))
}

/// The word and the number of `word~2`.
fn edits_of(word: &str) -> Option<(&str, usize)> {
    let (word, edits) = word.rsplit_once('~')?;
    let has_letters = word.chars().any(char::is_alphanumeric);
    let is_number = !edits.is_empty() && edits.bytes().all(|byte| byte.is_ascii_digit());
    (has_letters && is_number).then(|| (word, edits.parse().unwrap_or(usize::MAX)))
}

/// The words of a text. The numbers of a range are words of their own.
fn words(text: &str) -> Vec<Word> {
    let mut words = Vec::new();
    each_compound(text, |compound| {
        let parts: Vec<String> = compound.parts().map(str::to_owned).collect();
        let joined = compound.joined().map(str::to_owned);
        let is_range = joined.is_none() && parts[0].starts_with(|c: char| c.is_ascii_digit());
        match is_range {
            true => {
                let word = |part| Word { parts: vec![part], joined: None };
                words.extend(parts.into_iter().map(word));
            }
            false => words.push(Word { parts, joined }),
        }
    });
    words
}

/// All words of a text as a clause; `None` for punctuation.
fn all_of(text: &str, fields: &[usize]) -> Option<Clause> {
    let words = words(text).into_iter();
    let mut clauses: Vec<Clause> =
        words.map(|word| Clause::Leaf(fields.to_vec(), Leaf::Word(word))).collect();
    match clauses.len() {
        0 | 1 => clauses.pop(),
        _ => Some(Clause::All(clauses, Vec::new())),
    }
}

fn pattern(text: &str) -> Result<Vec<char>, Refused> {
    let mut pattern = Vec::new();
    let mut letters = String::new();
    let flush = |letters: &mut String, pattern: &mut Vec<char>| {
        each_compound(letters, |compound| match compound.joined() {
            Some(joined) => pattern.extend(joined.chars()),
            None => compound.parts().for_each(|part| pattern.extend(part.chars())),
        });
        letters.clear();
    };
    for c in text.chars() {
        match c {
            '*' | '?' => {
                flush(&mut letters, &mut pattern);
                pattern.push(c);
            }
            _ => letters.push(c),
        }
    }
    flush(&mut letters, &mut pattern);
    match pattern.iter().take(3).any(|c| "*?".contains(*c)) || pattern.len() < 3 {
        true => Err(Refused("a pattern without three letters at its beginning")),
        false => Ok(pattern),
    }
}

fn phrase(text: &str, distance: Option<u32>, fields: &[usize]) -> Result<Option<Clause>, Refused> {
    if distance.is_some_and(|distance| distance > 1_000) {
        return Err(Refused("a distance above 1,000"));
    }
    let mut words = Vec::new();
    for word in text.split_whitespace() {
        if is_pattern(word, false) {
            words.push(PhraseWord::Pattern(pattern(word)?));
            continue;
        }
        each_compound(word, |compound| {
            words.extend(compound.parts().map(|part| PhraseWord::Word(part.to_owned())));
        });
    }
    if words.len() > 64 {
        return Err(Refused("a phrase of more than 64 words"));
    }
    // A phrase does not look into the imprint.
    let fields: Vec<usize> = match fields == ALL_FIELDS {
        true => fields.iter().copied().filter(|field| *field != IMPRINT).collect(),
        false => fields.to_vec(),
    };
    Ok((!words.is_empty()).then(|| match words.as_slice() {
        [PhraseWord::Word(only)] => {
            let word = Word { parts: vec![only.clone()], joined: None };
            Clause::Leaf(fields, Leaf::Word(word))
        }
        _ => Clause::Leaf(fields, Leaf::Phrase(words, distance)),
    }))
}

struct Reader<'p> {
    pieces: &'p [Piece],
    at: usize,
    clauses: usize,
}

impl Reader<'_> {
    fn next_is(&self, piece: &Piece) -> bool {
        self.pieces.get(self.at) == Some(piece)
    }

    fn any(&mut self, fields: &[usize], depth: usize) -> Result<Clause, Refused> {
        let mut clauses = vec![self.all(fields, depth)?];
        while self.next_is(&Piece::Or) {
            self.at += 1;
            clauses.push(self.all(fields, depth)?);
        }
        match clauses.len() {
            1 => Ok(clauses.remove(0)),
            _ => Ok(Clause::Any(clauses)),
        }
    }

    fn all(&mut self, fields: &[usize], depth: usize) -> Result<Clause, Refused> {
        let (mut wanted, mut unwanted) = (Vec::new(), Vec::new());
        let mut read = 0;
        loop {
            let mut into = &mut wanted;
            match self.pieces.get(self.at) {
                None | Some(Piece::Or | Piece::Close) => break,
                Some(Piece::And) if read == 0 => return Err(Refused("AND before any clause")),
                Some(Piece::And) => self.at += 1,
                _ => {}
            }
            if self.next_is(&Piece::Not) || self.next_is(&Piece::Hyphen) {
                self.at += 1;
                into = &mut unwanted;
            }
            into.extend(self.clause(fields, depth)?);
            read += 1;
        }
        match (read, wanted.len(), unwanted.len()) {
            (0, ..) => Err(Refused("a clause is missing")),
            (_, 1, 0) => Ok(wanted.remove(0)),
            _ => Ok(Clause::All(wanted, unwanted)),
        }
    }

    /// Reads a clause; `None` for punctuation.
    fn clause(&mut self, fields: &[usize], depth: usize) -> Result<Option<Clause>, Refused> {
        self.clauses += 1;
        if self.clauses > 1_000 {
            return Err(Refused("more than 1,000 clauses"));
        }
        let piece = self.pieces.get(self.at).cloned().ok_or(Refused("a clause is missing"))?;
        self.at += 1;
        match piece {
            Piece::And | Piece::Or | Piece::Not | Piece::Hyphen | Piece::Close => {
                Err(Refused("an operator stands for a clause"))
            }
            Piece::Quote => Err(Refused("an unclosed quote")),
            Piece::Field(name) => {
                let field = FIELD_NAMES.iter().position(|known| *known == name);
                let field = field.ok_or(Refused("an unknown field"))?;
                match fields == ALL_FIELDS {
                    true => self.clause(&[field], depth),
                    false => Err(Refused("a field within a field")),
                }
            }
            Piece::Open if depth == 20 => Err(Refused("parentheses more than 20 deep")),
            Piece::Open => {
                let clause = self.any(fields, depth + 1)?;
                match self.next_is(&Piece::Close) {
                    true => self.at += 1,
                    false => return Err(Refused("an unclosed parenthesis")),
                }
                Ok(Some(clause))
            }
            Piece::Quoted(text, distance) => phrase(&text, distance, fields),
            Piece::Word(text) => word(&text, fields),
        }
    }
}

fn word(text: &str, fields: &[usize]) -> Result<Option<Clause>, Refused> {
    if is_pattern(text, false) {
        return Ok(Some(Clause::Leaf(fields.to_vec(), Leaf::Pattern(pattern(text)?))));
    }
    let Some((text, edits)) = edits_of(text) else { return Ok(all_of(text, fields)) };
    if edits > 2 {
        return Err(Refused("more than two changes"));
    }
    match all_of(text, fields) {
        Some(Clause::Leaf(fields, Leaf::Word(word))) if word.parts.len() == 1 && edits > 0 => {
            Ok(Some(Clause::Leaf(fields, Leaf::Near(word.parts[0].clone(), edits))))
        }
        clause => Ok(clause),
    }
}
