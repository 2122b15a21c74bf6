//! Text as it is compared: without case, accents, markup and punctuation.
//!
//! The tables are those of Unicode 16 (case folding), 17 (Alphabetic) and 18 (normalisation,
//! categories, scripts); they differ in characters assigned after Unicode 16 alone. FORMAT.md names
//! them, since hashes of folded texts are written in files.

use std::{borrow::Cow, ops::RangeInclusive, sync::LazyLock};

use caseless::Caseless;
use unicode_normalization::UnicodeNormalization;
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

/// Letters that no decomposition takes apart, and what they are compared as.
const LETTERS: [(char, &str); 12] = [
    ('ø', "o"),
    ('ł', "l"),
    ('đ', "d"),
    ('ð', "d"),
    ('þ', "th"),
    ('æ', "ae"),
    ('œ', "oe"),
    ('ß', "ss"),
    ('ı', "i"),
    ('ħ', "h"),
    ('ŧ', "t"),
    ('ŋ', "n"),
];

/// From the first character beyond ASCII to the end of the Cyrillic Supplement.
const COMMON: RangeInclusive<char> = '\u{80}'..='\u{52f}';

/// What is left of a character: letters and digits, and `None` for what parts words.
type Left = Box<[Option<char>]>;

/// Dropped where other punctuation parts words: `O'Brien` is one word.
const APOSTROPHES: [char; 4] = ['\'', '’', 'ʼ', '‘'];

/// The folded form of a text: words of letters and digits with one space between them.
///
/// Empty where the text holds neither. Cost: one pass over ASCII, several over the stretches between.
pub fn fold(text: &str) -> String {
    let text = without_tags(text);
    let mut words = Words { text: String::with_capacity(text.len()), between: false };
    let mut rest = &*text;
    while !rest.is_empty() {
        let (ascii, beyond) = split_where(rest, |byte| !byte.is_ascii());
        // No rule of Unicode's crosses from ASCII to what follows but by marks, which are dropped.
        let (other, next) = split_where(beyond, u8::is_ascii);
        words.push_ascii(ascii);
        words.push_other(other);
        rest = next;
    }
    let mut folded = words.text;
    folded.make_ascii_lowercase();
    if folded.is_ascii() { folded } else { folded.nfc().collect() }
}

/// A text up to the first byte of a kind, which begins a character, and from there on.
fn split_where(text: &str, is_sought: impl Fn(&u8) -> bool) -> (&str, &str) {
    text.split_at(text.bytes().position(|byte| is_sought(&byte)).unwrap_or(text.len()))
}

/// What is left of a text that is not ASCII: letters and digits, and `None` for each character that parts
/// words.
fn letters(text: &str) -> impl Iterator<Item = Option<char>> {
    let is_kept = |c: &char| c.general_category() != GeneralCategory::NonspacingMark;
    let compatible = text.nfkd().filter(is_kept).default_case_fold();
    let letters = compatible.nfkd().filter(is_kept).flat_map(by_letter);
    // One of the apostrophes counts as alphabetic.
    let letters = letters.filter(|c| !APOSTROPHES.contains(c));
    letters.map(|c| (c.is_alphabetic() || c.is_numeric()).then_some(c))
}

/// What is left of a character of the Latin, Greek and Cyrillic blocks, which most texts beyond ASCII
/// are of; `None` of others, and of marks: those are put in order with what stands beside them.
fn common(c: char) -> Option<&'static [Option<char>]> {
    static LEFT: LazyLock<Vec<Option<Left>>> = LazyLock::new(|| {
        let is_mark = |c: char| {
            use GeneralCategory::{EnclosingMark, NonspacingMark, SpacingMark};
            matches!(c.general_category(), EnclosingMark | NonspacingMark | SpacingMark)
        };
        let left = |c: char| (!is_mark(c)).then(|| letters(c.encode_utf8(&mut [0; 4])).collect());
        COMMON.map(left).collect()
    });
    let at = u32::from(c).checked_sub(u32::from(*COMMON.start()))?;
    LEFT.get(at as usize)?.as_deref()
}

/// What a letter is compared as.
fn by_letter(c: char) -> impl Iterator<Item = char> {
    let other = LETTERS.iter().find(|(letter, _)| *letter == c);
    let as_is = other.is_none().then_some(c);
    other.map_or("", |(_, other)| other).chars().chain(as_is)
}

/// Bytes of the characters that two texts begin with.
pub fn shared_bytes(a: &str, b: &str) -> usize {
    a.chars().zip(b.chars()).take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum()
}

/// A text cut at a character to so many bytes at most.
pub fn cut(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}

/// Bytes of a word that are indexed; longer ones are cut at a character.
pub const WORD_BYTES_MAX: usize = 256;

/// The words of a folded text, as they are indexed.
///
/// A word of a script that writes none apart is found from any character within: what follows each
/// such character is a word too.
pub fn words(folded: &str) -> impl Iterator<Item = &str> {
    folded.split(' ').filter(|word| !word.is_empty()).flat_map(|word| {
        let within = word.char_indices().skip(1).filter(|(_, c)| is_unspaced(*c));
        std::iter::once(word).chain(within.map(|(at, _)| &word[at..])).map(cut_word)
    })
}

/// Whether a folded text has a word that begins so, however long either is. Cost: one pass.
pub fn has_word(folded: &str, beginning: &str) -> bool {
    if beginning.starts_with(is_unspaced) {
        // Wherever it stands a word begins.
        folded.contains(beginning)
    } else {
        folded.split(' ').any(|word| word.starts_with(beginning))
    }
}

/// As much of a word as is indexed.
pub fn cut_word(word: &str) -> &str {
    cut(word, WORD_BYTES_MAX)
}

/// Whether a character is of a script that does not part words by spaces.
fn is_unspaced(c: char) -> bool {
    use unicode_script::{Script, UnicodeScript};
    !c.is_ascii()
        && matches!(
            c.script(),
            Script::Han | Script::Hiragana | Script::Katakana | Script::Hangul | Script::Thai
        )
}

/// Folded words under way.
#[derive(Default)]
struct Words {
    text: String,
    /// Whether a word ended, so that a space belongs before the next.
    between: bool,
}

impl Words {
    /// Takes ASCII, its letters as they are.
    fn push_ascii(&mut self, text: &str) {
        let mut rest = text;
        while !rest.is_empty() {
            let (letters, beyond) = split_where(rest, |byte| !byte.is_ascii_alphanumeric());
            if !letters.is_empty() {
                self.begin();
                self.text.push_str(letters);
            }
            let mut chars = beyond.chars();
            // One apostrophe drops out; whatever else stands there parts words.
            self.between |= chars.next().is_some_and(|c| !APOSTROPHES.contains(&c));
            rest = chars.as_str();
        }
    }

    /// Takes what is not ASCII.
    fn push_other(&mut self, text: &str) {
        if text.chars().all(|c| common(c).is_some()) {
            text.chars().filter_map(common).flatten().for_each(|letter| self.push(*letter));
        } else {
            letters(text).for_each(|letter| self.push(letter));
        }
    }

    /// Takes a letter, or what parts words.
    fn push(&mut self, letter: Option<char>) {
        match letter {
            Some(letter) => {
                self.begin();
                self.text.push(letter);
            }
            None => self.between = true,
        }
    }

    /// Begins a word, if one ended.
    fn begin(&mut self) {
        if std::mem::take(&mut self.between) && !self.text.is_empty() {
            self.text.push(' ');
        }
    }
}

/// The text without `<i>`, `</sub>` and the like. A `<` that begins no tag stays.
fn without_tags(text: &str) -> Cow<'_, str> {
    // Beyond the last `>` nothing is a tag, so that a text of `<a<a<a…` is not searched again and
    // again.
    let Some(last) = text.rfind('>') else { return Cow::Borrowed(text) };
    let mut kept = String::new();
    let mut from = 0;
    let mut at = 0;
    while let Some(open) = text[at..last].find('<').map(|found| at + found) {
        let name = text[open + 1..].strip_prefix('/').unwrap_or(&text[open + 1..]);
        let is_tag = name.starts_with(|c: char| c.is_ascii_alphabetic());
        match is_tag.then(|| text[open..].find('>')).flatten() {
            Some(length) => {
                kept.push_str(&text[from..open]);
                from = open + length + 1;
                at = from;
            }
            None => at = open + 1,
        }
        if at >= last {
            break;
        }
    }
    if from == 0 {
        return Cow::Borrowed(text);
    }
    kept.push_str(&text[from..]);
    Cow::Owned(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_compared_by_their_letters_and_digits() {
        let check = |text: &str, expected: &str| assert_eq!(fold(text), expected, "{text}");
        check("", "");
        check("The Lancet", "the lancet");
        check("  a --  b  ", "a b");
        check("O'Brien", "obrien");
        check("O’Brien", "obrien");
        check("Oʼahu ‘quoted’", "oahu quoted");
        check("Saint-Étienne", "saint etienne");
        check("Université de Montréal", "universite de montreal");
        check("e\u{301}", "e");
        check("Łódź Straße Þór Æther ŒUVRE", "lodz strasse thor aether oeuvre");
        check("İstanbul", "istanbul");
        check("ISPARTA ısparta", "isparta isparta");
        check("ﬁne ﬂow", "fine flow");
        check("H₂O and CO<sub>2</sub>", "h2o and co2");
        check("<i>E. coli</i> x < y > z", "e coli x y z");
        check("a<b and c>d", "ad");
        check("a < b", "a b");
        check("<<a>b", "b");
        check("<a", "a");
        check("東京大学", "東京大学");
        check("Ⅳ", "iv");
        check("ẞ", "ss");
        check("ὈΔΥΣΣΕΎΣ", "οδυσσευσ");
        check("हिन्दी", "हिनदी");
        check("***", "");
        check("한국", "한국");
    }

    /// The rules one after another over the whole text.
    fn fold_by_rule(text: &str) -> String {
        let text = without_tags(text);
        let is_kept = |c: &char| c.general_category() != GeneralCategory::NonspacingMark;
        let compatible = text.nfkd().filter(is_kept).default_case_fold();
        let mut words = Words::default();
        let kept = compatible.nfkd().filter(is_kept).flat_map(by_letter);
        for c in kept.filter(|c| !APOSTROPHES.contains(c)) {
            words.push((c.is_alphabetic() || c.is_numeric()).then_some(c));
        }
        words.text.nfc().collect()
    }

    #[test]
    fn a_text_folds_by_stretches_as_it_does_as_a_whole() {
        let pieces = [
            "a", "Z", "7", " ", "-", "'", "<i>", "é", "E\u{301}", "\u{301}", "\u{20dd}", "’", "ß",
            "İ", "ﬁ", "½", "東", "한", "\u{1112}", "\u{1161}", "\u{11ab}", "\u{9c7}", "\u{9be}",
            "ΐ", "Ǆ", "ŀ", "ʼ", "ё", "Й", "ϔ", "\u{37a}", "\u{345}", "\u{483}", "\u{488}",
            "\u{85}",
        ];
        let mut state = 1u64;
        for _ in 0..20_000 {
            let mut text = String::new();
            while state.is_multiple_of(8) || text.is_empty() || !(state >> 40).is_multiple_of(8) {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                text.push_str(pieces[(state >> 33) as usize % pieces.len()]);
            }
            assert_eq!(fold(&text), fold_by_rule(&text), "{text:?}");
        }
    }

    #[test]
    fn each_common_character_folds_as_any_other() {
        for c in COMMON {
            let next = COMMON.cycle().skip_while(|other| *other != c).nth(1).unwrap_or(c);
            for text in [format!("a{c}b"), format!("{c}{next}{c}"), format!("{c}\u{301}{c}{c}東")]
            {
                assert_eq!(fold(&text), fold_by_rule(&text), "{text:?}");
            }
        }
    }

    #[test]
    fn words_of_unspaced_scripts_begin_at_every_character() {
        let check = |text: &str, expected: &[&str]| {
            assert_eq!(words(&fold(text)).collect::<Vec<_>>(), expected, "{text}");
        };
        check("", &[]);
        check("John  Smith", &["john", "smith"]);
        check("東京 x", &["東京", "京", "x"]);
        check("abc東京", &["abc東京", "東京", "京"]);
        let long = "é".repeat(200);
        assert_eq!(words(&long).collect::<Vec<_>>(), [&long[..256]]);
    }

    #[test]
    fn a_word_begins_as_one_of_those_indexed_does() {
        let texts = ["abc東京 xab京", "東京大学", "a東b", "", "ab"];
        let asked = ["a", "ab", "b", "東", "京", "京大", "bc", "東b", "x", "xab京", "ab東", "学"];
        for (text, asked) in texts.iter().flat_map(|text| asked.map(|asked| (*text, asked))) {
            let expected = words(text).any(|word| word.starts_with(asked));
            assert_eq!(has_word(text, asked), expected, "{asked} in {text}");
        }
    }

    #[test]
    fn folding_twice_changes_nothing_more() {
        for text in ["Ŀ·l ʼn ŉ", "ΐ ᾳ ﷺ", "½ ² ㎏", "Ǆ ǆ", "ｶﾞ ガ", "ÅÅ Å"] {
            assert_eq!(fold(&fold(text)), fold(text), "{text}");
        }
    }

    #[test]
    fn many_openings_without_an_end_cost_one_search() {
        let text = "<a".repeat(1 << 20);
        assert_eq!(fold(&text).len(), (1 << 21) - 1);
    }

    #[test]
    fn the_tables_are_those_the_format_names() {
        assert_eq!(caseless::UNICODE_VERSION.0, 16);
        assert_eq!(unicode_normalization::UNICODE_VERSION.0, 18);
        assert_eq!(unicode_properties::UNICODE_VERSION.0, 18);
        assert_eq!(char::UNICODE_VERSION.0, 17);
        assert_eq!(unicode_script::UNICODE_VERSION.0, 18);
    }
}
