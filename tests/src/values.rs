//! Values to ask for: the records' own, written in every way that means the same or nearly the same.

use crate::Seeded;
use pinakes_oracle::{Key, Kind};

/// Longest own value that is asked for, in bytes, so that no URL is too long.
const VALUE_BYTES_MAX: usize = 300;

/// One of these.
pub fn one<'t, T>(seeded: &mut Seeded, of: &'t [T]) -> &'t T {
    &of[seeded.below(of.len())]
}

/// One of these words.
pub fn word(seeded: &mut Seeded, of: &[&'static str]) -> &'static str {
    of[seeded.below(of.len())]
}

/// Whether something of these odds comes true.
pub fn chance(seeded: &mut Seeded, percent: usize) -> bool {
    seeded.below(100) < percent
}

/// A value of a key's type made from one that a record has, where there is one; `merged` are ids that
/// lead elsewhere.
pub fn value(seeded: &mut Seeded, key: &Key, own: Option<&str>, merged: &[String]) -> String {
    let own = own.filter(|own| own.len() <= VALUE_BYTES_MAX && chance(seeded, 90));
    match key.kind {
        Kind::Integer => integer(seeded, own),
        Kind::Fraction => fraction(seeded, own),
        Kind::Flag | Kind::Presence => word(seeded, &["true", "false", "TRUE", "False"]).to_owned(),
        Kind::Hx => match own {
            _ if !merged.is_empty() && chance(seeded, 5) => one(seeded, merged).clone(),
            Some(own) if chance(seeded, 80) => cased(seeded, own),
            Some(own) => own.replacen("HX_", word(seeded, &["HX_0", "HX_X", "HX_"]), 1),
            None => {
                word(seeded, &["HX_W1", "hx_a999999999999", "HX_", "HX_T01", "HX_é"]).to_owned()
            }
        },
        Kind::Level(_) => match own {
            Some(own) if chance(seeded, 90) => own.to_owned(),
            Some(own) => format!("0{own}"),
            None => word(seeded, &["1", "17", "99999999999999999999"]).to_owned(),
        },
        Kind::Doi => identifier(
            seeded,
            own,
            &[
                "",
                "doi:",
                "https://doi.org/",
                "http://doi.org/",
                "http://dx.doi.org/",
                "https://dx.doi.org/",
            ],
        ),
        Kind::Orcid => identifier(seeded, own, &["", "https://orcid.org/", "http://orcid.org/"]),
        Kind::Ror => identifier(seeded, own, &["", "https://ror.org/", "http://ror.org/"]),
        Kind::Plain | Kind::Code => match own {
            Some(own) => cased(seeded, own),
            None => word(seeded, &["nothing", "a", " ", "*", "article ", "%"]).to_owned(),
        },
        Kind::Text => text(seeded, own),
        Kind::Date | Kind::From | Kind::To => date(seeded, own),
        Kind::Search => search(seeded, own),
    }
}

/// A value that no key of this type takes, written as it stands after the colon.
pub fn wrong(seeded: &mut Seeded, kind: Kind) -> &'static str {
    const ANYWHERE: &[&str] = &[
        "", "!", "!!x", "|x", "x|", "x||x", "\"x", "\"\"", "\"x\"x", "x\"x", "x|\"", "!>1",
        "1\u{7f}",
    ];
    let typed: &[&'static str] = match kind {
        Kind::Integer => &[
            "x",
            "1.5",
            "1e3",
            "-",
            "--1",
            "1-2-3",
            "1--2",
            ">",
            ">=x",
            "<1.5",
            "+1",
            " 1",
            "0x10",
            "NULL",
            "\"1-2\"",
            "9223372036854775808",
            ">-9223372036854775809",
            "1-9223372036854775808",
            ">1|2",
        ],
        Kind::Fraction => {
            &["NaN", "inf", ">1e309", "1-2", ".5", "5.", "1e", "1e+", "-", ">null", "1,5", "0x1"]
        }
        Kind::Date => &[
            "2020-13",
            "2021-02-29",
            "20200",
            "2020-1",
            "x",
            "2020/01",
            ">null",
            "2020-01-01T00:00:00",
            "2020-2021-",
            "-",
            "\"2020-2021\"",
        ],
        Kind::From | Kind::To => {
            &["null", "2020-2021", "2020-", ">2020", "!null", "x", "2021-02-30"]
        }
        Kind::Flag | Kind::Presence => &["1", "yes", " true", ">true", "true-", "NULL"],
        Kind::Hx => &["W1", "https://openalex.org/W1", "HX", "1", " HX_W1", ">HX_W1"],
        Kind::Level(_) => &["x", "HX_1", "-1", "1.0", " 1", ">1", "fields/17", "١"],
        Kind::Search => &["null", "!null", ">x"],
        _ => &[">x", "<=x", "a\nb", "\"a\u{1}b\"", "\tx"],
    };
    match chance(seeded, 25) {
        true => word(seeded, ANYWHERE),
        false => word(seeded, typed),
    }
}

fn integer(seeded: &mut Seeded, own: Option<&str>) -> String {
    let Some(own) = own.and_then(|own| own.parse::<i64>().ok()) else {
        return word(seeded, &["0", "1", "2020", "9223372036854775807", "007"]).to_owned();
    };
    (own + *one(seeded, &[0, 0, 0, 0, 1, -1])).to_string()
}

fn fraction(seeded: &mut Seeded, own: Option<&str>) -> String {
    let Some(own) = own.and_then(|own| own.parse::<f64>().ok()) else {
        return word(seeded, &["0", "-0", "1e-400", "1.0", "-1.5e+300", "0.00"]).to_owned();
    };
    match seeded.below(6) {
        0 => format!("{own:e}"),
        1 => format!("{}", own * 2.0),
        2 => format!("{own:.2}"),
        _ => format!("{own}"),
    }
}

fn date(seeded: &mut Seeded, own: Option<&str>) -> String {
    let Some(own) = own else {
        return word(seeded, &["1800", "2020", "2020-02", "2020-02-29", "9999-12-31"]).to_owned();
    };
    let year: u32 = own[..4].parse().unwrap();
    match seeded.below(8) {
        0 | 1 => own[..4].to_owned(),
        2 | 3 => own[..7].to_owned(),
        4 => format!("{:04}", (year + 1).min(9_999)),
        5 => format!("{:04}", (year - 1).max(1)),
        _ => own[..10].to_owned(),
    }
}

/// An identifier with one of these before it, in some case; one of none where there is no own.
pub fn identifier(seeded: &mut Seeded, own: Option<&str>, prefixes: &[&str]) -> String {
    let Some(own) = own else {
        return word(seeded, &["nothing", "10.1/x", "https://doi.org/", "https://ror.org/"])
            .to_owned();
    };
    let written = match prefixes.iter().rev().find_map(|prefix| own.strip_prefix(prefix)) {
        Some(bare) if chance(seeded, 70) => format!("{}{bare}", one(seeded, prefixes)),
        _ => own.to_owned(),
    };
    cased(seeded, &written)
}

/// A text that mostly means the same.
pub fn text(seeded: &mut Seeded, own: Option<&str>) -> String {
    let Some(own) = own else {
        return word(seeded, &["no such text", "???", " ", "’", "<i></i>", "Null", "a:b"])
            .to_owned();
    };
    match seeded.below(10) {
        0 => own.to_uppercase(),
        1 => own.to_lowercase(),
        2 => format!("  <i>{own}</i> "),
        3 => own.replace(' ', " – "),
        4 => own.split(' ').next().unwrap_or_default().to_owned() + "-",
        5 => own.chars().flat_map(|c| [c, '\u{301}']).collect(),
        _ => own.to_owned(),
    }
}

/// Beginnings of up to three of the words.
fn search(seeded: &mut Seeded, own: Option<&str>) -> String {
    let Some(own) = own else {
        return word(seeded, &["a", "zzzz", "?!", " ", "univ", "大"]).to_owned();
    };
    let words: Vec<&str> = own.split_whitespace().collect();
    let count = 1 + seeded.below(3);
    let beginning = |_| {
        let word = one(seeded, &words);
        let length = 1 + seeded.below(word.chars().count());
        word.chars().take(length).collect::<String>()
    };
    (0..count).map(beginning).collect::<Vec<_>>().join(" ")
}

/// As it is, or in another case.
pub fn cased(seeded: &mut Seeded, text: &str) -> String {
    match seeded.below(4) {
        0 => text.to_ascii_uppercase(),
        1 => text.to_ascii_lowercase(),
        _ => text.to_owned(),
    }
}

/// A value as it stands in a filter: in quotes where it must.
pub fn written(value: &str, is_quoted: bool) -> String {
    let must = value.is_empty()
        || value == "null"
        || value.starts_with(['!', '<', '>'])
        || value.contains([',', '|', '"']);
    if must || is_quoted { format!("\"{}\"", value.replace('"', "\"\"")) } else { value.to_owned() }
}

/// Percent-encoded: what must be, and at random what need not.
pub fn encoded(seeded: &mut Seeded, text: &str) -> String {
    let is_eager = chance(seeded, 10);
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b' ' if chance(seeded, 50) => out.push('+'),
            b'a'..=b'z'
            | b'A'..=b'Z'
            | b'0'..=b'9'
            | b'-'
            | b'.'
            | b'_'
            | b'~'
            | b':'
            | b','
            | b'!'
            | b'/'
            | b'*'
            | b'\''
                if !is_eager || chance(seeded, 50) =>
            {
                out.push(char::from(byte));
            }
            byte if chance(seeded, 50) => out.push_str(&format!("%{byte:02X}")),
            byte => out.push_str(&format!("%{byte:02x}")),
        }
    }
    out
}
