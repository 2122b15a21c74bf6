//! Parses the syntax of a `filter` (expressions, alternatives, quotes) without knowledge of keys.

use super::Refused;

/// Maximum number of expressions in one filter.
pub const EXPRESSIONS_MAX: usize = 50;
/// Maximum number of alternatives in one expression.
pub const ALTERNATIVES_MAX: usize = 100;

/// One expression of a filter: a key and a condition on its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expression {
    /// The text before the first `:`.
    pub key: String,
    /// The condition after the first `:`.
    pub asked: Asked,
}

/// The condition of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// The record has any of these values.
    Any(Vec<Word>),
    /// The record has none of these values.
    NoneOf(Vec<Word>),
    /// The record has a value above or below this value.
    Compared(Operator, Word),
}

/// The operator before a compared value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `>`
    Above,
    /// `>=`
    From,
    /// `<`
    Below,
    /// `<=`
    To,
}

/// One value as written, without its quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// The text between the quotes, or the unquoted text.
    pub text: String,
    /// Whether the value had quotes; a quoted value is never `null` or a range.
    pub is_quoted: bool,
}

/// Parses a decoded filter.
pub fn parse(filter: &str) -> Result<Vec<Expression>, Refused> {
    let mut rest = filter;
    let mut expressions = Vec::new();
    loop {
        let (key, after) = rest.split_once(':').ok_or(Refused("an expression without a colon"))?;
        if key.contains(',') {
            return Err(Refused("an expression without a colon"));
        }
        let (asked, after) = asked(after)?;
        expressions.push(Expression { key: without_spaces(key).to_owned(), asked });
        if expressions.len() > EXPRESSIONS_MAX {
            return Err(Refused("too many expressions"));
        }
        match after.strip_prefix(',') {
            Some(next) => rest = next,
            None if after.is_empty() => return Ok(expressions),
            None => return Err(Refused("something after a value")),
        }
    }
}

/// Removes the spaces around a text.
pub fn without_spaces(text: &str) -> &str {
    text.trim_matches(' ')
}

/// Parses the condition after the colon; returns also the rest of the text.
fn asked(text: &str) -> Result<(Asked, &str), Refused> {
    let text = text.trim_start_matches(' ');
    let operators = [
        (">=", Operator::From),
        ("<=", Operator::To),
        (">", Operator::Above),
        ("<", Operator::Below),
    ];
    for (sign, operator) in operators {
        if let Some(rest) = text.strip_prefix(sign) {
            let (word, rest) = word(rest)?;
            return Ok((Asked::Compared(operator, word), rest));
        }
    }
    if let Some(rest) = text.strip_prefix('!') {
        let (words, rest) = alternatives(rest)?;
        return Ok((Asked::NoneOf(words), rest));
    }
    let (words, rest) = alternatives(text)?;
    Ok((Asked::Any(words), rest))
}

fn alternatives(text: &str) -> Result<(Vec<Word>, &str), Refused> {
    let mut words = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(' ');
        if rest.starts_with(['!', '<', '>']) {
            return Err(Refused("an operator where a value belongs"));
        }
        let (one, after) = word(rest)?;
        words.push(one);
        if words.len() > ALTERNATIVES_MAX {
            return Err(Refused("too many alternatives"));
        }
        match after.strip_prefix('|') {
            Some(next) => rest = next,
            None => return Ok((words, after)),
        }
    }
}

/// Parses one value; returns also the rest of the text.
fn word(text: &str) -> Result<(Word, &str), Refused> {
    let text = text.trim_start_matches(' ');
    let (word, rest) = match text.strip_prefix('"') {
        Some(inside) => {
            let (text, rest) = unquoted(inside)?;
            (Word { text, is_quoted: true }, rest)
        }
        None => {
            let end = text.find([',', '|']).unwrap_or(text.len());
            let (value, rest) = text.split_at(end);
            (Word { text: without_spaces(value).to_owned(), is_quoted: false }, rest)
        }
    };
    if word.text.is_empty() {
        return Err(Refused("an empty value"));
    }
    if !word.is_quoted && word.text.contains('"') {
        return Err(Refused("a quote inside a value"));
    }
    Ok((word, rest.trim_start_matches(' ')))
}

/// Parses the text up to the closing quote; returns also the rest of the text.
fn unquoted(text: &str) -> Result<(String, &str), Refused> {
    let mut value = String::new();
    let mut rest = text;
    loop {
        let (before, after) = rest.split_once('"').ok_or(Refused("an unclosed quote"))?;
        value.push_str(before);
        match after.strip_prefix('"') {
            Some(next) => {
                value.push('"');
                rest = next;
            }
            None => return Ok((value, after)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes the parsed filter with brackets that show its structure.
    fn shape(filter: &str) -> Option<String> {
        let word = |word: &Word| match word.is_quoted {
            true => format!("[[{}]]", word.text),
            false => format!("[{}]", word.text),
        };
        let words = |words: &[Word]| words.iter().map(word).collect::<Vec<_>>().join("");
        let expression = |expression: Expression| {
            let asked = match &expression.asked {
                Asked::Any(any) => format!("={}", words(any)),
                Asked::NoneOf(none) => format!("!{}", words(none)),
                Asked::Compared(operator, value) => format!("{operator:?}{}", word(value)),
            };
            format!("{}{asked}", expression.key)
        };
        let parsed = parse(filter).ok()?;
        Some(parsed.into_iter().map(expression).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn a_filter_is_parsed_into_expressions_and_alternatives() {
        let check = |filter: &str, expected: &str| {
            assert_eq!(shape(filter).as_deref(), Some(expected), "{filter}");
        };
        check("year:2020", "year=[2020]");
        check("a:1,b:2", "a=[1] b=[2]");
        check("a:1,a:1", "a=[1] a=[1]");
        check("doi:https://doi.org/10.1/x", "doi=[https://doi.org/10.1/x]");
        check("a:1|2|null", "a=[1][2][null]");
        check("a:!1|2", "a![1][2]");
        check("a:!null", "a![null]");
        check("a:>5", "aAbove[5]");
        check("a:>=-5,b:<1", "aFrom[-5] bBelow[1]");
        check("a:<=\"5\"", "aTo[[5]]");
        check("a:>>5", "aAbove[>5]");
        check("a: x y ", "a=[x y]");
        check(" a : 1 , b : ! x | y ", "a=[1] b![x][y]");
        check("a: >= 5 ", "aFrom[5]");
        check("a: \" x \" | y", "a=[[ x ]][y]");
        check("a:\"x, y|z\"|w", "a=[[x, y|z]][w]");
        check("a:\"say \"\"hi\"\"\",b:1", "a=[[say \"hi\"]] b=[1]");
        check("a:\"null\"", "a=[[null]]");
        check("a:\"!x\"", "a=[[!x]]");
        check("a:x!y>z", "a=[x!y>z]");
        check("a:=5", "a=[=5]");
        check("a::true", "a=[:true]");
        check(":true", "=[true]");
    }

    #[test]
    fn text_that_is_not_a_filter_is_rejected() {
        for filter in [
            "",
            "a",
            ":",
            "a:",
            "a:1,",
            ",a:1",
            ",,",
            "a:1,,b:2",
            "a,b:1",
            "a:|1",
            "a:1|",
            "a:1||2",
            "a:!",
            "a:!!1",
            "a:!>1",
            "a:1|>2",
            "a:1|!2",
            "a:>",
            "a:>=",
            "a:>1|2",
            "a:\"x",
            "a:\"\"",
            "a:\"x\"y",
            "a: ",
            "a:1, ",
            "a:! !1",
            "a:1| |2",
            "a:\"x\" y",
            "a:x\"y\"",
            "a:\"x\"\"",
        ] {
            assert_eq!(shape(filter), None, "{filter}");
        }
    }

    #[test]
    fn a_filter_has_at_most_50_expressions_of_100_alternatives() {
        let expressions = |count: usize| vec!["a:1"; count].join(",");
        let alternatives = |count: usize| format!("a:{}", vec!["1"; count].join("|"));
        assert!(parse(&expressions(50)).is_ok() && parse(&alternatives(100)).is_ok());
        assert!(parse(&expressions(51)).is_err() && parse(&alternatives(101)).is_err());
    }
}
