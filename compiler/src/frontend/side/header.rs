//! The header row of a journal list: normalised headings, and the search for the row.

use std::path::Path;

use crate::error::Result;
use crate::read::{CsvRows, Diagnostics, ReadLimits};

/// Rows searched for the header: a title or a description of filters may stand above it.
const ROWS_SEARCHED: usize = 10;
const DELIMITERS: [u8; 3] = *b",;\t";

/// A normalised heading: its name in lower-case letters and digits, and its year.
///
/// `2022 Rating` is `rating` of 2022, `Total Docs. (2023)` is `totaldocs` of 2023.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heading {
    /// Letters, digits and `%`, without years.
    pub name: String,
    /// The latest year in the heading.
    pub year: Option<i64>,
}

impl Heading {
    pub fn parse(text: &str) -> Heading {
        let characters: Vec<char> = text.chars().collect();
        let mut heading = Heading { name: String::new(), year: None };
        let mut at = 0;
        while at < characters.len() {
            if let Some((year, length)) = year_at(&characters, at) {
                heading.year = heading.year.max(Some(year));
                at += length;
                continue;
            }
            let character = characters[at];
            if character.is_alphanumeric() || character == '%' {
                heading.name.extend(character.to_lowercase());
            }
            at += 1;
        }
        heading
    }

    /// Whether one of the headings has one of these spellings, in any case and of any year.
    pub fn has_any(headings: &[Heading], spellings: &[&str]) -> bool {
        spellings.iter().any(|spelling| {
            let name = Heading::parse(spelling).name;
            headings.iter().any(|heading| heading.name == name)
        })
    }

    pub fn is_blank(&self) -> bool {
        self.name.is_empty() && self.year.is_none()
    }
}

/// Parses a year or a span such as `2020-23` at `at`: the last year, and the number of characters.
fn year_at(characters: &[char], at: usize) -> Option<(i64, usize)> {
    let is_digit = |at: usize| characters.get(at).is_some_and(char::is_ascii_digit);
    let number = |from: usize, count: usize| -> Option<i64> {
        let is_alone = !is_digit(from + count) && (from == 0 || !is_digit(from - 1));
        let digits = characters.get(from..from + count).filter(|_| is_alone)?;
        digits.iter().collect::<String>().parse().ok()
    };
    let year = number(at, 4).filter(|year| (1900..2100).contains(year))?;
    let is_span = matches!(characters.get(at + 4), Some('-' | '–' | '/'));
    if !is_span {
        return Some((year, 4));
    }
    let long = number(at + 5, 4).map(|last| (last, 9));
    let short = || number(at + 5, 2).map(|last| (year / 100 * 100 + last, 7));
    Some(long.or_else(short).unwrap_or((year, 4)))
}

/// A header row that was found in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListHeader<T> {
    /// The result of `matches` for the row.
    pub list: T,
    pub delimiter: u8,
    /// The index of the header among the rows, from 0.
    pub row: usize,
}

/// Searches the first [`ROWS_SEARCHED`] rows of a file for a header, with each delimiter in turn.
/// `matches` decides whether a row's headings are the header.
pub fn find<T>(
    path: &Path,
    diagnostics: &Diagnostics,
    matches: impl Fn(&[Heading]) -> Option<T>,
) -> Result<Option<ListHeader<T>>> {
    for delimiter in DELIMITERS {
        let mut rows =
            CsvRows::open(path, Some(delimiter), &ReadLimits::for_detection(), diagnostics)?;
        for row in 0..ROWS_SEARCHED {
            let Some(found) = rows.next_row()? else { break };
            let Ok(cells) = found.cells else { continue };
            let headings: Vec<Heading> = cells.iter().map(Heading::parse).collect();
            if let Some(list) = matches(&headings) {
                return Ok(Some(ListHeader { list, delimiter, row }));
            }
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontend::side::SIDE_TABLES;

    #[test]
    fn headings_are_equal_whatever_their_case_spaces_and_years() {
        for (text, name, year) in [
            ("Journal ISSN (print version)", "journalissnprintversion", None),
            ("  JIF  quartile", "jifquartile", None),
            ("2023 JIF", "jif", Some(2023)),
            ("IF_2022", "if", Some(2022)),
            ("IF Rank(2024)", "ifrank", Some(2024)),
            ("2024", "", Some(2024)),
            ("Total Docs. (2023)", "totaldocs", Some(2023)),
            ("Total Docs. (3years)", "totaldocs3years", None),
            ("2020-23 Citations", "citations", Some(2023)),
            ("2020–2023 Citations", "citations", Some(2023)),
            ("% of OA Gold", "%ofoagold", None),
            ("12023", "12023", None),
            ("#", "", None),
        ] {
            let expected = Heading { name: name.into(), year };
            assert_eq!(Heading::parse(text), expected, "{text}");
        }
        assert!(Heading::has_any(&[Heading::parse("2023 JIF")], &["Journal Impact Factor", "JIF"]));
        assert!(!Heading::has_any(&[Heading::parse("2023")], &["JIF"]));
    }

    #[test]
    fn every_list_is_detected_by_its_header() {
        for (header, expected) in [
            ("Journal title,Journal ISSN (print version),APC", Some("doaj")),
            ("Rank;Sourceid;Title;Type;Issn;SJR;SJR Best Quartile", Some("scimago")),
            ("Scopus SourceID;Title;Print ISSN;CiteScore", Some("scopus")),
            ("Sourcerecord ID;Source Title;ISSN;EISSN", Some("scopus")),
            ("Journal name,ISSN,eISSN,Category,2023 JIF", Some("jcr")),
            ("Journal,ISSN,EISSN,Category,IF(2024),IF Quartile(2024)", Some("jcr")),
            ("Journal,ISSN,EISSN,IF_2022", Some("jcr")),
            ("Journal title,ISSN,eISSN,Web of Science Categories", Some("jcr")),
            ("Journal Title,ISSN,ISSN Online,2022 rating", Some("abdc")),
            ("Journal Name,ISSN,ISSN Online,ABDC FoR code,ABDC List 2013", Some("abdc")),
            ("Journal Name,ISSN,ISSN Online,ABDC FoR code,ABDC Ranking", Some("abdc")),
            ("merge_date,id,merge_into_id", None),
            ("topic_id,topic_name", None),
            ("ISSN,Title", None),
        ] {
            let headings: Vec<Heading> = header.split([',', ';']).map(Heading::parse).collect();
            let found = SIDE_TABLES.iter().filter(|table| (table.is_header)(&headings));
            let found: Vec<&str> = found.map(|table| table.name).collect();
            assert_eq!(found, expected.into_iter().collect::<Vec<_>>(), "{header}");
        }
    }
}
