//! Folds text for comparison: removes markup, case, marks and punctuation.

use std::collections::BTreeSet;

use caseless::Caseless;
use unicode_normalization::UnicodeNormalization;
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};
use unicode_script::{Script, UnicodeScript};

/// Folds a text to words with one space between them; empty for a text without letters and numbers.
pub fn fold(text: &str) -> String {
    let untagged = without_tags(text);
    let cased = untagged.nfkd().filter(not_a_mark).default_case_fold();
    let plain: String = cased.nfkd().filter(not_a_mark).collect();
    let mut latin = String::new();
    for character in plain.chars() {
        match character {
            'ø' => latin.push('o'),
            'ł' => latin.push('l'),
            'đ' | 'ð' => latin.push('d'),
            'þ' => latin.push_str("th"),
            'æ' => latin.push_str("ae"),
            'œ' => latin.push_str("oe"),
            'ß' => latin.push_str("ss"),
            'ı' => latin.push('i'),
            'ħ' => latin.push('h'),
            'ŧ' => latin.push('t'),
            'ŋ' => latin.push('n'),
            '\'' | '’' | 'ʼ' | '‘' => {}
            other => latin.push(other),
        }
    }
    let words: Vec<&str> =
        latin.split(|c: char| !is_of_word(c)).filter(|word| !word.is_empty()).collect();
    words.join(" ").nfc().collect()
}

/// The folded words of several texts.
pub fn words<'t>(texts: impl IntoIterator<Item = &'t str>) -> BTreeSet<String> {
    let folded: Vec<String> = texts.into_iter().map(fold).collect();
    folded.iter().flat_map(|text| text.split(' ')).map(str::to_owned).collect()
}

/// Whether `word` begins with `asked`, or contains it in scripts without spaces.
pub fn finds(asked: &str, word: &str) -> bool {
    word.starts_with(asked) || (is_unspaced(asked) && word.contains(asked))
}

/// Whether a text begins in a script without spaces.
fn is_unspaced(text: &str) -> bool {
    text.chars().next().is_some_and(|first| {
        !first.is_ascii()
            && matches!(
                first.script(),
                Script::Han | Script::Hiragana | Script::Katakana | Script::Hangul | Script::Thai
            )
    })
}

/// Whether a character is alphabetic or of category Nd, Nl or No, which the standard library calls numeric.
fn is_of_word(character: char) -> bool {
    character.is_alphabetic() || character.is_numeric()
}

fn not_a_mark(character: &char) -> bool {
    character.general_category() != GeneralCategory::NonspacingMark
}

/// Removes tags such as `<i>`, `</i>` and `<a href="x">`.
fn without_tags(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        kept.push_str(&rest[..at]);
        rest = &rest[at..];
        match tag_length(rest) {
            Some(length) => rest = &rest[length..],
            None => {
                kept.push('<');
                rest = &rest[1..];
            }
        }
    }
    kept + rest
}

/// The length in bytes of the tag at the start of `text`.
fn tag_length(text: &str) -> Option<usize> {
    let inside = text.strip_prefix("</").or_else(|| text.strip_prefix('<'))?;
    if !inside.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return None;
    }
    text.find('>').map(|end| end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folding_removes_markup_case_marks_and_punctuation() {
        let check = |text: &str, expected: &str| assert_eq!(fold(text), expected, "{text:?}");
        check("", "");
        check("  \u{3000}\t", "");
        check("!?-", "");
        check("Deep  Learning", "deep learning");
        check("H<sub>2</sub>O in <i>vivo</i>", "h2o in vivo");
        check("a<br/>b", "ab");
        check("<a href=\"x\ny\">z</a>", "z");
        check("p < 0.05 and q > 1", "p 0 05 and q 1");
        check("1<b and c", "1 b and c");
        check("<<i>x", "x");
        check("</ i>x", "i x");
        check("Müller", "muller");
        check("Mu\u{308}ller", "muller");
        check("STRASSE Straße STRAẞE", "strasse strasse strasse");
        check("İstanbul ISPARTA ısı", "istanbul isparta isi");
        check(
            "Øre Łódź Đorđe Ðað Þór Æsir Œuvre Ħal Ŧ Ŋ",
            "ore lodz dorde dad thor aesir oeuvre hal t n",
        );
        check("ﬁne ﬃ", "fine ffi");
        check("O'Brien O’Brien Oʼahu ‘quoted’", "obrien obrien oahu quoted");
        check("x² ½ Ⅷ ①", "x2 1 2 viii 1");
        check("ＨＸ＿Ａ１", "hx a1");
        check("ΣΊΣΥΦΟΣ σίσυφος", "σισυφοσ σισυφοσ");
        check("ガ が", "カ か");
        check("한국어", "한국어");
        check("東京大学、日本", "東京大学 日本");
        check("C++ & C#", "c c");
        check("😀 smile", "smile");
        check("covid-19", "covid 19");
        check("Й", "и");
        check("zero\u{200d}width", "zero width");
    }

    #[test]
    fn a_word_is_found_by_its_prefix() {
        let check = |asked: &str, word: &str, expected: bool| {
            assert_eq!(finds(asked, word), expected, "{asked} in {word}");
        };
        check("neur", "neural", true);
        check("neural", "neural", true);
        check("eural", "neural", false);
        check("neurals", "neural", false);
        check("大学", "東京大学", true);
        check("タワ", "東京タワー", true);
        check("구어", "한국어", false);
        check("국어", "한국어", true);
        check("ไทย", "ภาษาไทย", true);
        check("а", "ба", false);
    }
}
