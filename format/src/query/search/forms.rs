//! Finds the words of a snapshot that a pattern or a mistyped word stands for.
//!
//! ```text
//! machin*     machine, machinery, machines, machining
//! synovitsi   synovitis, one exchange of neighbours away
//! ```
//!
//! Both walk the sorted forms of the full-text index. A pattern reads the forms with its first letters. A mistyped word keeps a
//! row of edit distances for each letter of the current form, and passes over all forms whose beginning is already too far.

use crate::index::full_text::{FormCursor, FormOf, FullText, TITLE_END};
use crate::query::rows::deadline::{Deadline, QueryError};

/// The longest word that stands for similar words, in letters.
pub(super) const FUZZY_LETTERS_MAX: usize = 32;
/// Forms read between two checks of the deadline.
const FORMS_PER_CHECK: usize = 1_024;
/// Forms that a pattern reads, at most, to tell how many words it has.
const COUNTED_FORMS_MAX: u64 = 1_000_000;

/// A word that a search stands for, and its terms.
#[derive(Clone)]
pub(super) struct Found {
    pub form: String,
    pub terms: Vec<FormOf>,
}

/// Finds the words of a pattern. Returns at most `max` words, and the number of all. `live` returns the terms of a word that
/// count; a word without such terms does not count.
pub(super) fn with_pattern(
    index: &FullText,
    pattern: &str,
    max: usize,
    live: impl Fn(&FormCursor<'_>) -> Result<Vec<FormOf>, QueryError>,
    deadline: Deadline<'_>,
) -> Result<(Vec<Found>, u64), QueryError> {
    // Forms ascend: those that begin with the letters before the first wildcard are neighbours.
    let prefix = &pattern[..pattern.find(['*', '?']).unwrap_or(pattern.len())];
    let letters: Vec<char> = pattern.chars().collect();
    let mut forms = index.form_cursor();
    forms.seek(prefix.as_bytes())?;
    let (mut found, mut count, mut read) = (Vec::new(), 0, 0u64);
    while let Some(form) = forms.form().filter(|form| form.starts_with(prefix)) {
        if has_pattern(&form, &letters) {
            // Words beyond `max` count too: the client reads how many words the pattern has.
            let terms = live(&forms)?;
            count += u64::from(!terms.is_empty());
            if found.len() < max && !terms.is_empty() {
                found.push(Found { form: form.into_owned(), terms });
            }
        }
        read += 1;
        if read.is_multiple_of(FORMS_PER_CHECK as u64) {
            deadline.check()?;
        }
        // A pattern such as `*a` would read all forms of the index.
        if read == COUNTED_FORMS_MAX {
            break;
        }
        forms.advance()?;
    }
    Ok((found, count))
}

/// Whether a word has a pattern: `*` stands for any letters, `?` for exactly one.
pub(super) fn has_pattern(word: &str, pattern: &[char]) -> bool {
    let word: Vec<char> = word.chars().collect();
    let (mut at, mut in_pattern) = (0, 0);
    // Where the last star stands, and where the letters that it stands for end.
    let mut star: Option<(usize, usize)> = None;
    while at < word.len() {
        match pattern.get(in_pattern) {
            Some('*') => {
                star = Some((in_pattern, at));
                in_pattern += 1;
            }
            Some(letter) if *letter == '?' || *letter == word[at] => {
                at += 1;
                in_pattern += 1;
            }
            _ => match &mut star {
                Some((place, end)) => {
                    *end += 1;
                    (at, in_pattern) = (*end, *place + 1);
                }
                None => return false,
            },
        }
    }
    pattern[in_pattern..].iter().all(|letter| *letter == '*')
}

/// Finds the words that differ from `word` in one to `edits` places: a letter missing, added, changed, or exchanged with its
/// neighbour. Returns them with their distances, in the order of the words. Nothing for a longer word than 32 letters. `live`
/// as of [`with_pattern`].
pub(super) fn near(
    index: &FullText,
    word: &str,
    edits: u32,
    live: impl Fn(&FormCursor<'_>) -> Result<Vec<FormOf>, QueryError>,
    deadline: Deadline<'_>,
) -> Result<Vec<(u32, Found)>, QueryError> {
    let letters: Vec<char> = word.chars().collect();
    if letters.len() > FUZZY_LETTERS_MAX {
        return Ok(Vec::new());
    }
    let mut distances = Distances::new(&letters, edits);
    let mut forms = index.form_cursor();
    let (mut found, mut read) = (Vec::new(), 0usize);
    forms.advance()?;
    while let Some(form) = forms.form() {
        read += 1;
        if read.is_multiple_of(FORMS_PER_CHECK) {
            deadline.check()?;
        }
        match distances.of(&form) {
            Ok(0) => {}
            // The end of a title is no word.
            Ok(distance) if distance <= edits && form != TITLE_END => {
                let terms = live(&forms)?;
                if !terms.is_empty() {
                    found.push((distance, Found { form: form.into_owned(), terms }));
                }
            }
            Ok(_) => {}
            // No form before this text is near.
            Err(Some(next)) => {
                forms.seek(&next)?;
                continue;
            }
            Err(None) => break,
        }
        forms.advance()?;
    }
    Ok(found)
}

/// The first text after all texts with a prefix.
fn after_prefix(prefix: &str) -> Option<Vec<u8>> {
    let mut next = prefix.as_bytes().to_vec();
    while let Some(last) = next.pop() {
        if last < u8::MAX {
            next.push(last + 1);
            return Some(next);
        }
    }
    None
}

/// The distances of a beginning of a form from all beginnings of a word.
type Row = [u8; FUZZY_LETTERS_MAX + 1];

/// The optimal-string-alignment distances of a word from the beginnings of a form. Only beginnings whose lengths differ by at most the
/// edits are compared: the others are too far.
struct Distances<'w> {
    word: &'w [char],
    /// The letters of the word, ascending, each once.
    own_letters: Vec<char>,
    edits: u8,
    /// The letters of the current form, and a row for each of its beginnings.
    letters: Vec<char>,
    rows: Vec<Row>,
}

impl<'w> Distances<'w> {
    /// A word has at most 32 letters.
    fn new(word: &'w [char], edits: u32) -> Distances<'w> {
        let mut own_letters = word.to_vec();
        own_letters.sort_unstable();
        own_letters.dedup();
        let first = std::array::from_fn(|at| at as u8);
        Distances { word, own_letters, edits: edits as u8, letters: Vec::new(), rows: vec![first] }
    }

    /// The distance of a form, or more than the edits; or, if no form that begins as this one is near, the first text from which on
    /// one may be.
    fn of(&mut self, form: &str) -> Result<u32, Option<Vec<u8>>> {
        let mut same = 0;
        let mut kept = true;
        for (at, letter) in form.chars().enumerate() {
            kept &= self.letters.get(at) == Some(&letter);
            if kept {
                same = at + 1;
                continue;
            }
            self.cut(same);
            self.push(letter);
            same += 1;
            if !self.may_be_near() {
                return Err(self.next_after(letter));
            }
        }
        self.cut(same);
        Ok(self.rows.last().map_or(u32::MAX, |row| row[self.word.len()].into()))
    }

    /// Keeps the first letters of the form.
    fn cut(&mut self, letters: usize) {
        self.letters.truncate(letters);
        self.rows.truncate(letters + 1);
    }

    /// Whether a form that begins with the current letters may be near: if a distance of the last row is small enough, or an
    /// exchange of the last letter with the next one makes it so.
    fn may_be_near(&self) -> bool {
        let [.., before, last] = self.rows.as_slice() else { return true };
        let letter = self.letters.last();
        let is_exchanged = |at: usize| self.word.get(at) == letter && before[at - 1] < self.edits;
        last[..=self.word.len()].iter().any(|distance| *distance <= self.edits)
            || (1..self.word.len()).any(is_exchanged)
    }

    /// The first text after those that begin with the current letters, the last of which is `letter`, from which on a form may
    /// be near. A letter that the word lacks is no better than `letter`, so that only letters of the word can be.
    fn next_after(&mut self, letter: char) -> Option<Vec<u8>> {
        let depth = self.letters.len() - 1;
        for at in self.own_letters.partition_point(|own| *own <= letter)..self.own_letters.len() {
            self.cut(depth);
            self.push(self.own_letters[at]);
            if self.may_be_near() {
                return Some(self.letters.iter().collect::<String>().into_bytes());
            }
        }
        self.cut(depth);
        after_prefix(&self.letters.iter().collect::<String>())
    }

    fn push(&mut self, letter: char) {
        let (depth, edits) = (self.rows.len(), usize::from(self.edits));
        let last = &self.rows[depth - 1];
        let before = depth.checked_sub(2).map(|before| &self.rows[before]);
        let exchanged = self.letters.last();
        // More than the edits, also after additions.
        let mut row = [self.edits + 1; FUZZY_LETTERS_MAX + 1];
        if depth <= edits {
            row[0] = depth as u8;
        }
        for at in depth.saturating_sub(edits + 1)..self.word.len().min(depth + edits) {
            let own = &self.word[at];
            let changed = last[at] + u8::from(*own != letter);
            let mut least = changed.min(last[at + 1] + 1).min(row[at] + 1);
            if let Some(before) = before
                && at > 0
                && exchanged == Some(own)
                && self.word[at - 1] == letter
            {
                least = least.min(before[at - 1] + 1);
            }
            row[at + 1] = least;
        }
        self.letters.push(letter);
        self.rows.push(row);
    }
}

#[cfg(test)]
mod tests {
    use rapidfuzz::distance::osa;

    use super::*;

    #[test]
    fn patterns_match_as_letters_stars_and_question_marks_say() {
        let check = |pattern: &str, word: &str, expected: bool| {
            let letters: Vec<char> = pattern.chars().collect();
            assert_eq!(has_pattern(word, &letters), expected, "{pattern} {word}");
        };
        for word in ["machine", "machin", "machinery"] {
            check("machin*", word, true);
        }
        check("wom?n", "woman", true);
        check("wom?n", "womn", false);
        check("col*r", "colour", true);
        check("col*r", "colors", false);
        check("col*o*r?", "colours", true);
        check("abc?", "abc", false);
        check("abc*?", "abcé", true);
    }

    #[test]
    fn distances_are_those_of_optimal_string_alignment() {
        let words = [
            "synovitis",
            "synovitsi",
            "synoviti",
            "xsynovitis",
            "sinovits",
            "cat",
            "act",
            "cta",
            "",
        ];
        let mut forms: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        forms.extend((0..26u8).map(|at| format!("synov{}tis", char::from(b'a' + at))));
        // All short texts of a few letters.
        let letters = ["", "a", "c", "n", "s", "t", "y", "é"];
        for a in letters {
            for b in letters {
                forms.extend(
                    letters
                        .iter()
                        .flat_map(|c| ["", "o", "ovitis"].map(|end| format!("{a}{b}{c}{end}"))),
                );
            }
        }
        forms.sort();
        for word in words {
            let letters: Vec<char> = word.chars().collect();
            for edits in [1, 2] {
                let mut distances = Distances::new(&letters, edits);
                let mut from = Vec::new();
                for form in &forms {
                    let expected = osa::distance(word.chars(), form.chars()) as u32;
                    if form.as_bytes() < from.as_slice() {
                        assert!(expected > edits, "{word} {form} is passed over");
                        continue;
                    }
                    match distances.of(form) {
                        Ok(found) if expected <= edits => {
                            assert_eq!(found, expected, "{word} {form}");
                        }
                        Ok(found) => assert!(found > edits, "{word} {form}"),
                        Err(next) => {
                            assert!(expected > edits, "{word} {form} {edits}");
                            from = next.unwrap_or_else(|| vec![u8::MAX]);
                            assert!(from.as_slice() > form.as_bytes(), "{word} {form}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn the_text_after_a_prefix_sorts_after_all_texts_with_it() {
        assert_eq!(after_prefix("ab").as_deref(), Some(&b"ac"[..]));
        assert_eq!(after_prefix(""), None);
    }
}
