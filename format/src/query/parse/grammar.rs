//! Parses the syntax of filters. Keys and values stay text; [`filter`](super::filter) checks them.
//!
//! ```text
//! filter = expr *( ',' expr )
//! expr   = key ':' ( ['!'] alt *( '|' alt )  |  ( '>' | '<' | '>=' | '<=' ) value )
//! alt    = value              a range such as 2020-2024 and null are values here
//! value  = '"' any, with "" for a quote '"'  |  text without , | "
//! ```
//!
//! Spaces around expressions, keys, operators and values have no meaning. Spaces inside a value and inside
//! quotes belong to the value.

use std::borrow::Cow;

/// The most alternatives of one expression.
pub const ALTERNATIVES_MAX: usize = 100;

/// An expression, split into key and test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawExpression<'t> {
    /// The text before the first colon.
    pub key: &'t str,
    pub test: RawTest<'t>,
}

/// The test that an expression applies to the values of its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RawTest<'t> {
    /// One value equals an alternative; if negated, none does.
    AnyOf {
        is_negated: bool,
        alternatives: Vec<RawValue<'t>>,
    },
    Compares(Comparison, RawValue<'t>),
}

/// `>`, `>=`, `<` or `<=`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
}

/// A value before its key is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawValue<'t> {
    /// The value without its quotes.
    pub text: Cow<'t, str>,
    /// A quoted value is never a range or `null`.
    pub is_quoted: bool,
}

/// Splits a filter at the commas outside of quotes, and trims the expressions.
pub fn split(text: &str) -> impl Iterator<Item = &str> {
    let mut is_quoted = false;
    let expressions = text.split(move |c| {
        is_quoted ^= c == '"';
        c == ',' && !is_quoted
    });
    expressions.map(trim)
}

/// Strips the spaces around a text.
pub fn trim(text: &str) -> &str {
    text.trim_matches(' ')
}

/// Parses one expression. The error says what is wrong with the expression.
pub fn parse_expression(text: &str) -> Result<RawExpression<'_>, String> {
    if text.is_empty() {
        return Err("an expression is empty; write `key:value`, with one comma between two".into());
    }
    let (key, rest) = text.split_once(':').ok_or(
        "lacks its colon; an expression is `key:value`, and a value with a comma stands in quotes",
    )?;
    let (key, rest) = (trim(key), trim(rest));
    if key.is_empty() {
        return Err("lacks its key; an expression is `key:value`".into());
    }
    if rest.bytes().any(|byte| byte.is_ascii_control()) {
        return Err("holds a control character".into());
    }
    // A comparison stands alone; the longer signs come first.
    let comparisons = [
        (">=", Comparison::GreaterOrEqual),
        ("<=", Comparison::LessOrEqual),
        (">", Comparison::Greater),
        ("<", Comparison::Less),
    ];
    for (sign, comparison) in comparisons {
        if let Some(value) = rest.strip_prefix(sign) {
            let test = RawTest::Compares(comparison, parse_compared_value(value)?);
            return Ok(RawExpression { key, test });
        }
    }
    // A `!` negates all alternatives that follow.
    let (is_negated, rest) = match rest.strip_prefix('!').map(trim) {
        Some(rest) if rest.starts_with('!') => return Err("has `!` twice; once is enough".into()),
        Some(rest) => (true, rest),
        None => (false, rest),
    };
    let mut alternatives = Vec::new();
    let mut rest = Some(rest);
    while let Some(text) = rest {
        if alternatives.len() == ALTERNATIVES_MAX {
            return Err(format!("has more than {ALTERNATIVES_MAX} alternatives"));
        }
        let (value, after) = parse_value(text)?;
        if !value.is_quoted && value.text.starts_with(['<', '>']) {
            return Err("has a comparison beside `!` or `|`; a comparison stands alone".into());
        }
        if !value.is_quoted && value.text.starts_with('!') {
            return Err(
                "has `!` before a later alternative; one before the first is for all, and a \
                        value that begins with it belongs in quotes"
                    .into(),
            );
        }
        alternatives.push(value);
        rest = after;
    }
    Ok(RawExpression { key, test: RawTest::AnyOf { is_negated, alternatives } })
}

/// Parses the first value of a text; also returns the text after the `|` that follows.
fn parse_value(text: &str) -> Result<(RawValue<'_>, Option<&str>), String> {
    let text = trim(text);
    let Some(quoted) = text.strip_prefix('"') else {
        let (value, rest) = match text.split_once('|') {
            Some((value, rest)) => (trim(value), Some(rest)),
            None => (text, None),
        };
        if value.is_empty() {
            return Err("has an empty value; `null` finds records without one".into());
        }
        if value.contains('"') {
            return Err(
                "has a quote within a value; put all of it in quotes, and write `\"\"` for \
                        one quote"
                    .into(),
            );
        }
        return Ok((RawValue { text: value.into(), is_quoted: false }, rest));
    };
    // After a closing quote only the next alternative may follow.
    let end = end_of_quoted(quoted).ok_or("has a quote that is not closed")?;
    let after = trim(&quoted[end + 1..]);
    let rest = after.strip_prefix('|');
    if rest.is_none() && !after.is_empty() {
        return Err("has text after a closing quote, where only `|` or `,` may stand".into());
    }
    if end == 0 {
        return Err("has an empty value; `null` finds records without one".into());
    }
    let inner = &quoted[..end];
    let text =
        if inner.contains('"') { inner.replace("\"\"", "\"").into() } else { Cow::from(inner) };
    Ok((RawValue { text, is_quoted: true }, rest))
}

/// Finds the closing quote. A doubled quote stands for a quote within the text.
fn end_of_quoted(text: &str) -> Option<usize> {
    let mut from = 0;
    loop {
        let at = from + text[from..].find('"')?;
        if !text[at + 1..].starts_with('"') {
            return Some(at);
        }
        from = at + 2;
    }
}

fn parse_compared_value(text: &str) -> Result<RawValue<'_>, String> {
    if text.is_empty() {
        return Err("has a comparison with nothing; a number or a date belongs behind it".into());
    }
    match parse_value(text)? {
        (value, None) => Ok(value),
        _ => Err("has a comparison beside `|`; a comparison stands alone".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_is_split_into_key_and_test() {
        let check = |text: &str, expected: &str| {
            let shown = match parse_expression(text) {
                Err(_) => "refused".to_owned(),
                Ok(RawExpression { key, test: RawTest::Compares(comparison, value) }) => {
                    format!("{key} {comparison:?} {}", value.text)
                }
                Ok(RawExpression { key, test: RawTest::AnyOf { is_negated, alternatives } }) => {
                    let values: Vec<String> = alternatives
                        .iter()
                        .map(|value| match value.is_quoted {
                            true => format!("'{}'", value.text),
                            false => value.text.to_string(),
                        })
                        .collect();
                    format!("{key} {}{}", if is_negated { "not " } else { "" }, values.join(" or "))
                }
            };
            assert_eq!(shown, expected, "{text}");
        };
        check("is_oa:true", "is_oa true");
        check("doi:https://doi.org/10.1/x:y", "doi https://doi.org/10.1/x:y");
        check("type:a|b|c", "type a or b or c");
        check("type:!a|b", "type not a or b");
        check("type:a|\"!b\"", "type a or '!b'");
        check("year:>2020", "year Greater 2020");
        check("year:>=2020", "year GreaterOrEqual 2020");
        check("year:<=-1", "year LessOrEqual -1");
        check("year:=5", "year =5");
        check("name : a b ", "name a b");
        check("type: ! a | b", "type not a or b");
        check("type: a |  \" b \" | c", "type a or ' b ' or c");
        check("year: >=  2020", "year GreaterOrEqual 2020");
        check("name:\"a,b|c\"", "name 'a,b|c'");
        check("name:\"a\"\"b\"|c", "name 'a\"b' or c");
        check("name:\"null\"", "name 'null'");
        check("name:\"\"\"\"", "name '\"'");
        for refused in [
            "",
            "is_oa",
            ":",
            ":true",
            "is_oa:",
            "is_oa:!",
            "type:!!a",
            "type:a|!b",
            "type:a|",
            "type:|a",
            "type:a||b",
            "year:>",
            "year:>5|6",
            "year:!>5",
            "year:1|>5",
            "name:\"a",
            "name:\"a\"b",
            "name:a\"b\"",
            "name:\"\"",
            "name: ",
            " : a",
            "type: ! !a",
            "type:a| |b",
            "year:> =5|6",
            "name:\"a\" b",
            "name:a\0b",
            "name:a\nb",
        ] {
            check(refused, "refused");
        }
        check(&format!("year:{}", vec!["1"; 101].join("|")), "refused");
    }

    #[test]
    fn commas_outside_of_quotes_separate_expressions() {
        let check = |text: &str, expected: &[&str]| {
            assert_eq!(split(text).collect::<Vec<_>>(), expected, "{text}");
        };
        check("a:1,b:2", &["a:1", "b:2"]);
        check("a:\"1,2\",b:3", &["a:\"1,2\"", "b:3"]);
        check("a:\"1\"\",2\",b:3", &["a:\"1\"\",2\"", "b:3"]);
        check(" a:1 , b:\" 2 \" ", &["a:1", "b:\" 2 \""]);
        check("a:1, ", &["a:1", ""]);
        check(",", &["", ""]);
    }
}
