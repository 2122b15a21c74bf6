//! Folds texts for comparison: removes case, accents, markup and punctuation.
//!
//! ```text
//! The <i>Saint-Étienne</i> O’Brien  →  the saint etienne obrien
//! ```
//!
//! The tables are those of Unicode 16 (case folding), 17 (Alphabetic) and 18 (normalisation,
//! categories, scripts). They differ only in characters assigned after Unicode 16. FORMAT.md names
//! the versions, because snapshots store hashes of folded texts.

use std::{borrow::Cow, iter, sync::OnceLock};

use caseless::Caseless;
use unicode_normalization::char::canonical_combining_class;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

/// Letters without a Unicode decomposition, and the letters that replace them.
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

/// Characters of a block, whose foldings are computed together.
const BLOCK_CHARS: u32 = 256;
/// Blocks of the Basic Multilingual Plane.
const BLOCKS: usize = 0x1_0000 / BLOCK_CHARS as usize;

/// The precomputed folding of a character.
pub(super) enum Folding {
    /// The character depends on its neighbours; [`letters`] folds it.
    ByRule,
    /// The character separates words.
    Separator,
    /// One letter or digit.
    Letter(char),
    /// Any other number of letters, digits and, as `None`, word separators.
    Several(Box<[Option<char>]>),
}

/// Characters that are dropped; other punctuation separates words. `O'Brien` is one word.
const APOSTROPHES: [char; 4] = ['\'', '’', 'ʼ', '‘'];

/// The folding of each ASCII character: [`DROPPED`], a space for a word separator, or a letter or digit.
static ASCII: [u8; 128] = {
    let mut folded = [b' '; 128];
    let mut byte = 0;
    while byte < 128 {
        if (byte as u8).is_ascii_alphanumeric() {
            folded[byte] = (byte as u8).to_ascii_lowercase();
        }
        byte += 1;
    }
    folded[b'\'' as usize] = DROPPED;
    folded
};

/// Stands for no character in [`ASCII`].
const DROPPED: u8 = 0;

/// Folds a text to words of letters and digits, with one space between words.
///
/// Empty where the text has no letter and no digit. Cost: one pass over most texts, several passes over
/// texts with combining marks.
pub fn fold(text: &str) -> String {
    let text = without_tags(text);
    let mut words = Words::with_capacity(text.len());
    let mut rest = &*text;
    while !rest.is_empty() {
        let (ascii, beyond) = split_where(rest, |byte| !byte.is_ascii());
        // ASCII interacts with the following characters only through marks, which are dropped.
        let (other, next) = split_where(beyond, u8::is_ascii);
        words.push_ascii(ascii);
        words.push_other(other);
        rest = next;
    }
    words.finish()
}

/// Splits a text before the first byte that matches; the byte must begin a character.
fn split_where(text: &str, matches: impl Fn(&u8) -> bool) -> (&str, &str) {
    text.split_at(text.bytes().position(|byte| matches(&byte)).unwrap_or(text.len()))
}

/// Whether folding keeps a character: no accent or other nonspacing mark.
pub(super) fn is_kept(c: &char) -> bool {
    c.general_category() != GeneralCategory::NonspacingMark
}

/// Folds a text that is not ASCII, by the rules: letters and digits, and `None` for each word
/// separator.
pub(super) fn letters(text: &str) -> impl Iterator<Item = Option<char>> {
    let compatible = text.nfkd().filter(is_kept).default_case_fold();
    let letters = compatible.nfkd().filter(is_kept).flat_map(by_letter);
    // U+02BC, one of the apostrophes, counts as alphabetic.
    let letters = letters.filter(|c| !APOSTROPHES.contains(c));
    letters.map(|c| (c.is_alphabetic() || c.is_numeric()).then_some(c))
}

/// Returns the precomputed folding of a character. Computes the foldings of a block at its first use.
pub(super) fn folding(c: char) -> &'static Folding {
    static FOLDINGS: [OnceLock<Box<[Folding]>>; BLOCKS] = [const { OnceLock::new() }; BLOCKS];
    let (block, at) = (u32::from(c) / BLOCK_CHARS, u32::from(c) % BLOCK_CHARS);
    let Some(foldings) = FOLDINGS.get(block as usize) else { return &Folding::ByRule };
    let compute = || {
        let chars = block * BLOCK_CHARS..(block + 1) * BLOCK_CHARS;
        chars.map(|c| char::from_u32(c).map_or(Folding::ByRule, compute_folding)).collect()
    };
    &foldings.get_or_init(compute)[at as usize]
}

/// Folds a character that does not depend on its neighbours: no mark remains that normalisation would
/// reorder, and no letter that normalisation would compose with the letter before.
fn compute_folding(c: char) -> Folding {
    use GeneralCategory::{EnclosingMark, NonspacingMark, SpacingMark};
    let is_mark = matches!(c.general_category(), EnclosingMark | NonspacingMark | SpacingMark);
    let is_reordered = |c: char| is_kept(&c) && canonical_combining_class(c) != 0;
    let mut decomposed = c.nfkd().chain(c.nfkd().default_case_fold().nfkd());
    if is_mark || decomposed.any(is_reordered) {
        return Folding::ByRule;
    }
    let mut folded: Vec<Option<char>> = letters(c.encode_utf8(&mut [0; 4])).collect();
    if folded.iter().all(Option::is_some) {
        // The letters of a Korean syllable are one character again.
        folded = folded.into_iter().flatten().nfc().map(Some).collect();
    }
    let is_inert = |c: char| {
        canonical_combining_class(c) == 0 && is_nfc_quick(iter::once(c)) == IsNormalized::Yes
    };
    match folded[..] {
        _ if !folded.iter().flatten().all(|c| is_inert(*c)) => Folding::ByRule,
        [None] => Folding::Separator,
        [Some(letter)] => Folding::Letter(letter),
        _ => Folding::Several(folded.into()),
    }
}

/// Applies [`LETTERS`] to a character.
fn by_letter(c: char) -> impl Iterator<Item = char> {
    let other = LETTERS.iter().find(|(letter, _)| *letter == c);
    let as_is = other.is_none().then_some(c);
    other.map_or("", |(_, other)| other).chars().chain(as_is)
}

/// The length of the common prefix of two texts, in bytes of whole characters.
pub fn shared_bytes(a: &str, b: &str) -> usize {
    let shared = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    a.floor_char_boundary(shared)
}

/// Cuts a text to at most `bytes_max` bytes, between characters.
pub fn cut(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}

/// The largest indexed word; longer words are cut between characters.
pub const WORD_BYTES_MAX: usize = 256;

/// The indexed words of a folded text.
///
/// In a script without spaces, a word starts at every character: `東京 x` has the words `東京`, `京`
/// and `x`.
pub fn words(folded: &str) -> impl Iterator<Item = &str> {
    folded.split(' ').filter(|word| !word.is_empty()).flat_map(|word| {
        let within = word.char_indices().skip(1).filter(|(_, c)| is_unspaced(*c));
        iter::once(word).chain(within.map(|(at, _)| &word[at..])).map(cut_word)
    })
}

/// Whether a word of a folded text starts with a prefix. Words and prefixes are not cut. Cost: one
/// pass.
pub fn has_word(folded: &str, prefix: &str) -> bool {
    if prefix.starts_with(is_unspaced) {
        // A word starts at every character of such a script.
        folded.contains(prefix)
    } else {
        folded.split(' ').any(|word| word.starts_with(prefix))
    }
}

/// The indexed part of a word: at most [`WORD_BYTES_MAX`] bytes.
pub fn cut_word(word: &str) -> &str {
    cut(word, WORD_BYTES_MAX)
}

/// Whether a character belongs to a script without spaces between words.
pub(crate) fn is_unspaced(c: char) -> bool {
    use unicode_script::{Script, UnicodeScript};
    match c {
        ..'\u{e00}' => false,
        // Chinese characters and Korean syllables.
        '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' => true,
        _ => matches!(
            c.script(),
            Script::Han | Script::Hiragana | Script::Katakana | Script::Hangul | Script::Thai
        ),
    }
}

/// Builds a text of folded words.
struct Words {
    /// UTF-8. A space at the end separates the next word; it is not part of the result.
    text: Vec<u8>,
    /// Whether normalisation may compose characters of the text.
    may_compose: bool,
}

impl Words {
    fn with_capacity(bytes: usize) -> Words {
        Words { text: Vec::with_capacity(bytes), may_compose: false }
    }

    fn finish(mut self) -> String {
        if self.text.last() == Some(&b' ') {
            self.text.pop();
        }
        let text = String::from_utf8(self.text).expect("only whole characters are pushed");
        if self.may_compose { text.nfc().collect() } else { text }
    }

    /// Appends an ASCII text. The loop has no branches that depend on the text.
    fn push_ascii(&mut self, text: &str) {
        let from = self.text.len();
        let mut last = self.text.last().copied().unwrap_or(b' ');
        self.text.resize(from + text.len(), 0);
        let mut to = from;
        for byte in text.bytes() {
            let folded = ASCII[usize::from(byte & 0x7f)];
            let is_pushed = folded != DROPPED && (folded != b' ' || last != b' ');
            self.text[to] = folded;
            to += usize::from(is_pushed);
            last = if is_pushed { folded } else { last };
        }
        self.text.truncate(to);
    }

    /// Appends a text that is not ASCII.
    fn push_other(&mut self, text: &str) {
        let from = self.text.len();
        for c in text.chars() {
            match folding(c) {
                Folding::Letter(letter) => self.push_letter(*letter),
                Folding::Separator => self.push_separator(),
                Folding::Several(letters) => letters.iter().for_each(|letter| self.push(*letter)),
                Folding::ByRule => {
                    self.text.truncate(from);
                    self.may_compose = true;
                    return letters(text).for_each(|letter| self.push(letter));
                }
            }
        }
    }

    /// Appends a letter, or a word separator.
    fn push(&mut self, letter: Option<char>) {
        match letter {
            Some(letter) => self.push_letter(letter),
            None => self.push_separator(),
        }
    }

    fn push_letter(&mut self, letter: char) {
        self.text.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
    }

    fn push_separator(&mut self) {
        if self.text.last().is_some_and(|last| *last != b' ') {
            self.text.push(b' ');
        }
    }
}

/// Removes tags such as `<i>` and `</sub>`. A `<` that begins no tag stays.
fn without_tags(text: &str) -> Cow<'_, str> {
    // No tag ends behind the last `>`. The limit keeps a text of `<a<a<a…` linear.
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
    fn folding_keeps_letters_and_digits() {
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

    /// Folds a text by the rules alone, without the fast paths.
    fn fold_by_rule(text: &str) -> String {
        let text = without_tags(text);
        let letters: String = letters(&text).map(|letter| letter.unwrap_or(' ')).collect();
        let words: Vec<&str> = letters.split(' ').filter(|word| !word.is_empty()).collect();
        words.join(" ").nfc().collect()
    }

    #[test]
    fn fast_paths_fold_like_the_rules() {
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
    fn precomputed_characters_fold_like_the_rules() {
        let mut last = 'a';
        for c in '\u{80}'..='\u{ffff}' {
            for text in [format!("a{c}b"), format!("{c}{last}{c}"), format!("{c}\u{301}{c}{c}東")]
            {
                assert_eq!(fold(&text), fold_by_rule(&text), "{text:?}");
            }
            last = c;
        }
    }

    #[test]
    fn words_of_unspaced_scripts_start_at_every_character() {
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
    fn ranges_of_unspaced_scripts_agree_with_the_scripts() {
        use unicode_script::{Script, UnicodeScript};
        for c in '\0'..=char::MAX {
            let names =
                [Script::Han, Script::Hiragana, Script::Katakana, Script::Hangul, Script::Thai];
            assert_eq!(is_unspaced(c), names.contains(&c.script()), "{c:?}");
        }
    }

    #[test]
    fn shared_bytes_are_whole_characters() {
        let check = |a: &str, b: &str, expected| {
            assert_eq!((shared_bytes(a, b), shared_bytes(b, a)), (expected, expected), "{a} {b}");
        };
        check("", "a", 0);
        check("grape", "graph", 4);
        check("gra", "graph", 3);
        check("é", "è", 0);
        check("aé", "aéb", 3);
        check("東京", "東亜", 3);
    }

    #[test]
    fn has_word_agrees_with_the_indexed_words() {
        let texts = ["abc東京 xab京", "東京大学", "a東b", "", "ab"];
        let asked = ["a", "ab", "b", "東", "京", "京大", "bc", "東b", "x", "xab京", "ab東", "学"];
        for (text, asked) in texts.iter().flat_map(|text| asked.map(|asked| (*text, asked))) {
            let expected = words(text).any(|word| word.starts_with(asked));
            assert_eq!(has_word(text, asked), expected, "{asked} in {text}");
        }
    }

    #[test]
    fn folding_is_idempotent() {
        for text in ["Ŀ·l ʼn ŉ", "ΐ ᾳ ﷺ", "½ ² ㎏", "Ǆ ǆ", "ｶﾞ ガ", "ÅÅ Å"] {
            assert_eq!(fold(&fold(text)), fold(text), "{text}");
        }
    }

    #[test]
    fn unclosed_tags_fold_in_linear_time() {
        let text = "<a".repeat(1 << 20);
        assert_eq!(fold(&text).len(), (1 << 21) - 1);
    }

    #[test]
    fn the_unicode_versions_are_those_of_the_format() {
        assert_eq!(caseless::UNICODE_VERSION.0, 16);
        assert_eq!(unicode_normalization::UNICODE_VERSION.0, 18);
        assert_eq!(unicode_properties::UNICODE_VERSION.0, 18);
        assert_eq!(char::UNICODE_VERSION.0, 17);
        assert_eq!(unicode_script::UNICODE_VERSION.0, 18);
    }
}
