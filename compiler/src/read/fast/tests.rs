//! Compares the parser with the strict parser.

#![allow(clippy::unwrap_used)]

use std::marker::PhantomData;

use super::parse;
use crate::read::json_tree::JsonValue;
use crate::read::strict;

/// Compares both parsers on a text, as a tree and as an unread value; returns whether `parse` accepts it.
fn check(text: &str) -> bool {
    let tree = parse(text, PhantomData::<JsonValue<'_>>);
    let unread = parse(text, PhantomData::<serde::de::IgnoredAny>).is_some();
    assert_eq!(tree.is_some(), unread, "{text}");
    let Some(tree) = tree else { return false };
    let expected = strict::from_str::<JsonValue<'_>>(text);
    // The debug form differs between `0.0` and `-0.0`.
    assert_eq!(format!("{tree:?}"), format!("{:?}", expected.unwrap()), "{text}");
    true
}

const GOOD: &[&str] = &[
    r#"{"id":"https://openalex.org/W1","n":[0,-1,12,1.5,-2.25e-3,1E5,123456789012345678],"o":{}}"#,
    r#" { "a" : [ ] , "b" : { "c" : null } , "d" : [ true , false ] } "#,
    r#"{"escaped \u00e9":"\"\\\/\b\f\n\r\t\u0041\ud83d\ude00","long":"0123456789\u00e90123456789"}"#,
    r#"{"é":"日本語 текст","":""}"#,
    r#"{"a":-0,"b":-0.0,"c":1e-400,"d":0.1,"e":5e-324,"f":1.7976931348623157e308}"#,
    "[[[]],[{}]]",
    "\"text\"",
    "7",
    "null",
];

#[test]
fn a_good_text_has_the_value_that_the_strict_parser_reads() {
    for text in GOOD {
        assert!(check(text), "{text}");
    }
}

#[test]
fn a_faulty_or_unusual_text_is_left_to_the_strict_parser() {
    let deep = format!("{}{}", "[".repeat(128), "]".repeat(128));
    assert!(check(&deep[1..255]));
    for text in [
        r#"{"a":1,"a":2}"#,
        r#"{"a":1,"\u0061":2}"#,
        r#"{"a":{"b":1,"c":2,"b":3}}"#,
        r#"{"a":1,}"#,
        r#"{"a":1 "b":2}"#,
        r#"{,}"#,
        r#"{a:1}"#,
        r#"{"a"}"#,
        r#"{"a":1]"#,
        "[1,]",
        "[,]",
        "[1 2]",
        "[1",
        "{",
        "\"",
        "\"\\",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\\u+123\"",
        "\"\\ud800\"",
        "\"\\ud800\\u0041\"",
        "\"\\udc00\"",
        "\"a\tb\"",
        "[1,\t2]",
        "01",
        "-",
        "-01",
        "1.",
        ".5",
        "1e",
        "1e+",
        "+1",
        "1e400",
        "NaN",
        "1234567890123456789",
        "nul",
        "truex",
        "{} x",
        "",
        " ",
        &deep,
    ] {
        assert!(!check(text), "{text}");
    }
}

#[test]
fn a_changed_text_is_refused_or_has_the_value_that_the_strict_parser_reads() {
    // Numerical Recipes' linear congruential generator: the places are the same in every run.
    let mut seed = 1u32;
    let mut next = |bound: usize| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 8) as usize % bound
    };
    let bytes = b"\"\\{}[],: 0159-+.eEud8nft\x01";
    let mut accepted = 0;
    for _ in 0..200 {
        for text in GOOD {
            let mut changed = text.as_bytes().to_vec();
            let at = next(changed.len());
            match next(3) {
                0 => _ = changed.remove(at),
                1 => changed.insert(at, bytes[next(bytes.len())]),
                _ => changed[at] = bytes[next(bytes.len())],
            }
            let Ok(changed) = String::from_utf8(changed) else { continue };
            accepted += usize::from(check(&changed));
        }
    }
    assert!(accepted > 100, "{accepted}");
}
