//! Regular expressions of JSON Schema for identifiers, filters and sorts.
//!
//! A pattern matches exactly the texts that the parsers of [`pinakes_format::query`] accept. Not part of the
//! patterns are the maximum counts of expressions, values and bytes, and the order of a range's ends.

use pinakes_format::entity::{Entity, IdFormat};
use pinakes_format::query::SORT_KEYS_MAX;
use pinakes_format::schema::keys::{Bound, Key, Keys, Kind};

/// The number of an identifier, without leading zeros, at most 19 digits.
const NUMBER: &str = "(?:0|[1-9][0-9]{0,18})";
/// A year from 0001 to 9999.
const YEAR: &str = "(?:[0-9]{3}[1-9]|[0-9]{2}[1-9]0|[0-9][1-9]00|[1-9]000)";
/// A month or a day after its year, except 29 February.
const REST_OF_DATE: &str = "(?:-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|1[0-9]|2[0-8]))?\
                            |-(?:0[13-9]|1[0-2])-(?:29|30)|-(?:0[13578]|1[02])-31)?";
/// 29 February of a leap year.
const LEAP_DAY: &str = "(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])\
                        |(?:0[48]|[2468][048]|[13579][26])00)-02-29";
/// The digits of an integer that fits 64 bits.
const INTEGER: &str = "[0-9]{1,18}";
const FRACTION: &str = r"-?[0-9]{1,18}(?:\.[0-9]{1,18})?(?:e[+-]?[0-9]{1,2})?";
/// The first character of an unquoted value.
const BARE_FIRST: &str = r#"[^ <>!,|"\x00-\x1F\x7F]"#;
/// The rest of an unquoted value. It ends before the spaces that may follow: if both took them, a regular
/// expression engine would try every division of them, for each of the values.
const BARE_REST: &str = r#"(?:[^,|"\x00-\x1F\x7F]*[^ ,|"\x00-\x1F\x7F])?"#;
/// A character of a quoted value, or a doubled quote.
const QUOTED: &str = r#"(?:[^"\x00-\x1F\x7F]|"")"#;
/// The time after a whole date.
const TIME: &str = r"T(?:[01][0-9]|2[0-3])(?::[0-5][0-9]){2}(?:\.[0-9]{1,6})?Z?";

/// The identifiers of an entity's records in paths.
pub fn id(spelling: &IdFormat, entity: Entity) -> String {
    let letter = entity.facts().letter.map(char::from);
    let letter = letter.map(String::from).unwrap_or_default();
    format!("^{}{letter}{NUMBER}$", spelling.prefix(entity))
}

/// The values of `filter` for a list with these keys.
pub fn filter(keys: &Keys) -> String {
    let mut values: Vec<(String, Vec<&str>)> = Vec::new();
    for key in keys.keys.iter().filter(|key| key.filter.is_some()) {
        let values_of_key = expression_values(key);
        match values.iter_mut().find(|(known, _)| *known == values_of_key) {
            Some((_, names)) => names.push(key.name),
            None => values.push((values_of_key, vec![key.name])),
        }
    }
    let expressions: Vec<String> = values
        .iter()
        .map(|(values, names)| format!("(?:{}) *: *{values}", one_of(names.iter())))
        .collect();
    let expression = format!(" *(?:{}) *", expressions.join("|"));
    format!("^{expression}(?:,{expression})*$")
}

/// The values of `sort` for a list with these keys. A lookahead refuses a repeated key.
pub fn sort(keys: &Keys) -> String {
    let names: Vec<&str> = keys.sorts().collect();
    let key = format!(" *(?:{})(?: *: *(?:asc|desc))? *", one_of(names.iter()));
    let more = SORT_KEYS_MAX - 1;
    let repeated = "(?:.*,)? *([^:, ]+)[^,]*,(?:.*,)? *\\1 *(?:[:,]|$)";
    format!("^(?!{repeated}){key}(?:,{key}){{0,{more}}}$")
}

/// Names separated by commas; `most` of them, if there is a maximum. That they must differ is not part of
/// the pattern: a lookahead for it takes test generators minutes.
pub fn names(names: &[&str], most: Option<usize>) -> String {
    let name = format!(" *(?:{}) *", one_of(names.iter()));
    let more = most.map_or("*".to_owned(), |most| format!("{{0,{}}}", most - 1));
    format!("^{name}(?:,{name}){more}$")
}

/// Text without control characters that is not all white space.
pub fn words() -> String {
    r"^[^\x00-\x1F\x7F]*[^\s\u0085\x00-\x1F\x7F][^\x00-\x1F\x7F]*$".to_owned()
}

/// Text without control characters.
pub fn printable() -> String {
    r"^[^\x00-\x1F\x7F]+$".to_owned()
}

fn one_of<'n>(names: impl Iterator<Item = &'n &'n str>) -> String {
    names.map(|name| name.replace('.', r"\.")).collect::<Vec<_>>().join("|")
}

/// The right-hand side of an expression for a key: alternatives of values, or a comparison.
fn expression_values(key: &Key) -> String {
    let value = value(key);
    let any = format!(r"(?:! *)?{value}(?: *\| *{value})*");
    match comparand(key.kind) {
        Some(number) => format!(r#"(?:{any}|[<>]=? *(?:{number}|"{number}"))"#),
        None => format!("(?:{any})"),
    }
}

/// One value of an expression.
fn value(key: &Key) -> String {
    let either = |bare: &str| format!(r#"(?:{bare}|"{bare}"|null)"#);
    match key.kind {
        Kind::Id(entity) if entity.facts().letter.is_none() => either("[0-9]+"),
        Kind::Id(_) | Kind::AnyId => identifier("[Hh][Xx]_"),
        Kind::LegacyId(entity) if entity.facts().letter.is_none() => either("(?:[Oo][Aa]:)?[0-9]+"),
        Kind::LegacyId(_) => {
            format!(r#"(?:{}|"[0-9]+"|[0-9]+)"#, identifier("[Oo][Aa]:"))
        }
        Kind::Boolean => either("(?:[Tt][Rr][Uu][Ee]|[Ff][Aa][Ll][Ss][Ee])"),
        Kind::Identifier(_) | Kind::Code | Kind::Text => {
            format!(r#"(?:{BARE_FIRST}{BARE_REST}|"{QUOTED}+")"#)
        }
        Kind::Words => format!(r#"(?:(?!null *(?:[,|]|$)){BARE_FIRST}{BARE_REST}|"{QUOTED}+")"#),
        Kind::Integer => {
            format!(r#"(?:{INTEGER}(?:-(?:{INTEGER})?)?|-{INTEGER}|"-?{INTEGER}"|null)"#)
        }
        Kind::Number => either(FRACTION),
        Kind::Day(Bound::Exact) | Kind::Moment(Bound::Exact) => {
            let date = date(key.kind);
            format!(r#"(?:{date}|{YEAR}-(?:{YEAR})?|-{YEAR}|"{date}"|null)"#)
        }
        Kind::Day(_) | Kind::Moment(_) => {
            let date = date(key.kind);
            format!(r#"(?:{date}|"{date}")"#)
        }
    }
}

/// A prefix and any text: the parser accepts malformed identifiers, which match no record.
fn identifier(prefix: &str) -> String {
    format!(r#"(?:{prefix}{BARE_REST}|"{prefix}{QUOTED}*"|null)"#)
}

/// A year, a month or a day; for a kind of times also a time.
fn date(kind: Kind) -> String {
    let period = format!("(?:{YEAR}{REST_OF_DATE}|{LEAP_DAY})");
    match kind {
        Kind::Moment(_) => format!("(?:{period}|(?=[^T]{{10}}T){period}{TIME})"),
        _ => period,
    }
}

/// The right-hand side of `>`, `<`, `>=` and `<=`; `None` for a kind without an order.
fn comparand(kind: Kind) -> Option<String> {
    match kind {
        Kind::Integer => Some(format!("-?{INTEGER}")),
        Kind::Number => Some(FRACTION.to_owned()),
        Kind::Day(Bound::Exact) | Kind::Moment(Bound::Exact) => Some(date(kind)),
        _ => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use fancy_regex::Regex;
    use pinakes_format::query::Query;
    use pinakes_format::record::legacy::LEGACY;

    use super::*;

    /// An empty query to each current and legacy list.
    fn lists() -> Vec<Query> {
        let current = Entity::all().map(Query::new);
        current.chain(LEGACY.iter().map(Query::legacy)).collect()
    }

    /// Values that some kinds of key accept and others refuse.
    const VALUES: [&str; 91] = [
        "a",
        "a b",
        "null",
        "!null",
        "!a",
        "!!a",
        "a|b",
        "a|",
        "|a",
        "a|!b",
        "a|<b",
        "",
        "!",
        "\"a\"",
        "\"\"",
        "\"a",
        "a\"b",
        "\"a\"b",
        "\"a,b\"",
        "\"a\"\"b\"",
        "\"\"\"\"",
        "\"null\"",
        "\"a\"|null",
        "a\u{1}",
        "\"\u{7f}\"",
        ">a",
        "é|東",
        "true",
        "FALSE",
        "!tRue|false",
        "\"true\"",
        "True ",
        "1",
        "01",
        "-1",
        "1-",
        "1-2",
        "-",
        "1-2-3",
        "1--2",
        "\"-1\"",
        "\"1-2\"",
        ">1",
        ">=1",
        "<-1",
        "<=\"1\"",
        ">1|2",
        "!>1",
        ">",
        "1.5",
        "-1.5e-3",
        "1e5",
        "1E5",
        "1.",
        ".5",
        "2020",
        "2020-02",
        "2020-02-29",
        "2019-02-29",
        "2020-13",
        "2020-04-31",
        "0000",
        "2019-2021",
        ">2020-12-31",
        "<=\"2020\"",
        "HX_W1",
        "hx_w1|HX_A2",
        "\"HX_T01\"",
        "OA:T1",
        "oa:3",
        "W1",
        " ",
        " a",
        " a b ",
        "a | b",
        " ! a",
        "! !a",
        "a| |b",
        " \" a \" | b",
        "\"a\" b",
        "null |1",
        " null ",
        " 1 ",
        "> 1",
        " >=  \"1\" ",
        "> =1",
        " true|false ",
        "2020-02-29T23:59:59.123456",
        "> 2020-02-28T00:00:00Z",
        "2019-02-29T00:00:00",
        "2020-02T00:00:00",
    ];

    #[test]
    fn the_filter_pattern_matches_the_filters_that_the_parser_accepts() {
        for list in lists() {
            let pattern = Regex::new(&filter(list.keys)).unwrap();
            let check = |text: &str| {
                let is_accepted = match list.clone().add_filter(text) {
                    Ok(()) => true,
                    Err(errors) => {
                        errors.iter().all(|error| error.reason.contains("ends before it begins"))
                    }
                };
                let route = list.keys.route;
                assert_eq!(pattern.is_match(text).unwrap(), is_accepted, "{route} {text}");
            };
            let has_filters = list.keys.filters().next().is_some();
            for name in list.keys.keys.iter().map(|key| key.name).filter(|_| has_filters) {
                for value in VALUES {
                    check(&format!("{name}:{value}"));
                }
                check(name);
                check(&format!("{name}x:1"));
                check(&format!(" {name} : 1 "));
            }
            for text in [
                "id:1,name:a",
                "name:a,",
                ",name:a",
                "name:a,,name:b",
                "name:a,b",
                ":a",
                "id:1 , name:a",
                " , name:a",
            ] {
                if has_filters {
                    check(text);
                }
            }
        }
    }

    #[test]
    fn the_sort_pattern_matches_the_sorts_that_the_parser_accepts() {
        for list in lists().iter().filter(|list| list.keys.sorts().next().is_some()) {
            let pattern = Regex::new(&sort(list.keys)).unwrap();
            for text in [
                "id",
                "name:asc",
                "id:desc,name",
                "id,name,updated_date",
                "name,name",
                "id,name:asc,id:desc",
                "id,name,created_date,updated_date",
                "id:",
                "id:up",
                "ID",
                "",
                ",",
                "id,",
                "idx",
                "type",
                "outputs_count:desc,id",
                "cited_by_count,outputs_count",
                "summary_stats.h_index",
                " id : desc , name ",
                "id desc",
                "id ,name:asc, id:desc",
                "id, ",
            ] {
                let is_accepted = list.clone().set_sort(text).is_ok();
                assert_eq!(
                    pattern.is_match(text).unwrap(),
                    is_accepted,
                    "{} {text}",
                    list.keys.route
                );
            }
        }
    }

    #[test]
    fn the_id_pattern_matches_the_ids_that_the_parser_accepts() {
        let check = |spelling: &IdFormat, entity: Entity, text: &str| {
            let is_id = spelling.parse(entity, text).is_some();
            let pattern = Regex::new(&id(spelling, entity)).unwrap();
            assert_eq!(pattern.is_match(text).unwrap(), is_id, "{entity} {text}");
        };
        for facts in &pinakes_format::entity::CATALOG {
            for text in
                ["HX_W1", "HX_A0", "HX_T01", "1", "0", "01", "", "x", "OA:T1", "OA:1", "HX_W"]
            {
                check(&IdFormat::CURRENT, facts.entity, text);
                check(&IdFormat::LEGACY, facts.entity, text);
            }
        }
    }

    #[test]
    fn the_words_pattern_refuses_white_space_alone() {
        let pattern = Regex::new(&words()).unwrap();
        for (text, expected) in [
            ("a", true),
            (" é ", true),
            ("", false),
            (" \u{3000}", false),
            ("\u{85}", false),
            ("a\u{0}", false),
        ] {
            assert_eq!(pattern.is_match(text).unwrap(), expected, "{text:?}");
            let is_accepted = crate::endpoint::complete_query::check(text).is_ok();
            assert_eq!(is_accepted, expected, "{text:?}");
        }
    }
}
