//! The header of a list of journals: which list it is, how its cells are apart, where its columns
//! are.

use std::path::Path;

use crate::error::Result;
use crate::frontend::side::journal_list::List;
use crate::frontend::side::{SideTable, abdc, doaj, scopus, web_of_science};
use crate::read::limits::Reading;
use crate::read::rows::Rows;

/// Rows above the header that a list may have, such as a title or what it was filtered by.
const ROWS_ABOVE_MAX: usize = 10;
const DELIMITERS: [u8; 3] = *b",;\t";

/// A header as it is compared: letters and digits alone, in lower case, a year or a span of years
/// as `#`. `# Rating` and `2022 rating` are one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heading {
    /// Letters, digits, `%`, and `#` for a year.
    pub name: String,
    /// The last year in it.
    pub year: Option<i64>,
}

impl Heading {
    /// Reads a header's cell.
    pub fn read(text: &str) -> Heading {
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

    /// A spelling as the tables of columns write it, `#` where a year stands.
    pub fn of_spelling(text: &str) -> String {
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

/// A year, or a span of years such as `2020-23`, that begins at a place: the last year, and how
/// many characters it takes.
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

/// What is known of a table from its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Which list it is.
    pub table: SideTable,
    /// What stands between its cells.
    pub delimiter: u8,
    /// Which of its rows the header is, from 0.
    pub row: usize,
}

/// Looks for the header of a list in a file's first rows: of any list, or of one.
///
/// # Errors
///
/// Where the file cannot be read.
pub fn find(path: &Path, table: Option<SideTable>) -> Result<Option<Header>> {
    for delimiter in DELIMITERS {
        let mut rows = Rows::open(path, Some(delimiter), &Reading::to_recognise())?;
        for row in 0..ROWS_ABOVE_MAX {
            let Some(found) = rows.next_row()? else { break };
            let Ok(cells) = found.cells else { continue };
            let headings: Vec<Heading> = cells.iter().map(Heading::read).collect();
            let table = match table {
                Some(table) => Some(table).filter(|table| is_header(*table, &headings)),
                None => SideTable::all().find(|table| is_header(*table, &headings)),
            };
            if let Some(table) = table {
                return Ok(Some(Header { table, delimiter, row }));
            }
        }
    }
    Ok(None)
}

fn is_header(table: SideTable, headings: &[Heading]) -> bool {
    match table {
        SideTable::Doaj => doaj::LIST.is_header(headings),
        SideTable::Scimago => scopus::SCIMAGO.is_header(headings),
        SideTable::Scopus => scopus::SCOPUS.is_header(headings),
        SideTable::Jcr => web_of_science::LIST.is_header(headings),
        SideTable::Abdc => abdc::LIST.is_header(headings),
        SideTable::Ror | SideTable::Orcid => false,
    }
}

impl<V> List<V> {
    /// Whether these headings are this list's: of each group that it is known by, one is there.
    pub fn is_header(&self, headings: &[Heading]) -> bool {
        self.known_by.iter().all(|group| {
            group.iter().any(|spelling| {
                let name = Heading::of_spelling(spelling);
                headings.iter().any(|heading| heading.name == name)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_are_one_whatever_their_case_spaces_and_years() {
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
            assert_eq!(Heading::read(text), expected, "{text}");
        }
        assert_eq!(Heading::of_spelling("# JIF"), "#jif");
    }

    #[test]
    fn a_list_is_known_by_its_header() {
        for (header, expected) in [
            ("Journal title,Journal ISSN (print version),APC", Some(SideTable::Doaj)),
            ("Rank;Sourceid;Title;Type;Issn;SJR;SJR Best Quartile", Some(SideTable::Scimago)),
            ("Scopus SourceID;Title;Print ISSN;CiteScore", Some(SideTable::Scopus)),
            ("Sourcerecord ID;Source Title;ISSN;EISSN", Some(SideTable::Scopus)),
            ("Journal name,ISSN,eISSN,Category,2023 JIF", Some(SideTable::Jcr)),
            ("Journal Title,ISSN,ISSN Online,2022 rating", Some(SideTable::Abdc)),
            ("merge_date,id,merge_into_id", None),
            ("topic_id,topic_name", None),
            ("ISSN,Title", None),
        ] {
            let headings: Vec<Heading> = header.split([',', ';']).map(Heading::read).collect();
            let found: Vec<SideTable> =
                SideTable::all().filter(|table| is_header(*table, &headings)).collect();
            assert_eq!(found, expected.into_iter().collect::<Vec<_>>(), "{header}");
        }
    }
}
