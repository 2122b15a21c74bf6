//! Recognizes a search that is one identifier as a whole.
//!
//! ```text
//! https://doi.org/doi:10.1000/ABC.     doi     10.1000/abc. or 10.1000/abc
//! arXiv:1706.03762v5                   arxiv   10.48550/arxiv.1706.03762
//! PMC3531190                           pmcid   3531190
//! 0000-0002-1825-0097                  orcid   no output has one
//! ```

use crate::entity::Entity;
use crate::schema::{
    Scheme, parse_record_id, spellings_of_doi, strip_id_prefix, without_repeated_prefix,
};

/// The longest id that may as well be a word, in bytes: `W1234`.
const ID_WORD_BYTES_MAX: usize = 5;
/// The begin of a DOI of arXiv.
const ARXIV_DOI: &str = "10.48550/arxiv.";
/// The two halves of a serial number that are also a range of years.
const YEARS: std::ops::RangeInclusive<u32> = 1500..=2099;

/// An identifier, and its kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::query) struct Identifier {
    /// The name of its kind, in answers.
    pub kind: &'static str,
    pub of: IdentifierOf,
}

/// The identifier that a search is as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchedIdentifier {
    /// The name of its kind: `doi`, `arxiv`, `pmid`, `pmcid`, `orcid`, `ror`, `issn`, `openalex`, or `id`.
    pub kind: &'static str,
    /// The page of its system about what has the identifier; `None` of ids of records.
    pub address: Option<String>,
}

/// The records with an identifier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::query) enum IdentifierOf {
    /// The record with an id.
    Record(Entity, u64),
    /// The records with one of these normal forms in the system of a key.
    Values(&'static str, Vec<String>),
    /// Records of other lists than that of outputs, with this normal form.
    Others(String),
}

impl Identifier {
    /// Parses a text as one identifier, in any of its spellings.
    pub fn parse(text: &str) -> Option<Identifier> {
        let text = text.trim();
        if let Some((entity, id)) = parse_record_id(text) {
            let kind = if text.to_ascii_lowercase().starts_with("hx_") { "id" } else { "openalex" };
            return (!is_word(text))
                .then_some(Identifier { kind, of: IdentifierOf::Record(entity, id) });
        }
        // Only ids of records may be without a digit.
        if !text.bytes().any(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let text = without_repeated_prefix(text);
        let values =
            |kind, key, values| Some(Identifier { kind, of: IdentifierOf::Values(key, values) });
        if let Some(doi) = Scheme::Doi.parse(text) {
            let kind = if doi.starts_with(ARXIV_DOI) { "arxiv" } else { "doi" };
            return values(kind, "doi", spellings_of_doi(&doi));
        }
        let lower = text.to_ascii_lowercase();
        if let Some(id) = arxiv(&lower) {
            return values("arxiv", "doi", vec![format!("{ARXIV_DOI}{id}")]);
        }
        let with_colon =
            lower.strip_prefix("pmid ").map(|number| format!("pmid:{}", number.trim()));
        if let Some(number) = Scheme::Pmid.parse(with_colon.as_deref().unwrap_or(text)) {
            return values("pmid", "ids.pmid", vec![number]);
        }
        if let Some(number) = Scheme::Pmcid.parse(text) {
            return values("pmcid", "ids.pmcid", vec![number]);
        }
        let others = [("orcid", Scheme::Orcid), ("ror", Scheme::Ror), ("issn", Scheme::Issn)];
        others.into_iter().find_map(|(kind, scheme)| {
            let normal = scheme.parse(text)?;
            let is_sure = scheme != Scheme::Issn || is_issn(text, &normal);
            is_sure.then_some(Identifier { kind, of: IdentifierOf::Others(normal) })
        })
    }

    /// The identifier for answers.
    pub fn searched(self) -> SearchedIdentifier {
        let page = match self.kind {
            "doi" | "arxiv" => "https://doi.org/",
            "pmid" => "https://pubmed.ncbi.nlm.nih.gov/",
            "pmcid" => "https://pmc.ncbi.nlm.nih.gov/articles/PMC",
            "orcid" => "https://orcid.org/",
            "ror" => "https://ror.org/",
            _ => "https://portal.issn.org/resource/ISSN/",
        };
        let value = match self.of {
            IdentifierOf::Record(..) => None,
            // The shortest spelling has no punctuation behind the identifier.
            IdentifierOf::Values(_, values) => values.into_iter().min_by_key(String::len),
            IdentifierOf::Others(normal) => Some(normal),
        };
        SearchedIdentifier { kind: self.kind, address: value.map(|value| format!("{page}{value}")) }
    }
}

/// Whether an id may as well be a word, such as `W3`: the id is bare and has fewer than five digits.
fn is_word(id: &str) -> bool {
    strip_id_prefix(id).is_none() && !id.contains('/') && id.len() <= ID_WORD_BYTES_MAX
}

/// The id of a text in lower case that names a paper of arXiv, without its version.
fn arxiv(lower: &str) -> Option<&str> {
    let without_protocol = ["https://", "http://"].iter().find_map(|it| lower.strip_prefix(it));
    let address = without_protocol.unwrap_or(lower);
    let address = address.strip_prefix("www.").unwrap_or(address);
    let pages = ["arxiv.org/abs/", "arxiv.org/pdf/", "arxiv:"];
    let named = pages.iter().find_map(|page| address.strip_prefix(page)).map(str::trim_start);
    let id = named.unwrap_or(lower);
    let id = id.strip_suffix(".pdf").unwrap_or(id);
    let id = match id.rsplit_once('v') {
        Some((id, version)) if is_digits(version) => id,
        _ => id,
    };
    let is_new = id.split_once('.').is_some_and(|(month, number)| {
        let is_month = month.get(2..).is_some_and(|of| ("01"..="12").contains(&of));
        month.len() == 4
            && is_digits(month)
            && is_month
            && is_digits(number)
            && matches!(number.len(), 4 | 5)
    });
    let is_old = id.split_once('/').is_some_and(|(archive, number)| {
        archive.bytes().all(|byte| byte.is_ascii_lowercase() || matches!(byte, b'-' | b'.'))
            && number.len() == 7
            && is_digits(number)
    });
    (is_new || is_old).then_some(id)
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a serial number is no range of pages or years: its label or address names the system, or its last digit is the
/// check digit, and its halves are no years.
fn is_issn(text: &str, normal: &str) -> bool {
    if text.len() > normal.len() {
        return true;
    }
    let digit = |c: char| if c == 'x' { Some(10) } else { c.to_digit(10) };
    let digits = normal.chars().filter_map(digit);
    let sum: u32 = digits.zip((1..=8).rev()).map(|(digit, weight)| digit * weight).sum();
    let are_years =
        normal.split('-').all(|half| half.parse().is_ok_and(|year| YEARS.contains(&year)));
    text.contains('-') && sum.is_multiple_of(11) && !are_years
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_recognized_in_their_spellings() {
        let check = |text: &str, kind: &str, key: &'static str, values: &[&str]| {
            let values = values.iter().map(|value| (*value).to_owned()).collect();
            let of = IdentifierOf::Values(key, values);
            let found = Identifier::parse(text);
            assert_eq!(
                found,
                Some(Identifier { kind: found.as_ref().map_or("", |found| found.kind), of }),
                "{text}"
            );
            assert_eq!(found.map(|found| found.kind), Some(kind), "{text}");
        };
        let doi = "10.1000/abc";
        for text in [
            "10.1000/ABC",
            " doi:10.1000/abc ",
            "DOI: 10.1000/abc",
            "https://doi.org/10.1000/abc",
            "dx.doi.org/10.1000/abc",
            "https://doi.org/https://doi.org/10.1000/abc",
            "doi:doi:10.1000/abc",
            "https://doi.org/doi:10.1000/abc",
        ] {
            check(text, "doi", "doi", &[doi, "10.1000/abc."]);
        }
        check("10.1000/abc.", "doi", "doi", &["10.1000/abc.", doi]);
        for text in ["1706.03762", "arXiv:1706.03762v5", "https://arxiv.org/pdf/1706.03762v5.pdf"] {
            check(text, "arxiv", "doi", &["10.48550/arxiv.1706.03762"]);
        }
        check(
            "10.48550/arXiv.1706.03762",
            "arxiv",
            "doi",
            &["10.48550/arxiv.1706.03762", "10.48550/arxiv.1706.03762."],
        );
        check("arxiv:hep-th/9901001", "arxiv", "doi", &["10.48550/arxiv.hep-th/9901001"]);
        check("PMID 11565961", "pmid", "ids.pmid", &["11565961"]);
        check("https://pubmed.ncbi.nlm.nih.gov/11565961/", "pmid", "ids.pmid", &["11565961"]);
        check("PMC3531190", "pmcid", "ids.pmcid", &["3531190"]);
        check(
            "https://www.ncbi.nlm.nih.gov/pmc/articles/PMC3531190/",
            "pmcid",
            "ids.pmcid",
            &["3531190"],
        );
    }

    #[test]
    fn identifiers_of_other_lists_and_of_records_have_their_kinds() {
        let kind = |text: &str| Identifier::parse(text).map(|found| found.kind);
        assert_eq!(kind("https://orcid.org/0000-0002-1825-0097"), Some("orcid"));
        assert_eq!(kind("https://ror.org/05dxps055"), Some("ror"));
        assert_eq!(kind("0028-0836"), Some("issn"));
        assert_eq!(kind("issn:1990-2000"), Some("issn"));
        assert_eq!(kind("HX_W12"), Some("id"));
        assert_eq!(kind("https://openalex.org/W2741809807"), Some("openalex"));
        for text in [
            "W3",
            "1990-2000",
            "271-280",
            "12345678",
            "3.14",
            "1713.03762",
            "deep learning",
            "10 wine",
            "",
        ] {
            assert_eq!(kind(text), None, "{text}");
        }
    }
}
