//! Compares the parser with serde_json, and its treatment of unread members with that of read members.

#![allow(clippy::unwrap_used)]

use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::read::json::{DEPTH_MAX, JsonFault, parse, parse_skipping_unread};
use crate::read::json_tree::JsonValue;
use JsonFault::{DuplicateKey, Syntax, TooDeep};

/// Parses a text as a tree, and compares the value or the fault with those of serde_json; an unread value has the
/// same fault.
fn check(text: &str) -> Result<(), JsonFault> {
    let tree = parse(text, PhantomData::<JsonValue<'_>>);
    let expected = serde_json::from_str::<JsonValue<'_>>(text).map_err(|error| {
        let is_deep = error.to_string().starts_with("recursion limit");
        // The tree refuses no type, so that an error in the data is a duplicate key.
        if is_deep {
            TooDeep
        } else if error.is_data() {
            DuplicateKey
        } else {
            Syntax
        }
    });
    // The debug form differs between `0.0` and `-0.0`.
    assert_eq!(format!("{tree:?}"), format!("{expected:?}"), "{text}");
    let unread = parse(text, PhantomData::<IgnoredAny>);
    // A tree compares the keys at the end of an object, and so names a later fault in the object instead.
    if unread.err() != Some(DuplicateKey) {
        assert_eq!(unread.err(), tree.as_ref().err().copied(), "{text}");
    }
    // A good text is good to serde_json too where it skips all of the text, and so is this parser.
    let skipped = serde_json::from_str::<IgnoredAny>(text).is_ok();
    let is_deep = tree.as_ref().err() == Some(&TooDeep);
    let unchecked = parse_skipping_unread(text, PhantomData::<IgnoredAny>).is_ok();
    assert!(unchecked == skipped || is_deep, "{text}");
    tree.map(drop)
}

const GOOD: &[&str] = &[
    r#"{"id":"https://openalex.org/W1","n":[0,-1,12,1.5,-2.25e-3,1E5,123456789012345678],"o":{}}"#,
    r#" { "a" : [ ] , "b" : { "c" : null } , "d" : [ true , false ] } "#,
    r#"{"escaped \u00e9":"\"\\\/\b\f\n\r\t\u0041\ud83d\ude00","long":"0123456789\u00e90123456789"}"#,
    r#"{"é":"日本語 текст","":""}"#,
    r#"{"a":-0,"b":-0.0,"c":1e-400,"d":0.1,"e":5e-324,"f":1.7976931348623157e308}"#,
    "[1234567890123456789,18446744073709551615,18446744073709551616,-9223372036854775809]",
    "[-9223372036854775808,-1234567890123456789,100000000000000000000000.5e-3]",
    "{\t\"a\"\n:\r[1,\t2\t]\n}\n",
    "[[[]],[{}]]",
    "\"text\"",
    "7",
    "null",
];

#[test]
fn a_good_text_has_the_value_that_serde_json_reads() {
    for text in GOOD {
        assert_eq!(check(text), Ok(()), "{text}");
    }
}

#[test]
fn a_text_is_refused_for_its_first_fault() {
    let deep = format!("{}{}", "[".repeat(128), "]".repeat(128));
    assert_eq!(check(&deep[1..255]), Ok(()));
    assert_eq!(check(&deep), Err(TooDeep));
    for text in [r#"{"a":1,"a":2}"#, r#"{"a":1,"\u0061":2}"#, r#"{"a":{"b":1,"c":2,"b":3}}"#] {
        assert_eq!(check(text), Err(DuplicateKey), "{text}");
    }
    for text in [
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
        "\"a\u{0}b\"",
        "[1,\u{b}2]",
        "\u{0}",
        "01",
        "-",
        "-01",
        "1.",
        ".5",
        "1e",
        "1e+",
        "+1",
        "1e400",
        "nan",
        "NaNs",
        "+Infinity",
        "-Inf",
        "--Infinity",
        "nul",
        "truex",
        "{} x",
        "",
        " ",
    ] {
        assert_eq!(check(text), Err(Syntax), "{text}");
    }
    let digits = "9".repeat(400);
    assert_eq!(check(&digits), Err(Syntax));
}

#[test]
fn a_changed_text_has_the_value_or_the_fault_that_serde_json_finds() {
    // Numerical Recipes' linear congruential generator: the places are the same in every run.
    let mut seed = 1u32;
    let mut next = |bound: usize| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 8) as usize % bound
    };
    let bytes = b"\"\\{}[],: 0159-+.eEud8nft\x01\t\n";
    let mut accepted = 0;
    for _ in 0..1_000 {
        for text in GOOD {
            let mut changed = text.as_bytes().to_vec();
            let at = next(changed.len());
            match next(3) {
                0 => _ = changed.remove(at),
                1 => changed.insert(at, bytes[next(bytes.len())]),
                _ => changed[at] = bytes[next(bytes.len())],
            }
            let Ok(changed) = String::from_utf8(changed) else { continue };
            accepted += usize::from(check(&changed).is_ok());
        }
    }
    assert!(accepted > 500, "{accepted}");
}

#[derive(Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
struct Record {
    id: u64,
    inner: Option<Box<Record>>,
    list: Vec<Record>,
}

fn fault(text: &str) -> Option<JsonFault> {
    parse(text, PhantomData::<Record>).err()
}

/// The faults of four lines that hold `value` in a member that `Record` does not declare.
fn faults(value: &str) -> [Option<JsonFault>; 4] {
    [
        format!("{{\"id\":1,\"unread\":{value}}}"),
        format!("{{\"unread\":[{{\"deep\":{value}}}],\"id\":1}}"),
        format!("{{\"id\":1,\"inner\":{{\"unread\":{value}}}}}"),
        format!("{{\"id\":1,\"list\":[{{\"unread\":[[{value}]]}}]}}"),
    ]
    .map(|text| fault(&text))
}

#[test]
fn numbers_that_are_not_finite_are_read_as_such() {
    let check = |text: &str, expected: f64| {
        let read = parse(text, PhantomData::<Vec<f64>>).unwrap();
        assert_eq!(format!("{read:?}"), format!("{:?}", [expected]), "{text}");
    };
    check("[NaN]", f64::NAN);
    check("[ Infinity ]", f64::INFINITY);
    check("[-Infinity]", f64::NEG_INFINITY);
}

#[test]
fn undeclared_members_are_checked_like_declared_ones() {
    for good in [
        "NaN",
        "-Infinity",
        "1",
        "-1.5e3",
        "\"\\ud83d\\ude00\"",
        "{\"a\":1,\"b\":{\"a\":1}}",
        "[null,true]",
    ] {
        assert_eq!(faults(good), [None; 4], "{good}");
    }
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    let keys: String = (0..100).map(|key| format!("\"{key}\":0,")).collect();
    let many = format!("{{{keys}\"7\":1}}");
    for (bad, fault) in [
        ("{\"a\":1,\"b\":2,\"a\":3}", DuplicateKey),
        ("{\"a\":1,\"\\u0061\":3}", DuplicateKey),
        (many.as_str(), DuplicateKey),
        ("1e400", Syntax),
        ("nan", Syntax),
        ("\"\\ud800\"", Syntax),
        ("\"\\ud800\\u0041\"", Syntax),
        ("\"a\tb\"", Syntax),
        (deep.as_str(), TooDeep),
    ] {
        assert_eq!(faults(bad), [Some(fault); 4], "{bad}");
    }
    for twice in ["{\"u\":1,\"id\":1,\"u\":1}", "{\"id\":1,\"inner\":{\"u\":1,\"u\":1}}"] {
        assert_eq!(fault(twice), Some(DuplicateKey));
    }
    assert_eq!(fault("{\"id\":1} x"), Some(Syntax));
    assert_eq!(fault(&"[".repeat(100_000)), Some(JsonFault::Shape));
}

#[test]
fn every_refusal_has_the_fault_that_a_report_names() {
    assert_eq!(fault("{\"id\":1,\"id\":1}"), Some(DuplicateKey));
    assert_eq!(fault("{\"list\":[{\"id\":1,\"id\":1}]}"), Some(DuplicateKey));
    assert_eq!(fault("{\"id\":\"1\"}"), Some(JsonFault::Shape));
    assert_eq!(fault("{\"id\":}"), Some(Syntax));
    assert_eq!(fault("{\"id\":1"), Some(Syntax));
}

#[test]
fn an_unchecked_member_may_have_every_fault_but_broken_syntax() {
    let skipping = |unread: &str| {
        let text = format!("{{\"id\":1,\"u\":{unread},\"list\":[]}}");
        parse_skipping_unread(&text, PhantomData::<Record>).err()
    };
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    for unread in
        ["1e400", "\"\\ud800\"", "{\"a\":1,\"a\":[{},[]]}", &deep, "[ {\"a\" : [1 , 2]} ]"]
    {
        assert_eq!(skipping(unread), None, "{unread}");
    }
    for unread in
        ["", "[", "[}", "{]", "{\"a\"}", "{\"a\":1,}", "[1,]", "\"\\x\"", "1 1", "01", "{1:1}"]
    {
        assert_eq!(skipping(unread), Some(Syntax), "{unread}");
    }
    let read_twice = "{\"id\":1,\"u\":1,\"u\":1,\"id\":1}";
    let read_twice = parse_skipping_unread(read_twice, PhantomData::<Record>).err();
    assert_eq!(read_twice, Some(DuplicateKey));
}

#[test]
fn a_value_may_nest_as_deep_as_in_serde_json() {
    let depth_max = usize::from(DEPTH_MAX);
    for (levels, expected) in [(depth_max, None), (depth_max + 1, Some(TooDeep))] {
        let text = format!("{{\"unread\":{}{}}}", "[".repeat(levels - 1), "]".repeat(levels - 1));
        assert_eq!(fault(&text), expected);
        let value = serde_json::from_str::<serde_json::Value>(&text);
        assert_eq!(value.is_ok(), expected.is_none());
    }
}
