//! Collects the values of a record at a path and converts them into comparable form.

use serde_json::Value;

use super::days::{Day, day_of, time_of};
use super::fold::{fold, words};
use super::ids::numbered_id;
use super::keys::{Key, Kind};

/// One value in comparable form.
#[derive(Clone, Debug, PartialEq, PartialOrd)]
pub enum Atom {
    /// A value of an integer key.
    Integer(i64),
    /// A value of a key of fractions.
    Fraction(f64),
    /// A boolean, or the presence of any value.
    Flag(bool),
    /// A date, or the date of a timestamp.
    Day(Day),
    /// A timestamp with six digits of its fraction.
    Time(String),
    /// Folded text, one word of a name, or an identifier or code in lower case without its URL.
    Text(String),
    /// The words of the names of one reference.
    Words(Vec<String>),
}

/// Appends all values at a path through objects and lists to `found`, without nulls, in the record's order.
pub fn gather<'r>(value: &'r Value, path: &str, found: &mut Vec<&'r Value>) {
    match value {
        Value::Null => {}
        Value::Array(items) => items.iter().for_each(|item| gather(item, path, found)),
        value if path.is_empty() => found.push(value),
        Value::Object(members) => {
            let (member, rest) = path.split_once('.').unwrap_or((path, ""));
            if let Some(value) = members.get(member) {
                gather(value, rest, found);
            }
        }
        _ => {}
    }
}

/// Converts the values of a key into comparable form.
pub fn atoms(key: &Key, gathered: &[&Value]) -> Vec<Atom> {
    match key.kind {
        Kind::Presence => vec![Atom::Flag(!gathered.is_empty())],
        Kind::Search => words(gathered.iter().filter_map(|value| value.as_str()))
            .into_iter()
            .map(Atom::Text)
            .collect(),
        Kind::Date | Kind::From | Kind::To => {
            let texts = gathered.iter().filter_map(|value| value.as_str());
            texts
                .flat_map(|text| [day_of(text).map(Atom::Day), time_of(text).map(Atom::Time)])
                .flatten()
                .collect()
        }
        kind => gathered.iter().filter_map(|value| atom(kind, value)).collect(),
    }
}

fn atom(kind: Kind, value: &Value) -> Option<Atom> {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    match kind {
        Kind::Integer => value.as_i64().map(Atom::Integer),
        Kind::Fraction => value.as_f64().map(Atom::Fraction),
        Kind::Flag | Kind::Presence => value.as_bool().map(Atom::Flag),
        Kind::Date | Kind::From | Kind::To => None,
        Kind::Text | Kind::Search | Kind::ReferenceSearch => Some(Atom::Text(fold(&text))),
        Kind::Hx | Kind::Level(_) | Kind::Plain | Kind::Code => {
            Some(Atom::Text(text.to_ascii_lowercase()))
        }
        Kind::Award => Some(Atom::Text(numbered_id(&text, "awards/", 'g'))),
        Kind::Work => Some(Atom::Text(numbered_id(&text, "works/", 'w'))),
        Kind::DoiBeginning => Some(Atom::Text(bare(Kind::Doi, &text))),
        Kind::Keyword => Some(Atom::Text(keyword(&text))),
        Kind::Doi | Kind::Orcid | Kind::Ror | Kind::Issn | Kind::Pmid => {
            Some(Atom::Text(bare(kind, &text)))
        }
    }
}

/// The folded name of a keyword without a parenthesis at its end; an id folds to the same.
pub fn keyword(text: &str) -> String {
    match text.strip_suffix(')').and_then(|rest| rest.rsplit_once(" (")) {
        Some((name, _)) => fold(name),
        None => fold(text),
    }
}

/// Lowers the case of an identifier and removes at most one URL or label before it. ISSNs get their hyphen.
pub fn bare(kind: Kind, text: &str) -> String {
    let text = text.to_ascii_lowercase();
    let (labels, addresses): (&[&str], &[&str]) = match kind {
        Kind::Doi => (&["doi:"], &["doi.org/", "dx.doi.org/"]),
        Kind::Orcid => (&["orcid:"], &["orcid.org/"]),
        Kind::Ror => (&["ror:"], &["ror.org/"]),
        Kind::Issn => (
            &["issn:", "urn:issn:"],
            &["portal.issn.org/resource/issn/", "issn.org/resource/issn/"],
        ),
        Kind::Pmid => (&["pmid:"], &["pubmed.ncbi.nlm.nih.gov/", "ncbi.nlm.nih.gov/pubmed/"]),
        _ => (&[], &[]),
    };
    let mut prefixes: Vec<String> = labels.iter().map(|label| (*label).to_owned()).collect();
    for (protocol, address) in
        ["https://", "http://", ""].iter().flat_map(|of| addresses.iter().map(move |at| (of, at)))
    {
        prefixes.extend([format!("{protocol}{address}"), format!("{protocol}www.{address}")]);
    }
    let prefix = prefixes.iter().find(|prefix| text.starts_with(prefix.as_str()));
    let has_address = prefix.is_some_and(|prefix| prefix.ends_with('/'));
    let bare = &text[prefix.map_or(0, String::len)..];
    let bare = match has_address && kind != Kind::Doi {
        true => bare.strip_suffix('/').unwrap_or(bare),
        false if prefix.is_some() => bare.trim_start(),
        false => bare,
    };
    let digits = bare.strip_suffix('x').unwrap_or(bare);
    let is_compact = bare.len() == 8 && digits.bytes().all(|byte| byte.is_ascii_digit());
    match kind == Kind::Issn && is_compact {
        true => format!("{}-{}", &bare[..4], &bare[4..]),
        false => bare.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_path_leads_through_objects_and_lists() {
        let record = json!({
            "a": [{"b": [1, null, 2]}, {"b": null}, {}, {"b": 3}, null],
            "t": ["x", null, "y"],
            "n": null,
            "e": [],
            "s": "text",
        });
        let check = |path: &str, expected: Value| {
            let mut found = Vec::new();
            gather(&record, path, &mut found);
            assert_eq!(json!(found), expected, "{path}");
        };
        check("a.b", json!([1, 2, 3]));
        check("t", json!(["x", "y"]));
        for path in ["n", "n.x", "e", "s.x", "absent", "a.c"] {
            check(path, json!([]));
        }
    }

    #[test]
    fn an_identifier_loses_at_most_one_url() {
        let check = |kind: Kind, text: &str, expected: &str| {
            assert_eq!(bare(kind, text), expected, "{text}");
        };
        check(Kind::Doi, "10.1/X", "10.1/x");
        check(Kind::Doi, "https://doi.org/10.1/X", "10.1/x");
        check(Kind::Doi, "HTTP://DX.DOI.ORG/10.1/x", "10.1/x");
        check(Kind::Doi, "doi:10.1/x", "10.1/x");
        check(Kind::Doi, "doi:doi:10.1/x", "doi:10.1/x");
        check(Kind::Doi, "doi.org/10.1/x", "10.1/x");
        check(Kind::Orcid, "https://orcid.org/0000-0001-000X", "0000-0001-000x");
        check(Kind::Orcid, "https://doi.org/10.1/x", "https://doi.org/10.1/x");
        check(Kind::Ror, "http://ror.org/013", "013");
        check(Kind::Issn, "2049363X", "2049-363x");
        check(Kind::Pmid, "https://pubmed.ncbi.nlm.nih.gov/7/", "7");
        check(Kind::Plain, "https://ror.org/013", "https://ror.org/013");
    }
}
