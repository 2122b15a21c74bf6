//! Names of authors in parts, and words of keys.

use pinakes_format::text::fold::fold;

/// Words before a last name that belong to it.
const PARTICLES: [&str; 22] = [
    "af", "al", "bin", "da", "das", "de", "degli", "dei", "del", "della", "den", "der", "di", "do",
    "dos", "du", "el", "la", "le", "ten", "van", "von",
];
/// Words after a last name.
const SUFFIXES: [&str; 7] = ["jr", "jr.", "sr", "sr.", "ii", "iii", "iv"];
/// Words that names of people do not have.
const OF_ORGANISATIONS: [&str; 12] = [
    "and",
    "association",
    "collaboration",
    "committee",
    "consortium",
    "department",
    "for",
    "group",
    "institute",
    "of",
    "organization",
    "university",
];
/// Characters that a word of a key keeps.
const WORD_MAX: usize = 32;

/// The name of an author.
#[derive(Debug, PartialEq, Eq)]
pub enum Name<'n> {
    /// Of a person: `Ada van Berg Jr.`
    Person { given: &'n str, particles: &'n str, family: &'n str, suffix: &'n str },
    /// Of an organisation, or one that has no parts.
    Whole(&'n str),
}

impl<'n> Name<'n> {
    /// Finds the parts of a name. A name with a comma begins with the last name.
    pub fn of(name: &'n str) -> Name<'n> {
        let name = name.trim();
        if is_of_organisation(name) {
            return Name::Whole(name);
        }
        if let Some((family, given)) = name.split_once(',') {
            let (family, given) = (family.trim(), given.trim());
            if family.is_empty() || given.is_empty() || given.contains(',') {
                return Name::Whole(name);
            }
            if is_suffix(given) {
                return Name::of_words(family, given);
            }
            let (particles, family) = split_particles(family);
            return Name::Person { given, particles, family, suffix: "" };
        }
        match name.rsplit_once(char::is_whitespace) {
            Some((before, suffix)) if is_suffix(suffix) => {
                Name::of_words(before.trim_end(), suffix)
            }
            _ => Name::of_words(name, ""),
        }
    }

    /// Splits a name before the last word and the particles that precede the last word.
    fn of_words(name: &'n str, suffix: &'n str) -> Name<'n> {
        let Some((given, _)) = name.rsplit_once(char::is_whitespace) else {
            return Name::Whole(name);
        };
        let mut given = given.trim_end();
        while let Some((before, word)) = given.rsplit_once(char::is_whitespace)
            && PARTICLES.contains(&word)
        {
            given = before.trim_end();
        }
        let (particles, family) = split_particles(name[given.len()..].trim_start());
        Name::Person { given, particles, family, suffix }
    }

    /// The last name with its particles; the name of an organisation.
    pub fn family(&self) -> String {
        match self {
            Name::Person { particles: "", family, .. } => (*family).to_owned(),
            Name::Person { particles, family, .. } => format!("{particles} {family}"),
            Name::Whole(name) => (*name).to_owned(),
        }
    }

    /// The last name by which keys begin.
    pub fn family_without_particles(&self) -> &'n str {
        match self {
            Name::Person { family, .. } => family,
            Name::Whole(name) => name,
        }
    }
}

fn is_suffix(word: &str) -> bool {
    SUFFIXES.contains(&word.to_lowercase().as_str())
}

/// Splits particles from the last name; the last word is no particle.
fn split_particles(family: &str) -> (&str, &str) {
    let mut at = 0;
    for word in family.split_inclusive(char::is_whitespace) {
        let is_particle = word.trim_end().is_empty() || PARTICLES.contains(&word.trim_end());
        if !is_particle || at + word.len() == family.len() {
            break;
        }
        at += word.len();
    }
    let (particles, family) = family.split_at(at);
    (particles.trim_end(), family)
}

fn is_of_organisation(name: &str) -> bool {
    let mut words = name.split_whitespace();
    words.any(|word| OF_ORGANISATIONS.contains(&word.to_lowercase().as_str()))
}

/// The first ASCII letters and digits of a text in small letters, accents removed.
pub fn ascii_word(text: &str) -> String {
    fold(text).chars().filter(char::is_ascii_alphanumeric).take(WORD_MAX).collect()
}

/// The first word of a text that has ASCII letters or digits.
pub fn first_ascii_word(text: &str) -> String {
    let folded = fold(text);
    let words = folded.split(' ').map(ascii_word);
    words.into_iter().find(|word| !word.is_empty()).unwrap_or_default()
}

/// The letters that tell equal keys apart: `a` to `z`, then `aa`.
pub fn letters(number: u32) -> String {
    let mut rest = number + 1;
    let mut letters = Vec::new();
    while rest > 0 {
        rest -= 1;
        letters.push(char::from(b'a' + (rest % 26) as u8));
        rest /= 26;
    }
    letters.iter().rev().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_parts() {
        let check = |name: &str, expected: &str| {
            let text = match Name::of(name) {
                Name::Person { given, particles, family, suffix } => {
                    format!("{given}|{particles}|{family}|{suffix}")
                }
                Name::Whole(name) => name.to_owned(),
            };
            assert_eq!(text, expected, "{name}");
        };
        check("Ada Berg", "Ada||Berg|");
        check("Ada B. van der Berg", "Ada B.|van der|Berg|");
        check("Berg, Ada", "Ada||Berg|");
        check("van Berg, Ada", "Ada|van|Berg|");
        check("Ada Berg Jr.", "Ada||Berg|Jr.");
        check("Ada Berg, Jr.", "Ada||Berg|Jr.");
        check("Leonardo  da\u{a0}Vinci", "Leonardo|da|Vinci|");
        check("李学", "李学");
        check("van", "van");
        check("van Berg", "van||Berg|");
        check("Institute of Things", "Institute of Things");
        check(" , ", ",");
        check("a,b,c", "a,b,c");
    }

    #[test]
    fn words_of_keys_are_short_ascii() {
        assert_eq!(ascii_word("Łukasiewicz-Ørsted"), "lukasiewiczorsted");
        assert_eq!(ascii_word(&"x".repeat(1_000)).len(), WORD_MAX);
        assert_eq!(first_ascii_word("« <i>E. coli</i> »"), "e");
        assert_eq!(first_ascii_word("学 2 x"), "2");
        assert_eq!(first_ascii_word("学"), "");
    }

    #[test]
    fn letters_count_on() {
        let found = [0, 25, 26, 27, 701, 702].map(letters);
        assert_eq!(found, ["a", "z", "aa", "ab", "zz", "aaa"]);
    }
}
