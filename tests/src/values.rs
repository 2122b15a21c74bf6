//! Random filter values: values of records, written in equivalent and nearly equivalent forms.

use pinakes_oracle::{Key, Kind};

use crate::SeededRng;

/// Longest record value used in a query, in bytes, which keeps URLs below the limit.
const VALUE_BYTES_MAX: usize = 300;

/// Picks an item.
pub fn pick<'t, T>(rng: &mut SeededRng, of: &'t [T]) -> &'t T {
    &of[rng.below(of.len())]
}

/// Picks a word.
pub fn pick_word(rng: &mut SeededRng, of: &[&'static str]) -> &'static str {
    of[rng.below(of.len())]
}

/// Returns `true` with this probability.
pub fn chance(rng: &mut SeededRng, percent: usize) -> bool {
    rng.below(100) < percent
}

/// Makes a value of a key's type, usually from the value `own` of a record.
///
/// `merged` are ids that redirect to another record.
pub fn random_value(
    rng: &mut SeededRng,
    key: &Key,
    own: Option<&str>,
    merged: &[String],
) -> String {
    let own = own.filter(|own| own.len() <= VALUE_BYTES_MAX && chance(rng, 90));
    match key.kind {
        Kind::Integer => integer(rng, own),
        Kind::Fraction => fraction(rng, own),
        Kind::Flag | Kind::Presence => {
            pick_word(rng, &["true", "false", "TRUE", "False"]).to_owned()
        }
        Kind::Hx => match own {
            _ if !merged.is_empty() && chance(rng, 5) => pick(rng, merged).clone(),
            Some(own) if chance(rng, 60) => random_case(rng, own),
            Some(own) if chance(rng, 50) => openalex_id(rng, own),
            Some(own) => own.replacen("HX_", pick_word(rng, &["HX_0", "HX_X", "HX_"]), 1),
            None => {
                pick_word(rng, &["HX_W1", "hx_a999999999999", "HX_", "HX_T01", "HX_é"]).to_owned()
            }
        },
        Kind::Level(level) => match own {
            Some(own) if chance(rng, 80) => own.to_owned(),
            Some(own) if chance(rng, 50) => format!("https://openalex.org/{level}/{own}"),
            Some(own) => format!("0{own}"),
            None => pick_word(rng, &["1", "17", "99999999999999999999"]).to_owned(),
        },
        Kind::Doi => identifier(
            rng,
            own,
            &[
                "",
                "doi:",
                "https://doi.org/",
                "http://doi.org/",
                "http://dx.doi.org/",
                "https://dx.doi.org/",
                "doi.org/",
            ],
        ),
        Kind::Orcid => {
            identifier(rng, own, &["", "https://orcid.org/", "http://orcid.org/", "orcid.org/"])
        }
        Kind::Ror => identifier(rng, own, &["", "https://ror.org/", "http://ror.org/", "ror.org/"]),
        Kind::Issn => match own {
            Some(own) if chance(rng, 30) => own.replace('-', ""),
            own => identifier(rng, own, &["", "issn:", "https://portal.issn.org/resource/ISSN/"]),
        },
        Kind::Pmid => {
            identifier(rng, own, &["", "pmid:", "PMID:", "https://pubmed.ncbi.nlm.nih.gov/"])
        }
        Kind::DoiBeginning => {
            let own = own.map(|own| {
                let bare = own.trim_start_matches("https://doi.org/");
                let length = rng.below(bare.chars().count() + 1);
                bare.chars().take(length).collect::<String>()
            });
            let own = own.filter(|own| !own.trim().is_empty());
            identifier(rng, own.as_deref(), &["", "doi:", "https://doi.org/", "doi.org/"])
        }
        Kind::Award | Kind::Work if chance(rng, 40) => {
            own.map_or("G1".to_owned(), |own| openalex_id(rng, own))
        }
        Kind::Plain | Kind::Award | Kind::Work | Kind::Code => match own {
            Some(own) => random_case(rng, own),
            None => pick_word(rng, &["nothing", "a", " ", "*", "article ", "%"]).to_owned(),
        },
        Kind::Text | Kind::Keyword => text(rng, own),
        Kind::Date | Kind::From | Kind::To => date(rng, own),
        Kind::Search | Kind::ReferenceSearch => search(rng, own),
    }
}

/// Picks a value that is invalid for every key of this type, as written after the colon.
pub fn invalid_value(rng: &mut SeededRng, kind: Kind) -> &'static str {
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
            "- 1",
            "0x10",
            "NULL",
            "\"1-2\"",
            "9223372036854775808",
            ">-9223372036854775809",
            "1-9223372036854775808",
            "2-1",
            "2018-12",
            "1 - 2",
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
            "2020-01-01T00:00",
            "2020-01-01T00:00:00+00:00",
            "2021-2020",
            "2020-2021-",
            "-",
            "\"2020-2021\"",
        ],
        Kind::From | Kind::To => &[
            "null",
            "2020-2021",
            "2020-",
            ">2020",
            "!null",
            "x",
            "2021-02-30",
            "2021-02-28T24:00:00",
        ],
        Kind::Flag | Kind::Presence => &["1", "yes", "t rue", ">true", "true-", "NULL"],
        Kind::Hx => &["W", "W01", "https://example.org/W1", "HX", "1", "H X_W1", ">HX_W1"],
        Kind::Level(_) => &["x", "HX_1", "W1", "-1", "1.0", "1 1", ">1", "topics/1", "١"],
        Kind::Search | Kind::ReferenceSearch => &["null", "!null", ">x"],
        _ => &[">x", "<=x", "a\nb", "\"a\u{1}b\"", "\tx"],
    };
    match chance(rng, 25) {
        true => pick_word(rng, ANYWHERE),
        false => pick_word(rng, typed),
    }
}

/// Writes an id as OpenAlex does.
pub fn openalex_id(rng: &mut SeededRng, own: &str) -> String {
    let bare = own.strip_prefix("HX_").unwrap_or(own);
    let prefixes =
        ["", "openalex:", "https://openalex.org/", "http://openalex.org/", "openalex.org/"];
    let written = format!("{}{bare}", pick_word(rng, &prefixes));
    random_case(rng, &written)
}

fn integer(rng: &mut SeededRng, own: Option<&str>) -> String {
    let Some(own) = own.and_then(|own| own.parse::<i64>().ok()) else {
        return pick_word(rng, &["0", "1", "2020", "9223372036854775807", "007"]).to_owned();
    };
    (own + *pick(rng, &[0, 0, 0, 0, 1, -1])).to_string()
}

fn fraction(rng: &mut SeededRng, own: Option<&str>) -> String {
    let Some(own) = own.and_then(|own| own.parse::<f64>().ok()) else {
        return pick_word(rng, &["0", "-0", "1e-400", "1.0", "-1.5e+300", "0.00"]).to_owned();
    };
    match rng.below(6) {
        0 => format!("{own:e}"),
        1 => format!("{}", own * 2.0),
        2 => format!("{own:.2}"),
        _ => format!("{own}"),
    }
}

fn date(rng: &mut SeededRng, own: Option<&str>) -> String {
    let Some(own) = own else {
        return pick_word(rng, &["1800", "2020", "2020-02", "2020-02-29", "9999-12-31"]).to_owned();
    };
    let year: u32 = own[..4].parse().unwrap();
    match rng.below(8) {
        0 | 1 => own[..4].to_owned(),
        2 | 3 => own[..7].to_owned(),
        4 => format!("{:04}", (year + 1).min(9_999)),
        5 => format!("{:04}", (year - 1).max(1)),
        6 => own.to_owned(),
        _ => own[..10].to_owned(),
    }
}

/// Writes the identifier with one of the prefixes and in random case, or makes up an identifier.
pub fn identifier(rng: &mut SeededRng, own: Option<&str>, prefixes: &[&str]) -> String {
    let Some(own) = own else {
        return pick_word(rng, &["nothing", "10.1/x", "https://doi.org/", "https://ror.org/"])
            .to_owned();
    };
    let written = match prefixes.iter().rev().find_map(|prefix| own.strip_prefix(prefix)) {
        Some(bare) if chance(rng, 70) => format!("{}{bare}", pick(rng, prefixes)),
        _ => own.to_owned(),
    };
    random_case(rng, &written)
}

/// Changes a text so that it usually still matches.
pub fn text(rng: &mut SeededRng, own: Option<&str>) -> String {
    let Some(own) = own else {
        return pick_word(rng, &["no such text", "???", " ", "’", "<i></i>", "Null", "a:b"])
            .to_owned();
    };
    match rng.below(10) {
        0 => own.to_uppercase(),
        1 => own.to_lowercase(),
        2 => format!("  <i>{own}</i> "),
        3 => own.replace(' ', " – "),
        4 => own.split(' ').next().unwrap_or_default().to_owned() + "-",
        5 => own.chars().flat_map(|c| [c, '\u{301}']).collect(),
        _ => own.to_owned(),
    }
}

/// Joins prefixes of up to three words.
fn search(rng: &mut SeededRng, own: Option<&str>) -> String {
    let Some(own) = own else {
        return pick_word(rng, &["a", "zzzz", "?!", " ", "univ", "大"]).to_owned();
    };
    let words: Vec<&str> = own.split_whitespace().collect();
    let count = 1 + rng.below(3);
    let beginning = |_| {
        let word = pick(rng, &words);
        let length = 1 + rng.below(word.chars().count());
        word.chars().take(length).collect::<String>()
    };
    (0..count).map(beginning).collect::<Vec<_>>().join(" ")
}

/// Returns the text unchanged or in another case.
pub fn random_case(rng: &mut SeededRng, text: &str) -> String {
    match rng.below(4) {
        0 => text.to_ascii_uppercase(),
        1 => text.to_ascii_lowercase(),
        _ => text.to_owned(),
    }
}

/// Quotes a filter value if it must be quoted or `is_quoted` is set.
pub fn quote(value: &str, is_quoted: bool) -> String {
    let must = value.is_empty()
        || value == "null"
        || value.starts_with(['!', '<', '>'])
        || value.contains([',', '|', '"']);
    if must || is_quoted { format!("\"{}\"", value.replace('"', "\"\"")) } else { value.to_owned() }
}

/// Percent-encodes the required bytes and, at random, other bytes.
pub fn percent_encode(rng: &mut SeededRng, text: &str) -> String {
    let is_eager = chance(rng, 10);
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b' ' if chance(rng, 50) => out.push('+'),
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
                if !is_eager || chance(rng, 50) =>
            {
                out.push(char::from(byte));
            }
            byte if chance(rng, 50) => out.push_str(&format!("%{byte:02X}")),
            byte => out.push_str(&format!("%{byte:02x}")),
        }
    }
    out
}
