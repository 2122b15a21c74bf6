//! Reads an affiliation: words, segments, countries, acronyms.

use std::collections::HashSet;
use std::ops::Range;

use hashbrown::HashMap;

use crate::autocomplete::Identifier;
use crate::matching::countries::{NAME_WORDS_MAX, country_code, country_of};
use crate::matching::institutions::vocabulary::{
    HOSPITAL, QUALIFIERS, UNIVERSITY, common, common_words, is_between, is_faculty, split,
};
use crate::matching::words::Word;
use crate::text::fold::fold;

/// Words behind the name of a university among which `hospital` makes another name.
const HOSPITAL_WORDS_MAX: usize = 3;
/// Words up to which a text with some small letters has acronyms.
const FEW_TOKENS: usize = 6;
/// Words of an affiliation that are read.
const TOKENS_MAX: usize = 300;

/// A word of the affiliation that says something.
pub(super) struct Token {
    pub word: Word,
    /// As it stands in the text.
    pub folded: String,
    pub segment: usize,
    /// Whether a word such as `of` stands before.
    pub is_after_between: bool,
}

/// Whether a word is the number of a university: `2`, `06` or `xii`.
fn is_ordinal(word: &str) -> bool {
    let is_number = word.len() <= 2 && word.bytes().all(|byte| byte.is_ascii_digit());
    is_number || word.len() <= 4 && word.bytes().all(|byte| matches!(byte, b'i' | b'v' | b'x'))
}

/// An affiliation, read once for all candidates.
pub(super) struct Affiliation {
    pub tokens: Vec<Token>,
    pub places: HashMap<String, Vec<usize>>,
    /// Folded words in capitals, where not all words are.
    pub capitals: HashSet<String>,
    pub countries: Vec<&'static str>,
    /// The folded text, each word as [`common`] has it, with spaces around each.
    pub folded: String,
    /// The folded segments without the words that have digits, with their numbers.
    pub segments: Vec<(String, usize)>,
    pub identifiers: Vec<Identifier>,
}

impl Affiliation {
    pub fn new(text: &str, country: Option<&str>) -> Affiliation {
        // OpenAlex has these marks in place of line ends and tabs.
        let text = text.replace("#R#", ";").replace("#TAB#", " ").replace("#N#", ";");
        let text = apart_from_marks(&text);
        let mut tokens = Vec::new();
        let mut countries = Vec::new();
        let mut segments = Vec::new();
        let mut folded_text = String::from(" ");
        let is_separator = |c: char| ";,|/()[]:\n\t".contains(c);
        let mut segment = 0;
        for part in text.split_inclusive(is_separator) {
            let folded = fold(part);
            let mut words: Vec<&str> = split(&folded).collect();
            // "U Toronto", and not "U.S. Army".
            if let [first @ "u", next, ..] = words.as_mut_slice()
                && (next.len() > 2 || is_between(next))
            {
                *first = UNIVERSITY;
            }
            // A country stands at the end of a segment, perhaps before a postal code.
            let end = words.iter().rposition(|word| !word.bytes().any(|b| b.is_ascii_digit()));
            let words_before = &words[..end.map_or(0, |end| end + 1)];
            let found = (1..=NAME_WORDS_MAX.min(words_before.len())).rev().find_map(|count| {
                let name = &words_before[words_before.len() - count..];
                // Codes of states are whole segments.
                let is_code = count == 1 && name[0].len() == 2;
                let is_known = !is_code || words_before.len() == 1 || name[0] == "uk";
                country_of(&name.join(" ")).filter(|_| is_known)
            });
            countries.extend(found);
            // The state has the name of the country.
            countries.extend(found.filter(|code| *code == "GE").map(|_| "US"));
            let named = words.iter().filter(|word| !word.bytes().any(|b| b.is_ascii_digit()));
            segments.push((named.copied().collect::<Vec<_>>().join(" "), segment));
            let mut is_after_between = true;
            for word in words {
                folded_text.push_str(common(word));
                folded_text.push(' ');
                let is_between = is_between(word);
                if !is_between && tokens.len() < TOKENS_MAX {
                    let (shared, folded) = (Word::new(common(word)), word.to_owned());
                    tokens.push(Token { word: shared, folded, segment, is_after_between });
                }
                is_after_between = is_between;
            }
            // Names do not go on behind a semicolon.
            segment += if part.ends_with([';', '\n']) { 2 } else { 1 };
        }
        if let Some(country) = country {
            countries = country_code(country).into_iter().collect();
        }
        let letters = text.chars().filter(|c| c.is_alphabetic()).count();
        let capitals = text.chars().filter(|c| c.is_uppercase()).count();
        // "GREYC, CNRS, Caen" has few words, and not all in capitals.
        let is_mixed = capitals * 2 < letters || capitals < letters && tokens.len() <= FEW_TOKENS;
        let mut of_capitals = HashSet::new();
        let mut identifiers = Vec::new();
        for chunk in text.split(|c: char| c.is_whitespace() || ",;()".contains(c)) {
            let is_capital = chunk.chars().all(|c| !c.is_lowercase());
            if is_mixed && is_capital && chunk.len() > 1 {
                of_capitals.insert(fold(chunk));
            }
            let is_named = chunk.contains("ror.org/") || chunk.contains("openalex.org/");
            identifiers.extend(Identifier::parse(chunk).filter(|_| is_named));
        }
        if capitals * 2 >= letters && tokens.len() <= 2 {
            // A text that is an acronym alone.
            of_capitals.extend(tokens.iter().map(|token| token.folded.clone()));
        }
        let mut places: HashMap<String, Vec<usize>> = HashMap::new();
        for (at, token) in tokens.iter().enumerate() {
            places.entry(token.word.text.clone()).or_default().push(at);
        }
        Affiliation {
            tokens,
            places,
            capitals: of_capitals,
            countries,
            folded: folded_text,
            segments,
            identifiers,
        }
    }

    /// How many telling words of a folded name the text lacks, and how many there are.
    pub fn lacks(&self, folded: &str) -> (usize, usize) {
        let telling = split(folded).filter(|word| !is_between(word));
        telling.fold((0, 0), |(lacking, all), word| {
            (lacking + usize::from(!self.places.contains_key(common(word))), all + 1)
        })
    }

    /// Whether a token begins its segment, and nothing follows but the number of a unit or the word of a faculty.
    pub fn stands_alone(&self, at: usize) -> bool {
        let segment = self.tokens[at].segment;
        let begins = at == 0 || self.tokens[at - 1].segment != segment;
        let next = self.tokens.get(at + 1).filter(|next| next.segment == segment);
        let is_end = |next: &Token| {
            next.folded.bytes().any(|byte| byte.is_ascii_digit()) || is_faculty(&next.folded)
        };
        begins && next.is_none_or(is_end)
    }

    /// Whether a name goes on in the text, as another name: "Warsaw University of Technology" has no University of Warsaw.
    pub fn is_part_of_other_name(&self, span: &Range<usize>) -> bool {
        let tokens = &self.tokens;
        let segment = tokens[span.end - 1].segment;
        let is_university = |at: usize| tokens[at].word.text == UNIVERSITY;
        let next = tokens.get(span.end).filter(|next| next.segment == segment);
        let before = span.start.checked_sub(1).map(|at| &tokens[at]);
        let before = before.filter(|before| before.segment == tokens[span.start].segment);
        let goes_on = is_university(span.end - 1) && next.is_some_and(|next| next.is_after_between);
        // "Chongqing University Cancer Hospital" is another organisation than the university.
        let rest = tokens[span.end..]
            .iter()
            .take_while(|token| token.segment == segment && !token.is_after_between);
        let is_hospital = span.clone().any(is_university)
            && !span.clone().any(|at| tokens[at].word.text == HOSPITAL)
            && rest.take(HOSPITAL_WORDS_MAX).any(|token| token.word.text == HOSPITAL);
        let began = is_university(span.start)
            && !tokens[span.start].is_after_between
            && before.is_some_and(|before| QUALIFIERS.contains(&before.folded.as_str()));
        // "Hospital Universitario y Politécnico La Fe, Valencia" is no polytechnic.
        let of_hospital = is_university(span.start)
            && !tokens[span.start].is_after_between
            && before.is_some_and(|before| before.word.text == HOSPITAL)
            && !span.clone().any(|at| tokens[at].word.text == HOSPITAL);
        // "Université Lyon 2" is not the Université de Lyon.
        let is_numbered =
            span.clone().any(is_university) && next.is_some_and(|next| is_ordinal(&next.folded));
        // "Robert Wood Johnson Medical School" is not the foundation.
        let behind = || {
            let inside = |token: &&Token| token.segment == segment && is_faculty(&token.folded);
            tokens[span.end..].iter().take_while(inside)
        };
        let is_school = |token: &Token| ["college", "school"].contains(&token.folded.as_str());
        let has_school = behind().any(is_school)
            && !span.clone().any(|at| is_university(at) || is_school(&tokens[at]));
        goes_on || is_hospital || of_hospital || is_numbered || has_school || began
    }

    /// Whether a segment behind a token, before the next semicolon, is one of some folded cities.
    pub fn has_city_behind(&self, at: usize, cities: &HashSet<String>) -> bool {
        let own = self.tokens[at].segment;
        let mut last = own;
        let behind = self.segments.iter().skip_while(|(_, segment)| *segment <= own);
        let mut near = behind.take_while(|(_, segment)| {
            let is_next = *segment == last + 1;
            last = *segment;
            is_next
        });
        near.any(|(text, _)| {
            let name = common_words(text);
            cities.contains(name.strip_suffix(" city").unwrap_or(&name)) || cities.contains(&name)
        })
    }

    /// Whether a name goes on in another segment than it begins in.
    pub fn is_across(&self, span: &Range<usize>) -> bool {
        self.tokens[span.start].segment != self.tokens[span.end - 1].segment
    }

    /// Whether a segment names a ministry: "Department for Transport".
    pub fn is_ministry(&self, segment: usize) -> bool {
        let named = self.segments.iter().find(|(_, known)| *known == segment);
        named.is_some_and(|(text, _)| text.starts_with("department for "))
    }

    /// Whether the text has a name as whole words, each as [`common`] has it.
    pub fn has_words(&self, name: &str) -> bool {
        !name.is_empty() && self.folded.contains(&format!(" {name} "))
    }
}

/// Sets words apart from the numbers of footnotes before them: `3Genentech`, and not `3M` or `21st`.
fn apart_from_marks(text: &str) -> String {
    let mut apart = String::with_capacity(text.len());
    let mut is_mark = false;
    let mut letters = text.chars().peekable();
    let mut before = ' ';
    while let Some(letter) = letters.next() {
        let is_small_next = letters.peek().is_some_and(|next| next.is_lowercase());
        if is_mark && letter.is_uppercase() && is_small_next {
            apart.push(' ');
        }
        is_mark = letter.is_ascii_digit() && (is_mark || !before.is_alphanumeric());
        before = letter;
        apart.push(letter);
    }
    apart
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_footnotes_stand_apart() {
        let check = |text: &str, expected: &str| assert_eq!(apart_from_marks(text), expected);
        check("3Genentech, San Francisco", "3 Genentech, San Francisco");
        check("12Department, 3M, A1Bc, the 21st", "12 Department, 3M, A1Bc, the 21st");
        check("", "");
    }

    #[test]
    fn a_letter_stands_for_a_university_before_a_name() {
        let check = |text: &str, expected: &str| {
            assert_eq!(Affiliation::new(text, None).folded, expected);
        };
        check("U. Leeds", " university leeds ");
        check("Dept of Law, U of Toronto", " dept of law university of toronto ");
        check("U.S. Army", " u s army ");
    }
}
