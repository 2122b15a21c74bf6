//! Reads tags, character entities, formulas and LaTeX commands: their lengths and their meanings.
//!
//! Each function reads the markup at the beginning of a text and looks at a bounded number of
//! bytes behind it, unless it consumes them.

use super::greek;
use crate::text::tags::TagKind;

/// The effect of markup on the word around the markup.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub(super) enum Meaning {
    /// Nothing: `H<sub>2</sub>O` is one word.
    Transparent,
    /// The beginning of bold or italic text.
    EmphasisStart,
    /// The end of bold or italic text.
    EmphasisEnd,
    /// The markup ends the word: `</p>`, `&nbsp;`.
    Separator,
    /// The markup stands for letters.
    Letters(&'static str),
    /// The markup stands for a character.
    Character(char),
}

/// Markup at the beginning of a text.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub(super) struct Markup {
    /// The length of the markup.
    pub bytes: usize,
    /// The effect of the markup.
    pub meaning: Meaning,
}

impl Markup {
    fn new(bytes: usize, meaning: Meaning) -> Markup {
        Markup { bytes, meaning }
    }
}

/// Reads the tag at the beginning of a text: `</?[A-Za-z][^>]*>`, the syntax that folding removes.
///
/// The text must contain a `>`; the caller knows the last one, which keeps `<a<a<a…` linear.
pub(super) fn tag(text: &str) -> Option<Markup> {
    let content = text.strip_prefix('<')?;
    let name = content.strip_prefix('/').unwrap_or(content);
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return None;
    }
    let bytes = memchr::memchr(b'>', text.as_bytes())? + 1;
    let ends = |c: char| c.is_ascii_whitespace() || c == '>' || c == '/';
    let name = &name[..name.find(ends).unwrap_or(name.len())];
    let kind = TagKind::of(name).unwrap_or(TagKind::Block);
    let meaning = tag_meaning(kind, content.starts_with('/'));
    Some(Markup::new(bytes, meaning))
}

fn tag_meaning(kind: TagKind, is_end: bool) -> Meaning {
    match kind {
        TagKind::Italic | TagKind::Bold if is_end => Meaning::EmphasisEnd,
        TagKind::Italic | TagKind::Bold => Meaning::EmphasisStart,
        TagKind::Sub | TagKind::Super | TagKind::Inline => Meaning::Transparent,
        TagKind::Formula | TagKind::Block => Meaning::Separator,
    }
}

/// The shortest emphasis that is a word of its own, in bytes: longer than in `p<i>K</i>a`.
const EMPHASIZED_WORD_BYTES: usize = 4;

/// Whether emphasized text is a word or more, and no part of a word; the text begins behind the tag.
pub(super) fn emphasizes_word(text: &str) -> bool {
    !text.bytes().take(EMPHASIZED_WORD_BYTES).any(|byte| matches!(byte, b'<' | b'&'))
}

/// Reads a tag whose brackets are entities, after its `&lt;`: `i&gt;`, `/sub&gt;`.
///
/// Only names of known tags count, so that `&lt;x&gt;` keeps its letter.
pub(super) fn escaped_tag(text: &str) -> Option<Markup> {
    let content = text.strip_prefix('/').unwrap_or(text);
    let name_bytes = content.bytes().take(16).take_while(u8::is_ascii_alphanumeric).count();
    let (name, rest) = content.split_at(name_bytes);
    let close = entity(rest).filter(|close| close.meaning == Meaning::Character('>'))?;
    let meaning = tag_meaning(TagKind::of(name)?, text.starts_with('/'));
    Some(Markup::new(text.len() - rest.len() + close.bytes, meaning))
}

/// The longest name of an entity, in bytes.
const ENTITY_BYTES_MAX: usize = 16;

/// Reads the character entity at the beginning of a text.
///
/// An entity whose ampersand is an entity, as in `&amp;lt;`, counts as one entity.
pub(super) fn entity(text: &str) -> Option<Markup> {
    let content = text.strip_prefix('&')?;
    let rest = content.trim_start_matches("amp;");
    let found = |rest: &str, meaning| Some(Markup::new(text.len() - rest.len(), meaning));
    if let Some((meaning, after)) = entity_body(rest) {
        return found(after, meaning);
    }
    if rest.len() < content.len() { found(rest, Meaning::Character('&')) } else { None }
}

/// Reads an entity behind its ampersand; returns the meaning, and the text behind the entity.
fn entity_body(text: &str) -> Option<(Meaning, &str)> {
    // An ampersand that begins no entity may have its next semicolon far behind it.
    let name_bytes = text.bytes().take(ENTITY_BYTES_MAX).position(|byte| byte == b';')?;
    let (name, after) = (&text[..name_bytes], &text[name_bytes + 1..]);
    if let Some(number) = name.strip_prefix('#') {
        let hexadecimal = number.strip_prefix(['x', 'X']);
        let code = match hexadecimal {
            Some(digits) => u32::from_str_radix(digits, 16),
            None => number.parse(),
        };
        // A number of no character, such as half of a surrogate pair, separates words.
        let c = char::from_u32(code.ok()?);
        return Some((c.map_or(Meaning::Separator, Meaning::Character), after));
    }
    let meaning = match name {
        "lt" => Meaning::Character('<'),
        "gt" => Meaning::Character('>'),
        "apos" | "lsquo" | "rsquo" | "prime" => Meaning::Character('\''),
        "ndash" | "mdash" | "minus" | "hyphen" | "dash" => Meaning::Character('-'),
        "shy" | "zwj" => Meaning::Transparent,
        "quot" | "nbsp" | "ldquo" | "rdquo" | "laquo" | "raquo" | "thinsp" | "ensp" | "emsp"
        | "hellip" | "bull" | "deg" | "plusmn" | "times" | "le" | "ge" | "copy" | "reg" => {
            Meaning::Separator
        }
        "szlig" => Meaning::Letters("ss"),
        "aelig" | "AElig" => Meaning::Letters("ae"),
        "oelig" | "OElig" => Meaning::Letters("oe"),
        "eth" | "ETH" => Meaning::Letters("d"),
        "thorn" | "THORN" => Meaning::Letters("th"),
        _ => accented(name).or_else(|| greek::letter(name)).map(Meaning::Character)?,
    };
    Some((meaning, after))
}

/// The letter of an entity such as `eacute`. Folding removes the accent.
fn accented(name: &str) -> Option<char> {
    const ACCENTS: [&str; 12] = [
        "acute", "breve", "caron", "cedil", "circ", "dot", "grave", "macr", "ogon", "ring",
        "slash", "tilde",
    ];
    let letter = name.chars().next().filter(char::is_ascii_alphabetic)?;
    let accent = &name[1..];
    (accent == "uml" || accent == "strok" || ACCENTS.contains(&accent)).then_some(letter)
}

/// The longest formula between dollars, in bytes.
const FORMULA_BYTES_MAX: usize = 1024;

/// The length of the formula at the beginning of a text: `$x$` or `$$x$$`, dollars included.
///
/// `$5 and $10` is no formula: a single dollar closes only behind a character that is no space, and not
/// before a digit. A formula with a space has a command, a brace, `_` or `^`, unlike `US$5 or CAN$`.
pub(super) fn formula(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let window = &bytes[..bytes.len().min(FORMULA_BYTES_MAX)];
    let open = if window.starts_with(b"$$") { 2 } else { 1 };
    let close = open + memchr::memchr(b'$', window.get(open..)?)?;
    if open == 2 {
        return (bytes.get(close + 1) == Some(&b'$')).then_some(close + 2);
    }
    let content = &bytes[open..close];
    let is_tight = !content.iter().any(u8::is_ascii_whitespace);
    let is_latex = content.iter().any(|byte| b"\\_^{".contains(byte));
    let has_space_inside_dollars = content.trim_ascii().len() < content.len();
    let is_price = bytes.get(close + 1).is_some_and(u8::is_ascii_digit);
    let is_formula = is_tight || (is_latex && !has_space_inside_dollars);
    (is_formula && !content.is_empty() && !is_price).then_some(close + 1)
}

/// The length of the LaTeX that begins with a command outside of a formula: up to the next white space that
/// no brace encloses, or to the brace that closes around the command.
pub(super) fn latex(text: &str) -> usize {
    let mut depth = 0u32;
    for (at, byte) in text.bytes().enumerate().take(FORMULA_BYTES_MAX) {
        match byte {
            b'{' => depth += 1,
            b'}' if depth == 0 => return at + 1,
            b'}' => depth -= 1,
            _ if byte.is_ascii_whitespace() && depth == 0 => return at,
            _ => {}
        }
    }
    text.len().min(FORMULA_BYTES_MAX)
}

/// Letters that are commands.
const LETTER_COMMANDS: [(&str, &str); 14] = [
    ("ss", "ss"),
    ("ae", "ae"),
    ("AE", "ae"),
    ("oe", "oe"),
    ("OE", "oe"),
    ("o", "o"),
    ("O", "o"),
    ("l", "l"),
    ("L", "l"),
    ("aa", "a"),
    ("AA", "a"),
    ("i", "i"),
    ("j", "j"),
    ("dh", "d"),
];

/// Commands for the look of their argument.
const FONT_COMMANDS: [&str; 12] = [
    "bf",
    "bm",
    "boldsymbol",
    "em",
    "emph",
    "ensuremath",
    "hbox",
    "it",
    "mbox",
    "operatorname",
    "rm",
    "sf",
];

/// Commands whose arguments are no text.
const SETTING_COMMANDS: [&str; 5] = ["begin", "documentclass", "end", "setlength", "usepackage"];

/// Commands with the first letter of the escape `\n`.
const COMMANDS_IN_N: [&str; 11] = [
    "nabla",
    "ne",
    "neg",
    "neq",
    "newline",
    "ni",
    "noindent",
    "nonumber",
    "normalsize",
    "not",
    "notin",
];

/// Whether the name of a command is the escape of a program, which nobody decoded, and the word behind it:
/// `\nresource`, `\tMethods`.
fn is_line_break(name: &str) -> bool {
    let is_upper = name[1..].starts_with(|c: char| c.is_ascii_uppercase());
    match name.as_bytes()[0] {
        b'n' => !COMMANDS_IN_N.contains(&name),
        b'r' | b't' => is_upper,
        _ => false,
    }
}

/// Reads the LaTeX command at the beginning of a text: a backslash and letters, or a backslash and another
/// character.
pub(super) fn command(text: &str) -> Markup {
    let content = text.strip_prefix('\\').unwrap_or(text);
    let name = &content[..content.bytes().take_while(u8::is_ascii_alphabetic).count()];
    let after = &content[name.len()..];
    let bytes = 1 + name.len();
    if name.is_empty() {
        // An accent, as in `Universit\'e`, or a sign, as in `\%`.
        let mut chars = content.chars();
        let sign = chars.next().filter(char::is_ascii);
        let is_accent = sign.is_some_and(|c| "'`\"^~=.".contains(c))
            && chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '{' || c == '\\');
        let meaning = if is_accent { Meaning::Transparent } else { Meaning::Separator };
        return Markup::new(1 + usize::from(sign.is_some()), meaning);
    }
    if let Some(letter) = greek::letter(name) {
        return Markup::new(bytes, Meaning::Character(letter));
    }
    if let Some((_, letters)) = LETTER_COMMANDS.iter().find(|(command, _)| *command == name) {
        // The space that ends the command belongs to it: `S\o ren`.
        let space = usize::from(after.starts_with(' '));
        return Markup::new(bytes + space, Meaning::Letters(letters));
    }
    if is_line_break(name) {
        return Markup::new(2, Meaning::Separator);
    }
    let is_accent = name.len() == 1 && "cvuHkrbdt".contains(name);
    let is_font =
        name.starts_with("math") || name.starts_with("text") || FONT_COMMANDS.contains(&name);
    if after.starts_with('{') && (is_accent || is_font) {
        return Markup::new(bytes, Meaning::Transparent);
    }
    if SETTING_COMMANDS.contains(&name) {
        return Markup::new(bytes + arguments(after), Meaning::Separator);
    }
    Markup::new(bytes, Meaning::Separator)
}

/// The length of the arguments `[…]` and `{…}` at the beginning of a text, each of at most 64 bytes.
fn arguments(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 0;
    loop {
        let close = match bytes.get(at) {
            Some(b'[') => b']',
            Some(b'{') => b'}',
            _ => return at,
        };
        let argument = &bytes[at..bytes.len().min(at + 64)];
        match memchr::memchr(close, argument) {
            Some(length) => at += length + 1,
            None => return at,
        }
    }
}
