//! The pass over a text that builds its compounds.

use std::mem;

use unicode_normalization::UnicodeNormalization;
use unicode_script::{Script, UnicodeScript};

use super::markup::{self, Markup, Meaning};
use super::{Compound, greek};
use crate::text::fold::{self, Folding};

/// The longest part of a compound; longer words are cut between characters.
pub(super) const PART_BYTES_MAX: usize = 64;

/// Signs between letters that join them.
#[derive(PartialEq, Eq, Clone, Copy)]
enum Joiner {
    Apostrophe,
    Hyphen,
}

/// The effect of a character outside ASCII on the word around the character.
enum Sign {
    Joiner(Joiner),
    /// The character is invisible.
    Nothing,
    /// A character that texts use for a Greek letter: the increment sign, letters of phonetics.
    Greek(char),
    /// A letter, digit or separator, as it folds.
    Folded,
}

impl Sign {
    fn of(c: char) -> Sign {
        match c {
            // Quotation marks, accents and primes used as apostrophes; the letters of
            // transliterations that others write as apostrophes; the Hebrew geresh.
            '‘' | '’' | '‛' | '´' | '′' | 'ʹ' | 'ʻ' | 'ʼ' | 'ʽ' | 'ʾ' | 'ʿ' | '＇' | 'ꞌ'
            | '\u{5f3}' | '\u{5f4}' => Sign::Joiner(Joiner::Apostrophe),
            // Hyphens, dashes, minus; the Hebrew maqaf, the Catalan middle dot and the non-joiner in
            // Persian words.
            '\u{2010}'..='\u{2015}' | '−' | '﹘' | '﹣' | '－' | '\u{5be}' | '·' | '\u{200c}' => {
                Sign::Joiner(Joiner::Hyphen)
            }
            // Soft hyphens, marks of direction, joiners, places for line breaks.
            '\u{ad}'
            | '\u{200b}'
            | '\u{200d}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{2064}'
            | '\u{2066}'..='\u{206f}'
            | '\u{61c}'
            | '\u{feff}' => Sign::Nothing,
            '∆' => Sign::Greek('δ'),
            'ɑ' => Sign::Greek('α'),
            'ɣ' => Sign::Greek('γ'),
            _ => Sign::Folded,
        }
    }
}

/// Whether a folded letter belongs to a script that is searched by pairs of characters.
fn is_unspaced(c: char) -> bool {
    // The sign of a long vowel belongs to both Japanese syllabaries.
    c >= '\u{e00}'
        && (c == 'ー'
            || fold::is_unspaced(c)
            || matches!(c.script(), Script::Lao | Script::Khmer | Script::Myanmar))
}

/// Whether a byte is a letter or digit of ASCII.
static IS_ASCII_WORD: [bool; 256] = {
    let mut is_word = [false; 256];
    let mut byte = 0;
    while byte < 128 {
        is_word[byte] = (byte as u8).is_ascii_alphanumeric();
        byte += 1;
    }
    is_word
};

/// Reads a text from front to back and builds one compound after the other.
pub(super) struct Scanner<'t, V> {
    text: &'t str,
    /// The byte that is read next.
    at: usize,
    /// LaTeX ends here: before, dollars, braces, `_` and `^` vanish.
    latex_end: usize,
    /// The last `>` of the text, once a `<` was read; no tag ends behind it.
    last_close: Option<usize>,
    /// Whether the emphasis that began last is a word or more.
    is_word_emphasized: bool,
    compound: Compound,
    /// Where the part that is being read begins in the compound's text.
    part_from: usize,
    /// A joiner behind the last letter.
    joiner: Option<Joiner>,
    /// Whether normalisation may compose characters of the part.
    may_compose: bool,
    has_greek: bool,
    visit: V,
}

impl<'t, V: FnMut(&Compound)> Scanner<'t, V> {
    pub(super) fn new(text: &'t str, visit: V) -> Self {
        Scanner {
            text,
            at: 0,
            latex_end: 0,
            last_close: None,
            is_word_emphasized: false,
            compound: Compound::default(),
            part_from: 0,
            joiner: None,
            may_compose: false,
            has_greek: false,
            visit,
        }
    }

    /// Visits the compounds of the text.
    pub(super) fn run(mut self) {
        while let Some(&byte) = self.text.as_bytes().get(self.at) {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => self.read_ascii_letters(),
                0x80.. => self.read_other_character(),
                b'-' => self.apply_joiner(Joiner::Hyphen, 1),
                b'\'' | b'`' => self.apply_joiner(Joiner::Apostrophe, 1),
                b'<' => self.read_tag(),
                b'&' => self.read_entity(),
                b'\\' => self.read_command(),
                b'$' | b'{' | b'}' | b'_' | b'^' => self.read_latex_sign(byte),
                b'+' | b'#' => self.read_language_sign(byte),
                b'.' => self.read_dot(),
                _ => self.separate(1),
            }
        }
        self.end_compound();
    }

    /// Ends the compound and skips a separator.
    fn separate(&mut self, bytes: usize) {
        self.end_compound();
        self.at += bytes;
    }

    /// Reads letters and digits up to another byte.
    fn read_ascii_letters(&mut self) {
        let text = self.text;
        let rest = &text.as_bytes()[self.at..];
        let length = rest.iter().position(|byte| !IS_ASCII_WORD[usize::from(*byte)]);
        let word = &text[self.at..self.at + length.unwrap_or(rest.len())];
        self.open_part(false);
        self.push_lower_case(word);
        self.at += word.len();
        self.compound.source.end = self.at;
    }

    fn push_lower_case(&mut self, word: &str) {
        let from = self.compound.text.len();
        self.compound.text.push_str(word);
        self.compound.text[from..].make_ascii_lowercase();
    }

    fn read_other_character(&mut self) {
        let c = self.text[self.at..].chars().next().expect("a byte is left");
        self.apply_character(c, c.len_utf8());
    }

    /// Applies a character that stands in the next bytes, as itself or as markup.
    fn apply_character(&mut self, c: char, bytes: usize) {
        match Sign::of(c) {
            Sign::Joiner(joiner) => self.apply_joiner(joiner, bytes),
            Sign::Nothing => self.at += bytes,
            Sign::Greek(letter) => self.apply_letters([Some(letter)], bytes),
            Sign::Folded if c == '-' => self.apply_joiner(Joiner::Hyphen, bytes),
            Sign::Folded if c == '\'' => self.apply_joiner(Joiner::Apostrophe, bytes),
            Sign::Folded => match fold::folding(c) {
                Folding::Letter(letter) => self.apply_letters([Some(*letter)], bytes),
                Folding::Separator => self.separate(bytes),
                Folding::Several(letters) => self.apply_letters(letters.iter().copied(), bytes),
                Folding::ByRule if fold::is_kept(&c) => {
                    self.apply_letters(fold::letters(c.encode_utf8(&mut [0; 4])), bytes);
                    self.may_compose |= !self.compound.text.is_empty();
                }
                Folding::ByRule => self.at += bytes,
            },
        }
    }

    /// Applies folded letters and, as `None`, separators that stand in the next bytes.
    fn apply_letters(&mut self, letters: impl IntoIterator<Item = Option<char>>, bytes: usize) {
        for letter in letters {
            let Some(letter) = letter else {
                self.end_compound();
                continue;
            };
            self.open_part(is_unspaced(letter));
            self.has_greek |= greek::name(letter).is_some();
            self.compound.text.push(letter);
            self.compound.source.end = self.at + bytes;
        }
        self.at += bytes;
    }

    /// Applies a hyphen or an apostrophe.
    ///
    /// Two hyphens are a dash, which separates. A hyphen may follow an apostrophe: `5'-UTR`.
    fn apply_joiner(&mut self, joiner: Joiner, bytes: usize) {
        let follows = match self.joiner {
            None => true,
            Some(before) => before == Joiner::Apostrophe && joiner == Joiner::Hyphen,
        };
        if !follows || self.compound.is_unspaced {
            self.end_compound();
        } else if !self.compound.text.is_empty() {
            self.joiner = Some(joiner);
        }
        self.at += bytes;
    }

    /// Applies markup in the next bytes.
    fn apply_markup(&mut self, markup: Markup) {
        match markup.meaning {
            Meaning::Transparent => self.at += markup.bytes,
            Meaning::EmphasisStart | Meaning::EmphasisEnd => self.apply_emphasis(markup),
            Meaning::Separator => self.separate(markup.bytes),
            Meaning::Letters(letters) => {
                self.apply_letters(letters.chars().map(Some), markup.bytes);
            }
            Meaning::Character(c) => self.apply_character(c, markup.bytes),
        }
    }

    /// Applies a tag of bold or italic text.
    ///
    /// Publishers drop the spaces around emphasized words: `of<i>Plasmodium falciparum</i>in`. A letter
    /// touches such a tag in 67 places of a sample, and 57 of them have an emphasis of four bytes or more,
    /// nearly all words. So tags around four bytes or more separate letters; the tags of `p<i>K</i>a` do
    /// not.
    fn apply_emphasis(&mut self, tag: Markup) {
        let behind = &self.text[self.at + tag.bytes..];
        let separates = if tag.meaning == Meaning::EmphasisStart {
            self.is_word_emphasized = markup::emphasizes_word(behind);
            self.is_word_emphasized && self.joiner.is_none()
        } else {
            let was_word = mem::take(&mut self.is_word_emphasized);
            was_word && behind.starts_with(char::is_alphanumeric)
        };
        if separates {
            self.end_compound();
        }
        self.at += tag.bytes;
    }

    fn read_tag(&mut self) {
        let text = self.text;
        let last_close = *self.last_close.get_or_insert_with(|| text.rfind('>').unwrap_or(0));
        let is_closed = self.at < last_close;
        match is_closed.then(|| markup::tag(&text[self.at..])).flatten() {
            Some(tag) => self.apply_markup(tag),
            None => self.separate(1),
        }
    }

    fn read_entity(&mut self) {
        let rest = &self.text[self.at..];
        let Some(entity) = markup::entity(rest) else { return self.read_ampersand(1) };
        match entity.meaning {
            Meaning::Character('&') => self.read_ampersand(entity.bytes),
            Meaning::Character('<') => match markup::escaped_tag(&rest[entity.bytes..]) {
                Some(tag) => {
                    self.apply_markup(Markup { bytes: entity.bytes + tag.bytes, ..tag });
                }
                None => self.separate(entity.bytes),
            },
            _ => self.apply_markup(entity),
        }
    }

    /// Reads an ampersand of some bytes. At most two letters on each side make one word: `R&D`,
    /// `AT&T`.
    fn read_ampersand(&mut self, bytes: usize) {
        let after = &self.text[self.at + bytes..];
        let letters = after.bytes().take(3).take_while(u8::is_ascii_alphanumeric).count();
        let is_short = |word: &str| {
            matches!(word.len(), 1..=2) && word.bytes().all(|byte| byte.is_ascii_alphabetic())
        };
        let word = &after[..letters];
        if !is_short(word) || !is_short(self.open_word()) {
            return self.separate(bytes);
        }
        self.compound.text.push('&');
        self.push_lower_case(word);
        self.at += bytes + letters;
        self.compound.source.end = self.at;
    }

    /// The part that is being read; empty behind a joiner.
    fn open_word(&self) -> &str {
        if self.joiner.is_some() { "" } else { &self.compound.text[self.part_from..] }
    }

    /// Reads the signs of `C++` and `C#`, or a separator.
    fn read_language_sign(&mut self, sign: u8) {
        let signs = if sign == b'+' { "++" } else { "#" };
        let rest = &self.text[self.at..];
        // A version may follow, as in `C++11`.
        let continues = |c: char| c.is_alphabetic() || c == '+' || (sign == b'#' && c.is_numeric());
        let is_end = |after: &str| !after.starts_with(continues);
        let is_letter = matches!(self.open_word().as_bytes(), [b'a'..=b'z']);
        if is_letter && rest.strip_prefix(signs).is_some_and(is_end) {
            self.compound.text.push_str(signs);
            self.compound.source.end = self.at + signs.len();
            self.separate(signs.len());
        } else {
            self.separate(1);
        }
    }

    /// Reads `.NET`, or a separator.
    fn read_dot(&mut self) {
        let name = self.text.get(self.at..self.at + 4).filter(|name| {
            let after = &self.text[self.at + 4..];
            name.eq_ignore_ascii_case(".net") && !after.starts_with(char::is_alphanumeric)
        });
        let is_start =
            self.compound.text.is_empty() && !self.text[..self.at].ends_with(['.', '\'', '-']);
        match name.filter(|_| is_start) {
            Some(name) => {
                self.open_part(false);
                self.push_lower_case(name);
                self.at += name.len();
                self.compound.source.end = self.at;
            }
            None => self.separate(1),
        }
    }

    /// Reads a sign that vanishes in LaTeX and separates elsewhere.
    fn read_latex_sign(&mut self, sign: u8) {
        let rest = &self.text[self.at..];
        if self.at >= self.latex_end {
            let latex = match sign {
                b'$' => markup::formula(rest),
                // `{\'e}`: the command that follows is LaTeX, and so is its brace.
                b'{' if rest[1..].starts_with('\\') => Some(1),
                _ => None,
            };
            let Some(latex) = latex else { return self.separate(1) };
            self.latex_end = self.at + latex;
        }
        if rest.starts_with("}{") {
            // Two arguments: `\frac{a}{b}`.
            self.end_compound();
        }
        self.at += 1;
    }

    fn read_command(&mut self) {
        let rest = &self.text[self.at..];
        if self.at >= self.latex_end {
            self.latex_end = self.at + markup::latex(rest);
        }
        self.apply_markup(markup::command(rest));
    }

    /// Begins a part, and a compound where none is open or where the script changes between spaced
    /// and unspaced.
    fn open_part(&mut self, is_unspaced: bool) {
        if self.compound.is_unspaced != is_unspaced {
            self.end_compound();
        }
        if self.compound.text.is_empty() {
            self.compound.is_unspaced = is_unspaced;
            self.compound.source.start = self.at;
        } else if self.joiner.take().is_some() {
            self.end_part();
        }
    }

    /// Ends a part of a script with spaces.
    fn end_part(&mut self) {
        let text = &mut self.compound.text;
        if self.may_compose {
            compose(text, self.part_from);
            self.may_compose = false;
        }
        if self.has_greek {
            greek::spell_out(text, self.part_from);
            self.has_greek = false;
        }
        let length = fold::cut(&text[self.part_from..], PART_BYTES_MAX).len();
        let end = self.part_from + length;
        text.truncate(end);
        self.compound.parts.push(self.part_from..end);
        self.part_from = end;
    }

    /// Hands over the compound, if one is open.
    fn end_compound(&mut self) {
        self.joiner = None;
        if self.compound.text.is_empty() {
            return;
        }
        if self.compound.is_unspaced {
            self.pair_characters();
        } else {
            self.end_part();
        }
        (self.visit)(&self.compound);
        self.compound.text.clear();
        self.compound.parts.clear();
        self.compound.is_unspaced = false;
        self.part_from = 0;
    }

    /// Makes the pairs of characters of an unspaced script.
    fn pair_characters(&mut self) {
        let Compound { text, parts, .. } = &mut self.compound;
        if self.may_compose {
            compose(text, 0);
            self.may_compose = false;
        }
        let starts = text.char_indices().map(|(at, _)| at);
        let ends = text.char_indices().map(|(at, c)| at + c.len_utf8()).skip(1);
        parts.extend(starts.zip(ends).map(|(start, end)| start..end));
        if parts.is_empty() {
            parts.push(0..text.len());
        }
    }
}

/// Composes the characters of a text from byte `from` on (NFC).
fn compose(text: &mut String, from: usize) {
    let part: String = text[from..].nfc().collect();
    text.truncate(from);
    text.push_str(&part);
}
