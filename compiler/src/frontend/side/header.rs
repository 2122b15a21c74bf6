//! The header row of a journal list: normalised headings, and the search for the row.

use std::path::Path;

use crate::error::Result;
use crate::read::lenient::Diagnostics;
use crate::read::limits::ReadLimits;
use crate::read::rows::Rows;

/// Rows searched for the header: a title or a description of filters may stand above it.
const ROWS_SEARCHED: usize = 10;
const DELIMITERS: [u8; 3] = *b",;\t";

/// A normalised heading: lower-case letters and digits, and `#` for a year or a span of years.
///
/// `2022 Rating` becomes `#rating`, `Total Docs. (2023)` becomes `totaldocs#`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heading {
    /// Letters, digits, `%` and `#`.
    pub name: String,
    /// The latest year in the heading.
    pub year: Option<i64>,
}

impl Heading {
    pub fn parse(text: &str) -> Heading {
        let characters: Vec<char> = text.chars().filter(|c| *c != '#').collect();
        let mut heading = Heading { name: String::new(), year: None };
        let mut at = 0;
        while at < characters.len() {
            if let Some((year, length)) = year_at(&characters, at) {
                heading.name.push('#');
                heading.year = heading.year.max(Some(year));
                at += length;
                continue;
            }
            push_plain(&mut heading.name, characters[at]);
            at += 1;
        }
        heading
    }

    /// Normalises a spelling of a column, in which the author wrote `#` for the year.
    pub fn normalise_spelling(text: &str) -> String {
        let mut name = String::new();
        for character in text.chars() {
            match character {
                '#' => name.push('#'),
                other => push_plain(&mut name, other),
            }
        }
        name
    }
}

fn push_plain(name: &mut String, character: char) {
    if character.is_alphanumeric() || character == '%' {
        name.extend(character.to_lowercase());
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
///
/// # Errors
///
/// Where the file cannot be read.
pub fn find<T>(
    path: &Path,
    diagnostics: &Diagnostics,
    matches: impl Fn(&[Heading]) -> Option<T>,
) -> Result<Option<ListHeader<T>>> {
    for delimiter in DELIMITERS {
        let mut rows =
            Rows::open(path, Some(delimiter), &ReadLimits::for_detection(), diagnostics)?;
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
            ("2023 JIF", "#jif", Some(2023)),
            ("Total Docs. (2023)", "totaldocs#", Some(2023)),
            ("Total Docs. (3years)", "totaldocs3years", None),
            ("2020-23 Citations", "#citations", Some(2023)),
            ("2020–2023 Citations", "#citations", Some(2023)),
            ("% of OA Gold", "%ofoagold", None),
            ("12023", "12023", None),
            ("#", "", None),
        ] {
            let expected = Heading { name: name.into(), year };
            assert_eq!(Heading::parse(text), expected, "{text}");
        }
        assert_eq!(Heading::normalise_spelling("# JIF"), "#jif");
    }

    #[test]
    fn every_list_is_detected_by_its_header() {
        for (header, expected) in [
            ("Journal title,Journal ISSN (print version),APC", Some("doaj")),
            ("Rank;Sourceid;Title;Type;Issn;SJR;SJR Best Quartile", Some("scimago")),
            ("Scopus SourceID;Title;Print ISSN;CiteScore", Some("scopus")),
            ("Sourcerecord ID;Source Title;ISSN;EISSN", Some("scopus")),
            ("Journal name,ISSN,eISSN,Category,2023 JIF", Some("jcr")),
            ("Journal Title,ISSN,ISSN Online,2022 rating", Some("abdc")),
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
