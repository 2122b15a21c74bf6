//! Spellings of identifiers: of other systems in the form in which they are compared, and of records.
//!
//! ```text
//! https://doi.org/10.1000/ABC   doi.org/10.1000/abc   doi:10.1000/abc   →  10.1000/abc
//! https://orcid.org/0000-0002-1825-009X               0000-0002-1825-009x
//! ISSN 0028-0836                00280836              →  0028-0836
//! HX_W12   W12   openalex:W12   https://openalex.org/works/W12         →  output 12
//! fields/17   https://openalex.org/fields/17                           →  field 17
//! ```

use crate::entity::{CATALOG, Entity, parse_digits};
use crate::text::fold::fold;

/// A system of identifiers, which defines the accepted spellings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// Exactly as stored, except for ASCII case.
    Plain,
    /// Digital object identifiers.
    Doi,
    /// ORCID iDs of people.
    Orcid,
    /// Identifiers of the Research Organization Registry.
    Ror,
    /// Serial numbers of journals, with or without hyphen.
    Issn,
    /// Numbers of articles in PubMed.
    Pmid,
    /// Numbers of articles in PubMed Central, with or without `PMC`.
    Pmcid,
    /// Numbers of Microsoft Academic Graph.
    Mag,
    /// Ids of awards, which need no record: `HX_` and `G` and a number, in the spellings of
    /// [`parse_record_id`].
    Award,
    /// Ids of data sets, which need no record: `HX_` and `W` and a number, in the same spellings.
    Dataset,
    /// Ids of keywords, or their names: compared in folded form, without a trailing parenthesis.
    Keyword,
}

/// A scheme's label and the addresses of its resolvers, without protocol and `www.`.
struct Prefixes {
    label: &'static str,
    addresses: &'static [&'static str],
}

impl Scheme {
    /// Every scheme that a text alone can name, by its form or its prefix.
    pub const NAMED: [Scheme; 7] = [
        Scheme::Doi,
        Scheme::Orcid,
        Scheme::Ror,
        Scheme::Issn,
        Scheme::Pmid,
        Scheme::Pmcid,
        Scheme::Mag,
    ];

    /// The scheme of the values of a filter key, by the key's last segment.
    pub fn of_key(key: &str) -> Scheme {
        if key == "funders.awards.id" {
            return Scheme::Award;
        }
        if key == "datasets" {
            return Scheme::Dataset;
        }
        if key == "keywords.id" {
            return Scheme::Keyword;
        }
        match key.rsplit('.').next() {
            Some("doi") => Scheme::Doi,
            Some("orcid") => Scheme::Orcid,
            Some("ror") => Scheme::Ror,
            Some("issn" | "issn_l") => Scheme::Issn,
            Some("pmid") => Scheme::Pmid,
            Some("pmcid") => Scheme::Pmcid,
            Some("mag") => Scheme::Mag,
            _ => Scheme::Plain,
        }
    }

    fn prefixes(self) -> Prefixes {
        let (label, addresses): (_, &[_]) = match self {
            Scheme::Plain | Scheme::Award | Scheme::Dataset | Scheme::Keyword => ("", &[]),
            Scheme::Doi => ("doi:", &["doi.org/", "dx.doi.org/"]),
            Scheme::Orcid => ("orcid:", &["orcid.org/"]),
            Scheme::Ror => ("ror:", &["ror.org/"]),
            Scheme::Issn => {
                ("issn:", &["portal.issn.org/resource/issn/", "issn.org/resource/issn/"])
            }
            Scheme::Pmid => ("pmid:", &["pubmed.ncbi.nlm.nih.gov/", "ncbi.nlm.nih.gov/pubmed/"]),
            Scheme::Pmcid => {
                ("pmcid:", &["pmc.ncbi.nlm.nih.gov/articles/", "ncbi.nlm.nih.gov/pmc/articles/"])
            }
            Scheme::Mag => ("mag:", &[]),
        };
        Prefixes { label, addresses }
    }

    /// The form in which identifiers are compared: bare, in ASCII lower case.
    pub fn normal(self, text: &str) -> String {
        match self {
            Scheme::Award => return normal_id(text, "awards/", 'g'),
            Scheme::Dataset => return normal_id(text, "works/", 'w'),
            _ => {}
        }
        if self == Scheme::Keyword {
            return normal_keyword(text);
        }
        let mut normal = text.to_ascii_lowercase();
        if let Some(bare) = self.bare(&normal) {
            // A prefix is stripped, and a slash or white space.
            let from = bare.as_ptr() as usize - normal.as_ptr() as usize;
            normal.truncate(from + bare.len());
            normal.drain(..from);
        }
        if self == Scheme::Issn && is_issn_without_hyphen(&normal) {
            normal.insert(4, '-');
        }
        if self == Scheme::Pmcid && normal.strip_prefix("pmc").is_some_and(is_number) {
            normal.drain(..3);
        }
        normal
    }

    /// The normal form of a text that is a complete identifier of this scheme. A number of PubMed, PubMed Central or
    /// Microsoft Academic Graph needs its prefix, since any number looks the same.
    pub fn parse(self, text: &str) -> Option<String> {
        let normal = self.normal(text);
        let is_complete = match self {
            Scheme::Plain | Scheme::Award | Scheme::Dataset | Scheme::Keyword => false,
            Scheme::Doi => is_doi(&normal),
            Scheme::Orcid => is_digit_groups(&normal, 4),
            Scheme::Ror => is_ror(&normal),
            Scheme::Issn => is_digit_groups(&normal, 2),
            Scheme::Pmid | Scheme::Mag => {
                is_number(&normal) && self.bare(&text.to_ascii_lowercase()).is_some()
            }
            Scheme::Pmcid => is_number(&normal) && normal != text,
        };
        is_complete.then_some(normal)
    }

    /// Strips one label or address off a text in lower case; `None` if the text has neither.
    fn bare(self, lower: &str) -> Option<&str> {
        let Prefixes { label, addresses } = self.prefixes();
        if label.is_empty() {
            return None;
        }
        let labelled = lower.strip_prefix("urn:").unwrap_or(lower);
        if let Some(bare) = labelled.strip_prefix(label) {
            return Some(bare.trim_start());
        }
        let without_protocol = ["https://", "http://"].iter().find_map(|it| lower.strip_prefix(it));
        let address = without_protocol.unwrap_or(lower);
        let address = address.strip_prefix("www.").unwrap_or(address);
        let bare = addresses.iter().find_map(|known| address.strip_prefix(known))?;
        Some(match self {
            // The address of a DOI may end with any character, the others with a slash.
            Scheme::Doi => bare,
            _ => bare.strip_suffix('/').unwrap_or(bare),
        })
    }
}

/// The DOIs that a DOI of a text may mean, the likeliest first. A sign behind it mostly ends a sentence, and a DOI may end
/// with a dot, which texts leave out.
pub fn spellings_of_doi(doi: &str) -> Vec<String> {
    let short = doi.trim_end_matches(['.', ',', ';']);
    let mut spellings = vec![doi.to_owned()];
    for other in [short.to_owned(), format!("{short}.")] {
        if other != doi {
            spellings.push(other);
        }
    }
    spellings
}

/// Leaves out all prefixes of an identifier but the last: `https://doi.org/https://doi.org/10.1000/abc`.
pub fn without_repeated_prefix(text: &str) -> &str {
    let lower = text.to_ascii_lowercase();
    if lower.starts_with("10.") {
        return text;
    }
    let last_of = |prefixes: &[&str; 2]| {
        let count: usize = prefixes.iter().map(|prefix| lower.matches(prefix).count()).sum();
        prefixes.iter().filter_map(|prefix| lower.rfind(prefix)).max().filter(|_| count > 1)
    };
    let schemes = [["doi.org/", "doi:"], ["ror.org/", "ror:"], ["orcid.org/", "orcid:"]];
    schemes.iter().find_map(last_of).map_or(text, |last| &text[last..])
}

/// Parses the id of a record: with `HX_`, or as OpenAlex spells ids: bare, with the label `openalex:` or
/// as a URL. A list may stand before the id, and must before a number of the taxonomy.
///
/// The number has no leading zeros, and the letter and the list fit each other.
pub fn parse_record_id(text: &str) -> Option<(Entity, u64)> {
    let bare = strip_id_prefix(text).unwrap_or(text);
    let (listed, id) = match bare.split_once('/') {
        None => (None, bare),
        Some((list, id)) => {
            let is_list = |name: &&str| name.eq_ignore_ascii_case(list);
            let facts = CATALOG
                .iter()
                .find(|facts| facts.has_single && facts.dump_names.iter().any(is_list))?;
            (Some(facts), strip_own_prefix(id).unwrap_or(id))
        }
    };
    if let Some(facts) = listed.filter(|facts| facts.letter.is_none()) {
        return Some((facts.entity, parse_digits(id)?));
    }
    let letter = id.bytes().next()?.to_ascii_uppercase();
    let facts = CATALOG.iter().find(|facts| facts.letter == Some(letter))?;
    let is_its_list = listed.is_none_or(|listed| listed.entity == facts.entity);
    is_its_list.then_some((facts.entity, parse_digits(id.get(1..)?)?))
}

/// Strips what says that a text is the id of a record: `HX_`, `openalex:` or the address of OpenAlex, in
/// any case.
pub fn strip_id_prefix(text: &str) -> Option<&str> {
    if let Some(bare) = strip_own_prefix(text) {
        return Some(bare);
    }
    if let Some(bare) = strip_ignoring_case(text, "openalex:") {
        return Some(bare.trim_start());
    }
    let without_protocol =
        ["https://", "http://"].iter().find_map(|it| strip_ignoring_case(text, it));
    let address = without_protocol.unwrap_or(text);
    let hosts = ["openalex.org/", "www.openalex.org/", "api.openalex.org/"];
    let bare = hosts.iter().find_map(|host| strip_ignoring_case(address, host))?;
    Some(bare.strip_suffix('/').unwrap_or(bare))
}

/// The folded form of a keyword, which the name and the id of a keyword share: `scheme` of `Scheme (mathematics)`.
fn normal_keyword(text: &str) -> String {
    let bare = strip_ignoring_case(text, "https://openalex.org/").unwrap_or(text);
    let bare = strip_ignoring_case(bare, "keywords/").unwrap_or(bare);
    let name = match bare.strip_suffix(')').and_then(|_| bare.rfind(" (")) {
        Some(parenthesis) => &bare[..parenthesis],
        None => bare,
    };
    fold(name)
}

fn strip_own_prefix(text: &str) -> Option<&str> {
    strip_ignoring_case(text, "HX_")
}

fn strip_ignoring_case<'t>(text: &'t str, prefix: &str) -> Option<&'t str> {
    let start = text.get(..prefix.len())?;
    start.eq_ignore_ascii_case(prefix).then(|| &text[prefix.len()..])
}

/// The normal form of an id that needs no record, `hx_g12` of an award; other texts are compared as they are.
fn normal_id(text: &str, collection: &str, letter: char) -> String {
    let bare = strip_id_prefix(text).unwrap_or(text).to_ascii_lowercase();
    let bare = bare.strip_prefix(collection).unwrap_or(&bare);
    match bare.strip_prefix(letter).filter(|number| is_number(number)) {
        Some(number) => format!("hx_{letter}{number}"),
        None => text.to_ascii_lowercase(),
    }
}

/// `10.`, digits and dots, `/`, and a suffix without white space.
fn is_doi(text: &str) -> bool {
    let Some((prefix, suffix)) = text.strip_prefix("10.").and_then(|rest| rest.split_once('/'))
    else {
        return false;
    };
    let is_prefix = prefix.starts_with(|c: char| c.is_ascii_digit())
        && prefix.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    is_prefix && !suffix.is_empty() && !suffix.contains(char::is_whitespace)
}

/// Groups of four digits with `-` between them; the last digit may be an `x`.
fn is_digit_groups(text: &str, groups: usize) -> bool {
    text.len() == groups * 5 - 1
        && text.bytes().enumerate().all(|(at, byte)| match at % 5 {
            4 => byte == b'-',
            _ => byte.is_ascii_digit() || byte == b'x' && at == text.len() - 1,
        })
}

/// Seven digits, and a digit or `x`.
fn is_issn_without_hyphen(text: &str) -> bool {
    text.len() == 8
        && text.bytes().take(7).all(|byte| byte.is_ascii_digit())
        && text.ends_with(|last: char| last.is_ascii_digit() || last == 'x')
}

/// `0`, six letters or digits, and two digits.
fn is_ror(text: &str) -> bool {
    text.len() == 9
        && text.starts_with('0')
        && text.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_lowercase())
        && text.bytes().skip(7).all(|byte| byte.is_ascii_digit())
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_an_identifier_has_one_normal_form() {
        let check = |scheme: Scheme, texts: &[&str], expected: &str| {
            for text in texts {
                assert_eq!(scheme.normal(text), expected, "{scheme:?} {text}");
                assert_eq!(scheme.parse(text).as_deref(), Some(expected), "{scheme:?} {text}");
            }
        };
        let doi = [
            "10.1000/ABC.1",
            "https://doi.org/10.1000/abc.1",
            "HTTP://DX.DOI.ORG/10.1000/abc.1",
            "doi.org/10.1000/abc.1",
            "www.doi.org/10.1000/abc.1",
            "doi:10.1000/abc.1",
            "DOI: 10.1000/abc.1",
        ];
        check(Scheme::Doi, &doi, "10.1000/abc.1");
        let orcid = ["0000-0002-1825-009X", "https://orcid.org/0000-0002-1825-009x/"];
        check(Scheme::Orcid, &orcid, "0000-0002-1825-009x");
        check(Scheme::Orcid, &["orcid.org/0000-0002-1825-009X"], "0000-0002-1825-009x");
        check(Scheme::Ror, &["05DXPS055", "ror.org/05dxps055", "ror:05dxps055"], "05dxps055");
        let issn = ["2049-363X", "2049363x", "issn:2049363X", "urn:ISSN:2049-363X"];
        check(Scheme::Issn, &issn, "2049-363x");
        check(Scheme::Issn, &["https://portal.issn.org/resource/ISSN/2049-363X"], "2049-363x");
        let pmid = [
            "pmid:11565961",
            "https://pubmed.ncbi.nlm.nih.gov/11565961/",
            "https://www.ncbi.nlm.nih.gov/pubmed/11565961",
        ];
        check(Scheme::Pmid, &pmid, "11565961");
        check(Scheme::Mag, &["mag:2100837269"], "2100837269");
    }

    #[test]
    fn the_id_of_a_record_is_parsed_in_each_of_its_spellings() {
        let check = |text: &str, expected: Option<(Entity, u64)>| {
            assert_eq!(parse_record_id(text), expected, "{text}");
        };
        for text in [
            "HX_W12",
            "hx_w12",
            "W12",
            "w12",
            "openalex:W12",
            "OpenAlex: W12",
            "https://openalex.org/W12",
            "HTTP://OPENALEX.ORG/w12",
            "openalex.org/W12",
            "https://openalex.org/works/W12/",
            "https://api.openalex.org/works/w12",
            "works/W12",
            "outputs/HX_W12",
        ] {
            check(text, Some((Entity::Output, 12)));
        }
        check("fields/17", Some((Entity::Field, 17)));
        check("https://openalex.org/domains/3", Some((Entity::Domain, 3)));
        check("openalex:subfields/1702", Some((Entity::Subfield, 1702)));
        check("topics/T1", Some((Entity::Topic, 1)));
        check("G1", Some((Entity::Award, 1)));
        for text in [
            "",
            "12",
            "HX_",
            "HX_Z1",
            "HX_A",
            "HX_A01",
            "A-1",
            "HX_HX_A1",
            "openalex:openalex:A1",
            "A1 A2",
            "authors/W1",
            "authors/1",
            "fields/T1",
            "fields/017",
            "institution-types/1",
            "https://openalex.org/17",
            "https://example.org/A1",
            "https://openalex.org.example/A1",
            "Z1",
            "Ada",
            "é",
        ] {
            check(text, None);
        }
        for text in ["HX_G12", "g12", "https://openalex.org/awards/G12", "openalex:G12"] {
            assert_eq!(Scheme::Award.normal(text), "hx_g12", "{text}");
        }
        assert_eq!(Scheme::Award.normal("https://ror.org/G12"), "https://ror.org/g12");
    }

    #[test]
    fn normal_strips_one_prefix_of_the_own_scheme() {
        assert_eq!(Scheme::Doi.normal("doi:doi:10.1/x"), "doi:10.1/x");
        assert_eq!(Scheme::Orcid.normal("https://doi.org/10.1/x"), "https://doi.org/10.1/x");
        assert_eq!(Scheme::Plain.normal("https://ror.org/013"), "https://ror.org/013");
        assert_eq!(Scheme::Pmid.normal("11565961"), "11565961");
    }

    #[test]
    fn an_incomplete_identifier_is_not_parsed() {
        for (scheme, text) in [
            (Scheme::Doi, "10."),
            (Scheme::Doi, "10.1000"),
            (Scheme::Doi, "10.1000/"),
            (Scheme::Doi, "10.x/y"),
            (Scheme::Doi, "10.1000/a b"),
            (Scheme::Doi, "2024/5"),
            (Scheme::Orcid, "0000-0002-1825-00X9"),
            (Scheme::Orcid, "0000-0002-1825"),
            (Scheme::Ror, "05dxps05x"),
            (Scheme::Ror, "https://ror.org/"),
            (Scheme::Issn, "1234567"),
            (Scheme::Issn, "x2345678"),
            (Scheme::Issn, "東京大学"),
            (Scheme::Pmid, "11565961"),
            (Scheme::Pmid, "pmid:x"),
            (Scheme::Mag, "2100837269"),
        ] {
            assert_eq!(scheme.parse(text), None, "{scheme:?} {text}");
        }
    }
}
