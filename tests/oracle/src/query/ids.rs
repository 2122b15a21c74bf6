//! The spellings of the ids of records.

/// A text, read as the id of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Spelled {
    /// An id with a letter, such as `HX_W12`.
    Lettered(String),
    /// The level and the number of a node of the taxonomy.
    Numbered(&'static str, String),
    /// The text begins as an id, and is none.
    Prefixed,
    /// The text does not begin as an id.
    Other,
}

/// Where OpenAlex shows a record, without the protocol.
const ADDRESSES: [&str; 3] = ["openalex.org/", "www.openalex.org/", "api.openalex.org/"];
const LETTERED: [(&str, &str); 8] = [
    ("works", "w"),
    ("outputs", "w"),
    ("authors", "a"),
    ("sources", "s"),
    ("institutions", "i"),
    ("publishers", "p"),
    ("funders", "f"),
    ("topics", "t"),
];
const LEVELS: [&str; 3] = ["domains", "fields", "subfields"];

/// Reads a text as the id of a record.
pub fn spelled(text: &str) -> Spelled {
    let lower = text.to_ascii_lowercase();
    let after = after_prefix(&lower);
    let rest = after.unwrap_or(&lower);
    let other = if after.is_some() { Spelled::Prefixed } else { Spelled::Other };
    let (list, id) = match rest.split_once('/') {
        Some((list, id)) => (Some(list), id.strip_prefix("hx_").unwrap_or(id)),
        None => (None, rest),
    };
    if let Some(level) = LEVELS.into_iter().find(|level| Some(*level) == list) {
        return if is_number(id) { Spelled::Numbered(level, id.to_owned()) } else { other };
    }
    let of_list = |(name, _): &(&str, &str)| list.is_none_or(|list| list == *name);
    let mut numbers = LETTERED
        .into_iter()
        .filter(of_list)
        .filter_map(|(_, letter)| Some((letter, id.strip_prefix(letter)?)));
    match numbers.find(|(_, number)| is_number(number)) {
        Some((letter, number)) => {
            Spelled::Lettered(format!("HX_{}{number}", letter.to_ascii_uppercase()))
        }
        None => other,
    }
}

/// An id with this letter in lower case with its prefix, also of no record; other texts in lower case.
pub fn numbered_id(text: &str, collection: &str, letter: char) -> String {
    let lower = text.to_ascii_lowercase();
    let rest = after_prefix(&lower).unwrap_or(&lower);
    let rest = rest.strip_prefix(collection).unwrap_or(rest);
    match rest.strip_prefix(letter) {
        Some(number) if !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()) => {
            format!("hx_{letter}{number}")
        }
        _ => lower,
    }
}

fn after_prefix(lower: &str) -> Option<&str> {
    if let Some(rest) = lower.strip_prefix("hx_") {
        return Some(rest);
    }
    if let Some(rest) = lower.strip_prefix("openalex:") {
        return Some(rest.trim_start());
    }
    let protocols = ["https://", "http://", ""];
    let addresses = protocols.iter().flat_map(|of| ADDRESSES.map(|at| format!("{of}{at}")));
    let rest = addresses.into_iter().find_map(|address| lower.strip_prefix(&address))?;
    Some(rest.strip_suffix('/').unwrap_or(rest))
}

/// Whether a text is a number as ids write numbers: no zeros in front, at most nineteen digits.
fn is_number(text: &str) -> bool {
    let is_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_digits && text.len() <= 19 && (text == "0" || !text.starts_with('0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_read_in_every_spelling() {
        for text in [
            "HX_W12",
            "w12",
            "openalex: W12",
            "https://openalex.org/W12",
            "api.openalex.org/works/W12/",
            "works/HX_W12",
        ] {
            assert_eq!(spelled(text), Spelled::Lettered("HX_W12".into()), "{text}");
        }
        assert_eq!(spelled("fields/17"), Spelled::Numbered("fields", "17".into()));
        for text in ["HX_W012", "openalex:x", "https://openalex.org/17"] {
            assert_eq!(spelled(text), Spelled::Prefixed, "{text}");
        }
        for text in ["W012", "17", "", "authors/W1", "https://example.org/W1"] {
            assert_eq!(spelled(text), Spelled::Other, "{text}");
        }
        assert_eq!(numbered_id("https://openalex.org/awards/G7", "awards/", 'g'), "hx_g7");
        assert_eq!(numbered_id("https://ror.org/G7", "awards/", 'g'), "https://ror.org/g7");
    }
}
